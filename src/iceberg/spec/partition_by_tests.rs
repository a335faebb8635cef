use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;
use crate::types::PrimitiveType;

fn schema() -> Schema {
    let inner: Arc<[Field]> = vec![
        Field::new(11, "b", false, PrimitiveType::Timestamp),
        Field::new(12, "odd.name", false, PrimitiveType::String),
    ]
    .into();
    let list = Type::List(Arc::new(Field::new(21, "element", false, PrimitiveType::Int)));
    let fields = vec![
        Field::new(1, "user_id", true, PrimitiveType::Long),
        Field::new(2, "ts", false, PrimitiveType::Timestamptz),
        Field::new(3, "name", false, PrimitiveType::String),
        Field::new(4, "a", false, Type::Struct(inner)),
        Field::new(5, "x", false, PrimitiveType::Date),
        Field::new(6, "l", false, list),
        Field::new(7, "f", false, PrimitiveType::Double),
        Field::new(8, "we(ird) name", false, PrimitiveType::Int),
        Field::new(9, "ts_year", false, PrimitiveType::Int),
    ];
    Schema::new(0, fields, vec![])
}

#[test]
fn names_are_those_of_the_reference() {
    let cases = [
        ("day(ts)", 2, "day", "ts_day"),
        ("bucket(16, user_id)", 1, "bucket[16]", "user_id_bucket"),
        ("truncate(4, name)", 3, "truncate[4]", "name_trunc"),
        ("truncate(name, 4)", 3, "truncate[4]", "name_trunc"),
        ("identity(x)", 5, "identity", "x"),
        ("x", 5, "identity", "x"),
        ("day(a.b)", 11, "day", "a.b_day"),
        ("MONTHS( a.b )", 11, "month", "a.b_month"),
        ("a.`odd.name`", 12, "identity", "a.odd.name"),
        ("hour(ts) as H", 2, "hour", "H"),
        ("year(x) AS \"x y\"", 5, "year", "x y"),
        ("void(name)", 3, "void", "name_null"),
        ("we(ird) name", 8, "identity", "we(ird) name"),
        ("bucket(3, \"we(ird) name\")", 8, "bucket[3]", "we(ird) name_bucket"),
    ];
    for (text, source, transform, name) in cases {
        let spec = parse_partition_by(&[text], &schema()).unwrap();
        let f = &spec.fields[0];
        assert_eq!((f.source_id, f.transform.to_string().as_str(), f.name.as_str()), (source, transform, name));
        assert_eq!(f.field_id, 1000);
    }
    let spec = parse_partition_by(&["day(ts)", "bucket(4, user_id)", "bucket(8, user_id) as b8"], &schema()).unwrap();
    assert_eq!(spec.fields.iter().map(|f| f.field_id).collect::<Vec<_>>(), [1000, 1001, 1002]);
}

#[test]
fn mistakes_are_invalid_input() {
    let bad: &[&[&str]] = &[
        &["nope"],
        &["day(name)"],
        &["day(nope)"],
        &["hour(x)"],
        &["bucket(0, user_id)"],
        &["bucket(user_id)"],
        &["bucket(4, f)"],
        &["truncate(4, 5)"],
        &["frobnicate(ts)"],
        &["a"],
        &["l.element"],
        &["l"],
        &["day(ts"],
        &["day(ts))"],
        &["day(ts) as"],
        &["day(ts) as a b"],
        &["\"ts"],
        &["a..b"],
        &[""],
        &["year(ts)"],
        &["day(ts) as name"],
        &["x as name"],
        &["day(ts)", "hour(ts)"],
        &["x", "identity(x) as y"],
        &["bucket(4, user_id)", "bucket(8, user_id)"],
        &["day(ts) as \"\""],
        &["bucket(99999999999, user_id)"],
    ];
    for texts in bad {
        let e = parse_partition_by(texts, &schema()).expect_err(&format!("{texts:?}"));
        assert_eq!(e.kind(), ErrorKind::InvalidInput, "{texts:?}: {e}");
    }
}

proptest! {
    #[test]
    fn any_text_gives_an_answer(text in "[a-z(),.\"` 0-9é]{0,30}") {
        let _ = parse_partition_by(&[&text], &schema());
        let _ = crate::iceberg::spec::sort_order::parse_sort_by(&[&text], &schema());
    }
}
