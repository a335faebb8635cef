//! Transactions that replace their table.

use crate::error::{Error, Result};
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::evolve::Replacement;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::state::IcebergTable;
use crate::iceberg::table_changes::TableChange;
use crate::iceberg::transaction::pending::IcebergTransaction;
use crate::types::temporal::now_ms;
use crate::types::{Field, PartitionField};

/// The first change of a table that is replaced. The other changes follow in the same commit.
struct TableReplacement {
    definition: Replacement,
    /// The columns and partition fields that files are written with.
    fields: Vec<Field>,
    partitioning: Vec<PartitionField>,
}

impl IcebergTransaction {
    /// Begins the transaction that replaces a table at its newest version.
    ///
    /// # Errors
    /// As [`IcebergTable::writable_location`] and [`Replacement::apply`].
    pub(crate) fn replacing(table: &IcebergTable, definition: Replacement) -> Result<IcebergTransaction> {
        table.writable_location()?;
        let replaced = definition.apply(&table.inner.metadata, now_ms())?;
        let (fields, partitioning) = (replaced.schema()?.fields.to_vec(), replaced.spec()?.fields.clone());
        // Changes are planned on the table without its rows.
        let mut transaction = IcebergTransaction::at(table.at(replaced, table.inner.found.clone())?, None);
        transaction.add(Box::new(TableReplacement { definition, fields, partitioning }))?;
        Ok(transaction)
    }
}

impl TableChange for TableReplacement {
    /// Rows that other commits added meanwhile are replaced, too.
    fn apply(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        let next = self.definition.apply(base, now_ms)?;
        match next.schema()?.fields[..] == self.fields[..] && next.spec()?.fields == self.partitioning {
            true => Ok(next),
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
