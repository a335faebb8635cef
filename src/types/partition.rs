//! Partition specs and sort orders: they decide how rows are distributed to files.
//!
//! Source: Iceberg specification, "Partitioning" and "Sorting". The JSON forms are in the folders of the table formats.

use std::fmt;

use super::schema::{FieldId, PrimitiveType, Schema};
use super::transform::Transform;

/// One field of a partition spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionField {
    /// The id of the source column.
    pub source_id: FieldId,
    /// Its own id, 1000 and above.
    pub field_id: FieldId,
    /// Its name.
    pub name: String,
    /// The transform from the column's value to the partition value.
    pub transform: Transform,
}

impl PartitionField {
    /// The type of the partition value under `schema`. For a dropped source column: the transform's own type, or
    /// `Unknown` if it depends on the source.
    pub fn result_type(&self, schema: &Schema) -> PrimitiveType {
        let source = schema.field(self.source_id).and_then(|f| f.ty.as_primitive());
        self.transform.result_type(source.unwrap_or(&PrimitiveType::Unknown))
    }
}

/// A partition spec. Without fields, the table is unpartitioned.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PartitionSpec {
    /// `spec-id`.
    pub id: i32,
    /// In order.
    pub fields: Vec<PartitionField>,
}

impl PartitionSpec {
    /// Whether no field partitions the table. Void fields don't.
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

/// A sort order. Id 0 without fields means unsorted.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SortOrder {
    /// `order-id`.
    pub id: i32,
    /// Most significant first.
    pub fields: Vec<SortField>,
}

impl SortOrder {
    /// Columns that the order keeps sorted. Their bounds prune well.
    pub fn ordered_columns(&self) -> Vec<FieldId> {
        self.fields.iter().filter(|f| f.transform.preserves_order()).map(|f| f.source_id).collect()
    }
}
