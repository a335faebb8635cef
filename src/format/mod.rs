//! Types that all table formats share: tasks, splits, commits, catalogs. No format is named here.

pub mod catalog;
pub mod commit;
pub mod commit_loop;
pub mod deletion;
pub mod estimate;
pub mod evolution;
pub mod ident;
pub mod maintenance;
pub mod maintenance_parts;
pub mod manifest_count;
pub mod packed_splits;
pub mod request;
pub mod row_change;
pub mod splits;
pub mod table_format;
pub mod task;
pub mod wire;
