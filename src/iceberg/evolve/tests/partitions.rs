use super::*;

fn update(operations: Json) -> Json {
    json!([{"change": "update-spec", "operations": operations}])
}

fn add(source: &str) -> Json {
    json!({"do": "add", "source": source})
}

fn remove(field: &str) -> Json {
    json!({"do": "remove", "field": field})
}

fn fields(metadata: &TableMetadata) -> Vec<String> {
    let spec = metadata.spec().unwrap();
    spec.fields.iter().map(|f| format!("{} {} {}({})", f.field_id, f.name, f.transform, f.source_id)).collect()
}

#[test]
fn fields_are_added_with_java_s_names_and_ids() {
    let base = table(2, &["id"], &[]);
    let next = evolve(
        &base,
        update(json!([
            add("bucket(16, id)"), add("truncate(4, data)"), add("year(dt)"),
            {"do": "add", "source": "p.lat", "name": "lat_part"}, {"do": "add", "source": "d", "transform": "bucket[8]"},
        ])),
    )
    .unwrap();
    let want = [
        "1000 id identity(1)",
        "1001 id_bucket_16 bucket[16](1)",
        "1002 data_trunc_4 truncate[4](2)",
        "1003 dt_year year(3)",
        "1004 lat_part identity(9)",
        "1005 d_bucket_8 bucket[8](7)",
    ];
    assert_eq!(fields(&next), want);
    assert_eq!((next.default_spec_id, next.last_partition_id), (1, 1005));
    for operations in [
        json!([add("id")]),
        json!([add("day(id)")]),
        json!([add("nope")]),
        json!([add("p")]),
        json!([add("l.k")]),
        json!([add("later(id)")]),
        json!([{"do": "add", "source": "id", "transform": "later[3]"}]),
        json!([{"do": "add", "source": "day(dt)", "transform": "day"}]),
        json!([add("data"), add("data")]),
        json!([add("day(dt)"), add("month(dt)")]),
        json!([{"do": "add", "source": "data", "name": "id"}]),
        json!([{"do": "add", "source": "bucket(4, data)", "name": "dt"}]),
        json!([{"do": "add", "source": "data", "name": ""}]),
        json!([{"do": "add", "source": "data", "name": "x"}, {"do": "add", "source": "dt", "name": "x"}]),
    ] {
        refused(&base, update(operations));
    }
}

#[test]
fn version_1_keeps_the_places_of_removed_fields() {
    let base = table(1, &["id", "bucket(4, data)"], &[]);
    let next = evolve(&base, update(json!([remove("id"), add("day(dt)")]))).unwrap();
    assert_eq!(fields(&next), ["1000 id void(1)", "1001 data_bucket bucket[4](2)", "1002 dt_day day(3)"]);
    // The void field is renamed for a new field of its name.
    let restored = evolve(&next, update(json!([add("id")]))).unwrap();
    assert_eq!(fields(&restored)[0], "1000 id_1000 void(1)");
    assert_eq!(fields(&restored)[3], "1003 id identity(1)");
    let replaced =
        evolve(&base, update(json!([remove("id"), {"do": "add", "source": "bucket(8, id)", "name": "id"}]))).unwrap();
    assert_eq!(fields(&replaced), ["1000 id_1000 void(1)", "1001 data_bucket bucket[4](2)", "1002 id bucket[8](1)"]);
}

#[test]
fn version_2_drops_fields_and_gives_their_ids_back() {
    let base = table(2, &["id", "bucket(4, data)"], &[]);
    let next = evolve(&base, update(json!([remove("id"), add("day(dt)")]))).unwrap();
    assert_eq!(fields(&next), ["1001 data_bucket bucket[4](2)", "1002 dt_day day(3)"]);
    let restored = evolve(&next, update(json!([add("id"), remove("dt_day")]))).unwrap();
    assert_eq!(fields(&restored), ["1001 data_bucket bucket[4](2)", "1000 id identity(1)"]);
    assert_eq!((restored.default_spec_id, restored.last_partition_id), (2, 1002));
    // Under another name it is another field, unless an older spec had it under that name.
    let named = evolve(&next, update(json!([{"do": "add", "source": "id", "name": "key"}]))).unwrap();
    assert_eq!(fields(&named)[2], "1003 key identity(1)");
    // A spec that the table had before is used again.
    let before =
        evolve(&next, update(json!([remove("dt_day"), remove("data_bucket"), add("id"), add("bucket(4, data)")])))
            .unwrap();
    assert_eq!(fields(&before), ["1001 data_bucket bucket[4](2)", "1000 id identity(1)"]);
    let none = evolve(&base, update(json!([remove("id"), remove("bucket(4, data)")]))).unwrap();
    assert_eq!((fields(&none).len(), none.last_partition_id), (0, 1001));
    let back = evolve(&none, update(json!([add("id"), add("bucket(4, data)")]))).unwrap();
    assert_eq!((back.default_spec_id, back.partition_specs.len()), (0, 2));
}

#[test]
fn fields_are_renamed_by_java_s_rules() {
    let base = table(2, &["id", "day(dt)"], &[]);
    let rename = |name: &str, to: &str| json!({"do": "rename", "name": name, "to": to});
    let next = evolve(&base, update(json!([rename("id", "shard")]))).unwrap();
    assert_eq!(fields(&next), ["1000 shard identity(1)", "1001 dt_day day(3)"]);
    for operations in [
        json!([rename("nope", "x")]),
        json!([rename("id", "data")]),
        json!([rename("id", "dt_day")]),
        json!([rename("id", "x"), remove("id")]),
        json!([remove("id"), rename("id", "x")]),
        json!([add("data"), rename("data", "x")]),
        json!([add("data"), remove("data")]),
        json!([remove("nope")]),
    ] {
        refused(&base, update(operations));
    }
    // Removed and added in one update: it stays, and may get another name.
    let kept = evolve(&base, update(json!([remove("id"), {"do": "add", "source": "id", "name": "key"}]))).unwrap();
    assert_eq!(fields(&kept)[0], "1000 key identity(1)");
}

#[test]
fn sort_orders_are_replaced_and_used_again() {
    let base = table(2, &[], &["id"]);
    let order = |fields: Json| json!([{"change": "update-sort-order", "fields": fields}]);
    let next = evolve(
        &base,
        order(json!([{"source": "day(dt)", "descending": true}, {"source": "id", "nulls-first": false}])),
    )
    .unwrap();
    let got: Vec<_> = next
        .sort_order()
        .unwrap()
        .fields
        .iter()
        .map(|f| (f.source_id, f.transform.to_string(), f.descending, f.nulls_first))
        .collect();
    assert_eq!(got, [(3, "day".to_owned(), true, false), (1, "identity".to_owned(), false, false)]);
    assert_eq!(next.default_sort_order_id, 2);
    let unsorted = evolve(&next, order(json!([]))).unwrap();
    assert_eq!((unsorted.default_sort_order_id, unsorted.sort_orders.len()), (0, 3));
    let back = evolve(&unsorted, order(json!([{"source": "id"}]))).unwrap();
    assert_eq!((back.default_sort_order_id, back.sort_orders.len()), (1, 3));
    for bad in [
        json!([{"source": "nope"}]),
        json!([{"source": "p"}]),
        json!([{"source": "day(id)"}]),
        json!([{"source": "id desc"}]),
    ] {
        refused(&base, order(bad));
    }
}
