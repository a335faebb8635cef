use super::*;

const MAPPING: &str = "schema.name-mapping.default";

#[test]
fn properties_and_location_are_set() {
    let base = table(1, &[], &[]);
    let next = evolve(&base, json!([
        {"change": "set-properties", "properties": {"a": "1", "format-version": "2", "write.metadata.metrics.column.p.lat": "none"}},
        {"change": "set-properties", "properties": {"a": "2"}},
        {"change": "remove-properties", "names": ["write.parquet.compression-codec", "nope"]},
        {"change": "set-location", "location": "/elsewhere/"},
    ])).unwrap();
    assert_eq!((next.format_version, next.location.as_str()), (2, "/elsewhere"));
    assert_eq!(
        next.properties,
        BTreeMap::from([("a".into(), "2".into()), ("write.metadata.metrics.column.p.lat".into(), "none".into())])
    );
    for change in [
        json!({"change": "set-properties", "properties": {"uuid": "x"}}),
        json!({"change": "set-properties", "properties": {"write.metadata.metrics.column.nope": "none"}}),
        json!({"change": "set-properties", "properties": {"format-version": "1"}}),
        json!({"change": "set-location", "location": ""}),
        json!({"change": "upgrade", "format-version": 1}),
        json!({"change": "upgrade", "format-version": 9}),
        json!({"change": "upgrade", "format-version": 300}),
    ] {
        refused(&next, json!([change]));
    }
    let three = evolve(&next, json!([{"change": "upgrade", "format-version": 3}])).unwrap();
    assert_eq!((three.format_version, three.next_row_id), (3, Some(0)));
}

#[test]
fn column_properties_follow_their_columns() {
    let bloom = "write.parquet.bloom-filter-enabled.column.";
    let properties = json!({
        format!("{bloom}p.lat"): "true", format!("{bloom}data"): "true", format!("{bloom}id"): "true",
        "write.parquet.stats-enabled.column.p": "false", "write.metadata.metrics.column.data": "full", "x.data": "1",
    });
    let base = evolve(&table(2, &[], &[]), json!([{"change": "set-properties", "properties": properties}])).unwrap();
    let next = evolve(
        &base,
        json!([{"change": "update-schema", "operations": [
        {"do": "rename", "path": "p", "name": "place"}, {"do": "drop", "path": "data"}]}]),
    )
    .unwrap();
    let kept: Vec<_> = next.properties.keys().filter(|k| k.contains("column") || k.starts_with('x')).cloned().collect();
    let want = [
        format!("{bloom}id"),
        format!("{bloom}place.lat"),
        "write.parquet.stats-enabled.column.place".into(),
        "x.data".into(),
    ];
    assert_eq!(kept, want);
}

#[test]
fn name_mappings_get_new_names_and_keep_old_ones() {
    let mapping = json!([
        {"field-id": 1, "names": ["id", "record_id"]}, {"field-id": 2, "names": ["data"]},
        {"field-id": 4, "names": ["p"], "fields": [{"field-id": 9, "names": ["lat"]}, {"field-id": 10, "names": ["long"]}]},
        {"field-id": 5, "names": ["l"], "fields": [{"field-id": 11, "names": ["element"], "fields": [{"field-id": 12, "names": ["k"]}]}]},
        {"names": ["ignored"]},
    ]);
    let set = |text: String| json!([{"change": "set-properties", "properties": {MAPPING: text}}]);
    let base = evolve(&table(2, &[], &[]), set(mapping.to_string())).unwrap();
    let update = json!([{"change": "update-schema", "operations": [
        {"do": "rename", "path": "id", "name": "key"},
        {"do": "rename", "path": "data", "name": "record_id"},
        {"do": "add", "path": "p.alt", "type": "list<int>"},
        {"do": "add", "path": "l.q", "type": "int"},
        {"do": "drop", "path": "d"},
    ]}]);
    let next = evolve(&base, update.clone()).unwrap();
    let addition =
        json!([{"change": "update-schema", "operations": [{"do": "add", "path": "id", "type": "struct<a: int>"}]}]);
    let next = evolve(&next, addition).unwrap();
    let got: Json = serde_json::from_str(&next.properties[MAPPING]).unwrap();
    let want = json!([
        {"field-id": 1, "names": ["key"]}, {"field-id": 2, "names": ["data", "record_id"]},
        {"field-id": 4, "names": ["p"], "fields": [{"field-id": 9, "names": ["lat"]}, {"field-id": 10, "names": ["long"]},
            {"field-id": 17, "names": ["alt"], "fields": [{"field-id": 18, "names": ["element"]}]}]},
        {"field-id": 5, "names": ["l"], "fields": [{"field-id": 11, "names": ["element"], "fields": [
            {"field-id": 12, "names": ["k"]}, {"field-id": 19, "names": ["q"]}]}]},
        {"names": ["ignored"]},
        {"field-id": 20, "names": ["id"], "fields": [{"field-id": 21, "names": ["a"]}]},
    ]);
    assert_eq!(got, want);
    // An unreadable mapping prevents no change, as in the reference.
    let broken = evolve(&table(2, &[], &[]), set("no mapping".into())).unwrap();
    assert_eq!(evolve(&broken, update).unwrap().properties[MAPPING], "no mapping");
}
