//! The rows that a commit brings, where the options of a table decide it.

/// The rows that the commits with one schema bring. Streams and overwrites depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRows {
    /// Whether rows have a primary key.
    pub has_key: bool,
    /// How changelogs are produced: `none`, `input`, `lookup` or `full-compaction`.
    pub changelog_producer: String,
    /// Whether a row is merged from several.
    pub merged: bool,
    /// Whether scans leave out rows that were not compacted yet.
    pub hidden_until_compacted: bool,
    /// Whether new rows have no buckets until they are compacted.
    pub buckets_postponed: bool,
    /// Whether the columns of a row are in several files.
    pub columns_apart: bool,
}

impl CommitRows {
    /// Whether compactions write the changelog.
    pub fn reported_by_compactions(&self) -> bool {
        matches!(self.changelog_producer.as_str(), "lookup" | "full-compaction")
    }
}
