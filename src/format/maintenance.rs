//! Options of maintenance as plain data.

use std::collections::BTreeMap;

/// What to do about a listed file whose path is recorded with another scheme or authority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrefixMismatch {
    /// Nothing is deleted.
    #[default]
    Error,
    /// It stays.
    Ignore,
    /// It is an orphan.
    Delete,
}

/// Which files to remove.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OrphanOptions {
    /// Files changed then or later stay: milliseconds since the epoch; three days ago if none.
    pub older_than_ms: Option<i64>,
    /// The folder to look in; the table's if none.
    pub location: Option<String>,
    /// Only tell what would go.
    pub dry_run: bool,
    /// Files recorded under another scheme or authority.
    pub prefix_mismatch: PrefixMismatch,
    /// Schemes that mean the same as others, several separated by commas: `s3a,s3n` → `s3` holds always.
    pub equal_schemes: BTreeMap<String, String>,
    /// Authorities that mean the same as others.
    pub equal_authorities: BTreeMap<String, String>,
}

/// How to expire snapshots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpireOptions {
    /// What expires.
    pub expiry: Expiry,
    /// Only tell what would go.
    pub dry_run: bool,
    /// Leave the files; orphan removal finds them later.
    pub keep_files: bool,
}

/// What to expire. What a reference says of itself goes before this, and this before the table's properties.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expiry {
    /// Snapshots made before are too old: milliseconds since the epoch.
    pub older_than_ms: Option<i64>,
    /// How many of its newest snapshots a branch keeps in any case; 1 or more.
    pub retain_last: Option<i64>,
    /// Snapshots that go whatever their age. None of them may be that of a reference which stays.
    pub snapshot_ids: Vec<i64>,
}
