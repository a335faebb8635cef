//! Partition specs in JSON. What partition values tell about rows is in [`super::partition_bounds`].
//!
//! Source: Iceberg specification, "Partition Specs" and Appendix C.

use serde_json::{Value as Json, json};

use crate::error::{Error, Result, ResultExt};
use crate::types::{PartitionField, PartitionSpec, Transform};

pub use super::partition_bounds::{PartitionBounds, SummaryBounds};

/// The id that the first partition field gets.
const FIRST_FIELD_ID: i32 = 1000;

/// Reads a spec: an object with `spec-id` and `fields`, or the bare list of fields that v1 metadata and manifests have
/// (id 0 then).
///
/// # Errors
/// `CorruptTable` if a member is missing or of the wrong kind; `Unsupported` for transforms of several columns.
pub fn spec_from_json(json: &Json) -> Result<PartitionSpec> {
    if json.is_array() {
        return Ok(PartitionSpec { id: 0, fields: fields_from_json(json)? });
    }
    let id = integer(json, "spec-id")?;
    let fields = json.get("fields").ok_or_else(|| Error::corrupt("a partition spec has no `fields`"))?;
    Ok(PartitionSpec { id, fields: fields_from_json(fields).with("spec", id)? })
}

/// Writes a spec as an object.
pub fn spec_to_json(spec: &PartitionSpec) -> Json {
    json!({"spec-id": spec.id, "fields": fields_to_json(&spec.fields)})
}

/// Reads the list of fields. Old v1 writers left out the fields' ids: they count from 1000 by position.
///
/// # Errors
/// As [`spec_from_json`].
pub fn fields_from_json(json: &Json) -> Result<Vec<PartitionField>> {
    let list = json.as_array().ok_or_else(|| Error::corrupt("the fields of a partition spec are no list"))?;
    let numbered = list.iter().filter(|f| f.get("field-id").is_some_and(|id| !id.is_null())).count();
    if numbered != 0 && numbered != list.len() {
        return Err(Error::corrupt(format!("{numbered} of {} partition fields have a field-id", list.len())));
    }
    let field = |(position, json): (usize, &Json)| -> Result<PartitionField> {
        let field_id = match numbered {
            0 => i32::try_from(position).ok().and_then(|p| FIRST_FIELD_ID.checked_add(p)),
            _ => Some(integer(json, "field-id")?),
        };
        Ok(PartitionField {
            source_id: source_of(json)?,
            field_id: field_id.ok_or_else(|| Error::corrupt("a partition spec has too many fields"))?,
            name: text(json, "name")?.to_owned(),
            transform: Transform::parse(text(json, "transform")?),
        })
    };
    list.iter().enumerate().map(field).collect()
}

/// Writes the bare list of fields.
pub fn fields_to_json(fields: &[PartitionField]) -> Json {
    let one = |f: &PartitionField| {
        json!({
            "name": f.name,
            "transform": f.transform.to_string(),
            "source-id": f.source_id,
            "field-id": f.field_id,
        })
    };
    Json::Array(fields.iter().map(one).collect())
}

/// `last-partition-id` where metadata does not give it: the highest field id of all specs, 999 if there is none.
pub fn last_assigned_id<'a>(specs: impl IntoIterator<Item = &'a PartitionSpec>) -> i32 {
    specs.into_iter().flat_map(|s| &s.fields).map(|f| f.field_id).max().unwrap_or(FIRST_FIELD_ID - 1)
}

/// v3 writers may give `source-ids`, of which one is the same as `source-id`.
fn source_of(json: &Json) -> Result<i32> {
    match json.get("source-ids").and_then(Json::as_array).map(Vec::as_slice) {
        None => integer(json, "source-id"),
        Some([id]) => as_i32(id).ok_or_else(|| Error::corrupt("an entry of `source-ids` is no 32-bit integer")),
        Some(ids) => Err(Error::unsupported(format!("a partition field with {} source columns", ids.len()))
            .with("transform", text(json, "transform").unwrap_or_default())),
    }
}

fn as_i32(json: &Json) -> Option<i32> {
    json.as_i64().and_then(|v| i32::try_from(v).ok())
}

fn integer(json: &Json, key: &str) -> Result<i32> {
    let value = json.get(key).and_then(as_i32);
    value.ok_or_else(|| Error::corrupt(format!("a partition spec needs a 32-bit integer as `{key}`")))
}

fn text<'j>(json: &'j Json, key: &str) -> Result<&'j str> {
    let value = json.get(key).and_then(Json::as_str);
    value.ok_or_else(|| Error::corrupt(format!("a partition field needs a string as `{key}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Appendix C, and what reads back of it.
    #[test]
    fn appendix_c() {
        let json = json!({"spec-id": 7, "fields": [
            {"name": "ts_day", "transform": "day", "source-id": 4, "field-id": 1000},
            {"name": "id_bucket", "transform": "bucket[16]", "source-id": 1, "field-id": 1001}]});
        let spec = spec_from_json(&json).unwrap();
        assert_eq!((spec.id, spec.fields[1].transform.clone()), (7, Transform::Bucket(16)));
        assert_eq!(spec_to_json(&spec), json);
        assert_eq!(last_assigned_id([&spec]), 1001);
        assert_eq!(last_assigned_id([]), 999);
    }

    #[test]
    fn old_specs_number_by_position_and_unknown_transforms_stay() {
        let json = json!([{"name": "a", "transform": "zorder[2]", "source-id": 1},
                          {"name": "b", "transform": "void", "source-id": 2}]);
        let spec = spec_from_json(&json).unwrap();
        assert_eq!((spec.fields[0].field_id, spec.fields[1].field_id), (1000, 1001));
        assert_eq!(spec.fields[0].transform, Transform::Unknown("zorder[2]".into()));
        assert_eq!(fields_to_json(&spec.fields)[0]["transform"], json!("zorder[2]"));
        let one = json!([{"name": "a", "transform": "identity", "source-ids": [3], "field-id": 1000}]);
        assert_eq!(fields_from_json(&one).unwrap()[0].source_id, 3);
    }

    #[test]
    fn malformed_specs_are_corrupt() {
        for bad in [
            json!({"fields": []}),
            json!({"spec-id": 1}),
            json!({"spec-id": 1u64 << 40, "fields": []}),
            json!([{"name": "a", "transform": "identity"}]),
            json!([{"name": 1, "transform": "identity", "source-id": 1}]),
            json!([{"name": "a", "transform": "identity", "source-id": 1, "field-id": 1000},
                   {"name": "b", "transform": "identity", "source-id": 1}]),
            json!("x"),
        ] {
            assert_eq!(spec_from_json(&bad).unwrap_err().kind(), crate::error::ErrorKind::CorruptTable, "{bad}");
        }
    }
}
