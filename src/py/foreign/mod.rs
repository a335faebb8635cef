//! Credential providers, file systems and classes for authorization that are Python objects.
//!
//! - `calls`: calls from the crate into objects of the user
//! - `files`: a store of files behind a file system of Python
//! - `makers`: makes them from the texts that options and properties carry

mod calls;
mod files;
mod makers;

pub(super) use makers::{PythonMakers, headers_of};
