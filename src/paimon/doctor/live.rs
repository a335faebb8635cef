//! The files of a snapshot: paths, numbers, entries that contradict each other.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::codes;
use super::folder::damaged;
use crate::error::Result;
use crate::expr::bounds::Bounds;
use crate::format::diagnosis::finding::Findings;
use crate::format::diagnosis::table_codes as shared;
use crate::format::task::{ColumnMetrics, DataFile, FieldMap, Partition};
use crate::paimon::manifest::entries::{ADD, DELETE, PaimonEntryColumns, PaimonEntryRequest};
use crate::paimon::manifest::folder::ManifestFolder;
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::{live_files, read_manifest};
use crate::paimon::spec::partition::{TablePaths, partition_of};
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::stats::{StatsBounds, StatsMapping};
use crate::types::value::encode_bound;

/// A file that a snapshot leads to.
#[derive(Debug)]
pub(super) struct LiveFile {
    /// The file, with its place in its bucket.
    pub file: DataFile,
    /// Its partition: a binary row after its number of fields.
    pub partition: Arc<[u8]>,
    /// Its name.
    pub name: String,
    /// The recorded statistics, by the columns of the table now.
    pub recorded: ColumnMetrics,
    /// Paths of its extra files.
    pub extra: Vec<String>,
    /// Whether the schema that it was written with is known.
    pub has_schema: bool,
}

/// What is needed to name files.
pub(super) struct Naming<'a> {
    pub from: ManifestFolder<'a>,
    pub paths: &'a TablePaths,
    pub schema: &'a Arc<TableSchema>,
    pub schemas: &'a std::collections::BTreeMap<i64, Arc<TableSchema>>,
    pub findings: &'a Findings,
}

impl Naming<'_> {
    /// The live files of a list of manifests; `None` if they can't be read.
    ///
    /// # Errors
    /// A cancellation.
    pub(super) fn live(&self, manifests: &[PaimonManifestFile], at: &str) -> Result<Option<Vec<LiveFile>>> {
        let request = PaimonEntryRequest { value_stats: true, ..PaimonEntryRequest::default() };
        let entries = match live_files(self.from, manifests, &request) {
            Ok(entries) => entries,
            Err(e) => {
                damaged(self.findings, &codes::MANIFEST_DAMAGED, at, &e)?;
                return Ok(None);
            }
        };
        let mut out = Vec::new();
        for batch in &entries {
            let rows = batch.rows.iter().map(|row| *row as usize);
            self.batch(&batch.columns, rows, at, &mut out)?;
        }
        Ok(Some(out))
    }

    /// The files that manifests add.
    ///
    /// # Errors
    /// A cancellation.
    pub(super) fn added(&self, manifests: &[PaimonManifestFile], at: &str) -> Result<Vec<LiveFile>> {
        let request = PaimonEntryRequest { kind: Some(ADD), value_stats: true, ..PaimonEntryRequest::default() };
        let mut out = Vec::new();
        for manifest in manifests {
            // Damage of a manifest is reported elsewhere.
            let Ok(columns) = read_manifest(self.from, manifest, &request) else { continue };
            self.batch(&columns, columns.rows(), at, &mut out)?;
        }
        Ok(out)
    }

    fn batch(
        &self,
        columns: &PaimonEntryColumns,
        rows: impl Iterator<Item = usize>,
        at: &str,
        out: &mut Vec<LiveFile>,
    ) -> Result<()> {
        let (mut partitions, mut mappings) = (HashMap::new(), HashMap::new());
        for row in rows {
            match self.file(columns, row, &mut partitions, &mut mappings) {
                Ok(file) => out.push(file),
                Err(e) => damaged(self.findings, &codes::ENTRY_IMPOSSIBLE, at, &e)?,
            }
        }
        Ok(())
    }

    fn file(
        &self,
        columns: &PaimonEntryColumns,
        row: usize,
        partitions: &mut HashMap<u32, (Arc<[u8]>, Arc<Partition>)>,
        mappings: &mut HashMap<(i64, u32, u32), Option<Arc<StatsMapping>>>,
    ) -> Result<LiveFile> {
        let number = columns.partition.get(row).copied().unwrap_or(u32::MAX);
        if let Entry::Vacant(partition) = partitions.entry(number) {
            let bytes = columns.partition_row(row);
            partition.insert((bytes.into(), Arc::new(partition_of(self.schema, bytes)?)));
        }
        let no_partition = || crate::error::Error::internal("an entry has no partition");
        let (partition_row, partition) = partitions.get(&number).cloned().ok_or_else(no_partition)?;
        let folder = self.paths.bucket(&partition, columns.bucket.get(row).copied().unwrap_or_default())?;
        let mut file = columns.data_file(row, partition, &folder)?;
        file.path = self.paths.data_file(&folder, columns.name(row)?, columns.external(row)?)?;
        let extra = columns.extra_files(row)?;
        let extra = extra.iter().map(|name| self.paths.in_folder_of(&file.path, name)).collect::<Result<_>>()?;
        let list = |column: &[u32]| column.get(row).copied().unwrap_or(u32::MAX);
        let schema_id = columns.schema_id.get(row).copied().unwrap_or_default();
        let key = (schema_id, list(&columns.value_stats_cols), list(&columns.write_cols));
        let mapping = mappings.entry(key).or_insert_with(|| {
            let of_file = self.schemas.get(&schema_id)?;
            let (stats, written) = (columns.value_stats_cols_of(row), columns.write_cols_of(row));
            let (stats, written) = (stats.map(|names| &names[..]), written.map(|names| &names[..]));
            Some(Arc::new(StatsMapping::of_values(self.schema, of_file, stats, written)))
        });
        if mapping.is_none() {
            let evidence = format!("the file {} names it", file.path);
            self.findings.add(&codes::SCHEMA_MISSING, format!("schema {schema_id}"), evidence);
        }
        let has_schema = mapping.is_some();
        let recorded = match mapping {
            Some(mapping) => recorded(self.schema, mapping, columns, row)?,
            None => ColumnMetrics::default(),
        };
        let name = columns.name(row)?.to_owned();
        Ok(LiveFile { file, partition: partition_row, name, recorded, extra, has_schema })
    }
}

/// The recorded statistics of a file, by the columns of the table now.
fn recorded(
    schema: &TableSchema,
    mapping: &StatsMapping,
    columns: &PaimonEntryColumns,
    row: usize,
) -> Result<ColumnMetrics> {
    let rows = columns.row_count.get(row).copied().unwrap_or_default();
    let bounds = StatsBounds::new(mapping, columns.value_stats.get(row), rows)?;
    let (mut lower, mut upper, mut nulls) = (FieldMap::new(), FieldMap::new(), FieldMap::new());
    for field in schema.columns().fields.iter() {
        let Some(ty) = field.ty.as_primitive() else { continue };
        nulls.extend(bounds.null_count(field.id).map(|n| (field.id, n)));
        let of_column = bounds.column(field.id, ty);
        lower.extend(of_column.lower.map(|v| (field.id, encode_bound(v))));
        upper.extend(of_column.upper.map(|v| (field.id, encode_bound(v))));
    }
    Ok(ColumnMetrics {
        null_value_counts: Some(nulls),
        lower_bounds: Some(lower),
        upper_bounds: Some(upper),
        ..ColumnMetrics::default()
    })
}

/// Finds files that a snapshot has twice, and removals of files that it does not have.
///
/// # Errors
/// A cancellation.
pub(super) fn contradictions(
    from: ManifestFolder<'_>,
    manifests: &[PaimonManifestFile],
    findings: &Findings,
) -> Result<()> {
    let mut state: HashMap<Vec<u8>, (i64, String)> = HashMap::new();
    let mut removed_first: HashSet<Vec<u8>> = HashSet::new();
    for manifest in manifests {
        let Ok(columns) = read_manifest(from, manifest, &PaimonEntryRequest::default()) else { return Ok(()) };
        crate::parallel::check_cancelled()?;
        for row in columns.rows() {
            let identity = columns.identity(row);
            let mut key = identity.partition.to_vec();
            key.extend(identity.bucket.to_le_bytes());
            key.extend(identity.level.to_le_bytes());
            key.extend(identity.name);
            let is_removal = columns.kind.get(row) == Some(&DELETE);
            let name = String::from_utf8_lossy(identity.name).into_owned();
            let (count, _) = state.entry(key.clone()).or_insert((0, name));
            if is_removal && *count == 0 {
                removed_first.insert(key);
            }
            *count += if is_removal { -1 } else { 1 };
        }
    }
    for (key, (count, name)) in state {
        if count > 1 {
            findings.add(&shared::DUPLICATE_FILE, &name, format!("it was added {count} times more than removed"));
        }
        // A file may be removed before it is added: then both are in one full compaction of manifests.
        if count < 0 || (removed_first.contains(&key) && count != 0) {
            findings.add(&codes::ENTRY_CONTRADICTION, &name, "it is removed, but was not added");
        }
    }
    Ok(())
}
