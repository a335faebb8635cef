//! Several changes in one commit.

pub(crate) mod pending;
