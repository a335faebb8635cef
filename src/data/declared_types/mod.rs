//! Exact types of columns, as a table declares them in addition to the types that all formats share.
//!
//! [`stored`] says how files store them. `declared_cast` casts values if the type of a column was changed, and
//! `declared_text` writes and reads values as text, as Java does.

pub(crate) mod declared_cast;
pub(crate) mod declared_text;
pub mod stored;
