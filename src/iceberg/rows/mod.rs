//! Changing rows: delete, update, upsert, merge, overwrite.

pub(crate) mod apply;
pub mod change_rows;
pub(crate) mod delete;
pub(crate) mod effect;
pub mod inserts;
pub(crate) mod key_files;
pub(crate) mod live;
pub(crate) mod matches;
pub(crate) mod merge;
pub(crate) mod new_files;
pub(crate) mod overwrite;
pub mod parts;
pub(crate) mod plan;
pub(crate) mod positions;
pub(crate) mod row_delta;
pub(crate) mod settle;
pub(crate) mod update;
pub(crate) mod view;
