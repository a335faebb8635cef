//! What a new snapshot does, as it was planned. No attempt to commit it changes this.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::format::evolution::RefKind;
use crate::format::task::{DataFile, FileContent, FileFormat};
use crate::iceberg::commit::preconditions::{Preconditions, RUN_AGAIN};
use crate::iceberg::commit::removal::FileId;
use crate::iceberg::spec::metadata::{MAIN_BRANCH, TableMetadata};
use crate::iceberg::spec::snapshot::Snapshot;

/// What a snapshot does to the table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Adds data files.
    Append,
    /// Adds data files, and removes rows: by removing files or adding delete files.
    Overwrite,
    /// Removes rows only.
    Delete,
    /// Replaces files by others with the same rows.
    Replace,
}

impl Operation {
    /// As a summary says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Append => "append",
            Operation::Overwrite => "overwrite",
            Operation::Delete => "delete",
            Operation::Replace => "replace",
        }
    }
}

/// Where the new snapshot goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// To the head of a branch. One that is not there yet begins at the table's current snapshot.
    Branch(String),
    /// Into the table, on no branch: to be audited and published later.
    Staged,
}

/// What a new snapshot adds and removes, where it goes, and what must not have changed before it.
#[derive(Debug)]
pub(super) struct SnapshotInput {
    pub operation: Operation,
    pub target: Target,
    pub added_data: Vec<DataFile>,
    pub added_deletes: Vec<DataFile>,
    pub data_sequence_number: Option<i64>,
    pub removed_data: Vec<DataFile>,
    pub assumptions: Preconditions,
    /// The format version that the change was planned at.
    pub planned_version: Option<u8>,
    pub summary: BTreeMap<String, String>,
    pub files_id: Option<String>,
    pub owns_files: bool,
    /// Added files that it does not own, although it owns the others.
    pub lent: HashSet<String>,
    /// Whether it makes no snapshot: it found nothing to do, and relies on that.
    pub only_checks: bool,
    /// Snapshots of the same transaction.
    pub own: HashSet<i64>,
}

impl SnapshotInput {
    /// A change of branch `main` that does nothing yet.
    pub fn new(operation: Operation) -> SnapshotInput {
        SnapshotInput {
            operation,
            target: Target::Branch(MAIN_BRANCH.to_owned()),
            added_data: Vec::new(),
            added_deletes: Vec::new(),
            data_sequence_number: None,
            removed_data: Vec::new(),
            assumptions: Preconditions::default(),
            planned_version: None,
            summary: BTreeMap::new(),
            files_id: None,
            owns_files: false,
            lent: HashSet::new(),
            only_checks: false,
            own: HashSet::new(),
        }
    }

    /// What is wrong with the files for a table of this version.
    pub fn check_files(&self, base: &TableMetadata) -> Result<()> {
        let mut ids = HashSet::new();
        let mut vectors_for = HashSet::new();
        for file in self.added_data.iter().chain(&self.added_deletes) {
            let bad = |what: String| Err(Error::invalid(what).with("path", &file.path));
            if !ids.insert(FileId::of(file)) {
                let e = Error::invalid("a file is added twice").with("path", &file.path);
                return Err(e.hint("Commit each message once"));
            }
            let vector = is_vector(file);
            match (file.content, base.format_version) {
                (FileContent::Data, _) => {}
                (_, 1) => return bad("a v1 table can't have delete files".into()),
                (FileContent::PositionDeletes, 2) if vector => {
                    return bad("a v2 table can't have deletion vectors".into());
                }
                (FileContent::PositionDeletes, v) if v > 2 && !vector => {
                    return bad(format!("a v{v} table takes deletion vectors, no new position delete files"));
                }
                _ => {}
            }
            if vector && !file.referenced_data_file.as_deref().is_some_and(|of| vectors_for.insert(of)) {
                return bad("a deletion vector names no data file, or one that another names too".into());
            }
            if file.content == FileContent::EqualityDeletes && file.equality_ids.as_ref().is_none_or(Vec::is_empty) {
                return bad("an equality delete file needs key columns".into());
            }
        }
        Ok(())
    }

    /// Rows have ids, and deletes are vectors, from version 3 on.
    pub fn check_version(&self, base: &TableMetadata) -> Result<()> {
        let upgraded = self.planned_version.is_some_and(|v| v < 3) && base.format_version >= 3;
        let rewrites = !self.added_data.is_empty() && !self.removed_data.is_empty();
        let positions = || self.added_deletes.iter().any(|f| f.content == FileContent::PositionDeletes);
        match upgraded && (rewrites || positions()) {
            false => Ok(()),
            true => Err(Error::conflict("the table was upgraded since this change was planned")
                .with("format-version", base.format_version)
                .with("clause", "rows that are written anew keep their ids, and deletes are of the table's format")
                .hint(RUN_AGAIN)),
        }
    }

    /// The snapshot that the new one follows.
    pub fn parent(&self, base: &TableMetadata) -> Result<Option<Arc<Snapshot>>> {
        let Target::Branch(name) = &self.target else { return Ok(base.current_snapshot().cloned()) };
        match base.refs.get(name) {
            Some(r) if r.kind == RefKind::Tag => {
                Err(Error::invalid(format!("'{name}' is a tag, and tags do not move")).hint("Name a branch"))
            }
            Some(r) => Ok(base.snapshot_by_id(r.snapshot_id).cloned()),
            None => Ok(base.current_snapshot().cloned()),
        }
    }

    /// Whether the files of a rewrite are of other partition specs than those that they replace.
    pub fn moves_rows(&self) -> bool {
        let specs = |files: &[DataFile]| files.iter().map(|f| f.partition.spec_id).collect::<BTreeSet<i32>>();
        let added = specs(&self.added_data);
        self.data_sequence_number.is_some() && !added.is_empty() && added != specs(&self.removed_data)
    }
}

pub(super) fn is_vector(file: &DataFile) -> bool {
    file.content == FileContent::PositionDeletes && file.format == FileFormat::Puffin
}
