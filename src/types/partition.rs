//! Partition specs and sort orders: how rows are put into files.
//!
//! Source: Iceberg specification, "Partitioning" and "Sorting". The JSON forms are in the folders of the table formats.

use std::fmt;

use super::schema::{FieldId, PrimitiveType, Schema};
use super::transform::Transform;

/// One field of a partition spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionField {
    /// The column it comes from.
    pub source_id: FieldId,
    /// Its own id, 1000 and above.
    pub field_id: FieldId,
    /// Its name.
    pub name: String,
    /// How the column's value becomes the partition value.
    pub transform: Transform,
}

impl PartitionField {
    /// The type of the partition value under `schema`. A dropped source column leaves the transform's own type, or
    /// `Unknown` where that depends on the source.
    pub fn result_type(&self, schema: &Schema) -> PrimitiveType {
        let source = schema.field(self.source_id).and_then(|f| f.ty.as_primitive());
        self.transform.result_type(source.unwrap_or(&PrimitiveType::Unknown))
    }
}

/// A partition spec. No fields: unpartitioned.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PartitionSpec {
    /// `spec-id`.
    pub id: i32,
    /// In order.
    pub fields: Vec<PartitionField>,
}

impl PartitionSpec {
    /// Whether no field partitions (void fields do not).
    pub fn is_unpartitioned(&self) -> bool {
        self.fields.iter().all(|f| f.transform == Transform::Void)
    }
}

impl fmt::Display for PartitionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, p) in self.fields.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{}: {}({})", p.name, p.transform, p.source_id)?;
        }
        f.write_str("]")
    }
}

/// One field of a sort order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortField {
    /// The column.
    pub source_id: FieldId,
    /// Applied before sorting.
    pub transform: Transform,
    /// Greatest first.
    pub descending: bool,
    /// Nulls before values.
    pub nulls_first: bool,
}

/// A sort order. Id 0 without fields: unsorted.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SortOrder {
    /// `order-id`.
    pub id: i32,
    /// Most significant first.
    pub fields: Vec<SortField>,
}

impl SortOrder {
    /// Columns that it keeps in order: their bounds prune well.
    pub fn ordered_columns(&self) -> Vec<FieldId> {
        self.fields.iter().filter(|f| f.transform.preserves_order()).map(|f| f.source_id).collect()
    }
}
