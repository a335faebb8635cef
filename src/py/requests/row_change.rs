//! Changes of rows. Filters, values and columns are texts of the filter language; they are parsed when the change is
//! made.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::conversions::{Pairs, PickledVariant, pickle_variant, variant};
use crate::error::{Error, Result};
use crate::expr::{self, Predicate};
use crate::format::row_change;

/// A change of rows; `frazil.requests.rows` makes them.
#[pyclass(name = "RowChange", frozen, eq, module = "frazil._core")]
#[derive(Clone, PartialEq)]
pub(in crate::py) enum PyRowChange {
    /// Deletes the rows that a filter selects.
    Delete { filter: String },
    /// Replaces the rows that a filter selects.
    Overwrite { filter: String },
    /// Replaces the partitions that have new rows.
    OverwritePartitions {},
    /// Gives columns of the rows that a filter selects new values.
    Update { filter: String, values: Pairs<PyAssigned> },
    /// Updates, deletes and inserts rows by how they match others.
    Merge {
        on: Option<Vec<String>>,
        update: Option<PyColumns>,
        delete: Option<String>,
        insert: Option<PyColumns>,
        delete_missing: Option<String>,
    },
    /// Writes equality deletes of keys.
    DeleteKeys { on: Option<Vec<String>> },
    /// Writes rows, and equality deletes of their keys.
    ReplaceKeys { on: Option<Vec<String>> },
    /// Deletes rows by data file and position.
    DeletePositions {},
}

/// The new value of a column.
#[pyclass(name = "Assigned", frozen, eq, from_py_object, module = "frazil._core")]
#[derive(Clone, PartialEq)]
pub(in crate::py) enum PyAssigned {
    /// Null.
    Null {},
    /// A literal, quoted as in filters.
    Literal { text: String },
    /// The value of another column, quoted as in filters.
    Column { name: String },
}

/// Which column of the data is written to which column of the table.
#[derive(Clone, PartialEq, FromPyObject, IntoPyObject)]
pub(in crate::py) enum PyColumns {
    /// Into columns of the same name; `false` means no columns.
    ByName(bool),
    /// From columns of the table to columns of the data.
    Of(Pairs<String>),
}

#[pymethods]
impl PyRowChange {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<PickledVariant<'py>> {
        pickle_variant::<Self>(slf)
    }

    /// Builds a change from its kind and members, as a pickle holds them.
    #[classmethod]
    fn unpickle<'py>(
        cls: &Bound<'py, pyo3::types::PyType>,
        kind: &str,
        members: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        variant(cls, kind, members)
    }
}

#[pymethods]
impl PyAssigned {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<PickledVariant<'py>> {
        pickle_variant::<Self>(slf)
    }

    /// Builds a value from its kind and members, as a pickle holds them.
    #[classmethod]
    fn unpickle<'py>(
        cls: &Bound<'py, pyo3::types::PyType>,
        kind: &str,
        members: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        variant(cls, kind, members)
    }
}

impl PyRowChange {
    /// The change as a value of the crate.
    ///
    /// # Errors
    /// `InvalidInput` if a filter, value or column can't be read.
    pub(in crate::py) fn read(&self) -> Result<row_change::RowChange> {
        use row_change::RowChange as R;
        let key = |on: &Option<Vec<String>>| on.clone().unwrap_or_default();
        Ok(match self {
            PyRowChange::Delete { filter } => R::Delete(expr::parse(filter)?),
            PyRowChange::Overwrite { filter } => R::Overwrite(expr::parse(filter)?),
            PyRowChange::OverwritePartitions {} => R::OverwritePartitions,
            PyRowChange::Update { filter, values } => {
                let one = |(name, new): &(String, PyAssigned)| {
                    Ok((name.clone(), new.read().map_err(|e: Error| e.with("column", name))?))
                };
                R::Update(expr::parse(filter)?, values.0.iter().map(one).collect::<Result<_>>()?)
            }
            PyRowChange::Merge { on, update, delete, insert, delete_missing } => R::Merge(row_change::Merge {
                on: key(on),
                update: columns(update.as_ref()),
                delete: condition(delete.as_deref())?,
                insert: columns(insert.as_ref()),
                delete_missing: condition(delete_missing.as_deref())?,
            }),
            PyRowChange::DeleteKeys { on } => R::DeleteKeys(key(on)),
            PyRowChange::ReplaceKeys { on } => R::ReplaceKeys(key(on)),
            PyRowChange::DeletePositions {} => R::DeletePositions,
        })
    }

    /// The part of this change that concerns some data files.
    ///
    /// # Errors
    /// As [`RowChange::read`].
    pub(in crate::py) fn read_file_part(&self, files: Vec<String>) -> Result<row_change::Part> {
        Ok(row_change::Part::Files { change: self.read()?, files })
    }

    /// The part of this merge that concerns rows which were matched. The filter selects every row that they match.
    ///
    /// # Errors
    /// `InvalidInput` if this is not a merge; as [`RowChange::read`].
    pub(in crate::py) fn read_matched_part(&self, filter: &str, command: &str) -> Result<row_change::Part> {
        let command = row_change::Command::parse(command)?;
        match self.read()? {
            row_change::RowChange::Merge(merge) => {
                Ok(row_change::Part::Matches { merge, filter: expr::parse(filter)?, command })
            }
            _ => Err(Error::invalid("only a merge accepts matched rows")),
        }
    }
}

impl PyAssigned {
    fn read(&self) -> Result<row_change::Assigned> {
        match self {
            PyAssigned::Null {} => Ok(row_change::Assigned::Value(None)),
            PyAssigned::Literal { text } => row_change::Assigned::literal(text),
            PyAssigned::Column { name } => row_change::Assigned::column(name),
        }
    }
}

fn columns(columns: Option<&PyColumns>) -> Option<row_change::Columns> {
    match columns {
        None | Some(PyColumns::ByName(false)) => None,
        Some(PyColumns::ByName(true)) => Some(row_change::Columns::ByName),
        Some(PyColumns::Of(pairs)) => Some(row_change::Columns::Of(pairs.0.clone())),
    }
}

fn condition(filter: Option<&str>) -> Result<Option<Predicate>> {
    filter.map(expr::parse).transpose()
}
