//! All column metrics of an entry as maps, for the few entries that need them.

use std::ops::Range;

use super::layout::{EntryLayout, EntryValue};
use crate::codec::avro::{Budget, Cursor, Skip};
use crate::error::Result;
use crate::format::task::{ColumnMetrics, DecodeMetrics, FieldMap};

/// Reads one metrics map whole.
pub(crate) fn read_all<'a>(column: EntryValue, cursor: Cursor<'a>, all: &mut ColumnMetrics) -> Result<Cursor<'a>> {
    let bytes = |c: &mut Cursor<'a>| c.bytes().map(<[u8]>::to_vec);
    match column {
        EntryValue::Sizes => read_map(cursor, &mut all.column_sizes, Cursor::long),
        EntryValue::ValueCounts => read_map(cursor, &mut all.value_counts, Cursor::long),
        EntryValue::NullCounts => read_map(cursor, &mut all.null_value_counts, Cursor::long),
        EntryValue::NanCounts => read_map(cursor, &mut all.nan_value_counts, Cursor::long),
        EntryValue::LowerBounds => read_map(cursor, &mut all.lower_bounds, bytes),
        _ => read_map(cursor, &mut all.upper_bounds, bytes),
    }
}

/// Reads a map. If a key is repeated, its last value is used.
fn read_map<'a, T>(
    mut cursor: Cursor<'a>,
    out: &mut Option<FieldMap<T>>,
    value: impl Fn(&mut Cursor<'a>) -> Result<T>,
) -> Result<Cursor<'a>> {
    let map = out.insert(FieldMap::new());
    while let Some(run) = cursor.run()? {
        let before = cursor.rest().len();
        for _ in 0..run.count {
            map.insert(cursor.int()?, value(&mut cursor)?);
        }
        run.check(before, &cursor)?;
    }
    Ok(cursor)
}

fn is_metric(column: Option<EntryValue>) -> bool {
    use EntryValue::*;
    matches!(column, Some(Sizes | ValueCounts | NullCounts | NanCounts | LowerBounds | UpperBounds))
}

impl EntryLayout {
    /// The range from the first metrics map of a data file's record to the end of the last one.
    pub(crate) fn metrics_span(&self) -> Option<Range<usize>> {
        let first = self.file.iter().position(|s| is_metric(s.column))?;
        let last = self.file.iter().rposition(|s| is_metric(s.column))?;
        Some(first..last + 1)
    }
}

impl DecodeMetrics for EntryLayout {
    fn decode_metrics(&self, bytes: &[u8]) -> Result<ColumnMetrics> {
        let (mut cursor, mut out, mut budget) = (Cursor::new(bytes), ColumnMetrics::default(), Budget::default());
        let slots = self.metrics_span().and_then(|span| self.file.get(span)).unwrap_or_default();
        for slot in slots {
            match slot.column.filter(|c| is_metric(Some(*c))) {
                None => cursor = Skip::of(&slot.node, &mut budget)?.run(cursor)?,
                Some(column) if cursor.present(slot.optional)? => cursor = read_all(column, cursor, &mut out)?,
                Some(_) => {}
            }
        }
        Ok(out)
    }
}
