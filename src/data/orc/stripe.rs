//! Encodes the columns of a stripe.
//!
//! A column has a bit for every row whether it has a value, and values only for those that have. Columns in a struct have
//! neither for rows in which the struct is null; those in lists and maps have one for every entry.

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::buffer::NullBuffer;

use super::bloom::{Filter, FilteredColumns};
use super::texts::ColumnStreams;
use super::types::{OrcType, statistics_of};
use super::values::{Values, unlike};
use crate::codec::orc::StreamKind;
use crate::codec::orc::encode::{
    BitWriter, ByteRunWriter, ColumnStatistics, Compressor, EncodingOut, IndexEntry, IntegerWriter, StreamOut,
    StripeParts, row_index,
};
use crate::error::Result;
use crate::types::Type;

/// A stripe that is being encoded.
pub(crate) struct Stripe {
    compressor: Compressor,
    columns: Vec<Column>,
    /// Rows of it, and of the group that is being written.
    rows: u64,
    group_rows: u64,
    /// The rows alone: there are no nulls among them.
    groups: Vec<ColumnStatistics>,
}

/// A finished stripe.
pub(crate) struct FinishedStripe {
    pub rows: u64,
    pub parts: StripeParts,
    /// Of each column.
    pub statistics: Vec<ColumnStatistics>,
}

/// Rows of a group of the row index.
pub(crate) const GROUP_ROWS: u64 = 10_000;

/// A column of a stripe.
pub(crate) struct Column {
    number: usize,
    present: BitWriter,
    filter: Option<Filter>,
    /// Whether there is a null in the stripe.
    has_null: bool,
    values: Values,
    group: ColumnStatistics,
    /// Where groups of rows begin, and what the finished ones hold.
    positions: Vec<Positions>,
    groups: Vec<ColumnStatistics>,
}

#[derive(Default)]
struct Positions {
    present: Vec<u64>,
    values: Vec<u64>,
}

impl Stripe {
    /// An empty one.
    pub(crate) fn new(columns: &[OrcType], compressor: &Compressor, filters: &FilteredColumns) -> Stripe {
        let columns = columns.iter().map(|c| Column::new(c, compressor, filters)).collect();
        Stripe { compressor: compressor.clone(), columns, rows: 0, group_rows: 0, groups: Vec::new() }
    }

    /// Adds rows: not more than are left of the group.
    ///
    /// # Errors
    /// `Unsupported` for timestamps that ORC can't hold.
    pub(crate) fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        if self.group_rows == 0 {
            self.columns.iter_mut().for_each(Column::begin_group);
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

    /// Bytes held, about.
    pub(crate) fn held(&self) -> usize {
        self.columns.iter().map(Column::held).sum()
    }

    fn end_group(&mut self) {
        if self.group_rows > 0 {
            let mut root = ColumnStatistics::new(statistics_of(&Type::Struct([].into())));
            root.values = self.group_rows;
            self.groups.push(root);
            self.columns.iter_mut().for_each(Column::end_group);
            self.group_rows = 0;
        }
    }

    /// Ends it; it is empty then.
    pub(crate) fn finish(&mut self) -> FinishedStripe {
        self.end_group();
        let groups = std::mem::take(&mut self.groups);
        let mut out = Parts::new(&self.compressor);
        let positions = groups.iter().map(|_| Vec::new()).collect();
        out.column(0, EncodingOut::Direct, groups, positions);
        self.columns.iter_mut().for_each(|column| column.finish(&mut out));
        let Parts { mut indexes, data, encodings, statistics, .. } = out;
        indexes.extend(data);
        let rows = std::mem::take(&mut self.rows);
        FinishedStripe { rows, parts: StripeParts { streams: indexes, encodings }, statistics }
    }
}

/// What columns leave behind, in the order of their numbers.
struct Parts {
    compressor: Compressor,
    indexes: Vec<StreamOut>,
    data: Vec<StreamOut>,
    encodings: Vec<EncodingOut>,
    statistics: Vec<ColumnStatistics>,
}

impl Parts {
    fn new(compressor: &Compressor) -> Parts {
        let compressor = compressor.clone();
        Parts { compressor, indexes: vec![], data: vec![], encodings: vec![], statistics: vec![] }
    }

    /// What a column's groups hold, and where they begin.
    fn column(
        &mut self,
        number: usize,
        encoding: EncodingOut,
        groups: Vec<ColumnStatistics>,
        positions: Vec<Vec<u64>>,
    ) {
        let Some(first) = groups.first() else { return };
        let mut all = ColumnStatistics::new(first.kind.clone());
        let entry = |(positions, statistics)| {
            all.merge(&statistics);
            IndexEntry { positions, statistics }
        };
        let entries: Vec<IndexEntry> = positions.into_iter().zip(groups).map(entry).collect();
        let bytes = self.compressor.message(&row_index(&entries));
        self.indexes.push(StreamOut { kind: None, column: number, bytes });
        self.encodings.push(encoding);
        self.statistics.push(all);
    }

    /// The filters of a column's groups, behind its row index.
    fn filter(&mut self, number: usize, filters: &[u8]) {
        let bytes = self.compressor.message(filters);
        self.indexes.push(StreamOut { kind: Some(StreamKind::BloomFilter), column: number, bytes });
    }
}

impl Column {
    fn new(column: &OrcType, compressor: &Compressor, filters: &FilteredColumns) -> Column {
        let children = || column.children.iter().map(|c| Column::new(c, compressor, filters)).collect();
        let values = match &column.ty {
            Type::Struct(_) => Values::Struct(children()),
            Type::List(_) | Type::Map(_, _) => {
                Values::Collection { lengths: IntegerWriter::new(compressor, false), entries: children() }
            }
            Type::Primitive(_) if column.bytes => Values::Byte(ByteRunWriter::new(compressor)),
            Type::Primitive(p) => Values::leaf(p, compressor),
        };
        Column {
            number: column.number,
            present: BitWriter::new(compressor),
            filter: Filter::new(column, filters),
            has_null: false,
            values,
            group: ColumnStatistics::new(statistics_of(&column.ty)),
            positions: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// As [`Stripe::write`].
    pub(crate) fn write(&mut self, array: &ArrayRef) -> Result<()> {
        let nulls = array.logical_nulls().filter(|n| n.null_count() > 0);
        match &nulls {
            None => self.present.ones(array.len()),
            Some(nulls) => {
                nulls.iter().for_each(|valid| self.present.push(valid));
                self.has_null = true;
                self.group.has_null = true;
            }
        }
        self.group.values += (array.len() - nulls.as_ref().map_or(0, NullBuffer::null_count)) as u64;
        if let Some(filter) = &mut self.filter {
            filter.add(array, nulls.as_ref())?;
        }
        self.values.write(array, nulls.as_ref(), &mut self.group)
    }

    fn children(&mut self) -> &mut [Column] {
        match &mut self.values {
            Values::Struct(children) | Values::Collection { entries: children, .. } => children,
            _ => &mut [],
        }
    }

    fn begin_group(&mut self) {
        let mut positions = Positions::default();
        self.present.position(&mut positions.present);
        self.values.position(&mut positions.values);
        self.positions.push(positions);
        self.children().iter_mut().for_each(Column::begin_group);
    }

    fn end_group(&mut self) {
        self.groups.push(self.group.take());
        self.filter.iter_mut().for_each(Filter::end_group);
        self.children().iter_mut().for_each(Column::end_group);
    }

    /// Bytes held, about.
    pub(crate) fn held(&self) -> usize {
        self.present.held() + self.values.held() + self.filter.as_ref().map_or(0, Filter::held)
    }

    fn finish(&mut self, out: &mut Parts) {
        let ColumnStreams { streams, encoding, positions: texts } = self.values.finish();
        let present = self.present.take();
        let with_present = std::mem::take(&mut self.has_null);
        let mut texts = texts.into_iter();
        let position = |positions: Positions| {
            let mut all = if with_present { positions.present } else { Vec::new() };
            all.extend(texts.next().unwrap_or(positions.values));
            all
        };
        let positions = std::mem::take(&mut self.positions).into_iter().map(position).collect();
        out.column(self.number, encoding, std::mem::take(&mut self.groups), positions);
        if let Some(filter) = &mut self.filter {
            out.filter(self.number, &filter.finish());
        }
        let present = with_present.then_some((StreamKind::Present, present));
        let stream = |(kind, bytes)| StreamOut { kind: Some(kind), column: self.number, bytes };
        out.data.extend(present.into_iter().chain(streams).map(stream));
        self.children().iter_mut().for_each(|child| child.finish(out));
    }
}
