//! Several changes in one commit.
//!
//! - `pending`: several changes in one commit
//! - `several_tables`: changes of several tables of a catalog in one commit

pub(crate) mod pending;
pub(crate) mod several_tables;
