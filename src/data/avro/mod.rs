//! Avro data files to Arrow and back.
//!
//! `read` streams the blocks of a file, and `decode` fills columns from them. `schema` gives the columns of a file.
//! `write` writes files with `rows`, which encodes rows, and `schema_json`, which writes the schema. `exact` handles
//! the differences in files of Paimon tables.

pub(crate) mod decode;
pub(crate) mod exact;
pub(crate) mod read;
pub(crate) mod rows;
pub(crate) mod schema;
pub(crate) mod schema_json;
pub(crate) mod write;
