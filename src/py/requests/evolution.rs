//! Changes of a table's metadata.

use std::collections::BTreeMap;

use pyo3::prelude::*;

use super::columns::{NewSortField, SchemaOperation, SpecOperation};
use super::version::{At, version};
use crate::error::{Error, Result};
use crate::format::evolution as format;
use crate::format::evolution::{RefChange, RefKind, RefUpdate};

/// A change of metadata; `frazil.requests.evolution` makes them.
#[pyclass(frozen, module = "frazil._core")]
pub(in crate::py) enum Evolution {
    /// Changes columns.
    UpdateSchema { operations: Vec<Py<SchemaOperation>>, case_sensitive: bool, allow_incompatible: bool },
    /// Changes partition fields.
    UpdateSpec { operations: Vec<Py<SpecOperation>>, case_sensitive: bool },
    /// Replaces the sort order.
    UpdateSortOrder { fields: Vec<Py<NewSortField>>, case_sensitive: bool },
    /// Sets table properties.
    SetProperties { properties: BTreeMap<String, String> },
    /// Removes table properties.
    RemoveProperties { names: Vec<String> },
    /// Records another location.
    SetLocation { location: String },
    /// Raises the format version.
    Upgrade { format_version: i64 },
    /// Creates a branch.
    CreateBranch { name: String, at: Option<At>, retention: Retention },
    /// Creates a tag.
    CreateTag { name: String, at: Option<At>, retention: Retention },
    /// Points a branch or tag at another snapshot.
    ReplaceRef { name: String, at: Option<At> },
    /// Removes a branch or tag.
    DropRef { name: String },
    /// Renames a branch.
    RenameBranch { name: String, to: String },
    /// Moves a branch forward to the snapshot of another reference.
    FastForward { name: String, to: String },
    /// Sets the retention of a branch or tag.
    SetRetention { name: String, retention: Retention },
    /// Moves a branch to any snapshot.
    SetSnapshot { branch: String, to: Option<At> },
    /// Moves a branch back to an ancestor of its snapshot.
    RollBack { branch: String, to: Option<At> },
}

/// The retention of a branch or tag.
#[pyclass(frozen, get_all, from_py_object, module = "frazil._core")]
#[derive(Clone)]
pub(in crate::py) struct Retention {
    min_snapshots_to_keep: Option<i64>,
    max_snapshot_age_ms: Option<i64>,
    max_ref_age_ms: Option<i64>,
}

#[pymethods]
impl Retention {
    #[new]
    fn new(
        min_snapshots_to_keep: Option<i64>,
        max_snapshot_age_ms: Option<i64>,
        max_ref_age_ms: Option<i64>,
    ) -> Retention {
        Retention { min_snapshots_to_keep, max_snapshot_age_ms, max_ref_age_ms }
    }
}

impl Retention {
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

impl Evolution {
    /// The change as a value of the crate.
    ///
    /// # Errors
    /// `InvalidInput` if a path or type in it can't be read, or a number is too large.
    pub(in crate::py) fn read(&self) -> Result<format::Evolution> {
        use format::Evolution as E;
        Ok(match self {
            Evolution::UpdateSchema { operations, case_sensitive, allow_incompatible } => {
                E::Schema(format::SchemaUpdate {
                    operations: operations.iter().map(|o| o.get().read()).collect::<Result<_>>()?,
                    case_sensitive: *case_sensitive,
                    allow_incompatible: *allow_incompatible,
                })
            }
            Evolution::UpdateSpec { operations, case_sensitive } => E::Spec(format::SpecUpdate {
                operations: operations.iter().map(|o| o.get().read()).collect(),
                case_sensitive: *case_sensitive,
            }),
            Evolution::UpdateSortOrder { fields, case_sensitive } => E::SortOrder(format::SortOrderUpdate {
                fields: fields.iter().map(|f| f.get().read()).collect(),
                case_sensitive: *case_sensitive,
            }),
            Evolution::SetProperties { properties } => E::SetProperties(properties.clone()),
            Evolution::RemoveProperties { names } => E::RemoveProperties(names.clone()),
            Evolution::SetLocation { location } => E::SetLocation(location.clone()),
            Evolution::Upgrade { format_version } => E::Upgrade(
                u8::try_from(*format_version)
                    .map_err(|_| Error::unsupported(format!("format version {format_version} is not supported")))?,
            ),
            of_ref => E::Ref(of_ref.read_ref_update()?),
        })
    }

    fn read_ref_update(&self) -> Result<RefUpdate> {
        let (name, change) = match self {
            Evolution::CreateBranch { name, at, retention } => {
                (name, RefChange::Create(RefKind::Branch, version(at.as_ref()), retention.read()?))
            }
            Evolution::CreateTag { name, at, retention } => {
                (name, RefChange::Create(RefKind::Tag, version(at.as_ref()), retention.read()?))
            }
            Evolution::ReplaceRef { name, at } => (name, RefChange::Replace(version(at.as_ref()))),
            Evolution::DropRef { name } => (name, RefChange::Drop),
            Evolution::RenameBranch { name, to } => (name, RefChange::Rename(to.clone())),
            Evolution::FastForward { name, to } => (name, RefChange::FastForward(to.clone())),
            Evolution::SetRetention { name, retention } => (name, RefChange::Retain(retention.read()?)),
            Evolution::SetSnapshot { branch, to } => (branch, RefChange::SetSnapshot(version(to.as_ref()))),
            Evolution::RollBack { branch, to } => (branch, RefChange::RollBack(version(to.as_ref()))),
            _ => return Err(Error::internal("a change that concerns no branch or tag was read as one")),
        };
        Ok(RefUpdate { name: name.clone(), change })
    }
}
