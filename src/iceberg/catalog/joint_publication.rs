//! A joint commit: commits to several tables of one catalog, published at once.

use std::sync::Arc;

use super::metadata_pointer::{MetadataPointer, Publication, TableVersion};
use crate::error::Result;
use crate::format::ident::TableIdent;
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::store::Store;

/// The part of a joint commit that one table has.
#[derive(Clone, Copy, Debug)]
pub struct TableCommit<'a> {
    /// The table's identifier in the catalog.
    pub ident: &'a TableIdent,
    /// The store of its files.
    pub store: &'a Arc<dyn Store>,
    /// The pointer to its current version.
    pub versions: &'a dyn MetadataPointer,
    /// The version that the commit was built on.
    pub base: &'a TableVersion,
    /// The commit. Without updates, its requirements must be met all the same.
    pub commit: &'a MetadataCommit,
}

/// A catalog that publishes joint commits.
pub trait JointPublisher: Send + Sync + std::fmt::Debug {
    /// Checks that the catalog takes joint commits. Called before any file is written.
    ///
    /// # Errors
    /// `Unsupported` if the catalog's server does not take them; errors of the server.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Publishes the commits of all tables, or none. Returns the version of each table.
    fn publish(&self, commits: &[TableCommit<'_>]) -> Publication<Vec<TableVersion>>;
}
