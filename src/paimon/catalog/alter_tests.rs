use std::sync::Arc;

use super::*;
use crate::paimon::catalog::warehouse::Warehouse;
use crate::store::Store;
use crate::store::local::LocalStore;

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

fn parts() -> SchemaParts {
    let member = |name: &str, kind: TypeKind| DataField::new(0, name, kind.nullable());
    let row = TypeKind::Row([member("x", TypeKind::Int), member("y", TypeKind::VarChar(7))].into());
    SchemaParts {
        fields: vec![
            member("id", TypeKind::Int),
            member("p", TypeKind::Date),
            member("v", TypeKind::Int),
            member("list", TypeKind::Array(Box::new(row.nullable()))),
        ],
        primary_keys: texts(&["p", "id"]),
        partition_keys: texts(&["p"]),
        options: [("bucket".to_owned(), "2".to_owned()), ("sequence.field".to_owned(), "v".to_owned())].into(),
        ..SchemaParts::default()
    }
}

fn warehouse(dir: &tempfile::TempDir) -> Warehouse {
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    let warehouse = Warehouse::new(store, &dir.path().display().to_string()).unwrap();
    warehouse.create_database("db").unwrap();
    warehouse
}

#[test]
fn databases_and_tables_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let w = warehouse(&dir);
    let kind = |e: Error| e.kind();
    assert_eq!(w.create_database("db").map_err(kind), Err(ErrorKind::AlreadyExists));
    assert_eq!(w.create_table("none", "t", parts()).map(drop).map_err(kind), Err(ErrorKind::NotFound));
    let t = w.create_table("db", "t", parts()).unwrap();
    let schema = t.latest_schema().unwrap();
    let ids: Vec<_> = schema.fields.iter().map(|f| f.id).collect();
    // Members come after the column that they are in.
    assert_eq!((ids, schema.highest_field_id), (vec![0, 1, 2, 3], 5));
    assert!(!schema.fields[0].ty.nullable && schema.fields[2].ty.nullable);
    assert_eq!(w.create_table("db", "t", parts()).map(drop).map_err(kind), Err(ErrorKind::AlreadyExists));
    assert_eq!((w.databases().unwrap(), w.tables("db").unwrap()), (texts(&["db"]), texts(&["t"])));
    assert_eq!(w.drop_database("db").map_err(kind), Err(ErrorKind::InvalidInput));
    w.drop_table("db", "t").unwrap();
    assert_eq!(w.drop_table("db", "t").map_err(kind), Err(ErrorKind::NotFound));
    w.drop_database("db").unwrap();
    assert!(w.databases().unwrap().is_empty() && w.create_database("a/b").is_err());
}

#[test]
fn schemas_that_no_table_can_have_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let w = warehouse(&dir);
    let option = |key: &str, value: &str| {
        let mut p = parts();
        p.options.insert(key.to_owned(), value.to_owned());
        p
    };
    let without_key = |bucket: &str| SchemaParts { primary_keys: Vec::new(), ..option("bucket", bucket) };
    let mut twice = parts();
    twice.fields.push(twice.fields[0].clone());
    let mut system = parts();
    system.fields[2].name = "_KEY_v".to_owned();
    let wrong = [
        option("bucket", "0"),
        option("bucket-key", "v"),
        option("bucket-key", "p"),
        option("sequence.field", "none"),
        option("merge-engine", "first-row"),
        option("merge-engine", "other"),
        option("changelog-producer", "other"),
        option("primary-key", "id"),
        option("row-tracking.enabled", "true"),
        option("snapshot.num-retained.min", "0"),
        without_key("2"),
        without_key("-2"),
        SchemaParts { primary_keys: texts(&["id"]), ..parts() },
        SchemaParts { primary_keys: texts(&["p"]), ..parts() },
        SchemaParts { partition_keys: texts(&["list"]), ..parts() },
        SchemaParts { partition_keys: texts(&["p", "p"]), ..parts() },
        twice,
        system,
    ];
    for (i, parts) in wrong.into_iter().enumerate() {
        let error = w.create_table("db", "t", parts).map(drop).expect_err(&i.to_string());
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{i} {error}");
    }
    assert!(w.tables("db").unwrap().is_empty());
}

#[test]
fn columns_change_at_any_depth() {
    let dir = tempfile::tempdir().unwrap();
    let t = warehouse(&dir).create_table("db", "t", parts()).unwrap();
    let column = |path: &[&str], kind: TypeKind, position| SchemaChange::AddColumn {
        path: texts(path),
        ty: kind.nullable(),
        comment: Some("c".to_owned()),
        position,
    };
    let schema = t
        .alter(&[
            column(&["first"], TypeKind::Boolean, Some(ColumnPosition::First)),
            column(&["list", "element", "z"], TypeKind::Int, Some(ColumnPosition::Before("y".to_owned()))),
            SchemaChange::RenameColumn { path: texts(&["v"]), name: "w".to_owned() },
            SchemaChange::SetType { path: texts(&["w"]), ty: TypeKind::BigInt.nullable() },
            SchemaChange::DropColumn { path: texts(&["list", "element", "x"]) },
            SchemaChange::Move { column: "id".to_owned(), position: ColumnPosition::Last },
            SchemaChange::SetOption("k".to_owned(), "v".to_owned()),
            SchemaChange::SetComment(Some("all".to_owned())),
            SchemaChange::SetDefault { path: texts(&["w"]), value: Some("7".to_owned()) },
        ])
        .unwrap();
    let names: Vec<_> = schema.fields.iter().map(|f| (f.name.as_str(), f.id)).collect();
    assert_eq!(names, [("first", 6), ("p", 1), ("w", 2), ("list", 3), ("id", 0)]);
    let TypeKind::Array(element) = &schema.fields[3].ty.kind else { panic!() };
    let TypeKind::Row(members) = &element.kind else { panic!() };
    assert_eq!(members.iter().map(|f| (f.name.as_str(), f.id)).collect::<Vec<_>>(), [("z", 7), ("y", 5)]);
    assert_eq!((schema.id, schema.highest_field_id, schema.options["sequence.field"].as_str()), (1, 7, "w"));
    assert_eq!(schema.fields[2].default_value.as_deref(), Some("7"));
    assert_eq!((schema.comment.as_deref(), &t.latest_schema().unwrap().fields), (Some("all"), &schema.fields));
}

#[test]
fn changes_that_would_harm_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let t = warehouse(&dir).create_table("db", "t", parts()).unwrap();
    let wrong = [
        SchemaChange::DropColumn { path: texts(&["id"]) },
        SchemaChange::DropColumn { path: texts(&["v"]) },
        SchemaChange::DropColumn { path: texts(&["none"]) },
        SchemaChange::RenameColumn { path: texts(&["p"]), name: "q".to_owned() },
        SchemaChange::RenameColumn { path: texts(&["v"]), name: "id".to_owned() },
        SchemaChange::SetType { path: texts(&["id"]), ty: TypeKind::BigInt.nullable() },
        SchemaChange::SetType { path: texts(&["list"]), ty: TypeKind::Int.nullable() },
        SchemaChange::SetNullable { path: texts(&["id"]), nullable: true },
        SchemaChange::SetNullable { path: texts(&["v"]), nullable: false },
        SchemaChange::AddColumn { path: texts(&["n"]), ty: TypeKind::Int.not_null(), comment: None, position: None },
        SchemaChange::AddColumn {
            path: texts(&["v", "n"]),
            ty: TypeKind::Int.nullable(),
            comment: None,
            position: None,
        },
        SchemaChange::SetOption("partition".to_owned(), "v".to_owned()),
    ];
    for change in wrong {
        let error = t.alter(std::slice::from_ref(&change)).map(drop).expect_err(&format!("{change:?}"));
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{change:?} {error}");
    }
    assert_eq!(t.schema_ids().unwrap(), [0]);
}

/// Removing an option is setting it to its default.
#[test]
fn options_that_hide_rows_stay() {
    let dir = tempfile::tempdir().unwrap();
    let t = warehouse(&dir).create_table("db", "t", parts()).unwrap();
    let old = |key: &str, value: &str| {
        let mut parts = t.latest_schema().unwrap().parts();
        parts.options.insert(key.to_owned(), value.to_owned());
        checked(parts, None).unwrap()
    };
    let remove = |old: &TableSchema, key: &str, has_snapshots| {
        apply(&mut old.parts(), old, &SchemaChange::RemoveOption(key.to_owned()), has_snapshots)
    };
    for key in ["deletion-vectors.enabled", "ignore-delete", "ignore-update-before"] {
        let set = old(key, "true");
        assert_eq!(remove(&set, key, true).unwrap_err().kind(), ErrorKind::InvalidInput, "{key}");
        remove(&set, key, false).unwrap();
        remove(&old(key, "false"), key, true).unwrap();
    }
}

#[test]
fn racing_changes_are_all_made() {
    let dir = tempfile::tempdir().unwrap();
    let t = warehouse(&dir).create_table("db", "t", parts()).unwrap();
    std::thread::scope(|scope| {
        for i in 0..6 {
            let t = &t;
            let (path, ty) = (texts(&[&format!("c{i}")]), TypeKind::Int.nullable());
            scope.spawn(move || {
                t.alter(&[SchemaChange::AddColumn { path, ty, comment: None, position: None }]).unwrap()
            });
        }
    });
    let schema = t.latest_schema().unwrap();
    assert_eq!((schema.fields.len(), schema.id, schema.highest_field_id), (10, 6, 11));
}

/// A table of partial updates that also has these options.
fn grouped(w: &Warehouse, options: &[(&str, &str)]) -> Result<TableFolder> {
    let column = |name: &str| DataField::new(0, name, TypeKind::Int.nullable());
    let groups = [("bucket", "1"), ("merge-engine", "partial-update"), ("fields.g.sequence-group", "a,b")];
    let parts = SchemaParts {
        fields: ["id", "a", "b", "g", "h"].map(column).into(),
        primary_keys: texts(&["id"]),
        options: groups.iter().chain(options).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        ..SchemaParts::default()
    };
    w.create_table("db", "grouped", parts)
}

#[test]
fn options_follow_columns_and_keep_them() {
    let dir = tempfile::tempdir().unwrap();
    let options = [("fields.b.aggregate-function", "sum"), ("file-index.bloom-filter.columns", "h")];
    let t = grouped(&warehouse(&dir), &options).unwrap();
    let rename = |old: &str, name: &str| SchemaChange::RenameColumn { path: texts(&[old]), name: name.to_owned() };
    let schema = t.alter(&[rename("a", "aa"), rename("g", "gg"), rename("b", "bb"), rename("h", "hh")]).unwrap();
    let found = |key: &str| schema.options.get(key).map(String::as_str);
    assert_eq!(found("fields.gg.sequence-group"), Some("aa,bb"));
    assert_eq!(found("fields.bb.aggregate-function"), Some("sum"));
    assert_eq!(found("file-index.bloom-filter.columns"), Some("hh"));
    assert!(schema.options.keys().all(|key| !key.contains(".g.") && !key.contains(".b.")));
    let drop = |name: &str| SchemaChange::DropColumn { path: texts(&[name]) };
    for name in ["aa", "bb", "gg", "hh"] {
        let error = t.alter(&[drop(name)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("can't be dropped") && error.hint_text().is_some(), "{error}");
    }
    // A column can be dropped once no option names it, in one change or in two.
    t.alter(&[drop("hh"), SchemaChange::RemoveOption("file-index.bloom-filter.columns".to_owned())]).unwrap();
}

#[test]
fn options_that_name_no_column_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let w = warehouse(&dir);
    let wrong = [
        ("fields.none.aggregate-function", "sum"),
        ("fields.g,none.sequence-group", "h"),
        ("fields.h.sequence-group", "none"),
        ("file-index.bitmap.columns", "a,none"),
        ("rowkind.field", "none"),
        ("sequence.field", "none"),
        ("record-level.time-field", "none"),
    ];
    for option in wrong {
        let error = grouped(&w, &[option]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains("'none'") && error.to_string().contains(option.0), "{error}");
    }
    let t = grouped(&w, &[]).unwrap();
    for (key, value) in wrong {
        t.alter(&[SchemaChange::SetOption(key.to_owned(), value.to_owned())]).unwrap_err();
    }
}

/// Other writers make tables with such options. Each option can be corrected.
#[test]
fn odd_options_may_stay_but_not_come() {
    let dir = tempfile::tempdir().unwrap();
    let t = grouped(&warehouse(&dir), &[]).unwrap();
    let mut odd = t.latest_schema().unwrap().parts();
    let bad = [("fields.none.distinct", "true"), ("changelog-producer", "odd"), ("manifest.format", "orc")];
    odd.options.extend(bad.map(|(k, v)| (k.to_owned(), v.to_owned())));
    odd.id = 1;
    put_schema(t.store().as_ref(), &t.schema_path(1), &TableSchema::new(odd).unwrap()).unwrap();
    let set = |key: &str, value: &str| SchemaChange::SetOption(key.to_owned(), value.to_owned());
    t.alter(&[set("x", "y")]).unwrap();
    t.alter(&[set("fields.other.distinct", "true")]).unwrap_err();
    t.alter(&[set("changelog-producer", "none")]).unwrap();
    t.alter(&[SchemaChange::RemoveOption("fields.none.distinct".to_owned())]).unwrap();
    t.alter(&[set("changelog-producer", "odd")]).unwrap_err();
    t.alter(&[set("manifest.format", "avro")]).unwrap();
}

fn added(name: &str) -> SchemaChange {
    let ty = TypeKind::Int.nullable();
    SchemaChange::AddColumn { path: texts(&[name]), ty, comment: None, position: None }
}

/// Other writers leave `highestFieldId` too low or at its end. An id must not be used again, and must not wrap.
#[test]
fn ids_of_new_columns_are_above_all_that_the_table_had() {
    let dir = tempfile::tempdir().unwrap();
    let w = warehouse(&dir);
    let t = w.create_table("db", "t", parts()).unwrap();
    let path = format!("{}/db.db/t/schema/schema-0", dir.path().display());
    let set = |to: i64| {
        let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        json["highestFieldId"] = to.into();
        std::fs::write(&path, json.to_string()).unwrap();
    };
    set(0);
    let schema = t.alter(&[added("x")]).unwrap();
    assert_eq!((schema.fields.last().unwrap().id, schema.highest_field_id), (6, 6));
    // The column is dropped, and the counter of its schema is wrong again. Older schemas still have the column.
    let schema = t.alter(&[SchemaChange::DropColumn { path: texts(&["x"]) }]).unwrap();
    assert_eq!(schema.id, 2);
    assert_eq!(t.alter(&[added("y")]).unwrap().fields.last().unwrap().id, 7);
    set(i64::from(i32::MAX));
    let e = t.alter(&[added("z")]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidInput);
    assert!(e.to_string().contains("no column ids left"), "{e}");
}
