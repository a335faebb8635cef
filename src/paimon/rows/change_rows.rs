//! Changing rows in one commit: the entry for all kinds of changes.

use std::collections::HashSet;

use crate::error::{Error, ErrorKind, Result};
use crate::format::commit::CommitOptions;
use crate::format::row_change::RowChange;
use crate::paimon::commit::changes::Replaced;
use crate::paimon::spec::options::MergeEngine;
use crate::paimon::state::{PAIMON, PaimonTable};
use crate::paimon::write::append::counting;
use crate::paimon::write::write_plan::WriteKind;
use crate::rows::stream::RowReader;

impl PaimonTable {
    /// Changes rows in one commit. Possible are deletes, updates and overwrites by a filter, overwrites of whole
    /// partitions, and replacing or deleting rows by the primary key.
    ///
    /// # Errors
    /// `Unsupported` for other changes; as [`PaimonTable::append`].
    pub fn change_rows(
        &self,
        change: &RowChange,
        rows: Option<RowReader>,
        options: &CommitOptions,
    ) -> Result<PaimonTable> {
        match change {
            RowChange::Delete(filter) => return self.delete_where(filter, options),
            RowChange::Update(filter, assigned) => return self.update_where(filter, assigned, options),
            _ => {}
        }
        let rows = rows.ok_or_else(|| Error::invalid("the operation needs rows"))?;
        let table = self.newest_of(options.branch.as_deref())?;
        match change {
            RowChange::Overwrite(filter) => {
                let replaced = match table.replaced(filter) {
                    Err(e) if e.kind() == ErrorKind::Unsupported => {
                        return self.overwrite_where(filter, rows, options);
                    }
                    replaced => replaced?,
                };
                if replaced != Replaced::Everything {
                    table.check_partitions_replaced()?;
                }
                let files = table.new_files(rows, WriteKind::Add, true)?;
                let options = counting(&table, &files.files.added, options);
                table.publish(self, files, Some(replaced), &options)
            }
            RowChange::OverwritePartitions => {
                table.check_partitions_replaced()?;
                let files = table.new_files(rows, WriteKind::Add, true)?;
                let options = counting(&table, &files.files.added, options);
                match files.is_empty() {
                    true => self.refresh(),
                    false => table.publish(self, files, Some(Replaced::PartitionsOfAdded), &options),
                }
            }
            RowChange::ReplaceKeys(on) => {
                table.check_key(on)?;
                self.append(rows, options)
            }
            RowChange::Merge(merge) if merge.is_upsert() && table.table_schema().has_primary_key() => {
                table.check_key(&merge.on)?;
                table.check_complete(rows.schema().fields().iter().map(|f| f.name().as_str()).collect())?;
                self.append(rows, options)
            }
            RowChange::Merge(merge) => self.merge_rows(merge, rows, options),
            RowChange::DeleteKeys(on) => {
                table.check_key(on)?;
                let files = table.new_files(rows, WriteKind::Delete, false)?;
                match files.is_empty() {
                    true => self.refresh(),
                    false => table.publish(self, files, None, options),
                }
            }
            _ => Err(PAIMON.lacks("this change of rows").with("table", self.location())),
        }
    }

    /// Columns that rows lack would become null, unless rows are combined from their last values.
    fn check_complete(&self, given: HashSet<&str>) -> Result<()> {
        let schema = self.table_schema();
        if schema.options().merge_engine()? == MergeEngine::PartialUpdate {
            return Ok(());
        }
        match schema.fields.iter().find(|f| !given.contains(f.name.as_str())) {
            None => Ok(()),
            Some(missing) => Err(PAIMON.lacks("updating some of the columns").with("column", &missing.name).hint(
                "Give all columns. Missing columns keep their values only with 'merge-engine' = 'partial-update'",
            )),
        }
    }
}
