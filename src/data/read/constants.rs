//! Values that are the same in every row of a file: those of identity partition fields, and of the metadata columns
//! that describe the file.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, StructArray};
use arrow::datatypes::DataType;

use super::cast::constant;
use crate::data::arrow::schema::arrow_field;
use crate::error::{Error, Result};
use crate::expr::bounds::Presence;
use crate::expr::{Bounds, ColumnBounds};
use crate::format::task::{DataFile, PartitionValue};
use crate::types::metadata_columns::{FILE, PARTITION, SPEC_ID};
use crate::types::transform::format_partition_value;
use crate::types::{Field, FieldId, PrimitiveType, Transform, Type, Value};

/// The values in a file's rows that are known without opening it.
#[derive(Clone, Debug)]
pub(crate) struct Constants {
    file: Arc<DataFile>,
    values: HashMap<FieldId, Option<Value>>,
}

impl Constants {
    /// The constants of a file. Void partition fields give no value for their column.
    pub(crate) fn of(file: &Arc<DataFile>) -> Constants {
        let identity = file.partition.values.iter().filter(|v| v.transform == Transform::Identity);
        let mut values: HashMap<_, _> = identity.map(|v| (v.source_id, v.value.clone())).collect();
        values.insert(FILE, Some(Value::String(file.path.clone())));
        values.insert(SPEC_ID, Some(Value::Int(file.partition.spec_id)));
        Constants { file: file.clone(), values }
    }

    /// The file.
    pub(crate) fn file(&self) -> &Arc<DataFile> {
        &self.file
    }

    /// The value in every row of a column that the file does not store, if it is known.
    pub(crate) fn get(&self, id: FieldId) -> Option<&Option<Value>> {
        self.values.get(&id)
    }

    /// The value of a member of `_partition`; fields that the file's spec lacks are null.
    fn member(&self, id: FieldId) -> Option<Value> {
        // The sign distinguishes partition fields from columns with the same id.
        let field = self.file.partition.values.iter().find(|v| v.field_id == id.saturating_abs())?;
        match &field.transform {
            Transform::Unknown(_) => text_of(field).map(Value::String),
            _ => field.value.clone(),
        }
    }

    /// The column `_partition` of this type as an array of one row; `None` if the table was never partitioned, as in
    /// Java.
    ///
    /// # Errors
    /// `CorruptTable` if a value is not of its field's type.
    pub(crate) fn partition_row(&self, column: &Field) -> Result<Option<ArrayRef>> {
        let Type::Struct(members) = &column.ty else { return Ok(None) };
        if members.is_empty() {
            return Ok(None);
        }
        let bad = || Error::internal("the partition column has another shape than its type");
        let values = members.iter().map(|m| {
            let ty = m.ty.as_primitive().ok_or_else(bad)?;
            constant(self.member(m.id).as_ref(), ty, 1).map_err(|e| e.with("partition_field", &m.name))
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        let arrow = arrow_field(column, &column.name)?;
        let DataType::Struct(fields) = arrow.data_type() else { return Err(bad()) };
        Ok(Some(Arc::new(StructArray::try_new(fields.clone(), values, None).map_err(|e| bad().because(e))?)))
    }

    /// The value in every row of a column in a filter, by its path of ids from the top.
    pub(crate) fn asked(&self, path: &[&Field]) -> Option<Option<Value>> {
        match path {
            [column, member] if column.id == PARTITION => Some(self.member(member.id)),
            [column] if matches!(column.id, FILE | SPEC_ID) => self.get(column.id).cloned(),
            _ => None,
        }
    }
}

/// The text for a value of a transform that this version does not know.
fn text_of(field: &PartitionValue) -> Option<String> {
    let value = field.value.as_ref()?;
    Some(format_partition_value(Some(value.as_ref()), &field.transform, &field.ty))
}

/// The file's path and spec id are known before it is opened. Columns may be stored with other values than the
/// partition has, so the table's columns stay unknown.
impl Bounds for Constants {
    fn column<'a>(&'a self, id: FieldId, _ty: &PrimitiveType) -> ColumnBounds<'a> {
        match self.get(id) {
            Some(Some(value)) if matches!(id, FILE | SPEC_ID) => ColumnBounds {
                lower: Some(value.as_ref()),
                upper: Some(value.as_ref()),
                upper_is_prefix: false,
                nulls: Presence::Absent,
                nans: Presence::Absent,
            },
            _ => ColumnBounds::default(),
        }
    }
}
