//! The register of a catalog that knows tables by name: which metadata file is a table's current one, and which namespaces
//! have which properties.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::format::ident::TableIdent;

/// A register. Its methods are atomic each.
pub trait TableRegister: Send + Sync + std::fmt::Debug {
    /// A table's current metadata file; none if there is no such table.
    ///
    /// # Errors
    /// Here and below, those of what keeps the register; `CorruptTable` for a table without a metadata file.
    fn location(&self, table: &TableIdent) -> Result<Option<String>>;

    /// Makes sure that the register can be asked, and makes it if need be.
    fn prepare(&self) -> Result<()>;

    /// Adds a table.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken; `CommitStateUnknown` if it can't be told whether it was added.
    fn insert(&self, table: &TableIdent, location: &str) -> Result<()>;

    /// Makes `to` the current metadata file if `from` is; says whether it was.
    ///
    /// # Errors
    /// `CommitStateUnknown` if it can't be told; after every other error, nothing was changed.
    fn swap(&self, table: &TableIdent, from: &str, to: &str) -> Result<bool>;

    /// Removes a table; says whether it was there.
    fn remove(&self, table: &TableIdent) -> Result<bool>;

    /// Gives a table another name; says whether it was there.
    ///
    /// # Errors
    /// `AlreadyExists` if the other name is taken.
    fn rename(&self, from: &TableIdent, to: &TableIdent) -> Result<bool>;

    /// The tables directly in a namespace, by name.
    fn tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>>;

    /// Namespaces that have properties or tables: the given one and all below it; of no levels, all.
    fn namespaces(&self, below: &[String]) -> Result<BTreeSet<Vec<String>>>;

    /// Whether something directly in a namespace, of whatever kind, has a name.
    fn is_used(&self, namespace: &[String]) -> Result<bool>;

    /// A namespace's properties.
    fn properties(&self, namespace: &[String]) -> Result<BTreeMap<String, String>>;

    /// Adds a namespace with at least one property.
    ///
    /// # Errors
    /// `AlreadyExists` if it has one of them already.
    fn create(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()>;

    /// Removes properties of a namespace and sets others.
    fn set_properties(&self, namespace: &[String], removed: &[String], set: &BTreeMap<String, String>) -> Result<()>;

    /// Removes a namespace's properties, and so the namespace if no table is in it.
    fn clear_properties(&self, namespace: &[String]) -> Result<()>;

    /// Whether the register ends with this process, so that no other can ask it.
    fn is_of_this_process(&self) -> bool;
}
