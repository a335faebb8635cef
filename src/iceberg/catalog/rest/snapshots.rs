//! Which snapshots a load of a table asks for.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// The property of a catalog, by Java's name.
const LOADING_MODE: &str = "snapshot-loading-mode";

/// The snapshots that a load asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Snapshots {
    /// All that the table has.
    All,
    /// Those of branches and tags.
    OfRefs,
}

impl Snapshots {
    /// Those that a catalog's properties choose for opening a table.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown value.
    pub(super) fn of_properties(properties: &BTreeMap<String, String>) -> Result<Snapshots> {
        match properties.get(LOADING_MODE).map(|mode| mode.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "all") => Ok(Snapshots::All),
            Some("refs") => Ok(Snapshots::OfRefs),
            Some(other) => Err(Error::invalid(format!("the property {LOADING_MODE} can't be '{other}'"))
                .hint("Set it to ALL or REFS, or leave it out")),
        }
    }

    /// The parameter of a request.
    pub(super) fn query(self) -> (&'static str, &'static str) {
        ("snapshots", if self == Snapshots::All { "all" } else { "refs" })
    }
}
