//! The metadata file as JSON: schemas, partition specs, sort orders, the name mapping.
//!
//! These checks read the raw document, so they also work on files that [`parse_metadata`] refuses.
//!
//! [`parse_metadata`]: crate::iceberg::spec::metadata_json::parse_metadata

use std::collections::{BTreeSet, HashSet};

use serde_json::Value as Json;

use super::codes;
use crate::format::diagnosis::finding::Findings;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::types::name_mapping::NameMapping;
use crate::types::{Schema, Type, json_text};

/// The property with the name mapping.
pub(super) const NAME_MAPPING: &str = "schema.name-mapping.default";

/// Checks the lists of schemas, specs and sort orders.
pub(super) fn check_lists(json: &Json, at: &str, findings: &Findings) {
    for (list, id, current) in [
        ("schemas", "schema-id", "current-schema-id"),
        ("partition-specs", "spec-id", "default-spec-id"),
        ("sort-orders", "order-id", "default-sort-order-id"),
    ] {
        let Some(items) = json.get(list).and_then(Json::as_array) else { continue };
        let mut seen = HashSet::new();
        for number in items.iter().filter_map(|item| item.get(id)?.as_i64()) {
            if !seen.insert(number) {
                findings.add(&codes::DUPLICATE_SCHEMA, at, format!("{list} has {id} {number} twice"));
            }
        }
        let Some(wanted) = json.get(current).and_then(Json::as_i64) else { continue };
        let is_unsorted = list == "sort-orders" && wanted == 0;
        if !seen.contains(&wanted) && !is_unsorted {
            let code = if list == "schemas" { &codes::CURRENT_SCHEMA_MISSING } else { &codes::DEFAULT_SPEC_MISSING };
            findings.add(code, at, format!("{current} is {wanted}, but {list} has {seen:?}"));
        }
    }
    check_fields(json, at, findings);
}

/// Checks the ids of columns.
fn check_fields(json: &Json, at: &str, findings: &Findings) {
    let last = json.get("last-column-id").and_then(Json::as_i64);
    for schema in json.get("schemas").and_then(Json::as_array).into_iter().flatten() {
        let id = schema.get("schema-id").and_then(Json::as_i64).unwrap_or(0);
        let (mut ids, mut twice) = (BTreeSet::new(), BTreeSet::new());
        collect_ids(schema, &mut ids, &mut twice);
        for field in twice {
            findings.add(&codes::DUPLICATE_FIELD, at, format!("schema {id} has the column id {field} twice"));
        }
        let mut names = HashSet::new();
        for field in schema.get("fields").and_then(Json::as_array).into_iter().flatten() {
            let name = field.get("name").and_then(Json::as_str).unwrap_or_default();
            if !names.insert(name) {
                findings.add(&codes::DUPLICATE_FIELD, at, format!("schema {id} has the column name '{name}' twice"));
            }
        }
        if let (Some(last), Some(highest)) = (last, ids.last().copied())
            && highest > last
        {
            let evidence = format!("last-column-id is {last}, but schema {id} has the column id {highest}");
            findings.add(&codes::LAST_COLUMN_ID, at, evidence);
        }
    }
}

/// Collects the ids of a schema's fields, of list elements, and of keys and values of maps.
fn collect_ids(json: &Json, ids: &mut BTreeSet<i64>, twice: &mut BTreeSet<i64>) {
    match json {
        Json::Object(members) => {
            for (key, value) in members {
                let is_id = matches!(key.as_str(), "id" | "element-id" | "key-id" | "value-id");
                match value.as_i64().filter(|_| is_id) {
                    Some(id) => drop((!ids.insert(id)).then(|| twice.insert(id))),
                    // Defaults are values of users, and identifier ids name fields again.
                    None if !matches!(key.as_str(), "initial-default" | "write-default") => {
                        collect_ids(value, ids, twice);
                    }
                    None => {}
                }
            }
        }
        Json::Array(items) => items.iter().for_each(|item| collect_ids(item, ids, twice)),
        _ => {}
    }
}

/// Checks how schemas, specs, sort orders and the name mapping refer to each other.
pub(super) fn check_layout(metadata: &TableMetadata, at: &str, findings: &Findings) {
    let Ok(schema) = metadata.schema() else { return };
    for id in &schema.identifier_field_ids {
        let path = schema.path(*id);
        let is_right = path.is_some_and(|path| {
            path.iter().all(|f| f.required && !matches!(f.ty, Type::List(_) | Type::Map(..)))
                && path.last().is_some_and(|f| f.ty.as_primitive().is_some())
        });
        if !is_right {
            findings.add(&codes::IDENTIFIER_FIELD, at, format!("identifier field {id} of schema {}", schema.id));
        }
    }
    if let Ok(spec) = metadata.spec() {
        for field in spec.fields.iter().filter(|f| f.transform != crate::types::Transform::Void) {
            if schema.field(field.source_id).is_none() {
                let evidence = format!("the field '{}' is by the column id {}", field.name, field.source_id);
                findings.add(&codes::PARTITION_SOURCE, at, evidence);
            }
        }
    }
    let highest = crate::iceberg::spec::metadata_json::highest_partition_field_id(&metadata.partition_specs);
    if highest > metadata.last_partition_id && metadata.format_version > 1 {
        let evidence = format!("last-partition-id is {}, but there is {highest}", metadata.last_partition_id);
        findings.add(&codes::LAST_PARTITION_ID, at, evidence);
    }
    if let Ok(order) = metadata.sort_order() {
        for field in order.fields.iter().filter(|f| schema.field(f.source_id).is_none()) {
            findings.add(&codes::SORT_SOURCE, at, format!("the sort order is by the column id {}", field.source_id));
        }
    }
    if let Some(text) = metadata.properties.get(NAME_MAPPING) {
        check_mapping(text, metadata, findings);
    }
}

fn check_mapping(text: &str, metadata: &TableMetadata, findings: &Findings) {
    let json = match (NameMapping::parse(text), json_text::parse(text.as_bytes())) {
        (Ok(_), Ok(json)) => json,
        (Err(e), _) => {
            return findings.add(&codes::NAME_MAPPING, NAME_MAPPING, crate::format::diagnosis::finding::reason(&e));
        }
        (_, Err(e)) => return findings.add(&codes::NAME_MAPPING, NAME_MAPPING, e),
    };
    let known = |id: i64| {
        let id = i32::try_from(id).ok();
        id.is_some_and(|id| metadata.schemas.iter().any(|schema: &std::sync::Arc<Schema>| schema.field(id).is_some()))
    };
    let mut ids = HashSet::new();
    mapped(&json, &mut |id, names| {
        if let Some(id) = id {
            if !known(id) {
                let evidence = format!("{names:?} is mapped to the column id {id}");
                findings.add(&codes::NAME_MAPPING_UNKNOWN, NAME_MAPPING, evidence);
            }
            if !ids.insert(id) {
                findings.add(&codes::NAME_MAPPING_TWICE, NAME_MAPPING, format!("the column id {id} is mapped twice"));
            }
        }
    });
}

/// Calls `see` with the id and the names of each mapped field.
fn mapped(json: &Json, see: &mut dyn FnMut(Option<i64>, Vec<&str>)) {
    for field in json.as_array().into_iter().flatten() {
        let names = field.get("names").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
        see(field.get("field-id").and_then(Json::as_i64), names.collect());
        field.get("fields").into_iter().for_each(|fields| mapped(fields, see));
    }
}
