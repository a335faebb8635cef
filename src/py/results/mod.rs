//! Results for Python, as typed values or dictionaries. No logic lives here.

pub(super) mod commit_rows;
pub(super) mod diagnosis;
pub(super) mod explain;
pub(super) mod filter;
pub(super) mod maintenance;
pub(super) mod native_read;
pub(super) mod snapshot;
pub(super) mod value;
pub(super) mod view;
