//! Columns of metadata tables as Arrow arrays.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow::datatypes::{Field, Schema};

use crate::error::{Error, Result};
use crate::rows::metadata_rows::MetadataRows;

/// A column: its name, and its values, which may be null where it says so.
pub(crate) type NamedArray = (&'static str, bool, ArrayRef);

pub(crate) fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

pub(crate) fn owned_texts(values: impl Iterator<Item = Option<String>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

pub(crate) fn longs(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}

pub(crate) fn ints(values: impl Iterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values))
}

/// Milliseconds since the epoch.
pub(crate) fn instants(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<TimestampMillisecondArray>().with_timezone("UTC"))
}

/// Milliseconds of some clock.
pub(crate) fn local_times(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<TimestampMillisecondArray>())
}

pub(crate) fn rows(columns: Vec<NamedArray>) -> Result<MetadataRows> {
    let field = |(name, nullable, array): &NamedArray| Field::new(*name, array.data_type().clone(), *nullable);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let batch = RecordBatch::try_new(schema.clone(), columns.into_iter().map(|(.., array)| array).collect())
        .map_err(|e| Error::internal("the rows of a metadata table are not an Arrow batch").because(e))?;
    Ok(MetadataRows { schema, batches: if batch.num_rows() > 0 { vec![batch] } else { Vec::new() } })
}
