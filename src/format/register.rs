//! The register of a catalog that knows tables by name. It holds each table's current metadata file and the properties
//! of namespaces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::format::ident::TableIdent;

/// The switch of one table, among several that are made at once.
#[derive(Clone, Copy, Debug)]
pub struct TableSwap<'a> {
    /// The table.
    pub table: &'a TableIdent,
    /// The metadata file that must be the current one.
    pub from: &'a str,
    /// The metadata file that becomes the current one. `None` if the table stays as it is.
    pub to: Option<&'a str>,
}

/// A register that switches several tables at once.
pub trait JointSwaps {
    /// Makes all switches if each `from` is the current file. Returns whether it did. Otherwise nothing changes.
    ///
    /// # Errors
    /// As [`TableRegister::swap`].
    fn swap_all(&self, swaps: &[TableSwap<'_>]) -> Result<bool>;
}

/// A register. Each method is atomic.
pub trait TableRegister: Send + Sync + std::fmt::Debug {
    /// A table's current metadata file. `None` if the table does not exist.
    ///
    /// # Errors
    /// Here and below: errors of the register's storage; `CorruptTable` for a table without a metadata file.
    fn location(&self, table: &TableIdent) -> Result<Option<String>>;

    /// Names of other catalogs in the same storage that have a table of this name.
    fn others_with(&self, _table: &TableIdent) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Checks that the register can be reached, and creates it if necessary.
    fn prepare(&self) -> Result<()>;

    /// Adds a table.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken; `CommitStateUnknown` if the result is unknown.
    fn insert(&self, table: &TableIdent, location: &str) -> Result<()>;

    /// Makes `to` the current metadata file if `from` is the current one. Returns whether it did.
    ///
    /// # Errors
    /// `CommitStateUnknown` if the result is unknown. After every other error, nothing was changed.
    fn swap(&self, table: &TableIdent, from: &str, to: &str) -> Result<bool>;

    /// Switches several tables at once. `None` if the register can't.
    fn joint_swaps(&self) -> Option<&dyn JointSwaps> {
        None
    }

    /// Removes a table. Returns whether it existed.
    fn remove(&self, table: &TableIdent) -> Result<bool>;

    /// Removes a table if `at` is its current metadata file. Returns whether it did. A register that can't compare and
    /// remove in one step compares first.
    fn remove_at(&self, table: &TableIdent, at: &str) -> Result<bool> {
        Ok(self.location(table)?.as_deref() == Some(at) && self.remove(table)?)
    }

    /// Renames a table. Returns whether it existed.
    ///
    /// # Errors
    /// `AlreadyExists` if the new name is taken.
    fn rename(&self, from: &TableIdent, to: &TableIdent) -> Result<bool>;

    /// Lists the tables directly in a namespace, sorted by name.
    fn tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>>;

    /// Lists the given namespace and all below it that have properties or tables. An empty `below` lists all.
    fn namespaces(&self, below: &[String]) -> Result<BTreeSet<Vec<String>>>;

    /// Whether anything directly in a namespace (table, view or namespace) has this name.
    fn is_used(&self, namespace: &[String]) -> Result<bool>;

    /// A namespace's properties.
    fn properties(&self, namespace: &[String]) -> Result<BTreeMap<String, String>>;

    /// Adds a namespace with at least one property.
    ///
    /// # Errors
    /// `AlreadyExists` if the namespace already has one of the properties.
    fn create(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()>;

    /// Removes properties of a namespace and sets others.
    fn set_properties(&self, namespace: &[String], removed: &[String], set: &BTreeMap<String, String>) -> Result<()>;

    /// Removes all properties of a namespace. This removes the namespace if it has no tables.
    fn clear_properties(&self, namespace: &[String]) -> Result<()>;

    /// Whether the register exists only in this process, so that no other process can use it.
    fn is_of_this_process(&self) -> bool;
}

/// Opens the register of a catalog by a library of another language. The arguments are the catalog's name and
/// properties.
pub type OpenRegister = fn(&str, &BTreeMap<String, String>) -> Result<Arc<dyn TableRegister>>;

/// The function that opens catalogs by a library, once one is known.
static LIBRARY: OnceLock<OpenRegister> = OnceLock::new();

/// Makes a library's catalogs known to this process. The first call counts.
pub fn set_library(open: OpenRegister) {
    let _ = LIBRARY.set(open);
}

/// The register of a catalog that a library knows. Python sets the library.
///
/// # Errors
/// `Unsupported` without a library; errors of the library.
pub fn library_register(name: &str, properties: &BTreeMap<String, String>) -> Result<Arc<dyn TableRegister>> {
    let open = LIBRARY.get().ok_or_else(|| Error::unsupported("catalogs of this type need Python and PyIceberg"))?;
    open(name, properties)
}
