//! Transactions that create their table.

use std::sync::Arc;

use crate::error::Result;
use crate::iceberg::catalog::creation::CreatingPointer;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::spec::metadata::{METADATA_FOLDER, TableMetadata};
use crate::iceberg::state::IcebergTable;
use crate::iceberg::table_changes::TableChange;
use crate::iceberg::transaction::pending::IcebergTransaction;
use crate::parallel::Cancellation;
use crate::store::Store;
use crate::store::location::join;

/// The first change of a new table: that it exists. The other changes follow in the same commit.
struct Creation {
    pointer: Arc<CreatingPointer>,
    store: Arc<dyn Store>,
    location: String,
}

impl IcebergTransaction {
    /// Begins the transaction that creates a staged table.
    ///
    /// # Errors
    /// As [`IcebergTransaction::begin`].
    pub(crate) fn creating(table: &IcebergTable, pointer: Arc<CreatingPointer>) -> Result<IcebergTransaction> {
        let mut transaction = IcebergTransaction::begin(table, None)?;
        let (store, location) = (table.inner.store.clone(), table.location().to_owned());
        transaction.add(Box::new(Creation { pointer, store, location }))?;
        Ok(transaction)
    }
}

impl Creation {
    fn remove_empty_folders(&self) {
        let metadata = self.store.list_names(&join(&self.location, METADATA_FOLDER));
        if !metadata.is_ok_and(|files| files.is_empty()) {
            return;
        }
        for folder in ["data", METADATA_FOLDER] {
            remove_empty(self.store.as_ref(), &join(&self.location, folder), MAX_DEPTH);
        }
        let _ = self.store.delete_folder(&self.location);
    }
}

impl TableChange for Creation {
    fn apply(&mut self, base: &TableMetadata, _: i64) -> Result<TableMetadata> {
        Ok(base.clone())
    }

    fn is_applied(&self, _: &TableMetadata) -> bool {
        self.pointer.is_made()
    }

    fn only_evolves(&self) -> bool {
        true
    }

    fn into_snapshot(self: Box<Self>) -> std::result::Result<SnapshotProducer, Box<dyn TableChange>> {
        Err(self)
    }

    /// The folders of a table that was not created. The other changes have removed their files by now. A folder that
    /// is not empty stays, and so do those of another table at the location and of a store without folders.
    fn clean_up(&mut self) {
        if !self.store.is_remote() && !self.pointer.is_made() {
            Cancellation::none().scope(|| self.remove_empty_folders());
        }
    }
}

/// The deepest folder of partitions that is looked for.
const MAX_DEPTH: usize = 32;

/// Removes a folder and those in it, as far as they are empty. What stays is harmless.
fn remove_empty(store: &dyn Store, folder: &str, depth: usize) {
    if depth > 0 && !store.is_link(folder).unwrap_or(true) {
        for name in store.list_folders(folder).unwrap_or_default() {
            remove_empty(store, &join(folder, &name), depth - 1);
        }
        let _ = store.delete_folder(folder);
    }
}
