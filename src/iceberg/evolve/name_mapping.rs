//! The table's name mapping after an update of its schema. New names are added. Old names stay, because files written
//! with them stay.
//!
//! Source: Iceberg specification, Appendix C, "Name Mapping Serialization"; updates follow Java's `MappingUtil`.

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};

use super::schema::{Pending, ROOT};
use crate::types::name_mapping::NameMapping;
use crate::types::{Field, FieldId, Type, json_text};

/// One column of a mapping.
struct Mapped {
    id: Option<FieldId>,
    names: Vec<String>,
    fields: Option<Vec<Mapped>>,
}

/// The mapping with the update's names; `None` if the text is not a mapping. Then it stays unchanged.
pub(super) fn update_name_mapping(text: &str, pending: &Pending<'_>) -> Option<String> {
    // This also limits the nesting depth.
    NameMapping::parse(text).ok()?;
    let mapping = read(&json_text::parse(text.as_bytes()).ok()?)?;
    let updated = add_new(update(mapping, pending), ROOT, pending);
    serde_json::to_string_pretty(&to_json(&updated)).ok()
}

fn read(json: &Json) -> Option<Vec<Mapped>> {
    let one = |j: &Json| {
        let names = j.get("names").and_then(Json::as_array).into_iter().flatten();
        Some(Mapped {
            id: j.get("field-id").and_then(Json::as_i64).and_then(|id| FieldId::try_from(id).ok()),
            names: names.filter_map(|n| n.as_str().map(str::to_owned)).collect(),
            fields: j.get("fields").map(read).map_or(Some(None), |fields| fields.map(Some))?,
        })
    };
    json.as_array()?.iter().map(one).collect()
}

fn to_json(fields: &[Mapped]) -> Json {
    let one = |f: &Mapped| {
        let mut out = Map::new();
        if let Some(id) = f.id {
            out.insert("field-id".into(), json!(id));
        }
        out.insert("names".into(), json!(f.names));
        if let Some(fields) = &f.fields {
            out.insert("fields".into(), to_json(fields));
        }
        Json::Object(out)
    };
    Json::Array(fields.iter().map(one).collect())
}

fn update(fields: Vec<Mapped>, pending: &Pending<'_>) -> Vec<Mapped> {
    let mut out: Vec<Mapped> = fields.into_iter().map(|f| update_one(f, pending)).collect();
    let updates = out.iter().filter_map(|f| pending.updates.get(&f.id?));
    let assigned = updates.map(|f| (f.name.clone(), f.id)).collect();
    remove_reassigned(&mut out, &assigned);
    out
}

fn update_one(mut field: Mapped, pending: &Pending<'_>) -> Mapped {
    if let Some(updated) = field.id.and_then(|id| pending.updates.get(&id))
        && !field.names.contains(&updated.name)
    {
        field.names.push(updated.name.clone());
    }
    let below = field.fields.map(|fields| update(fields, pending));
    let grows = field.id.is_some_and(|id| pending.added.contains_key(&id));
    field.fields = match (below, field.id) {
        (below, Some(id)) if grows => Some(add_new(below.unwrap_or_default(), id, pending)),
        (below, _) => below,
    };
    field
}

/// Adds the fields that the update adds to a struct.
fn add_new(mut fields: Vec<Mapped>, parent: FieldId, pending: &Pending<'_>) -> Vec<Mapped> {
    let ids = pending.added.get(&parent).into_iter().flatten();
    let added: Vec<&Field> = ids.filter_map(|id| pending.updates.get(id)).collect();
    remove_reassigned(&mut fields, &added.iter().map(|f| (f.name.clone(), f.id)).collect());
    fields.extend(added.into_iter().map(mapped));
    fields
}

/// A name means only one column: its new owner.
fn remove_reassigned(fields: &mut [Mapped], assigned: &HashMap<String, FieldId>) {
    for field in fields {
        field.names.retain(|name| assigned.get(name).is_none_or(|id| Some(*id) == field.id));
    }
}

fn mapped(field: &Field) -> Mapped {
    let below = |ty: &Type| ty.children().into_iter().map(mapped).collect();
    let fields = (!matches!(field.ty, Type::Primitive(_))).then(|| below(&field.ty));
    Mapped { id: Some(field.id), names: vec![field.name.clone()], fields }
}
