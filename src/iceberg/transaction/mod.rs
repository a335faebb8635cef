//! Several changes in one commit.
//!
//! - `pending`: several changes in one commit

pub(crate) mod pending;
