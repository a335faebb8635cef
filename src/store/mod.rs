//! Storage: the only place for files, network and asynchronous code.
//!
//! [`Store`] is what the rest of the crate sees: whole reads, range reads, writes that never replace a file, listing,
//! deletion. [`open_store`] opens the store of a location. [`local`] is for local files and [`object`] for object
//! stores. [`location`] turns what tables record (`file:` URIs, plain paths, moved tables) into what a store opens.
//! [`database`] is for SQL catalogs.

mod connect;
pub mod database;
mod failure;
mod files;
pub mod local;
pub mod location;
pub mod object;
mod object_handle;
mod object_writer;
mod open;
pub mod options;
mod place;
mod put_once;
mod ranges;
mod runtime;
#[cfg(test)]
pub(crate) mod testing;

pub use files::{Fetching, FileInfo, Store, StoreWriter, in_parallel};
pub use location::{Location, Relocation};
pub use open::open_store;
pub use options::StoreOptions;
