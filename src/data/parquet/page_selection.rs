//! Selects the pages of flat column chunks to fetch: all, or those with rows that a filter may keep, by the file's page
//! index.

use std::ops::Range;

use parquet::file::metadata::ParquetMetaData;

use super::checks::footer::start;
use super::column_chunk::Pages;
use super::plan::DecodePlan;
use super::row_groups::page_rows;

/// The rows of a row group that are decoded: ascending ranges, apart from each other.
pub(crate) type Selected = Vec<Range<usize>>;

/// The selected rows of each of the plan's row groups.
pub(crate) fn selected_rows(plan: &DecodePlan) -> Vec<Selected> {
    let groups = plan.row_groups().map(|group| usize::try_from(group.num_rows()).unwrap_or(0));
    let Some(selection) = &plan.selection else {
        return groups.map(|rows| std::iter::once(0..rows).collect()).collect();
    };
    let mut selectors = selection.iter().map(|selector| (selector.row_count, selector.skip));
    let mut current = None;
    let mut of_group = |rows: usize| {
        let (mut at, mut selected) = (0, Selected::new());
        while at < rows {
            let Some((left, skip)) = current.take().or_else(|| selectors.next()) else { break };
            let end = rows.min(left + at);
            match selected.last_mut() {
                _ if skip || end == at => {}
                Some(last) if last.end == at => last.end = end,
                _ => selected.push(at..end),
            }
            current = Some((left - (end - at), skip)).filter(|(left, _)| *left > 0);
            at = end;
        }
        selected
    };
    groups.map(&mut of_group).collect()
}

/// The bytes to fetch from a column chunk.
pub(crate) struct Fetch {
    /// Ascending ranges of the file.
    pub bytes: Vec<Range<u64>>,
    /// The rows of the pages in them; `None` for all.
    rows: Option<Vec<Range<usize>>>,
}

impl Fetch {
    /// Plans the fetch for these rows of a row group. `None` if the recorded locations of pages are impossible.
    pub(crate) fn of(file: &ParquetMetaData, group: usize, leaf: usize, selected: &[Range<usize>]) -> Option<Fetch> {
        let row_group = file.row_groups().get(group)?;
        let chunk = row_group.columns().get(leaf)?;
        let rows = usize::try_from(row_group.num_rows()).ok()?;
        let first = u64::try_from(start(chunk)).ok()?;
        if matches!(selected, [all] if *all == (0..rows)) {
            let end = first.checked_add(u64::try_from(chunk.compressed_size()).ok()?)?;
            return Some(Fetch { bytes: std::iter::once(first..end).collect(), rows: None });
        }
        let pages = file.offset_index()?.get(group)?.get(leaf)?.page_locations();
        // The bytes before the first page are the dictionary.
        let values = u64::try_from(pages.first()?.offset).ok()?;
        let (mut bytes, mut present) = (Vec::new(), Vec::new());
        extend(&mut bytes, first..values);
        for (page, within) in pages.iter().zip(page_rows(pages, rows)?) {
            let next = selected.get(selected.partition_point(|range| range.end <= within.start));
            if next.is_some_and(|range| range.start < within.end) {
                let offset = u64::try_from(page.offset).ok()?;
                extend(&mut bytes, offset..offset.checked_add(u64::try_from(page.compressed_page_size).ok()?)?);
                present.push(within);
            }
        }
        Some(Fetch { bytes, rows: Some(present) })
    }

    /// The pages. Each of its ranges is the next one in `fetched`.
    pub(crate) fn take(self, fetched: &mut impl Iterator<Item = Vec<u8>>) -> Pages {
        let mut parts: Vec<_> = fetched.take(self.bytes.len()).collect();
        let chunk = match parts.as_mut_slice() {
            [one] => std::mem::take(one),
            _ => parts.concat(),
        };
        Pages { bytes: chunk, rows: self.rows }
    }
}

/// Adds a range after the others, or joins it to the last one if they touch.
fn extend(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
    match ranges.last_mut() {
        _ if range.is_empty() => {}
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}
