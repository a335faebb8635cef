//! Row ids that an existing Parquet file stores. They belong to rows of another table, or to rows that this table had
//! before.
//!
//! Readers take the id of a row from the file if it has one. So such a file would add rows with the ids of others.
//! Tables without ids get them when they are upgraded. Java Iceberg does not check this.
//!
//! Source: Iceberg specification, "Row Lineage" and "Reserved Field IDs".

use parquet::file::metadata::ParquetMetaData;

use crate::data::read::file_columns::{FileColumn, FileColumns};
use crate::error::Error;
use crate::types::Field;
use crate::types::metadata_columns::{LINEAGE_COLUMNS, metadata_column};

/// The information of a footer about a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoredLineage {
    /// All are null.
    Nothing,
    /// Not all are.
    Values,
    /// The footer does not show it.
    Unknown,
}

/// The lineage columns of a file, by their ids, or by their names if it has no ids.
pub(crate) fn lineage_of<'a>(
    columns: &'a FileColumns,
    has_ids: bool,
    footer: &'a ParquetMetaData,
) -> impl Iterator<Item = (Field, StoredLineage)> + 'a {
    LINEAGE_COLUMNS.into_iter().filter_map(metadata_column).flat_map(move |field| {
        let found = columns.iter().filter({
            let field = field.clone();
            move |c| c.id.map_or_else(|| !has_ids && *c.field.name() == field.name, |id| id == field.id)
        });
        found.map(move |c| (field.clone(), stored(c, footer)))
    })
}

fn stored(column: &FileColumn, footer: &ParquetMetaData) -> StoredLineage {
    let mut all = StoredLineage::Nothing;
    for group in footer.row_groups().iter().filter(|g| g.num_rows() > 0) {
        for leaf in column.leaves.clone() {
            let chunk = group.columns().get(leaf);
            match chunk.and_then(|c| Some((c.statistics()?.null_count_opt()?, c.num_values()))) {
                Some((nulls, values)) if i64::try_from(nulls).is_ok_and(|n| n < values) => {
                    return StoredLineage::Values;
                }
                Some(_) => {}
                None => all = StoredLineage::Unknown,
            }
        }
    }
    all
}

/// The error for a file with such a column.
pub(crate) fn has_lineage(field: &Field) -> Error {
    Error::invalid("the file stores row ids of another table, or of rows that this table had before")
        .with("column", &field.name)
        .hint(
            "Its rows would get ids of other rows. append() them, or write the file without the columns _row_id and \
             _last_updated_sequence_number",
        )
}
