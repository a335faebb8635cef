//! `entries`, `files` and similar tables: the data of manifest entries, one batch for each part of a manifest.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, StringArray};
use arrow::datatypes::Field;
use arrow::record_batch::RecordBatch;

use super::arrays::{bound_maps, count_maps, field, lists, longs};
use super::metrics::readable_metrics;
use super::schemas::{Leaf, READABLE_METRICS, leaves};
use crate::data::arrow::schema::struct_members;
use crate::data::arrow::value_array::{bytes, structs, texts, values};
use crate::error::{Error, Result};
use crate::format::task::{ColumnMetrics, Partition, PartitionValue};
use crate::iceberg::inspect::inspection::Inspection;
use crate::iceberg::manifest::entries::{EntryColumns, EntryRequest};
use crate::iceberg::manifest::layout::content_number;
use crate::iceberg::manifest::list::ManifestContent;
use crate::iceberg::manifest::walk::{EntryBatch, partition_type};
use crate::types::transform::format_partition_value;
use crate::types::{Field as TableField, PrimitiveType, Transform, Value, ValueRef};

/// Every entry of the manifests, including those of status DELETED.
pub(crate) fn entries(of: &Inspection<'_>, all: bool) -> Result<Vec<RecordBatch>> {
    let files = Files::new(of)?;
    let request = EntryRequest { all_metrics: true, deleted_too: true, ..EntryRequest::default() };
    let (file, metrics) = (field(&of.schema, "data_file")?, field(&of.schema, READABLE_METRICS)?);
    of.walk.entries(&of.manifests(all)?, &request, |batch| {
        let c = &batch.columns;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from_iter_values(c.status.iter().map(|s| i32::from(*s)))),
            longs(c.snapshot_id.iter().copied()),
            longs(c.sequence_number.iter().copied()),
            longs(c.file_sequence_number.iter().copied()),
            structs(file, files.columns(&batch, struct_members(file))?, c.len())?,
            readable_metrics(metrics, &files.leaves, &c.all_metrics)?,
        ];
        of.batch(columns)
    })
}

/// The live files of the manifests of this content.
pub(crate) fn files(of: &Inspection<'_>, all: bool, content: Option<ManifestContent>) -> Result<Vec<RecordBatch>> {
    let files = Files::new(of)?;
    let request = EntryRequest { all_metrics: true, ..EntryRequest::default() };
    let metrics = field(&of.schema, READABLE_METRICS)?;
    let mut manifests = of.manifests(all)?;
    manifests.retain(|m| content.is_none_or(|c| c == m.content));
    of.walk.entries(&manifests, &request, |batch| {
        let mut columns = files.columns(&batch, of.schema.fields())?;
        columns.push(readable_metrics(metrics, &files.leaves, &batch.columns.all_metrics)?);
        of.batch(columns)
    })
}

/// The data that all batches share.
struct Files {
    partition: Vec<TableField>,
    leaves: Vec<Leaf>,
}

impl Files {
    fn new(of: &Inspection<'_>) -> Result<Files> {
        Ok(Files { partition: partition_type(of.walk.metadata)?, leaves: leaves(of.walk.metadata)? })
    }

    /// The columns of `data_file`, in the order of the schema.
    fn columns(&self, batch: &EntryBatch<'_>, fields: &[Arc<Field>]) -> Result<Vec<ArrayRef>> {
        let c = &batch.columns;
        let own = fields.iter().filter(|f| f.name() != READABLE_METRICS);
        own.map(|field| match field.name().as_str() {
            "partition" => self.partitions(batch, field),
            "spec_id" => Ok(Arc::new(Int32Array::from_value(batch.manifest.spec_id, c.len())) as ArrayRef),
            _ => column(field, c),
        })
        .collect()
    }

    fn partitions(&self, batch: &EntryBatch<'_>, field: &Field) -> Result<ArrayRef> {
        let c = &batch.columns;
        let tuples = c.partition.iter().map(|p| batch.partitions.get(*p as usize));
        let tuples: Vec<&Partition> =
            tuples.map(|p| p.ok_or_else(|| Error::internal("an entry has no partition"))).collect::<Result<_>>()?;
        partition_structs(field, &self.partition, &tuples)
    }
}

/// Partition tuples of any of the table's specs as structs of the type that unites them.
pub(crate) fn partition_structs(field: &Field, united: &[TableField], of: &[&Partition]) -> Result<ArrayRef> {
    let column = |member: &TableField| {
        let unknown = PrimitiveType::Unknown;
        let ty = member.ty.as_primitive().unwrap_or(&unknown);
        let found: Vec<Option<&PartitionValue>> =
            of.iter().map(|p| p.values.iter().find(|v| v.field_id == member.id)).collect();
        let text = |v: &&PartitionValue| matches!(v.transform, Transform::Unknown(_));
        if found.iter().flatten().any(text) {
            let texts: Vec<Option<String>> = found.iter().map(|v| v.and_then(value_text)).collect();
            return values(ty, &texts.iter().map(|t| t.as_deref().map(ValueRef::String)).collect::<Vec<_>>());
        }
        let plain = found.iter().map(|v| v.and_then(|v| v.value.as_ref()).map(Value::as_ref));
        values(ty, &plain.collect::<Vec<_>>())
    };
    structs(field, united.iter().map(column).collect::<Result<_>>()?, of.len())
}

/// The text for a value of a transform that this version does not know.
fn value_text(v: &PartitionValue) -> Option<String> {
    v.value.as_ref().map(|value| format_partition_value(Some(value.as_ref()), &v.transform, &v.ty))
}

fn column(field: &Field, c: &EntryColumns) -> Result<ArrayRef> {
    let metrics = || c.all_metrics.iter();
    let counts = |map: fn(&ColumnMetrics) -> &Option<_>| count_maps(field, metrics().map(move |m| map(m).as_ref()));
    let bounds = |map: fn(&ColumnMetrics) -> &Option<_>| bound_maps(field, metrics().map(move |m| map(m).as_ref()));
    Ok(match field.name().as_str() {
        "content" => Arc::new(Int32Array::from_iter_values(c.content.iter().map(|f| content_number(*f)))),
        "file_path" => Arc::new(texts(c.rows().map(|r| c.path.get(r)))?),
        "file_format" => {
            let names = c.format.iter().map(|f| f.as_str().to_ascii_uppercase());
            Arc::new(StringArray::from_iter_values(names))
        }
        "record_count" => Arc::new(Int64Array::from(c.record_count.clone())),
        "file_size_in_bytes" => Arc::new(Int64Array::from(c.size_bytes.clone())),
        "column_sizes" => counts(|m| &m.column_sizes)?,
        "value_counts" => counts(|m| &m.value_counts)?,
        "null_value_counts" => counts(|m| &m.null_value_counts)?,
        "nan_value_counts" => counts(|m| &m.nan_value_counts)?,
        "lower_bounds" => bounds(|m| &m.lower_bounds)?,
        "upper_bounds" => bounds(|m| &m.upper_bounds)?,
        "key_metadata" => Arc::new(bytes(c.rows().map(|r| c.key_metadata.get(r)))?),
        "split_offsets" => {
            let offsets = c.rows().filter_map(|r| c.split_offsets.get(r)).flatten().copied();
            let items = Arc::new(Int64Array::from_iter_values(offsets));
            lists(field, c.rows().map(|r| c.split_offsets.get(r).map(<[i64]>::len)), items)?
        }
        "equality_ids" => {
            let ids = c.rows().filter_map(|r| c.equality_ids.get(r)).flatten();
            let bad = |e| Error::corrupt("an equality id is not a field id").because(e);
            let ids = ids.map(|id| i32::try_from(*id).map_err(bad)).collect::<Result<Vec<_>>>()?;
            let items = Arc::new(Int32Array::from(ids));
            lists(field, c.rows().map(|r| c.equality_ids.get(r).map(<[i64]>::len)), items)?
        }
        "sort_order_id" => Arc::new(Int32Array::from(c.sort_order_id.clone())),
        "first_row_id" => longs(c.first_row_id.iter().copied()),
        "referenced_data_file" => Arc::new(texts(c.rows().map(|r| c.referenced_data_file.get(r)))?),
        "content_offset" => longs(c.content_offset.iter().copied()),
        "content_size_in_bytes" => longs(c.content_size_bytes.iter().copied()),
        other => return Err(Error::internal(format!("no file has a column '{other}'"))),
    })
}
