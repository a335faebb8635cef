//! Changes of a table's schema. Each one creates the next schema file; only one writer can create it.
//!
//! Source: Java's `SchemaManager` and `SchemaChange`.

use super::field_ids::{next_schema_id, renumbered, renumbered_type};
use super::filesystem::TableFolder;
use super::named_columns;
use super::new_schema::checked;
use super::warehouse::put_schema;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::paimon::manifest::index_manifest::{IndexEntry, read_index_manifest};
use crate::paimon::spec::data_type::{DataField, DataType, TypeKind};
use crate::paimon::spec::schema::{SchemaParts, TableSchema};
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::parallel::count_attempt;
use crate::types::options::Options;
use crate::types::temporal::now_ms;

/// How often a new schema is tried while other writers make schemas too.
///
/// The loop of commits would not fit here. The store creates the one file of a schema, or reports that it already
/// exists. Nothing else was written, so there is nothing to look for or to remove. The next attempt needs no wait.
const ATTEMPTS: usize = 100;

/// The deepest nesting of types.
const MAX_DEPTH: usize = 64;

/// Options that a table with data must keep.
const IMMUTABLE: [&str; 17] = [
    "aggregation.remove-record-on-delete",
    "blob-descriptor-field",
    "blob-external-storage-field",
    "blob-external-storage-path",
    "blob-field",
    "bucket-function.type",
    "bucket-key",
    "data-evolution.enabled",
    "data-file.path-directory",
    "force-lookup",
    "index-file-in-data-file-dir",
    "merge-engine",
    "partial-update.remove-record-on-delete",
    "partial-update.remove-record-on-sequence-group",
    "pk-clustering-override",
    "row-tracking.enabled",
    "rowkind.field",
];

/// The new position of a column among its siblings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ColumnPosition {
    First,
    Last,
    After(String),
    Before(String),
}

/// One change of a schema. A path names a column: through the names of a row's members, `element` of arrays, and
/// `value` of maps.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum SchemaChange {
    SetOption(String, String),
    RemoveOption(String),
    SetComment(Option<String>),
    AddColumn {
        path: Vec<String>,
        ty: DataType,
        comment: Option<String>,
        position: Option<ColumnPosition>,
    },
    RenameColumn {
        path: Vec<String>,
        name: String,
    },
    DropColumn {
        path: Vec<String>,
    },
    /// Nulls stay as they are.
    SetType {
        path: Vec<String>,
        ty: DataType,
    },
    SetNullable {
        path: Vec<String>,
        nullable: bool,
    },
    SetColumnComment {
        path: Vec<String>,
        comment: Option<String>,
    },
    SetDefault {
        path: Vec<String>,
        value: Option<String>,
    },
    Move {
        column: String,
        position: ColumnPosition,
    },
}

impl TableFolder {
    /// As [`TableFolder::alter_checked`], without a check.
    #[cfg(test)]
    pub(crate) fn alter(&self, changes: &[SchemaChange]) -> Result<TableSchema> {
        self.alter_checked(changes, &|_, _| Ok(()))
    }

    /// Changes the branch's schema if `check` returns no error. `check` gets the current schema and the new one. Makes
    /// all changes in their order, or none. Returns the new schema.
    ///
    /// # Errors
    /// `InvalidInput`, naming the change that can't be made; `CommitConflict` if others change the schema all the time;
    /// those of `check` and of the store.
    pub fn alter_checked(
        &self,
        changes: &[SchemaChange],
        check: &dyn Fn(&TableSchema, &TableSchema) -> Result<()>,
    ) -> Result<TableSchema> {
        for attempt in 0..ATTEMPTS {
            count_attempt(attempt == 0);
            let current = self.latest_schema()?;
            let latest = self.latest_snapshot()?;
            let has_snapshots = latest.is_some();
            let mut parts = current.parts();
            parts.id = next_schema_id(parts.id)?;
            parts.highest_field_id = self.highest_field_id(&current)?;
            parts.time_ms = now_ms();
            for change in changes {
                apply(&mut parts, &current, change, has_snapshots)?;
            }
            let next = checked(parts, Some(&current))?;
            check(&current, &next)?;
            self.check_vectors(&current, &next, latest.as_ref())?;
            match put_schema(self.store().as_ref(), &self.schema_path(next.id), &next) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
                Ok(()) => return Ok(next),
            }
        }
        Err(Error::conflict("other writers changed the schema each time").with("path", self.root()))
    }

    /// Refuses changes after which readers no longer look for deletion vectors: deleted rows would come back.
    fn check_vectors(&self, current: &TableSchema, next: &TableSchema, latest: Option<&PaimonSnapshot>) -> Result<()> {
        // Another writer may have set a text that is not a truth value. Such a text does not turn them on.
        let has = |schema: &TableSchema| schema.options().deletion_vectors().unwrap_or(false);
        let manifest = latest.and_then(|snapshot| snapshot.index_manifest.as_deref());
        let Some(manifest) = manifest.filter(|_| has(current) && !has(next)) else { return Ok(()) };
        let entries = read_index_manifest(self.manifests(), manifest)?;
        match entries.iter().any(IndexEntry::hides_rows) {
            false => Ok(()),
            true => Err(bad("deletion vectors can't be turned off: rows that they delete would come back")
                .with("option", "deletion-vectors.enabled")
                .hint(
                    "Compact it fully first, so that the rows leave the files: \
                     table.maintain.compact(options={'compaction.delete-ratio-threshold': '0'})",
                )),
        }
    }
}

fn bad(message: impl Into<String>) -> Error {
    Error::invalid(message)
}

fn apply(parts: &mut SchemaParts, old: &TableSchema, change: &SchemaChange, has_snapshots: bool) -> Result<()> {
    match change {
        SchemaChange::SetOption(key, value) => {
            check_option(old, key, Some(value), has_snapshots)?;
            parts.options.insert(key.clone(), value.clone());
            Ok(())
        }
        SchemaChange::RemoveOption(key) => {
            check_option(old, key, None, has_snapshots)?;
            parts.options.remove(key);
            Ok(())
        }
        SchemaChange::SetComment(comment) => {
            parts.comment.clone_from(comment);
            Ok(())
        }
        SchemaChange::AddColumn { path, ty, comment, position } => {
            add(parts, path, ty, (comment.as_ref(), position.as_ref()))
        }
        SchemaChange::RenameColumn { path, name } => rename(parts, path, name),
        SchemaChange::DropColumn { path } => {
            refuse_keys(parts, path, true, "dropped")?;
            with_siblings(&mut parts.fields, path, &mut |siblings, at| {
                if siblings.len() == 1 {
                    return Err(bad("the last column can't be dropped"));
                }
                siblings.remove(at);
                Ok(())
            })
        }
        SchemaChange::SetType { path, ty } => set_type(parts, path, ty),
        SchemaChange::SetNullable { path, nullable } => set_nullable(parts, path, *nullable),
        SchemaChange::SetColumnComment { path, comment } => {
            with_field(&mut parts.fields, path, &mut |field| field.description.clone_from(comment))
        }
        SchemaChange::SetDefault { path, value } => {
            with_field(&mut parts.fields, path, &mut |field| field.default_value.clone_from(value))
        }
        SchemaChange::Move { column, position } => {
            with_siblings(&mut parts.fields, std::slice::from_ref(column), &mut |siblings, from| {
                let field = siblings.remove(from);
                place(siblings, field, Some(position))
            })
        }
    }
}

fn add(
    parts: &mut SchemaParts,
    path: &[String],
    ty: &DataType,
    (comment, position): (Option<&String>, Option<&ColumnPosition>),
) -> Result<()> {
    if !ty.nullable {
        return Err(bad("a new column is null in existing rows").with("column", path.join(".")));
    }
    let mut next = parts.highest_field_id.saturating_add(1);
    let field = renumbered(&DataField::new(0, "", ty.clone()), &mut next)?;
    parts.highest_field_id = next - 1;
    let (name, parent) = path.split_last().ok_or_else(|| bad("a new column needs a name"))?;
    let field = DataField { description: comment.cloned(), name: name.clone(), ..field };
    let insert = |siblings: &mut Vec<DataField>| match siblings.iter().any(|f| f.name == *name) {
        true => Err(bad(format!("the column '{}' already exists", path.join(".")))),
        false => place(siblings, field.clone(), position),
    };
    match parent.split_first() {
        None => insert(&mut parts.fields),
        Some(_) => with_type(&mut parts.fields, parent, &mut |ty| match &ty.kind {
            TypeKind::Row(members) => {
                let mut members = members.to_vec();
                insert(&mut members)?;
                ty.kind = TypeKind::Row(members.into());
                Ok(())
            }
            _ => Err(bad(format!("'{}' has no fields", parent.join(".")))),
        }),
    }
}

fn rename(parts: &mut SchemaParts, path: &[String], name: &str) -> Result<()> {
    with_siblings(&mut parts.fields, path, &mut |siblings, at| {
        if siblings.iter().any(|f| f.name == name) {
            return Err(bad(format!("the column '{name}' already exists")));
        }
        if siblings.get(at).is_some_and(|field| field.ty.has_blobs()) {
            // Files of blobs know their column by its name.
            return Err(bad("columns of type BLOB can't be renamed").with("column", path.join(".")));
        }
        siblings.get_mut(at).into_iter().for_each(|field| name.clone_into(&mut field.name));
        Ok(())
    })?;
    let [old] = path else { return Ok(()) };
    if parts.partition_keys.contains(old) {
        return Err(bad(format!("the partition column '{old}' can't be renamed: folders have its name")));
    }
    parts.primary_keys.iter_mut().filter(|key| *key == old).for_each(|key| name.clone_into(key));
    parts.options = named_columns::renamed(&parts.options, old, name);
    Ok(())
}

fn set_type(parts: &mut SchemaParts, path: &[String], ty: &DataType) -> Result<()> {
    refuse_keys(parts, path, true, "of another type")?;
    let mut next = parts.highest_field_id.saturating_add(1);
    let ty = renumbered_type(ty, &mut next)?;
    with_type(&mut parts.fields, path, &mut |found| {
        if !castable(&found.kind, &ty.kind) {
            return Err(bad(format!("values of the type {found} can't become {ty}")).with("column", path.join(".")));
        }
        found.kind = ty.kind.clone();
        Ok(())
    })?;
    parts.highest_field_id = next - 1;
    Ok(())
}

fn set_nullable(parts: &mut SchemaParts, path: &[String], nullable: bool) -> Result<()> {
    if nullable {
        refuse_keys(parts, path, false, "nullable")?;
    }
    let strict = Options(&parts.options).boolean("alter-column-null-to-not-null.disabled", true)?;
    with_type(&mut parts.fields, path, &mut |found| {
        if strict && found.nullable && !nullable {
            return Err(bad("a column that may have nulls can't become required")
                .with("column", path.join("."))
                .hint("Set the option 'alter-column-null-to-not-null.disabled' to false"));
        }
        found.nullable = nullable;
        Ok(())
    })
}

/// Whether Java casts values of one type to another, if it must.
fn castable(from: &TypeKind, to: &TypeKind) -> bool {
    #[derive(PartialEq, Eq)]
    enum Family {
        Boolean,
        Number,
        Text,
        Bytes,
        Date,
        Time,
        Timestamp,
        Other,
    }
    let family = |kind: &TypeKind| match kind {
        TypeKind::Boolean => Family::Boolean,
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int | TypeKind::BigInt => Family::Number,
        TypeKind::Float | TypeKind::Double | TypeKind::Decimal { .. } => Family::Number,
        TypeKind::Char(_) | TypeKind::VarChar(_) => Family::Text,
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => Family::Bytes,
        TypeKind::Date => Family::Date,
        TypeKind::Time(_) => Family::Time,
        TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_) => Family::Timestamp,
        _ => Family::Other,
    };
    if from == to {
        return true;
    }
    match (family(from), family(to)) {
        (Family::Other, _) | (_, Family::Other) => false,
        (_, Family::Text) | (Family::Text, _) => true,
        (Family::Boolean, Family::Number) | (Family::Number, Family::Boolean) => true,
        (Family::Date, Family::Timestamp) | (Family::Timestamp, Family::Date | Family::Time) => true,
        (Family::Number, Family::Timestamp) => from.integer_bits().is_some(),
        (from, to) => from == to,
    }
}

fn check_option(old: &TableSchema, key: &str, value: Option<&str>, has_snapshots: bool) -> Result<()> {
    let current = old.options.get(key).map(String::as_str);
    if current == value {
        return Ok(());
    }
    if ["primary-key", "partition", "path"].contains(&key) || has_snapshots && IMMUTABLE.contains(&key) {
        return Err(bad(format!("the option '{key}' of a table that has data can't be changed")));
    }
    if key == "bucket" && has_snapshots {
        let bucket = |text: Option<&str>| text.map_or(Some(-1), |t| t.trim().parse::<i32>().ok());
        if bucket(current) == Some(-1) || bucket(value).is_none_or(|n| n < 0) {
            return Err(bad("the buckets of a table that has data can't be added or removed"));
        }
    }
    match has_snapshots {
        // If an option is missing, its default holds.
        true => check_flags(old, key, current, value.unwrap_or("false")),
        false => Ok(()),
    }
}

/// Checks options that are true or false. Some of them can change in one direction only. All are false by default.
fn check_flags(old: &TableSchema, key: &str, current: Option<&str>, value: &str) -> Result<()> {
    let is_true = |text: &str| text.trim().eq_ignore_ascii_case("true");
    let (then, now) = (current.is_some_and(is_true), is_true(value));
    match key {
        "deletion-vectors.enabled" if then != now => {
            match old.options().boolean("deletion-vectors.modifiable", false)? {
                true => Ok(()),
                false => {
                    Err(bad("deletion vectors of a table that has data can't be turned on or off: rows may come back")
                        .hint("Compact it fully, and set the option 'deletion-vectors.modifiable' to true first"))
                }
            }
        }
        "ignore-delete" | "ignore-update-before" if then && !now => {
            Err(bad(format!("the option '{key}' of a table that has data must stay true")))
        }
        _ => Ok(()),
    }
}

/// Keys keep their columns: always partition columns, and with `primary` those of the primary key.
fn refuse_keys(parts: &SchemaParts, path: &[String], everywhere: bool, action: &str) -> Result<()> {
    let [name] = path else { return Ok(()) };
    if parts.primary_keys.contains(name) || everywhere && parts.partition_keys.contains(name) {
        return Err(bad(format!("the column '{name}' is part of a key and can't be {action}")));
    }
    Ok(())
}

fn no_column(path: &[String]) -> Error {
    bad(format!("the table has no column '{}'", path.join(".")))
}

/// Changes the list of fields that a field is in; `change` gets the list and the field's place.
fn with_siblings(
    fields: &mut Vec<DataField>,
    path: &[String],
    change: &mut dyn FnMut(&mut Vec<DataField>, usize) -> Result<()>,
) -> Result<()> {
    let (name, parent) = path.split_last().ok_or_else(|| no_column(path))?;
    let mut here = |fields: &mut Vec<DataField>| {
        let at = fields.iter().position(|f| f.name == *name).ok_or_else(|| no_column(path))?;
        change(fields, at)
    };
    if parent.is_empty() {
        return here(fields);
    }
    with_type(fields, parent, &mut |ty| {
        let TypeKind::Row(members) = &ty.kind else { return Err(no_column(path)) };
        let mut members = members.to_vec();
        here(&mut members)?;
        ty.kind = TypeKind::Row(members.into());
        Ok(())
    })
}

fn with_field(fields: &mut Vec<DataField>, path: &[String], change: &mut dyn FnMut(&mut DataField)) -> Result<()> {
    with_siblings(fields, path, &mut |siblings, at| {
        siblings.get_mut(at).into_iter().for_each(&mut *change);
        Ok(())
    })
}

/// Changes the type of a column, of a member, of elements or values.
fn with_type(
    fields: &mut [DataField],
    path: &[String],
    change: &mut dyn FnMut(&mut DataType) -> Result<()>,
) -> Result<()> {
    let (name, rest) = path.split_first().ok_or_else(|| no_column(path))?;
    let field = fields.iter_mut().find(|f| f.name == *name).ok_or_else(|| no_column(path))?;
    let outer = match path.len() {
        1..=MAX_DEPTH => inside(&mut field.ty, rest, change),
        _ => Err(bad("the column is nested too deep")),
    };
    outer.with("column", path.join("."))
}

fn inside(ty: &mut DataType, path: &[String], change: &mut dyn FnMut(&mut DataType) -> Result<()>) -> Result<()> {
    let Some((name, rest)) = path.split_first() else { return change(ty) };
    match (&mut ty.kind, name.as_str()) {
        (TypeKind::Array(element), "element") => inside(element, rest, change),
        (TypeKind::Map(_, value), "value") => inside(value, rest, change),
        (TypeKind::Row(members), _) => {
            let mut changed = members.to_vec();
            let member = changed.iter_mut().find(|f| f.name == *name).ok_or_else(|| no_column(path))?;
            inside(&mut member.ty, rest, change)?;
            *members = changed.into();
            Ok(())
        }
        _ => Err(no_column(path)),
    }
}

fn place(siblings: &mut Vec<DataField>, field: DataField, position: Option<&ColumnPosition>) -> Result<()> {
    let find = |name: &String| {
        let none = || bad(format!("there is no column '{name}' to place another one next to"));
        siblings.iter().position(|f| f.name == *name).ok_or_else(none)
    };
    let at = match position {
        Some(ColumnPosition::First) => 0,
        Some(ColumnPosition::After(name)) => find(name)? + 1,
        Some(ColumnPosition::Before(name)) => find(name)?,
        Some(ColumnPosition::Last) | None => siblings.len(),
    };
    siblings.insert(at, field);
    Ok(())
}

#[cfg(test)]
#[path = "alter_tests.rs"]
mod tests;
