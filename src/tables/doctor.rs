//! Examines a place, even if no table can be opened there.

use std::collections::BTreeMap;

use super::open;
use crate::error::{ErrorKind, Result};
use crate::format::diagnosis::code::Code;
use crate::format::diagnosis::finding::{Diagnosis, DoctorOptions};
use crate::format::diagnosis::repair::RepairStep;
use crate::format::diagnosis::table_codes;
use crate::iceberg;
use crate::paimon;
use crate::store::{self, location};

/// Examines the table at a root folder or metadata file.
///
/// # Errors
/// `InvalidInput` for options that no store has, and for a file that is no metadata; errors of the store other than a
/// missing file; a cancellation.
pub fn examine(place: &str, storage_options: BTreeMap<String, String>, options: &DoctorOptions) -> Result<Diagnosis> {
    match open::open(place, storage_options.clone(), false) {
        Ok(table) => table.diagnose(options),
        Err(e) => match e.kind() {
            ErrorKind::CorruptTable | ErrorKind::NotFound | ErrorKind::Unsupported => {
                let store = store::open_store(place, &storage_options)?;
                let root = location::absolute(place)?;
                match paimon::doctor::examine_place(&store, &root, options, &e)? {
                    Some(diagnosis) => Ok(diagnosis),
                    None => iceberg::doctor::examine_place(&store, &root, &storage_options, options, &e),
                }
            }
            _ => Err(e),
        },
    }
}

/// Writes a new metadata file for a table that can't be opened. Returns its path and what it changes.
///
/// # Errors
/// Those of [`iceberg::doctor::restore`]; `InvalidInput` for options that no store has.
pub fn restore(
    place: &str,
    storage_options: &BTreeMap<String, String>,
    dry_run: bool,
) -> Result<(String, Vec<RepairStep>)> {
    let store = store::open_store(place, storage_options)?;
    iceberg::doctor::restore(&store, &location::absolute(place)?, dry_run)
}

/// All codes, with the format that has them; none for the codes of all formats.
pub fn codes() -> Vec<(&'static str, &'static Code)> {
    let shared = table_codes::ALL.iter().map(|code| ("", *code));
    let iceberg = iceberg::doctor::codes::ALL.iter().map(|code| (iceberg::state::ICEBERG.id, *code));
    let paimon = paimon::doctor::codes::ALL.iter().map(|code| (paimon::state::PAIMON.id, *code));
    shared.chain(iceberg).chain(paimon).collect()
}
