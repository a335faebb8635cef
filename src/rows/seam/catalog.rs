//! A catalog of any kind: names to tables.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use super::table::{Table, Transaction};
use crate::error::{Error, Result, ResultExt};
use crate::format::catalog::NewTable;
use crate::format::deletion::OutsideLocations;
use crate::format::ident::TableIdent;
use crate::format::table_format::TableFormat;
use crate::format::view::{NewView, ViewInfo};
use crate::types::Schema;

/// A catalog. A namespace is its levels: `["a", "b"]` is `b` in `a`.
pub trait Catalog: Send + Sync + Debug {
    /// The name that it was opened by.
    fn name(&self) -> &str;
    /// The properties that it was opened with.
    fn properties(&self) -> &BTreeMap<String, String>;

    /// Checks that a namespace exists.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `InvalidInput` for a wrong name.
    fn check_namespace(&self, namespace: &[String]) -> Result<()>;
    /// The namespaces directly in another one; without levels, those at the top.
    ///
    /// # Errors
    /// `NotFound` if the parent does not exist.
    fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>>;
    /// Makes a namespace.
    ///
    /// # Errors
    /// `AlreadyExists`; `InvalidInput` for a wrong name; `Unsupported` for properties that it can't have.
    fn create_namespace(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()>;
    /// Removes an empty namespace.
    ///
    /// # Errors
    /// `NotFound`; `InvalidInput` if it is not empty.
    fn drop_namespace(&self, namespace: &[String]) -> Result<()>;

    /// The tables directly in a namespace.
    ///
    /// # Errors
    /// `NotFound` if the namespace does not exist.
    fn list_tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>>;
    /// Opens a table.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; those of reading its metadata.
    fn load_table(&self, ident: &TableIdent) -> Result<Arc<dyn Table>>;
    /// Whether a table exists.
    ///
    /// # Errors
    /// As [`Catalog::load_table`], except `NotFound`.
    fn table_exists(&self, ident: &TableIdent) -> Result<bool> {
        Ok(self.load_table(ident).if_found()?.is_some())
    }
    /// Creates an empty table.
    ///
    /// # Errors
    /// `AlreadyExists`; `NotFound` if the namespace does not exist; `InvalidInput` for a wrong schema, transform,
    /// order, property or location; `Unsupported` for a format that the catalog does not have ([`other_format`]).
    fn create_table(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
    ) -> Result<Arc<dyn Table>>;
    /// Removes a table. With `purge`, it also removes the files that the metadata names, as far as they are in the
    /// table's folders or in those that `purge` names.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `Unsupported` for folders that a catalog can't take into account; those of the
    /// store.
    fn drop_table(&self, ident: &TableIdent, purge: Option<&OutsideLocations>) -> Result<()>;

    /// Properties of namespaces.
    fn namespace_properties(&self) -> Option<&dyn NamespaceProperties> {
        None
    }
    /// Registers tables that already exist.
    fn registration(&self) -> Option<&dyn Registration> {
        None
    }
    /// Renames tables.
    fn renames(&self) -> Option<&dyn Renames> {
        None
    }
    /// Creates tables together with their first commit.
    fn creations(&self) -> Option<&dyn Creations> {
        None
    }
    /// Views.
    fn views(&self) -> Option<&dyn Views> {
        None
    }
    /// Transactions over several tables.
    fn joint_transactions(&self) -> Option<&dyn JointTransactions> {
        None
    }
}

/// Begins transactions over several tables.
pub trait JointTransactions {
    /// A transaction without changes.
    ///
    /// # Errors
    /// `Unsupported` if the catalog's server can't commit to several tables at once; those of the server.
    fn begin(&self) -> Result<Box<dyn JointTransaction>>;
}

/// Changes of several tables that one commit publishes. A transaction that is dropped removes the files that it wrote.
pub trait JointTransaction: Send {
    /// The changes of a table. Each call with the same name returns the same changes. Its snapshots go to `branch`,
    /// `main` if `None`. The changes can't be committed by themselves.
    ///
    /// # Errors
    /// `NotFound` if the table does not exist; `InvalidInput` for a second branch of a table, and for a table that
    /// can't be written.
    fn table(&mut self, ident: &TableIdent, branch: Option<String>) -> Result<Box<dyn Transaction>>;
    /// Publishes the changes of all tables, or none. Returns the tables at their new versions.
    ///
    /// # Errors
    /// `CommitConflict`; `CommitStateUnknown`; those of the store and the catalog.
    fn commit(self: Box<Self>) -> Result<Vec<(TableIdent, Arc<dyn Table>)>>;
    /// Discards all changes and removes the files that were written.
    fn abort(self: Box<Self>);
}

/// Properties of namespaces.
pub trait NamespaceProperties {
    /// The properties of a namespace, with `location` if it is known.
    ///
    /// # Errors
    /// `NotFound` if it does not exist.
    fn get(&self, namespace: &[String]) -> Result<BTreeMap<String, String>>;
    /// Removes properties of a namespace and sets others.
    ///
    /// # Errors
    /// `NotFound`; `InvalidInput` for a property both to remove and to set; `Unsupported` if it can't have any.
    fn update(&self, namespace: &[String], removed: &[String], set: &BTreeMap<String, String>) -> Result<()>;
}

/// Registers tables that already exist.
pub trait Registration {
    /// Registers a table by its metadata file. With `overwrite`, a table of this name gets the file's version.
    ///
    /// # Errors
    /// `AlreadyExists` without `overwrite`; `NotFound` if the namespace or the file does not exist; `Unsupported` for a
    /// table that the catalog can't have or overwrite; `CommitConflict` if another client changed the table meanwhile.
    fn register_table(&self, ident: &TableIdent, metadata_location: &str, overwrite: bool) -> Result<Arc<dyn Table>>;

    /// Removes a table from the catalog. All its files stay. Returns its newest metadata file.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` if the catalog has no tables without their folders, or its server does not offer it;
    /// `CommitStateUnknown` if an answer was lost.
    fn unregister_table(&self, ident: &TableIdent) -> Result<String>;
}

/// Creates tables together with their first commit, and replaces tables.
pub trait Creations {
    /// A transaction that creates a table. The table exists once it is committed, with all changes of the transaction.
    ///
    /// # Errors
    /// As [`Catalog::create_table`]. The commit fails with `AlreadyExists` if another client creates the table first.
    fn begin_table(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
    ) -> Result<Box<dyn Transaction>>;

    /// Gives a table another definition and no rows. Its identity, snapshots and tags stay. With `or_create`, a table
    /// that does not exist is created.
    ///
    /// # Errors
    /// `NotFound` without `or_create`; `Unsupported` for another location, and for a format without such commits;
    /// otherwise as [`Catalog::create_table`] and for a commit.
    fn replace_table(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
        or_create: bool,
    ) -> Result<Arc<dyn Table>>;

    /// A transaction that replaces a table, or with `or_create` creates it. The commit makes all of its changes.
    ///
    /// # Errors
    /// As [`Creations::replace_table`].
    fn begin_replacement(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
        or_create: bool,
    ) -> Result<Box<dyn Transaction>>;
}

/// Renames tables.
pub trait Renames {
    /// Renames a table.
    ///
    /// # Errors
    /// `NotFound` if the table, or the other namespace, does not exist; `AlreadyExists` if the name is taken;
    /// `Unsupported` for a table that can't have another name.
    fn rename_table(&self, from: &TableIdent, to: &TableIdent) -> Result<()>;
}

/// Views of a catalog. Their text is kept, and never executed.
pub trait Views {
    /// The views directly in a namespace.
    ///
    /// # Errors
    /// Here and below: `Unsupported` if the catalog's server has no views; those of the server. `NotFound` if the
    /// namespace does not exist.
    fn list_views(&self, namespace: &[String]) -> Result<Vec<TableIdent>>;
    /// Loads a view.
    ///
    /// # Errors
    /// `NotFound` if it does not exist.
    fn load_view(&self, ident: &TableIdent) -> Result<ViewInfo>;
    /// Whether a view exists.
    ///
    /// # Errors
    /// As above.
    fn view_exists(&self, ident: &TableIdent) -> Result<bool>;
    /// Creates a view.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken; `NotFound` if the namespace does not exist.
    fn create_view(&self, ident: &TableIdent, new: &NewView) -> Result<ViewInfo>;
    /// Gives a view another version.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `CommitConflict` if another client did so first.
    fn replace_view(&self, ident: &TableIdent, new: &NewView) -> Result<ViewInfo>;
    /// Registers a view by its metadata file.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken.
    fn register_view(&self, ident: &TableIdent, metadata_location: &str) -> Result<ViewInfo>;
    /// Renames a view.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `AlreadyExists` if the name is taken.
    fn rename_view(&self, from: &TableIdent, to: &TableIdent) -> Result<()>;
    /// Removes a view.
    ///
    /// # Errors
    /// `NotFound` if it does not exist.
    fn drop_view(&self, ident: &TableIdent) -> Result<()>;
}

impl dyn Catalog {
    /// Whether a namespace exists.
    ///
    /// # Errors
    /// As [`Catalog::check_namespace`], except `NotFound`.
    pub fn namespace_exists(&self, namespace: &[String]) -> Result<bool> {
        Ok(self.check_namespace(namespace).if_found()?.is_some())
    }

    /// Begins a transaction over several tables.
    ///
    /// # Errors
    /// `Unsupported` if the catalog can't commit to several tables at once; as [`JointTransactions::begin`].
    pub fn begin_transaction(&self) -> Result<Box<dyn JointTransaction>> {
        match self.joint_transactions() {
            Some(transactions) => transactions.begin(),
            None => Err(Error::unsupported(
                "this catalog can't commit to several tables at once: it publishes the version of each table by itself",
            )
            .with("catalog", self.name())
            .hint("Use a SQL, REST or memory catalog, or commit to one table after the other by table.transaction()")),
        }
    }

    /// Returns the content of `found`, or an error that names the verb and the catalog.
    ///
    /// # Errors
    /// `Unsupported` if `found` is `None`.
    pub fn required<T>(&self, verb: &str, found: Option<T>) -> Result<T> {
        found.ok_or_else(|| {
            Error::unsupported(format!("{verb}: not with this catalog"))
                .with("catalog", self.name())
                .hint("docs/guide/catalogs.md says what each type of catalog can do")
        })
    }
}

/// Error for a new table of a format that a catalog does not have.
pub fn other_format(catalog: &dyn Catalog, format: &TableFormat) -> Error {
    Error::unsupported(format!("this catalog can't have tables of {}", format.name))
        .with("catalog", catalog.name())
        .hint("A catalog of type='filesystem' has tables of every format")
}
