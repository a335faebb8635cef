//! Schemas of the files that are written: values of the crate `apache-avro`, and their JSON text.
//!
//! The crate's own text has no place for `adjust-to-utc`, which Iceberg needs at timestamps. Its members also have
//! another order than Java's. So the text is made here, as Java writes it.
//!
//! Source: Apache Avro 1.12 specification, "Schema Declaration"; Iceberg specification, Appendix A, "Avro".

use std::collections::BTreeMap;

use apache_avro::Schema as AvroSchema;
use apache_avro::schema::{
    ArraySchema, DecimalSchema, FixedSchema, InnerDecimalSchema, MapSchema, Name, RecordField, RecordSchema,
    UnionSchema, UuidSchema,
};
use serde_json::{Map, Value as Json, json};

use crate::error::{Error, Result};

/// The attribute of a record's member that holds its field id.
pub(crate) const FIELD_ID: &str = "field-id";

/// How a schema's text distinguishes timestamps of a time zone from local ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zones {
    /// By the names of Avro: `timestamp-micros` and `local-timestamp-micros`.
    ByName,
    /// By Iceberg's attribute `adjust-to-utc`.
    AdjustToUtc,
}

/// A record of these fields. A name with dots has a namespace.
///
/// # Errors
/// Errors of the fields; `Internal` if Avro does not allow the name.
pub(crate) fn record(name: &str, fields: impl IntoIterator<Item = Result<RecordField>>) -> Result<AvroSchema> {
    let fields = fields.into_iter().collect::<Result<Vec<_>>>()?;
    let lookup = fields.iter().enumerate().map(|(place, f)| (f.name.clone(), place)).collect();
    let (aliases, doc, attributes) = (None, None, BTreeMap::new());
    Ok(AvroSchema::Record(RecordSchema { name: type_name(name)?, aliases, doc, fields, lookup, attributes }))
}

/// A field of a record, without documentation, default or attributes.
pub(crate) fn field(name: &str, schema: AvroSchema) -> RecordField {
    let custom_attributes = BTreeMap::new();
    RecordField { name: name.to_owned(), doc: None, aliases: Vec::new(), default: None, schema, custom_attributes }
}

/// A field whose value may be null, which is its default.
///
/// # Errors
/// As [`optional`].
pub(crate) fn optional_field(name: &str, schema: AvroSchema) -> Result<RecordField> {
    Ok(RecordField { default: Some(Json::Null), ..field(name, optional(schema)?) })
}

/// The union of null and another type.
///
/// # Errors
/// `Internal` if the type is null or a union.
pub(crate) fn optional(schema: AvroSchema) -> Result<AvroSchema> {
    let union = UnionSchema::new(vec![AvroSchema::Null, schema]);
    Ok(AvroSchema::Union(union.map_err(|e| Error::internal("a type can't be in a union with null").because(e))?))
}

/// An array with attributes.
pub(crate) fn array(items: AvroSchema, attributes: &[(&str, Json)]) -> AvroSchema {
    AvroSchema::Array(ArraySchema { items: Box::new(items), attributes: owned(attributes) })
}

/// An array of records of a key and a value, which represents a map with keys other than strings.
///
/// # Errors
/// As [`record`].
pub(crate) fn map_of_pairs(name: &str, pair: [Result<RecordField>; 2]) -> Result<AvroSchema> {
    Ok(array(record(name, pair)?, &[("logicalType", json!("map"))]))
}

/// A map from strings, with attributes.
pub(crate) fn map(values: AvroSchema, attributes: &[(&str, Json)]) -> AvroSchema {
    AvroSchema::Map(MapSchema { types: Box::new(values), attributes: owned(attributes) })
}

/// A type of `size` bytes.
///
/// # Errors
/// `Internal` if Avro does not allow the name.
pub(crate) fn fixed(name: &str, size: usize) -> Result<FixedSchema> {
    Ok(FixedSchema { name: type_name(name)?, aliases: None, doc: None, size, attributes: BTreeMap::new() })
}

/// The type of a name that the schema has already defined.
///
/// # Errors
/// `Internal` if Avro does not allow the name.
pub(crate) fn reference(name: &str) -> Result<AvroSchema> {
    Ok(AvroSchema::Ref { name: type_name(name)? })
}

fn type_name(name: &str) -> Result<Name> {
    Name::new(name).map_err(|e| Error::internal(format!("an Avro type can't have the name '{name}'")).because(e))
}

fn owned(attributes: &[(&str, Json)]) -> BTreeMap<String, Json> {
    attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// The schema's JSON text.
///
/// # Errors
/// `Internal` for types that are never written.
pub(crate) fn text(schema: &AvroSchema, zones: Zones) -> Result<String> {
    Ok(to_json(schema, zones)?.to_string())
}

fn to_json(schema: &AvroSchema, zones: Zones) -> Result<Json> {
    use AvroSchema as A;
    let logical = |ty: &str, name: &str| json!({"type": ty, "logicalType": name});
    let timestamp = |unit: &str, utc: bool| match zones {
        Zones::AdjustToUtc => {
            json!({"type": "long", "logicalType": format!("timestamp-{unit}"), "adjust-to-utc": utc})
        }
        Zones::ByName if utc => logical("long", &format!("timestamp-{unit}")),
        Zones::ByName => logical("long", &format!("local-timestamp-{unit}")),
    };
    Ok(match schema {
        A::Null => json!("null"),
        A::Boolean => json!("boolean"),
        A::Int => json!("int"),
        A::Long => json!("long"),
        A::Float => json!("float"),
        A::Double => json!("double"),
        A::Bytes => json!("bytes"),
        A::String => json!("string"),
        A::Date => logical("int", "date"),
        A::TimeMillis => logical("int", "time-millis"),
        A::TimeMicros => logical("long", "time-micros"),
        A::TimestampMillis => timestamp("millis", true),
        A::TimestampMicros => timestamp("micros", true),
        A::TimestampNanos => timestamp("nanos", true),
        A::LocalTimestampMillis => timestamp("millis", false),
        A::LocalTimestampMicros => timestamp("micros", false),
        A::LocalTimestampNanos => timestamp("nanos", false),
        A::Ref { name } => json!(name.fullname(None)),
        A::Union(union) => {
            Json::Array(union.variants().iter().map(|branch| to_json(branch, zones)).collect::<Result<_>>()?)
        }
        A::Array(a) => object(&[("type", json!("array")), ("items", to_json(&a.items, zones)?)], &a.attributes),
        A::Map(m) => object(&[("type", json!("map")), ("values", to_json(&m.types, zones)?)], &m.attributes),
        A::Record(r) => record_json(r, zones)?,
        A::Fixed(f) => fixed_json(f, &[]),
        A::Uuid(UuidSchema::Fixed(f)) => fixed_json(f, &[("logicalType", json!("uuid"))]),
        A::Decimal(d) => decimal_json(d),
        _ => return Err(Error::internal("no file is written with such an Avro type")),
    })
}

fn record_json(r: &RecordSchema, zones: Zones) -> Result<Json> {
    let mut members = vec![("type", json!("record")), ("name", json!(r.name.name()))];
    members.extend(r.name.namespace().map(|namespace| ("namespace", json!(namespace))));
    let fields = r.fields.iter().map(|f| field_json(f, zones)).collect::<Result<_>>()?;
    members.push(("fields", Json::Array(fields)));
    Ok(object(&members, &r.attributes))
}

fn field_json(f: &RecordField, zones: Zones) -> Result<Json> {
    let mut members = vec![("name", json!(f.name)), ("type", to_json(&f.schema, zones)?)];
    members.extend(f.doc.as_ref().map(|doc| ("doc", json!(doc))));
    members.extend(f.default.as_ref().map(|default| ("default", default.clone())));
    Ok(object(&members, &f.custom_attributes))
}

fn fixed_json(f: &FixedSchema, logical: &[(&str, Json)]) -> Json {
    let own = [("type", json!("fixed")), ("name", json!(f.name.fullname(None))), ("size", json!(f.size))];
    object(&[&own, logical].concat(), &f.attributes)
}

fn decimal_json(d: &DecimalSchema) -> Json {
    let logical = [("logicalType", json!("decimal")), ("precision", json!(d.precision)), ("scale", json!(d.scale))];
    match &d.inner {
        InnerDecimalSchema::Fixed(f) => fixed_json(f, &logical),
        InnerDecimalSchema::Bytes => object(&[&[("type", json!("bytes"))], &logical[..]].concat(), &BTreeMap::new()),
    }
}

/// Members in their order, and attributes: the field id is the last, as in Java's text.
fn object(members: &[(&str, Json)], attributes: &BTreeMap<String, Json>) -> Json {
    let mut out: Map<String, Json> = members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let others = attributes.iter().filter(|(name, _)| *name != FIELD_ID);
    out.extend(others.chain(attributes.get_key_value(FIELD_ID)).map(|(name, value)| (name.clone(), value.clone())));
    Json::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_told_apart_in_both_ways() {
        for (schema, by_name, utc) in [
            (AvroSchema::TimestampMicros, "timestamp-micros", true),
            (AvroSchema::LocalTimestampMicros, "local-timestamp-micros", false),
            (AvroSchema::LocalTimestampNanos, "local-timestamp-nanos", false),
            (AvroSchema::TimestampMillis, "timestamp-millis", true),
        ] {
            let plain = format!(r#"{{"type":"long","logicalType":"{by_name}"}}"#);
            assert_eq!(text(&schema, Zones::ByName).unwrap(), plain);
            let name = by_name.trim_start_matches("local-");
            let iceberg = format!(r#"{{"type":"long","logicalType":"{name}","adjust-to-utc":{utc}}}"#);
            assert_eq!(text(&schema, Zones::AdjustToUtc).unwrap(), iceberg);
        }
    }

    /// The crate reads the text as the same schema. Its own text says the same, except for `adjust-to-utc`.
    #[test]
    fn the_text_is_what_the_crate_says() {
        let decimal =
            DecimalSchema { precision: 9, scale: 2, inner: InnerDecimalSchema::Fixed(fixed("d", 4).unwrap()) };
        let pair = [Ok(field("key", AvroSchema::Int)), Ok(field("value", AvroSchema::Decimal(decimal)))];
        let fields = [
            Ok(field("a", AvroSchema::Date)),
            optional_field("b", map_of_pairs("k1_v2", pair).unwrap()),
            Ok(field("c", map(AvroSchema::TimestampNanos, &[("key-id", json!(3)), ("value-id", json!(4))]))),
        ];
        let schema = record("r", fields).unwrap();
        let own = text(&schema, Zones::ByName).unwrap();
        assert_eq!(AvroSchema::parse_str(&own).unwrap(), schema);
        let of_the_crate: Json = serde_json::to_value(&schema).unwrap();
        assert_eq!(serde_json::from_str::<Json>(&own).unwrap(), of_the_crate);
        assert!(text(&AvroSchema::BigDecimal, Zones::ByName).is_err());
    }
}
