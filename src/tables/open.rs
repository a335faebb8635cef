//! Opens tables: finds out which format a place holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::iceberg::state::IcebergTable;
use crate::paimon::state::PaimonTable;
use crate::rows::seam::Table;
use crate::store::{self, Store, location};

/// Opens the table at a place: the root folder of a table or, of Iceberg, a metadata file. With `moved` its recorded
/// paths are read below `location`, and it can't be written. A folder that is both is Paimon's, which can keep
/// metadata of Iceberg next to its own.
///
/// # Errors
/// `NotFound` if there is no table; as [`IcebergTable::open`] and [`PaimonTable::find`].
pub fn open(location: &str, storage_options: BTreeMap<String, String>, moved: bool) -> Result<Arc<dyn Table>> {
    let is_file = [".json", ".gz"].iter().any(|end| location.ends_with(end));
    let store = store::open_store(location, &storage_options)?;
    #[cfg(test)]
    if let Some(table) = super::toy::ToyTable::find(&store, &location::absolute(location)?)? {
        return Ok(Arc::new(table));
    }
    if !is_file && let Some(table) = paimon_at(&store, location, &storage_options)? {
        return Ok(Arc::new(table));
    }
    Ok(Arc::new(IcebergTable::open_in(store, location, storage_options, moved)?))
}

/// The table of Paimon in a folder. A user who may read files by name but not list them has none.
fn paimon_at(
    store: &Arc<dyn Store>,
    location: &str,
    storage_options: &BTreeMap<String, String>,
) -> Result<Option<PaimonTable>> {
    match PaimonTable::find(store, &location::absolute(location)?, storage_options) {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => Ok(None),
        found => found,
    }
}
