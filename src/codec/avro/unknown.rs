//! Members of records that this crate does not know. They survive when another file takes over the records.
//!
//! A newer version of a format adds members to the records of its files. Writers of these records must not lose them.
//! Their values are kept as bytes, with the schema of each member. New files have these members after the known ones.
//! So only members at the end of a record can be kept: members of the outermost record, and of the record that is its
//! last member.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value as Json;

use super::decode::{Budget, Cursor, Skip};
use super::encode::{put_boolean, put_bytes, put_long};
use super::schema::{Member, Node};
use crate::error::{Error, Result};

/// A member that is not known.
#[derive(Debug)]
struct UnknownMember {
    name: String,
    /// The member's JSON in the record's schema, complete in itself.
    json: Json,
    skip: Skip,
    /// The bytes of the value that records without the member get; `None` if there is no such value.
    absent: Option<Vec<u8>>,
    /// Whether it is in the inner record.
    inner: bool,
}

impl UnknownMember {
    fn is(&self, name: &str, ty: Option<&Json>, inner: bool) -> bool {
        self.name == name && self.inner == inner && self.json.get("type") == ty
    }
}

/// The members of a record that are not known, in the order in which their values are kept: first those of the inner
/// record.
#[derive(Debug, Default)]
pub(crate) struct UnknownMembers(Vec<UnknownMember>);

/// The values of one record's unknown members.
#[derive(Clone, Debug)]
pub struct UnknownValues {
    members: Arc<UnknownMembers>,
    bytes: Box<[u8]>,
}

impl PartialEq for UnknownValues {
    fn eq(&self, other: &UnknownValues) -> bool {
        let members = |v: &UnknownValues| v.members.0.iter().map(|m| m.json.to_string()).collect::<Vec<_>>();
        self.bytes == other.bytes && (Arc::ptr_eq(&self.members, &other.members) || members(self) == members(other))
    }
}

impl Eq for UnknownValues {}

impl UnknownValues {
    /// The kept bytes of a record.
    pub(crate) fn new(members: &Arc<UnknownMembers>, bytes: &[u8]) -> UnknownValues {
        UnknownValues { members: members.clone(), bytes: bytes.into() }
    }

    /// The bytes of a member.
    fn value(&self, wanted: &ExtendedMember) -> Result<Option<&[u8]>> {
        let mut cursor = Cursor::new(&self.bytes);
        for member in &self.members.0 {
            let before = cursor.rest();
            cursor = member.skip.run(cursor)?;
            if member.is(&wanted.name, wanted.ty.as_ref(), wanted.inner) {
                return Ok(before.get(..before.len() - cursor.rest().len()));
            }
        }
        Ok(None)
    }
}

impl UnknownMembers {
    /// The unknown members of a record, by the schema's JSON text. `inner` is the name of the record in the last
    /// member. `is_known` says whether a member is known, and whether it is in the inner record.
    ///
    /// # Errors
    /// `CorruptTable` if the text is not a schema; `Unsupported` if it is too large.
    pub(crate) fn of(
        schema: &str,
        inner: Option<&str>,
        is_known: impl Fn(&Member, bool) -> bool,
    ) -> Result<UnknownMembers> {
        let bad = |e| Error::corrupt("an Avro schema is not JSON").because(e);
        let json: Json = serde_json::from_str(schema).map_err(bad)?;
        let (root, mut named) = (Node::parse(schema)?, HashMap::new());
        definitions(&json, &mut named);
        // Records may be in a union with null.
        let json = match json {
            Json::Array(branches) => branches.into_iter().find(Json::is_object).unwrap_or_default(),
            json => json,
        };
        let mut budget = Budget::default();
        let mut out = Vec::new();
        let mut add = |members: &[Member], json: &Json, is_inner: bool| -> Result<()> {
            let fields = json.get("fields").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
            for (member, json) in members.iter().zip(fields).filter(|(m, _)| !is_known(m, is_inner)) {
                let mut json = json.clone();
                if let Some(ty) = json.get_mut("type") {
                    complete(ty, &named, &mut HashSet::new());
                }
                out.push(UnknownMember {
                    name: member.name.clone(),
                    skip: Skip::of(&member.node, &mut budget)?,
                    absent: absent(&json),
                    json,
                    inner: is_inner,
                });
            }
            Ok(())
        };
        let members = root.optional().1.members().unwrap_or_default();
        if let Some(inner) = inner
            && let Some(members) = members.iter().find(|m| m.name == inner).and_then(|m| m.node.optional().1.members())
            && let Some(json) = record_of(&json, inner)
        {
            add(members, json, true)?;
        }
        add(members, &json, false)?;
        Ok(UnknownMembers(out))
    }

    /// Whether all members are known.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The schema of a record that is a member of another.
fn record_of<'j>(json: &'j Json, name: &str) -> Option<&'j Json> {
    let fields = json.get("fields")?.as_array()?;
    let ty = fields.iter().find(|f| f.get("name").and_then(Json::as_str) == Some(name))?.get("type")?;
    let is_record = |ty: &&Json| ty.get("type").and_then(Json::as_str) == Some("record");
    match ty {
        Json::Array(branches) => branches.iter().find(is_record),
        ty => Some(ty).filter(is_record),
    }
}

/// The named types in a schema.
fn definitions(json: &Json, out: &mut HashMap<String, Json>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| definitions(item, out)),
        Json::Object(members) => {
            let kind = members.get("type").and_then(Json::as_str).unwrap_or_default();
            if let (Some(name), "record" | "enum" | "fixed") = (members.get("name").and_then(Json::as_str), kind) {
                out.entry(name.to_owned()).or_insert_with(|| json.clone());
            }
            members.values().for_each(|member| definitions(member, out));
        }
        _ => {}
    }
}

/// Puts definitions in the place of names that a type has not defined itself.
fn complete(ty: &mut Json, named: &HashMap<String, Json>, defined: &mut HashSet<String>) {
    match ty {
        Json::String(name) => {
            if let Some(definition) = named.get(name).filter(|_| !defined.contains(name)) {
                *ty = definition.clone();
                complete(ty, named, defined);
            }
        }
        Json::Array(branches) => branches.iter_mut().for_each(|branch| complete(branch, named, defined)),
        Json::Object(members) => {
            defined.extend(members.get("name").and_then(Json::as_str).map(str::to_owned));
            for key in ["type", "items", "values"] {
                let inner = members.get_mut(key).filter(|inner| key != "type" || !inner.is_string());
                inner.into_iter().for_each(|inner| complete(inner, named, defined));
            }
            let fields = members.get_mut("fields").and_then(Json::as_array_mut);
            for field in fields.into_iter().flatten().filter_map(|field| field.get_mut("type")) {
                complete(field, named, defined);
            }
        }
        _ => {}
    }
}

/// Puts the name of a type in the place of its second definition.
fn name_once(json: &mut Json, defined: &mut HashMap<String, Json>) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| name_once(item, defined)),
        Json::Object(members) => {
            let kind = members.get("type").and_then(Json::as_str).unwrap_or_default();
            let name = members.get("name").and_then(Json::as_str);
            if let (Some(name), "record" | "enum" | "fixed") = (name, kind) {
                let name = name.to_owned();
                if defined.get(&name).is_some_and(|known| known == json) {
                    *json = Json::String(name);
                    return;
                }
                defined.entry(name).or_insert_with(|| json.clone());
            }
            if let Json::Object(members) = json {
                members.values_mut().for_each(|member| name_once(member, defined));
            }
        }
        _ => {}
    }
}

/// The encoded default of a member: null if it may be null.
fn absent(json: &Json) -> Option<Vec<u8>> {
    let (ty, default) = (json.get("type")?, json.get("default"));
    let mut out = Vec::new();
    if let Some(branches) = ty.as_array() {
        let null = branches.iter().position(|branch| branch.as_str() == Some("null"))?;
        put_long(&mut out, i64::try_from(null).ok()?);
        return Some(out);
    }
    let name = ty.as_str().or_else(|| ty.get("type").and_then(Json::as_str))?;
    match (name, default?) {
        ("null", _) => {}
        ("boolean", Json::Bool(value)) => put_boolean(&mut out, *value),
        ("int" | "long", Json::Number(value)) => put_long(&mut out, value.as_i64()?),
        ("float", Json::Number(value)) => out.extend((value.as_f64()? as f32).to_le_bytes()),
        ("double", Json::Number(value)) => out.extend(value.as_f64()?.to_le_bytes()),
        ("string", Json::String(value)) => put_bytes(&mut out, value.as_bytes()),
        ("array", Json::Array(items)) if items.is_empty() => put_long(&mut out, 0),
        ("map", Json::Object(items)) if items.is_empty() => put_long(&mut out, 0),
        _ => return None,
    }
    Some(out)
}

/// The schema of a new file with the unknown members of its records.
#[derive(Debug)]
pub(crate) struct ExtendedSchema {
    /// The schema's JSON text.
    pub text: String,
    members: Vec<ExtendedMember>,
}

/// A member after the known ones.
#[derive(Debug)]
struct ExtendedMember {
    name: String,
    ty: Option<Json>,
    inner: bool,
    /// The value of records without it.
    absent: Option<Vec<u8>>,
}

impl ExtendedSchema {
    /// The schema `text` with the unknown members of all records; `None` if all members are known.
    ///
    /// A member that not all records have, and that has no default, is left out.
    pub(crate) fn of<'v>(
        text: &str,
        inner: Option<&str>,
        records: impl Iterator<Item = Option<&'v UnknownValues>>,
    ) -> Option<ExtendedSchema> {
        let (mut sets, mut everywhere): (Vec<&UnknownMembers>, bool) = (Vec::new(), true);
        for record in records {
            match record {
                Some(values) if !sets.iter().any(|set| std::ptr::eq(*set, values.members.as_ref())) => {
                    sets.push(&values.members);
                }
                Some(_) => {}
                None => everywhere = false,
            }
        }
        if sets.is_empty() {
            return None;
        }
        let mut json: Json = serde_json::from_str(text).ok()?;
        let mut out: Vec<ExtendedMember> = Vec::new();
        for is_inner in [true, false] {
            let target = if is_inner { inner.and_then(|name| record_mut(&mut json, name)) } else { Some(&mut json) };
            let Some(fields) = target.and_then(|t| t.get_mut("fields")).and_then(Json::as_array_mut) else { continue };
            for member in sets.iter().flat_map(|set| &set.0).filter(|m| m.inner == is_inner) {
                let name = |f: &Json| f.get("name").and_then(Json::as_str).map(str::to_owned);
                let id = |f: &Json| f.get("field-id").and_then(Json::as_i64);
                let is_there = fields.iter().any(|f| {
                    name(f).as_deref() == Some(&member.name) || (id(f).is_some() && id(f) == id(&member.json))
                });
                let ty = member.json.get("type");
                let has = |set: &&UnknownMembers| set.0.iter().any(|m| m.is(&member.name, ty, is_inner));
                let of_all = everywhere && sets.iter().all(has);
                if !is_there && (of_all || member.absent.is_some()) {
                    fields.push(member.json.clone());
                    let (name, absent) = (member.name.clone(), member.absent.clone());
                    out.push(ExtendedMember { name, ty: ty.cloned(), inner: is_inner, absent });
                }
            }
        }
        name_once(&mut json, &mut HashMap::new());
        (!out.is_empty()).then(|| ExtendedSchema { text: json.to_string(), members: out })
    }

    /// The bytes of the unknown members of a record, which come after its known ones.
    ///
    /// # Errors
    /// `CorruptTable` if the kept bytes are damaged.
    pub(crate) fn bytes_of(&self, record: Option<&UnknownValues>) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        for member in &self.members {
            let value = record.map(|values| values.value(member)).transpose()?.flatten();
            let value = value.or(member.absent.as_deref());
            out.extend_from_slice(value.ok_or_else(|| Error::internal("a record lacks a member"))?);
        }
        Ok(out)
    }
}

fn record_mut<'j>(json: &'j mut Json, name: &str) -> Option<&'j mut Json> {
    let fields = json.get_mut("fields")?.as_array_mut()?;
    let ty = fields.iter_mut().find(|f| f.get("name").and_then(Json::as_str) == Some(name))?.get_mut("type")?;
    if ty.is_array() {
        let is_record = |ty: &&mut Json| ty.get("type").and_then(Json::as_str) == Some("record");
        return ty.as_array_mut()?.iter_mut().find(is_record);
    }
    Some(ty)
}

#[cfg(test)]
#[path = "unknown_tests.rs"]
mod tests;
