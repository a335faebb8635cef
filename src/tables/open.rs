//! Opens tables: finds the format of the table at a location.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::state::IcebergTable;
use crate::paimon::state::PaimonTable;
use crate::parallel;
use crate::rows::seam::Table;
use crate::store::{self, Store, location};

/// Opens the table at a location: its root folder or, for Iceberg, a metadata file. With `moved`, recorded paths are
/// read below `location`, and the table is read-only. A folder with both formats is Paimon's, which can keep Iceberg
/// metadata next to its own.
///
/// # Errors
/// `NotFound` for a missing table; as [`IcebergTable::open`] and [`PaimonTable::find`].
pub fn open(location: &str, storage_options: BTreeMap<String, String>, moved: bool) -> Result<Arc<dyn Table>> {
    let is_file = [".json", ".gz"].iter().any(|end| location.ends_with(end));
    let store = store::open_store(location, &storage_options)?;
    #[cfg(test)]
    if let Some(table) = super::toy::ToyTable::find(&store, &location::absolute(location)?)? {
        return Ok(Arc::new(table));
    }
    let iceberg = || IcebergTable::open_in(store.clone(), location, storage_options.clone(), moved).map(shared);
    if is_file {
        return iceberg();
    }
    let paimon = || Ok(paimon_at(&store, location, &storage_options)?.map(shared));
    if !store.is_remote() {
        return paimon()?.map_or_else(iceberg, Ok);
    }
    // Each answer takes a round trip, so both formats are looked for at the same time.
    let look = |format: usize| Ok(if format == 0 { paimon() } else { iceberg().map(Some) });
    for found in parallel::in_parallel_on(2, 2, look)? {
        if let Some(table) = found? {
            return Ok(table);
        }
    }
    Err(Error::internal("neither format was looked for"))
}

fn shared<T: Table + 'static>(table: T) -> Arc<dyn Table> {
    Arc::new(table)
}

/// The Paimon table in a folder. `None` for a user who may read files by name but not list them.
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
