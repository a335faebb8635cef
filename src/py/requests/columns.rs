//! Steps of the updates of schemas, partition specs and sort orders.

use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::format::evolution as format;
use crate::format::evolution::ColumnPath;
use crate::py::schema::PySchema;
use crate::types::Type;
use crate::types::type_text::parse_type;

/// A step of a schema's update.
#[pyclass(name = "SchemaOperation", frozen, module = "frazil._core")]
pub(in crate::py) enum PySchemaOperation {
    /// Adds a column.
    #[pyo3(constructor = (path, column_type, doc, required, default, write_default, position))]
    Add {
        path: Path,
        column_type: ColumnType,
        doc: Option<String>,
        required: bool,
        default: Option<Single>,
        write_default: Option<Single>,
        position: Option<PyPosition>,
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
    Move { path: Path, position: PyPosition },
    /// Sets the columns that identify a row.
    Identify { paths: Vec<Path> },
    /// Adds and widens columns so that rows of another schema fit.
    Union { schema: Py<PySchema> },
}

/// The position of a column in its struct.
#[pyclass(name = "Position", frozen, from_py_object, module = "frazil._core")]
#[derive(Clone)]
pub(in crate::py) enum PyPosition {
    /// At the front.
    First {},
    /// Before another column.
    Before { path: Path },
    /// After another column.
    After { path: Path },
}

/// A step of a partition spec's update.
#[pyclass(name = "SpecOperation", frozen, module = "frazil._core")]
pub(in crate::py) enum PySpecOperation {
    /// Adds a field.
    Add { source: String, transform: Option<String>, name: Option<String> },
    /// Removes a field, by its name or by its transform.
    Remove { field: String },
    /// Renames a field.
    Rename { name: String, to: String },
}

/// A field of a new sort order.
#[pyclass(name = "NewSortField", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyNewSortField {
    source: String,
    transform: Option<String>,
    descending: bool,
    nulls_first: Option<bool>,
}

#[pymethods]
impl PyNewSortField {
    #[new]
    fn new(source: String, transform: Option<String>, descending: bool, nulls_first: Option<bool>) -> PyNewSortField {
        PyNewSortField { source, transform, descending, nulls_first }
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
    Column(Py<PySchema>),
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

impl PyPosition {
    fn read(&self) -> Result<format::Position> {
        Ok(match self {
            PyPosition::First {} => format::Position::First,
            PyPosition::Before { path } => format::Position::Before(path.read()?),
            PyPosition::After { path } => format::Position::After(path.read()?),
        })
    }
}

impl PySchemaOperation {
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
            PySchemaOperation::Add { path, column_type, doc, required, default, write_default, position } => {
                O::Add(Box::new(format::NewColumn {
                    path: path.read()?,
                    ty: column_type.read()?,
                    doc: doc.clone(),
                    required: *required,
                    default: value(default),
                    write_default: value(write_default),
                    position: position.as_ref().map(PyPosition::read).transpose()?,
                }))
            }
            PySchemaOperation::Drop { path } => O::Drop { path: path.read()? },
            PySchemaOperation::Rename { path, name } => O::Rename { path: path.read()?, name: name.clone() },
            PySchemaOperation::Retype { path, column_type } => O::Type { path: path.read()?, ty: column_type.read()? },
            PySchemaOperation::Require { path, required } => O::Required { path: path.read()?, required: *required },
            PySchemaOperation::Comment { path, doc } => O::Doc { path: path.read()?, doc: doc.clone() },
            PySchemaOperation::SetDefault { path, default } => {
                O::Default { path: path.read()?, default: value(default) }
            }
            PySchemaOperation::Move { path, position } => O::Move { path: path.read()?, position: position.read()? },
            PySchemaOperation::Identify { paths } => {
                O::Identifiers { paths: paths.iter().map(Path::read).collect::<Result<_>>()? }
            }
            PySchemaOperation::Union { schema } => O::Union { schema: (*schema.get().inner).clone() },
        })
    }
}

impl PySpecOperation {
    pub(super) fn read(&self) -> format::SpecOperation {
        match self {
            PySpecOperation::Add { source, transform, name } => format::SpecOperation::Add {
                source: format::FieldSource { term: source.clone(), transform: transform.clone() },
                name: name.clone(),
            },
            PySpecOperation::Remove { field } => format::SpecOperation::Remove { field: field.clone() },
            PySpecOperation::Rename { name, to } => {
                format::SpecOperation::Rename { name: name.clone(), to: to.clone() }
            }
        }
    }
}

impl PyNewSortField {
    pub(super) fn read(&self) -> format::NewSortField {
        format::NewSortField {
            source: format::FieldSource { term: self.source.clone(), transform: self.transform.clone() },
            descending: self.descending,
            nulls_first: self.nulls_first,
        }
    }
}
