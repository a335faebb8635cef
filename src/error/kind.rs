//! The kinds of errors.

/// What went wrong, as far as a caller may want to act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A table, file, snapshot, reference or namespace does not exist.
    NotFound,
    /// What should be created exists already.
    AlreadyExists,
    /// The caller's argument is wrong: a filter, a column name, a schema, an option.
    InvalidInput,
    /// Bytes of the table contradict the specification: torn, truncated, lying or not what they claim to be.
    CorruptTable,
    /// The table or the request needs something that Frazil does not do (yet).
    Unsupported,
    /// Another commit came first and the operation can't be re-applied.
    CommitConflict,
    /// The commit may or may not have happened; nothing was cleaned up.
    CommitStateUnknown,
    /// The store refused access.
    PermissionDenied,
    /// The store failed otherwise.
    Store,
    /// A broken invariant of Frazil itself.
    Internal,
}

impl ErrorKind {
    /// The kind of this name.
    pub fn of_name(name: &str) -> Option<ErrorKind> {
        use ErrorKind::{
            AlreadyExists, CommitConflict, CommitStateUnknown, CorruptTable, Internal, InvalidInput, NotFound,
            PermissionDenied, Store, Unsupported,
        };
        let all = [
            NotFound,
            AlreadyExists,
            InvalidInput,
            CorruptTable,
            Unsupported,
            CommitConflict,
            CommitStateUnknown,
            PermissionDenied,
            Store,
            Internal,
        ];
        all.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The kind in snake case, as Python shows it in `.kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "not_found",
            ErrorKind::AlreadyExists => "already_exists",
            ErrorKind::InvalidInput => "invalid_input",
            ErrorKind::CorruptTable => "corrupt_table",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::CommitConflict => "commit_conflict",
            ErrorKind::CommitStateUnknown => "commit_state_unknown",
            ErrorKind::PermissionDenied => "permission_denied",
            ErrorKind::Store => "store",
            ErrorKind::Internal => "internal",
        }
    }
}
