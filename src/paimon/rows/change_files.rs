//! Changing rows of tables without primary key, file by file.
//!
//! Files without a remaining row are removed. For the others, deletion vectors name the rows (`vectors`) if the table
//! has them; otherwise the files are rewritten (`rewrite`). Tables whose columns are in several files get new files of
//! the changed columns (`column_files`), or vectors of the oldest files (`aligned`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fate::Fate;
use super::found::FileHits;
use super::rewrite::FileEffect;
use super::unpublished::Unpublished;
use super::{rewrite, vectors};
use crate::codec::bitmap::PositionSet;
use crate::error::{Result, ResultExt};
use crate::expr::{Predicate, bind};
use crate::format::request::ScanRequest;
use crate::format::task::{DataFile, NewBucketFile, PartRows};
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::Commit;
use crate::paimon::scan::handle::PaimonScan;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::paimon::state::{PAIMON, PaimonTable};

/// The effect of a change on files, before a commit. New data files are apart, in [`Unpublished`].
#[derive(Clone, Debug, Default)]
pub(crate) struct FileChanges {
    /// Files that are removed.
    pub removed: Vec<DataFile>,
    /// Rows of files that stay. Deletion vectors will name them.
    pub deleted: Vec<(Arc<DataFile>, PositionSet)>,
    /// How many rows changed.
    pub rows: PartRows,
    /// Whether the change relies on all that the table had at the version that was read.
    pub only_here: bool,
}

impl FileChanges {
    fn count(&mut self, effect: &FileEffect) {
        self.rows.updated += effect.updated;
        self.rows.deleted += effect.deleted;
    }

    /// The commit of the changes to a snapshot; `None` if nothing changes. It takes over the files of `new`.
    ///
    /// # Errors
    /// As [`FileChanges::commit_of`].
    pub(crate) fn commit(
        self,
        table: &PaimonTable,
        snapshot: Option<&Arc<PaimonSnapshot>>,
        new: &mut Unpublished<'_>,
    ) -> Result<Option<Commit>> {
        let mut index = Unpublished::new(table.folder().store().as_ref());
        let commit = self.commit_of(table, snapshot, new.data.clone(), &mut index)?;
        new.taken();
        Ok(commit.map(Commit::owning_files))
    }

    /// The commit of the changes and of new data files, which stay if it fails. New index files are in `index` until
    /// the commit takes them over.
    ///
    /// # Errors
    /// Errors of reading and writing index files; errors of planning; a cancellation.
    pub(crate) fn commit_of(
        self,
        table: &PaimonTable,
        snapshot: Option<&Arc<PaimonSnapshot>>,
        added: Vec<NewBucketFile>,
        index: &mut Unpublished<'_>,
    ) -> Result<Option<Commit>> {
        let deleted = match table.table_schema().options().data_evolution()? {
            true => table.in_oldest_files(self.deleted)?,
            false => self.deleted,
        };
        // Old deletion vectors of removed files are removed with them.
        let entries = vectors::changes(table, snapshot, deleted, &self.removed, &mut index.index)?;
        let index_files = index.taken().1;
        let changes = Changes { added, removed: self.removed, index: entries, index_files, ..Changes::default() };
        if changes.is_empty() {
            return Ok(None);
        }
        let commit = Commit::new(table.folder(), changes);
        Ok(Some(if self.only_here { commit.only_on(snapshot.map(|s| s.id)) } else { commit }))
    }
}

impl PaimonTable {
    /// The scan of a filter on the table as it is here.
    pub(crate) fn found(&self, filter: &Predicate) -> Result<PaimonScan> {
        // Columns that only files have say nothing about the rows of other commits.
        bind(filter, self.schema(), true)?;
        // Filters and new values are about the values, not about where they are.
        let plain = [("blob-as-descriptor".to_owned(), "false".to_owned())];
        let options = match self.table_schema().blob_places().is_empty() {
            true => BTreeMap::new(),
            false => BTreeMap::from(plain),
        };
        self.scan_newest(ScanRequest { filter: Some(filter.clone()), options, ..ScanRequest::default() })
    }

    /// Refuses deletes of rows of tables whose files can't be written again without them.
    pub(crate) fn check_deletes(&self) -> Result<()> {
        let options = self.table_schema().options();
        match options.data_evolution()? && !options.deletion_vectors()? {
            false => Ok(()),
            true => Err(PAIMON
                .lacks("deletes of rows of tables with 'data-evolution.enabled'")
                .with("table", self.location())
                .hint("Whole partitions can be deleted, and rows if 'deletion-vectors.enabled' is true")),
        }
    }

    /// Changes rows of files. New files are added to `new`.
    ///
    /// # Errors
    /// `Unsupported` for changes that the table's files don't allow; errors of reading and writing; a cancellation.
    pub(super) fn changed_files(
        &self,
        scan: &PaimonScan,
        hits: Vec<FileHits>,
        fate: &Fate<'_>,
        new: &mut Unpublished<'_>,
    ) -> Result<FileChanges> {
        let (evolves, removes) = (self.table_schema().options().data_evolution()?, fate.patch.removes_all());
        if removes {
            self.check_deletes()?;
        }
        let mut changes = FileChanges::default();
        if evolves && !removes {
            changes.rows.updated = self.write_columns(scan, &hits, fate, new)?;
            // A column that another commit changed meanwhile would get its old values back.
            changes.only_here = true;
            return Ok(changes);
        }
        if removes {
            changes.rows.deleted = hits.iter().map(FileHits::rows).fold(0, u64::saturating_add);
        }
        match self.table_schema().options().deletion_vectors()? {
            true => self.change_by_vectors(scan, hits, fate, new, &mut changes)?,
            false => self.change_by_rewriting(scan, hits, fate, new, &mut changes)?,
        }
        Ok(changes)
    }

    fn change_by_vectors(
        &self,
        scan: &PaimonScan,
        mut hits: Vec<FileHits>,
        fate: &Fate<'_>,
        new: &mut Unpublished<'_>,
        changes: &mut FileChanges,
    ) -> Result<()> {
        if !fate.patch.removes_all() {
            let (files, effects) = rewrite::replaced(self, scan, &hits, fate.patch)?;
            new.data.extend(files);
            for (hit, effect) in hits.iter_mut().zip(effects) {
                changes.count(&effect);
                hit.positions = Some(effect.positions);
            }
            hits.retain(|hit| hit.positions.as_ref().is_some_and(|positions| !positions.is_empty()));
        }
        // Where columns are in several files, a vector names all rows of a file, too.
        let removes_files = !self.table_schema().options().data_evolution()?;
        for hit in hits {
            let (whole, file) = (hit.is_whole() && removes_files, hit.task.data_file);
            if whole {
                changes.removed.push(file.as_ref().clone());
                continue;
            }
            let all = || PositionSet::of_rows(u64::try_from(file.record_count).unwrap_or(0)).with("path", &file.path);
            let positions = hit.positions.map_or_else(all, Ok)?;
            changes.deleted.push((file, positions));
        }
        Ok(())
    }

    fn change_by_rewriting(
        &self,
        scan: &PaimonScan,
        hits: Vec<FileHits>,
        fate: &Fate<'_>,
        new: &mut Unpublished<'_>,
        changes: &mut FileChanges,
    ) -> Result<()> {
        let removes = fate.patch.removes_all();
        let (whole, partly): (Vec<_>, Vec<_>) = hits.into_iter().partition(|hit| removes && hit.is_whole());
        changes.removed.extend(whole.into_iter().map(|hit| hit.task.data_file.as_ref().clone()));
        if partly.is_empty() {
            return Ok(());
        }
        let (files, effects) = rewrite::rewritten(self, scan, &partly, fate.patch)?;
        new.data.extend(files);
        for (hit, effect) in partly.into_iter().zip(effects) {
            let Some(effect) = effect else { continue };
            if !removes {
                changes.count(&effect);
            }
            changes.removed.push(hit.task.data_file.as_ref().clone());
        }
        Ok(())
    }
}
