//! The only place that names both formats: opens tables and catalogs of either.

pub mod catalog;
pub mod doctor;
#[cfg(test)]
mod durability_tests;
pub mod open;
pub mod reopen;
#[cfg(test)]
mod toy;
mod warehouse;
