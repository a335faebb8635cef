//! The metadata files that a commit writes.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use crate::codec::avro::AvroCodec;
use crate::codec::avro::encode::BLOCK_SIZE;
use crate::error::Result;
use crate::format::diagnosis::health::is_large_manifest;
use crate::paimon::manifest::encode::{
    PaimonManifestWriter, encode_index_manifest, encode_manifest_list, manifest_codec,
};
use crate::paimon::manifest::entries::ADD;
use crate::paimon::manifest::file_entry::FileEntry;
use crate::paimon::manifest::index_manifest::IndexEntry;
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::spec::binary_row::{BinaryRow, compare_fields};
use crate::paimon::spec::binary_row_write::{encode_row, prefixed};
use crate::paimon::spec::data_type::{DataType, TypeKind};
use crate::paimon::spec::partition::manifest_path;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::stats::SimpleStats;
use crate::parallel::check_cancelled;
use crate::store::Store;

/// The number of entries between two checks for cancellation. Commits check a manifest's size as often, as Java does.
const SIZE_CHECK_ENTRIES: usize = 1000;

/// How manifests are written, by the table's options.
#[derive(Clone, Debug)]
pub(crate) struct ManifestLayout {
    codec: AvroCodec,
    /// No manifest grows much beyond that.
    pub(crate) target_bytes: i64,
    partition_types: Vec<DataType>,
    /// Whether manifests are closed as soon as they are full.
    is_dividing: bool,
}

impl ManifestLayout {
    /// The layout by a schema's options.
    pub(crate) fn of(schema: &TableSchema) -> Result<ManifestLayout> {
        let options = schema.options();
        Ok(ManifestLayout {
            codec: manifest_codec(options)?,
            target_bytes: options.bytes("manifest.target-file-size", 8 << 20)?,
            partition_types: schema.partition_types(),
            is_dividing: false,
        })
    }

    /// The layout that leaves no manifest that [`ManifestLayout::divides`].
    #[must_use]
    pub(super) fn dividing(self) -> ManifestLayout {
        ManifestLayout { is_dividing: true, ..self }
    }

    /// The size at which a divided manifest is full. No part is smaller than a block.
    pub(crate) fn piece_bytes(&self) -> i64 {
        self.target_bytes.max(BLOCK_SIZE as i64)
    }

    /// Whether a manifest is so large that a rewrite divides it. A single entry can't be divided.
    pub(crate) fn divides(&self, manifest: &PaimonManifestFile) -> bool {
        manifest.added_files.saturating_add(manifest.deleted_files) > 1 && self.is_large(manifest.file_size)
    }

    fn is_large(&self, bytes: i64) -> bool {
        is_large_manifest(bytes.max(0).unsigned_abs(), self.piece_bytes().unsigned_abs())
    }

    /// Whether a manifest is full that has this number of entries. Its size is asked for only where it is checked.
    fn is_full(&self, entries: usize, bytes: impl FnOnce() -> Result<i64>) -> Result<bool> {
        match self.is_dividing {
            true => Ok(bytes()? >= self.piece_bytes()),
            false => Ok(entries.is_multiple_of(SIZE_CHECK_ENTRIES) && bytes()? >= self.target_bytes),
        }
    }
}

/// Writes the metadata files of one commit, and remembers them.
#[derive(Debug)]
pub(super) struct MetadataFiles {
    store: Arc<dyn Store>,
    root: String,
    commit_id: String,
    manifests: usize,
    lists: usize,
    indexes: usize,
    /// Names and paths.
    written: Vec<(String, String)>,
}

impl MetadataFiles {
    pub(super) fn new(store: Arc<dyn Store>, root: &str) -> MetadataFiles {
        let commit_id = uuid::Uuid::new_v4().to_string();
        MetadataFiles {
            store,
            root: root.to_owned(),
            commit_id,
            manifests: 0,
            lists: 0,
            indexes: 0,
            written: Vec::new(),
        }
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = manifest_path(&self.root, name)?;
        self.put_at(name, path, bytes)
    }

    /// Writes a file that has a place of its own.
    pub(super) fn put_at(&mut self, name: &str, path: String, bytes: &[u8]) -> Result<()> {
        // The file is recorded first, because it may exist even if writing it failed.
        self.written.push((name.to_owned(), path.clone()));
        self.store.put_if_absent(&path, bytes)
    }

    /// The name of a new index file.
    pub(super) fn index_name(&mut self) -> String {
        self.indexes += 1;
        format!("index-{}-{}", self.commit_id, self.indexes - 1)
    }

    /// Removes the files that are not needed, and forgets them.
    pub(super) fn delete_all_but(&mut self, needed: &HashSet<String>) {
        let written = std::mem::take(&mut self.written);
        let (kept, unneeded): (Vec<_>, Vec<_>) = written.into_iter().partition(|(name, _)| needed.contains(name));
        self.written = kept;
        self.store.discard(unneeded.into_iter().map(|(_, path)| path).collect());
    }

    /// Writes a manifest list. Returns its name and length.
    pub(super) fn write_list(
        &mut self,
        manifests: &[PaimonManifestFile],
        layout: &ManifestLayout,
    ) -> Result<(String, i64)> {
        let bytes = encode_manifest_list(manifests, layout.codec)?;
        let name = format!("manifest-list-{}-{}", self.commit_id, self.lists);
        self.lists += 1;
        self.put(&name, &bytes)?;
        Ok((name, bytes.len() as i64))
    }

    /// Writes an index manifest. Returns its name.
    pub(super) fn write_index(&mut self, entries: &[IndexEntry], layout: &ManifestLayout) -> Result<String> {
        let bytes = encode_index_manifest(entries, layout.codec)?;
        let name = format!("index-manifest-{}-{}", self.commit_id, self.manifests);
        self.manifests += 1;
        self.put(&name, &bytes)?;
        Ok(name)
    }

    /// Writes entries to as many manifests as they need.
    pub(super) fn write_manifests<'e>(
        &mut self,
        entries: impl IntoIterator<Item = &'e FileEntry, IntoIter: Clone>,
        layout: &ManifestLayout,
    ) -> Result<Vec<PaimonManifestFile>> {
        let mut out = Vec::new();
        let mut open: Option<NewManifest<'_, '_>> = None;
        let entries = entries.into_iter();
        // Few tables have such entries.
        let unusual: Vec<&FileEntry> = match entries.clone().any(|e| e.unknown.is_some()) {
            true => entries.clone().collect(),
            false => Vec::new(),
        };
        for entry in entries {
            let manifest = match &mut open {
                Some(manifest) => manifest,
                none => none.insert(NewManifest::new(layout, &unusual)?),
            };
            manifest.add(entry)?;
            let count = manifest.entries.len();
            if count.is_multiple_of(SIZE_CHECK_ENTRIES) {
                check_cancelled()?;
            }
            let is_full = layout.is_full(count, || Ok(manifest.writer.size_bytes()? as i64))?;
            if let Some(full) = open.take_if(|_| is_full) {
                for part in full.divided(layout, &unusual)? {
                    out.push(self.finish(part)?);
                }
            }
        }
        if let Some(last) = open {
            out.push(self.finish(last)?);
        }
        Ok(out)
    }

    fn finish(&mut self, manifest: NewManifest<'_, '_>) -> Result<PaimonManifestFile> {
        let name = format!("manifest-{}-{}", self.commit_id, self.manifests);
        self.manifests += 1;
        let (bytes, mut file) = manifest.finish()?;
        self.put(&name, &bytes)?;
        file.file_name = name;
        Ok(file)
    }
}

/// A manifest in progress, with its entry for the list.
struct NewManifest<'l, 'e> {
    writer: PaimonManifestWriter,
    entries: Vec<&'e FileEntry>,
    file: PaimonManifestFile,
    partitions: PartitionStats<'l>,
    /// Whether all files so far have row ids.
    has_row_ids: bool,
}

impl<'l, 'e> NewManifest<'l, 'e> {
    /// A manifest for entries that may have the unknown members of `unusual` ones.
    fn new(layout: &'l ManifestLayout, unusual: &[&FileEntry]) -> Result<NewManifest<'l, 'e>> {
        Ok(NewManifest {
            writer: PaimonManifestWriter::new(layout.codec, unusual.iter().copied())?,
            entries: Vec::new(),
            file: PaimonManifestFile { schema_id: i64::MIN, ..PaimonManifestFile::default() },
            partitions: PartitionStats::new(&layout.partition_types),
            has_row_ids: true,
        })
    }

    /// The manifest without its last entry and one with that alone, if this entry made it large. Otherwise itself.
    fn divided(mut self, layout: &'l ManifestLayout, unusual: &[&FileEntry]) -> Result<Vec<NewManifest<'l, 'e>>> {
        let is_large = layout.is_dividing && layout.is_large(self.writer.size_bytes()? as i64);
        match self.entries.split_last() {
            Some((last, before)) if is_large && !before.is_empty() => [before, std::slice::from_ref(last)]
                .into_iter()
                .map(|entries| {
                    let mut manifest = NewManifest::new(layout, unusual)?;
                    entries.iter().try_for_each(|entry| manifest.add(entry))?;
                    Ok(manifest)
                })
                .collect(),
            _ => Ok(vec![self]),
        }
    }

    fn add(&mut self, entry: &'e FileEntry) -> Result<()> {
        self.writer.add(entry)?;
        self.entries.push(entry);
        let file = &mut self.file;
        match entry.kind {
            ADD => file.added_files += 1,
            _ => file.deleted_files += 1,
        }
        file.schema_id = file.schema_id.max(entry.schema_id);
        file.buckets = Some(wider(file.buckets, (entry.bucket, entry.bucket)));
        file.levels = Some(wider(file.levels, (entry.level, entry.level)));
        match entry.row_ids() {
            Some(ids) => file.row_ids = Some(wider(file.row_ids, ids)),
            None => self.has_row_ids = false,
        }
        self.partitions.add(&entry.partition)
    }

    fn finish(self) -> Result<(Vec<u8>, PaimonManifestFile)> {
        let bytes = self.writer.finish()?;
        let mut file = self.file;
        file.file_size = bytes.len() as i64;
        file.row_ids = file.row_ids.filter(|_| self.has_row_ids);
        file.partition_stats = self.partitions.finish()?;
        Ok((bytes, file))
    }
}

fn wider<T: Ord>(range: Option<(T, T)>, other: (T, T)) -> (T, T) {
    match range {
        Some((from, to)) => (from.min(other.0), to.max(other.1)),
        None => other,
    }
}

/// The rows with the least and with the greatest value of a column.
type ManifestRanges = (Arc<[u8]>, Arc<[u8]>);

/// Statistics of partition rows.
struct PartitionStats<'t> {
    types: &'t [DataType],
    /// The rows with the least and the greatest value, by column.
    ends: Vec<Option<ManifestRanges>>,
    nulls: Vec<i64>,
    last: Option<(Arc<[u8]>, i64)>,
}

impl<'t> PartitionStats<'t> {
    fn new(types: &'t [DataType]) -> PartitionStats<'t> {
        PartitionStats { types, ends: vec![None; types.len()], nulls: vec![0; types.len()], last: None }
    }

    /// Entries of one partition mostly follow each other.
    fn add(&mut self, partition: &Arc<[u8]>) -> Result<()> {
        match &mut self.last {
            Some((last, times)) if last == partition => {
                *times += 1;
                Ok(())
            }
            last => match last.replace((partition.clone(), 1)) {
                Some((done, times)) => self.take_in(&done, times),
                None => Ok(()),
            },
        }
    }

    fn take_in(&mut self, partition: &Arc<[u8]>, times: i64) -> Result<()> {
        let row = BinaryRow::from_prefixed(partition)?;
        for (i, ((ends, nulls), ty)) in self.ends.iter_mut().zip(&mut self.nulls).zip(self.types).enumerate() {
            if row.is_null(i) {
                *nulls += times;
                continue;
            }
            // Java compares no bytes.
            if matches!(ty.kind, TypeKind::Binary(_) | TypeKind::VarBinary(_)) {
                continue;
            }
            let (least, greatest) = ends.get_or_insert_with(|| (partition.clone(), partition.clone()));
            if compare_fields(&row, &BinaryRow::from_prefixed(least)?, i, ty)? == Ordering::Less {
                *least = partition.clone();
            }
            if compare_fields(&row, &BinaryRow::from_prefixed(greatest)?, i, ty)? == Ordering::Greater {
                *greatest = partition.clone();
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<SimpleStats> {
        if let Some((last, times)) = self.last.take() {
            self.take_in(&last, times)?;
        }
        let row_of = |end: fn(&ManifestRanges) -> &Arc<[u8]>| -> Result<Vec<u8>> {
            let datum = |(i, ty): (usize, &DataType)| match self.ends.get(i).and_then(Option::as_ref) {
                Some(ends) => BinaryRow::from_prefixed(end(ends))?.datum(i, ty),
                None => Ok(None),
            };
            let fields = self.types.iter().enumerate().map(datum).collect::<Result<Vec<_>>>()?;
            Ok(prefixed(&encode_row(&fields, self.types)?, fields.len()))
        };
        Ok(SimpleStats { min: row_of(|e| &e.0)?, max: row_of(|e| &e.1)?, null_counts: Some(self.nulls) })
    }
}

/// The list's entry for a manifest with these entries.
#[cfg(test)]
pub(crate) fn manifest_of(entries: &[FileEntry], layout: &ManifestLayout) -> Result<PaimonManifestFile> {
    let mut manifest = NewManifest::new(layout, &[])?;
    entries.iter().try_for_each(|entry| manifest.add(entry))?;
    Ok(manifest.finish()?.1)
}
