use super::*;
use crate::format::task::PartitionValue;
use crate::types::{PrimitiveType, Value};

fn rule(location: &str, properties: &[(&str, &str)]) -> Result<FileLocations> {
    FileLocations::new(location, &properties.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect())
}

fn partition(name: &str, value: &str, transform: Transform) -> Partition {
    let value = PartitionValue {
        name: name.into(),
        field_id: 1000,
        source_id: 1,
        transform,
        ty: PrimitiveType::String,
        value: Some(Value::String(value.into())),
    };
    Partition { spec_id: 0, values: vec![value] }
}

/// The hashes that Java's own test names.
#[test]
fn hashes_are_those_of_java() {
    let hashed = rule("s3://b/t/", &[(OBJECT_STORAGE, "TRUE")]).unwrap();
    for (name, folders) in [
        ("a", "0101/0110/1001/10110010"),
        ("b", "1110/0111/1110/00000011"),
        ("c", "0010/1101/0110/01011111"),
        ("d", "1001/0001/0100/01110011"),
    ] {
        assert_eq!(hashed.path(None, name), format!("s3://b/t/data/{folders}/{name}"));
    }
    let flat = rule("s3://b/t", &[(OBJECT_STORAGE, "true"), (PARTITIONED_PATHS, "false")]).unwrap();
    let part = partition("data#1", "val", Transform::Identity);
    assert_eq!(flat.path(Some(&part), "test.parquet"), "s3://b/t/data/0110/1010/0011/11101000-test.parquet");
}

#[test]
fn files_lie_below_their_partition() {
    let part = partition("data#1", "val#1 ż/x", Transform::Identity);
    let plain = rule("/w/t", &[]).unwrap();
    assert_eq!(plain.path(Some(&part), "f"), "/w/t/data/data%231=val%231+%C5%BC%2Fx/f");
    assert_eq!(plain.path(None, "f"), "/w/t/data/f");
    assert_eq!(plain.path(Some(&partition("v", "x", Transform::Void)), "f"), "/w/t/data/f");
    // The partition is a part of the hashed text.
    let hashed = rule("/w/t", &[(OBJECT_STORAGE, "true")]).unwrap();
    let path = "data%231=val%231+%C5%BC%2Fx/f";
    assert_eq!(hashed.path(Some(&part), "f"), format!("/w/t/data/{}/{path}", hash_folders(path)));
    assert_eq!(rule("/w/t", &[(DATA_PATH, "/elsewhere//")]).unwrap().path(None, "f"), "/elsewhere/f");
    assert_eq!(FileLocations::in_folder("/x/").path(None, "f"), "/x/f");
}

#[test]
fn files_outside_of_the_table_name_it() {
    let properties = [(OBJECT_STORAGE, "true"), (DATA_PATH, "s3://other/files/")];
    let path = |location: &str| rule(location, &properties).unwrap().path(None, "a");
    let hash = "0101/0110/1001/10110010";
    assert_eq!(path("s3://b/wh/db/t/"), format!("s3://other/files/{hash}/db/t/a"));
    assert_eq!(path("file:/wh/db/t"), format!("s3://other/files/{hash}/db/t/a"));
    assert_eq!(path("/t"), format!("s3://other/files/{hash}/t/a"));
    let inside = [(OBJECT_STORAGE, "true"), (DATA_PATH, "s3://b/t/files")];
    assert_eq!(rule("s3://b/t", &inside).unwrap().path(None, "a"), format!("s3://b/t/files/{hash}/a"));
    let flat = [(OBJECT_STORAGE, "true"), (DATA_PATH, "s3://o"), (PARTITIONED_PATHS, "false")];
    let part = partition("p", "v", Transform::Identity);
    assert_eq!(rule("s3://b/db/t", &flat).unwrap().path(Some(&part), "a"), format!("s3://o/{hash}/db/t/a"));
}

#[test]
fn outdated_and_foreign_rules_are_refused() {
    let refused = |properties: &[(&str, &str)]| rule("/t", properties).unwrap_err().to_string();
    assert!(refused(&[(OLD_PATHS[1], "/x")]).contains("Set write.data.path"));
    assert!(refused(&[(OLD_PATHS[0], "/x"), (OBJECT_STORAGE, "true")]).contains("write.object-storage.path"));
    assert!(refused(&[(PROVIDER, "com.x.Y")]).contains("com.x.Y"));
    assert!(rule("/t", &[(OLD_PATHS[0], "/x")]).is_ok());
    assert!(rule("/t", &[(OLD_PATHS[1], "/x"), (DATA_PATH, "/y")]).is_ok());
}
