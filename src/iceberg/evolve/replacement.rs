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

/// A definition with the ids of a table's columns and partition fields.
#[derive(Clone, Debug)]
pub struct ReplacementPlan {
    format_version: u8,
    schema: Schema,
    fields: Vec<PartitionField>,
    sort_fields: Vec<SortField>,
    properties: BTreeMap<String, String>,
    /// The highest ids of columns and partition fields, with those of the plan and before it.
    last_ids: (i32, i32),
    last_ids_before: (i32, i32),
}

impl Replacement {
    /// The ids of the definition in a table. A column keeps its id if the current schema has a column of its name.
    /// Others get new ids.
    ///
    /// # Errors
    /// `InvalidInput` for a wrong schema, spec, order or property.
    pub fn plan(&self, base: &TableMetadata) -> Result<ReplacementPlan> {
        let format_version = format_version_of(&self.properties, base.format_version)?;
        let (fresh, last_column_id) = assign_ids_like(&self.schema, base.schema()?, base.last_column_id)?;
        check_schema(&fresh.schema, format_version)?;
        // As in Java, the version before an upgrade decides about the fields of the spec.
        let fields = spec_fields(base, &self.spec, &fresh)?;
        check_new_spec(&fields, &fresh.schema, base.format_version)?;
        let before = base.highest_partition_id();
        let last_partition_id = fields.iter().map(|field| field.field_id).fold(before, i32::max);
        Ok(ReplacementPlan {
            format_version,
            sort_fields: order_fields(&self.sort_order, &fresh)?,
            schema: fresh.schema,
            fields,
            properties: kept_properties(&self.properties),
            last_ids: (last_column_id, last_partition_id),
            last_ids_before: (base.last_column_id, before),
        })
    }

    /// The metadata of `base` with this definition.
    ///
    /// # Errors
    /// As [`Replacement::plan`].
    pub fn apply(&self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        self.plan(base)?.apply(base, now_ms)
    }
}

impl ReplacementPlan {
    /// Whether files that were written by this plan fit the other one.
    pub fn is_like(&self, other: &ReplacementPlan) -> bool {
        self.schema.fields == other.schema.fields && self.fields == other.fields
    }

    /// Whether the plan can be applied to a version: that has the plan already, or its new ids are free there.
    pub fn fits(&self, newest: &TableMetadata) -> bool {
        let has_columns = newest.schema().is_ok_and(|schema| schema.fields == self.schema.fields);
        if has_columns && newest.spec().is_ok_and(|spec| spec.fields == self.fields) {
            return true;
        }
        let (columns, fields) = self.last_ids;
        let (columns_before, fields_before) = self.last_ids_before;
        (columns == columns_before || newest.last_column_id == columns_before)
            && (fields == fields_before || newest.highest_partition_id() == fields_before)
    }

    /// The metadata of `base` with the planned definition. The branch `main` is removed. Other branches, tags and
    /// snapshots stay.
    ///
    /// # Errors
    /// `InvalidInput` for a lower format version.
    pub fn apply(&self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        let mut next = base.upgrade_format_version(self.format_version, now_ms)?;
        next = next.set_properties(&self.properties, now_ms)?;
        next.refs.remove(MAIN_BRANCH);
        next.current_snapshot_id = None;
        set_schema(&mut next, &self.schema, self.last_ids.0)?;
        with_sort_order(&with_spec(&next, self.fields.clone())?, self.sort_fields.clone())
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
