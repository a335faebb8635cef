//! The columns of a file, with their field ids.

use std::collections::BTreeSet;
use std::ops::Range;

use arrow::datatypes::{DataType, FieldRef, Schema as ArrowSchema, TimeUnit};

use super::cast::Cast;
use crate::data::arrow::schema::FIELD_ID_KEY;
use crate::data::declared_types::declared_cast::DeclaredCast;
use crate::error::{Error, Result};
use crate::types::{FieldId, PrimitiveType, Schema};

/// A column of a file, with the columns below it.
#[derive(Debug)]
pub(crate) struct FileColumn {
    /// Its field id, if the file or the table's name mapping has one for it.
    pub(crate) id: Option<FieldId>,
    /// The type in which its values are read.
    pub field: FieldRef,
    /// The leaf columns below it.
    pub leaves: Range<usize>,
    /// The members of a struct, the element of a list, or the key and value of a map.
    pub children: Vec<FileColumn>,
    /// The cast to the column's current type, if that is not a promotion.
    pub declared_cast: Option<DeclaredCast>,
}

impl FileColumn {
    fn new(field: &FieldRef, next_leaf: &mut usize) -> FileColumn {
        let first = *next_leaf;
        let mut below = |fields: &[&FieldRef]| fields.iter().map(|f| FileColumn::new(f, next_leaf)).collect();
        let children: Vec<FileColumn> = match field.data_type() {
            DataType::Struct(fields) => below(&fields.iter().collect::<Vec<_>>()),
            DataType::List(element) => below(&[element]),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(fields) => below(&fields.iter().collect::<Vec<_>>()),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        if children.is_empty() {
            *next_leaf += 1;
        }
        let id = field.metadata().get(FIELD_ID_KEY).and_then(|id| id.parse().ok());
        FileColumn { id, field: field.clone(), leaves: first..*next_leaf, children, declared_cast: None }
    }

    fn has_ids(&self) -> bool {
        self.id.is_some() || self.children.iter().any(FileColumn::has_ids)
    }

    /// The conversion from a leaf column's values to a table's type; `None` if the types do not convert.
    ///
    /// # Errors
    /// The errors of [`Cast::plan`].
    pub(crate) fn cast_to(&self, ty: &PrimitiveType) -> Result<Option<Cast>> {
        match &self.declared_cast {
            None => Cast::plan(self.field.data_type(), ty),
            Some(declared) => {
                let first = Cast::plan(self.field.data_type(), declared.from())?;
                Ok(first.filter(|_| declared.to() == ty).map(|cast| cast.then(declared.clone())))
            }
        }
    }

    /// Adds leaves that show where the column is null. They are as few as can be decoded, and outside lists and maps if
    /// possible.
    pub(crate) fn add_witness(&self, leaves: &mut BTreeSet<usize>) {
        match (self.field.data_type(), self.children.as_slice()) {
            (_, []) => {
                leaves.insert(self.leaves.start);
            }
            // The decoder takes keys and values of a map together.
            (DataType::Map(..), pair) => pair.iter().for_each(|column| column.add_witness(leaves)),
            (_, [first, ..]) => {
                let plain = self.children.iter().find(|c| c.children.is_empty());
                plain.unwrap_or(first).add_witness(leaves);
            }
        }
    }

    /// Whether the column exists if only `leaves` are read.
    pub(crate) fn is_read(&self, leaves: &BTreeSet<usize>) -> bool {
        leaves.range(self.leaves.clone()).next().is_some()
    }
}

/// All columns of a file.
#[derive(Debug)]
pub(crate) struct FileColumns(pub(crate) Vec<FileColumn>);

impl FileColumns {
    /// Makes the columns from the Arrow schema of the whole file, as its format gives it.
    pub(crate) fn new(schema: &ArrowSchema) -> FileColumns {
        let mut next_leaf = 0;
        FileColumns(schema.fields().iter().map(|f| FileColumn::new(f, &mut next_leaf)).collect())
    }

    /// The columns in the file's order.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, FileColumn> {
        self.0.iter()
    }

    /// The leaf columns that a schema wants as timestamps in nanoseconds, and that are read in another unit.
    pub(crate) fn nano_leaves(&self, schema: &Schema) -> BTreeSet<usize> {
        fn add(columns: &[FileColumn], schema: &Schema, leaves: &mut BTreeSet<usize>) {
            for column in columns {
                let wanted = column.id.and_then(|id| schema.field(id)).and_then(|f| f.ty.as_primitive());
                let is_fine = matches!(column.field.data_type(), DataType::Timestamp(TimeUnit::Nanosecond, _));
                if !is_fine && matches!(wanted, Some(PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs)) {
                    leaves.insert(column.leaves.start);
                }
                add(&column.children, schema, leaves);
            }
        }
        let mut leaves = BTreeSet::new();
        add(&self.0, schema, &mut leaves);
        leaves
    }

    /// Whether any column carries a field id. Java decides in this way whether a file needs a name mapping.
    pub(crate) fn has_ids(&self) -> bool {
        self.0.iter().any(FileColumn::has_ids)
    }
}

/// The one column of `among` with this id.
pub(crate) fn find(among: &[FileColumn], id: FieldId) -> Result<Option<(usize, &FileColumn)>> {
    let mut hits = among.iter().enumerate().filter(|(_, c)| c.id == Some(id));
    match (hits.next(), hits.next()) {
        (Some(_), Some(_)) => Err(Error::corrupt(format!("two columns of the file have the field id {id}"))),
        (hit, _) => Ok(hit),
    }
}
