//! Opens the store of a location.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::credentials::FILES;
use super::files::Store;
use super::foreign;
use super::local::LocalStore;
use super::location;
use super::object::ObjectFiles;
use super::options::StoreOptions;
use super::place::Service;
use crate::error::{Error, Result};

/// The store of a location: local files for plain paths and `file:` URIs, object stores for `s3:`, `gs:`, `abfs:` and
/// their like. A file system of the options has all paths.
///
/// # Errors
/// `Unsupported` for other schemes, naming those that are supported; as [`StoreOptions::new`].
pub fn open_store(location: &str, options: &BTreeMap<String, String>) -> Result<Arc<dyn Store>> {
    let options = StoreOptions::new(options)?;
    if let Some(text) = options.own(FILES) {
        return foreign::makers()?.files(text);
    }
    match location::scheme(location) {
        None => Ok(Arc::new(LocalStore)),
        Some(scheme) if location::is_file(scheme) => Ok(Arc::new(LocalStore)),
        Some(scheme) if Service::of_scheme(scheme).is_some() => Ok(Arc::new(ObjectFiles::new(options))),
        Some(other) => Err(Error::unsupported(format!("storage scheme '{other}' is not supported"))
            .with("path", location)
            .hint("Use a local path, a file: URI, or an object store: s3:, gs:, abfs:. For others, give filesystem=")),
    }
}
