//! Reads the next row group of a file while the present one is decoded, where the store is remote.

use std::collections::BTreeSet;
use std::ops::Range;

use parquet::file::metadata::ParquetMetaData;

use super::parquet_file::ParquetFile;
use crate::error::Result;
use crate::store::Fetching;

/// Bytes that are fetched ahead at most, of one file.
const MOST_BYTES: u64 = 32 << 20;

/// What the decoder is going to ask for first in each of its row groups, and what of that is on its way.
pub(crate) struct GroupsAhead {
    /// The column chunks of each row group.
    groups: Vec<Vec<Range<u64>>>,
    under_way: Option<(usize, Box<dyn Fetching>)>,
}

impl GroupsAhead {
    /// For these leaf columns of these row groups, which are read whole.
    pub(crate) fn new(footer: &ParquetMetaData, groups: &[usize], leaves: &BTreeSet<usize>) -> GroupsAhead {
        let chunks = |group: &usize| -> Vec<Range<u64>> {
            let columns = footer.row_groups().get(*group).map(|g| g.columns()).unwrap_or_default();
            let chunks = leaves.iter().filter_map(|leaf| columns.get(*leaf));
            let range = |(start, length): (u64, u64)| start..start.saturating_add(length);
            chunks.map(|chunk| range(chunk.byte_range())).collect()
        };
        GroupsAhead { groups: groups.iter().map(chunks).collect(), under_way: None }
    }

    /// Nothing is known of what will be asked for.
    pub(crate) fn none() -> GroupsAhead {
        GroupsAhead { groups: Vec::new(), under_way: None }
    }

    /// The pages that the decoder asks for. Where it asks for a row group, the one after it is set on its way.
    ///
    /// # Errors
    /// As [`ParquetFile::pages`].
    pub(crate) fn pages(&mut self, file: &ParquetFile, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        let group = self.groups.iter().position(|chunks| chunks.as_slice() == ranges);
        let fetched = match (group, &self.under_way) {
            (Some(group), Some((ahead, _))) if group == *ahead => self.under_way.take().map(|(_, fetching)| fetching),
            _ => None,
        };
        let pages = file.pages(ranges, fetched)?;
        if let Some(next) = group.map(|group| group + 1)
            && let Some(chunks) = self.groups.get(next)
            && chunks.iter().map(|r| r.end.saturating_sub(r.start)).fold(0, u64::saturating_add) <= MOST_BYTES
        {
            self.under_way = file.fetch_ahead(chunks).map(|fetching| (next, fetching));
        }
        Ok(pages)
    }
}
