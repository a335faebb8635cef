//! Finds timestamps and times that are finer than the table's microseconds. Readers would cut them.

use std::collections::BTreeSet;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Time64NanosecondType, TimeUnit, TimestampMillisecondType, TimestampNanosecondType};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::basic::Type as PhysicalType;

use crate::data::parquet::file::ParquetFile;
use crate::data::parquet::plan::DecodePlan;
use crate::data::parquet::read::ParquetBatches;
use crate::data::read::file_columns::{FileColumn, FileColumns};
use crate::error::{Error, Result};
use crate::parallel::check_cancelled;
use crate::types::{FieldId, PrimitiveType, Schema};

/// Nanoseconds in a unit of the table.
const MICRO: i64 = 1_000;

/// Nanoseconds in a millisecond.
const MILLI: i64 = 1_000_000;

/// Rows that are read at once.
const BATCH_ROWS: usize = 8_192;

/// A key of the footers that Spark writes. Its timestamps have microseconds, in any stored form.
const SPARK: &str = "org.apache.spark.";

/// Leaf columns that may be finer than the table's type.
struct FineLeaves {
    /// The numbers and field ids of the leaves.
    leaves: Vec<(usize, FieldId)>,
    /// Whether the leaves are 96-bit timestamps.
    wide: bool,
}

/// Refuses a file with values that microseconds can't hold.
///
/// # Errors
/// `InvalidInput`, naming the column and a value; the errors of reading the file.
pub(crate) fn check_whole_units(parquet: &ParquetFile, columns: &FileColumns, schema: &Schema) -> Result<()> {
    for wide in [false, true] {
        let fine = FineLeaves { leaves: fine_leaves(parquet, columns, schema, wide), wide };
        if !fine.leaves.is_empty() {
            fine.check(parquet, schema)?;
        }
    }
    Ok(())
}

fn fine_leaves(parquet: &ParquetFile, columns: &FileColumns, schema: &Schema, wide: bool) -> Vec<(usize, FieldId)> {
    let file = parquet.footer().file_metadata();
    let by_spark = || file.key_value_metadata().into_iter().flatten().any(|pair| pair.key.starts_with(SPARK));
    if wide && by_spark() {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut pending: Vec<&FileColumn> = columns.iter().collect();
    while let Some(column) = pending.pop() {
        pending.extend(&column.children);
        let leaf = column.leaves.start;
        let Some(id) = column.id.filter(|_| column.children.is_empty()) else { continue };
        let ty = schema.field(id).and_then(|f| f.ty.as_primitive());
        let stored = file.schema_descr().columns().get(leaf).map(|c| c.physical_type());
        let is_wide = stored == Some(PhysicalType::INT96);
        let is_fine = match (ty, column.field.data_type()) {
            (Some(PrimitiveType::Timestamp | PrimitiveType::Timestamptz), DataType::Timestamp(unit, _)) => {
                is_wide || *unit == TimeUnit::Nanosecond
            }
            (Some(PrimitiveType::Time), DataType::Time64(unit)) => *unit == TimeUnit::Nanosecond,
            _ => false,
        };
        if is_fine && is_wide == wide {
            out.push((leaf, id));
        }
    }
    out
}

impl FineLeaves {
    fn check(&self, parquet: &ParquetFile, schema: &Schema) -> Result<()> {
        // Whole columns are taken, because the decoder reads no parts of maps.
        let all = parquet.parquet_schema();
        let roots: BTreeSet<usize> = self.leaves.iter().map(|(leaf, _)| all.get_column_root_idx(*leaf)).collect();
        let leaves = (0..all.num_columns()).filter(|leaf| roots.contains(&all.get_column_root_idx(*leaf))).collect();
        let mut file = parquet.clone();
        if !self.wide {
            let metadata = file.metadata.clone();
            for batch in batches(file, metadata, &leaves)? {
                check_cancelled()?;
                self.check_batch(&batch?.0, None, &leaves, schema)?;
            }
            return Ok(());
        }
        // Nanoseconds wrap around in years that they can't hold. The milliseconds then give the rest of each value.
        let metadata = parquet.in_millis()?;
        let millis = batches(parquet.clone(), metadata, &leaves)?;
        file.read_nanos(&self.leaves.iter().map(|(leaf, _)| *leaf).collect())?;
        let metadata = file.metadata.clone();
        for (nanos, millis) in batches(file, metadata, &leaves)?.zip(millis) {
            check_cancelled()?;
            self.check_batch(&nanos?.0, Some(&millis?.0), &leaves, schema)?;
        }
        Ok(())
    }

    fn check_batch(
        &self,
        nanos: &RecordBatch,
        millis: Option<&RecordBatch>,
        read: &BTreeSet<usize>,
        schema: &Schema,
    ) -> Result<()> {
        let (found, coarse) = (leaf_arrays(nanos), millis.map(leaf_arrays));
        for (place, leaf) in read.iter().enumerate() {
            let Some((_, id)) = self.leaves.iter().find(|(fine, _)| fine == leaf) else { continue };
            let (array, coarse) = (found.get(place), coarse.as_ref().and_then(|c| c.get(place)));
            if let Some(value) = array.and_then(|array| finer(array, coarse)) {
                let ty = schema.field(*id).map(|f| f.ty.to_string()).unwrap_or_default();
                return Err(Error::invalid("the file has a value that the table's type can't hold")
                    .with("column", schema.name_of(*id).unwrap_or_default())
                    .with("type", ty)
                    .because(format!("{value} nanoseconds are not a whole number of microseconds"))
                    .hint(
                        "Write the file with microseconds, or make the column one of nanoseconds, which tables of format \
                         version 3 can have",
                    ));
            }
        }
        Ok(())
    }
}

fn batches(file: ParquetFile, metadata: ArrowReaderMetadata, leaves: &BTreeSet<usize>) -> Result<ParquetBatches> {
    let groups = (0..file.footer().num_row_groups()).collect();
    let plan = DecodePlan { metadata, groups, selection: None, leaves: leaves.clone() };
    ParquetBatches::after(file, plan, BATCH_ROWS, 0)
}

/// The arrays of leaf columns, in the order of the file.
fn leaf_arrays(batch: &RecordBatch) -> Vec<ArrayRef> {
    let mut out = Vec::new();
    batch.columns().iter().for_each(|column| add_leaves(column, &mut out));
    out
}

fn add_leaves(array: &ArrayRef, out: &mut Vec<ArrayRef>) {
    match array.data_type() {
        DataType::Struct(_) => array.as_struct().columns().iter().for_each(|member| add_leaves(member, out)),
        DataType::List(_) => add_leaves(array.as_list::<i32>().values(), out),
        DataType::Map(..) => array.as_map().entries().columns().iter().for_each(|part| add_leaves(part, out)),
        _ => out.push(array.clone()),
    }
}

/// A value that is not a whole number of microseconds.
fn finer(nanos: &ArrayRef, millis: Option<&ArrayRef>) -> Option<i64> {
    if let Some(times) = nanos.as_primitive_opt::<Time64NanosecondType>() {
        return times.iter().flatten().find(|v| v % MICRO != 0);
    }
    let nanos = nanos.as_primitive_opt::<TimestampNanosecondType>()?;
    match millis.and_then(|m| m.as_primitive_opt::<TimestampMillisecondType>()) {
        None => nanos.iter().flatten().find(|v| v % MICRO != 0),
        Some(millis) => {
            let rest = |(nanos, millis): (i64, i64)| (nanos, nanos.wrapping_sub(millis.wrapping_mul(MILLI)));
            let both = nanos.iter().zip(millis.iter()).filter_map(|(n, m)| Some(rest((n?, m?))));
            both.into_iter().find(|(_, rest)| rest % MICRO != 0).map(|(nanos, _)| nanos)
        }
    }
}
