//! Examinations of open tables, and of places where no table can be opened.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::examination::Examination;
use super::{codes, document, history, mend};
use crate::error::{Error, ErrorKind, Result};
use crate::format::diagnosis::finding::{Diagnosis, DoctorOptions, Findings, reason};
use crate::iceberg::catalog::metadata_files::{FoundMetadata, find_metadata, highest_named};
use crate::iceberg::spec::metadata::METADATA_FOLDER;
use crate::iceberg::spec::metadata_json::{metadata_from_json, read_json};
use crate::iceberg::state::IcebergTable;
use crate::parallel::check_cancelled;
use crate::store::location::join;
use crate::store::{LONGEST_HINT, Store};

impl IcebergTable {
    /// Examines the table at this version. Damage becomes a finding.
    ///
    /// # Errors
    /// A cancellation; errors of a catalog that has more snapshots.
    pub fn diagnose(&self, options: &DoctorOptions) -> Result<Diagnosis> {
        let table = self.whole()?;
        let findings = Findings::new(options.most);
        let at = table.metadata_location();
        if !at.is_empty()
            && let Some(json) = document_at(table.inner.store.as_ref(), at, &findings)?
        {
            document::check_lists(&json, at, &findings);
            history::check(&json, at, &findings);
        }
        table.examine(options, &findings)?;
        Ok(findings.finish())
    }

    fn examine(&self, options: &DoctorOptions, findings: &Findings) -> Result<()> {
        document::check_layout(&self.inner.metadata, self.metadata_location(), findings);
        self.check_hint(findings);
        Examination::begin(self, options, findings)?.run()
    }

    /// The version hint must name this version, if the table is known by its folder.
    fn check_hint(&self, findings: &Findings) {
        let Some(version) = self.inner.found.version else { return };
        let path = join(&join(&self.inner.root, METADATA_FOLDER), "version-hint.text");
        let Ok(hint) = self.inner.store.get_at_most(&path, LONGEST_HINT) else { return };
        let hint = String::from_utf8_lossy(&hint).trim().to_owned();
        let newest = find_metadata(self.inner.store.as_ref(), &self.inner.root);
        let is_newest = newest.is_ok_and(|found| found == self.inner.found);
        if is_newest && hint.trim_start_matches('v').parse() != Ok(version) {
            findings.add(&codes::VERSION_HINT, path, format!("it is '{hint}', the newest version is {version}"));
        }
    }
}

/// The JSON of a metadata file. Damage becomes a finding.
fn document_at(store: &dyn Store, at: &str, findings: &Findings) -> Result<Option<Json>> {
    let read = store.get(at).and_then(|bytes| read_json(&bytes));
    match read {
        Ok(json) => Ok(Some(json)),
        Err(e) => {
            check_cancelled()?;
            match e.kind() {
                ErrorKind::NotFound => findings.add(&codes::METADATA_MISSING, at, reason(&e)),
                ErrorKind::CorruptTable => findings.add(&codes::METADATA_DAMAGED, at, reason(&e)),
                // A catalog may give the metadata to a user who may not read the file.
                _ => {}
            }
            Ok(None)
        }
    }
}

/// Examines a place where opening a table failed with `error`. As much as can be read is examined.
///
/// # Errors
/// A cancellation.
pub fn examine_place(
    store: &Arc<dyn Store>,
    place: &str,
    storage_options: &BTreeMap<String, String>,
    options: &DoctorOptions,
    error: &Error,
) -> Result<Diagnosis> {
    let findings = Findings::new(options.most);
    let found = find_metadata(store.as_ref(), place).map(|found| found.metadata_location);
    let (at, is_last) = match found {
        Ok(at) => (Some(at), true),
        Err(_) => (highest_named(store.as_ref(), place).ok().flatten(), false),
    };
    check_cancelled()?;
    let Some(at) = at else {
        findings.add(&codes::METADATA_MISSING, place, reason(error));
        return Ok(findings.finish());
    };
    let Some(json) = document_at(store.as_ref(), &at, &findings)? else { return Ok(findings.finish()) };
    if !is_last {
        findings.add(&codes::METADATA_MISSING, place, reason(error));
    }
    document::check_lists(&json, &at, &findings);
    history::check(&json, &at, &findings);
    if !findings.has_errors() {
        let code = match error.kind() {
            ErrorKind::Unsupported => &codes::METADATA_UNSUPPORTED,
            _ => &codes::METADATA_INVALID,
        };
        findings.add(code, &at, reason(error));
    }
    let (mended, _) = mend::references(json);
    if let Ok(metadata) = metadata_from_json(mended) {
        let found = FoundMetadata { metadata_location: at, version: None };
        let table = IcebergTable::of(store.clone(), metadata, found, storage_options.clone(), false);
        if let Ok(table) = table {
            table.examine(options, &findings)?;
        }
    }
    Ok(findings.finish())
}
