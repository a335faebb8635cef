//! Takes data files that no longer exist out of the table.
//!
//! Source: Java's `ListUnexistingFiles`.

use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::diagnosis::repair::{RepairKind, RepairOptions, RepairStep};
use crate::format::task::DataFile;
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::Commit;
use crate::paimon::plan::compact_plan::bucket_files;
use crate::paimon::state::PaimonTable;
use crate::store::in_parallel;

impl PaimonTable {
    /// Repairs the newest version. Only lost files can be repaired.
    ///
    /// # Errors
    /// `Unsupported` for other repairs; `CommitConflict` if another commit removed one of the files; `Unsupported` if a
    /// lost file is at a place outside of the table; those of the commit and of the store.
    pub fn repair(&self, options: &RepairOptions) -> Result<(PaimonTable, Vec<RepairStep>)> {
        self.metadata().check_same_table()?;
        if let Some(other) = options.kinds.iter().find(|kind| **kind != RepairKind::LostFiles) {
            return Err(Error::unsupported(format!("repair '{}': not with tables of Apache Paimon", other.as_str()))
                .with("table", self.location())
                .hint("repair('lost-files') takes lost files out of the table. doctor() says what else to do"));
        }
        let table = self.refresh()?;
        let lost = table.lost_files()?;
        let steps = lost.iter().map(|file| RepairStep {
            kind: RepairKind::LostFiles,
            object: file.path.clone(),
            action: "takes it out of the table".to_owned(),
            rows_lost: u64::try_from(file.record_count).unwrap_or(0),
        });
        let steps: Vec<RepairStep> = steps.collect();
        if options.dry_run || lost.is_empty() {
            return Ok((table, steps));
        }
        let commit = Commit::new(table.folder(), Changes { removed: lost, ..Changes::default() });
        commit.with_properties(options.snapshot_properties.clone()).run().into_result()?;
        Ok((self.after_commit()?, steps))
    }

    /// The data files of this version that do not exist.
    fn lost_files(&self) -> Result<Vec<DataFile>> {
        let buckets = bucket_files(self.metadata(), self.table_schema(), &BoundPredicate::True, None)?;
        let files: Vec<&DataFile> =
            buckets.iter().flat_map(|bucket| &bucket.tasks).map(|task| task.data_file.as_ref()).collect();
        let store = self.folder().store();
        let lost = in_parallel(store.as_ref(), files.len(), |i| match files.get(i) {
            Some(file) => Ok((!store.exists(&file.path)?).then(|| (*file).clone())),
            None => Ok(None),
        })?;
        Ok(lost.into_iter().flatten().collect())
    }
}
