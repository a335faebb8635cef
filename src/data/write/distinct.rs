//! Counts distinct values of columns: arrays into theta sketches.
//!
//! A value is added as the bytes of the specification's single-value serialisation. Nulls are not added.
//!
//! Source: Puffin specification, "apache-datasketches-theta-v1"; Iceberg specification, Appendix D.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{ArrowNativeType, DataType};

use super::partition_rows::{column_at, source_path};
use crate::codec::theta::{AlphaSketch, ThetaSketch};
use crate::error::{Error, Result};
use crate::types::{FieldId, Schema};

/// Sketches of some columns of batches of one schema.
#[derive(Debug)]
pub struct DistinctCounter {
    columns: Vec<(Vec<usize>, AlphaSketch)>,
}

impl DistinctCounter {
    /// Makes a counter for the columns `ids` of batches of `schema`.
    ///
    /// # Errors
    /// `InvalidInput` for a column that does not exist, is not primitive, or is inside a list or map.
    pub fn new(schema: &Schema, ids: &[FieldId]) -> Result<DistinctCounter> {
        let column = |id: &FieldId| {
            let found = source_path(schema, *id).map(|(path, _)| (path, AlphaSketch::default()));
            found.ok_or_else(|| {
                let name = schema.name_of(*id).unwrap_or_default();
                Error::invalid("only primitive columns outside of lists and maps can be counted").with("column", name)
            })
        };
        Ok(DistinctCounter { columns: ids.iter().map(column).collect::<Result<_>>()? })
    }

    /// Takes the rows of a batch.
    ///
    /// # Errors
    /// `InvalidInput` if it has another schema; `Unsupported` for a column of a type that tables do not have.
    pub fn take(&mut self, rows: &RecordBatch) -> Result<()> {
        self.columns.iter_mut().try_for_each(|(path, sketch)| enter(sketch, &column_at(rows, path)?))
    }

    /// The sketches, in the order of the columns.
    pub fn finish(self) -> Vec<ThetaSketch> {
        self.columns.into_iter().map(|(_, sketch)| sketch.finish()).collect()
    }
}

fn enter(sketch: &mut AlphaSketch, column: &ArrayRef) -> Result<()> {
    match column.data_type() {
        DataType::Null => {}
        DataType::Boolean => each(column, |i| sketch.update(&[u8::from(column.as_boolean().value(i))])),
        DataType::Int32 | DataType::Date32 | DataType::Float32 => numbers::<u32, 4>(column, sketch, u32::to_le_bytes),
        DataType::Int64 | DataType::Time64(_) | DataType::Timestamp(..) | DataType::Float64 => {
            numbers::<u64, 8>(column, sketch, u64::to_le_bytes);
        }
        DataType::Decimal128(..) => {
            let decimals = column.as_primitive::<arrow::datatypes::Decimal128Type>();
            each(column, |i| {
                let bytes = decimals.value(i).to_be_bytes();
                sketch.update(minimal(&bytes));
            });
        }
        DataType::Utf8 => each(column, |i| sketch.update(column.as_string::<i32>().value(i).as_bytes())),
        DataType::Binary => each(column, |i| sketch.update(column.as_binary::<i32>().value(i))),
        DataType::FixedSizeBinary(_) => each(column, |i| sketch.update(column.as_fixed_size_binary().value(i))),
        other => return Err(Error::unsupported(format!("values of type {other} can't be counted"))),
    }
    Ok(())
}

/// The rows that are not null.
fn each(column: &ArrayRef, mut see: impl FnMut(usize)) {
    match column.nulls().filter(|n| n.null_count() > 0) {
        None => (0..column.len()).for_each(see),
        Some(nulls) => nulls.valid_indices().for_each(&mut see),
    }
}

fn numbers<N: ArrowNativeType, const BYTES: usize>(
    column: &ArrayRef,
    sketch: &mut AlphaSketch,
    bytes: impl Fn(N) -> [u8; BYTES],
) {
    let data = column.to_data();
    let values = data.buffer::<N>(0);
    each(column, |i| {
        if let Some(v) = values.get(i) {
            sketch.update(&bytes(*v));
        }
    });
}

/// A number as big-endian two's complement, in the fewest bytes.
fn minimal(bytes: &[u8; 16]) -> &[u8] {
    let sign = if bytes[0] & 0x80 == 0 { 0 } else { 0xff };
    let surplus = bytes.windows(2).take_while(|w| w[0] == sign && (w[1] ^ sign) & 0x80 == 0).count();
    bytes.get(surplus..).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::decimal::minimal_bytes;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decimals_have_minimal_bytes(v: i128, bits in 0u32..128) {
            let v = v >> bits;
            let bytes = v.to_be_bytes();
            prop_assert_eq!(minimal(&bytes), minimal_bytes(v));
        }
    }
}
