//! Rows of tables with a primary key: gives them bucket, sequence number and kind, merges them by key, and lays them
//! out.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Int64Type, SchemaRef};

use super::key_buckets::KeyBuckets;
use super::row_kinds::RowKinds;
use crate::data::merge::buffer::BufferMerge;
use crate::data::write::partition_rows::PartitionRows;
use crate::data::write::table_rows::TableRows;
use crate::error::{Error, Result};
use crate::format::task::Partition;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::write::append_rows::with_columns;
use crate::paimon::write::default_values::Defaults;
use crate::paimon::write::limits::check_values;
use crate::paimon::write::names::{FileNames, split_bucket};
use crate::paimon::write::written::{no_sequence_numbers, partition_row};
use crate::parallel::locked;

/// Prepared rows on their way from one writer to another.
pub(crate) type Handed = Arc<Mutex<VecDeque<RecordBatch>>>;

/// The purpose of the rows.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// Rows to be merged and read. The changelog's writer gets the rows too, if there is one.
    Data(Option<Handed>),
    /// Rows of the input's changelog: as they were given, sorted but not merged.
    Changelog(Handed),
    /// Rows that get buckets later: they stay as they come in.
    Postponed,
}

/// The sequence number of rows that have none.
const NO_SEQUENCE: i64 = -1;

/// How the rows of tables with a primary key are written.
pub(crate) struct KeyedRows {
    pub role: Role,
    pub schema: Arc<TableSchema>,
    pub defaults: Defaults,
    pub buckets: KeyBuckets,
    pub merge: BufferMerge,
    pub names: FileNames,
    pub kinds: RowKinds,
    /// The columns of the table, sequence number and kind, then the bucket if there are some.
    pub prepared: SchemaRef,
    /// The same without the bucket.
    pub merged: SchemaRef,
    /// The columns of files: keys, sequence number, kind, and the columns of the table.
    pub stored: SchemaRef,
    /// The places of the key columns that files have in addition.
    pub stored_keys: Vec<usize>,
    /// The greatest sequence number of each bucket, by partition.
    pub sequence: HashMap<(Vec<u8>, i32), i64>,
    /// Rows so far.
    pub rows: i64,
    /// Rows of the last key, which may continue.
    pub held: Option<PartitionRows>,
}

impl KeyedRows {
    /// Merges the rows of a partition and lays them out; the last key stays back.
    fn merged(&mut self, part: PartitionRows) -> Result<Option<PartitionRows>> {
        let last = self.merge.groups(&part.rows)?.last().map_or(0, |group| group.start);
        let rest = part.rows.slice(last, part.rows.num_rows() - last);
        self.held = Some(PartitionRows { number: part.number, partition: part.partition.clone(), rows: rest });
        match last {
            0 => Ok(None),
            last => self.laid_out(PartitionRows { rows: part.rows.slice(0, last), ..part }).map(Some),
        }
    }

    fn laid_out(&self, part: PartitionRows) -> Result<PartitionRows> {
        let rows = match &self.role {
            Role::Changelog(_) => part.rows,
            _ => self.merge.merge(&part.rows)?,
        };
        let (partition, bucket) = split_bucket(&part.partition, self.names.bucket)?;
        let key = (partition_row(&self.schema, &partition)?, bucket);
        let last = self.sequence.get(&key).copied().unwrap_or(-1);
        let first = last.checked_add(1).ok_or_else(no_sequence_numbers)?;
        let gone = || Error::internal("merged rows lack their sequence number");
        let values = rows.num_columns().checked_sub(2).ok_or_else(gone)?;
        let sequence = rows.column(values).as_primitive_opt::<Int64Type>().ok_or_else(gone)?;
        let sequence: Int64Array = sequence.try_unary(|n| n.checked_add(first).ok_or_else(no_sequence_numbers))?;
        Ok(PartitionRows { rows: self.stored_rows(&rows, sequence)?, partition: part.partition, number: part.number })
    }

    /// The columns of files for merged rows.
    fn stored_rows(&self, rows: &RecordBatch, sequence: Int64Array) -> Result<RecordBatch> {
        let gone = || Error::internal("merged rows lack their sequence number");
        let values = rows.num_columns().checked_sub(2).ok_or_else(gone)?;
        let mut columns: Vec<ArrayRef> =
            self.stored_keys.iter().filter_map(|at| rows.columns().get(*at).cloned()).collect();
        columns.extend([Arc::new(sequence) as ArrayRef, rows.column(values + 1).clone()]);
        columns.extend(rows.columns().iter().take(values).cloned());
        with_columns(&self.stored, columns)
    }
}

impl TableRows for KeyedRows {
    fn prepare(&mut self, rows: RecordBatch) -> Result<RecordBatch> {
        if let Role::Changelog(handed) = &self.role {
            let rows = locked(handed).pop_front();
            return rows.ok_or_else(|| Error::internal("the changelog got no rows"));
        }
        let rows = self.defaults.fill(rows)?;
        check_values(&self.schema.fields, &rows)?;
        let (rows, kinds) = self.kinds.of_rows(rows)?;
        let placed = self.buckets.place(rows, kinds)?;
        let first = self.rows;
        self.rows += placed.rows.num_rows() as i64;
        let mut columns = placed.rows.columns().to_vec();
        columns.push(Arc::new(Int64Array::from_iter_values(first..self.rows)));
        columns.push(Arc::new(placed.kinds));
        columns.extend(placed.buckets.map(|buckets| Arc::new(buckets) as ArrayRef));
        let rows = with_columns(&self.prepared, columns)?;
        match &self.role {
            Role::Data(Some(changelog)) => locked(changelog).push_back(rows.clone()),
            Role::Postponed => self.merge.check_kinds(&rows)?,
            _ => {}
        }
        Ok(rows)
    }

    fn stored(&mut self, rows: RecordBatch) -> Result<RecordBatch> {
        match &self.role {
            Role::Postponed => self.stored_rows(&rows, Int64Array::from_value(NO_SEQUENCE, rows.num_rows())),
            _ => Err(Error::internal("rows of a table with a primary key are not sorted")),
        }
    }

    fn sorted(&mut self, part: PartitionRows) -> Result<Vec<PartitionRows>> {
        let columns = part.rows.columns().iter().take(self.merged.fields().len()).cloned().collect();
        let mut part = PartitionRows { rows: with_columns(&self.merged, columns)?, ..part };
        if let Role::Changelog(_) = &self.role {
            return Ok(vec![self.laid_out(part)?]);
        }
        let mut out = Vec::new();
        match self.held.take() {
            Some(held) if held.number == part.number => {
                let joined = concat_batches(&self.merged, [&held.rows, &part.rows]);
                part.rows = joined.map_err(|e| Error::internal("rows of a key can't be joined").because(e))?;
            }
            Some(held) => out.push(self.laid_out(held)?),
            None => {}
        }
        out.extend(self.merged(part)?);
        Ok(out)
    }

    fn rest(&mut self) -> Result<Vec<PartitionRows>> {
        self.held.take().map(|held| self.laid_out(held)).into_iter().collect()
    }

    fn path(&mut self, partition: &Partition) -> Result<String> {
        self.names.next(partition)
    }
}
