//! A warehouse in folders: a database is a folder `<name>.db`, a table a folder in it.
//!
//! Source: Java's `FileSystemCatalog`.

use std::sync::Arc;

use super::filesystem::{TableFolder, given_name, is_table};
use super::new_schema::first_schema;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::deletion::FolderTree;
use crate::paimon::spec::schema::{SchemaParts, TableSchema};
use crate::store::location::join;
use crate::store::{Store, delete_all, in_parallel};
use crate::types::temporal::now_ms;

/// The suffix of a database's folder.
const DATABASE: &str = ".db";

/// The deepest nesting of folders when a table is dropped.
const MAX_DEPTH: usize = 64;

/// A warehouse folder of databases.
#[derive(Clone, Debug)]
pub struct Warehouse {
    store: Arc<dyn Store>,
    root: String,
}

/// Creates a table with its first schema in a folder. The table exists once its schema does.
///
/// # Errors
/// `InvalidInput` for a schema that no table can have; `AlreadyExists` if a table already exists; those of the store.
pub fn create_table(store: &Arc<dyn Store>, root: &str, parts: SchemaParts) -> Result<TableFolder> {
    let schema = first_schema(parts, now_ms())?;
    let taken = || Error::already_exists("the table already exists").with("path", root);
    if is_table(store.as_ref(), root)? {
        return Err(taken());
    }
    put_schema(store.as_ref(), &join(&join(root, "schema"), "schema-0"), &schema).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => taken(),
        _ => e,
    })?;
    TableFolder::open(store.clone(), root)
}

/// Creates the file of a schema. A file counts as written even if the reply was an error.
pub(in crate::paimon) fn put_schema(store: &dyn Store, path: &str, schema: &TableSchema) -> Result<()> {
    let bytes = schema.encode();
    match store.put_if_absent(path, &bytes) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(e),
        Err(e) => match store.get(path) {
            Ok(found) if found == bytes => Ok(()),
            _ => Err(e),
        },
    }
}

impl Warehouse {
    /// The warehouse in a folder, which may not exist yet.
    ///
    /// # Errors
    /// `InvalidInput` for an empty location.
    pub fn new(store: Arc<dyn Store>, root: &str) -> Result<Warehouse> {
        let root = root.trim_end_matches('/').to_owned();
        if root.is_empty() {
            return Err(Error::invalid("the catalog needs a warehouse folder"));
        }
        Ok(Warehouse { store, root })
    }

    /// The folder of a database, whether or not it exists.
    ///
    /// # Errors
    /// `InvalidInput` if that can't be its name.
    pub fn database_location(&self, database: &str) -> Result<String> {
        Ok(join(&self.root, &format!("{}{DATABASE}", given_name(database, "database")?)))
    }

    /// The folder of a table, whether or not it exists.
    ///
    /// # Errors
    /// `InvalidInput` if that can't be its name.
    pub fn table_location(&self, database: &str, table: &str) -> Result<String> {
        Ok(join(&self.database_location(database)?, given_name(table, "table")?))
    }

    /// The names of the databases, in their order.
    ///
    /// # Errors
    /// Those of the store.
    pub fn databases(&self) -> Result<Vec<String>> {
        let folders = self.store.list_folders(&self.root)?;
        Ok(folders.iter().filter_map(|f| f.strip_suffix(DATABASE)).map(str::to_owned).collect())
    }

    fn check_database(&self, database: &str) -> Result<String> {
        let folder = self.database_location(database)?;
        if self.databases()?.iter().any(|d| d == database) {
            return Ok(folder);
        }
        Err(Error::not_found(format!("there is no database '{database}'")).with("path", folder))
    }

    /// Makes a database.
    ///
    /// # Errors
    /// `AlreadyExists` if it already exists; `InvalidInput` if that can't be its name; those of the store.
    pub fn create_database(&self, database: &str) -> Result<()> {
        let folder = self.database_location(database)?;
        if self.databases()?.iter().any(|d| d == database) {
            return Err(Error::already_exists(format!("the database '{database}' already exists")));
        }
        self.store.make_folder(&folder)
    }

    /// Removes a database that has nothing in it.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `InvalidInput` if it contains a table or another file; those of the store.
    pub fn drop_database(&self, database: &str) -> Result<()> {
        let folder = self.check_database(database)?;
        let (files, folders) = self.store.list_all(&folder)?;
        if !files.is_empty() || !folders.is_empty() {
            return Err(Error::invalid(format!("the database '{database}' is not empty")).with("path", folder));
        }
        self.store.delete_folder(&folder)
    }

    /// The names of a database's tables, in their order.
    ///
    /// # Errors
    /// `NotFound` if the database does not exist; those of the store.
    pub fn tables(&self, database: &str) -> Result<Vec<String>> {
        let folder = self.check_database(database)?;
        let names = self.store.list_folders(&folder)?;
        let there = in_parallel(self.store.as_ref(), names.len(), |i| match names.get(i) {
            Some(name) => is_table(self.store.as_ref(), &join(&folder, name)),
            None => Ok(false),
        })?;
        Ok(names.into_iter().zip(there).filter(|(_, there)| *there).map(|(name, _)| name).collect())
    }

    /// A table.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; those of the store.
    pub fn table(&self, database: &str, table: &str) -> Result<TableFolder> {
        TableFolder::open(self.store.clone(), &self.table_location(database, table)?).with("table", table)
    }

    /// Creates a table. Columns and the schema get new ids.
    ///
    /// # Errors
    /// `NotFound` if the database does not exist; as [`create_table`].
    pub fn create_table(&self, database: &str, table: &str, parts: SchemaParts) -> Result<TableFolder> {
        self.check_database(database)?;
        create_table(&self.store, &self.table_location(database, table)?, parts)
    }

    /// Gives a table another name, and so its folder.
    ///
    /// # Errors
    /// `NotFound` if it does not exist, or no database of the new name; `AlreadyExists` if the name is taken;
    /// `Unsupported` in object stores.
    pub fn rename_table(&self, from: (&str, &str), to: (&str, &str)) -> Result<()> {
        let folder = self.table(from.0, from.1)?;
        self.check_database(to.0)?;
        self.store.rename_folder(folder.root(), &self.table_location(to.0, to.1)?)
    }

    /// Removes a table with all its files, except those outside of its folder.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `Unsupported` if its folder is a link; those of the store.
    pub fn drop_table(&self, database: &str, table: &str) -> Result<()> {
        let folder = self.table(database, table)?;
        remove_below(self.store.as_ref(), folder.root(), |path| {
            // Without schemas and snapshots, the rest is not a table.
            ["/schema/", "/snapshot/"].iter().any(|part| path.contains(part))
        })
    }
}

/// Removes a folder and everything below it. Files that `first` accepts are removed before the others.
pub(super) fn remove_below(store: &dyn Store, folder: &str, first: impl Fn(&str) -> bool) -> Result<()> {
    let FolderTree { files, folders } = tree(store, folder)?;
    let (early, late): (Vec<&str>, Vec<&str>) =
        files.iter().map(String::as_str).partition(|path| path.strip_prefix(folder).is_some_and(&first));
    for paths in [early, late] {
        delete_all(store, &paths)?;
    }
    folders.iter().try_for_each(|folder| store.delete_folder(folder)).hint("The folder contains other files")
}

/// All files below a folder.
pub(super) fn files_below(store: &dyn Store, folder: &str) -> Result<Vec<String>> {
    tree(store, folder).map(|tree| tree.files)
}

/// Everything below a folder.
fn tree(store: &dyn Store, folder: &str) -> Result<FolderTree> {
    FolderTree::below(store, folder, &|folder, depth| {
        if store.is_link(folder)? {
            return Err(Error::unsupported("files behind a symbolic link are not deleted")
                .with("path", folder)
                .hint("Delete it at its real location"));
        }
        match depth < MAX_DEPTH {
            true => Ok(()),
            false => Err(Error::unsupported(format!("folders nest deeper than {MAX_DEPTH}")).with("path", folder)),
        }
    })
}
