use std::sync::Arc;

use super::*;

/// The schema that Java Iceberg 1.12 makes of the same columns, except for the order of members.
#[test]
fn every_type_is_as_java_has_it() {
    use PrimitiveType as P;
    let field = |id: i32, name: &str, ty: Type| Field::new(id, name, false, ty);
    let list = Type::List(Arc::new(field(21, "element", Type::Primitive(P::Uuid))));
    let of_text = Type::Map(
        Arc::new(Field::new(31, "key", true, P::String)),
        Arc::new(Field::new(32, "value", false, P::Decimal { precision: 9, scale: 2 })),
    );
    let of_numbers = Type::Map(
        Arc::new(Field::new(41, "key", true, P::Int)),
        Arc::new(Field::new(42, "value", false, P::Decimal { precision: 9, scale: 2 })),
    );
    let inner = Type::Struct(vec![Field::new(51, "9 x", true, P::Uuid)].into());
    let mut id = Field::new(1, "id", true, P::Long);
    id.doc = Some("the key".to_owned());
    let columns = vec![
        id,
        field(2, "ts", Type::Primitive(P::Timestamp)),
        field(3, "u", Type::Primitive(P::Unknown)),
        field(4, "v", Type::Primitive(P::Variant)),
        field(20, "l", list),
        field(30, "m", of_text),
        field(40, "n", of_numbers),
        field(50, "s", inner),
    ];
    let schema = avro_schema_json(&Schema::new(0, columns, vec![])).unwrap();
    let expected = json!({"type": "record", "name": "table", "fields": [
        {"name": "id", "type": "long", "doc": "the key", "field-id": 1},
        {"name": "ts", "default": null, "field-id": 2,
         "type": ["null", {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": false}]},
        {"name": "u", "type": "null", "default": null, "field-id": 3},
        {"name": "v", "default": null, "field-id": 4, "type": ["null", {
            "type": "record", "name": "r4", "logicalType": "variant",
            "fields": [{"name": "metadata", "type": "bytes"}, {"name": "value", "type": "bytes"}]}]},
        {"name": "l", "default": null, "field-id": 20, "type": ["null", {
            "type": "array", "element-id": 21,
            "items": ["null", {"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"}]}]},
        {"name": "m", "default": null, "field-id": 30, "type": ["null", {
            "type": "map", "key-id": 31, "value-id": 32,
            "values": ["null", {"type": "fixed", "name": "decimal_9_2", "size": 4, "logicalType": "decimal",
                                "precision": 9, "scale": 2}]}]},
        {"name": "n", "default": null, "field-id": 40, "type": ["null", {
            "type": "array", "logicalType": "map", "items": {"type": "record", "name": "k41_v42", "fields": [
                {"name": "key", "type": "int", "field-id": 41},
                {"name": "value", "type": ["null", "decimal_9_2"], "default": null, "field-id": 42}]}}]},
        {"name": "s", "default": null, "field-id": 50, "type": ["null", {
            "type": "record", "name": "r50", "fields": [
                {"name": "_9_x20x", "iceberg-field-name": "9 x", "type": "uuid_fixed", "field-id": 51}]}]},
    ]});
    assert_eq!(serde_json::from_str::<Json>(&schema).unwrap(), expected);
    // The crate of the Apache project accepts this schema too.
    apache_avro::Schema::parse_str(&schema).unwrap();
}

#[test]
fn names_that_avro_cannot_tell_apart_are_refused() {
    let two = ["a b", "a_x20b"].into_iter().zip(1..).map(|(name, id)| Field::new(id, name, true, PrimitiveType::Int));
    let e = avro_schema_json(&Schema::new(0, two.collect::<Vec<_>>(), vec![])).unwrap_err();
    assert!(e.to_string().contains("'a_x20b'"), "{e}");
}
