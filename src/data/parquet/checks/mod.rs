//! Checks and repairs that are done before anything is decoded.
//!
//! - `footer`: decodes footers and mends those of known writers
//! - `page_check`: limits the memory that pages may take

pub(crate) mod footer;
pub(crate) mod page_check;
