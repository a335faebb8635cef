//! Versions of a table.

use pyo3::prelude::*;

use crate::format::evolution::Version;
use crate::format::request;

/// A version of a table.
#[pyclass(frozen, eq, from_py_object, module = "frazil._core")]
#[derive(Clone, PartialEq)]
pub(in crate::py) enum At {
    /// A snapshot.
    Snapshot { snapshot_id: i64 },
    /// A branch or tag.
    Ref { name: String },
    /// The snapshot that was current then; milliseconds since the epoch.
    Time { ms: i64 },
}

impl From<At> for request::At {
    fn from(at: At) -> Self {
        match at {
            At::Snapshot { snapshot_id } => request::At::Snapshot(snapshot_id),
            At::Ref { name } => request::At::Ref(name),
            At::Time { ms } => request::At::TimestampMs(ms),
        }
    }
}

/// The version that a change of a reference names; by default the current one.
pub(super) fn version(at: Option<&At>) -> Version {
    match at {
        None => Version::Current,
        Some(At::Snapshot { snapshot_id }) => Version::Snapshot(*snapshot_id),
        Some(At::Ref { name }) => Version::Ref(name.clone()),
        Some(At::Time { ms }) => Version::TimestampMs(*ms),
    }
}
