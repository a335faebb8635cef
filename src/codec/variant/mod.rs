//! Variants: values that carry their own type.
//!
//! A variant is two byte strings: *metadata*, the dictionary of field names, and the *value*, which may nest and
//! refers to names by number. [`Metadata::parse`] and [`VariantValue::parse`] read one level, and [`check`] reads all
//! levels. [`json`] writes text; [`encode`] puts values together.
//!
//! ```
//! use frazil::codec::variant::{Metadata, json};
//!
//! // The dictionary {"a"} and the object {"a": 7}.
//! let (metadata, value) = ([0x01, 1, 0, 1, b'a'], [0x02, 1, 0, 0, 2, 0x0c, 7]);
//! let metadata = Metadata::parse(&metadata)?;
//! assert_eq!(json::to_text(&metadata, &value)?, r#"{"a":7}"#);
//! # Ok::<(), frazil::error::Error>(())
//! ```
//! Source: Parquet format, "Variant Binary Encoding", version 1. Bytes may come from anywhere, so nothing is trusted.
//! The depth is bounded by [`MAX_DEPTH`]. The work is bounded by the number of bytes, since values that share bytes
//! are refused.

mod decode;
pub mod encode;
pub mod json;

pub use decode::{Decimal, MAX_DEPTH, Metadata, VariantContainer, VariantValue, check, members};

#[cfg(test)]
#[path = "tests.rs"]
pub(crate) mod tests;
