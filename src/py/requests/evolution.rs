//! Changes of a table's metadata.

use std::collections::BTreeMap;

use pyo3::prelude::*;

use super::columns::{PyNewSortField, PySchemaOperation, PySpecOperation};
use super::version::{PyAt, version};
use crate::error::{Error, Result};
use crate::format::evolution as format;
use crate::format::evolution::{RefChange, RefKind, RefUpdate};

/// A change of metadata; `frazil.requests.evolution` makes them.
#[pyclass(name = "Evolution", frozen, module = "frazil._core")]
pub(in crate::py) enum PyEvolution {
    /// Changes columns.
    UpdateSchema { operations: Vec<Py<PySchemaOperation>>, case_sensitive: bool, allow_incompatible: bool },
    /// Changes partition fields.
    UpdateSpec { operations: Vec<Py<PySpecOperation>>, case_sensitive: bool },
    /// Replaces the sort order.
    UpdateSortOrder { fields: Vec<Py<PyNewSortField>>, case_sensitive: bool },
    /// Sets table properties.
    SetProperties { properties: BTreeMap<String, String> },
    /// Removes table properties.
    RemoveProperties { names: Vec<String> },
    /// Records another location.
    SetLocation { location: String },
    /// Raises the format version.
    Upgrade { format_version: i64 },
    /// Creates a branch.
    CreateBranch { name: String, at: Option<PyAt>, retention: PyRetention },
    /// Creates a tag.
    CreateTag { name: String, at: Option<PyAt>, retention: PyRetention },
    /// Points a branch or tag at another snapshot.
    ReplaceRef { name: String, at: Option<PyAt> },
    /// Removes a branch or tag.
    DropRef { name: String },
    /// Renames a branch.
    RenameBranch { name: String, to: String },
    /// Moves a branch forward to the snapshot of another reference.
    FastForward { name: String, to: String },
    /// Adds the files of another branch to a branch.
    MergeBranch { name: String, source: String },
    /// Sets the retention of a branch or tag.
    SetRetention { name: String, retention: PyRetention },
    /// Moves a branch to any snapshot.
    SetSnapshot { branch: String, to: Option<PyAt> },
    /// Moves a branch back to an ancestor of its snapshot.
    RollBack { branch: String, to: Option<PyAt> },
}

/// The retention of a branch or tag.
#[pyclass(name = "Retention", frozen, get_all, from_py_object, module = "frazil._core")]
#[derive(Clone)]
pub(in crate::py) struct PyRetention {
    min_snapshots_to_keep: Option<i64>,
    max_snapshot_age_ms: Option<i64>,
    max_ref_age_ms: Option<i64>,
}

#[pymethods]
impl PyRetention {
    #[new]
    fn new(
        min_snapshots_to_keep: Option<i64>,
        max_snapshot_age_ms: Option<i64>,
        max_ref_age_ms: Option<i64>,
    ) -> PyRetention {
        PyRetention { min_snapshots_to_keep, max_snapshot_age_ms, max_ref_age_ms }
    }
}

impl PyRetention {
    fn read(&self) -> Result<format::Retention> {
        let count = |n| {
            i32::try_from(n).map_err(|_| Error::invalid(format!("min_snapshots_to_keep can't be {n}: it is too large")))
        };
        Ok(format::Retention {
            min_snapshots_to_keep: self.min_snapshots_to_keep.map(count).transpose()?,
            max_snapshot_age_ms: self.max_snapshot_age_ms,
            max_ref_age_ms: self.max_ref_age_ms,
        })
    }
}

impl PyEvolution {
    /// The change as a value of the crate.
    ///
    /// # Errors
    /// `InvalidInput` if a path or type in it can't be read, or a number is too large.
    pub(in crate::py) fn read(&self) -> Result<format::Evolution> {
        use format::Evolution as E;
        Ok(match self {
            PyEvolution::UpdateSchema { operations, case_sensitive, allow_incompatible } => {
                E::Schema(format::SchemaUpdate {
                    operations: operations.iter().map(|o| o.get().read()).collect::<Result<_>>()?,
                    case_sensitive: *case_sensitive,
                    allow_incompatible: *allow_incompatible,
                })
            }
            PyEvolution::UpdateSpec { operations, case_sensitive } => E::Spec(format::SpecUpdate {
                operations: operations.iter().map(|o| o.get().read()).collect(),
                case_sensitive: *case_sensitive,
            }),
            PyEvolution::UpdateSortOrder { fields, case_sensitive } => E::SortOrder(format::SortOrderUpdate {
                fields: fields.iter().map(|f| f.get().read()).collect(),
                case_sensitive: *case_sensitive,
            }),
            PyEvolution::SetProperties { properties } => E::SetProperties(properties.clone()),
            PyEvolution::RemoveProperties { names } => E::RemoveProperties(names.clone()),
            PyEvolution::SetLocation { location } => E::SetLocation(location.clone()),
            PyEvolution::Upgrade { format_version } => E::Upgrade(
                u8::try_from(*format_version)
                    .map_err(|_| Error::unsupported(format!("format version {format_version} is not supported")))?,
            ),
            of_ref => E::Ref(of_ref.read_ref_update()?),
        })
    }

    fn read_ref_update(&self) -> Result<RefUpdate> {
        let (name, change) = match self {
            PyEvolution::CreateBranch { name, at, retention } => {
                (name, RefChange::Create(RefKind::Branch, version(at.as_ref()), retention.read()?))
            }
            PyEvolution::CreateTag { name, at, retention } => {
                (name, RefChange::Create(RefKind::Tag, version(at.as_ref()), retention.read()?))
            }
            PyEvolution::ReplaceRef { name, at } => (name, RefChange::Replace(version(at.as_ref()))),
            PyEvolution::DropRef { name } => (name, RefChange::Drop),
            PyEvolution::RenameBranch { name, to } => (name, RefChange::Rename(to.clone())),
            PyEvolution::MergeBranch { name, source } => (name, RefChange::Merge(source.clone())),
            PyEvolution::FastForward { name, to } => (name, RefChange::FastForward(to.clone())),
            PyEvolution::SetRetention { name, retention } => (name, RefChange::Retain(retention.read()?)),
            PyEvolution::SetSnapshot { branch, to } => (branch, RefChange::SetSnapshot(version(to.as_ref()))),
            PyEvolution::RollBack { branch, to } => (branch, RefChange::RollBack(version(to.as_ref()))),
            _ => return Err(Error::internal("a change that concerns no branch or tag was read as one")),
        };
        Ok(RefUpdate { name: name.clone(), change })
    }
}
