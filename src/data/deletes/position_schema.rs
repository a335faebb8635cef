//! The columns of position delete files.

use crate::types::{Field, FieldId, PrimitiveType, Schema};

/// Field ids of position delete files (specification, "Reserved Field IDs").
pub(crate) const PATH_ID: FieldId = 2_147_483_546;

pub(crate) const POS_ID: FieldId = 2_147_483_545;

/// The columns of position delete files.
pub(crate) fn position_schema() -> Schema {
    let path = Field::new(PATH_ID, "file_path", true, PrimitiveType::String);
    Schema::new(0, vec![path, Field::new(POS_ID, "pos", true, PrimitiveType::Long)], vec![])
}
