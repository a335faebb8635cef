//! Statistics of partitions in a file: their contents and last change.
//!
//! Computed from metadata alone. `total_record_count`, the number of rows left after deletes, stays unknown. Java would
//! never update it in later commits, so it would become wrong.
//!
//! Source: Iceberg specification, "Partition Statistics File"; details it leaves open follow Java's
//! `PartitionStatsHandler`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array};
use arrow::record_batch::RecordBatch;
use serde_json::json;

use super::statistics::{chosen, new_path, set};
use crate::data::arrow::schema::to_arrow;
use crate::data::parquet::write::{NewParquetFile, ParquetSettings};
use crate::data::write::metrics::MetricsConfig;
use crate::data::write::new_file::{NewFile, Purpose};
use crate::error::{Error, Result, ResultExt};
use crate::format::maintenance::ComputedStatistics;
use crate::format::task::{Partition, PartitionValue};
use crate::iceberg::inspect::files::partition_structs;
use crate::iceberg::inspect::partitions::{Counting, PartitionCounts, counted, ints, longs};
use crate::iceberg::manifest::walk::{MetadataWalk, partition_type};
use crate::iceberg::spec::snapshot::{Snapshot, StatisticsFile, StatisticsKind};
use crate::iceberg::state::IcebergTable;
use crate::types::{Field, PrimitiveType, Schema, Type};

impl IcebergTable {
    /// Counts the files and rows of each partition of a snapshot, by default the current one. Writes them into a
    /// partition statistics file and commits it. A snapshot that already has such a file keeps it. Returns the table at
    /// its new version. A snapshot without files has no such statistics.
    ///
    /// # Errors
    /// `InvalidInput` for a table that was never partitioned; `NotFound` for an unknown snapshot. `CommitConflict` if
    /// the snapshot has expired meanwhile, or after the last retry. `CommitStateUnknown` if it is not known whether
    /// the commit happened. Errors of the store; `CorruptTable` for a corrupt manifest; a cancellation.
    pub fn compute_partition_statistics(
        &self,
        snapshot_id: Option<i64>,
    ) -> Result<(IcebergTable, Option<ComputedStatistics>)> {
        self.writable_location()?;
        let newest = self.refresh()?;
        let metadata = &newest.inner.metadata;
        let united = partition_type(metadata)?;
        if united.is_empty() {
            return Err(Error::invalid("a table that is not partitioned has no statistics of partitions"));
        }
        let Some(snapshot) = chosen(&newest, snapshot_id)? else { return Ok((newest, None)) };
        if let Some(there) = metadata.partition_statistics.iter().find(|f| f.snapshot_id == snapshot.id) {
            let found = computed(there);
            return Ok((newest, Some(found)));
        }
        let walk = MetadataWalk { store: newest.inner.store.as_ref(), location: &newest.inner.location, metadata };
        let mut rows = counted(&walk, &walk.manifests(&snapshot)?, &united, Counting::BySpec)?;
        if rows.is_empty() {
            return Ok((newest, None));
        }
        rows.sort_by(|(a, _), (b, _)| in_order(a, b, &united));
        let file = write(&newest, &snapshot, &united, &rows)?;
        let computed = computed(&file);
        let table = set(&newest, StatisticsKind::Partitions, file)?;
        Ok((table, Some(computed)))
    }
}

fn computed(file: &StatisticsFile) -> ComputedStatistics {
    ComputedStatistics {
        snapshot_id: file.snapshot_id,
        path: file.path.clone(),
        size_bytes: file.size_bytes,
        distinct: Vec::new(),
    }
}

/// Sorts by the united fields, with nulls and missing fields first, then by spec.
fn in_order(a: &Partition, b: &Partition, united: &[Field]) -> Ordering {
    fn value<'p>(partition: &'p Partition, field: &Field) -> Option<&'p PartitionValue> {
        partition.values.iter().find(|v| v.field_id == field.id && v.value.is_some())
    }
    let field = |field: &Field| match (value(a, field), value(b, field)) {
        (Some(a), Some(b)) => a.value.as_ref().zip(b.value.as_ref()).and_then(|(a, b)| a.sql_cmp(b)),
        (a, b) => Some(a.is_some().cmp(&b.is_some())),
    };
    let first = united.iter().filter_map(field).find(|order| *order != Ordering::Equal);
    first.unwrap_or_else(|| a.spec_id.cmp(&b.spec_id))
}

/// The columns of the file.
fn schema(united: &[Field], format_version: u8) -> Schema {
    use PrimitiveType::{Int, Long};
    let strict = format_version >= 3;
    let mut fields = vec![
        Field::new(1, "partition", true, Type::Struct(united.into())),
        Field::new(2, "spec_id", true, Int),
        Field::new(3, "data_record_count", true, Long),
        Field::new(4, "data_file_count", true, Int),
        Field::new(5, "total_data_file_size_in_bytes", true, Long),
        Field::new(6, "position_delete_record_count", strict, Long),
        Field::new(7, "position_delete_file_count", strict, Int),
        Field::new(8, "equality_delete_record_count", strict, Long),
        Field::new(9, "equality_delete_file_count", strict, Int),
        Field::new(10, "total_record_count", false, Long),
        Field::new(11, "last_updated_at", false, Long),
        Field::new(12, "last_updated_snapshot_id", false, Long),
    ];
    if strict {
        fields.push(Field::new(13, "dv_count", true, Int));
    }
    Schema::new(0, fields, Vec::new())
}

fn write(
    table: &IcebergTable,
    snapshot: &Snapshot,
    united: &[Field],
    rows: &[(Partition, PartitionCounts)],
) -> Result<StatisticsFile> {
    let schema = Arc::new(schema(united, table.format_version()));
    let arrow = to_arrow(&schema)?;
    let updated = |f: fn((i64, i64)) -> i64| -> ArrayRef {
        Arc::new(rows.iter().map(|(_, c)| c.updated.map(f)).collect::<Int64Array>())
    };
    let tuples: Vec<&Partition> = rows.iter().map(|(p, _)| p).collect();
    let mut columns = vec![
        partition_structs(arrow.field(0), united, &tuples)?,
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|(p, _)| p.spec_id))),
        longs(rows, |c| c.records),
        ints(rows, |c| c.files)?,
        longs(rows, |c| c.bytes),
        longs(rows, |c| c.position_records),
        ints(rows, |c| c.position_files)?,
        longs(rows, |c| c.equality_records),
        ints(rows, |c| c.equality_files)?,
        Arc::new(Int64Array::new_null(rows.len())),
        updated(|(ms, _)| ms),
        updated(|(_, id)| id),
        ints(rows, |c| c.vectors)?,
    ];
    columns.truncate(arrow.fields().len());
    let batch = RecordBatch::try_new(arrow.clone(), columns)
        .map_err(|e| Error::internal("statistics of partitions are not an Arrow batch").because(e))?;
    let purpose = Purpose::Rows(&schema);
    let settings = ParquetSettings::new(schema.clone(), arrow, &BTreeMap::new(), MetricsConfig::full(), purpose)?;
    let path = new_path(table, &format!("partition-stats-{}-{}.parquet", snapshot.id, uuid::Uuid::new_v4()));
    let store = table.inner.store.as_ref();
    let mut file = Box::new(NewParquetFile::begin(store.create(&path)?, path.clone(), Arc::new(settings)));
    file.write(&batch)?;
    let written = file.finish().with("snapshot", snapshot.id)?;
    StatisticsFile::from_json(json!({
        "snapshot-id": snapshot.id,
        "statistics-path": path,
        "file-size-in-bytes": written.size_bytes,
    }))
}
