//! Bounds of the metadata columns `_spec_id` and `_partition`. They have one value in all rows of a file.
//!
//! These bounds exist only for data files: the deletes of a file may have another spec and partition than the file.

use super::partition_bounds::PartitionBounds;
use crate::expr::bounds::{Bounds, ColumnBounds, Presence};
use crate::format::task::Partition;
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::types::metadata_columns::{FILE, SPEC_ID};
use crate::types::{FieldId, PrimitiveType, Transform, ValueRef};

/// The bounds of a column with one value in all rows. `None` means null.
pub(crate) fn constant(value: Option<ValueRef<'_>>) -> ColumnBounds<'_> {
    match value {
        None => ColumnBounds { nulls: Presence::Everywhere, nans: Presence::Absent, ..ColumnBounds::default() },
        // Bounds don't cover NaN.
        Some(ValueRef::Float(f)) if f.is_nan() => ColumnBounds::default(),
        Some(ValueRef::Double(f)) if f.is_nan() => ColumnBounds::default(),
        Some(value) => ColumnBounds {
            lower: Some(value),
            upper: Some(value),
            upper_is_prefix: false,
            nulls: Presence::Absent,
            nans: Presence::Absent,
        },
    }
}

/// The rows of data files that have one partition tuple.
pub(crate) struct NamedBounds<'p> {
    columns: PartitionBounds<'p>,
    /// `None` for delete files.
    partition: Option<&'p Partition>,
    /// The ids of the fields of `_partition`.
    members: &'p [FieldId],
}

impl<'p> NamedBounds<'p> {
    pub(crate) fn new(
        columns: PartitionBounds<'p>,
        partition: &'p Partition,
        members: &'p [FieldId],
        content: ManifestContent,
    ) -> Self {
        NamedBounds { columns, partition: (content == ManifestContent::Data).then_some(partition), members }
    }
}

impl Bounds for NamedBounds<'_> {
    fn column<'a>(&'a self, field: FieldId, ty: &PrimitiveType) -> ColumnBounds<'a> {
        match self.partition {
            Some(partition) if field == SPEC_ID => constant(Some(ValueRef::Int(partition.spec_id))),
            Some(partition) if self.members.contains(&field) => {
                // The ids are negative, to distinguish them from columns with the same id.
                match partition.values.iter().find(|v| v.field_id == field.saturating_abs()) {
                    Some(v) if matches!(v.transform, Transform::Unknown(_)) => ColumnBounds::default(),
                    Some(v) => constant(v.value.as_ref().map(|v| v.as_ref())),
                    None => constant(None),
                }
            }
            _ => self.columns.column(field, ty),
        }
    }

    fn transformed<'a>(&'a self, field: FieldId, transform: &Transform) -> Option<ColumnBounds<'a>> {
        self.columns.transformed(field, transform)
    }

    fn buckets(&self, field: FieldId) -> Vec<(u32, i32, i32)> {
        self.columns.buckets(field)
    }
}

/// The rows of all data files of a manifest, described by its spec alone.
pub(crate) struct OfSpec(Option<i32>);

impl OfSpec {
    pub(crate) fn new(manifest: &ManifestFile) -> OfSpec {
        OfSpec((manifest.content == ManifestContent::Data).then_some(manifest.spec_id))
    }
}

impl Bounds for OfSpec {
    fn column<'a>(&'a self, field: FieldId, _ty: &PrimitiveType) -> ColumnBounds<'a> {
        match self.0 {
            Some(id) if field == SPEC_ID => constant(Some(ValueRef::Int(id))),
            _ => ColumnBounds::default(),
        }
    }
}

/// The rows of a data file, described by its path alone.
pub(crate) struct OfFile<'p>(pub &'p str);

impl Bounds for OfFile<'_> {
    fn column<'a>(&'a self, field: FieldId, _ty: &PrimitiveType) -> ColumnBounds<'a> {
        match field {
            FILE => constant(Some(ValueRef::String(self.0))),
            _ => ColumnBounds::default(),
        }
    }
}
