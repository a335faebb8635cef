//! Changes of the table itself: schema, options, tags, branches.
//!
//! - `branch_merge`: adds the files of a branch to another one
//! - `option_checks`: checks of options when a table is created or changed: reading, writing and maintenance
//!   must accept them
//! - `replacement`: gives a table another definition without rows
//! - `table_changes`: changes of a table itself: schema, options, tags and branches

mod branch_merge;
pub(crate) mod option_checks;
pub(crate) mod replacement;
pub(crate) mod table_changes;
