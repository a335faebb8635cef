//! What would make the table faster or smaller, with the estimated gain.

use std::collections::{HashMap, HashSet};

use super::codes;
use super::indexes::VectorSums;
use super::live::LiveFile;
use crate::format::diagnosis::file_order::{FileBounds, MOST_ORDERS, has_order};
use crate::format::diagnosis::finding::{Findings, Gain};
use crate::format::diagnosis::health::{DeleteSums, FileGroup, FileSizes, TableHealth};
use crate::format::task::FieldMap;
use crate::paimon::commit::manifests::ManifestLayout;
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::write::properties::file_sizes;
use crate::types::{FieldId, PrimitiveType};

/// The most files at level 0 of a bucket without a finding.
const MOST_LEVEL_0: u64 = 5;
/// Manifests below this part of the target are small. Commits join them long before they are full.
const SMALL_MANIFEST_PART: i64 = 8;
/// The most small manifests without a finding.
const MOST_MANIFESTS: usize = 60;
/// The most files without statistics that are no finding.
const MOST_BARE: usize = 5;

/// The newest version of a table.
pub(super) struct Newest<'a> {
    pub location: &'a str,
    pub files: &'a [LiveFile],
    pub manifests: &'a [PaimonManifestFile],
    pub vectors: &'a VectorSums,
    /// The number of snapshots.
    pub snapshots: usize,
    pub schema: &'a TableSchema,
    pub findings: &'a Findings,
}

/// Adds all findings about the table's health.
pub(super) fn check(of: &Newest<'_>) {
    let keyed = of.schema.has_primary_key();
    // Nothing is measured by an option that can't be read: reads and writes refuse it.
    if let Ok(sizes) = file_sizes(&of.schema.options(), keyed) {
        of.sizes(sizes);
    }
    if keyed {
        of.level_0();
    } else {
        // Files of tables with a primary key always have bounds of the key, and overlap by design.
        of.statistics();
        of.order();
    }
    of.delete_debt();
    let gain = Gain { files: of.snapshots as u64, ..Gain::default() };
    of.health().long_history(of.snapshots, "", gain);
    of.manifest_sizes();
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// A column whose bounds can skip files.
struct PruningColumn<'a> {
    id: FieldId,
    name: &'a str,
    ty: &'a PrimitiveType,
}

impl Newest<'_> {
    fn health(&self) -> TableHealth<'_> {
        TableHealth { findings: self.findings, location: self.location }
    }

    fn data_bytes(&self) -> u64 {
        self.files.iter().map(|live| unsigned(live.file.size_bytes)).fold(0, u64::saturating_add)
    }

    /// Small files and skewed partitions. Small files of a table with a primary key are found by their level.
    fn sizes(&self, sizes: FileSizes) {
        let mut buckets: HashMap<(&[u8], i32), FileGroup> = HashMap::new();
        let mut partitions: HashMap<&[u8], u64> = HashMap::new();
        for live in self.files {
            let bytes = unsigned(live.file.size_bytes);
            let sum = partitions.entry(&live.partition).or_default();
            *sum = sum.saturating_add(bytes);
            if let Some(bucket) = live.file.bucket_file.as_deref() {
                buckets.entry((&live.partition, bucket.bucket)).or_default().add(bytes, sizes);
            }
        }
        if !self.schema.has_primary_key() {
            self.health().small_files(buckets.values(), self.files.len(), sizes);
        }
        self.health().skewed_partitions(partitions.into_values().collect(), sizes);
    }

    fn level_0(&self) {
        let mut buckets: HashMap<(&[u8], i32), u64> = HashMap::new();
        for live in self.files {
            let bucket = live.file.bucket_file.as_deref().filter(|bucket| bucket.level == 0);
            if let Some(bucket) = bucket {
                *buckets.entry((&live.partition, bucket.bucket)).or_default() += 1;
            }
        }
        let worst = buckets.values().copied().max().unwrap_or(0);
        if worst > MOST_LEVEL_0 {
            let over: u64 = buckets.values().map(|n| n.saturating_sub(1)).sum();
            let gain = Gain { files: over, requests: over * 2, ..Gain::default() };
            let evidence = format!("up to {worst} files in a bucket");
            self.findings.gain(&codes::LEVEL_ZERO_FILES, self.location, evidence, gain);
        }
    }

    /// Rows that deletion vectors delete. Rows of older versions of a key are no debt of their own: their files are at
    /// level 0 until they are compacted.
    fn delete_debt(&self) {
        let VectorSums { vectors, index_files, rows, bytes } = *self.vectors;
        let sums = DeleteSums {
            deletes: vectors,
            files: index_files,
            deleted_rows: rows,
            bytes,
            data_files: self.files.len() as u64,
            rows: self.files.iter().map(|live| unsigned(live.file.record_count)).fold(0, u64::saturating_add),
            data_bytes: self.data_bytes(),
        };
        self.health().delete_debt(&sums, &format!("deletion vectors with {rows} rows"));
    }

    /// Columns that are not partition columns, with bounds of ordered types.
    fn pruning_columns(&self) -> Vec<PruningColumn<'_>> {
        let is_partition = |id: FieldId| self.schema.partition_fields().any(|f| f.id == id);
        let fields = self.schema.columns().fields.iter().filter(|f| !is_partition(f.id));
        fields
            .filter_map(|f| Some(PruningColumn { id: f.id, name: &f.name, ty: f.ty.as_primitive()? }))
            .filter(|column| has_order(column.ty))
            .collect()
    }

    /// Files without statistics of any column.
    fn statistics(&self) {
        let columns = self.pruning_columns();
        let partition: Vec<FieldId> = self.schema.partition_fields().map(|f| f.id).collect();
        let (mut with, mut without) = (0usize, 0usize);
        for live in self.files.iter().filter(|live| live.has_schema && live.file.record_count > 0) {
            let written = live.file.bucket_file.as_deref().and_then(|bucket| bucket.write_columns.as_ref());
            let has = |column: &PruningColumn<'_>| written.is_none_or(|names| names.iter().any(|n| n == column.name));
            if !columns.iter().any(has) {
                continue;
            }
            let recorded = &live.recorded;
            let is_known = knows(&recorded.null_value_counts, &partition) || knows(&recorded.lower_bounds, &partition);
            match is_known {
                true => with += 1,
                false => without += 1,
            }
        }
        if without > with && without > MOST_BARE {
            let evidence = format!("{without} of {} data files have no statistics of any column", with + without);
            let gain = Gain { requests: without as u64, ..Gain::default() };
            self.findings.gain(&codes::MISSING_STATISTICS, self.location, evidence, gain);
        }
    }

    /// The overlap of bounds. Columns of the bucket key skip buckets already, whatever the order of files.
    fn order(&self) {
        let options = self.schema.options();
        let clustered = options.list("clustering.columns");
        let is_candidate = |column: &PruningColumn<'_>| {
            !self.schema.bucket_key_fields().any(|f| f.id == column.id)
                && (clustered.is_empty() || clustered.contains(&column.name))
        };
        let columns = self.pruning_columns();
        for column in columns.iter().filter(|column| is_candidate(column)).take(MOST_ORDERS) {
            let mut found = FileBounds::default();
            for live in self.files {
                let bound =
                    |map: &'_ Option<FieldMap<Vec<u8>>>| map.as_ref().and_then(|map| map.get(&column.id)).cloned();
                let (low, high) = (bound(&live.recorded.lower_bounds), bound(&live.recorded.upper_bounds));
                found.add(0, low.as_deref(), high.as_deref(), column.ty);
            }
            let bounds = found.of(&HashSet::from([0]));
            found.report(&bounds, self.findings, &codes::FILE_ORDER, column.name.to_owned(), self.data_bytes());
        }
    }

    /// Manifests that are too small or too large.
    fn manifest_sizes(&self) {
        let Ok(layout) = ManifestLayout::of(self.schema) else { return };
        let limit = layout.target_bytes / SMALL_MANIFEST_PART;
        let small = self.manifests.iter().filter(|m| m.file_size < limit).count();
        if small > MOST_MANIFESTS {
            let gain = Gain { files: small as u64, requests: small as u64, ..Gain::default() };
            let evidence = format!("{small} manifests below {limit} bytes");
            self.findings.gain(&codes::SMALL_MANIFESTS, self.location, evidence, gain);
        }
        let divisible = self.manifests.iter().filter(|m| layout.divides(m));
        self.health().large_manifests(divisible.map(|m| unsigned(m.file_size)), unsigned(layout.piece_bytes()));
    }
}

/// Whether there is a value for a column that is not a partition column.
fn knows<T>(map: &Option<FieldMap<T>>, partition: &[FieldId]) -> bool {
    map.as_ref().is_some_and(|map| map.keys().any(|id| !partition.contains(id)))
}
