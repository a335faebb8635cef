//! The options of a table's store, by the server's credentials.
//!
//! A server sends options with a table (`config`), and credentials for prefixes of locations (`storage-credentials`).
//! Credentials of the longest prefix come before the options, and these before the catalog's properties.

use super::answers::DescribedTable;
use crate::error::{Error, Result};
use crate::store::StoreOptions;

/// The options of a table's store. `storage` is that of the catalog.
///
/// # Errors
/// `Unsupported` if the server signs requests itself and sends no credentials.
pub(super) fn table_options(storage: &StoreOptions, table: &DescribedTable) -> Result<StoreOptions> {
    let location = &table.metadata.location;
    let fitting = table.credentials.iter().filter(|c| location.starts_with(&c.prefix));
    let credentials = fitting.max_by_key(|c| c.prefix.len()).map(|c| StoreOptions::of_server(&c.config));
    let is_signed = |config: &std::collections::BTreeMap<String, String>| {
        config.get("s3.remote-signing-enabled").is_some_and(|value| value.eq_ignore_ascii_case("true"))
    };
    let own = StoreOptions::of_server(&table.config);
    let sent = [Some(&own), credentials.as_ref()].into_iter().flatten();
    let has_keys = sent.clone().any(StoreOptions::has_credentials) || storage.has_credentials();
    if is_signed(&table.config) && !has_keys {
        return Err(Error::unsupported("the catalog's server wants to sign each request to the table's files itself")
            .with("location", location)
            .hint("Let the server give credentials, or give your own as properties of the catalog"));
    }
    Ok(sent.cloned().fold(storage.clone(), StoreOptions::replaced_by))
}
