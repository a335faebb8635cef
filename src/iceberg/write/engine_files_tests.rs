use super::*;

#[test]
fn values_are_read_as_folders_say_them() {
    use PrimitiveType as P;
    let said = |text: &str, ty: P| partition_value(text, &ty).unwrap();
    assert_eq!(said("null", P::String), None);
    assert_eq!(said("v", P::String), Some(Value::String(String::new())));
    assert_eq!(said("vc3a6", P::String), Some(Value::String("æ".into())));
    assert_eq!(said("v6e756c6c", P::String), Some(Value::String("null".into())));
    assert_eq!(said("v-5", P::Int), Some(Value::Int(-5)));
    assert_eq!(said("v-1", P::Date), Some(Value::Int(-1)));
    assert_eq!(said("v9223372036854775807", P::Long), Some(Value::Long(i64::MAX)));
    assert_eq!(said("vtrue", P::Boolean), Some(Value::Boolean(true)));
}

#[test]
fn folders_that_name_no_value_are_refused() {
    use PrimitiveType as P;
    for (text, ty) in [
        ("", P::String),
        ("c3", P::String),
        ("vc3", P::String),
        ("vc", P::String),
        ("v2147483648", P::Int),
        ("v", P::Long),
        ("vTRUE", P::Boolean),
        ("v1", P::Double),
        ("__HIVE_DEFAULT_PARTITION__", P::Int),
    ] {
        assert!(partition_value(text, &ty).is_err(), "{text} as {ty}");
    }
}

#[test]
fn only_folders_of_jobs_are_touched() {
    for folder in ["/t/data", "/t/data/frazil-job-", "/t/data/frazil-job-x/y", "frazil-jobs", ""] {
        assert!(check_folder(folder).is_err(), "{folder}");
    }
    assert!(check_folder("s3://b/t/data/frazil-job-1/").is_ok());
}
