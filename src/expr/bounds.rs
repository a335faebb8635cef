//! The only pruning algorithm. Partition tuples, manifest summaries, column metrics of files, row groups and pages all
//! implement [`Bounds`]; [`evaluate`] decides from them what a filter can be on the rows they describe.

use crate::expr::predicate::{BoundLeaf, BoundPredicate};
use crate::types::{FieldId, PrimitiveType, Transform, ValueRef};

/// What is known of a filter on a set of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is true on no row (false or unknown on each).
    Never,
    /// Nothing is known.
    Maybe,
    /// It is true on every row.
    Always,
}

/// What is known of some kind of value (nulls, NaNs) in a set of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Presence {
    /// No row has it.
    Absent,
    /// Nothing is known, or some rows have it.
    #[default]
    Possible,
    /// Every row has it.
    Everywhere,
}

/// What is known of one column's (or term's) values in a set of rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnBounds<'a> {
    /// At most every value that is neither null nor NaN.
    pub lower: Option<ValueRef<'a>>,
    /// At least every value that is neither null nor NaN (but see `upper_is_prefix`).
    pub upper: Option<ValueRef<'a>>,
    /// The values may also be above `upper`, if they begin with it (a string or bytes cut by `truncate`).
    pub upper_is_prefix: bool,
    /// Nulls.
    pub nulls: Presence,
    /// NaNs (`Absent` for types without).
    pub nans: Presence,
}

/// What is known of a set of rows: a file, a manifest, a row group, a page.
pub trait Bounds {
    /// What is known of a column whose type is now `ty`. The default of [`ColumnBounds`] (`Possible` everywhere) if nothing.
    fn column<'a>(&'a self, field: FieldId, ty: &PrimitiveType) -> ColumnBounds<'a>;

    /// Nulls of a nested column (struct, list, map), for the null tests.
    fn nested_nulls(&self, _field: FieldId) -> Presence {
        Presence::Possible
    }

    /// What is known of a column under a transform, where that is stored as such (a partition field of the same source
    /// and transform). `None` if it is not; the algorithm then derives what it can from [`Bounds::column`].
    fn transformed<'a>(&'a self, _field: FieldId, _transform: &Transform) -> Option<ColumnBounds<'a>> {
        None
    }

    /// Bucket ranges known of a column: (number of buckets, lowest, highest), both ends included. Every non-null value of
    /// the column in these rows falls in that range of buckets.
    fn buckets(&self, _field: FieldId) -> Vec<(u32, i32, i32)> {
        Vec::new()
    }
}

/// What the filter can be on the rows that `bounds` describe.
pub fn evaluate(_filter: &BoundPredicate, _bounds: &dyn Bounds) -> Verdict {
    Verdict::Maybe
}

/// As [`evaluate`], for one leaf.
pub fn evaluate_leaf(_leaf: &BoundLeaf, _bounds: &dyn Bounds) -> Verdict {
    Verdict::Maybe
}

/// Whether some row may match: the inclusive question.
pub fn may_match(filter: &BoundPredicate, bounds: &dyn Bounds) -> bool {
    evaluate(filter, bounds) != Verdict::Never
}

/// Whether every row matches: the strict question.
pub fn must_match(filter: &BoundPredicate, bounds: &dyn Bounds) -> bool {
    evaluate(filter, bounds) == Verdict::Always
}
