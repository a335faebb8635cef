//! Steps of the updates of schemas, partition specs and sort orders.

use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::format::evolution as format;
use crate::format::evolution::ColumnPath;
use crate::py::schema::Schema;
use crate::types::Type;
use crate::types::type_text::parse_type;

/// A step of a schema's update.
#[pyclass(frozen, module = "frazil._core")]
pub(in crate::py) enum SchemaOperation {
    /// Adds a column.
    #[pyo3(constructor = (path, column_type, doc, required, default, write_default, position))]
    Add {
        path: Path,
        column_type: ColumnType,
        doc: Option<String>,
        required: bool,
        default: Option<Single>,
        write_default: Option<Single>,
        position: Option<Position>,
    },
    /// Removes a column.
    Drop { path: Path },
    /// Renames a column.
    Rename { path: Path, name: String },
    /// Widens a column's type.
    Retype { path: Path, column_type: ColumnType },
    /// Makes a column required or optional.
    Require { path: Path, required: bool },
    /// Sets or removes a comment.
    Comment { path: Path, doc: Option<String> },
    /// Sets or removes the default of new rows.
    SetDefault { path: Path, default: Option<Single> },
    /// Moves a column within its struct.
    Move { path: Path, position: Position },
    /// Sets the columns that identify a row.
    Identify { paths: Vec<Path> },
    /// Adds and widens columns so that rows of another schema fit.
    Union { schema: Py<Schema> },
}

/// The position of a column in its struct.
#[pyclass(frozen, from_py_object, module = "frazil._core")]
#[derive(Clone)]
pub(in crate::py) enum Position {
    /// At the front.
    First {},
    /// Before another column.
    Before { path: Path },
    /// After another column.
    After { path: Path },
}

/// A step of a partition spec's update.
#[pyclass(frozen, module = "frazil._core")]
pub(in crate::py) enum SpecOperation {
    /// Adds a field.
    Add { source: String, transform: Option<String>, name: Option<String> },
    /// Removes a field, by its name or by its transform.
    Remove { field: String },
    /// Renames a field.
    Rename { name: String, to: String },
}

/// A field of a new sort order.
#[pyclass(frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct NewSortField {
    source: String,
    transform: Option<String>,
    descending: bool,
    nulls_first: Option<bool>,
}

#[pymethods]
impl NewSortField {
    #[new]
    fn new(source: String, transform: Option<String>, descending: bool, nulls_first: Option<bool>) -> NewSortField {
        NewSortField { source, transform, descending, nulls_first }
    }
}

/// A column: its dotted name, or the names on the path to it.
#[derive(Clone, FromPyObject, IntoPyObject)]
pub(in crate::py) enum Path {
    /// Dots lead into structs.
    Dotted(String),
    /// Names may have dots.
    Names(Vec<String>),
}

/// A type: a text, or the type of the only column of a schema.
#[derive(FromPyObject, IntoPyObject, IntoPyObjectRef)]
pub(in crate::py) enum ColumnType {
    /// Such as `list<string>`.
    Text(String),
    /// A schema with one column.
    Column(Py<Schema>),
}

/// A single value as the specification writes it in JSON.
#[derive(Clone, FromPyObject, IntoPyObject)]
pub(in crate::py) enum Single {
    /// A boolean.
    Boolean(bool),
    /// An integer.
    Long(i64),
    /// Another number.
    Double(f64),
    /// Anything else.
    Text(String),
}

impl Path {
    fn read(&self) -> Result<ColumnPath> {
        match self {
            Path::Dotted(text) => format::column_path(text),
            Path::Names(names) => format::checked_path(names.clone()),
        }
    }
}

impl ColumnType {
    fn read(&self) -> Result<Type> {
        match self {
            ColumnType::Text(text) => parse_type(text),
            ColumnType::Column(schema) => match &schema.get().inner.fields[..] {
                [field] => Ok(field.ty.clone()),
                _ => Err(Error::invalid("a type is given by a schema with one column")),
            },
        }
    }
}

impl Position {
    fn read(&self) -> Result<format::Position> {
        Ok(match self {
            Position::First {} => format::Position::First,
            Position::Before { path } => format::Position::Before(path.read()?),
            Position::After { path } => format::Position::After(path.read()?),
        })
    }
}

impl SchemaOperation {
    pub(super) fn read(&self) -> Result<format::SchemaOperation> {
        use format::SchemaOperation as O;
        let value = |single: &Option<Single>| {
            single.clone().map(|single| match single {
                Single::Boolean(b) => b.into(),
                Single::Long(n) => n.into(),
                Single::Double(x) => x.into(),
                Single::Text(text) => text.into(),
            })
        };
        Ok(match self {
            SchemaOperation::Add { path, column_type, doc, required, default, write_default, position } => {
                O::Add(Box::new(format::NewColumn {
                    path: path.read()?,
                    ty: column_type.read()?,
                    doc: doc.clone(),
                    required: *required,
                    default: value(default),
                    write_default: value(write_default),
                    position: position.as_ref().map(Position::read).transpose()?,
                }))
            }
            SchemaOperation::Drop { path } => O::Drop { path: path.read()? },
            SchemaOperation::Rename { path, name } => O::Rename { path: path.read()?, name: name.clone() },
            SchemaOperation::Retype { path, column_type } => O::Type { path: path.read()?, ty: column_type.read()? },
            SchemaOperation::Require { path, required } => O::Required { path: path.read()?, required: *required },
            SchemaOperation::Comment { path, doc } => O::Doc { path: path.read()?, doc: doc.clone() },
            SchemaOperation::SetDefault { path, default } => O::Default { path: path.read()?, default: value(default) },
            SchemaOperation::Move { path, position } => O::Move { path: path.read()?, position: position.read()? },
            SchemaOperation::Identify { paths } => {
                O::Identifiers { paths: paths.iter().map(Path::read).collect::<Result<_>>()? }
            }
            SchemaOperation::Union { schema } => O::Union { schema: (*schema.get().inner).clone() },
        })
    }
}

impl SpecOperation {
    pub(super) fn read(&self) -> format::SpecOperation {
        match self {
            SpecOperation::Add { source, transform, name } => format::SpecOperation::Add {
                source: format::Source { term: source.clone(), transform: transform.clone() },
                name: name.clone(),
            },
            SpecOperation::Remove { field } => format::SpecOperation::Remove { field: field.clone() },
            SpecOperation::Rename { name, to } => format::SpecOperation::Rename { name: name.clone(), to: to.clone() },
        }
    }
}

impl NewSortField {
    pub(super) fn read(&self) -> format::NewSortField {
        format::NewSortField {
            source: format::Source { term: self.source.clone(), transform: self.transform.clone() },
            descending: self.descending,
            nulls_first: self.nulls_first,
        }
    }
}
