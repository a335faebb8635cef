//! The planned content of a new snapshot. No attempt to commit it changes it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::format::evolution::RefKind;
use crate::format::task::{DataFile, FileContent, FileFormat};
use crate::iceberg::commit::preconditions::{Preconditions, RUN_AGAIN};
use crate::iceberg::commit::removal::FileId;
use crate::iceberg::spec::metadata::{MAIN_BRANCH, TableMetadata};
use crate::iceberg::spec::snapshot::Snapshot;

/// The effect of a snapshot on the table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Adds data files.
    Append,
    /// Adds data files and removes rows, by removing files or adding delete files.
    Overwrite,
    /// Removes rows only.
    Delete,
    /// Replaces files by others with the same rows.
    Replace,
}

impl Operation {
    /// The operation's name in the summary.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Append => "append",
            Operation::Overwrite => "overwrite",
            Operation::Delete => "delete",
            Operation::Replace => "replace",
        }
    }
}

/// The place of the new snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The head of a branch. A new branch starts at the table's current snapshot.
    Branch(String),
    /// In the table but on no branch, to be audited and published later.
    Staged,
}

/// The files that a new snapshot adds and removes, its place, and its preconditions.
#[derive(Debug)]
pub(super) struct SnapshotInput {
    pub operation: Operation,
    pub target: Target,
    pub added_data: Vec<DataFile>,
    pub added_deletes: Vec<DataFile>,
    pub data_sequence_number: Option<i64>,
    pub removed_data: Vec<DataFile>,
    pub preconditions: Preconditions,
    /// The format version that the change was planned at.
    pub planned_version: Option<u8>,
    pub summary: BTreeMap<String, String>,
    pub files_id: Option<String>,
    pub owns_files: bool,
    /// Added files that the change does not own, although it owns the others.
    pub borrowed: HashSet<String>,
    /// Whether it makes no snapshot, because it found nothing to do and only checks that this is still true.
    pub only_checks: bool,
    /// Snapshots of the same transaction.
    pub own: HashSet<i64>,
    /// Files that were written for the change and are not added after all.
    pub abandoned: Vec<String>,
}

impl SnapshotInput {
    /// Creates an empty change of branch `main`.
    pub(super) fn new(operation: Operation) -> SnapshotInput {
        SnapshotInput {
            operation,
            target: Target::Branch(MAIN_BRANCH.to_owned()),
            added_data: Vec::new(),
            added_deletes: Vec::new(),
            data_sequence_number: None,
            removed_data: Vec::new(),
            preconditions: Preconditions::default(),
            planned_version: None,
            summary: BTreeMap::new(),
            files_id: None,
            owns_files: false,
            borrowed: HashSet::new(),
            only_checks: false,
            own: HashSet::new(),
            abandoned: Vec::new(),
        }
    }

    /// The files that the snapshot adds.
    pub(super) fn added(&self) -> impl Iterator<Item = &DataFile> {
        self.added_data.iter().chain(&self.added_deletes)
    }

    /// Makes this change and a later one the same snapshot. `cancelled` are files that this change adds and the later
    /// one removes.
    pub(super) fn join(&mut self, mut later: SnapshotInput, cancelled: &HashSet<FileId>) {
        self.preconditions = std::mem::take(&mut self.preconditions).joined(std::mem::take(&mut later.preconditions));
        if self.operation != later.operation {
            self.operation = Operation::Overwrite;
        }
        let goes = |file: &DataFile| cancelled.contains(&FileId::of(file));
        let gone: Vec<String> = self.added().filter(|f| goes(f)).map(|f| f.path.clone()).collect();
        self.added_data.retain(|f| !goes(f));
        self.added_deletes.retain(|f| !goes(f));
        if self.owns_files != later.owns_files {
            let theirs = if self.owns_files { later.added() } else { self.added() };
            let theirs: Vec<String> = theirs.map(|f| f.path.clone()).collect();
            self.borrowed.extend(theirs);
        }
        if self.owns_files {
            self.abandoned.extend(gone.into_iter().filter(|path| !self.borrowed.contains(path)));
        }
        self.owns_files |= later.owns_files;
        self.added_data.extend(later.added_data);
        self.added_deletes.extend(later.added_deletes);
        let was_new = |f: &DataFile| !cancelled.contains(&FileId::of(f));
        self.removed_data.extend(later.removed_data.into_iter().filter(was_new));
        // A file can hold several deletion vectors. Some may stay.
        let kept: HashSet<String> = self.added().map(|f| f.path.clone()).collect();
        self.abandoned.retain(|path| !kept.contains(path));
        self.planned_version = self.planned_version.into_iter().chain(later.planned_version).min();
        self.summary.extend(later.summary);
        self.files_id = None;
        self.borrowed.extend(later.borrowed);
        self.own.extend(later.own);
        self.abandoned.extend(later.abandoned);
    }

    /// Checks that a table of this version can have the files.
    pub(super) fn check_files(&self, base: &TableMetadata) -> Result<()> {
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
                    return bad(format!("a v{v} table takes deletion vectors, not new position delete files"));
                }
                _ => {}
            }
            if vector && !file.referenced_data_file.as_deref().is_some_and(|of| vectors_for.insert(of)) {
                return bad("a deletion vector names no data file, or the same data file as another one".into());
            }
            if file.content == FileContent::EqualityDeletes && file.equality_ids.as_ref().is_none_or(Vec::is_empty) {
                return bad("an equality delete file needs key columns".into());
            }
        }
        Ok(())
    }

    /// Checks for an upgrade since planning. From version 3 on, rows have ids, and deletes are deletion vectors.
    pub(super) fn check_version(&self, base: &TableMetadata) -> Result<()> {
        let upgraded = self.planned_version.is_some_and(|v| v < 3) && base.format_version >= 3;
        let rewrites = !self.added_data.is_empty() && !self.removed_data.is_empty();
        let positions = || self.added_deletes.iter().any(|f| f.content == FileContent::PositionDeletes);
        match upgraded && (rewrites || positions()) {
            false => Ok(()),
            true => Err(Error::conflict("the table was upgraded since this change was planned")
                .with("format-version", base.format_version)
                .with("clause", "rewritten rows keep their ids, and deletes have the table's format")
                .hint(RUN_AGAIN)),
        }
    }

    /// The parent of the new snapshot.
    pub(super) fn parent(&self, base: &TableMetadata) -> Result<Option<Arc<Snapshot>>> {
        let Target::Branch(name) = &self.target else { return Ok(base.current_snapshot().cloned()) };
        match base.refs.get(name) {
            Some(r) if r.kind == RefKind::Tag => {
                Err(Error::invalid(format!("'{name}' is a tag, and tags do not move")).hint("Name a branch"))
            }
            Some(r) => Ok(base.snapshot_by_id(r.snapshot_id).cloned()),
            None => Ok(base.current_snapshot().cloned()),
        }
    }

    /// Whether a rewrite's new files have other partition specs than the files that they replace.
    pub(super) fn moves_rows(&self) -> bool {
        let specs = |files: &[DataFile]| files.iter().map(|f| f.partition.spec_id).collect::<BTreeSet<i32>>();
        let added = specs(&self.added_data);
        self.data_sequence_number.is_some() && !added.is_empty() && added != specs(&self.removed_data)
    }
}

pub(super) fn is_vector(file: &DataFile) -> bool {
    file.content == FileContent::PositionDeletes && file.format == FileFormat::Puffin
}
