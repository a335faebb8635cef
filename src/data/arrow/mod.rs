//! Arrow types and arrays of table types.

pub mod bucket_array;
pub(crate) mod geoarrow;
pub mod schema;
pub(crate) mod transform_array;
pub mod transform_column;
pub mod variant;
