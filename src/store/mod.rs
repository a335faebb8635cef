//! Storage: the only place for files, network and asynchronous code.
//!
//! [`Store`] is what the rest of the crate sees: whole reads, range reads, writes that never replace a file, listing,
//! deletion. [`open_store`] opens the store of a location. [`local`] is for local files and [`object`] for object
//! stores. [`location`] turns what tables record (`file:` URIs, plain paths, moved tables) into what a store opens.
//! [`database`] is for SQL catalogs.
//!
//! - `cleaning`: cleaning up after a call that failed, which a cancelled call soon leaves
//! - `connect`: makes clients of object stores from options and environment variables
//! - `credentials`: credentials that are granted for a time, and renewed before they expire
//! - `disk`: local files that survive a crash: the steps of writing one, and the common sync of many
//! - `failure`: errors of object stores, in the words of this crate and without secrets
//! - `far_testing`: a store for tests that is far away, which notes requests and their round trips
//! - `files`: the traits of a store of files
//! - `foreign`: stores and credentials that live in another language
//! - `http`: requests to services over HTTP
//! - `limits`: how much of a file is read at once, and memory only for bytes that have arrived
//! - `object_handle`: one object of an object store, and the requests for it
//! - `object_writer`: writes an object of any size: in parts, several at the same time
//! - `open`: opens the store of a location
//! - `options`: storage options: their names in PyIceberg, Java, `object_store` and Polars, and their meaning
//! - `place`: where an object is: service, account, bucket and key, from the URI that a table records
//! - `put_once`: makes an object only if nobody else has made it: the atomic publish of a commit
//! - `ranges`: which requests to make for ranges of a file: close ranges are joined, and large ones are split
//! - `runtime`: the asynchronous runtime of network stores, and how blocking calls wait for it
//! - `small_files`: a store whose small files are requested before they are opened
//! - `testing`: A local store for tests, which can hook some of its calls

mod cleaning;
mod connect;
mod connections;
pub mod credentials;
pub mod database;
pub(crate) mod disk;
mod failure;
#[cfg(test)]
pub(crate) mod far_testing;
mod files;
mod foreign;
pub(crate) mod http;
mod limits;
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
mod small_files;
#[cfg(test)]
pub(crate) mod testing;

pub use cleaning::finish_cleaning;
pub use disk::Unsynced;
pub use files::{Fetching, FileInfo, FilesAhead, Store, StoreWriter, delete_all, in_parallel};
pub use foreign::{ForeignMakers, GivenHeaders, set_makers};
pub use http::show_requests;
pub use limits::LONGEST_HINT;
pub use location::{Location, Relocation};
pub use open::open_store;
pub use options::StoreOptions;
pub use small_files::SmallFiles;
