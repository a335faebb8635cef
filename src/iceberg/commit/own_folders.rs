//! The folders of an Iceberg table. Only files below them are deleted.

use crate::format::deletion::OwnFolders;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::store::Store;

/// The properties that give a table folders outside of its location, also under their old names.
const FOLDERS: [&str; 4] =
    ["write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path"];

/// The location of a table and the folders that its properties name.
pub(crate) fn own_folders<'s>(store: &'s dyn Store, metadata: &TableMetadata) -> OwnFolders<'s> {
    let named = FOLDERS.iter().filter_map(|key| metadata.properties.get(*key));
    OwnFolders::new(store, [&metadata.location].into_iter().chain(named).map(String::as_str))
}
