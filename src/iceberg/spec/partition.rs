//! Partition specs as JSON.
//!
//! Source: Iceberg specification, Appendix C, "Partition Specs".

use std::collections::HashSet;

use serde_json::{Map, Value as Json, json};

use crate::error::{Error, Result};
use crate::types::json_members::{OwnedMembers, as_int};
use crate::types::{PartitionField, PartitionSpec, Transform};

/// The id of the first partition field if the spec records no ids.
pub const FIRST_PARTITION_FIELD_ID: i32 = 1000;

/// Reads a spec object, or the bare list of fields of old v1 tables. A spec from a list gets `default_id`.
///
/// If no field has an id (v1), ids count up from [`FIRST_PARTITION_FIELD_ID`] by position.
///
/// # Errors
/// `CorruptTable` for a missing or wrong member, ids on some fields only, or an id or a name used twice.
pub fn spec_from_json(json: &Json, default_id: i32) -> Result<PartitionSpec> {
    let (id, fields) = match json {
        Json::Array(fields) => (default_id, fields.clone()),
        json => {
            let mut members = OwnedMembers::of(json.clone(), "a partition spec")?;
            let id = members.int("spec-id")?.unwrap_or(default_id);
            let fields = members.list("fields")?;
            (id, fields.ok_or_else(|| members.error("fields", "is missing"))?)
        }
    };
    let mut out: Vec<PartitionField> = Vec::with_capacity(fields.len());
    let mut with_id = 0;
    for (i, field) in fields.into_iter().enumerate() {
        let mut members = OwnedMembers::of(field, "a partition field")?;
        let recorded = members.int("field-id")?;
        with_id += usize::from(recorded.is_some());
        let position = i32::try_from(i).ok().and_then(|i| FIRST_PARTITION_FIELD_ID.checked_add(i));
        let field_id = recorded.or(position).ok_or_else(|| Error::corrupt("a partition spec has too many fields"))?;
        let text = members.required_string("transform")?;
        let name = members.required_string("name")?;
        let (source_id, only) = source_id(&mut members)?;
        let transform = if only { Transform::parse(&text) } else { Transform::Unknown(text) };
        out.push(PartitionField { source_id, field_id, name, transform });
    }
    if with_id != 0 && with_id != out.len() {
        return Err(Error::corrupt(format!("{with_id} of the {} fields of partition spec {id} have ids", out.len())));
    }
    let mut ids: Vec<i32> = out.iter().map(|f| f.field_id).collect();
    ids.sort_unstable();
    if let Some(pair) = ids.windows(2).find(|pair| pair.first() == pair.last()) {
        return Err(Error::corrupt(format!("partition spec {id} uses field id {} twice", pair[0])));
    }
    let mut names = HashSet::with_capacity(out.len());
    if let Some(twin) = out.iter().find(|f| !names.insert(f.name.as_str())) {
        return Err(Error::corrupt(format!("partition spec {id} has two fields named '{}'", twin.name)));
    }
    Ok(PartitionSpec { id, fields: out })
}

/// The source column, and whether it is the only one. v3 may list several in `source-ids`, for transforms that this
/// version does not know.
pub(crate) fn source_id(members: &mut OwnedMembers) -> Result<(i32, bool)> {
    let ids = members.list("source-ids")?.unwrap_or_default();
    if let Some(id) = members.int("source-id")? {
        return Ok((id, ids.len() < 2));
    }
    let first = ids.first().ok_or_else(|| members.error("source-id", "is missing"))?;
    Ok((as_int(first).ok_or_else(|| members.error("source-ids", "is not a list of 32-bit integers"))?, ids.len() == 1))
}

/// The spec in its object form.
pub fn spec_to_json(spec: &PartitionSpec) -> Json {
    json!({"spec-id": spec.id, "fields": spec_fields_to_json(&spec.fields)})
}

/// The fields in their list form, as in `partition-spec` of v1 tables.
pub fn spec_fields_to_json(fields: &[PartitionField]) -> Json {
    let field = |f: &PartitionField| json!({"name": f.name, "transform": f.transform.to_string(), "source-id": f.source_id, "field-id": f.field_id});
    Json::Array(fields.iter().map(field).collect())
}

/// The recorded JSON of `spec` in complete form: the object form, with every id that was left to its default.
pub(crate) fn complete_spec_json(json: Json, spec: &PartitionSpec) -> Json {
    let mut object = match json {
        Json::Array(fields) => Map::from_iter([("fields".to_owned(), Json::Array(fields))]),
        Json::Object(object) => object,
        _ => return spec_to_json(spec),
    };
    object.insert("spec-id".into(), json!(spec.id));
    if let Some(Json::Array(fields)) = object.get_mut("fields") {
        for (recorded, field) in fields.iter_mut().zip(&spec.fields) {
            if let Json::Object(recorded) = recorded {
                recorded.insert("field-id".into(), json!(field.field_id));
            }
        }
    }
    Json::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_all_forms() {
        let fields = json!([{"name": "d", "transform": "day", "source-id": 2, "field-id": null},
            {"name": "b", "transform": "bucket[4]", "source-id": 1}]);
        let spec = spec_from_json(&fields, 7).unwrap();
        assert_eq!((spec.id, spec.fields[0].field_id, spec.fields[1].field_id), (7, 1000, 1001));
        let complete = complete_spec_json(fields, &spec);
        assert_eq!(complete, spec_to_json(&spec));
        assert_eq!(spec_from_json(&complete, 0).unwrap(), spec);
        let listed = json!({"spec-id": 1, "fields": [{"name": "x", "transform": "later[3]", "source-ids": [4], "field-id": 1003}]});
        let spec = spec_from_json(&listed, 0).unwrap();
        assert_eq!(spec.fields[0].transform, Transform::Unknown("later[3]".into()));
        assert_eq!(spec.fields[0].source_id, 4);
    }

    #[test]
    fn refuses_half_given_and_repeated_ids() {
        let named =
            |name: &str, id: Json| json!({"name": name, "transform": "identity", "source-id": 1, "field-id": id});
        let (x, y) = (|id: i32| named("x", json!(id)), |id: i32| named("y", json!(id)));
        assert!(spec_from_json(&json!([x(5), y(6)]), 0).is_ok());
        for fields in [json!([x(1000), named("y", Json::Null)]), json!([x(5), y(5)]), json!([x(5), x(6)])] {
            assert!(spec_from_json(&fields, 0).is_err(), "{fields}");
        }
        assert!(spec_from_json(&json!({"spec-id": 1}), 0).is_err());
        assert!(spec_from_json(&json!("x"), 0).is_err());
    }
}
