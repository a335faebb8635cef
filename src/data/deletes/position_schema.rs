//! The columns of position delete files.

use crate::types::metadata_columns::{DELETE_FILE_PATH, DELETE_FILE_POS};
use crate::types::{Field, PrimitiveType, Schema};

/// The columns of position delete files.
pub(crate) fn position_schema() -> Schema {
    let path = Field::new(DELETE_FILE_PATH, "file_path", true, PrimitiveType::String);
    Schema::new(0, vec![path, Field::new(DELETE_FILE_POS, "pos", true, PrimitiveType::Long)], vec![])
}
