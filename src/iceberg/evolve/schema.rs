//! Updates of a table's schema: the rules for each operation, and for operations of the same update.
//!
//! Operations are collected first and applied together. So all names are those from before the update, except names of
//! columns that it adds. The rules are those of the reference (Java's `SchemaUpdate`) and of the specification.
//!
//! Source: Iceberg specification, "Schema Evolution", "Default values", "Identifier Field IDs".

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value as Json;

use super::columns::{dotted, find, missing, require, same_name};
use crate::error::{Error, Result};
use crate::format::evolution::{ColumnPath, NewColumn, Position, SchemaUpdate};
use crate::iceberg::spec::defaults::{canonical, promoted};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::types::metadata_columns::LAST_USER_FIELD_ID;
use crate::types::{Field, FieldId, PrimitiveType, Schema, Transform, Type};

/// The id of the table itself where the id of a struct is needed.
pub(super) const ROOT: FieldId = -1;

/// A move of a field within its struct.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldMove {
    First,
    Before(FieldId),
    After(FieldId),
}

/// The combined effect of the operations of an update.
pub(super) struct Pending<'a> {
    metadata: &'a TableMetadata,
    pub schema: &'a Schema,
    case_sensitive: bool,
    allow_incompatible: bool,
    last_column_id: FieldId,
    /// The parent field of each field.
    parents: HashMap<FieldId, FieldId>,
    pub deletes: HashSet<FieldId>,
    /// New and changed fields. The members in their types may be outdated.
    pub updates: HashMap<FieldId, Field>,
    /// New fields of structs, by the id of the field that has the struct as its type.
    pub added: HashMap<FieldId, Vec<FieldId>>,
    added_names: HashMap<String, FieldId>,
    pub moves: HashMap<FieldId, Vec<(FieldId, FieldMove)>>,
    pub identifiers: Option<Vec<ColumnPath>>,
}

impl<'a> Pending<'a> {
    /// An update of the current schema without operations yet.
    pub(super) fn new(metadata: &'a TableMetadata, update: &SchemaUpdate) -> Result<Pending<'a>> {
        let schema = metadata.schema()?.as_ref();
        let mut parents = HashMap::new();
        schema.fields.iter().for_each(|f| index_parents(f, &mut parents));
        Ok(Pending {
            metadata,
            schema,
            case_sensitive: update.case_sensitive,
            allow_incompatible: update.allow_incompatible,
            last_column_id: metadata.highest_column_id(),
            parents,
            deletes: HashSet::new(),
            updates: HashMap::new(),
            added: HashMap::new(),
            added_names: HashMap::new(),
            moves: HashMap::new(),
            identifiers: None,
        })
    }

    pub(super) fn is_case_sensitive(&self) -> bool {
        self.case_sensitive
    }

    fn key(&self, path: &str) -> String {
        if self.case_sensitive { path.to_owned() } else { path.to_lowercase() }
    }

    fn next_id(&mut self) -> Result<FieldId> {
        let next = self.last_column_id.checked_add(1).filter(|id| *id <= LAST_USER_FIELD_ID);
        self.last_column_id = next.ok_or_else(|| Error::invalid("the table has no column ids left"))?;
        Ok(self.last_column_id)
    }

    pub(super) fn add(&mut self, column: &NewColumn) -> Result<()> {
        let Some((name, above)) = column.path.split_last() else { return Err(Error::invalid("a column needs a name")) };
        let (parent, siblings, prefix) = match above {
            [] => (ROOT, self.schema.fields.clone(), String::new()),
            above => self.struct_at(above)?,
        };
        let taken = siblings.iter().find(|f| same_name(&f.name, name, self.case_sensitive));
        if taken.is_some_and(|f| !self.deletes.contains(&f.id)) {
            return Err(Error::invalid(format!("there is a column '{}' already", dotted(&column.path))));
        }
        let default = canonical(column.default.as_ref(), &column.ty)?;
        let write_default = match &column.write_default {
            None => default.clone(),
            given => canonical(given.as_ref(), &column.ty)?,
        };
        if column.required && default.is_none() && !self.allow_incompatible {
            return Err(Error::invalid("a required column can't be added without a default: existing rows lack it")
                .hint("Give a default (format version 3), make it optional, or allow incompatible changes"));
        }
        // As in the reference: first the column's own id, then the ids of its members.
        let id = self.next_id()?;
        let ty = self.fresh_type(&column.ty)?;
        let mut field = Field::new(id, name.clone(), column.required, ty);
        field.doc.clone_from(&column.doc);
        field.initial_default = default;
        field.write_default = write_default;
        self.added_names.insert(self.key(&dotted(&column.path)), id);
        self.added_names.insert(self.key(&format!("{prefix}{name}")), id);
        if parent != ROOT {
            self.parents.insert(id, parent);
        }
        self.updates.insert(id, field);
        self.added.entry(parent).or_default().push(id);
        match &column.position {
            None => Ok(()),
            Some(position) => self.move_field(id, position, above),
        }
    }

    /// The struct that a path leads to, perhaps inside a list or map: its id, members, and dotted name with a final
    /// dot.
    fn struct_at(&self, path: &[String]) -> Result<(FieldId, Arc<[Field]>, String)> {
        let mut field = require(self.schema, path, self.case_sensitive)?;
        if let Type::List(inner) | Type::Map(_, inner) = &field.ty {
            field = inner;
        }
        let Type::Struct(members) = &field.ty else {
            return Err(Error::invalid(format!("'{}' is not a struct, so it can't have members", dotted(path)))
                .hint(format!("Its type is {}. A name that holds a dot is given as a tuple of one", field.ty)));
        };
        if self.deletes.contains(&field.id) {
            return Err(Error::invalid(format!("'{}' is dropped by the same update", dotted(path))));
        }
        let prefix = self.schema.name_of(field.id).map(|name| name + ".").unwrap_or_default();
        Ok((field.id, members.clone(), prefix))
    }

    fn fresh_type(&mut self, ty: &Type) -> Result<Type> {
        Ok(match ty {
            Type::Primitive(p) => Type::Primitive(p.clone()),
            Type::Struct(fields) => Type::Struct(self.fresh_fields(&fields.iter().collect::<Vec<_>>())?.into()),
            Type::List(element) => match self.fresh_fields(&[element])?.pop() {
                Some(element) => Type::List(Arc::new(element)),
                None => return Err(Error::internal("a list lost its element")),
            },
            Type::Map(key, value) => {
                let mut fields = self.fresh_fields(&[key, value])?;
                match (fields.pop(), fields.pop()) {
                    (Some(value), Some(key)) => Type::Map(Arc::new(key), Arc::new(value)),
                    _ => return Err(Error::internal("a map lost a field")),
                }
            }
        })
    }

    /// New ids, first for all of the fields, then for their members.
    fn fresh_fields(&mut self, fields: &[&Field]) -> Result<Vec<Field>> {
        let ids = fields.iter().map(|_| self.next_id()).collect::<Result<Vec<_>>>()?;
        let mut out = Vec::with_capacity(fields.len());
        for (field, id) in fields.iter().zip(ids) {
            let at = |e: Error| e.with("member", &field.name);
            let initial_default = canonical(field.initial_default.as_ref(), &field.ty).map_err(at)?;
            let write_default = canonical(field.write_default.as_ref(), &field.ty).map_err(at)?;
            let ty = self.fresh_type(&field.ty)?;
            out.push(Field { id, ty, initial_default, write_default, ..(*field).clone() });
        }
        Ok(out)
    }

    pub(super) fn drop(&mut self, path: &ColumnPath) -> Result<()> {
        let id = require(self.schema, path, self.case_sensitive)?.id;
        self.check_named(id, "dropped")?;
        if self.added.contains_key(&id) {
            return Err(Error::invalid("a column can't be dropped and get new members in one update"));
        }
        if self.updates.contains_key(&id) {
            return Err(Error::invalid("a column can't be changed and dropped in one update"));
        }
        if self.moves.values().flatten().any(|(moved, place)| *moved == id || place.other() == Some(id)) {
            return Err(Error::invalid("a column can't be dropped and moved, or moved to, in one update"));
        }
        self.deletes.insert(id);
        Ok(())
    }

    pub(super) fn rename(&mut self, path: &ColumnPath, name: &str) -> Result<()> {
        let field = require(self.schema, path, self.case_sensitive)?;
        self.check_kept(field.id)?;
        if name.is_empty() {
            return Err(Error::invalid("a column's name can't be empty"));
        }
        self.check_named(field.id, "renamed")?;
        self.updates.entry(field.id).or_insert_with(|| field.clone()).name = name.to_owned();
        Ok(())
    }

    /// Elements, keys and values belong to their list or map. They have no names, comments and defaults of their own.
    fn check_named(&self, id: FieldId, what: &str) -> Result<()> {
        let parent = self.parents.get(&id).and_then(|p| self.schema.field(*p));
        match parent.map(|p| &p.ty) {
            Some(Type::List(_)) => Err(Error::invalid(format!("a list's element can't be {what}"))),
            Some(Type::Map(..)) => Err(Error::invalid(format!("a map's key or value can't be {what}"))),
            _ => Ok(()),
        }
    }

    fn check_kept(&self, id: FieldId) -> Result<()> {
        if self.deletes.contains(&id) {
            return Err(Error::invalid("a column can't be dropped and changed in one update"));
        }
        Ok(())
    }

    /// The column after the operations so far. It may be one that the update adds.
    pub(super) fn so_far(&self, path: &ColumnPath) -> Result<Field> {
        match find(self.schema, path, self.case_sensitive)? {
            Some(field) => {
                self.check_kept(field.id)?;
                Ok(self.updates.get(&field.id).unwrap_or(field).clone())
            }
            None => {
                let added = self.added_names.get(&self.key(&dotted(path))).and_then(|id| self.updates.get(id));
                added.cloned().ok_or_else(|| missing(self.schema, path))
            }
        }
    }

    fn is_added(&self, id: FieldId) -> bool {
        self.schema.field(id).is_none()
    }

    pub(super) fn widen(&mut self, path: &ColumnPath, ty: &Type) -> Result<()> {
        let mut field = self.so_far(path)?;
        if field.ty == *ty {
            return Ok(());
        }
        self.check_promotion(&field, ty)?;
        let from = std::mem::replace(&mut field.ty, Type::Primitive(PrimitiveType::Unknown));
        field.ty = self.fresh_type(ty)?;
        field.initial_default = promoted(field.initial_default.as_ref(), &from, ty)?;
        field.write_default = promoted(field.write_default.as_ref(), &from, ty)?;
        self.updates.insert(field.id, field);
        Ok(())
    }

    fn check_promotion(&self, field: &Field, to: &Type) -> Result<()> {
        use PrimitiveType as P;
        let refused = || {
            Error::invalid(format!("a column can't change from {} to {to}", field.ty))
                .hint("int widens to long, float to double, a decimal to more digits; in format version 3 date to timestamp or timestamp_ns, and unknown to any type")
        };
        let Type::Primitive(from) = &field.ty else { return Err(refused()) };
        let newer = match (from, to) {
            (P::Unknown, _) => true,
            (from, Type::Primitive(to)) if from.promotes_to(to) => matches!(from, P::Date),
            _ => return Err(refused()),
        };
        if newer && self.metadata.format_version < 3 {
            return Err(refused().hint(format!("The table has version {}", self.metadata.format_version)));
        }
        // Existing partition tuples would be read as other values (specification, "Schema Evolution").
        let fields = self.metadata.partition_specs.iter().flat_map(|s| &s.fields).filter(|f| f.source_id == field.id);
        let same = |t: &Transform| matches!(t, Transform::Void | Transform::Year | Transform::Month | Transform::Day);
        match fields.filter(|_| matches!(from, P::Date)).find(|f| !same(&f.transform)) {
            Some(by) => Err(Error::invalid(format!(
                "a date that the table is or was partitioned by can't become a {to}: {} would have other values",
                by.transform
            ))
            .with("partition field", &by.name)),
            None => Ok(()),
        }
    }

    pub(super) fn set_required(&mut self, path: &ColumnPath, required: bool) -> Result<()> {
        let mut field = self.so_far(path)?;
        if field.required == required {
            return Ok(());
        }
        let has_default = self.is_added(field.id) && field.initial_default.is_some();
        if required && !has_default && !self.allow_incompatible {
            return Err(Error::invalid("an optional column can't become required: existing rows may lack it")
                .hint("If none does, allow incompatible changes"));
        }
        field.required = required;
        self.updates.insert(field.id, field);
        Ok(())
    }

    pub(super) fn set_doc(&mut self, path: &ColumnPath, doc: Option<&str>) -> Result<()> {
        let mut field = self.so_far(path)?;
        if field.doc.as_deref() == doc {
            return Ok(());
        }
        self.check_named(field.id, "commented")?;
        field.doc = doc.map(str::to_owned);
        self.updates.insert(field.id, field);
        Ok(())
    }

    pub(super) fn set_default(&mut self, path: &ColumnPath, default: Option<&Json>) -> Result<()> {
        let mut field = self.so_far(path)?;
        let default = canonical(default, &field.ty)?;
        if field.write_default == default {
            return Ok(());
        }
        self.check_named(field.id, "given a default")?;
        field.write_default = default;
        self.updates.insert(field.id, field);
        Ok(())
    }

    pub(super) fn move_to(&mut self, path: &ColumnPath, position: &Position) -> Result<()> {
        let id = self.id_to_move(path)?.ok_or_else(|| missing(self.schema, path))?;
        let above = path.split_last().map_or(&[][..], |(_, above)| above);
        self.move_field(id, position, above)
    }

    fn id_to_move(&self, path: &[String]) -> Result<Option<FieldId>> {
        match self.added_names.get(&self.key(&dotted(path))) {
            Some(id) => Ok(Some(*id)),
            None => Ok(find(self.schema, path, self.case_sensitive)?.map(|f| f.id)),
        }
    }

    /// `above` is the path of the struct: the other column may be given without it.
    fn move_field(&mut self, id: FieldId, position: &Position, above: &[String]) -> Result<()> {
        let other = |path: &ColumnPath| -> Result<FieldId> {
            let sibling: ColumnPath = above.iter().chain(path).cloned().collect();
            let found = match self.id_to_move(&sibling)? {
                Some(id) => Some(id),
                None => self.id_to_move(path)?,
            };
            let other = found.ok_or_else(|| missing(self.schema, path))?;
            match other == id {
                true => Err(Error::invalid("a column can't be moved before or after itself")),
                false => Ok(other),
            }
        };
        let place = match position {
            Position::First => FieldMove::First,
            Position::Before(path) => FieldMove::Before(other(path)?),
            Position::After(path) => FieldMove::After(other(path)?),
        };
        let parent = self.parents.get(&id).copied();
        if let Some(around) = parent.and_then(|p| self.schema.field(p))
            && !matches!(around.ty, Type::Struct(_))
        {
            return Err(Error::invalid(format!("the parts of a {} can't be moved", around.ty)));
        }
        if let FieldMove::Before(other) | FieldMove::After(other) = place
            && self.parents.get(&other).copied() != parent
        {
            return Err(Error::invalid("a column can't be moved into another struct"));
        }
        if [Some(id), place.other()].into_iter().flatten().any(|id| self.deletes.contains(&id)) {
            return Err(Error::invalid("a column can't be dropped and moved, or moved to, in one update"));
        }
        self.moves.entry(parent.unwrap_or(ROOT)).or_default().push((id, place));
        Ok(())
    }
}

impl FieldMove {
    fn other(self) -> Option<FieldId> {
        match self {
            FieldMove::First => None,
            FieldMove::Before(id) | FieldMove::After(id) => Some(id),
        }
    }
}

fn index_parents(field: &Field, parents: &mut HashMap<FieldId, FieldId>) {
    for child in field.ty.children() {
        parents.insert(child.id, field.id);
        index_parents(child, parents);
    }
}
