use super::*;
use crate::paimon::spec::data_type::{DataField, TypeKind};
use crate::paimon::spec::schema::SchemaParts;

/// A table with the key `id`, the numbers `a`, `b` and `g` and the text `s`.
fn schema(options: &[(&str, &str)]) -> TableSchema {
    let column = |(id, name): (usize, &&str)| {
        let kind = if *name == "s" { TypeKind::VarChar(9) } else { TypeKind::Int };
        DataField::new(i32::try_from(id).unwrap(), *name, kind.nullable())
    };
    let parts = SchemaParts {
        fields: ["id", "a", "b", "g", "s"].iter().enumerate().map(column).collect(),
        highest_field_id: 4,
        primary_keys: vec!["id".to_owned()],
        options: options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        ..SchemaParts::default()
    };
    TableSchema::new(parts).unwrap()
}

fn fault(options: &[(&str, &str)]) -> Option<Error> {
    check_new(&schema(options)).err()
}

#[test]
fn values_that_cannot_be_read_are_refused() {
    let wrong = [
        ("target-file-size", "zz"),
        ("data-file.prefix", "../x"),
        ("target-file-size", "0"),
        ("snapshot.time-retained", "zz"),
        ("metadata.stats-mode", "zz"),
        ("metadata.stats-mode.per.level", "0:zz"),
        ("fields.a.stats-mode", "zz"),
        ("fields.a.distinct", "zz"),
        ("file.format", "zz"),
        ("file.format.per.level", "parquet"),
        ("num-levels", "1"),
        ("commit.max-retries", "1.5"),
        ("deletion-vectors.bitmap64", "yes"),
        ("compaction.delete-ratio-threshold", "most"),
        ("file-index.blom.columns", "a"),
        ("file-index.bitmap.a.version", "zz"),
    ];
    for (key, value) in wrong {
        let index = ("file-index.bitmap.columns", "a");
        let error = fault(&[index, (key, value)]).unwrap_or_else(|| panic!("{key}"));
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains(key), "{error}");
    }
    let right = [
        ("target-file-size", "64 mb"),
        ("metadata.stats-mode.per.level", "0:none, 5:truncate(3)"),
        ("file.format.per.level", "0:AVRO,5:parquet"),
        ("snapshot.time-retained", "1 h"),
        ("file-index.bitmap.columns", "a"),
        ("what.nobody.knows", "zz"),
    ];
    assert!(fault(&right).is_none());
}

#[test]
fn merging_must_be_possible() {
    let sums = ("merge-engine", "aggregation");
    let parts = ("merge-engine", "partial-update");
    let wrong: [&[(&str, &str)]; 8] = [
        &[sums, ("fields.a.aggregate-function", "summ")],
        &[sums, ("fields.default-aggregate-function", "summ")],
        &[sums, ("fields.s.aggregate-function", "sum")],
        &[sums, ("fields.default-aggregate-function", "sum")],
        &[parts, ("fields.g.sequence-group", "none")],
        &[parts, ("fields.g.sequence-group", "a"), ("fields.b.sequence-group", "a")],
        &[parts, ("fields.a.aggregate-function", "sum")],
        &[("sequence.field.sort-order", "zz")],
    ];
    for options in wrong {
        let error = fault(options).unwrap_or_else(|| panic!("{options:?}"));
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    let error = fault(wrong[0]).unwrap();
    assert!(error.to_string().contains("fields.a.aggregate-function"), "{error}");
    assert!(error.hint_text().unwrap().contains("last_non_null_value"));
    assert!(fault(&[sums, ("fields.a.aggregate-function", "sum")]).is_none());
    assert!(fault(&[parts, ("fields.g.sequence-group", "a,s"), ("fields.a.aggregate-function", "sum")]).is_none());
}

#[test]
fn a_change_answers_for_itself_alone() {
    let odd = [("file.format", "zz"), ("target-file-size", "zz")];
    assert!(check_change(&schema(&odd), &schema(&[odd[0], ("x", "y")])).is_ok());
    assert!(check_change(&schema(&odd[..1]), &schema(&odd)).is_err());
    assert!(check_change(&schema(&odd), &schema(&[odd[0], ("target-file-size", "yy")])).is_err());
}
