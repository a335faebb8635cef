//! How indexes are made.

/// How indexes are made.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexOptions {
    /// Bloom filters: the expected number of values.
    pub items: u32,
    /// Bloom filters: the rate of false positives with that number of values, between 0 and 1.
    pub false_positives: f64,
    /// Bitmaps: 1 or 2.
    pub version: u8,
    /// Bitmaps of version 2: bytes of a block of values.
    pub block_bytes: usize,
    /// Range bitmaps: bytes of a chunk of the dictionary; `None` for the default of the type.
    pub chunk_bytes: Option<usize>,
}

impl Default for IndexOptions {
    fn default() -> IndexOptions {
        let block_bytes = 16 << 10;
        IndexOptions { items: 1_000_000, false_positives: 0.1, version: 2, block_bytes, chunk_bytes: None }
    }
}
