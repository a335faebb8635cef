//! The rows of each value of a column, for bitmap indexes.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use roaring::RoaringBitmap;

use super::key::IndexKey;

/// A key that can be ordered among others.
#[derive(Clone, Debug)]
pub(super) struct Ordered(pub IndexKey);

impl PartialEq for Ordered {
    fn eq(&self, other: &Ordered) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> Ordering {
        self.0.order(&other.0)
    }
}

/// The rows of each value, and the rows of null.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueRows {
    pub values: BTreeMap<Ordered, RoaringBitmap>,
    pub nulls: RoaringBitmap,
    pub count: u32,
}
