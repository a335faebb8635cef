//! Changes of the table itself: schema, options, tags, branches.
//!
//! - `option_checks`: checks of options when a table is created or changed: reading, writing and maintenance
//!   must accept them
//! - `table_changes`: changes of a table itself: schema, options, tags and branches

pub(crate) mod option_checks;
pub(crate) mod table_changes;
