//! Changing rows of tables without primary key, file by file.
//!
//! Files without a remaining row are removed. For the others, deletion vectors name the rows (`vectors`) if the table
//! has them; otherwise the files are rewritten (`rewrite`).

use std::collections::BTreeMap;

use super::fate::Fate;
use super::found::FileHits;
use super::planned_commit::PlannedCommit;
use super::unpublished::Unpublished;
use super::{rewrite, vectors};
use crate::error::Result;
use crate::expr::{Predicate, bind};
use crate::format::request::ScanRequest;
use crate::format::task::DataFile;
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::Commit;
use crate::paimon::scan::handle::PaimonScan;
use crate::paimon::state::{PAIMON, PaimonTable};

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
        match self.table_schema().options().data_evolution()? {
            false => Ok(()),
            true => Err(PAIMON
                .lacks("deletes of rows of tables with 'data-evolution.enabled'")
                .with("table", self.location())
                .hint("Whole partitions can be deleted, and rows if 'deletion-vectors.enabled' is true")),
        }
    }

    /// Changes rows that were found.
    pub(crate) fn change_files(
        &self,
        scan: &PaimonScan,
        hits: Vec<FileHits>,
        fate: Fate<'_>,
        mut new: Unpublished<'_>,
        counts: BTreeMap<String, String>,
    ) -> Result<Option<PlannedCommit>> {
        if self.table_schema().options().data_evolution()? {
            return self.change_columns(scan, &hits, fate, new, counts);
        }
        let vectors = self.table_schema().options().deletion_vectors()?;
        let removed: Vec<DataFile>;
        let index;
        if vectors {
            if !matches!(fate, Fate::Gone) {
                new.data.extend(rewrite::updated(self, scan, &hits, fate)?);
            }
            let (whole, partly): (Vec<_>, Vec<_>) = hits.into_iter().partition(FileHits::is_whole);
            removed = whole.into_iter().map(|h| h.task.data_file.as_ref().clone()).collect();
            let partly = partly.into_iter().filter_map(|h| Some((h.task.data_file.clone(), h.positions?))).collect();
            index = vectors::changes(self, scan.snapshot(), partly, &removed, &mut new.index)?;
        } else {
            let partly = hits.iter().any(|h| !h.is_whole());
            if partly || !matches!(fate, Fate::Gone) {
                new.data.extend(rewrite::rewritten(self, scan, &hits, fate)?);
            }
            removed = hits.into_iter().map(|h| h.task.data_file.as_ref().clone()).collect();
            // Old deletion vectors of these files are removed with them.
            index = vectors::changes(self, scan.snapshot(), Vec::new(), &removed, &mut new.index)?;
        }
        let (added, index_files) = new.taken();
        let changes = Changes { added, removed, index, index_files, ..Changes::default() };
        Ok(match changes.is_empty() {
            true => None,
            false => Some((Commit::new(self.folder(), changes).owning_files(), counts)),
        })
    }
}
