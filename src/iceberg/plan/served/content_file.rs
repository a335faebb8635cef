//! Files in the JSON of the REST API.
//!
//! Source: `ContentFile` in `open-api/rest-catalog-open-api.yaml` of apache/iceberg, and Java's `ContentFileParser`,
//! which also writes partitions as objects and contents in capital letters.

use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::format::task::{ColumnMetrics, FieldMap, FileContent, FileFormat};
use crate::types::json::value_from_json;
use crate::types::json_members::{OwnedMembers, as_int};
use crate::types::value::unhex;
use crate::types::{FieldId, PartitionSpec, PrimitiveType, Value};

/// A file as a server describes it. Its partition is not read yet.
#[derive(Debug)]
pub(super) struct ServedFile {
    pub(super) content: FileContent,
    pub(super) path: String,
    pub(super) format: FileFormat,
    pub(super) spec_id: i32,
    pub(super) partition: Option<Json>,
    pub(super) record_count: i64,
    pub(super) size_bytes: i64,
    pub(super) key_metadata: Option<Vec<u8>>,
    pub(super) split_offsets: Option<Vec<i64>>,
    pub(super) equality_ids: Option<Vec<i64>>,
    pub(super) sort_order_id: Option<i32>,
    pub(super) first_row_id: Option<i64>,
    pub(super) referenced_data_file: Option<String>,
    pub(super) content_offset: Option<i64>,
    pub(super) content_size_bytes: Option<i64>,
    /// Only if asked for.
    pub(super) metrics: ColumnMetrics,
}

impl ServedFile {
    /// Reads a file, and its metrics if they are wanted. Unknown members are ignored.
    ///
    /// # Errors
    /// `CorruptTable` for missing members and for members of other types; `Unsupported` for other formats of files.
    pub(super) fn of(json: Json, with_metrics: bool) -> Result<ServedFile> {
        let mut m = OwnedMembers::of(json, "a file in the server's plan")?;
        let path = m.required_string("file-path")?;
        ServedFile::members(&mut m, path.clone(), with_metrics).map_err(|e| e.with("path", path))
    }

    fn members(m: &mut OwnedMembers, path: String, with_metrics: bool) -> Result<ServedFile> {
        if path.is_empty() {
            return Err(m.error("file-path", "is empty"));
        }
        let content = m.required_string("content")?;
        let content = match content.to_ascii_lowercase().replace('_', "-").as_str() {
            "data" => FileContent::Data,
            "position-deletes" => FileContent::PositionDeletes,
            "equality-deletes" => FileContent::EqualityDeletes,
            _ => return Err(m.error("content", &format!("is '{content}', not data or deletes"))),
        };
        let format = m.required_string("file-format")?;
        let format = FileFormat::parse(&format)
            .filter(|format| *format != FileFormat::Blob)
            .ok_or_else(|| Error::unsupported(format!("the server's plan has a file of the format '{format}'")))?;
        let required = |m: &mut OwnedMembers, key| m.count(key)?.ok_or_else(|| m.error(key, "is missing"));
        let key_metadata = m.string("key-metadata")?;
        let key_metadata = key_metadata.map(|text| unhex(&text).ok_or_else(|| m.error("key-metadata", NOT_HEX)));
        Ok(ServedFile {
            content,
            path,
            format,
            spec_id: m.required_int("spec-id")?,
            partition: m.take("partition"),
            record_count: required(m, "record-count")?,
            size_bytes: required(m, "file-size-in-bytes")?,
            key_metadata: key_metadata.transpose()?,
            split_offsets: longs(m, "split-offsets")?.filter(|offsets| !offsets.is_empty()),
            equality_ids: longs(m, "equality-ids")?,
            sort_order_id: m.int("sort-order-id")?,
            first_row_id: m.count("first-row-id")?,
            referenced_data_file: m.string("referenced-data-file")?,
            content_offset: m.count("content-offset")?,
            content_size_bytes: m.count("content-size-in-bytes")?,
            metrics: if with_metrics { metrics(m)? } else { ColumnMetrics::default() },
        })
    }

    /// The values of the partition, in the order of the spec. A list has one value for each field. An object has them
    /// by the field's id or name, and leaves out nulls.
    ///
    /// # Errors
    /// `CorruptTable` for a partition of another form, another length or other types, and for fields that the spec does
    /// not have.
    pub(super) fn tuple(&self, spec: &PartitionSpec, types: &[PrimitiveType]) -> Result<Vec<Option<Value>>> {
        let fields = spec.fields.iter().zip(types);
        let wrong = |problem: String| {
            Error::corrupt(format!("the partition of a file in the server's plan {problem}"))
                .with("path", &self.path)
                .with("spec", spec.id)
        };
        // A dropped source column has no type, and its value plays no part.
        let value = |json: &Json, ty: &PrimitiveType| match ty {
            PrimitiveType::Unknown => Ok(None),
            ty => value_from_json(json, ty).map_err(|e| e.with("path", &self.path).with("spec", spec.id)),
        };
        match &self.partition {
            None if spec.fields.is_empty() => Ok(Vec::new()),
            None => Err(wrong("is missing".to_owned())),
            Some(Json::Array(values)) if values.len() == spec.fields.len() => {
                fields.zip(values).map(|((_, ty), json)| value(json, ty)).collect()
            }
            Some(Json::Array(values)) => Err(wrong(format!("has {} values, not {}", values.len(), spec.fields.len()))),
            Some(Json::Object(values)) => {
                let is_known =
                    |key: &str| spec.fields.iter().any(|field| key == field.name || key == field.field_id.to_string());
                // Its value would be read as null, and a filter would drop the file.
                if let Some(key) = values.keys().find(|key| !is_known(key)) {
                    return Err(wrong(format!("has a value for '{key}', which is no field of the partition spec")));
                }
                let of = |id: FieldId, name: &str| values.get(&id.to_string()).or_else(|| values.get(name));
                fields
                    .map(|(field, ty)| of(field.field_id, &field.name).map_or(Ok(None), |json| value(json, ty)))
                    .collect()
            }
            Some(_) => Err(wrong("is neither a list nor an object".to_owned())),
        }
    }
}

const NOT_HEX: &str = "is not hexadecimal text";

fn longs(m: &mut OwnedMembers, key: &str) -> Result<Option<Vec<i64>>> {
    let Some(list) = m.list(key)? else { return Ok(None) };
    let longs = list.iter().map(|json| json.as_i64().filter(|value| *value >= 0)).collect::<Option<Vec<i64>>>();
    longs.map(Some).ok_or_else(|| m.error(key, "has a value that is not a whole number from 0 up"))
}

fn metrics(m: &mut OwnedMembers) -> Result<ColumnMetrics> {
    let count = |json: &Json| json.as_i64();
    let bound = |json: &Json| json.as_str().and_then(unhex);
    Ok(ColumnMetrics {
        column_sizes: pairs(m, "column-sizes", count)?,
        value_counts: pairs(m, "value-counts", count)?,
        null_value_counts: pairs(m, "null-value-counts", count)?,
        nan_value_counts: pairs(m, "nan-value-counts", count)?,
        lower_bounds: pairs(m, "lower-bounds", bound)?,
        upper_bounds: pairs(m, "upper-bounds", bound)?,
    })
}

/// A map in the form of two lists, `keys` and `values`.
fn pairs<T>(m: &mut OwnedMembers, key: &str, value: fn(&Json) -> Option<T>) -> Result<Option<FieldMap<T>>> {
    let Some(json) = m.take(key) else { return Ok(None) };
    let list = |name: &str| json.get(name).and_then(Json::as_array);
    let read = || {
        let (keys, values) = (list("keys")?, list("values")?);
        let pairs = keys.iter().zip(values).map(|(id, of)| Some((as_int(id)?, value(of)?)));
        pairs.collect::<Option<FieldMap<T>>>().filter(|_| keys.len() == values.len())
    };
    read().map(Some).ok_or_else(|| m.error(key, "is not a pair of lists, keys and values"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types::{PartitionField, Transform};

    #[test]
    fn a_partition_names_its_fields() {
        let field = |field_id, name: &str| PartitionField {
            source_id: 1,
            field_id,
            name: name.to_owned(),
            transform: Transform::Identity,
        };
        let spec = PartitionSpec { id: 3, fields: vec![field(1000, "a"), field(1001, "b")] };
        let tuple = |partition: Json| {
            let json = json!({"content": "data", "file-path": "f", "file-format": "parquet", "spec-id": 3,
                "record-count": 1, "file-size-in-bytes": 1, "partition": partition});
            ServedFile::of(json, false)?.tuple(&spec, &[PrimitiveType::Int, PrimitiveType::Int])
        };
        let expected = [Some(Value::Int(7)), None];
        for same in [json!([7, null]), json!({"1000": 7}), json!({"a": 7}), json!({"a": 7, "1001": null})] {
            assert_eq!(tuple(same.clone()).unwrap(), expected, "{same}");
        }
        let e = tuple(json!({"a": 7, "source": 1})).unwrap_err().to_string();
        assert!(e.contains("'source'") && e.contains("no field"), "{e}");
        assert!(tuple(json!([7])).is_err() && tuple(json!("7")).is_err());
    }
}
