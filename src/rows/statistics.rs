//! Statistics of a scan that metadata gives: counts and bounds.

use crate::types::{FieldId, PrimitiveType, Value};

/// A figure, exact or a bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fact<T> {
    /// The figure. What a bound is: counts and maxima are at most this, minima at least. `None` where nothing is known
    /// (not exact), or where there is no such value (exact).
    pub value: Option<T>,
    /// Whether it is the truth itself.
    pub exact: bool,
}

impl<T> Fact<T> {
    pub(crate) fn new(value: T, exact: bool) -> Fact<T> {
        Fact { value: Some(value), exact }
    }
}

/// What metadata says of one column of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// Its dotted path.
    pub name: String,
    /// Its id.
    pub field_id: FieldId,
    /// Its type.
    pub ty: PrimitiveType,
    /// Values, nulls and NaNs included.
    pub value_count: Fact<u64>,
    /// Nulls, those of structs around it included.
    pub null_count: Fact<u64>,
    /// NaNs; exactly 0 for types without.
    pub nan_count: Fact<u64>,
    /// The least value: NaN only if there is no other.
    pub min: Fact<Value>,
    /// The greatest value: NaN if there is one.
    pub max: Fact<Value>,
}

/// What metadata says of the rows of a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Rows.
    pub row_count: Fact<u64>,
    /// Data files that may have rows.
    pub files: u64,
    /// In the order asked for.
    pub columns: Vec<ColumnStatistics>,
}
