//! Arrow types and arrays of table types.
//!
//! [`schema`] gives the Arrow schema of a table schema, with `geoarrow` for geometries and [`variant`] for variants.
//! `array_value` takes single values out of arrays, and `value_array` makes arrays of them. [`transform_column`] and
//! [`bucket_array`] apply partition transforms to whole columns.
//!
//! `transform_array` applies partition transforms to whole arrays, for `transform_column`. `type_names` names Arrow
//! types in messages.

pub(crate) mod array_value;
pub mod bucket_array;
pub(crate) mod geoarrow;
pub mod schema;
pub(crate) mod transform_array;
pub mod transform_column;
pub(crate) mod type_names;
pub(crate) mod value_array;
pub mod variant;
