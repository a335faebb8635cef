//! ORC data files to Arrow and back.

pub(crate) mod bloom;
pub(crate) mod columns;
pub(crate) mod file;
pub(crate) mod metrics;
pub(crate) mod read;
pub(crate) mod schema;
pub(crate) mod stripe;
pub(crate) mod texts;
pub(crate) mod time;
pub(crate) mod types;
pub(crate) mod values;
pub(crate) mod write;
