//! Several changes in one commit.
//!
//! - `creation`: transactions that create their table
//! - `pending`: several changes in one commit
//! - `replacement`: transactions that replace their table
//! - `several_tables`: changes of several tables of a catalog in one commit

mod creation;
pub(crate) mod pending;
mod replacement;
pub(crate) mod several_tables;
