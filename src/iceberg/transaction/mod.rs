//! Several changes in one commit.
//!
//! - `creation`: transactions that create their table
//! - `pending`: several changes in one commit
//! - `several_tables`: changes of several tables of a catalog in one commit

mod creation;
pub(crate) mod pending;
pub(crate) mod several_tables;
