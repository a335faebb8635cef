//! Several changes in one commit.
//!
//! - `creation`: transactions that create their table
//! - `pending`: several changes in one commit

mod creation;
pub(crate) mod pending;
