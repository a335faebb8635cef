//! Types and casts of data files that Paimon writes.

pub(crate) mod declared_cast;
pub(crate) mod declared_text;
pub mod stored;
