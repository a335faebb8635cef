//! Checks of the schema of a new table, and the ids of its columns.
//!
//! Source: Java's `Schema`, `ReassignFieldId`, `SchemaValidation`, as far as tables can be harmed.

use std::collections::HashSet;

use super::field_ids::renumbered;
use super::named_columns;
use crate::error::{Error, Result};
use crate::paimon::manifest::encode::manifest_codec;
use crate::paimon::spec::bucket::POSTPONE_BUCKET;
use crate::paimon::spec::data_type::{DataField, TypeKind};
use crate::paimon::spec::options::MergeEngine;
use crate::paimon::spec::schema::{SchemaParts, TableSchema};
use crate::types::options::Options;

/// Names of columns that files add on their own.
const SYSTEM_NAMES: [&str; 5] = ["_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID"];

/// The prefix of key columns in files.
const KEY_PREFIX: &str = "_KEY_";

fn bad(message: impl Into<String>) -> Error {
    Error::invalid(message)
}

/// The first schema of a table. Columns get new ids. Keys and partitions named by options become those of the schema.
/// Key columns have no nulls. Columns of bytes that the option `blob-field` names are of type BLOB.
///
/// # Errors
/// `InvalidInput` as `check`; if keys are given twice.
pub fn first_schema(mut parts: SchemaParts, now_ms: i64) -> Result<TableSchema> {
    let mut next = 0;
    parts.fields = parts.fields.iter().map(|f| renumbered(f, &mut next)).collect::<Result<_>>()?;
    parts.highest_field_id = next - 1;
    (parts.id, parts.time_ms) = (0, now_ms);
    for (key, list) in [("primary-key", &mut parts.primary_keys), ("partition", &mut parts.partition_keys)] {
        if let Some(text) = parts.options.remove(key) {
            if !list.is_empty() {
                return Err(bad(format!("the table's {key} is given twice: as an argument and as an option")));
            }
            *list = text.split(',').map(|name| name.trim().to_owned()).collect();
        }
    }
    let blobs = Options(&parts.options).list("blob-field").into_iter().map(str::to_owned).collect::<Vec<_>>();
    for name in &blobs {
        let none = || bad(format!("the table has no column '{name}'")).with("option", "blob-field");
        let field = parts.fields.iter_mut().find(|f| f.name == *name).ok_or_else(none)?;
        field.ty.kind = match field.ty.kind {
            TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob => TypeKind::Blob,
            _ => return Err(bad(format!("a column of type {} can't be of type BLOB", field.ty)).with("column", name)),
        };
    }
    for field in parts.fields.iter_mut().filter(|f| parts.primary_keys.contains(&f.name)) {
        field.ty.nullable = false;
    }
    checked(parts, None)
}

/// The checks of a table's options.
const CHECKS: [fn(&TableSchema) -> Result<()>; 5] =
    [check_buckets, check_merging, check_row_tracking, check_blobs, |schema| {
        manifest_codec(schema.options()).map(drop)
    }];

/// The schema of these parts, if a table can have it. Faults in the options of the schema `before` may stay.
/// Otherwise the options of an existing table could not be corrected one by one.
///
/// # Errors
/// `InvalidInput` with the reason.
pub(in crate::paimon) fn checked(parts: SchemaParts, before: Option<&TableSchema>) -> Result<TableSchema> {
    check_names(&parts.fields)?;
    let lists = [("primary key", &parts.primary_keys), ("partition", &parts.partition_keys)];
    for (what, names) in lists {
        let mut seen = HashSet::new();
        for name in names {
            let none = || bad(format!("the {what} names the column '{name}', which the table does not have"));
            let field = parts.fields.iter().find(|f| f.name == *name).ok_or_else(none)?;
            if !seen.insert(name) {
                return Err(bad(format!("the {what} names the column '{name}' twice")));
            }
            if field.ty.to_primitive().is_none() || matches!(field.ty.kind, TypeKind::Variant | TypeKind::Blob) {
                return Err(
                    bad(format!("a column of the type {} can't be in the {what}", field.ty)).with("column", name)
                );
            }
        }
    }
    // The remaining faults would be corruption in a file. Here they are the caller's mistakes.
    let schema = TableSchema::new(parts).map_err(|e| bad(e.message()))?;
    named_columns::check(&schema, before)?;
    for check in CHECKS {
        let Err(wrong) = check(&schema) else { continue };
        let was_wrong = before.and_then(|before| check(before).err());
        if was_wrong.is_none_or(|was| was.to_string() != wrong.to_string()) {
            return Err(wrong);
        }
    }
    Ok(schema)
}

fn check_names(fields: &[DataField]) -> Result<()> {
    let mut seen = HashSet::new();
    for field in fields {
        let name = &field.name;
        if name.trim().is_empty() {
            return Err(bad("a column needs a name"));
        }
        if !seen.insert(name) {
            return Err(bad(format!("two columns have the name '{name}'")));
        }
        if SYSTEM_NAMES.contains(&name.as_str()) || name.starts_with(KEY_PREFIX) {
            return Err(bad(format!("a column can't have the name '{name}': Paimon's files use it")));
        }
    }
    Ok(())
}

fn check_buckets(schema: &TableSchema) -> Result<()> {
    let options = schema.options();
    let bucket = options.bucket()?;
    options.bucket_function()?;
    let keyed = !options.list("bucket-key").is_empty();
    match bucket {
        -1 if schema.has_primary_key() => {
            let split = schema.partition_keys.iter().any(|k| !schema.primary_keys.contains(k));
            if split && keyed {
                return Err(bad("a key over several partitions needs no 'bucket-key'"));
            }
        }
        -1 if keyed => return Err(bad("a 'bucket-key' needs a number of buckets").hint("Set the option 'bucket'")),
        -1 => {}
        POSTPONE_BUCKET if schema.has_primary_key() => {}
        POSTPONE_BUCKET => return Err(bad("only tables with a primary key can postpone buckets (bucket = -2)")),
        n if n < 1 => return Err(bad(format!("a table can't have {n} buckets"))),
        _ if !schema.has_primary_key() && !keyed => {
            return Err(bad("a table without primary key needs a 'bucket-key' to have buckets"));
        }
        _ => {
            let outside = schema.partition_keys.iter().find(|k| !schema.primary_keys.contains(k));
            if let Some(outside) = outside.filter(|_| schema.has_primary_key()) {
                return Err(bad(format!("the primary key must have the partition column '{outside}'"))
                    .hint("Add it to the primary key, or leave out the option 'bucket' to use dynamic buckets"));
            }
        }
    }
    for key in options.list("bucket-key") {
        if schema.partition_keys.iter().any(|k| k == key) {
            return Err(bad(format!("the 'bucket-key' can't have the partition column '{key}'")));
        }
        if schema.has_primary_key() && !schema.primary_keys.iter().any(|k| k == key) {
            return Err(bad(format!("the 'bucket-key' names '{key}', which is not in the primary key")));
        }
        if schema.field(key).is_none_or(|f| f.ty.to_primitive().is_none()) {
            return Err(bad(format!("the column '{key}' can't be in the 'bucket-key'")));
        }
    }
    Ok(())
}

fn check_merging(schema: &TableSchema) -> Result<()> {
    let options = schema.options();
    let engine = options.merge_engine()?;
    let sequence = options.sequence_fields();
    for (i, field) in sequence.iter().enumerate() {
        if options.of_column(field, "aggregate-function").is_some() {
            return Err(bad(format!("the 'sequence.field' {field} can't be aggregated"))
                .with("option", format!("fields.{field}.aggregate-function")));
        }
        if sequence.get(..i).is_some_and(|before| before.contains(field)) {
            return Err(bad(format!("the 'sequence.field' names '{field}' twice")));
        }
        if schema.partition_keys.iter().any(|k| k == field) && sequence.len() == 1 {
            return Err(bad(format!("the partition column '{field}' can't be the 'sequence.field'")));
        }
    }
    if engine == MergeEngine::FirstRow && !sequence.is_empty() {
        return Err(bad("the merge engine first-row takes no 'sequence.field'"));
    }
    let producer = options.get("changelog-producer").unwrap_or("none").to_ascii_lowercase();
    if !["none", "input", "full-compaction", "lookup"].contains(&producer.as_str()) {
        return Err(bad(format!("there is no 'changelog-producer' {producer}")));
    }
    if producer != "none" && !schema.has_primary_key() {
        return Err(bad("a 'changelog-producer' needs a primary key"));
    }
    if engine == MergeEngine::FirstRow && !["none", "lookup"].contains(&producer.as_str()) {
        return Err(bad(format!("the merge engine first-row can't have the 'changelog-producer' {producer}")));
    }
    if options.deletion_vectors()? {
        if !["none", "input", "lookup"].contains(&producer.as_str()) {
            return Err(bad(format!("deletion vectors can't be combined with the 'changelog-producer' {producer}")));
        }
        if engine == MergeEngine::FirstRow {
            return Err(bad("the merge engine first-row needs no deletion vectors"));
        }
    }
    let (least, most) = (options.integer("snapshot.num-retained.min")?, options.integer("snapshot.num-retained.max")?);
    if least.is_some_and(|n| n < 1) || least.unwrap_or(10) > most.unwrap_or(i64::MAX) {
        return Err(bad("'snapshot.num-retained.min' must be from 1 to 'snapshot.num-retained.max'"));
    }
    Ok(())
}

/// Source: Java's `SchemaValidation.validateBlobFields`.
fn check_blobs(schema: &TableSchema) -> Result<()> {
    let blobs = schema.blob_places();
    let Some(first) = blobs.first().and_then(|at| schema.fields.get(*at)) else { return Ok(()) };
    if !schema.options().data_evolution()? {
        return Err(bad("columns of type BLOB need data evolution")
            .with("column", &first.name)
            .hint("Set 'row-tracking.enabled' and 'data-evolution.enabled' to true"));
    }
    match blobs.len() < schema.fields.len() {
        true => Ok(()),
        false => Err(bad("a table needs a column that is not of type BLOB").with("column", &first.name)),
    }
}

fn check_row_tracking(schema: &TableSchema) -> Result<()> {
    let options = schema.options();
    if options.row_tracking()? {
        if options.bucket()? != -1 {
            return Err(bad("rows are tracked only in tables without buckets").hint("Leave the option 'bucket' out"));
        }
        if schema.has_primary_key() {
            return Err(bad("rows are tracked only in tables without primary key"));
        }
    }
    if options.data_evolution()? && !options.row_tracking()? {
        return Err(bad("data evolution needs tracked rows").hint("Set 'row-tracking.enabled' to true"));
    }
    Ok(())
}
