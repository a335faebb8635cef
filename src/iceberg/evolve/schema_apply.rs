//! The schema and the table metadata that an update of the schema leads to.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::columns::{dotted, find};
use super::name_mapping::update_name_mapping;
use super::schema::{FieldMove, Pending, ROOT};
use super::union::union_by_name;
use crate::error::{Error, Result};
use crate::format::evolution::ColumnPath;
use crate::format::evolution::{SchemaOperation, SchemaUpdate};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::partition_by::check_source;
use crate::iceberg::spec::schema::check_schema;
use crate::types::{Field, FieldId, PartitionSpec, Schema, SortOrder, Transform, Type};

/// The property with the names that columns have in files without field ids.
const NAME_MAPPING: &str = "schema.name-mapping.default";

/// Properties of single columns: these, then the column's name.
pub(super) const COLUMN_PROPERTIES: [&str; 3] = [
    "write.metadata.metrics.column.",
    "write.parquet.bloom-filter-enabled.column.",
    "write.parquet.stats-enabled.column.",
];

/// The metadata with an update of the schema made.
///
/// An earlier schema of the table that is equal is used again with its id. Properties of renamed columns are renamed,
/// and those of dropped columns are removed. A name mapping gets the new names.
///
/// # Errors
/// `InvalidInput` naming the column and the rule, if an operation or the result is not allowed.
pub(super) fn update_schema(base: &TableMetadata, update: &SchemaUpdate) -> Result<TableMetadata> {
    let pending = pending_of(base, update)?;
    let old = pending.schema;
    let fields = apply_struct(&pending, &old.fields, ROOT)?;
    let unidentified = Schema::new(0, fields.clone(), Vec::new());
    let identifiers = identifiers(&pending, &unidentified)?;
    let mut schema = Schema::new(0, fields, identifiers);
    check_schema(&schema, base.format_version)?;
    check_used_columns(base.spec()?, base.sort_order()?, &schema)?;
    check_partition_names(base, &schema)?;

    let mut next = base.clone();
    next.last_column_id = base.highest_column_id().max(schema.highest_field_id());
    let same = |s: &&Arc<Schema>| s.fields == schema.fields && same_ids(s, &schema);
    next.current_schema_id = match base.schemas.iter().find(same) {
        Some(known) => known.id,
        None => {
            schema.id = base.next_schema_id()?;
            let id = schema.id;
            next.schemas.push(Arc::new(schema.clone()));
            id
        }
    };
    if let Some(mapping) = base.properties.get(NAME_MAPPING)
        && let Some(updated) = update_name_mapping(mapping, &pending)
    {
        next.properties.insert(NAME_MAPPING.to_owned(), updated);
    }
    next.properties = follow_columns(&next.properties, old, &schema);
    Ok(next)
}

/// The effect of an update's operations on the current schema.
fn pending_of<'a>(base: &'a TableMetadata, update: &SchemaUpdate) -> Result<Pending<'a>> {
    let mut pending = Pending::new(base, update)?;
    update.operations.iter().try_for_each(|operation| add_operation(&mut pending, operation))?;
    Ok(pending)
}

fn add_operation(pending: &mut Pending<'_>, operation: &SchemaOperation) -> Result<()> {
    use SchemaOperation as O;
    let (done, path) = match operation {
        O::Add(column) => (pending.add(column), &column.path),
        O::Drop { path } => (pending.drop(path), path),
        O::Rename { path, name } => (pending.rename(path, name), path),
        O::Type { path, ty } => (pending.widen(path, ty), path),
        O::Required { path, required } => (pending.set_required(path, *required), path),
        O::Doc { path, doc } => (pending.set_doc(path, doc.as_deref()), path),
        O::Default { path, default } => (pending.set_default(path, default.as_ref()), path),
        O::Move { path, position } => (pending.move_to(path, position), path),
        O::Identifiers { paths } => {
            pending.identifiers = Some(paths.clone());
            return Ok(());
        }
        O::Union { schema } => return union_by_name(pending, schema),
    };
    done.map_err(|e| e.with("column", dotted(path)))
}

fn same_ids(a: &Schema, b: &Schema) -> bool {
    let sorted = |s: &Schema| {
        let mut ids = s.identifier_field_ids.clone();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    sorted(a) == sorted(b)
}

/// The members of a struct after the update; `of` is the field with this struct type.
fn apply_struct(pending: &Pending<'_>, fields: &[Field], of: FieldId) -> Result<Vec<Field>> {
    let mut out = Vec::with_capacity(fields.len());
    for field in fields.iter().filter(|f| !pending.deletes.contains(&f.id)) {
        out.push(apply_field(pending, field)?);
    }
    for id in pending.added.get(&of).into_iter().flatten() {
        out.extend(pending.updates.get(id).cloned());
    }
    for (id, place) in pending.moves.get(&of).into_iter().flatten() {
        move_field(&mut out, *id, *place)?;
    }
    Ok(out)
}

fn apply_field(pending: &Pending<'_>, field: &Field) -> Result<Field> {
    let updated = pending.updates.get(&field.id).unwrap_or(field);
    // Only a leaf changes its type as a whole; other types change through their members.
    let ty = match field.ty {
        Type::Primitive(_) => updated.ty.clone(),
        _ => apply_type(pending, field)?,
    };
    Ok(Field { ty, ..updated.clone() })
}

fn apply_type(pending: &Pending<'_>, field: &Field) -> Result<Type> {
    let at = |problem: &str| {
        let name = pending.schema.name_of(field.id).unwrap_or_default();
        Err(Error::invalid(problem).with("column", name))
    };
    Ok(match &field.ty {
        Type::Primitive(p) => Type::Primitive(p.clone()),
        Type::Struct(fields) => Type::Struct(apply_struct(pending, fields, field.id)?.into()),
        Type::List(element) => Type::List(Arc::new(apply_field(pending, element)?)),
        Type::Map(key, value) => {
            if apply_field(pending, key)? != **key {
                return at("the keys of a map can't change: equal keys could become different or the reverse");
            }
            Type::Map(key.clone(), Arc::new(apply_field(pending, value)?))
        }
    })
}

fn move_field(fields: &mut Vec<Field>, id: FieldId, place: FieldMove) -> Result<()> {
    let at = |fields: &[Field], id: FieldId| {
        let found = fields.iter().position(|f| f.id == id);
        found.ok_or_else(|| Error::internal(format!("column {id}, which is moved or moved to, is not in its struct")))
    };
    let field = fields.remove(at(fields, id)?);
    let to = match place {
        FieldMove::First => 0,
        FieldMove::Before(other) => at(fields, other)?,
        FieldMove::After(other) => at(fields, other)? + 1,
    };
    fields.insert(to, field);
    Ok(())
}

/// The identifier fields of the new schema: those of the old one, or those that the update names by their new names.
fn identifiers(pending: &Pending<'_>, new: &Schema) -> Result<Vec<FieldId>> {
    let Some(paths) = &pending.identifiers else {
        let kept = &pending.schema.identifier_field_ids;
        return match kept.iter().find(|id| new.field(**id).is_none()) {
            None => Ok(kept.clone()),
            Some(id) => Err(Error::invalid("an identifier field can't be dropped, nor a struct that holds one")
                .with("column", pending.schema.name_of(*id).unwrap_or_default())
                .hint("Set new identifier fields in the same update")),
        };
    };
    let mut out = Vec::new();
    for path in paths {
        let id = identifier(pending, new, path)?;
        if !out.contains(&id) {
            out.push(id);
        }
    }
    Ok(out)
}

fn identifier(pending: &Pending<'_>, new: &Schema, path: &ColumnPath) -> Result<FieldId> {
    let case_sensitive = pending.is_case_sensitive();
    if let Some(field) = find(new, path, case_sensitive)? {
        return Ok(field.id);
    }
    let before = find(pending.schema, path, case_sensitive)?.filter(|f| new.field(f.id).is_some());
    before.map(|f| f.id).ok_or_else(|| {
        Error::invalid(format!("the identifier field '{}' is not among the columns", dotted(path)))
            .with("column", dotted(path))
    })
}

/// Checks that the columns of the current spec and sort order exist, with types that their transforms accept.
pub(super) fn check_used_columns(spec: &PartitionSpec, order: &SortOrder, schema: &Schema) -> Result<()> {
    for field in spec.fields.iter().filter(|f| f.transform != Transform::Void) {
        check_used(schema, field.source_id, &field.transform).map_err(|e| {
            e.with("partition field", &field.name).hint("Remove the partition field first, in an update of its own")
        })?;
    }
    for field in &order.fields {
        check_used(schema, field.source_id, &field.transform)
            .map_err(|e| e.hint("Replace the sort order first, in an update of its own"))?;
    }
    Ok(())
}

fn check_used(schema: &Schema, id: FieldId, transform: &Transform) -> Result<()> {
    match schema.field(id) {
        // Unknown transforms are not checked.
        Some(_) if matches!(transform, Transform::Unknown(_)) => Ok(()),
        Some(field) => check_source(field, transform, schema),
        None => Err(Error::invalid("a column that the table is partitioned or sorted by can't be dropped")),
    }
}

/// No column may have the name of a partition field of another column, in any spec of the table.
fn check_partition_names(base: &TableMetadata, schema: &Schema) -> Result<()> {
    let old = base.schema()?;
    for field in base.partition_specs.iter().flat_map(|s| &s.fields) {
        let Some(column) = schema.find(&field.name.split('.').collect::<Vec<_>>(), true) else { continue };
        let is_new = old.name_of(column.id) != schema.name_of(column.id);
        if is_new && column.id != field.source_id && schema.field(field.source_id).is_some() {
            return Err(Error::invalid(
                "a column can't have the name of a partition field that comes from another column",
            )
            .with("column", &column.name)
            .with("partition field", format!("{} = {}({})", field.name, field.transform, field.source_id)));
        }
    }
    Ok(())
}

/// Properties of single columns, with the columns' new names.
fn follow_columns(properties: &BTreeMap<String, String>, old: &Schema, new: &Schema) -> BTreeMap<String, String> {
    let renamed: BTreeMap<String, Option<String>> = (old.field_ids())
        .filter_map(|id| Some((old.name_of(id)?, new.name_of(id))))
        .filter(|(old, new)| Some(old) != new.as_ref())
        .collect();
    let follow = |(key, value): (&String, &String)| {
        let column = COLUMN_PROPERTIES.iter().find_map(|p| Some((*p, key.strip_prefix(p)?)));
        let key = match column.and_then(|(prefix, name)| Some((prefix, renamed.get(name)?))) {
            None => key.clone(),
            Some((prefix, Some(name))) => format!("{prefix}{name}"),
            Some((_, None)) => return None,
        };
        Some((key, value.clone()))
    };
    properties.iter().filter_map(follow).collect()
}
