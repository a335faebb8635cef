//! Statistics of a scan from metadata: counts and bounds.

use crate::types::{FieldId, PrimitiveType, Value};

/// A value that is exact, or a bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fact<T> {
    /// The value. As a bound, it is an upper bound of counts and maxima, and a lower bound of minima. An inexact `None`
    /// means unknown; an exact `None` means that no such value exists.
    pub value: Option<T>,
    /// Whether the value is exact.
    pub exact: bool,
}

impl<T> Fact<T> {
    pub(crate) fn new(value: T, exact: bool) -> Fact<T> {
        Fact { value: Some(value), exact }
    }
}

/// Statistics of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// Its dotted path.
    pub name: String,
    /// Its id.
    pub field_id: FieldId,
    /// Its type.
    pub ty: PrimitiveType,
    /// The number of values, including nulls and NaNs.
    pub value_count: Fact<u64>,
    /// The number of nulls, including those of structs around it.
    pub null_count: Fact<u64>,
    /// The number of NaNs; exactly 0 for types without NaN.
    pub nan_count: Fact<u64>,
    /// The least value: NaN only if there is no other.
    pub min: Fact<Value>,
    /// The greatest value: NaN if there is one.
    pub max: Fact<Value>,
}

/// Statistics of the rows of a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Rows.
    pub row_count: Fact<u64>,
    /// Data files that may have rows.
    pub files: u64,
    /// Statistics of columns, in the requested order.
    pub columns: Vec<ColumnStatistics>,
}
