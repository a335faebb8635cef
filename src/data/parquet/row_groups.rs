//! Selects the row groups and pages of a Parquet file that a task has to read.
//!
//! A row group belongs to the task that holds its middle byte. Statistics and page indexes leave out rows that the
//! filter can't match. Both implement [`Bounds`], and the one pruning algorithm decides.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use arrow::array::ArrayRef;
use parquet::arrow::arrow_reader::RowSelection;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;

use super::checks::footer::{start, writer_faults};
use crate::codec::parquet::ends;
use crate::data::arrow::array_value::value_at;
use crate::data::read::cast::{Cast, constant};
use crate::data::read::constants::Constants;
use crate::data::read::file_columns::FileColumns;
use crate::data::read::filter_columns::{Located, locate};
use crate::data::read::source::FilePart;
use crate::expr::bounds::{Presence, Verdict, evaluate_leaf, may_match};
use crate::expr::{BoundLeaf, BoundPredicate, BoundTerm, Bounds, ColumnBounds, Op};
use crate::types::{FieldId, PrimitiveType, Schema, Value, ValueRef};

/// The row groups whose middle byte lies in `range`. parquet-mr divides a file among its splits in this way. Every row
/// group has one middle, so it belongs to one task.
pub(crate) fn in_range(metadata: &ParquetMetaData, range: Range<i64>) -> Vec<usize> {
    let middle = |group: &RowGroupMetaData| {
        let start = group.columns().first().map_or(0, |first| {
            let data = first.data_page_offset();
            first.dictionary_page_offset().map_or(data, |dictionary| dictionary.min(data))
        });
        start.saturating_add(group.compressed_size() / 2)
    };
    let groups = metadata.row_groups().iter().enumerate();
    groups.filter(|(_, group)| range.contains(&middle(group))).map(|(i, _)| i).collect()
}

/// The bounds and nulls of one column in some rows.
#[derive(Debug, Default)]
struct Known {
    lower: Option<Value>,
    upper: Option<Value>,
    nulls: Presence,
    nans: Presence,
}

/// The bounds and nulls of a filter's columns in some rows.
#[derive(Debug, Default)]
struct KnownColumns(HashMap<FieldId, Known>);

impl Bounds for KnownColumns {
    fn column<'a>(&'a self, field: FieldId, _ty: &PrimitiveType) -> ColumnBounds<'a> {
        self.0.get(&field).map_or_else(ColumnBounds::default, |known| ColumnBounds {
            lower: known.lower.as_ref().map(Value::as_ref),
            upper: known.upper.as_ref().map(Value::as_ref),
            upper_is_prefix: false,
            nulls: known.nulls,
            nans: known.nans,
        })
    }
}

/// A column of the filter in the file.
#[derive(Debug)]
struct ChunkColumn {
    ty: PrimitiveType,
    place: Located,
}

/// Decides which parts of one file its filter rules out.
#[derive(Debug)]
pub(crate) struct RowGroupPruner<'a> {
    filter: &'a BoundPredicate,
    columns: HashMap<FieldId, ChunkColumn>,
}

impl<'a> RowGroupPruner<'a> {
    /// Makes a pruner for a filter on columns of `schema`, over a file with these columns and partition values.
    pub(crate) fn new(filter: &'a BoundPredicate, schema: &Schema, file: &FileColumns, constants: &Constants) -> Self {
        let mut columns = HashMap::new();
        filter.for_each_term(&mut |term| {
            if let Some(ty) = term.source_primitive() {
                let id = term.field_id;
                let place = || locate(id, schema, file, constants);
                columns.entry(id).or_insert_with(|| ChunkColumn { ty: ty.clone(), place: place() });
            }
        });
        RowGroupPruner { filter, columns }
    }

    /// Whether some row of a row group may match.
    pub(crate) fn may_match(&self, metadata: &ParquetMetaData, group: usize) -> bool {
        let known = |(id, column): (&FieldId, &ChunkColumn)| Some((*id, column.in_group(metadata, group)?));
        may_match(self.filter, &KnownColumns(self.columns.iter().filter_map(known).collect()))
    }

    /// The rows of these row groups that may match by the page index. Rows are counted through all of the groups.
    /// `None` if all may match.
    pub(crate) fn select_rows(&self, metadata: &ParquetMetaData, groups: &[usize]) -> Option<RowSelection> {
        let mut selected: Vec<Range<usize>> = Vec::new();
        let mut total = 0usize;
        for &group in groups {
            let rows = usize::try_from(metadata.row_groups().get(group)?.num_rows()).ok()?;
            let ranges = self.rows(self.filter, metadata, group, rows);
            selected.extend(ranges.into_iter().map(|r| r.start + total..r.end + total));
            total = total.checked_add(rows)?;
        }
        let kept: usize = selected.iter().map(ExactSizeIterator::len).sum();
        (kept < total).then(|| RowSelection::from_consecutive_ranges(selected.into_iter(), total))
    }

    /// Ascending, disjoint ranges of a row group's rows on which `filter` may be true.
    fn rows(
        &self,
        filter: &BoundPredicate,
        metadata: &ParquetMetaData,
        group: usize,
        rows: usize,
    ) -> Vec<Range<usize>> {
        let all = || std::iter::once(0..rows).collect::<Vec<_>>();
        match filter {
            BoundPredicate::True | BoundPredicate::Test(_) => all(),
            BoundPredicate::False => Vec::new(),
            BoundPredicate::And(parts) => {
                parts.iter().fold(all(), |kept, part| intersect(&kept, &self.rows(part, metadata, group, rows)))
            }
            BoundPredicate::Or(parts) => {
                parts.iter().fold(Vec::new(), |kept, part| unite(kept, self.rows(part, metadata, group, rows)))
            }
            BoundPredicate::Leaf(leaf) => self.leaf_rows(leaf, metadata, group, rows).unwrap_or_else(all),
        }
    }

    fn leaf_rows(
        &self,
        leaf: &BoundLeaf,
        metadata: &ParquetMetaData,
        group: usize,
        rows: usize,
    ) -> Option<Vec<Range<usize>>> {
        let id = leaf.term.field_id;
        let pages = self.columns.get(&id)?.in_pages(metadata, group, rows)?;
        let kept = pages.into_iter().filter_map(|(range, known)| {
            let bounds = KnownColumns(HashMap::from([(id, known)]));
            (evaluate_leaf(leaf, &bounds) != Verdict::Never).then_some(range)
        });
        Some(kept.fold(Vec::new(), |ranges, range| unite(ranges, vec![range])))
    }
}

impl ChunkColumn {
    fn in_group(&self, metadata: &ParquetMetaData, group: usize) -> Option<Known> {
        let (index, field, cast) = match &self.place {
            Located::Leaf { index, field, cast } => (*index, field, cast),
            Located::Constant(value) => return self.always(value.as_ref()),
            Located::Unknown => return None,
        };
        let row_group = metadata.row_groups().get(group)?;
        let chunk = row_group.columns().get(index)?;
        let required = chunk.column_descr().max_def_level() == 0;
        // Some writers count nulls twice. Then only the count is wrong.
        let counted = !writer_faults(metadata).null_counts;
        let statistics = chunk.statistics().filter(|s| !counted || !contradicts(chunk, s));
        let Some(statistics) = statistics else { return Some(self.known(required, None, false)) };
        let nulls = statistics.null_count_opt();
        let all_null = counted && nulls.is_some_and(|n| i64::try_from(n) == Ok(chunk.num_values()));
        let mut known = self.known(required, nulls, all_null);
        if ends::are_believed(metadata.file_metadata(), index, statistics) {
            let schema = metadata.file_metadata().schema_descr();
            let converter = StatisticsConverter::from_column_index(index, field, schema).ok()?;
            let (lower, upper) =
                (converter.row_group_mins([row_group]).ok()?, converter.row_group_maxes([row_group]).ok()?);
            (known.lower, known.upper) = self.bounds(cast, &lower, &upper, 0);
        }
        Some(known)
    }

    /// The column in each page of a row group, with the page's rows. `None` if there is no usable index.
    fn in_pages(&self, metadata: &ParquetMetaData, group: usize, rows: usize) -> Option<Vec<(Range<usize>, Known)>> {
        let Located::Leaf { index, field, cast } = &self.place else { return None };
        let (columns, offsets) = (metadata.column_index()?, metadata.offset_index()?);
        let column = columns.get(group)?.get(*index)?;
        let ranges = page_rows(offsets.get(group)?.get(*index)?.page_locations(), rows)?;
        // A column without its own index has no page count.
        if matches!(column, ColumnIndexMetaData::NONE) || column.num_pages() != ranges.len() as u64 {
            return None;
        }
        let descriptor = metadata.row_groups().get(group)?.columns().get(*index)?.column_descr();
        if index_contradicts(descriptor, column, &ranges) {
            return None;
        }
        let values = if ends::is_ordered(metadata.file_metadata(), *index, false) {
            let converter =
                StatisticsConverter::from_column_index(*index, field, metadata.file_metadata().schema_descr()).ok()?;
            let lower = converter.data_page_mins(columns, offsets, [&group]).ok()?;
            let upper = converter.data_page_maxes(columns, offsets, [&group]).ok()?;
            (lower.len() == ranges.len() && upper.len() == ranges.len()).then_some((lower, upper))
        } else {
            None
        };
        let known = |(page, range)| {
            let nulls = column.null_count(page).and_then(|n| u64::try_from(n).ok());
            let is_null_page = column.is_null_page(page);
            let all_null =
                is_null_page && nulls.is_none_or(|n| usize::try_from(n) == Ok(ExactSizeIterator::len(&range)));
            let mut known = self.known(descriptor.max_def_level() == 0, nulls, all_null);
            if let (Some((lower, upper)), false) = (&values, is_null_page) {
                (known.lower, known.upper) = self.bounds(cast, lower, upper, page);
            }
            (range, known)
        };
        Some(ranges.into_iter().enumerate().map(known).collect())
    }

    /// The knowledge from the number of nulls. Statistics never count NaNs, so floats may always have them.
    fn known(&self, required: bool, nulls: Option<u64>, all_null: bool) -> Known {
        let nulls = match nulls {
            _ if all_null => Presence::Everywhere,
            _ if required => Presence::Absent,
            Some(0) => Presence::Absent,
            _ => Presence::Possible,
        };
        let nans = if self.ty.is_float() && !all_null { Presence::Possible } else { Presence::Absent };
        Known { lower: None, upper: None, nulls, nans }
    }

    /// The bounds of a column with the same value, or null, in every row.
    fn always(&self, value: Option<&Value>) -> Option<Known> {
        let Some(value) = value else { return Some(self.known(false, None, true)) };
        let array = constant(Some(value), &self.ty, 1).ok()?;
        let value = value_at(&array, 0, &self.ty)?;
        let bound = (!value.is_nan()).then(|| value.to_owned());
        let nans = if value.is_nan() { Presence::Everywhere } else { Presence::Absent };
        Some(Known { lower: bound.clone(), upper: bound, nulls: Presence::Absent, nans })
    }

    /// Bounds of the table's type from arrays of the file's type. Every cast keeps order, so it may be applied to
    /// bounds. A cast that fails leaves them unknown. A bound that is NaN shows that the writer did not leave NaNs out.
    /// Then both bounds are dropped.
    fn bounds(&self, cast: &Cast, lower: &ArrayRef, upper: &ArrayRef, at: usize) -> (Option<Value>, Option<Value>) {
        let value = |array: &ArrayRef| {
            let one = cast.apply(&array.slice(at, 1)).ok()?;
            value_at(&one, 0, &self.ty).map(ValueRef::to_owned)
        };
        let (lower, upper) = (value(lower), value(upper));
        let is_nan = |v: &Option<Value>| v.as_ref().is_some_and(|v| v.as_ref().is_nan());
        let inverted = lower.as_ref().zip(upper.as_ref()).is_some_and(|(l, u)| l.sql_cmp(u).is_some_and(|o| o.is_gt()));
        if inverted || is_nan(&lower) || is_nan(&upper) { (None, None) } else { (lower, upper) }
    }
}

/// Whether the statistics of a column chunk are impossible, so that none of them can be trusted.
fn contradicts(chunk: &ColumnChunkMetaData, statistics: &Statistics) -> bool {
    let Some(nulls) = statistics.null_count_opt() else { return false };
    let (nulls, values) = (i64::try_from(nulls).unwrap_or(i64::MAX), chunk.num_values());
    let has_ends = statistics.min_bytes_opt().is_some() || statistics.max_bytes_opt().is_some();
    let required = chunk.column_descr().max_def_level() == 0;
    nulls > values || (required && nulls > 0) || (nulls == values && nulls > 0 && has_ends)
}

/// The same for a column index. Some writers mark all pages as null if they have no statistics. parquet-java ignores
/// such an index, too (GH-3457).
fn index_contradicts(column: &ColumnDescriptor, index: &ColumnIndexMetaData, pages: &[Range<usize>]) -> bool {
    let (required, flat) = (column.max_def_level() == 0, column.max_rep_level() == 0);
    let contradicts = |(page, rows): (usize, &Range<usize>)| {
        let (is_null, nulls) = (index.is_null_page(page), index.null_count(page));
        let rows = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        // Each row of a flat column has one value.
        let impossible = |nulls: i64| match (is_null, flat) {
            (true, true) => nulls != rows,
            (true, false) => nulls <= 0,
            (false, true) => nulls < 0 || nulls > rows,
            (false, false) => nulls < 0,
        };
        required && (is_null || nulls.is_some_and(|n| n > 0)) || nulls.is_some_and(impossible)
    };
    pages.iter().enumerate().any(contradicts)
}

/// The range of a column in all rows, by the statistics of these row groups: it lies between two values, or is null.
/// `True` if they don't show it.
pub(crate) fn range_of(
    metadata: &ParquetMetaData,
    groups: &[usize],
    part: &FilePart<'_>,
    id: FieldId,
) -> BoundPredicate {
    let range = || {
        let term = BoundTerm::of_column(&part.schema.path(id)?)?;
        let ty = term.source_primitive().filter(|ty| has_one_order(ty))?.clone();
        let column = ChunkColumn { ty, place: locate(id, part.schema, part.columns, part.constants) };
        let leaf = |op, value: Option<Value>| {
            BoundPredicate::Leaf(BoundLeaf { term: term.clone(), op, values: value.into_iter().collect() })
        };
        let (mut nulls, mut ends): (bool, Option<(Value, Value)>) = (false, None);
        for group in groups {
            let known = column.in_group(metadata, *group)?;
            nulls |= known.nulls != Presence::Absent;
            if known.nulls == Presence::Everywhere {
                continue;
            }
            let (lower, upper) = (known.lower?, known.upper?);
            let (least, greatest) = ends.get_or_insert_with(|| (lower.clone(), upper.clone()));
            if lower.sql_cmp(least)?.is_lt() {
                *least = lower;
            }
            if upper.sql_cmp(greatest)?.is_gt() {
                *greatest = upper;
            }
        }
        let between = ends.map(|(least, greatest)| {
            BoundPredicate::all([leaf(Op::GtEq, Some(least)), leaf(Op::LtEq, Some(greatest))])
        });
        Some(BoundPredicate::any(nulls.then(|| leaf(Op::IsNull, None)).into_iter().chain(between)))
    };
    range().unwrap_or(BoundPredicate::True)
}

/// Whether statistics, filters and keys have the same order for values of this type. Floats and UUIDs have several
/// orders.
fn has_one_order(ty: &PrimitiveType) -> bool {
    use PrimitiveType as P;
    let times = matches!(ty, P::Date | P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs);
    times || matches!(ty, P::Int | P::Long | P::Decimal { .. } | P::String)
}

/// The rows of each page; `None` if they do not tile the row group.
pub(crate) fn page_rows(pages: &[PageLocation], rows: usize) -> Option<Vec<Range<usize>>> {
    let mut starts = pages.iter().map(|p| usize::try_from(p.first_row_index)).collect::<Result<Vec<_>, _>>().ok()?;
    starts.push(rows);
    let ascending = starts.windows(2).all(|w| matches!(w, [a, b] if a < b));
    let ranges = || starts.windows(2).filter_map(|w| Some(*w.first()?..*w.get(1)?)).collect();
    (starts.first() == Some(&0) && ascending).then(ranges)
}

/// Whether the offset index of these leaf columns describes pages that lie in their column chunks and tile their rows.
/// Otherwise a reader that skips by the index would give wrong rows.
pub(crate) fn index_is_consistent(metadata: &ParquetMetaData, groups: &[usize], leaves: &BTreeSet<usize>) -> bool {
    let consistent = |group: usize, leaf: usize| -> Option<bool> {
        let row_group = metadata.row_groups().get(group)?;
        let chunk = row_group.columns().get(leaf)?;
        let pages = metadata.offset_index()?.get(group)?.get(leaf)?.page_locations();
        page_rows(pages, usize::try_from(row_group.num_rows()).ok()?)?;
        let end = start(chunk).checked_add(chunk.compressed_size())?;
        let mut at = start(chunk);
        for page in pages {
            let page_end = page.offset.checked_add(i64::from(page.compressed_page_size))?;
            if page.offset < at || page_end <= page.offset || page_end > end {
                return Some(false);
            }
            at = page_end;
        }
        Some(true)
    };
    groups.iter().all(|&group| leaves.iter().all(|&leaf| consistent(group, leaf) == Some(true)))
}

/// The rows in both of two ascending lists of disjoint ranges.
fn intersect(a: &[Range<usize>], b: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        let both = x.start.max(y.start)..x.end.min(y.end);
        let x_ends_first = x.end <= y.end;
        if !both.is_empty() {
            out.push(both);
        }
        if x_ends_first {
            a.next()
        } else {
            b.next()
        };
    }
    out
}

/// The rows in either of two ascending lists of disjoint ranges, joined where they touch.
fn unite(mut a: Vec<Range<usize>>, b: Vec<Range<usize>>) -> Vec<Range<usize>> {
    a.extend(b);
    a.sort_by_key(|r| r.start);
    let mut out: Vec<Range<usize>> = Vec::with_capacity(a.len());
    for range in a {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

#[cfg(test)]
#[path = "row_groups_tests.rs"]
mod tests;
