//! From written rows to a snapshot. Rows may have to be rewritten: dynamic buckets are valid only as long as no other
//! commit gave the same keys other buckets.

use super::write_plan::{RewriteState, WriteKind, hash_indexes, is_over_partitions};
use super::writer::{PaimonWriter, WrittenFiles};
use crate::data::deletes::cache::DeleteCache;
use crate::data::merge::kind_rows::as_written;
use crate::data::read::task::read_task;
use crate::error::{Error, ErrorKind, Result};
use crate::expr::BoundPredicate;
use crate::format::commit_loop::CommitOutcome;
use crate::format::request::ScanRequest;
use crate::format::task::{NewBucketFile, ScanTask};
use crate::paimon::commit::changes::{Changes, Replaced};
use crate::paimon::commit::hashes::are_misplaced;
use crate::paimon::commit::producer::Commit;
use crate::paimon::manifest::hash_index::HashIndexes;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::paimon::state::PaimonTable;
use crate::store::location::join;

/// The most times that rows are written again. Each time another commit was faster.
const MOST_REWRITES: usize = 20;

/// The files that a writer made, not yet committed.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingFiles {
    pub kind: WriteKind,
    pub files: WrittenFiles,
    pub rewritten: RewriteState,
    /// The snapshot that the writer looked at.
    pub base: Option<i64>,
    /// Whether several writers made the files without knowing of each other.
    pub by_several: bool,
}

/// How pending files are committed.
pub(crate) struct Settling<'a> {
    /// The rows that the commit replaces.
    pub replaced: Option<Replaced>,
    /// Whether files are deleted if they certainly are not committed.
    pub owns_files: bool,
    /// Adds the caller's other requests to a commit.
    pub adjust: &'a dyn Fn(Commit) -> Commit,
}

impl PendingFiles {
    /// Whether there are no files.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.added.is_empty() && self.files.changelog.is_empty()
    }

    fn changes(&self) -> Changes {
        Changes {
            added: self.files.added.clone(),
            changelog: self.files.changelog.clone(),
            hashes: self.files.hashes.clone(),
            ..Changes::default()
        }
    }

    /// Removes the files.
    fn delete(&self, table: &PaimonTable) {
        let files = self.files.added.iter().chain(&self.files.changelog);
        table.folder().store().discard(files.flat_map(paths_of).collect());
    }
}

impl PaimonTable {
    /// Commits the written files, if necessary after writing them again.
    ///
    /// # Errors
    /// Those of the commit; of reading and writing rows again.
    pub(crate) fn settle(&self, mut pending: PendingFiles, settling: &Settling<'_>) -> Result<PaimonSnapshot> {
        let mut table = self.clone();
        let replaces = settling.replaced.is_some();
        for rewrites in 0.. {
            let mut commit = (settling.adjust)(Commit::new(table.folder(), pending.changes()));
            if let Some(replaced) = settling.replaced.clone() {
                commit = commit.overwriting(replaced);
                // Rows that replace others must not leave a table that seems empty.
                commit = if pending.by_several { commit.showing_all() } else { commit };
            } else if is_over_partitions(table.table_schema()) {
                commit = commit.only_on(pending.base);
            }
            let error = match commit.run() {
                CommitOutcome::Failed(e) => e,
                done => return done.into_result(),
            };
            let newer = match error.kind() == ErrorKind::CommitConflict && rewrites < MOST_REWRITES {
                true => table.refresh().ok(),
                false => None,
            };
            let outdated_by = newer.filter(|newer| newer.outdates(&pending, replaces).unwrap_or(false));
            let next = outdated_by.map(|newer| newer.rewrite(&pending, replaces).map(|written| (newer, written)));
            // The owner of the messages may still want their files.
            if settling.owns_files || rewrites > 0 {
                pending.delete(&table);
            }
            (table, pending) = next.ok_or(error)??;
        }
        Err(Error::internal("the commit loop ended"))
    }

    /// Whether rows for an earlier version now belong to other places. Also true if several writers gave them different
    /// places, or places that scans leave out. Rows that replace existing ones are independent of earlier places.
    fn outdates(&self, pending: &PendingFiles, replaces: bool) -> Result<bool> {
        if is_over_partitions(self.table_schema()) {
            return Ok(!replaces && self.metadata().snapshot.as_ref().map(|s| s.id) != pending.base);
        }
        let (schema, hashes) = (self.table_schema(), &pending.files.hashes);
        if replaces && pending.by_several && schema.options().hides_level_0(schema.has_primary_key())? {
            return Ok(true);
        }
        if hashes.is_empty() {
            return Ok(false);
        }
        let indexes = match replaces {
            true => HashIndexes::new(self.folder().store().clone(), self.folder().root(), schema, [])?,
            false => hash_indexes(self)?,
        };
        are_misplaced(hashes, &indexes)
    }

    /// Writes the rows of files of an earlier version again.
    fn rewrite(&self, pending: &PendingFiles, replaces: bool) -> Result<PendingFiles> {
        let mut writer = PaimonWriter::of_written(self, pending.kind, replaces, pending.rewritten.clone())?;
        let context = as_written(self.scan_newest(ScanRequest::default())?.context());
        let (store, cache) = (self.folder().store(), DeleteCache::default());
        // The changelog has the rows before they were merged.
        let files = if pending.files.changelog.is_empty() { &pending.files.added } else { &pending.files.changelog };
        for file in files {
            for rows in read_task(store, &context, &task_of(file), &cache)? {
                writer.write(&rows?)?;
            }
        }
        self.pending(writer, pending.kind)
    }

    /// The files that a writer of this version made.
    pub(crate) fn pending(&self, writer: PaimonWriter, kind: WriteKind) -> Result<PendingFiles> {
        let rewritten = writer.rewritten();
        let base = self.metadata().snapshot.as_ref().map(|s| s.id);
        Ok(PendingFiles { kind, files: writer.finish()?, rewritten, base, by_several: false })
    }
}

fn task_of(file: &NewBucketFile) -> ScanTask {
    ScanTask {
        start: 0,
        length: file.file.size_bytes,
        data_file: file.file.clone().into(),
        deletes: Vec::new(),
        residual: BoundPredicate::True.into(),
        change: None,
        merge: None,
    }
}

/// The path of a file, and the paths of its extra files.
pub(crate) fn paths_of(new: &NewBucketFile) -> impl Iterator<Item = String> {
    let folder = new.file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    [new.file.path.clone()].into_iter().chain(new.extra_files.iter().map(move |name| join(folder, name)))
}
