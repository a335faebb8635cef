//! Updates of a table's partition spec.
//!
//! The rules are those of the reference (Java's `BaseUpdatePartitionSpec`). Ids of partition fields stay. In format
//! version 1 a removed field becomes `void`. A field that an older spec had is used again with its id.
//!
//! Source: Iceberg specification, "Partitioning", "Partition Evolution".

use crate::format::evolution::{FieldSource, SpecOperation, SpecUpdate};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::columns::{require, same_name};
use super::schema_apply::check_used_columns;
use crate::error::{Error, Result};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::partition::FIRST_PARTITION_FIELD_ID;
use crate::iceberg::spec::partition_by::{PartitionTerm, check_source};
use crate::types::{FieldId, PartitionField, PartitionSpec, Schema, SortOrder, Transform};

fn same_term(existing: &PartitionField) -> Error {
    Error::invalid(format!("the partition field '{}' has this column and transform already", existing.name))
        .hint("Leave it as it is, or rename it")
}

/// The column and transform that a source names.
///
/// # Errors
/// `InvalidInput` for an unknown column or transform, or if the transform does not accept the column's type.
pub(super) fn resolve(source: &FieldSource, schema: &Schema, case_sensitive: bool) -> Result<(FieldId, Transform)> {
    let term = PartitionTerm::parse(&source.term, schema)?;
    if !term.rest.is_empty() {
        return Err(
            Error::invalid(format!("'{}' does not belong here", term.rest.join(" "))).with("text", &source.term)
        );
    }
    let transform = match &source.transform {
        None => term.transform,
        Some(_) if term.transform != Transform::Identity => {
            return Err(Error::invalid("a transform is given twice")
                .with("text", &source.term)
                .hint("Leave out the second one. A name is given as name=…"));
        }
        Some(text) => Transform::parse(text),
    };
    if let Transform::Unknown(name) = &transform {
        return Err(Error::invalid(format!("there is no transform '{name}'"))
            .hint("There are identity, year, month, day, hour, bucket[n], truncate[w] and void"));
    }
    let field = require(schema, &term.column, case_sensitive)?;
    check_source(field, &transform, schema)?;
    Ok((field.id, transform))
}

struct Pending<'a> {
    metadata: &'a TableMetadata,
    schema: &'a Schema,
    spec: &'a PartitionSpec,
    case_sensitive: bool,
    last_id: i32,
    adds: Vec<PartitionField>,
    deletes: HashSet<i32>,
    renames: HashMap<String, String>,
}

/// The metadata with an update of the partition spec made. A spec that the table had before is used again.
///
/// # Errors
/// `InvalidInput` naming the field and the rule.
pub(super) fn update_spec(base: &TableMetadata, update: &SpecUpdate) -> Result<TableMetadata> {
    let (schema, spec) = (base.schema()?.as_ref(), base.spec()?.as_ref());
    if let Some(field) = spec.fields.iter().find(|f| matches!(f.transform, Transform::Unknown(_))) {
        return Err(Error::invalid(format!(
            "a spec with the unknown transform '{}' can't be changed",
            field.transform
        ))
        .with("partition field", &field.name));
    }
    let mut pending = Pending {
        metadata: base,
        schema,
        spec,
        case_sensitive: update.case_sensitive,
        last_id: base.highest_partition_id(),
        adds: Vec::new(),
        deletes: HashSet::new(),
        renames: HashMap::new(),
    };
    for operation in &update.operations {
        match operation {
            SpecOperation::Add { source, name } => {
                pending.add(source, name.as_deref()).map_err(|e| e.with("partition field", &source.term))?;
            }
            SpecOperation::Remove { field } => pending.remove(field).map_err(|e| e.with("partition field", field))?,
            SpecOperation::Rename { name, to } => {
                pending.rename(name, to).map_err(|e| e.with("partition field", name))?;
            }
        }
    }
    let fields = pending.result();
    check_new_spec(&fields, schema, base.format_version)?;
    with_spec(base, fields)
}

/// The metadata with a spec of these fields as the default. An equal spec of the table is used again.
pub(super) fn with_spec(base: &TableMetadata, fields: Vec<PartitionField>) -> Result<TableMetadata> {
    let mut next = base.clone();
    let alike = |spec: &PartitionSpec| {
        spec.fields.len() == fields.len()
            && spec
                .fields
                .iter()
                .zip(&fields)
                .all(|(a, b)| (a.source_id, &a.transform, &a.name) == (b.source_id, &b.transform, &b.name))
    };
    next.default_spec_id = match base.partition_specs.iter().find(|s| alike(s)) {
        Some(known) => known.id,
        None => {
            let id = base.next_spec_id()?;
            let highest = fields.iter().map(|f| f.field_id).max().unwrap_or(FIRST_PARTITION_FIELD_ID - 1);
            next.last_partition_id = base.highest_partition_id().max(highest);
            next.partition_specs.push(Arc::new(PartitionSpec { id, fields }));
            id
        }
    };
    Ok(next)
}

fn is_time(transform: &Transform) -> bool {
    matches!(transform, Transform::Year | Transform::Month | Transform::Day | Transform::Hour)
}

impl Pending<'_> {
    fn by_name(&self, name: &str) -> Option<&PartitionField> {
        self.spec.fields.iter().find(|f| f.name == name)
    }

    fn by_term(&self, source_id: FieldId, transform: &Transform) -> Option<&PartitionField> {
        self.spec.fields.iter().rfind(|f| f.source_id == source_id && f.transform == *transform)
    }

    fn added(&self, name: &str) -> Option<&PartitionField> {
        self.adds.iter().find(|f| f.name == name)
    }

    fn is_free(&self, name: &str) -> bool {
        self.added(name).is_none() && self.by_name(name).is_none_or(|f| self.deletes.contains(&f.field_id))
    }

    fn add(&mut self, source: &FieldSource, name: Option<&str>) -> Result<()> {
        let taken = |f: &PartitionField| Error::invalid(format!("there is a partition field '{}' already", f.name));
        if let Some(field) = name.and_then(|n| self.added(n)) {
            return Err(taken(field));
        }
        let (source_id, transform) = resolve(source, self.schema, self.case_sensitive)?;
        if let Some(existing) = self.by_term(source_id, &transform).cloned() {
            if !self.deletes.remove(&existing.field_id) {
                return Err(same_term(&existing));
            }
            // The field was removed and added again: it stays, perhaps under another name.
            return match name.filter(|name| *name != existing.name) {
                None => Ok(()),
                Some(name) => self.rename(&existing.name, name),
            };
        }
        if let Some(same) = self.adds.iter().find(|f| f.source_id == source_id && f.transform == transform) {
            return Err(same_term(same));
        }
        let field = self.recycled_or_new(source_id, transform, name)?;
        let redundant = self.adds.iter().find(|f| f.source_id == source_id && is_time(&f.transform));
        if let Some(other) = redundant.filter(|_| is_time(&field.transform)) {
            return Err(Error::invalid(format!(
                "it is redundant: there is already '{}', of the same column",
                other.name
            )));
        }
        match self.by_name(&field.name).cloned() {
            Some(existing) if self.deletes.contains(&existing.field_id) => {
                let old_name = format!("{}_{}", existing.name, existing.field_id);
                self.renames.insert(existing.name, old_name);
            }
            // A `void` field, left by an earlier removal in format version 1, is renamed.
            Some(existing) if existing.transform == Transform::Void => {
                self.rename(&existing.name, &format!("{}_{}", existing.name, existing.field_id))?;
            }
            Some(existing) => return Err(taken(&existing)),
            None => {}
        }
        if let Some(other) = self.added(&field.name) {
            return Err(taken(other));
        }
        self.adds.push(field);
        Ok(())
    }

    fn recycled_or_new(
        &mut self,
        source_id: FieldId,
        transform: Transform,
        name: Option<&str>,
    ) -> Result<PartitionField> {
        if self.metadata.format_version >= 2 {
            let all = self.metadata.partition_specs.iter().rev().flat_map(|s| &s.fields);
            let same = all.filter(|f| f.source_id == source_id && f.transform == transform);
            let same: Vec<_> = same.filter(|f| name.is_none_or(|name| f.name == name)).collect();
            // If several fields are equal, the newest one with a free name is preferred.
            if let Some(field) = same.iter().find(|f| self.is_free(&f.name)).or(same.first()) {
                return Ok((*field).clone());
            }
        }
        self.last_id =
            self.last_id.checked_add(1).ok_or_else(|| Error::invalid("the table has no partition ids left"))?;
        let name = match name {
            Some(name) => name.to_owned(),
            None => default_name(&self.schema.name_of(source_id).unwrap_or_default(), &transform),
        };
        Ok(PartitionField { source_id, field_id: self.last_id, name, transform })
    }

    fn remove(&mut self, text: &str) -> Result<()> {
        if self.added(text).is_some() {
            return Err(Error::invalid("a field can't be added and removed in one update"));
        }
        let field = match self.by_name(text) {
            Some(field) => field.clone(),
            None => self.by_text(text)?,
        };
        if self.renames.contains_key(&field.name) {
            return Err(Error::invalid("a field can't be renamed and removed in one update"));
        }
        self.deletes.insert(field.field_id);
        Ok(())
    }

    /// The field that a text such as `day(ts)` describes.
    fn by_text(&self, text: &str) -> Result<PartitionField> {
        let source = FieldSource { term: text.to_owned(), transform: None };
        let found = resolve(&source, self.schema, self.case_sensitive);
        let found = found.ok().and_then(|(source_id, transform)| self.by_term(source_id, &transform)).cloned();
        found.ok_or_else(|| self.no_field(text))
    }

    fn no_field(&self, name: &str) -> Error {
        let names: Vec<&str> = self.spec.fields.iter().map(|f| f.name.as_str()).collect();
        let error = Error::invalid(format!("the partition spec has no field '{name}'"));
        match names.as_slice() {
            [] => error.hint("The table is not partitioned"),
            names => error.hint(format!("It has: {}", names.join(", "))),
        }
    }

    fn rename(&mut self, name: &str, to: &str) -> Result<()> {
        if let Some(existing) = self.by_name(to).filter(|f| f.transform == Transform::Void && f.name != name).cloned() {
            self.rename(&existing.name, &format!("{}_{}", existing.name, existing.field_id))?;
        }
        if self.added(name).is_some() {
            return Err(Error::invalid("a field can't be added and renamed in one update"));
        }
        let field = self.by_name(name).ok_or_else(|| self.no_field(name))?;
        if self.deletes.contains(&field.field_id) {
            return Err(Error::invalid("a field can't be removed and renamed in one update"));
        }
        self.renames.insert(name.to_owned(), to.to_owned());
        Ok(())
    }

    fn result(self) -> Vec<PartitionField> {
        let mut out = Vec::with_capacity(self.spec.fields.len() + self.adds.len());
        for field in &self.spec.fields {
            let name = self.renames.get(&field.name).unwrap_or(&field.name).clone();
            if !self.deletes.contains(&field.field_id) {
                out.push(PartitionField { name, ..field.clone() });
            } else if self.metadata.format_version < 2 {
                // Version 1 identifies fields by position, so the position is kept.
                out.push(PartitionField { name, transform: Transform::Void, ..field.clone() });
            }
        }
        out.extend(self.adds);
        out
    }
}

fn default_name(column: &str, transform: &Transform) -> String {
    match transform {
        Transform::Identity | Transform::Unknown(_) => column.to_owned(),
        Transform::Bucket(n) => format!("{column}_bucket_{n}"),
        Transform::Truncate(w) => format!("{column}_trunc_{w}"),
        Transform::Void => format!("{column}_null"),
        time => format!("{column}_{time}"),
    }
}

/// Checks the fields of a new spec.
///
/// # Errors
/// `InvalidInput` naming the field and the rule.
pub(super) fn check_new_spec(fields: &[PartitionField], schema: &Schema, format_version: u8) -> Result<()> {
    for (i, field) in fields.iter().enumerate() {
        let at = |problem: &str| Err(Error::invalid(problem).with("partition field", &field.name));
        if field.name.is_empty() {
            return at("a partition field has an empty name");
        }
        if fields[..i].iter().any(|f| f.name == field.name) {
            return at("two partition fields have this name");
        }
        let column = schema.find(&field.name.split('.').collect::<Vec<_>>(), true);
        let source_is_there = schema.field(field.source_id).is_some();
        if source_is_there && column.is_some_and(|c| c.id != field.source_id) {
            return at("a partition field can't have the name of a column that it does not come from");
        }
        let place = i32::try_from(i).unwrap_or(i32::MAX).saturating_add(FIRST_PARTITION_FIELD_ID);
        if format_version < 2 && field.field_id != place {
            return at(
                "format version 1 needs partition field ids that count up from 1000; upgrade the table to version 2",
            );
        }
    }
    let spec = PartitionSpec { id: 0, fields: fields.to_vec() };
    check_used_columns(&spec, &SortOrder::default(), schema)
}

/// Whether a column property names an existing column, for the properties that the reference checks.
pub(super) fn names_column(schema: &Schema, name: &str) -> bool {
    schema.field_ids().any(|id| schema.name_of(id).is_some_and(|n| same_name(&n, name, true)))
}
