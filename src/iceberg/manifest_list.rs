//! The manifest list of a snapshot.

/// What a manifest list says of one partition field over all files of a manifest (specification, "Manifest Lists",
/// `field_summary`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSummary {
    /// Whether some file's partition value is null.
    pub contains_null: bool,
    /// Whether some file's partition value is NaN; `None` if not recorded.
    pub contains_nan: Option<bool>,
    /// Binary lower bound of the values that are neither null nor NaN.
    pub lower: Option<Vec<u8>>,
    /// Binary upper bound of the values that are neither null nor NaN.
    pub upper: Option<Vec<u8>>,
}
