//! The kinds of metadata tables and their names.

use crate::error::{Error, Result};
use crate::iceberg::manifest::list::ManifestContent;

/// A metadata table. With `all` it covers every remaining snapshot, otherwise one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataTable {
    /// The snapshots that the table still has.
    Snapshots,
    /// The log of current snapshots.
    History,
    /// Branches and tags.
    Refs,
    /// The metadata files, the current one last.
    MetadataLogEntries,
    /// Manifests as manifest lists describe them.
    Manifests {
        /// Whether it covers all snapshots, with the snapshot that lists each manifest.
        all: bool,
    },
    /// Manifest entries, including those of deleted files.
    Entries {
        /// Whether it shows the entries of all snapshots, each manifest once.
        all: bool,
    },
    /// Live files.
    Files {
        /// Whether it shows the files of all snapshots, each manifest once.
        all: bool,
        /// The kind of manifests to read; `None` for both.
        content: Option<ManifestContent>,
    },
    /// One row for each partition with live files.
    Partitions,
    /// One row for each position that position delete files and deletion vectors delete.
    PositionDeletes,
}

pub(crate) const DATA: Option<ManifestContent> = Some(ManifestContent::Data);

pub(crate) const DELETES: Option<ManifestContent> = Some(ManifestContent::Deletes);

/// Metadata tables by the names that Java Iceberg gives them, and one short form.
pub(crate) const NAMES: &[(&str, MetadataTable)] = &[
    ("snapshots", MetadataTable::Snapshots),
    ("history", MetadataTable::History),
    ("refs", MetadataTable::Refs),
    ("metadata_log_entries", MetadataTable::MetadataLogEntries),
    ("metadata_log", MetadataTable::MetadataLogEntries),
    ("manifests", MetadataTable::Manifests { all: false }),
    ("all_manifests", MetadataTable::Manifests { all: true }),
    ("entries", MetadataTable::Entries { all: false }),
    ("all_entries", MetadataTable::Entries { all: true }),
    ("files", MetadataTable::Files { all: false, content: None }),
    ("data_files", MetadataTable::Files { all: false, content: DATA }),
    ("delete_files", MetadataTable::Files { all: false, content: DELETES }),
    ("all_files", MetadataTable::Files { all: true, content: None }),
    ("all_data_files", MetadataTable::Files { all: true, content: DATA }),
    ("all_delete_files", MetadataTable::Files { all: true, content: DELETES }),
    ("partitions", MetadataTable::Partitions),
    ("position_deletes", MetadataTable::PositionDeletes),
];

impl MetadataTable {
    /// The metadata table of this name.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown name.
    pub fn parse(name: &str) -> Result<MetadataTable> {
        let found = NAMES.iter().find(|(n, _)| *n == name).map(|(_, kind)| *kind);
        found.ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            Error::invalid(format!("there is no metadata table '{name}'"))
                .hint(format!("There is: {}", names.join(", ")))
        })
    }

    /// Whether it shows one version of the table.
    pub(crate) fn is_of_one_version(self) -> bool {
        matches!(
            self,
            MetadataTable::Manifests { all: false }
                | MetadataTable::Entries { all: false }
                | MetadataTable::Files { all: false, .. }
                | MetadataTable::Partitions
                | MetadataTable::PositionDeletes
        )
    }
}
