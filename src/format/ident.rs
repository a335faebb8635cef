//! Names of tables and namespaces.

use std::fmt;

use crate::error::{Error, Result};

/// A table's name in its namespace: `db.events` is `events` in `db`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableIdent {
    /// The namespace's levels; at least one.
    pub namespace: Vec<String>,
    /// The table's own name.
    pub name: String,
}

impl TableIdent {
    /// Reads `namespace.name`, the namespace of one or more levels.
    ///
    /// # Errors
    /// `InvalidInput` if the namespace is missing or a part is not a valid name.
    pub fn parse(text: &str) -> Result<TableIdent> {
        let mut parts = parse_namespace(text)?;
        match parts.pop() {
            Some(name) if !parts.is_empty() => Ok(TableIdent { namespace: parts, name }),
            _ => Err(Error::invalid(format!("'{text}' is not the name of a table in a namespace"))
                .hint("Write: namespace.table")),
        }
    }
}

impl fmt::Display for TableIdent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.namespace.join("."), self.name)
    }
}

/// Reads the dotted levels of a namespace.
///
/// # Errors
/// `InvalidInput` if a level is not a valid name.
pub fn parse_namespace(text: &str) -> Result<Vec<String>> {
    let levels: Vec<String> = text.split('.').map(str::to_owned).collect();
    levels.iter().try_for_each(|level| check_name(level))?;
    Ok(levels)
}

/// Whether a name can be that of one folder: not empty, `.` or `..`, no slash, backslash or control character.
///
/// # Errors
/// `InvalidInput` if not.
pub fn check_name(name: &str) -> Result<()> {
    let problem = match name {
        "" => Some("is empty"),
        "." | ".." => Some("is a relative path"),
        _ if name.contains(['/', '\\']) => Some("contains a slash"),
        _ if name.contains(char::is_control) => Some("contains a control character"),
        _ => None,
    };
    match problem {
        None => Ok(()),
        Some(problem) => Err(Error::invalid(format!("a name {problem}")).with("name", name.escape_debug())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_folders() {
        let t = TableIdent::parse("a.b.t").unwrap();
        assert_eq!((t.namespace.as_slice(), t.name.as_str()), (["a".to_owned(), "b".to_owned()].as_slice(), "t"));
        assert_eq!(t.to_string(), "a.b.t");
        for bad in ["", "t", "a.", ".t", "a..t", "a./t", "a.b/c", "a.\0", "a.b\\c"] {
            assert!(TableIdent::parse(bad).is_err(), "{bad:?}");
        }
        assert!(check_name("..").is_err());
    }
}
