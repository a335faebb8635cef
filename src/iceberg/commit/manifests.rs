//! The manifests and manifest lists that a commit writes, and the entries of manifests that it rewrites.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::codec::avro::AvroCodec;
use crate::error::{Error, Result, ResultExt};
use crate::format::task::{DataFile, Partition};
use crate::iceberg::manifest::columns::{Manifest, assign_first_row_ids, clear_first_row_ids, partition_of};
use crate::iceberg::manifest::encode::{ManifestEntry, ManifestHeader, encode_manifest};
use crate::iceberg::manifest::entries::Inherited;
use crate::iceberg::manifest::entries::{ADDED, DELETED, EXISTING, EntryColumns, EntryRequest};
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile, ManifestListHeader, encode_manifest_list};
use crate::iceberg::spec::metadata::METADATA_FOLDER;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::store::{Store, location};

/// The property with the compression of manifests: `gzip` (default), `zstd`, `snappy` or `uncompressed`.
const CODEC: &str = "write.manifest.compression-codec";

/// The property with the compression level.
const LEVEL: &str = "write.manifest.compression-level";

/// The property with the target size of merged manifests.
const TARGET_BYTES: &str = "commit.manifest.target-size-bytes";

/// The target size of merged manifests, from the table's properties.
///
/// # Errors
/// `InvalidInput` if the property is not a number.
pub(super) fn target_bytes(base: &TableMetadata) -> Result<i64> {
    base.int_property(TARGET_BYTES, 8 << 20)
}

/// The sequence number of a manifest that is not in a manifest list yet.
pub(super) const UNASSIGNED: i64 = -1;

/// A random id for a snapshot. A collision is very unlikely.
pub(super) fn new_snapshot_id() -> i64 {
    let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
    ((high ^ low) & i64::MAX as u64) as i64
}

/// Writes the metadata files of one commit and keeps their paths.
#[derive(Debug)]
pub(super) struct ManifestWriter {
    pub store: Arc<dyn Store>,
    pub snapshot_id: i64,
    commit_id: String,
    next: AtomicUsize,
    lists: AtomicUsize,
    written: Mutex<Vec<String>>,
}

impl ManifestWriter {
    pub(super) fn new(store: Arc<dyn Store>) -> ManifestWriter {
        ManifestWriter {
            store,
            snapshot_id: new_snapshot_id(),
            commit_id: uuid::Uuid::new_v4().to_string(),
            next: AtomicUsize::new(0),
            lists: AtomicUsize::new(0),
            written: Mutex::default(),
        }
    }

    /// Deletes the written files that `unneeded` selects, and forgets them.
    pub(super) fn delete(&self, unneeded: impl Fn(&str) -> bool) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let (gone, kept) = std::mem::take(&mut *written).into_iter().partition(|path| unneeded(path));
        *written = kept;
        self.store.discard(gone);
    }

    fn put(&self, base: &TableMetadata, name: &str, bytes: &[u8]) -> Result<String> {
        let path = location::join(&location::join(&base.location, METADATA_FOLDER), name);
        // This comes first: a file can be there although writing it failed.
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
        self.store.put_if_absent(&path, bytes)?;
        Ok(path)
    }

    /// Writes a manifest of this commit. It gets its sequence numbers from the first list that names it.
    pub(super) fn write(
        &self,
        base: &TableMetadata,
        content: ManifestContent,
        spec_id: i32,
        entries: &[ManifestEntry],
    ) -> Result<ManifestFile> {
        let header = ManifestHeader {
            format_version: base.format_version,
            schema: base.schema()?,
            spec: base.spec_by_id(spec_id)?,
            content,
            codec: codec(base)?,
            compression_level: level(base)?,
        };
        let encoded = encode_manifest(entries, &header)?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.put(base, &format!("{}-m{number}.avro", self.commit_id), &encoded.bytes)?;
        Ok(ManifestFile {
            path,
            length_bytes: encoded.bytes.len() as i64,
            spec_id,
            content,
            sequence_number: UNASSIGNED,
            min_sequence_number: encoded.min_sequence_number.unwrap_or(UNASSIGNED),
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

    /// Writes the manifest list of one attempt.
    pub(super) fn write_list(
        &self,
        base: &TableMetadata,
        header: &ManifestListHeader,
        manifests: &[ManifestFile],
    ) -> Result<String> {
        let attempt = self.lists.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("snap-{}-{attempt}-{}.avro", self.snapshot_id, self.commit_id);
        self.put(base, &name, &encode_manifest_list(manifests, header)?)
    }

    /// An entry that adds a file. The commit assigns row ids (specification, "Row Lineage").
    pub(super) fn added(&self, file: &DataFile, sequence_number: Option<i64>) -> ManifestEntry {
        ManifestEntry {
            status: ADDED,
            snapshot_id: Some(self.snapshot_id),
            sequence_number,
            file_sequence_number: None,
            file: DataFile { first_row_id: None, ..file.clone() },
            unknown: None,
        }
    }

    /// Reads all entries of a manifest, with the values inherited from the list. Entries of a manifest of this commit
    /// stay as they are, because their inherited values are not known yet.
    pub(super) fn read(&self, base: &TableMetadata, m: &ManifestFile) -> Result<Vec<ManifestEntry>> {
        let bytes = self.store.get(&m.path)?;
        self.entries(base, m, &bytes).with("path", &m.path)
    }

    fn entries(&self, base: &TableMetadata, m: &ManifestFile, bytes: &[u8]) -> Result<Vec<ManifestEntry>> {
        let manifest = Manifest::parse_listed(bytes, m.size(), None)?;
        let request =
            EntryRequest { encoded_metrics: true, deleted_too: true, unknown_members: true, ..EntryRequest::default() };
        let all = 0..manifest.block_count();
        let own = self.is_own(m);
        let mut columns = if own {
            manifest.decode_plain(&mut Default::default(), all, &request)?
        } else {
            manifest.decode(all, &request, &inherited(m))?
        };
        match m.first_row_id {
            _ if own => {}
            Some(first) => assign_first_row_ids([&mut columns], first)?,
            None => clear_first_row_ids([&mut columns]),
        }
        let partitions = partitions_of(base, m, &manifest, &columns)?;
        let entry = |row: usize| -> Result<ManifestEntry> {
            let partition = columns.partition.get(row).and_then(|i| partitions.get(*i as usize));
            let partition = partition.ok_or_else(|| Error::internal("an entry has no partition"))?;
            let status = columns.status.get(row).copied().unwrap_or(EXISTING);
            if own || status == DELETED || columns.sequence_number.get(row).copied().flatten().is_some() {
                return Ok(ManifestEntry {
                    status,
                    snapshot_id: columns.snapshot_id.get(row).copied().flatten(),
                    sequence_number: columns.sequence_number.get(row).copied().flatten(),
                    file_sequence_number: columns.file_sequence_number.get(row).copied().flatten(),
                    file: columns.data_file(row, partition.clone())?,
                    unknown: columns.unknown_of(row),
                });
            }
            Err(Error::corrupt("a live entry has no sequence number, and was not added by its manifest"))
        };
        columns.rows().map(entry).collect()
    }

    /// Whether this commit wrote the manifest.
    pub(super) fn is_own(&self, m: &ManifestFile) -> bool {
        m.added_snapshot_id == Some(self.snapshot_id)
    }
}

/// The values that the entries of a manifest inherit.
pub(super) fn inherited(m: &ManifestFile) -> Inherited {
    Inherited { snapshot_id: m.added_snapshot_id, sequence_number: m.sequence_number }
}

/// The distinct partitions of a batch, under the table's spec.
pub(super) fn partitions_of(
    base: &TableMetadata,
    m: &ManifestFile,
    manifest: &Manifest<'_>,
    columns: &EntryColumns,
) -> Result<Vec<Arc<Partition>>> {
    let (spec, schema) = (base.spec_by_id(m.spec_id)?, base.schema()?);
    manifest.check_spec(spec, schema)?;
    let of = |tuple| partition_of(spec, schema, &manifest.spec_fields, &manifest.partition_types, tuple);
    Ok(columns.partitions.iter().map(|tuple| Arc::new(of(tuple))).collect())
}

fn codec(base: &TableMetadata) -> Result<AvroCodec> {
    let name = base.properties.get(CODEC).map_or("gzip", String::as_str);
    match name.to_ascii_lowercase().as_str() {
        "gzip" => Ok(AvroCodec::Deflate),
        "zstd" => Ok(AvroCodec::Zstd),
        "snappy" => Ok(AvroCodec::Snappy),
        "uncompressed" => Ok(AvroCodec::Null),
        _ => Err(Error::invalid(format!("the manifest compression codec '{name}' is unknown"))
            .hint(format!("Set {CODEC} to gzip, zstd, snappy or uncompressed"))),
    }
}

fn level(base: &TableMetadata) -> Result<Option<i32>> {
    let level = if base.properties.contains_key(LEVEL) { Some(base.int_property(LEVEL, 0)?) } else { None };
    Ok(level.map(|n| n.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32))
}
