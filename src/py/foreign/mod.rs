//! Credential providers and file systems that are Python objects.
//!
//! - `calls`: calls from the crate into objects of the user
//! - `files`: a store of files behind a file system of Python
//! - `makers`: makes both from the texts that options carry

mod calls;
mod files;
mod makers;

pub(super) use makers::PythonMakers;
