//! Avro data files to Arrow and back.

pub(crate) mod decode;
pub(crate) mod paimon;
pub(crate) mod read;
pub(crate) mod rows;
pub(crate) mod schema;
pub(crate) mod schema_json;
pub(crate) mod write;
