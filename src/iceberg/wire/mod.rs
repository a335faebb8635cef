//! Data that only this format sends to other processes, as JSON. The data that all formats send is in
//! [`crate::format::wire`].
//!
//! - `handle`: the handle of a table as JSON
//! - `plan_part`: parts of a plan as JSON, for the processes that plan them

pub(crate) mod handle;
pub(crate) mod plan_part;
