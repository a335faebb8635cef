//! Options that name columns. They follow a renamed column; a column that they name can't be dropped.
//!
//! Source: Java's `SchemaManager.applyRenameColumnsToOptions`, `SchemaValidation.validateFieldsPrefix`. In addition,
//! this module renames columns in options that Java leaves unchanged. Java or its writers then refuse the table.

use std::collections::{BTreeMap, HashSet};

use crate::error::{Error, Result};
use crate::paimon::spec::schema::TableSchema;
use crate::types::options::split_names;

/// Options with a list of columns as their value, and whether the table must have these columns.
const LISTS: [(&str, bool); 8] = [
    ("bucket-key", true),
    ("sequence.field", true),
    ("rowkind.field", true),
    ("record-level.time-field", true),
    ("partial-update.remove-record-on-sequence-group", true),
    ("upsert-key", true),
    ("clustering.columns", false),
    ("changelog-producer.row-deduplicate-ignore-fields", false),
];

/// Returns the new name of a column, from its name and whether the table must have it.
type Each<'e> = &'e mut dyn FnMut(&str, bool) -> String;

fn each_of(names: &str, must: bool, each: Each<'_>) -> String {
    if names.trim().is_empty() {
        return names.to_owned();
    }
    split_names(names).into_iter().map(|name| each(name, must)).collect::<Vec<_>>().join(",")
}

/// The new name of a column that may have an index for one key of its maps: `column[key]`.
fn indexed(name: &str, must: bool, each: Each<'_>) -> String {
    match name.split_once('[') {
        Some((column, key)) => format!("{}[{key}", each(column, must)),
        None => each(name, must),
    }
}

/// The option after `each` has replaced the columns that its key and its value name.
fn through(key: &str, value: &str, each: Each<'_>) -> (String, String) {
    if let Some((_, must)) = LISTS.iter().find(|(list, _)| *list == key) {
        return (key.to_owned(), each_of(value, *must, each));
    }
    if let Some((names, option)) = key.strip_prefix("fields.").and_then(|rest| rest.rsplit_once('.')) {
        let key = format!("fields.{}.{option}", each_of(names, true, each));
        // The values of other options name members of the column, as in 'nested-key'.
        let value = if option == "sequence-group" { each_of(value, true, each) } else { value.to_owned() };
        return (key, value);
    }
    let index = key.strip_prefix("file-index.").and_then(|rest| rest.split_once('.'));
    match index.map(|(kind, rest)| (kind, rest, rest.rsplit_once('.'))) {
        Some((_, "columns", _)) => (key.to_owned(), each_of(value, true, &mut |name, must| indexed(name, must, each))),
        // Options of an index that no column has are never read.
        Some((kind, _, Some((column, option)))) => {
            (format!("file-index.{kind}.{}.{option}", indexed(column, false, each)), value.to_owned())
        }
        _ => (key.to_owned(), value.to_owned()),
    }
}

/// The options of a table once one of its columns has another name.
pub(super) fn renamed(options: &BTreeMap<String, String>, old: &str, name: &str) -> BTreeMap<String, String> {
    let follow = |(key, value): (&String, &String)| {
        let mut names_it = false;
        let changed = through(key, value, &mut |column, _| {
            names_it |= column == old;
            if column == old { name.to_owned() } else { column.to_owned() }
        });
        // Other options keep their blanks.
        if names_it { changed } else { (key.clone(), value.clone()) }
    };
    options.iter().map(follow).collect()
}

/// The options that name required columns which the table lacks, with these columns.
fn missing(schema: &TableSchema) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (key, value) in &schema.options {
        through(key, value, &mut |column, must| {
            if must && schema.field(column).is_none() {
                out.push((key.clone(), column.to_owned()));
            }
            column.to_owned()
        });
    }
    out
}

/// Checks that the table has the columns that its options name, except those that the schema before lacked as well.
///
/// # Errors
/// `InvalidInput`, naming option and column.
pub(super) fn check(schema: &TableSchema, before: Option<&TableSchema>) -> Result<()> {
    let known: HashSet<(String, String)> = before.map(missing).unwrap_or_default().into_iter().collect();
    let Some((key, column)) = missing(schema).into_iter().find(|both| !known.contains(both)) else { return Ok(()) };
    let value = schema.options.get(&key).map_or("", String::as_str);
    let error = match before.is_some_and(|before| before.field(&column).is_some() && before.options.contains_key(&key))
    {
        true => Error::invalid(format!("the column '{column}' can't be dropped: the option '{key}' names it"))
            .hint(format!("Change or remove the option '{key}' first")),
        false => {
            let columns: Vec<&str> = schema.fields.iter().map(|f| f.name.as_str()).collect();
            Error::invalid(format!("the option '{key}' names the column '{column}', which the table does not have"))
                .hint(format!("The columns are {}", columns.join(", ")))
        }
    };
    Err(error.with("option", key).with("value", value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_follow_a_column() {
        let of = |options: &[(&str, &str)]| -> BTreeMap<String, String> {
            options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
        };
        let before = of(&[
            ("bucket-key", "a,b"),
            ("sequence.field", "g, a"),
            ("rowkind.field", "a"),
            ("partial-update.remove-record-on-sequence-group", "g,a"),
            ("fields.g,a.sequence-group", "b, c"),
            ("fields.h.sequence-group", "a,d"),
            ("fields.a.aggregate-function", "sum"),
            ("fields.n.nested-key", "a"),
            ("fields.default-aggregate-function", "a"),
            ("file-index.bloom-filter.columns", "a[k],b,a"),
            ("file-index.bloom-filter.a.fpp", "0.1"),
            ("file-index.read.enabled", "true"),
            ("other", "a"),
        ]);
        let after = of(&[
            ("bucket-key", "aa,b"),
            ("sequence.field", "g,aa"),
            ("rowkind.field", "aa"),
            ("partial-update.remove-record-on-sequence-group", "g,aa"),
            ("fields.g,aa.sequence-group", "b,c"),
            ("fields.h.sequence-group", "aa,d"),
            ("fields.aa.aggregate-function", "sum"),
            ("fields.n.nested-key", "a"),
            ("fields.default-aggregate-function", "a"),
            ("file-index.bloom-filter.columns", "aa[k],b,aa"),
            ("file-index.bloom-filter.aa.fpp", "0.1"),
            ("file-index.read.enabled", "true"),
            ("other", "a"),
        ]);
        assert_eq!(renamed(&before, "a", "aa"), after);
        assert_eq!(renamed(&after, "none", "x"), after);
    }
}
