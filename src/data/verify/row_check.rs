//! Recorded counts, bounds and partition values against the rows of a file. Statistics in the file are not used.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Datum, Scalar};
use arrow::compute::kernels::cmp::{gt, lt};
use arrow::compute::{is_null, nullif};
use arrow::datatypes::{Float32Type, Float64Type};

use super::compare::{Difference, has_two_orders, name, null_difference};
use crate::data::blobs::read::check_values;
use crate::data::read::cast::constant;
use crate::data::read::file::open_rows;
use crate::data::write::partition_rows::Partitioner;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::diagnosis::table_codes as codes;
use crate::format::task::{ColumnMetrics, DataFile, FileFormat, ReadContext, ScanTask};
use crate::parallel::check_cancelled;
use crate::store::Store;
use crate::types::value::decode_bound;
use crate::types::{Field, FieldId, PartitionSpec, Schema, Type};

/// Reads all rows of a file and compares them with its record.
///
/// # Errors
/// `CorruptTable` if the file can't be decoded; `Unsupported`; the store's errors; a cancellation.
pub(crate) fn check_rows(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    file: &DataFile,
    recorded: &ColumnMetrics,
    spec: Option<&PartitionSpec>,
    out: &mut Vec<Difference>,
) -> Result<()> {
    if file.format == FileFormat::Blob {
        return check_values(store.as_ref(), &file.path, u64::try_from(file.record_count).unwrap_or(0));
    }
    let task = ScanTask {
        data_file: Arc::new(file.clone()),
        start: 0,
        length: file.size_bytes,
        deletes: Vec::new(),
        residual: Arc::new(BoundPredicate::True),
        change: None,
        merge: None,
    };
    let schema = context.projection.clone();
    let mut columns = leaves(&schema, recorded)?;
    let mut partitioner = spec.map(|spec| Partitioner::new(&schema, spec)).transpose().ok().flatten();
    let (mut rows, mut strangers) = (0i64, 0u64);
    for read in open_rows(store, context, &task, &[])? {
        check_cancelled()?;
        let batch = read?.batch;
        rows += batch.num_rows() as i64;
        for column in &mut columns {
            let mut array: Option<ArrayRef> = None;
            for place in &column.path {
                array = match array {
                    None => batch.columns().get(*place).cloned(),
                    Some(array) => member(&array, *place)?,
                };
            }
            array.map(|array| column.see(&array)).transpose()?;
        }
        if let Some(partitioner) = partitioner.as_mut().filter(|_| !file.partition.values.is_empty()) {
            let parts = partitioner.split(&batch)?;
            let others = parts.iter().filter(|part| *part.partition != *file.partition);
            strangers += others.map(|part| part.rows.num_rows() as u64).sum::<u64>();
        }
    }
    if rows != file.record_count {
        let evidence = format!("{} rows are recorded, {rows} were read", file.record_count);
        out.push(Difference::new(&codes::ROW_COUNT, evidence));
    }
    if strangers > 0 {
        let evidence = format!("{strangers} of {rows} rows are not of {}", file.partition.path());
        out.push(Difference::new(&codes::PARTITION_VALUE, evidence));
    }
    columns.into_iter().for_each(|column| column.finish(&schema, rows, out));
    Ok(())
}

/// A member of a struct. It is null where the struct is null.
fn member(array: &ArrayRef, place: usize) -> Result<Option<ArrayRef>> {
    let Some(found) = array.as_struct_opt().and_then(|s| s.columns().get(place)) else { return Ok(None) };
    if array.null_count() == 0 {
        return Ok(Some(found.clone()));
    }
    let failed = |e| Error::internal("the members of a struct can't be read").because(e);
    let hidden = is_null(array).map_err(failed)?;
    nullif(found, &hidden).map(Some).map_err(failed)
}

/// A primitive column outside lists and maps, with what is recorded and what was found.
struct LeafCheck {
    id: FieldId,
    /// Positions from the batch's columns down through structs.
    path: Vec<usize>,
    lower: Option<Scalar<ArrayRef>>,
    upper: Option<Scalar<ArrayRef>>,
    recorded_nulls: Option<i64>,
    /// Whether every row has a value or null here: its parents are never null.
    is_top: bool,
    nulls: i64,
    below: u64,
    above: u64,
}

impl LeafCheck {
    fn see(&mut self, array: &ArrayRef) -> Result<()> {
        self.nulls += array.logical_null_count() as i64;
        let failed = |e| Error::internal("values can't be compared with a bound").because(e);
        let array: &dyn Datum = array;
        if let Some(lower) = &self.lower {
            self.below += lt(array, lower).map_err(failed)?.true_count() as u64;
        }
        if let Some(upper) = &self.upper {
            let above = gt(array, upper).map_err(failed)?;
            self.above += not_nan(array.get().0, &above);
        }
        Ok(())
    }

    fn finish(self, schema: &Schema, rows: i64, out: &mut Vec<Difference>) {
        let column = name(schema, self.id);
        for (count, side) in
            [(self.below, "below the recorded lower bound"), (self.above, "above the recorded upper bound")]
        {
            if count > 0 {
                out.push(Difference::new(&codes::BOUNDS_EXCLUDE_ROWS, format!("{column}: {count} values are {side}")));
            }
        }
        if let Some(recorded) = self.recorded_nulls.filter(|recorded| self.is_top && *recorded != self.nulls) {
            out.push(null_difference(&column, recorded, self.nulls, rows));
        }
    }
}

/// The number of rows of a mask that are not NaN. Bounds leave NaN out.
fn not_nan(array: &dyn Array, mask: &BooleanArray) -> u64 {
    let set = || (0..mask.len()).filter(|row| mask.is_valid(*row) && mask.value(*row));
    if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
        return set().filter(|row| !floats.value(*row).is_nan()).count() as u64;
    }
    if let Some(floats) = array.as_primitive_opt::<Float32Type>() {
        return set().filter(|row| !floats.value(*row).is_nan()).count() as u64;
    }
    mask.true_count() as u64
}

/// The columns to check.
fn leaves(schema: &Schema, recorded: &ColumnMetrics) -> Result<Vec<LeafCheck>> {
    let mut out = Vec::new();
    add(&schema.fields, &[], recorded, &mut out)?;
    Ok(out)
}

fn add(fields: &[Field], above: &[usize], recorded: &ColumnMetrics, out: &mut Vec<LeafCheck>) -> Result<()> {
    for (place, field) in fields.iter().enumerate() {
        let path: Vec<usize> = above.iter().copied().chain([place]).collect();
        if let Type::Struct(members) = &field.ty {
            add(members, &path, recorded, out)?;
            continue;
        }
        let Some(ty) = field.ty.as_primitive() else { continue };
        let scalar = |map: &Option<crate::format::task::FieldMap<Vec<u8>>>| {
            let bytes = map.as_ref()?.get(&field.id).filter(|_| !has_two_orders(ty))?;
            let value = decode_bound(bytes, ty).ok()??;
            // Zeros of both signs are equal to filters. A NaN bounds nothing.
            let is_zero = matches!(value, crate::types::ValueRef::Double(v) if v == 0.0)
                || matches!(value, crate::types::ValueRef::Float(v) if v == 0.0);
            let array = (!value.is_nan() && !is_zero).then(|| constant(Some(&value.to_owned()), ty, 1).ok())??;
            Some(Scalar::new(array))
        };
        let recorded_nulls = recorded.null_value_counts.as_ref().and_then(|map| map.get(&field.id)).copied();
        out.push(LeafCheck {
            id: field.id,
            lower: scalar(&recorded.lower_bounds),
            upper: scalar(&recorded.upper_bounds),
            recorded_nulls,
            is_top: above.is_empty(),
            path,
            nulls: 0,
            below: 0,
            above: 0,
        });
    }
    Ok(())
}
