//! The number and length of manifests. Plans, estimates and limits use them.

/// Manifests and their length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManifestCount {
    /// The number of manifests.
    pub manifests: u64,
    /// Bytes of the manifests, as they are stored.
    pub bytes: u64,
}

impl ManifestCount {
    /// Adds a manifest with the length that its list records. A negative length counts as 0.
    pub fn add(&mut self, length_bytes: i64) {
        self.extend(ManifestCount { manifests: 1, bytes: length_bytes.max(0).unsigned_abs() });
    }

    /// Adds the counts of another.
    pub fn extend(&mut self, more: ManifestCount) {
        self.manifests = self.manifests.saturating_add(more.manifests);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

impl FromIterator<i64> for ManifestCount {
    /// For manifests of these lengths.
    fn from_iter<I: IntoIterator<Item = i64>>(lengths_bytes: I) -> ManifestCount {
        let mut count = ManifestCount::default();
        lengths_bytes.into_iter().for_each(|bytes| count.add(bytes));
        count
    }
}
