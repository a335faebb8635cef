//! Transactions that replace their table.

use crate::error::{Error, Result};
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::evolve::{Replacement, ReplacementPlan};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::state::IcebergTable;
use crate::iceberg::table_changes::TableChange;
use crate::iceberg::transaction::pending::IcebergTransaction;
use crate::types::temporal::now_ms;

/// The first change of a table that is replaced. The other changes follow in the same commit.
struct TableReplacement {
    definition: Replacement,
    /// The ids that files are written with.
    planned: ReplacementPlan,
}

impl IcebergTransaction {
    /// Begins the transaction that replaces a table at its newest version.
    ///
    /// # Errors
    /// As [`IcebergTable::writable_location`] and [`Replacement::apply`].
    pub(crate) fn replacing(table: &IcebergTable, definition: Replacement) -> Result<IcebergTransaction> {
        table.writable_location()?;
        let planned = definition.plan(&table.inner.metadata)?;
        let replaced = planned.apply(&table.inner.metadata, now_ms())?;
        // Changes are planned on the table without its rows.
        let mut transaction = IcebergTransaction::at(table.at(replaced, table.inner.found.clone())?, None);
        transaction.add(Box::new(TableReplacement { definition, planned }))?;
        Ok(transaction)
    }
}

impl TableChange for TableReplacement {
    /// Rows that other commits added meanwhile are replaced, too.
    fn apply(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        // As in Java, the ids stay those of the first attempt.
        let is_like = self.definition.plan(base).is_ok_and(|plan| plan.is_like(&self.planned));
        match is_like || self.planned.fits(base) {
            true => self.planned.apply(base, now_ms),
            false => Err(Error::conflict("another commit changed the columns or the partitioning of the table")
                .hint("Replace the table again. Nothing was committed")),
        }
    }

    fn is_applied(&self, _: &TableMetadata) -> bool {
        false
    }

    fn only_evolves(&self) -> bool {
        true
    }

    fn into_snapshot(self: Box<Self>) -> std::result::Result<SnapshotProducer, Box<dyn TableChange>> {
        Err(self)
    }
}
