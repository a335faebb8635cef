//! `manifests` and `all_manifests`: the contents of manifest lists.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int32Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field};
use arrow::record_batch::RecordBatch;

use super::arrays::{field, lists};
use super::human::human;
use crate::data::arrow::value_array::{bytes, structs, texts};
use crate::error::{Error, Result};
use crate::iceberg::inspect::inspection::Inspection;
use crate::iceberg::manifest::list::{FieldSummary, ManifestContent, ManifestFile};
use crate::iceberg::manifest::walk::field_type;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::types::value::decode_bound;

/// The manifests of the version, or those of every snapshot. A manifest in several snapshots then has several rows.
pub(crate) fn manifests(of: &Inspection<'_>, all: bool) -> Result<Vec<RecordBatch>> {
    if !all {
        return Ok(vec![batch(of, &of.manifests(false)?, None)?]);
    }
    of.walk.manifests_of_all()?.iter().map(|(id, manifests)| batch(of, manifests, Some(*id))).collect()
}

fn batch(of: &Inspection<'_>, m: &[ManifestFile], listed_by: Option<i64>) -> Result<RecordBatch> {
    let longs = |f: fn(&ManifestFile) -> Option<i64>| -> ArrayRef { Arc::new(m.iter().map(f).collect::<Int64Array>()) };
    let counts = |content: ManifestContent, f: fn(&ManifestFile) -> Option<i64>| -> Result<ArrayRef> {
        let count = |m: &ManifestFile| if m.content == content { f(m) } else { Some(0) };
        let bad = |e| Error::corrupt("a manifest has more files than fit into 32 bits").because(e);
        let counts = m.iter().map(|m| count(m).map(|n| i32::try_from(n).map_err(bad)).transpose());
        Ok(Arc::new(counts.collect::<Result<Int32Array>>()?))
    };
    use ManifestContent::{Data, Deletes};
    let content = m.iter().map(|m| i32::from(m.content == Deletes));
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(content)),
        Arc::new(texts(m.iter().map(|m| Some(m.path.as_bytes())))?),
        longs(|m| Some(m.length_bytes)),
        Arc::new(Int32Array::from_iter_values(m.iter().map(|m| m.spec_id))),
        longs(|m| m.added_snapshot_id),
        counts(Data, |m| m.added_files_count)?,
        counts(Data, |m| m.existing_files_count)?,
        counts(Data, |m| m.deleted_files_count)?,
        counts(Deletes, |m| m.added_files_count)?,
        counts(Deletes, |m| m.existing_files_count)?,
        counts(Deletes, |m| m.deleted_files_count)?,
        summaries(field(&of.schema, "partition_summaries")?, of.walk.metadata, m)?,
    ];
    if let Some(snapshot) = listed_by {
        columns.push(Arc::new(Int64Array::from_value(snapshot, m.len())));
        columns.push(Arc::new(bytes(m.iter().map(|m| m.key_metadata.as_deref()))?));
    }
    of.batch(columns)
}

/// Summaries of the partition fields, with bounds in readable form.
fn summaries(column: &Field, metadata: &TableMetadata, m: &[ManifestFile]) -> Result<ArrayRef> {
    let DataType::List(element) = column.data_type() else { return Err(Error::internal("no list column")) };
    let all: Vec<&FieldSummary> = m.iter().filter_map(|m| m.partitions.as_ref()).flatten().collect();
    let (mut lower, mut upper): (Vec<Option<String>>, Vec<Option<String>>) = (Vec::new(), Vec::new());
    for manifest in m {
        let spec = metadata.spec_by_id(manifest.spec_id)?;
        for (i, summary) in manifest.partitions.iter().flatten().enumerate() {
            let text = |bound: &Option<Vec<u8>>| {
                let field = spec.fields.get(i)?;
                let ty = field_type(metadata, field);
                let value = bound.as_ref().map(|b| decode_bound(b, &ty)).transpose().ok()?;
                Some(human(value.flatten(), &field.transform, &ty))
            };
            lower.push(text(&summary.lower));
            upper.push(text(&summary.upper));
        }
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(all.iter().map(|s| Some(s.contains_null)).collect::<BooleanArray>()),
        Arc::new(all.iter().map(|s| s.contains_nan).collect::<BooleanArray>()),
        Arc::new(texts_of(&lower)?),
        Arc::new(texts_of(&upper)?),
    ];
    let items = structs(element, columns, all.len())?;
    lists(column, m.iter().map(|m| m.partitions.as_ref().map(Vec::len)), items)
}

fn texts_of(values: &[Option<String>]) -> Result<StringArray> {
    texts(values.iter().map(|t| t.as_deref().map(str::as_bytes)))
}
