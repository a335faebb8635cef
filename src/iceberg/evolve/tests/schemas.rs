use super::*;
use crate::types::{Field, FieldId};

fn update(operations: Json) -> Json {
    json!([{"change": "update-schema", "operations": operations}])
}

fn incompatible(operations: Json) -> Json {
    json!([{"change": "update-schema", "allow-incompatible": true, "operations": operations}])
}

fn columns(metadata: &TableMetadata) -> Vec<String> {
    metadata.schema().unwrap().fields.iter().map(Field::to_string).collect()
}

fn names(metadata: &TableMetadata) -> Vec<String> {
    metadata.schema().unwrap().fields.iter().map(|f| f.name.clone()).collect()
}

fn id_of(metadata: &TableMetadata, path: &str) -> Option<FieldId> {
    metadata.schema().unwrap().find(&path.split('.').collect::<Vec<_>>(), true).map(|f| f.id)
}

#[test]
fn columns_are_added_at_every_depth_with_ids_in_java_s_order() {
    let base = table(2, &[], &[]);
    let next = evolve(
        &base,
        update(json!([
            {"do": "add", "path": "s", "type": "struct<a: int, b: list<struct<c: int>>, e: int>", "doc": "nested"},
            {"do": "add", "path": "p.alt", "type": "double"},
            {"do": "add", "path": "l.x", "type": "int"},
            {"do": "add", "path": "l.element.y", "type": "int"},
            {"do": "add", "path": ["m", "w"], "type": "map<string, long>"},
            {"do": "add", "path": ["with.dot"], "type": "uuid"},
        ])),
    )
    .unwrap();
    let ids = ["s", "s.a", "s.b", "s.e", "s.b.element", "s.b.element.c", "p.alt", "l.element.x", "l.element.y"];
    let ids: Vec<_> = ids.iter().map(|path| id_of(&next, path).unwrap()).collect();
    assert_eq!(ids, [17, 18, 19, 20, 21, 22, 23, 24, 25]);
    assert_eq!(
        ["m.value.w", "m.value.w.key", "m.value.w.value", "with.dot"].map(|p| id_of(&next, p)),
        [26, 27, 28, 29].map(Some)
    );
    assert_eq!((next.last_column_id, next.current_schema_id, next.schemas.len()), (29, 1, 2));
    assert_eq!(next.schemas[0], base.schemas[0]);
    assert_eq!(next.schema().unwrap().field(17).unwrap().doc.as_deref(), Some("nested"));
}

#[test]
fn additions_that_clash_are_refused() {
    let base = table(2, &[], &[]);
    let add = |path: Json| update(json!([{"do": "add", "path": path, "type": "int"}]));
    assert!(refused(&base, add(json!("id"))).contains("already"));
    assert!(refused(&base, add(json!("p.lat"))).contains("already"));
    assert!(refused(&base, add(json!("l.k"))).contains("already"));
    assert!(refused(&base, add(json!("nope.x"))).contains("there is no column 'nope'"));
    assert!(refused(&base, add(json!("id.x"))).contains("is not a struct"));
    assert!(refused(&base, add(json!(["p.lat"]))).contains("two columns have this name"));
    assert!(refused(&base, add(json!("m.key.b"))).contains("keys of a map"));
    let twice = json!([{"do": "add", "path": "x", "type": "int"}, {"do": "add", "path": "x", "type": "int"}]);
    assert!(refused(&base, update(twice)).contains("two columns"));
    let into_dropped = json!([{"do": "drop", "path": "p"}, {"do": "add", "path": "p.x", "type": "int"}]);
    assert!(refused(&base, update(into_dropped)).contains("dropped by the same update"));
    let upper = json!([{"change": "update-schema", "case-sensitive": false, "operations": [{"do": "add", "path": "ID", "type": "int"}]}]);
    assert!(refused(&base, upper).contains("already"));
    assert_eq!(names(&evolve(&base, add(json!("ID"))).unwrap()).last().unwrap(), "ID");
    // A name freed by a drop in the same update is free. The new column is another one.
    let operations = json!([{"do": "drop", "path": "data"}, {"do": "add", "path": "data", "type": "int"}]);
    let next = evolve(&base, update(operations)).unwrap();
    assert_eq!(id_of(&next, "data"), Some(17));
}

#[test]
fn required_columns_need_a_default() {
    let add = |more: Json| {
        let mut operation = json!({"do": "add", "path": "x", "type": "int", "required": true});
        operation.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([operation])
    };
    let base = table(3, &[], &[]);
    assert!(refused(&base, update(add(json!({})))).contains("without a default"));
    assert!(evolve(&base, incompatible(add(json!({})))).is_ok());
    let next = evolve(&base, update(add(json!({"default": 5, "write-default": 6})))).unwrap();
    let field = next.schema().unwrap().field(17).unwrap();
    assert_eq!((field.initial_default.clone(), field.write_default.clone()), (Some(json!(5)), Some(json!(6))));
    let next = evolve(&base, update(add(json!({"default": 5})))).unwrap();
    assert_eq!(next.schema().unwrap().field(17).unwrap().write_default, Some(json!(5)));
    let error = refused(&table(2, &[], &[]), update(add(json!({"default": 5}))));
    assert!(error.contains("format version 3"), "{error}");
    // The write default changes, the initial one never does.
    let later = evolve(&next, update(json!([{"do": "default", "path": "x", "default": 7}]))).unwrap();
    let field = later.schema().unwrap().field(17).unwrap();
    assert_eq!((field.initial_default.clone(), field.write_default.clone()), (Some(json!(5)), Some(json!(7))));
}

#[test]
fn defaults_are_values_of_their_type() {
    let base = table(3, &[], &[]);
    let add = |ty: &str, default: Json| update(json!([{"do": "add", "path": "x", "type": ty, "default": default}]));
    for (ty, given, recorded) in [
        ("float", json!(1), json!(1.0)),
        ("double", json!("NaN"), json!("NaN")),
        ("decimal(9, 2)", json!(3), json!("3.00")),
        ("timestamp", json!("2020-01-02T03:04:05"), json!("2020-01-02T03:04:05")),
        ("uuid", json!("F79C3E09-677C-4BBD-A479-3F349CB785E7"), json!("f79c3e09-677c-4bbd-a479-3f349cb785e7")),
        ("fixed[2]", json!("00FF"), json!("00ff")),
    ] {
        let next = evolve(&base, add(ty, given.clone())).unwrap();
        let field = next.schema().unwrap().field(17).unwrap();
        assert_eq!(field.initial_default, Some(recorded), "{ty} {given}");
    }
    for (ty, given) in [
        ("int", json!("5")),
        ("int", json!(1_i64 << 40)),
        ("float", json!(1e300)),
        ("decimal(4, 2)", json!("100.00")),
        ("date", json!("yesterday")),
        ("timestamptz", json!("2020-01-02T03:04:05")),
        ("fixed[2]", json!("00")),
        ("variant", json!(1)),
        ("geometry", json!("00")),
        ("unknown", json!(1)),
        ("list<int>", json!([1])),
        ("struct<a: int>", json!({"1": 1})),
    ] {
        let error = refused(&base, add(ty, given));
        assert!(error.contains("default"), "{ty}: {error}");
    }
    assert!(
        refused(&base, incompatible(json!([{"do": "add", "path": "x", "type": "unknown", "required": true}])))
            .contains("unknown")
    );
}

#[test]
fn drops_and_changes_of_one_column_do_not_mix() {
    let base = table(2, &[], &[]);
    for (first, second) in [
        (json!({"do": "drop", "path": "data"}), json!({"do": "rename", "path": "data", "name": "x"})),
        (json!({"do": "drop", "path": "id"}), json!({"do": "type", "path": "id", "type": "long"})),
        (json!({"do": "drop", "path": "id"}), json!({"do": "required", "path": "id", "required": false})),
        (json!({"do": "drop", "path": "id"}), json!({"do": "doc", "path": "id", "doc": "x"})),
        (json!({"do": "drop", "path": "id"}), json!({"do": "move", "path": "id", "after": "dt"})),
        (json!({"do": "move", "path": "id", "after": "dt"}), json!({"do": "drop", "path": "dt"})),
        (json!({"do": "rename", "path": "data", "name": "x"}), json!({"do": "drop", "path": "data"})),
        (json!({"do": "type", "path": "id", "type": "long"}), json!({"do": "drop", "path": "id"})),
        (json!({"do": "add", "path": "p.x", "type": "int"}), json!({"do": "drop", "path": "p"})),
    ] {
        let error = refused(&base, update(json!([first, second])));
        assert!(error.contains("one update"), "{error}");
    }
    let next = evolve(&base, update(json!([{"do": "drop", "path": "p.long"}, {"do": "drop", "path": "l"}]))).unwrap();
    assert_eq!((id_of(&next, "p.long"), id_of(&next, "l"), next.last_column_id), (None, None, 16));
    assert!(refused(&base, update(json!([{"do": "drop", "path": "l.element"}]))).contains("element can't be dropped"));
    assert!(refused(&base, update(json!([{"do": "drop", "path": "m.key"}]))).contains("key or value can't be dropped"));
    assert!(
        refused(&base, update(json!([{"do": "drop", "path": "m.value"}]))).contains("key or value can't be dropped")
    );
    assert!(refused(&base, update(json!([{"do": "drop", "path": "m.key.a"}]))).contains("keys of a map"));
    assert!(refused(&base, update(json!([{"do": "drop", "path": "gone"}]))).contains("no column"));
    let empty = json!([{"do": "drop", "path": "p.lat"}, {"do": "drop", "path": "p.long"}]);
    assert!(refused(&base, update(empty)).contains("struct without fields"));
}

#[test]
fn renames_keep_ids_and_merge_with_other_changes() {
    let base = table(2, &[], &[]);
    let next = evolve(
        &base,
        update(json!([
            {"do": "rename", "path": "id", "name": "key"},
            {"do": "type", "path": "id", "type": "long"},
            {"do": "doc", "path": "id", "doc": "the key"},
            {"do": "rename", "path": "p.lat", "name": "latitude"},
            {"do": "rename", "path": "l.k", "name": "kk"},
            {"do": "rename", "path": "m.v", "name": "vv"},
        ])),
    )
    .unwrap();
    assert_eq!(columns(&next)[0], "1: key: required long");
    assert_eq!(["p.latitude", "l.element.kk", "m.value.vv"].map(|p| id_of(&next, p)), [Some(9), Some(12), Some(16)]);
    assert_eq!(next.schema().unwrap().field(1).unwrap().doc.as_deref(), Some("the key"));
    for (path, name) in
        [("id", "data"), ("id", ""), ("l.element", "x"), ("m.value", "x"), ("m.key.a", "x"), ("nope", "x")]
    {
        refused(&base, update(json!([{"do": "rename", "path": path, "name": name}])));
    }
    // Names can be swapped, since operations use the names from before the update.
    let swap = json!([{"do": "rename", "path": "id", "name": "data"}, {"do": "rename", "path": "data", "name": "id"}]);
    assert_eq!(names(&evolve(&base, update(swap)).unwrap())[..2], ["data", "id"]);
}

#[test]
fn types_widen_as_the_specification_says() {
    let types = [
        "int",
        "long",
        "float",
        "double",
        "date",
        "timestamp",
        "timestamptz",
        "timestamp_ns",
        "string",
        "binary",
        "decimal(9, 2)",
        "decimal(18, 2)",
        "decimal(18, 3)",
        "boolean",
        "uuid",
        "fixed[4]",
        "unknown",
        "variant",
        "time",
    ];
    let allowed = |from: &str, to: &str, version: u8| {
        from == to
            || matches!((from, to), ("int", "long") | ("float", "double") | ("decimal(9, 2)", "decimal(18, 2)"))
            || (version == 3 && (from == "unknown" || matches!((from, to), ("date", "timestamp" | "timestamp_ns"))))
    };
    for version in [2, 3] {
        for from in types.iter().filter(|t| version == 3 || !["timestamp_ns", "unknown", "variant"].contains(t)) {
            let added = update(json!([{"do": "add", "path": "x", "type": from}]));
            let base = evolve(&table(version, &[], &[]), added).unwrap();
            for to in types {
                let done = evolve(&base, update(json!([{"do": "type", "path": "x", "type": to}])));
                assert_eq!(done.is_ok(), allowed(from, to, version), "{from} to {to} in version {version}");
                if let Ok(done) = done {
                    assert_eq!(done.schema().unwrap().field(17).unwrap().ty.to_string(), to);
                    assert_eq!(done.last_column_id, 17);
                }
            }
        }
    }
    let base = table(3, &[], &[]);
    for (path, to) in [("p", "int"), ("l", "list<int>"), ("id", "struct<a: int>"), ("m.key.a", "long")] {
        refused(&base, update(json!([{"do": "type", "path": path, "type": to}])));
    }
    let unknown = evolve(&base, update(json!([{"do": "add", "path": "x", "type": "unknown"}]))).unwrap();
    let known = evolve(&unknown, update(json!([{"do": "type", "path": "x", "type": "struct<a: int>"}]))).unwrap();
    assert_eq!(id_of(&known, "x.a"), Some(18));
}

#[test]
fn promoted_columns_keep_their_defaults() {
    let base = table(3, &[], &[]);
    for (ty, default, wider, promoted) in [
        ("int", json!(5), "long", json!(5)),
        ("float", json!(0.1), "double", json!(f64::from(0.1_f32))),
        ("decimal(9, 2)", json!("1.50"), "decimal(18, 2)", json!("1.50")),
        ("date", json!("2020-01-02"), "timestamp", json!("2020-01-02T00:00:00")),
    ] {
        let added = evolve(&base, update(json!([{"do": "add", "path": "x", "type": ty, "default": default}]))).unwrap();
        let next = evolve(&added, update(json!([{"do": "type", "path": "x", "type": wider}]))).unwrap();
        let field = next.schema().unwrap().field(17).unwrap();
        assert_eq!(
            field.initial_default.as_ref().map(Json::to_string).map(|t| t.replace(".000000", "")),
            Some(promoted.to_string())
        );
        assert_eq!(field.initial_default, field.write_default);
    }
}

#[test]
fn dates_that_partition_become_timestamps_only_where_partitions_stay_the_same() {
    let widen = || update(json!([{"do": "type", "path": "dt", "type": "timestamp"}]));
    for transform in ["year(dt)", "month(dt)", "day(dt)"] {
        assert!(evolve(&table(3, &[transform], &[]), widen()).is_ok(), "{transform}");
    }
    for transform in ["dt", "bucket(4, dt)"] {
        let base = table(3, &[transform], &[]);
        assert!(refused(&base, widen()).contains("partitioned by"));
        // Files of older specs have such tuples as well.
        let unpartitioned = json!([{"change": "update-spec", "operations": [{"do": "remove", "field": transform}]}]);
        refused(&evolve(&base, unpartitioned).unwrap(), widen());
    }
}

#[test]
fn nullability_widens_freely_and_narrows_only_when_allowed() {
    let base = table(3, &[], &[]);
    let required = |path: &str, required: bool| json!([{"do": "required", "path": path, "required": required}]);
    assert_eq!(columns(&evolve(&base, update(required("id", false))).unwrap())[0], "1: id: optional int");
    assert!(evolve(&base, update(required("p.lat", false))).is_ok());
    let element = evolve(&base, update(required("l.element", false))).unwrap();
    assert!(!element.schema().unwrap().field(11).unwrap().required);
    assert!(refused(&base, update(required("data", true))).contains("can't become required"));
    assert!(evolve(&base, incompatible(required("data", true))).is_ok());
    assert!(is_same(&evolve(&base, update(required("id", true))).unwrap(), &base));
    // A column that the update adds with a default has no null in it.
    let added = json!([{"do": "add", "path": "x", "type": "int", "default": 1}, {"do": "required", "path": "x", "required": true}]);
    assert!(evolve(&base, update(added)).unwrap().schema().unwrap().field(17).unwrap().required);
    refused(&base, incompatible(required("m.key.a", false)));
}

#[test]
fn columns_move_within_their_struct() {
    let base = table(2, &[], &[]);
    let next = evolve(
        &base,
        update(json!([
            {"do": "move", "path": "dt", "first": true},
            {"do": "move", "path": "id", "after": "f"},
            {"do": "move", "path": "d", "before": "data"},
            {"do": "move", "path": "p.long", "first": true},
            {"do": "add", "path": "x", "type": "int", "after": "dt"},
            {"do": "add", "path": "p.y", "type": "int", "before": "lat"},
            {"do": "move", "path": "x", "before": "dt"},
        ])),
    )
    .unwrap();
    assert_eq!(names(&next), ["x", "dt", "d", "data", "p", "l", "m", "f", "id"]);
    let p = next.schema().unwrap().field(4).unwrap().ty.to_string();
    assert_eq!(p, "struct<10: long: optional float, 18: y: optional int, 9: lat: required float>");
    for (path, position, other) in [
        ("id", "before", "id"),
        ("id", "after", "p.lat"),
        ("p.lat", "before", "id"),
        ("p.lat", "before", "l.k"),
        ("id", "after", "nope"),
        ("nope", "after", "id"),
        ("m.value", "before", "m.key"),
    ] {
        refused(&base, update(json!([{"do": "move", "path": path, position: other}])));
    }
    assert!(
        refused(&base, update(json!([{"do": "move", "path": "l.element", "first": true}]))).contains("can't be moved")
    );
    refused(&base, update(json!([{"do": "drop", "path": "dt"}, {"do": "move", "path": "id", "after": "dt"}])));
}

#[test]
fn identifier_fields_follow_the_specification_s_rules() {
    let base = table(2, &[], &[]);
    let identify = |paths: Json| json!({"do": "identifiers", "paths": paths});
    for (path, problem) in [
        ("data", "not required"),
        ("f", "floating"),
        ("p", "nested"),
        ("p.lat", "floating"),
        ("l.k", "not required"),
        ("m.key.a", "list, a map"),
        ("nope", "not among the columns"),
    ] {
        let error = refused(&base, update(json!([identify(json!([path]))])));
        assert!(error.contains(problem), "{path}: {error}");
    }
    let known = evolve(&base, update(json!([identify(json!(["id"]))]))).unwrap();
    assert_eq!((known.schema().unwrap().identifier_field_ids.clone(), known.current_schema_id), (vec![1], 1));
    // A rename keeps the identifier fields. An identifier field can't be dropped or become optional.
    let renamed = evolve(&known, update(json!([{"do": "rename", "path": "id", "name": "key"}]))).unwrap();
    assert_eq!(renamed.schema().unwrap().identifier_field_ids, [1]);
    assert!(refused(&known, update(json!([{"do": "drop", "path": "id"}]))).contains("identifier"));
    assert!(
        refused(&known, update(json!([{"do": "required", "path": "id", "required": false}]))).contains("identifier")
    );
    let dropped = evolve(&known, update(json!([identify(json!([])), {"do": "drop", "path": "id"}]))).unwrap();
    assert!(dropped.schema().unwrap().identifier_field_ids.is_empty());
    // Identifier fields may be the update's own columns, by new and by old names.
    let added = json!([{"do": "add", "path": "k", "type": "long", "required": true}, {"do": "rename", "path": "id", "name": "key"}, identify(json!(["k", "key", "id"]))]);
    assert_eq!(evolve(&base, incompatible(added)).unwrap().schema().unwrap().identifier_field_ids, [17, 1]);
}

#[test]
fn columns_in_use_stay() {
    let drop = |path: &str| update(json!([{"do": "drop", "path": path}]));
    let base = table(2, &["bucket(4, id)"], &["dt desc"]);
    assert!(refused(&base, drop("id")).contains("partition field"));
    assert!(refused(&base, drop("dt")).contains("sort order"));
    let next = evolve(
        &base,
        json!([{"change": "update-spec", "operations": [{"do": "remove", "field": "bucket(4, id)"}]},
        {"change": "update-sort-order", "fields": []},
        {"change": "update-schema", "operations": [{"do": "drop", "path": "id"}, {"do": "drop", "path": "dt"}]}]),
    );
    assert_eq!(names(&next.unwrap())[0], "data");
    // In version 1 the void field stays without its column.
    let v1 = table(1, &["bucket(4, id)"], &[]);
    let next = evolve(
        &v1,
        json!([{"change": "update-spec", "operations": [{"do": "remove", "field": "id_bucket"}]},
        {"change": "update-schema", "operations": [{"do": "drop", "path": "id"}]}]),
    );
    assert_eq!(next.unwrap().spec().unwrap().fields.len(), 1);
    // Names of partition fields are taken.
    for operation in [
        json!({"do": "add", "path": "id_bucket", "type": "int"}),
        json!({"do": "rename", "path": "data", "name": "id_bucket"}),
    ] {
        assert!(refused(&base, update(json!([operation]))).contains("name of a partition field"));
    }
    let identity = table(2, &["id"], &[]);
    let renamed = evolve(&identity, update(json!([{"do": "rename", "path": "id", "name": "key"}]))).unwrap();
    let addition = update(json!([{"do": "add", "path": "id", "type": "int"}]));
    assert!(refused(&renamed, addition).contains("name of a partition field"));
}

#[test]
fn equal_schemas_are_used_again() {
    let base = table(2, &[], &[]);
    let there = evolve(&base, update(json!([{"do": "rename", "path": "data", "name": "x"}]))).unwrap();
    let back = evolve(&there, update(json!([{"do": "rename", "path": "x", "name": "data"}]))).unwrap();
    assert_eq!((there.current_schema_id, back.current_schema_id, back.schemas.len()), (1, 0, 2));
    // A column that is added under the name of a dropped one is new.
    let dropped = evolve(&base, update(json!([{"do": "drop", "path": "data"}]))).unwrap();
    let restored =
        evolve(&dropped, update(json!([{"do": "add", "path": "data", "type": "string", "after": "id"}]))).unwrap();
    assert_eq!((restored.current_schema_id, id_of(&restored, "data"), restored.last_column_id), (2, Some(17), 17));
}

#[test]
fn names_may_ignore_case() {
    let base = table(2, &[], &[]);
    let update = |sensitive: bool| {
        json!([{"change": "update-schema", "case-sensitive": sensitive, "operations": [
            {"do": "rename", "path": "DATA", "name": "x"}, {"do": "type", "path": "P.LAT", "type": "double"},
            {"do": "move", "path": "Dt", "before": "ID"}, {"do": "identifiers", "paths": ["Id"]}]}])
    };
    refused(&base, update(true));
    let next = evolve(&base, update(false)).unwrap();
    assert_eq!(names(&next)[..3], ["dt", "id", "x"]);
    assert_eq!(next.schema().unwrap().identifier_field_ids, [1]);
    let twice =
        evolve(&base, json!([{"change": "update-schema", "operations": [{"do": "add", "path": "ID", "type": "int"}]}]))
            .unwrap();
    let error = refused(
        &twice,
        json!([{"change": "update-schema", "case-sensitive": false, "operations": [{"do": "drop", "path": "id"}]}]),
    );
    assert!(error.contains("several columns"), "{error}");
}

#[test]
fn unions_add_widen_and_relax() {
    let base = table(2, &[], &[]);
    let union = |fields: Json| update(json!([{"do": "union", "schema": {"type": "struct", "fields": fields}}]));
    let field = |id: i32, name: &str, required: bool, ty: Json| json!({"id": id, "name": name, "required": required, "type": ty});
    let next = evolve(
        &base,
        union(json!([
            field(1, "new", true, json!("string")),
            field(2, "f", false, json!("double")),
            field(3, "id", false, json!("long")),
            field(4, "d", false, json!("decimal(4, 2)")),
            {"id": 5, "name": "p", "required": false, "doc": "where", "type": {"type": "struct", "fields": [
                field(6, "alt", true, json!("float")), field(7, "lat", true, json!("float"))]}},
            field(8, "l", false, json!({"type": "list", "element-id": 9, "element-required": false, "element":
                {"type": "struct", "fields": [field(10, "k", false, json!("long")), field(11, "q", false, json!("int"))]}})),
            field(12, "m", false, json!({"type": "map", "key-id": 13, "value-id": 14, "value-required": true, "key":
                {"type": "struct", "fields": [field(15, "a", true, json!("int"))]}, "value":
                {"type": "struct", "fields": [field(16, "z", false, json!("int"))]}})),
        ])),
    )
    .unwrap();
    let want = [
        "1: id: optional long",
        "2: data: optional string",
        "3: dt: optional date",
        "4: p: optional struct<9: lat: required float, 10: long: optional float, 17: alt: optional float>",
        "5: l: optional list<struct<12: k: optional long, 18: q: optional int>>",
        "6: m: optional map<struct<15: a: required int>, struct<16: v: optional int, 19: z: optional int>>",
        "7: d: optional decimal(9, 2)",
        "8: f: optional double",
        "20: new: optional string",
    ];
    assert_eq!(columns(&next), want);
    let schema = next.schema().unwrap();
    assert_eq!(schema.field(4).unwrap().doc.as_deref(), Some("where"));
    assert!(!schema.field(11).unwrap().required);
    assert!(is_same(&evolve(&next, union(json!([field(1, "f", false, json!("float"))]))).unwrap(), &next));
    for clash in [
        field(1, "data", false, json!("int")),
        field(1, "p", false, json!("int")),
        field(1, "id", false, json!({"type": "list", "element-id": 2, "element-required": true, "element": "int"})),
        field(1, "d", false, json!("decimal(18, 3)")),
        field(
            1,
            "m",
            false,
            json!({"type": "map", "key-id": 13, "value-id": 14, "value-required": true, "key":
            {"type": "struct", "fields": [field(15, "b", true, json!("int"))]}, "value": "int"}),
        ),
    ] {
        refused(&base, union(json!([clash])));
    }
}
