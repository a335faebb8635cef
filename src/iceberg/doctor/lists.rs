//! Manifest lists: which manifests each snapshot has, and whether their entries fit the snapshot.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::codes;
use crate::error::Result;
use crate::format::diagnosis::finding::{Findings, Looked};
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::parallel::{Phase, Unit, begin_phase, check_cancelled, count_done, in_parallel_on};
use crate::store::{Location, Store};

/// Lists that are read before they are compared, at least.
const LISTS_AT_ONCE: usize = 16;

/// A snapshot whose list was read.
#[derive(Debug)]
pub(super) struct ListedSnapshot {
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    /// The places of its manifests in [`Lists::manifests`].
    pub manifests: Vec<u32>,
}

/// All manifests, each once, and the snapshots that list them.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Snapshots with readable lists.
    pub snapshots: Vec<ListedSnapshot>,
    /// Distinct manifests, as the first list that names them describes them.
    pub manifests: Vec<ManifestFile>,
}

impl Lists {
    /// Reads the lists of all snapshots.
    ///
    /// # Errors
    /// A cancellation. Anything else becomes a finding.
    pub(super) fn read(
        store: &dyn Store,
        location: &Location,
        metadata: &TableMetadata,
        findings: &Findings,
    ) -> Result<Lists> {
        let snapshots = &metadata.snapshots;
        let _phase = begin_phase(Phase::ReadingSnapshots, snapshots.len());
        let (mut lists, mut places) = (Lists::default(), HashMap::new());
        // Lists of one table name the same manifests, so only a few lists are in memory at a time.
        for snapshots in snapshots.chunks(store.at_once().max(LISTS_AT_ONCE)) {
            let read = in_parallel_on(store.at_once(), snapshots.len(), |i| {
                check_cancelled()?;
                count_done(Unit::Snapshots, 1);
                read_list(store, location, &snapshots[i], findings)
            })?;
            for (snapshot, manifests) in snapshots.iter().zip(read) {
                if let Some(manifests) = manifests {
                    lists.add(metadata, snapshot, manifests, &mut places, findings);
                }
            }
        }
        Ok(lists)
    }

    /// Adds the list of a snapshot. `places` has the places of manifests by their paths.
    fn add(
        &mut self,
        metadata: &TableMetadata,
        snapshot: &Arc<Snapshot>,
        manifests: Vec<ManifestFile>,
        places: &mut HashMap<String, u32>,
        findings: &Findings,
    ) {
        let mut own = Vec::with_capacity(manifests.len());
        let mut seen = HashSet::with_capacity(manifests.len());
        for manifest in manifests {
            check_entry(metadata, snapshot, &manifest, findings);
            let known = places.get(&manifest.path).copied();
            let place = known.unwrap_or(self.manifests.len() as u32);
            if !seen.insert(place) {
                let evidence = format!("snapshot {} lists it twice", snapshot.id);
                findings.add(&codes::MANIFEST_LISTED_TWICE, &manifest.path, evidence);
                continue;
            }
            own.push(place);
            if known.is_none() {
                places.insert(manifest.path.clone(), place);
                self.manifests.push(manifest);
            }
        }
        self.snapshots.push(ListedSnapshot { snapshot: snapshot.clone(), manifests: own });
    }
}

/// Reads the list of a snapshot; `None` if it cannot be read.
fn read_list(
    store: &dyn Store,
    location: &Location,
    snapshot: &Snapshot,
    findings: &Findings,
) -> Result<Option<Vec<ManifestFile>>> {
    findings.looked(Looked::Snapshot);
    match load_manifests(store, location, snapshot) {
        Ok(manifests) => Ok(Some(manifests)),
        Err(e) => {
            let inline = format!("manifests of snapshot {}", snapshot.id);
            let object = snapshot.manifest_list.as_deref().unwrap_or(&inline);
            let (missing, damaged) = (&codes::MANIFEST_LIST_MISSING, &codes::MANIFEST_LIST_DAMAGED);
            findings.failed(missing, damaged, object, &e)?;
            Ok(None)
        }
    }
}

/// Checks a manifest's entry in the list of a snapshot.
fn check_entry(metadata: &TableMetadata, snapshot: &Snapshot, manifest: &ManifestFile, findings: &Findings) {
    let path = &manifest.path;
    if metadata.spec_by_id(manifest.spec_id).is_err() {
        findings.add(&codes::MANIFEST_SPEC_UNKNOWN, path, format!("partition spec {}", manifest.spec_id));
    }
    if manifest.sequence_number > snapshot.sequence_number {
        let evidence = format!(
            "sequence number {} in snapshot {}, which has {}",
            manifest.sequence_number, snapshot.id, snapshot.sequence_number
        );
        findings.add(&codes::MANIFEST_SEQUENCE, path, evidence);
    }
    if manifest.min_sequence_number > manifest.sequence_number {
        let evidence = format!(
            "the least sequence number {} is above its own {}",
            manifest.min_sequence_number, manifest.sequence_number
        );
        findings.add(&codes::MANIFEST_SEQUENCE, path, evidence);
    }
    let numbers_rows = snapshot.first_row_id.is_some() && manifest.content == ManifestContent::Data;
    if numbers_rows && manifest.first_row_id.is_none() {
        let evidence = format!("snapshot {} assigns row ids", snapshot.id);
        findings.add(&codes::MANIFEST_ROW_ID, path, evidence);
    }
}
