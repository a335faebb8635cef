//! Repairs of a table: what is asked for, and what was done.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// A kind of repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RepairKind {
    /// Takes data and delete files that are lost out of the table.
    LostFiles,
    /// Writes damaged or wrong manifests again, with their counts and summaries.
    Manifests,
    /// Mends the totals in the summary of the current snapshot.
    Summaries,
    /// Removes delete files that delete nothing.
    DanglingDeletes,
    /// Removes references, logs and statistics that lead nowhere.
    Refs,
}

/// All kinds, in the order in which they are done.
pub const REPAIRS: [(RepairKind, &str); 5] = [
    (RepairKind::Refs, "refs"),
    (RepairKind::Manifests, "manifests"),
    (RepairKind::LostFiles, "lost-files"),
    (RepairKind::DanglingDeletes, "dangling-deletes"),
    (RepairKind::Summaries, "summaries"),
];

impl RepairKind {
    /// Reads the name of a kind.
    ///
    /// # Errors
    /// `InvalidInput` for another name.
    pub fn parse(name: &str) -> Result<RepairKind> {
        let found = REPAIRS.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind);
        let names = REPAIRS.map(|(_, name)| name).join(", ");
        found.ok_or_else(|| Error::invalid(format!("there is no repair '{name}'")).hint(format!("There is: {names}")))
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        REPAIRS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// The options of a repair.
#[derive(Clone, Debug)]
pub struct RepairOptions {
    /// The kinds of repair, done in the order of [`REPAIRS`].
    pub kinds: Vec<RepairKind>,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Members of the summaries of the new snapshots.
    pub snapshot_properties: BTreeMap<String, String>,
}

/// One step of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairStep {
    /// Its kind.
    pub kind: RepairKind,
    /// The file, manifest, snapshot or reference.
    pub object: String,
    /// What is done with it.
    pub action: String,
    /// The rows that are lost with it.
    pub rows_lost: u64,
}
