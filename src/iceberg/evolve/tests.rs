//! Evolutions of a table's metadata.
