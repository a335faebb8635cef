//! Appending to a table: manifests are written once, the manifest list and the metadata anew for every attempt.
//!
//! The steps never delete a file that may be live: only a caller who knows that the commit failed calls
//! [`AppendFiles::clean_up`].
//!
//! Source: Iceberg specification, "Snapshots", "Sequence Numbers", "Row Lineage"; "Commit Conflict Resolution and Retry".

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use crate::codec::avro::Codec;
use crate::error::{Error, Result, ResultExt};
use crate::iceberg::catalog::filesystem::METADATA_FOLDER;
use crate::iceberg::entries::{ADDED, DELETED, EXISTING, EntryRequest};
use crate::iceberg::manifest::{Inherited, Manifest};
use crate::iceberg::manifest_encode::{ManifestEntry, ManifestHeader, encode_manifest};
use crate::iceberg::manifest_list::{ManifestContent, ManifestFile, ManifestListHeader, encode_manifest_list};
use crate::iceberg::metadata::TableMetadata;
use crate::iceberg::plan::load_manifests;
use crate::iceberg::snapshot::Snapshot;
use crate::store::{Location, Store, location};
use crate::task::{DataFile, FileContent};
use crate::types::hash::murmur3_bytes;

/// Entries of a manifest at most; more files make more manifests, so that planning can prune and share them out.
const FILES_PER_MANIFEST: usize = 10_000;

/// The member of a snapshot's summary that tells by which files an append was made, so that committing them again is seen.
const FILES_ID: &str = "frazil.files-id";

/// A number that, but for chance, only these files have: their names hold UUIDs.
fn files_id(files: &[DataFile]) -> String {
    let mut paths: Vec<&str> = files.iter().map(|f| f.path.as_str()).collect();
    paths.sort_unstable();
    let all = paths.join("\n");
    format!("{:08x}{:08x}", murmur3_bytes(all.as_bytes()), crc32fast::hash(all.as_bytes()))
}

/// Those of `paths` that are live in some snapshot of the table.
///
/// # Errors
/// Of the store; `CorruptTable` if a manifest is.
pub fn live_files(store: &dyn Store, metadata: &TableMetadata, paths: &HashSet<&str>) -> Result<Vec<String>> {
    let mut seen = HashSet::new();
    let mut live = Vec::new();
    for snapshot in &metadata.snapshots {
        for m in load_manifests(store, &Location::recorded(), snapshot).with("snapshot", snapshot.id)? {
            if !seen.insert(m.path.clone()) {
                continue;
            }
            let bytes = store.get(&m.path)?;
            let manifest = Manifest::parse(&bytes).with("path", &m.path)?;
            let all = 0..manifest.block_count();
            let entries =
                manifest.decode(all, &EntryRequest::default(), &Inherited::default()).with("path", &m.path)?;
            let found = entries.rows().filter_map(|row| std::str::from_utf8(entries.path.get(row)?).ok());
            live.extend(found.filter(|p| paths.contains(p)).map(str::to_owned));
        }
    }
    Ok(live)
}

/// One append, from the first attempt to the last.
pub struct AppendFiles {
    store: Arc<dyn Store>,
    snapshot_id: i64,
    commit_id: String,
    files: Vec<DataFile>,
    extra_summary: BTreeMap<String, String>,
    files_id: String,
    /// Written at the first attempt; reused by the others.
    manifests: Option<Vec<ManifestFile>>,
    manifest_lists: Vec<String>,
}

/// An attempt that is ready to be published.
pub struct Prepared {
    /// The metadata to publish.
    pub metadata: TableMetadata,
    /// The snapshot it adds.
    pub snapshot_id: i64,
}

impl AppendFiles {
    /// An append of these data files. `extra_summary` can't override what is computed.
    ///
    /// # Errors
    /// `InvalidInput` if a file is no data file or there twice.
    pub fn new(store: Arc<dyn Store>, files: Vec<DataFile>, extra_summary: BTreeMap<String, String>) -> Result<Self> {
        if let Some(f) = files.iter().find(|f| f.content != FileContent::Data) {
            return Err(Error::invalid("an append takes data files only").with("path", &f.path));
        }
        let mut paths = HashSet::new();
        if let Some(f) = files.iter().find(|f| !paths.insert(f.path.as_str())) {
            let e = Error::invalid("a data file is appended twice").with("path", &f.path);
            return Err(e.hint("Commit each message once"));
        }
        let id = uuid::Uuid::new_v4();
        let (high, low) = id.as_u64_pair();
        Ok(AppendFiles {
            store,
            snapshot_id: ((high ^ low) & i64::MAX as u64) as i64,
            commit_id: id.to_string(),
            files_id: files_id(&files),
            files,
            extra_summary,
            manifests: None,
            manifest_lists: Vec::new(),
        })
    }

    /// Whether the table has the append already: by another attempt, or by an earlier commit of the same files.
    pub fn is_in(&self, metadata: &TableMetadata) -> bool {
        let made_by = |s: &Snapshot| s.id == self.snapshot_id || s.summary.get(FILES_ID) == Some(&self.files_id);
        metadata.snapshots.iter().any(|s| made_by(s))
    }

    /// Builds the metadata that adds the files to `base`; writes manifests (once) and a manifest list.
    ///
    /// # Errors
    /// Of the store; `CorruptTable` if the base's manifest list is; `InvalidInput` if a file's spec is not the table's.
    pub fn prepare(&mut self, base: &TableMetadata, now_ms: i64) -> Result<Prepared> {
        let parent = base.current_snapshot().cloned();
        let sequence_number = if base.format_version == 1 { 0 } else { base.last_sequence_number + 1 };
        let mut manifests = self.own_manifests(base)?;
        for m in &mut manifests {
            m.sequence_number = sequence_number;
            m.min_sequence_number = sequence_number;
        }
        if let Some(parent) = &parent {
            let kept =
                load_manifests(self.store.as_ref(), &Location::recorded(), parent).with("snapshot", parent.id)?;
            for manifest in kept {
                manifests.push(self.with_counts(base, manifest)?);
            }
        }
        let first_row_id = (base.format_version >= 3).then(|| base.next_row_id.unwrap_or(0));
        let added_rows = first_row_id.map(|first| number_rows(&mut manifests, first)).transpose()?;
        let list = self.write_list(base, &parent, sequence_number, first_row_id, &manifests)?;
        let snapshot = Snapshot {
            id: self.snapshot_id,
            parent_id: parent.as_ref().map(|p| p.id),
            sequence_number,
            timestamp_ms: now_ms.max(parent.as_ref().map_or(i64::MIN, |p| p.timestamp_ms)),
            manifest_list: Some(list),
            summary: self.summary(parent.as_deref()),
            schema_id: Some(base.current_schema_id),
            first_row_id,
            added_rows,
            ..Snapshot::default()
        };
        Ok(Prepared { metadata: base.add_snapshot(snapshot, "main", now_ms)?, snapshot_id: self.snapshot_id })
    }

    /// Removes the manifests and lists of an append that certainly was not committed.
    pub fn clean_up(&self) {
        let manifests = self.manifests.iter().flatten().map(|m| &m.path);
        for path in manifests.chain(&self.manifest_lists) {
            // Left-overs are harmless orphans; the commit's own error matters more.
            let _ = self.store.delete(path);
        }
    }

    /// Fills in the counts that a v1 list may lack and later versions require, by counting the manifest's entries.
    fn with_counts(&self, base: &TableMetadata, mut m: ManifestFile) -> Result<ManifestFile> {
        let known = [m.added_files_count, m.existing_files_count, m.deleted_files_count];
        let rows = [m.added_rows_count, m.existing_rows_count, m.deleted_rows_count];
        if base.format_version == 1 || known.iter().chain(&rows).all(Option::is_some) {
            return Ok(m);
        }
        let bytes = self.store.get(&m.path)?;
        let manifest = Manifest::parse(&bytes).with("path", &m.path)?;
        let request = EntryRequest { deleted_too: true, ..EntryRequest::default() };
        let inherited = Inherited { snapshot_id: m.added_snapshot_id, sequence_number: m.sequence_number };
        let entries = manifest.decode(0..manifest.block_count(), &request, &inherited).with("path", &m.path)?;
        let count = |status: u8| {
            let of_status = entries.status.iter().zip(&entries.record_count).filter(|(s, _)| **s == status);
            of_status.fold((0i64, 0i64), |(files, rows), (_, n)| (files + 1, rows.saturating_add(*n)))
        };
        let ((added, added_rows), (existing, existing_rows)) = (count(ADDED), count(EXISTING));
        let (deleted, deleted_rows) = count(DELETED);
        (m.added_files_count, m.added_rows_count) = (Some(added), Some(added_rows));
        (m.existing_files_count, m.existing_rows_count) = (Some(existing), Some(existing_rows));
        (m.deleted_files_count, m.deleted_rows_count) = (Some(deleted), Some(deleted_rows));
        Ok(m)
    }

    fn own_manifests(&mut self, base: &TableMetadata) -> Result<Vec<ManifestFile>> {
        if let Some(done) = &self.manifests {
            return Ok(done.clone());
        }
        let mut by_spec: BTreeMap<i32, Vec<&DataFile>> = BTreeMap::new();
        for f in &self.files {
            by_spec.entry(f.partition.spec_id).or_default().push(f);
        }
        let mut out = Vec::new();
        for (spec_id, files) in by_spec {
            for chunk in files.chunks(FILES_PER_MANIFEST) {
                out.push(self.write_manifest(base, spec_id, chunk, out.len())?);
            }
        }
        self.manifests = Some(out.clone());
        Ok(out)
    }

    fn write_manifest(
        &self,
        base: &TableMetadata,
        spec_id: i32,
        files: &[&DataFile],
        n: usize,
    ) -> Result<ManifestFile> {
        let spec = base.spec_by_id(spec_id)?;
        let entry = |f: &&DataFile| ManifestEntry {
            status: ADDED,
            snapshot_id: Some(self.snapshot_id),
            sequence_number: None,
            file_sequence_number: None,
            file: (*f).clone(),
        };
        let entries: Vec<ManifestEntry> = files.iter().map(entry).collect();
        let header = ManifestHeader {
            format_version: base.format_version,
            schema: base.schema()?,
            spec,
            content: ManifestContent::Data,
            codec: Codec::Deflate,
            compression_level: None,
        };
        let encoded = encode_manifest(&entries, &header)?;
        let path = metadata_path(base, &format!("{}-m{n}.avro", self.commit_id));
        self.store.put_if_absent(&path, &encoded.bytes)?;
        Ok(ManifestFile {
            path,
            length_bytes: encoded.bytes.len() as i64,
            spec_id,
            content: ManifestContent::Data,
            added_snapshot_id: Some(self.snapshot_id),
            added_files_count: Some(encoded.added_files_count),
            existing_files_count: Some(encoded.existing_files_count),
            deleted_files_count: Some(encoded.deleted_files_count),
            added_rows_count: Some(encoded.added_rows_count),
            existing_rows_count: Some(encoded.existing_rows_count),
            deleted_rows_count: Some(encoded.deleted_rows_count),
            partitions: encoded.partitions,
            ..ManifestFile::default()
        })
    }

    fn write_list(
        &mut self,
        base: &TableMetadata,
        parent: &Option<Arc<Snapshot>>,
        sequence_number: i64,
        first_row_id: Option<i64>,
        manifests: &[ManifestFile],
    ) -> Result<String> {
        let header = ManifestListHeader {
            format_version: base.format_version,
            snapshot_id: self.snapshot_id,
            parent_snapshot_id: parent.as_ref().map(|p| p.id),
            sequence_number,
            first_row_id,
        };
        let attempt = self.manifest_lists.len() + 1;
        let name = format!("snap-{}-{attempt}-{}.avro", self.snapshot_id, self.commit_id);
        let path = metadata_path(base, &name);
        self.store.put_if_absent(&path, &encode_manifest_list(manifests, &header)?)?;
        self.manifest_lists.push(path.clone());
        Ok(path)
    }

    /// The summary as Java writes it: what was added, and the parent's totals carried on where they are known.
    fn summary(&self, parent: Option<&Snapshot>) -> BTreeMap<String, String> {
        let mut out = self.extra_summary.clone();
        let bytes: i64 = self.files.iter().map(|f| f.size_bytes).sum();
        let rows: i64 = self.files.iter().map(|f| f.record_count).sum();
        let partitions: BTreeSet<(i32, String)> =
            self.files.iter().map(|f| (f.partition.spec_id, f.partition.path())).collect();
        let added = [
            ("added-data-files", "total-data-files", self.files.len() as i64),
            ("added-records", "total-records", rows),
            ("added-files-size", "total-files-size", bytes),
        ];
        out.insert("operation".into(), "append".into());
        out.insert(FILES_ID.into(), self.files_id.clone());
        out.insert("changed-partition-count".into(), partitions.len().to_string());
        let before = |key: &str| match parent {
            None => Some(0),
            Some(p) => p.summary.get(key).and_then(|v| v.parse::<i64>().ok()),
        };
        let mut total = |key: &str, more: i64| match before(key).and_then(|n| n.checked_add(more)) {
            Some(n) => out.insert(key.into(), n.to_string()),
            None => out.remove(key),
        };
        for (_, key, n) in added {
            total(key, n);
        }
        for key in ["total-delete-files", "total-position-deletes", "total-equality-deletes"] {
            total(key, 0);
        }
        out.extend(added.into_iter().map(|(key, _, n)| (key.to_owned(), n.to_string())));
        out
    }
}

/// Where a new metadata file of the table goes.
fn metadata_path(base: &TableMetadata, name: &str) -> String {
    location::join(&location::join(&base.location, METADATA_FOLDER), name)
}

/// Gives every data manifest without a first row id one, counting from `first`; returns how many rows were numbered
/// (specification, "Row Lineage", "First Row ID Assignment").
fn number_rows(manifests: &mut [ManifestFile], first: i64) -> Result<i64> {
    let mut next = first;
    for m in manifests.iter_mut().filter(|m| m.content == ManifestContent::Data && m.first_row_id.is_none()) {
        let rows = m.added_rows_count.zip(m.existing_rows_count).and_then(|(a, e)| a.checked_add(e));
        let rows = rows.filter(|r| *r >= 0).ok_or_else(|| {
            Error::unsupported("the manifest list does not give the rows of a manifest, so its rows can't be numbered")
                .with("path", &m.path)
                .hint("Rewrite the table's manifests before upgrading it to version 3")
        })?;
        m.first_row_id = Some(next);
        next = next.checked_add(rows).ok_or_else(|| Error::corrupt("row ids overflow").with("path", &m.path))?;
    }
    Ok(next - first)
}
