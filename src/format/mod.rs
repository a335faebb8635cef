//! What every table format speaks: tasks, splits, commits, catalogs. No format is named here.

pub mod commit_loop;
pub(crate) mod deletion;
pub mod ident;
pub mod manifest_count;
pub mod splits;
pub mod task;
pub mod wire;
