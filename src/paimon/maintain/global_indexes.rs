//! Takes global indexes out of a table.
//!
//! Source: Java's `DropGlobalIndexProcedure`.

use super::compaction::partition_filter;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::expr::residual::residual;
use crate::format::maintenance::GlobalIndexDrop;
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::{Commit, run_planned};
use crate::paimon::manifest::entries::{ADD, DELETE};
use crate::paimon::manifest::index_manifest::{GlobalIndex, IndexEntry, read_index_manifest};
use crate::paimon::spec::partition::{PaimonPartitionBounds, partition_of};
use crate::paimon::state::PaimonTable;

/// The columns of a global index, in order.
fn indexed(global: &GlobalIndex) -> impl Iterator<Item = i32> {
    std::iter::once(global.field_id).chain(global.extra_field_ids.iter().flatten().copied())
}

impl PaimonTable {
    /// Takes the global indexes of columns out of the table, in one commit. Expiry of the earlier snapshots deletes
    /// their files. Returns the table at its new version, and the number of files.
    ///
    /// # Errors
    /// `InvalidInput` for columns that do not exist, tables without snapshots, and filters that ask for more than
    /// partition columns; those of the commit.
    pub(crate) fn drop_global_index(&self, options: &GlobalIndexDrop) -> Result<(PaimonTable, usize)> {
        let table = self.newest_of(options.commit.branch.as_deref())?;
        let mut count = 0;
        let mut plan = || -> Result<Option<Commit>> {
            let newest = table.refresh()?;
            let dropped = newest.global_indexes(options)?;
            count = dropped.len();
            if dropped.is_empty() || options.dry_run {
                return Ok(None);
            }
            let index = dropped.into_iter().map(|entry| IndexEntry { kind: DELETE, ..entry }).collect();
            let commit = Commit::new(newest.folder(), Changes { index, ..Changes::default() });
            Ok(Some(commit.with_properties(options.commit.snapshot_properties.clone())))
        };
        let table = match run_planned(&mut plan).into_result()? {
            Some(_) => self.after_commit()?,
            None => self.refresh()?,
        };
        Ok((table, count))
    }

    /// The files of the indexes that a drop is about.
    fn global_indexes(&self, options: &GlobalIndexDrop) -> Result<Vec<IndexEntry>> {
        let schema = self.table_schema();
        let mut wanted = Vec::with_capacity(options.columns.len());
        for name in &options.columns {
            let none = || Error::invalid("the table has no such column").with("column", name);
            wanted.push(schema.field(name).ok_or_else(|| none().with("table", self.location()))?.id);
        }
        let invalid = |what: &str| Err(Error::invalid(what).with("table", self.location()));
        if wanted.is_empty() {
            return invalid("an index has at least one column");
        }
        let Some(snapshot) = &self.metadata().snapshot else {
            return invalid("a table without snapshots has no index");
        };
        let filter = partition_filter(self, options.filter.as_ref())?;
        let Some(manifest) = &snapshot.index_manifest else { return Ok(Vec::new()) };
        let kind = options.index_type.trim().to_lowercase();
        let mut out = Vec::new();
        for entry in read_index_manifest(self.folder().manifests(), manifest)? {
            let of_columns = entry.global.as_ref().is_some_and(|global| indexed(global).eq(wanted.iter().copied()));
            if entry.kind != ADD || entry.index_type != kind || !of_columns {
                continue;
            }
            let partition = partition_of(schema, &entry.partition)?;
            if residual(&filter, &PaimonPartitionBounds(&partition)) != BoundPredicate::False {
                out.push(entry);
            }
        }
        Ok(out)
    }
}
