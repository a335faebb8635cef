//! Types that all table formats share: tasks, splits, commits, catalogs. No format is named here.
//!
//! - `catalog`: the definition of a new table, and a catalog's entry of a table
//! - `commit`: options of a commit, and what a commit would change
//! - `commit_loop`: the one loop of commits: prepare on the newest version, publish, and after a lost race
//!   prepare again
//! - `commit_rows`: the rows that a commit brings, where the options of a table decide it
//! - `deletion`: deleting unused files
//! - `diagnosis`: the result of examining a table, and repairs
//! - `estimate`: the estimated cost of a plan
//! - `evolution`: changes of a table's schema, partition spec, sort order, properties and references as plain
//!   data
//! - `ident`: names of tables and namespaces
//! - `maintenance`: maintenance as plain data: the actions that a caller asks for, and their results
//! - `maintenance_parts`: maintenance whose parts other processes do: plans, parts and their writers as plain
//!   data
//! - `manifest_count`: the number and length of manifests
//! - `packed_splits`: splits in a compact form
//! - `register`: the register of a catalog that knows tables by name
//! - `request`: requests of callers (versions, scans, writes), and the description of snapshots
//! - `row_change`: changes of rows as plain data: delete, overwrite, update, merge
//! - `splits`: cutting tasks at split offsets and packing them into splits of even weight
//! - `table_format`: the name of a table format, and its differences from other formats
//! - `task`: the results of planning and the input of reading: files, tasks, splits, and the files that a writer made
//! - `view`: views: named queries of a catalog
//! - `wire`: the JSON and the binary forms of tasks, splits and messages that travel between processes

pub mod catalog;
pub mod commit;
pub mod commit_loop;
pub mod commit_rows;
pub mod deletion;
pub mod diagnosis;
pub mod estimate;
pub mod evolution;
pub mod ident;
pub mod maintenance;
pub mod maintenance_parts;
pub mod manifest_count;
pub mod packed_splits;
pub mod register;
pub mod request;
pub mod row_change;
pub mod splits;
pub mod table_format;
pub mod task;
pub mod view;
pub mod wire;
