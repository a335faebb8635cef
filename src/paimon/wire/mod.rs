//! Data that only this format sends to other processes, as JSON. Data of all formats is in [`crate::format::wire`].
//!
//! - `handle`: the handle of a table as JSON

pub(crate) mod handle;
