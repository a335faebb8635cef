//! The seam between table formats and everything above them.
//!
//! An operation that every format has is a method of [`Table`], [`Scan`] and [`Catalog`]. An operation that some
//! formats lack is an accessor that gives a trait object, or `None`. [`TableFormat::required`] turns `None` into the
//! one refusal: an `Unsupported` error that names the verb and the format, with a hint. [`capabilities`] answers the
//! same question without an error. One dynamic call per call of a user goes through the seam, never one per file or
//! per batch.
//!
//! [`TableFormat::required`]: crate::format::table_format::TableFormat::required

pub mod capabilities;
pub mod catalog;
pub mod scan;
pub mod table;

pub use capabilities::{ScanCapability, TableCapability};
pub use catalog::{
    Catalog, Creations, JointTransaction, JointTransactions, NamespaceProperties, Registration, Renames, Views,
    other_format,
};
pub use scan::{NativeReads, PartedPlans, PlanPart, Scan};
pub use table::{
    ChangesInParts, CherryPicks, FileRewrites, ForeignFiles, MaintenanceInParts, Table, Transaction, Transactions,
    in_use,
};
