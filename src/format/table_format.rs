//! The name of a table format, and its differences from other formats.

use crate::error::{Error, Result};

/// A table format.
#[derive(Debug)]
pub struct TableFormat {
    /// Its name in arguments and JSON, such as `parquet_folder`.
    pub id: &'static str,
    /// Its name in messages, such as `Apache Parquet folders`.
    pub name: &'static str,
    /// The behaviour of its tables.
    pub behaviour: Behaviour,
    /// Verbs that it lacks, each with a hint at an alternative.
    pub instead: &'static [(&'static str, &'static str)],
}

/// The behaviour of tables, where formats differ in more than verbs.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// Compaction follows its arguments (sizes, orders). Otherwise it follows the table's options.
    pub compaction_by_arguments: bool,
    /// Writers in other processes can write for a branch.
    pub branch_writes_by_executors: bool,
    /// Any number of tasks can write any rows: no writer needs to see the rows of the others.
    pub independent_writers: bool,
    /// Rows can be distributed by partition and sort order before they are written.
    pub distribution_modes: bool,
    /// Decoded manifests can be kept in a folder.
    pub plan_cache: bool,
    /// A snapshot names its parent, so each branch has a history.
    pub snapshot_parents: bool,
    /// A stream reads the data files that each commit appended.
    pub streams_of_appends: bool,
    /// Statistics of a snapshot have its number of rows, without any column.
    pub row_count_statistics: bool,
    /// Columns can have exact types such as `VARCHAR(20)`.
    pub declared_types: bool,
}

impl Behaviour {
    /// A behaviour without any of these.
    pub const NONE: Behaviour = Behaviour {
        compaction_by_arguments: false,
        branch_writes_by_executors: false,
        independent_writers: false,
        distribution_modes: false,
        plan_cache: false,
        snapshot_parents: false,
        streams_of_appends: false,
        row_count_statistics: false,
        declared_types: false,
    };
}

impl TableFormat {
    /// Error for something that tables of this format can't do yet.
    pub fn lacks(&self, what: &str) -> Error {
        Error::unsupported(format!("{what}: not with tables of {} yet", self.name))
    }

    /// The same for a verb that is missing altogether, with a hint at an alternative.
    pub fn refused(&self, verb: &str) -> Error {
        let instead = self.instead.iter().find(|(name, _)| *name == verb).map(|(_, instead)| *instead);
        self.lacks(verb).hint(instead.unwrap_or("docs/not-yet.md lists what tables of each format support"))
    }

    /// The implementation that was found for a verb, or the error of [`TableFormat::refused`].
    ///
    /// # Errors
    /// `Unsupported` if `found` is `None`.
    pub fn required<T>(&self, verb: &str, found: Option<T>) -> Result<T> {
        found.ok_or_else(|| self.refused(verb))
    }
}
