//! Replacing a table: another schema, spec and sort order, no rows. The table's identity, snapshots and tags stay.
//!
//! Source: Java's `TableMetadata.buildReplacement`, `TypeUtil.assignFreshIds`, `UpdateRequirements.forReplaceTable`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::partition::{check_new_spec, with_spec};
use super::sort_order::with_sort_order;
use crate::error::{Error, Result};
use crate::iceberg::spec::metadata::{MAIN_BRANCH, TableMetadata};
use crate::iceberg::spec::metadata_build::{format_version_of, kept_properties};
use crate::iceberg::spec::schema::{FreshSchema, assign_ids_like, check_schema};
use crate::types::{FieldId, PartitionField, PartitionSpec, Schema, SortField, SortOrder, Transform};

/// The new definition of a table. The spec and the sort order name columns by the ids of `schema`.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// The columns, with any ids.
    pub schema: Schema,
    /// The partition spec.
    pub spec: PartitionSpec,
    /// The sort order.
    pub sort_order: SortOrder,
    /// Properties to set. Others stay.
    pub properties: BTreeMap<String, String>,
}

impl Replacement {
    /// The metadata of `base` with this definition. A column keeps its id if the current schema has a column of its
    /// name. Others get new ids. The branch `main` is removed. Other branches, tags and snapshots stay.
    ///
    /// # Errors
    /// `InvalidInput` for a wrong schema, spec, order or property.
    pub fn apply(&self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        let version = format_version_of(&self.properties, base.format_version)?;
        let (fresh, last_column_id) = assign_ids_like(&self.schema, base.schema()?, base.last_column_id)?;
        check_schema(&fresh.schema, version)?;
        // As in Java, the version before an upgrade decides about the fields of the spec.
        let fields = spec_fields(base, &self.spec, &fresh)?;
        let mut next = base.upgrade_format_version(version, now_ms)?;
        next = next.set_properties(&kept_properties(&self.properties), now_ms)?;
        next.refs.remove(MAIN_BRANCH);
        next.current_snapshot_id = None;
        set_schema(&mut next, &fresh.schema, last_column_id)?;
        check_new_spec(&fields, next.schema()?, base.format_version)?;
        let next = with_spec(&next, fields)?;
        with_sort_order(&next, order_fields(&self.sort_order, &fresh)?)
    }
}

/// Makes a schema the current one. An equal schema of the table is used again.
fn set_schema(next: &mut TableMetadata, schema: &Schema, last_column_id: FieldId) -> Result<()> {
    let identifiers = |schema: &Schema| schema.identifier_field_ids.iter().copied().collect::<HashSet<FieldId>>();
    let alike = |known: &Schema| known.fields == schema.fields && identifiers(known) == identifiers(schema);
    let known = next.schemas.iter().find(|known| alike(known)).map(|known| known.id);
    next.current_schema_id = match known {
        Some(id) => id,
        None => {
            let id = next.next_schema_id()?;
            let ids = schema.identifier_field_ids.clone();
            next.schemas.push(Arc::new(Schema::new(id, schema.fields.clone(), ids)));
            id
        }
    };
    next.last_column_id = next.last_column_id.max(last_column_id);
    Ok(())
}

fn new_id(fresh: &FreshSchema, old: FieldId) -> Result<FieldId> {
    let lost = || Error::invalid(format!("the source column {old} is not in the schema"));
    fresh.ids.get(&old).copied().ok_or_else(lost)
}

/// The fields of the new spec. A field with the source and transform of an earlier one has its id. Version 1 keeps all
/// fields of the current spec in their places: those that are gone become `void`.
fn spec_fields(base: &TableMetadata, spec: &PartitionSpec, fresh: &FreshSchema) -> Result<Vec<PartitionField>> {
    let mut last = base.highest_partition_id();
    let mut next_id = || {
        last = last.checked_add(1).ok_or_else(|| Error::invalid("the table has no partition ids left"))?;
        Ok::<i32, Error>(last)
    };
    let mut wanted = Vec::with_capacity(spec.fields.len());
    for field in &spec.fields {
        wanted.push(PartitionField { source_id: new_id(fresh, field.source_id)?, ..field.clone() });
    }
    let mut out = Vec::with_capacity(wanted.len());
    if base.format_version > 1 {
        let mut known: HashMap<(FieldId, Transform), i32> = HashMap::new();
        for field in base.partition_specs.iter().flat_map(|spec| &spec.fields) {
            let id = known.entry((field.source_id, field.transform.clone())).or_insert(field.field_id);
            *id = field.field_id.max(*id);
        }
        for field in wanted {
            let field_id = match known.get(&(field.source_id, field.transform.clone())) {
                Some(id) => *id,
                None => next_id()?,
            };
            out.push(PartitionField { field_id, ..field });
        }
        return Ok(out);
    }
    let names: HashSet<String> = wanted.iter().map(|field| field.name.clone()).collect();
    for old in &base.spec()?.fields {
        let same = |new: &PartitionField| new.source_id == old.source_id && new.transform == old.transform;
        out.push(match wanted.iter().position(same) {
            Some(at) => PartitionField { field_id: old.field_id, ..wanted.remove(at) },
            None if names.contains(&old.name) => {
                let name = format!("{}_{}", old.name, old.field_id);
                PartitionField { name, transform: Transform::Void, ..old.clone() }
            }
            None => PartitionField { transform: Transform::Void, ..old.clone() },
        });
    }
    for field in wanted {
        out.push(PartitionField { field_id: next_id()?, ..field });
    }
    Ok(out)
}

fn order_fields(order: &SortOrder, fresh: &FreshSchema) -> Result<Vec<SortField>> {
    let fields = order.fields.iter();
    fields.map(|field| Ok(SortField { source_id: new_id(fresh, field.source_id)?, ..field.clone() })).collect()
}
