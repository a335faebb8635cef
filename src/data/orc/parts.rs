//! The finished parts of a stripe's columns when the stripe ends.

use crate::codec::orc::StreamKind;
use crate::codec::orc::encode::{Compressor, EncodingOut, OrcColumnStatistics, RowIndexEntry, StreamOut, row_index};

/// Rows of a group of the row index.
pub(crate) const GROUP_ROWS: u64 = 10_000;

/// The finished parts of columns, in the order of their numbers.
pub(super) struct ColumnParts {
    pub(super) compressor: Compressor,
    pub(super) indexes: Vec<StreamOut>,
    pub(super) data: Vec<StreamOut>,
    pub(super) encodings: Vec<EncodingOut>,
    pub(super) statistics: Vec<OrcColumnStatistics>,
}

impl ColumnParts {
    pub(super) fn new(compressor: &Compressor) -> ColumnParts {
        let compressor = compressor.clone();
        ColumnParts { compressor, indexes: vec![], data: vec![], encodings: vec![], statistics: vec![] }
    }

    /// Adds the statistics of a column's groups, and the positions where they begin.
    pub(super) fn column(
        &mut self,
        number: usize,
        encoding: EncodingOut,
        groups: Vec<OrcColumnStatistics>,
        positions: Vec<Vec<u64>>,
    ) {
        let Some(first) = groups.first() else { return };
        let mut all = OrcColumnStatistics::new(first.kind.clone());
        let entry = |(positions, statistics)| {
            all.merge(&statistics);
            RowIndexEntry { positions, statistics }
        };
        let entries: Vec<RowIndexEntry> = positions.into_iter().zip(groups).map(entry).collect();
        let bytes = self.compressor.message(&row_index(&entries));
        self.indexes.push(StreamOut { kind: None, column: number, bytes });
        self.encodings.push(encoding);
        self.statistics.push(all);
    }

    /// Adds the filters of a column's groups, after its row index.
    pub(super) fn filter(&mut self, number: usize, filters: &[u8]) {
        let bytes = self.compressor.message(filters);
        self.indexes.push(StreamOut { kind: Some(StreamKind::BloomFilter), column: number, bytes });
    }
}
