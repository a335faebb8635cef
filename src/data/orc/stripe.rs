//! Encodes the rows of a stripe.
//!
//! A column has a bit for every row that says whether it has a value, and values only for rows that have one. Columns
//! in a struct have neither for rows in which the struct is null. Columns in lists and maps have a bit for every entry.

use arrow::array::RecordBatch;

use super::arrays::unlike;
use super::bloom::FilteredColumns;
use super::parts::{ColumnParts, GROUP_ROWS};
use super::types::{OrcType, statistics_of};
use super::values::OrcColumnEncoder;
use crate::codec::orc::encode::{Compressor, EncodingOut, OrcColumnStatistics, StripeParts};
use crate::error::Result;
use crate::types::Type;

/// A stripe that is being encoded.
pub(crate) struct Stripe {
    compressor: Compressor,
    columns: Vec<OrcColumnEncoder>,
    /// Rows of the stripe, and of the group that is being written.
    rows: u64,
    group_rows: u64,
    /// Statistics of only the number of rows: no row is null.
    groups: Vec<OrcColumnStatistics>,
}

/// A finished stripe.
pub(crate) struct FinishedStripe {
    pub rows: u64,
    pub parts: StripeParts,
    /// The statistics of each column.
    pub statistics: Vec<OrcColumnStatistics>,
}

impl Stripe {
    /// An empty one.
    pub(crate) fn new(columns: &[OrcType], compressor: &Compressor, filters: &FilteredColumns) -> Stripe {
        let columns = columns.iter().map(|c| OrcColumnEncoder::new(c, compressor, filters)).collect();
        Stripe { compressor: compressor.clone(), columns, rows: 0, group_rows: 0, groups: Vec::new() }
    }

    /// Adds rows, at most as many as still fit the group.
    ///
    /// # Errors
    /// `Unsupported` for timestamps that ORC can't hold.
    pub(crate) fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        if self.group_rows == 0 {
            self.columns.iter_mut().for_each(OrcColumnEncoder::begin_group);
        }
        if rows.num_columns() != self.columns.len() {
            return Err(unlike());
        }
        let names = rows.schema_ref().fields().iter();
        for ((column, array), field) in self.columns.iter_mut().zip(rows.columns()).zip(names) {
            column.write(array).map_err(|e| e.with("column", field.name()))?;
        }
        self.rows += rows.num_rows() as u64;
        self.group_rows += rows.num_rows() as u64;
        if self.group_rows >= GROUP_ROWS {
            self.end_group();
        }
        Ok(())
    }

    /// Rows that still fit the group.
    pub(crate) fn room(&self) -> usize {
        GROUP_ROWS.saturating_sub(self.group_rows) as usize
    }

    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// About how many bytes it holds.
    pub(crate) fn held(&self) -> usize {
        self.columns.iter().map(OrcColumnEncoder::held).sum()
    }

    fn end_group(&mut self) {
        if self.group_rows > 0 {
            let mut root = OrcColumnStatistics::new(statistics_of(&Type::Struct([].into())));
            root.values = self.group_rows;
            self.groups.push(root);
            self.columns.iter_mut().for_each(OrcColumnEncoder::end_group);
            self.group_rows = 0;
        }
    }

    /// Ends the stripe. It is empty after that.
    ///
    /// # Errors
    /// A cancellation. Then the stripe can't be used any more.
    pub(crate) fn finish(&mut self) -> Result<FinishedStripe> {
        self.end_group();
        let groups = std::mem::take(&mut self.groups);
        let mut out = ColumnParts::new(&self.compressor);
        let positions = groups.iter().map(|_| Vec::new()).collect();
        out.column(0, EncodingOut::Direct, groups, positions);
        self.columns.iter_mut().try_for_each(|column| column.finish(&mut out))?;
        let ColumnParts { mut indexes, data, encodings, statistics, .. } = out;
        indexes.extend(data);
        let rows = std::mem::take(&mut self.rows);
        Ok(FinishedStripe { rows, parts: StripeParts { streams: indexes, encodings }, statistics })
    }
}
