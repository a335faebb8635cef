//! Reads the next row groups of a file in a remote store while the current one is decoded.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use parquet::file::metadata::ParquetMetaData;

use super::file::ParquetFile;
use crate::error::Result;
use crate::store::Fetching;

/// The largest number of bytes of one file that are fetched ahead.
const MOST_BYTES: u64 = 32 << 20;

/// The largest number of row groups that are fetched ahead. Small ones cost the time of a request rather than that of
/// their bytes.
const MOST_GROUPS: usize = 4;

/// The column chunks that the decoder requests first in each of its row groups, and the requests under way.
pub(crate) struct GroupsAhead {
    /// The column chunks of each row group.
    groups: Vec<Vec<Range<u64>>>,
    under_way: VecDeque<(usize, Box<dyn Fetching>)>,
}

impl GroupsAhead {
    /// Plans requests for these leaf columns of these row groups, which are read whole.
    pub(crate) fn new(footer: &ParquetMetaData, groups: &[usize], leaves: &BTreeSet<usize>) -> GroupsAhead {
        let chunks = |group: &usize| -> Vec<Range<u64>> {
            let columns = footer.row_groups().get(*group).map(|g| g.columns()).unwrap_or_default();
            let chunks = leaves.iter().filter_map(|leaf| columns.get(*leaf));
            let range = |(start, length): (u64, u64)| start..start.saturating_add(length);
            chunks.map(|chunk| range(chunk.byte_range())).collect()
        };
        GroupsAhead { groups: groups.iter().map(chunks).collect(), under_way: VecDeque::new() }
    }

    /// The next requests are unknown.
    pub(crate) fn none() -> GroupsAhead {
        GroupsAhead { groups: Vec::new(), under_way: VecDeque::new() }
    }

    /// Starts to fetch these chunks or pages of one row group, the only ones that are known. Nothing is under way where
    /// the store fetches nothing ahead.
    pub(crate) fn begin(file: &ParquetFile, ranges: Vec<Range<u64>>) -> GroupsAhead {
        match file.fetch_ahead(&ranges) {
            Some(fetching) => GroupsAhead { groups: vec![ranges], under_way: VecDeque::from([(0, fetching)]) },
            None => GroupsAhead::none(),
        }
    }

    /// Whether a request is under way.
    pub(crate) fn is_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// The pages that the decoder requests. When it requests a row group, this also starts to fetch the next ones.
    ///
    /// # Errors
    /// The errors of [`ParquetFile::pages`].
    pub(crate) fn pages(&mut self, file: &ParquetFile, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        let Some(group) = self.groups.iter().position(|chunks| chunks.as_slice() == ranges) else {
            return file.pages(ranges, None);
        };
        // Row groups before it will not be requested again.
        self.under_way.retain(|(ahead, _)| *ahead >= group);
        let fetched = match self.under_way.front() {
            Some((ahead, _)) if *ahead == group => self.under_way.pop_front().map(|(_, fetching)| fetching),
            _ => None,
        };
        let pages = file.pages(ranges, fetched)?;
        self.fetch(file, group + 1);
        Ok(pages)
    }

    /// Starts to fetch row groups from `first` on.
    fn fetch(&mut self, file: &ParquetFile, first: usize) {
        let bytes =
            |chunks: &[Range<u64>]| chunks.iter().map(|r| r.end.saturating_sub(r.start)).fold(0, u64::saturating_add);
        let mut total = 0u64;
        for (group, chunks) in self.groups.iter().enumerate().skip(first).take(MOST_GROUPS) {
            total = total.saturating_add(bytes(chunks));
            if total > MOST_BYTES {
                return;
            }
            if self.under_way.back().is_none_or(|(ahead, _)| *ahead < group) {
                let Some(fetching) = file.fetch_ahead(chunks) else { return };
                self.under_way.push_back((group, fetching));
            }
        }
    }
}
