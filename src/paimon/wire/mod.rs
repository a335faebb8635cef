//! What only this format sends to other processes, as JSON. What all formats send is in [`crate::format::wire`].
//!
//! - `handle`: the handle of a table as JSON

pub(crate) mod handle;
