//! Walks a table's metadata for its metadata tables. Reads the manifests of one snapshot or of all, each once, with
//! every entry and all metrics. Also gives the partition type that unites all specs.
//!
//! This module does not depend on Arrow. [`MetadataWalk::entries`] calls the caller's function with each section of
//! decoded entries, on the thread that decoded it. Only the function's results stay in memory.
//!
//! Source: Iceberg specification, "Manifests", "Sequence Number Inheritance", "First Row ID Inheritance".

use std::collections::{BTreeMap, HashSet, btree_map::Entry};
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result, ResultExt};
use crate::format::task::Partition;
use crate::iceberg::manifest::columns::{Manifest, assign_first_row_ids, clear_first_row_ids, partition_of};
use crate::iceberg::manifest::entries::Inherited;
use crate::iceberg::manifest::entries::{DELETED, EntryColumns, EntryRequest};
use crate::iceberg::manifest::list::ManifestFile;
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::parallel::{Phase, Unit, begin_phase, check_cancelled, count_done, in_parallel};
use crate::store::{self, Location, Store};
use crate::types::{Field, FieldId, PartitionField, PartitionSpec, PrimitiveType, Transform};

/// The largest number of manifest bytes in memory at one time.
const WAVE_BYTES: i64 = 32 << 20;
/// The number of blocks in one section.
const BLOCKS_PER_PIECE: usize = 64;

/// The table to walk.
#[derive(Clone, Copy)]
pub struct MetadataWalk<'a> {
    /// The store of the files.
    pub store: &'a dyn Store,
    /// Translates recorded paths to real ones.
    pub location: &'a Location,
    /// The table.
    pub metadata: &'a TableMetadata,
}

/// A section of one manifest's entries, in order, with inherited values filled in.
#[derive(Debug)]
pub struct EntryBatch<'a> {
    /// The manifest.
    pub manifest: &'a ManifestFile,
    /// The entries.
    pub columns: EntryColumns,
    /// By [`EntryColumns::partition`], with values of the types in the table's current schema.
    pub partitions: Vec<Partition>,
}

/// The entries that one thread decodes at a time.
struct WalkPiece {
    manifest: usize,
    blocks: Range<usize>,
}

impl<'a> MetadataWalk<'a> {
    /// The manifests of a snapshot.
    ///
    /// # Errors
    /// Errors of [`load_manifests`], with the snapshot.
    pub fn manifests(&self, snapshot: &Snapshot) -> Result<Vec<ManifestFile>> {
        check_cancelled()?;
        load_manifests(self.store, self.location, snapshot).with("snapshot", snapshot.id)
    }

    /// The manifests of every snapshot, in the order in which the table records its snapshots.
    ///
    /// # Errors
    /// Errors of [`MetadataWalk::manifests`].
    pub fn manifests_of_all(&self) -> Result<Vec<(i64, Vec<ManifestFile>)>> {
        let snapshots = &self.metadata.snapshots;
        store::in_parallel(self.store, snapshots.len(), |i| Ok((snapshots[i].id, self.manifests(&snapshots[i])?)))
    }

    /// The manifests that any snapshot lists, each once, at its first appearance.
    ///
    /// # Errors
    /// Errors of [`MetadataWalk::manifests`].
    pub fn reachable(&self) -> Result<Vec<ManifestFile>> {
        let mut seen = HashSet::new();
        let all = self.manifests_of_all()?.into_iter().flat_map(|(_, manifests)| manifests);
        Ok(all.filter(|m| seen.insert(m.path.clone())).collect())
    }

    /// Decodes the entries of manifests in parallel. Returns the results of `convert` for each section, in order.
    ///
    /// # Errors
    /// Errors of the store and of `convert`; `CorruptTable` or `Unsupported` with the manifest; cancellation.
    pub fn entries<T: Send>(
        &self,
        manifests: &[ManifestFile],
        request: &EntryRequest,
        convert: impl Fn(EntryBatch<'_>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let _phase = begin_phase(Phase::ReadingMetadata, manifests.len());
        let (mut out, mut rest) = (Vec::new(), manifests);
        while !rest.is_empty() {
            let mut bytes = 0i64;
            let fits = |m: &&ManifestFile| {
                bytes = bytes.saturating_add(m.length_bytes.max(0));
                bytes <= WAVE_BYTES
            };
            let (wave, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            rest = later;
            self.wave(wave, request, &convert, &mut out)?;
        }
        Ok(out)
    }

    fn wave<T: Send>(
        &self,
        wave: &[ManifestFile],
        request: &EntryRequest,
        convert: &(impl Fn(EntryBatch<'_>) -> Result<T> + Sync),
        out: &mut Vec<T>,
    ) -> Result<()> {
        let load = |i: usize| -> Result<Vec<u8>> {
            check_cancelled()?;
            let bytes = self.store.get(&self.location.resolve(&wave[i].path)?);
            count_done(Unit::Manifests, 1);
            bytes.map_err(|e| self.location.explain(e)).with("manifest", &wave[i].path)
        };
        let loaded = store::in_parallel(self.store, wave.len(), load)?;
        let first = loaded.first().map(|bytes| Manifest::parse(bytes)).transpose();
        let layout = first.ok().flatten().map(|m| m.layout().clone());
        let parse = |i: usize| {
            let manifest = Manifest::parse_listed(&loaded[i], wave[i].size(), layout.as_ref());
            manifest.with("path", self.location.found(&wave[i].path))
        };
        let parsed = in_parallel(wave.len(), parse)?;
        let mut pieces: Vec<WalkPiece> = Vec::new();
        for (manifest, m) in parsed.iter().enumerate() {
            let blocks = m.block_count();
            // Row ids count over a whole manifest, so one thread reads all of it.
            let step = if wave[manifest].first_row_id.is_some() { blocks.max(1) } else { BLOCKS_PER_PIECE };
            let ranges = (0..blocks).step_by(step).map(|b| b..(b + step).min(blocks));
            pieces.extend(ranges.map(|blocks| WalkPiece { manifest, blocks }));
        }
        let decode = |p: usize| {
            let (piece, manifest) = (&pieces[p], pieces[p].manifest);
            let rows = self.piece(piece, &wave[manifest], &parsed[manifest], request, convert);
            rows.with("path", self.location.found(&wave[manifest].path))
        };
        out.extend(in_parallel(pieces.len(), decode)?.into_iter().flatten());
        Ok(())
    }

    fn piece<T>(
        &self,
        piece: &WalkPiece,
        file: &ManifestFile,
        manifest: &Manifest<'_>,
        request: &EntryRequest,
        convert: &impl Fn(EntryBatch<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let inherited = Inherited { snapshot_id: file.added_snapshot_id, sequence_number: file.sequence_number };
        let spec = self.metadata.spec_by_id(file.spec_id)?;
        let schema = self.metadata.schema()?;
        manifest.check_spec(spec, schema)?;
        let mut next_row_id = file.first_row_id;
        let mut out = Vec::new();
        for start in piece.blocks.clone().step_by(BLOCKS_PER_PIECE) {
            check_cancelled()?;
            let blocks = start..(start + BLOCKS_PER_PIECE).min(piece.blocks.end);
            let mut columns = manifest.decode(blocks, request, &inherited)?;
            next_row_id = number_rows(&mut columns, next_row_id)?;
            let partition =
                |t: &Vec<_>| partition_of(spec, schema, &manifest.spec_fields, &manifest.partition_types, t);
            let partitions = columns.partitions.iter().map(partition).collect();
            out.push(convert(EntryBatch { manifest: file, columns, partitions })?);
        }
        Ok(out)
    }
}

/// Assigns row ids to the live entries and returns the next id; `None` if the manifest has no row ids.
fn number_rows(columns: &mut EntryColumns, first: Option<i64>) -> Result<Option<i64>> {
    let Some(first) = first else {
        clear_first_row_ids([columns]);
        return Ok(None);
    };
    let entries = columns.first_row_id.iter().zip(&columns.status).zip(&columns.record_count);
    let unnumbered = entries.filter(|((id, status), _)| id.is_none() && **status != DELETED);
    let next = unnumbered.fold(first, |next, (_, rows)| next.saturating_add(*rows));
    assign_first_row_ids([columns], first)?;
    Ok(Some(next))
}

/// The fields that any of the table's specs partitions by, ascending by field id. This is the type of the column
/// `partition`.
///
/// A field has its name in the newest spec. If several fields have one name, that of the newest spec keeps it, and the
/// others get their ids after it. Fields with a dropped source column are left out, as in Java. Values of unknown
/// transforms are text.
///
/// # Errors
/// `Unsupported` if two specs use one field id for different fields, which is possible in old v1 tables.
pub fn partition_type(metadata: &TableMetadata) -> Result<Vec<Field>> {
    let schema = metadata.schema()?;
    let mut specs: Vec<_> = metadata.partition_specs.iter().collect();
    specs.sort_by_key(|spec| std::cmp::Reverse(spec.id));
    let mut united: BTreeMap<FieldId, PartitionField> = BTreeMap::new();
    for field in specs.iter().flat_map(|spec| &spec.fields).filter(|f| schema.field(f.source_id).is_some()) {
        match united.entry(field.field_id) {
            Entry::Vacant(place) => drop(place.insert(field.clone())),
            Entry::Occupied(mut place) => {
                let newer = place.get_mut();
                let void = |f: &PartitionField| f.transform == Transform::Void;
                let same = newer.transform == field.transform || void(newer) || void(field);
                if newer.source_id != field.source_id || !same {
                    return Err(Error::unsupported(format!(
                        "two partition specs use the field id {} for {}({}) and {}({})",
                        field.field_id, newer.transform, newer.source_id, field.transform, field.source_id
                    )));
                }
                if void(newer) {
                    newer.transform = field.transform.clone();
                }
            }
        }
    }
    let names = distinct_names(&specs);
    let name = |f: &PartitionField| names.get(&f.field_id).cloned().unwrap_or_else(|| f.name.clone());
    Ok(united.into_values().map(|f| Field::new(f.field_id, name(&f), false, f.result_type(schema))).collect())
}

/// Names of partition fields by their ids, each once. `specs` begins with the newest.
fn distinct_names(specs: &[&Arc<PartitionSpec>]) -> BTreeMap<FieldId, String> {
    let (mut names, mut taken): (BTreeMap<FieldId, String>, HashSet<String>) = Default::default();
    for field in specs.iter().flat_map(|spec| &spec.fields) {
        if names.contains_key(&field.field_id) {
            continue;
        }
        let mut name = field.name.clone();
        while !taken.insert(name.clone()) {
            name = format!("{name}_{}", field.field_id);
        }
        names.insert(field.field_id, name);
    }
    names
}

/// The type of a partition field's values. For a dropped source column, the newest schema with the column is used.
pub fn field_type(metadata: &TableMetadata, field: &PartitionField) -> PrimitiveType {
    let schemas = metadata.schema().into_iter().chain(metadata.schemas.iter().rev());
    let source = schemas.map(Arc::as_ref).find(|s| s.field(field.source_id).is_some());
    source.map_or(PrimitiveType::Unknown, |schema| field.result_type(schema))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iceberg::manifest::entries::{ADDED, EXISTING};
    use proptest::prelude::*;

    fn entries(rows: &[(u8, i64, Option<i64>)]) -> EntryColumns {
        EntryColumns {
            status: rows.iter().map(|r| r.0).collect(),
            record_count: rows.iter().map(|r| r.1).collect(),
            first_row_id: rows.iter().map(|r| r.2).collect(),
            ..EntryColumns::default()
        }
    }

    proptest! {
        /// Numbering a manifest section by section gives the same ids as numbering it at once.
        #[test]
        fn row_ids_count_on_over_stretches(
            rows in prop::collection::vec(
                (prop::sample::select(vec![EXISTING, ADDED, DELETED]), 0i64..1000, prop::option::weighted(0.3, 0i64..9)),
                0..40,
            ),
            cut in 0usize..40,
        ) {
            let mut whole = entries(&rows);
            assign_first_row_ids([&mut whole], 100).unwrap();
            let (front, back) = rows.split_at(cut.min(rows.len()));
            let (mut front, mut back) = (entries(front), entries(back));
            let next = number_rows(&mut front, Some(100)).unwrap();
            number_rows(&mut back, next).unwrap();
            front.first_row_id.extend(back.first_row_id);
            prop_assert_eq!(front.first_row_id, whole.first_row_id);
        }
    }

    #[test]
    fn a_manifest_without_a_first_row_id_gives_none() {
        let mut columns = entries(&[(ADDED, 3, Some(7)), (ADDED, 3, None)]);
        assert_eq!(number_rows(&mut columns, None).unwrap(), None);
        assert_eq!(columns.first_row_id, [None, None]);
    }
}
