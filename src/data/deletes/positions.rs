//! Which rows of its file a batch holds.
//!
//! A position is the ordinal of a row in its file, from 0. It does not depend on which part of the file is read or
//! skipped. Position deletes and deletion vectors use positions.

use std::collections::VecDeque;
use std::ops::Range;

use arrow::buffer::BooleanBuffer;
use parquet::arrow::arrow_reader::RowSelection;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::error::{Error, Result};

/// The positions of a batch's rows, ascending, as ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowPositions(Vec<Range<u64>>);

impl RowPositions {
    /// Rows that follow each other in the file.
    pub(crate) fn run(range: Range<u64>) -> RowPositions {
        let mut out = RowPositions::default();
        out.push(range);
        out
    }

    /// The rows of these ascending ranges. The ranges count from `first`.
    pub(crate) fn counted_from(first: u64, ranges: impl Iterator<Item = Range<usize>>) -> RowPositions {
        let mut out = RowPositions::default();
        ranges.for_each(|range| out.push(first + range.start as u64..first + range.end as u64));
        out
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.0.iter().map(|r| (r.end - r.start) as usize).sum()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Ascending ranges that are not empty.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// The positions one by one.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().cloned().flatten()
    }

    /// The positions of the rows whose bits are set in `kept`, which has the order of the rows.
    pub fn filter(&self, kept: &BooleanBuffer) -> RowPositions {
        let mut out = RowPositions::default();
        let (mut ranges, mut first) = (self.0.iter(), 0);
        let mut current = ranges.next();
        for (start, end) in kept.set_slices() {
            let mut at = start;
            while let (true, Some(range)) = (at < end, current) {
                let rows = (range.end - range.start) as usize;
                if at >= first + rows {
                    (first, current) = (first + rows, ranges.next());
                    continue;
                }
                let to = end.min(first + rows);
                out.push(range.start + (at - first) as u64..range.start + (to - first) as u64);
                at = to;
            }
        }
        out
    }

    fn push(&mut self, range: Range<u64>) {
        match self.0.last_mut() {
            _ if range.is_empty() => {}
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.0.push(range),
        }
    }
}

impl From<Range<u64>> for RowPositions {
    fn from(range: Range<u64>) -> Self {
        let mut out = RowPositions::default();
        out.push(range);
        out
    }
}

/// The positions of each row group.
///
/// # Errors
/// `CorruptTable` if their numbers of rows are impossible.
pub(crate) fn row_group_positions(file: &ParquetMetaData) -> Result<Vec<Range<u64>>> {
    let mut next = 0u64;
    let of_group = |group: &RowGroupMetaData| {
        let rows = u64::try_from(group.num_rows()).ok();
        let end = rows.and_then(|rows| next.checked_add(rows)).filter(|end| *end <= i64::MAX as u64);
        let end = end.ok_or_else(|| Error::corrupt("the row groups claim impossible numbers of rows"))?;
        Ok(std::mem::replace(&mut next, end)..end)
    };
    file.row_groups().iter().map(of_group).collect()
}

/// Positions of later rows, in the order in which they come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Upcoming(VecDeque<Range<u64>>);

impl Upcoming {
    /// The positions of the rows of these row groups. Only `selection` is decoded.
    ///
    /// # Errors
    /// The errors of [`row_group_positions`].
    pub(crate) fn new(file: &ParquetMetaData, groups: &[usize], selection: Option<&RowSelection>) -> Result<Upcoming> {
        let of_groups = row_group_positions(file)?;
        let mut upcoming = Upcoming(groups.iter().filter_map(|&g| of_groups.get(g).cloned()).collect());
        let Some(selection) = selection else { return Ok(upcoming) };
        let mut selected = Upcoming::default();
        for selector in selection.iter() {
            let rows = upcoming.take(selector.row_count)?;
            if !selector.skip {
                selected.push(&rows);
            }
        }
        Ok(selected)
    }

    /// The positions of the next `rows` rows.
    ///
    /// # Errors
    /// `CorruptTable` if there are fewer.
    pub(crate) fn take(&mut self, rows: usize) -> Result<RowPositions> {
        let mut out = RowPositions::default();
        let mut left = rows as u64;
        while left > 0 {
            let range = self.0.front_mut().ok_or_else(|| Error::corrupt("the file has more rows than recorded"))?;
            let taken = range.start..range.end.min(range.start.saturating_add(left));
            left -= taken.end - taken.start;
            range.start = taken.end;
            if range.is_empty() {
                self.0.pop_front();
            }
            out.push(taken);
        }
        Ok(out)
    }

    /// Adds more at the end.
    pub(crate) fn push(&mut self, rows: &RowPositions) {
        self.0.extend(rows.0.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(ranges: &[(u64, u64)]) -> RowPositions {
        RowPositions(ranges.iter().map(|(start, end)| *start..*end).collect())
    }

    #[test]
    fn rows_are_taken_and_filtered_by_place() {
        let mut upcoming = Upcoming::default();
        upcoming.push(&positions(&[(3, 6), (10, 11), (20, 30)]));
        assert_eq!(upcoming.take(2).unwrap(), positions(&[(3, 5)]));
        let batch = upcoming.take(5).unwrap();
        assert_eq!(batch, positions(&[(5, 6), (10, 11), (20, 23)]));
        assert_eq!((batch.len(), batch.iter().collect::<Vec<_>>()), (5, vec![5, 10, 20, 21, 22]));
        let kept = BooleanBuffer::from(vec![false, true, true, false, true]);
        assert_eq!(batch.filter(&kept), positions(&[(10, 11), (20, 21), (22, 23)]));
        assert!(batch.filter(&BooleanBuffer::new_unset(5)).is_empty());
        assert_eq!(batch.filter(&BooleanBuffer::new_set(5)), batch);
        assert_eq!(upcoming.take(7).unwrap(), positions(&[(23, 30)]));
        assert!(upcoming.take(0).unwrap().is_empty());
        assert!(upcoming.take(1).is_err());
    }
}
