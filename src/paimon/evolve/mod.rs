//! Changes of the table itself: schema, options, tags, branches.

pub(crate) mod option_checks;
pub(crate) mod table_changes;
