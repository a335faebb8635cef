//! Versions of a table.

use pyo3::prelude::*;

use crate::format::evolution::Version;
use crate::format::request;

/// A version of a table.
#[pyclass(name = "At", frozen, eq, from_py_object, module = "frazil._core")]
#[derive(Clone, PartialEq)]
pub(in crate::py) enum PyAt {
    /// A snapshot.
    Snapshot { snapshot_id: i64 },
    /// A branch or tag.
    Ref { name: String },
    /// The snapshot that was current then; milliseconds since the epoch.
    Time { ms: i64 },
}

impl From<PyAt> for request::At {
    fn from(at: PyAt) -> Self {
        match at {
            PyAt::Snapshot { snapshot_id } => request::At::Snapshot(snapshot_id),
            PyAt::Ref { name } => request::At::Ref(name),
            PyAt::Time { ms } => request::At::TimestampMs(ms),
        }
    }
}

/// The version that a change of a reference names; by default the current one.
pub(super) fn version(at: Option<&PyAt>) -> Version {
    match at {
        None => Version::Current,
        Some(PyAt::Snapshot { snapshot_id }) => Version::Snapshot(*snapshot_id),
        Some(PyAt::Ref { name }) => Version::Ref(name.clone()),
        Some(PyAt::Time { ms }) => Version::TimestampMs(*ms),
    }
}
