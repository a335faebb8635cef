use serde_json::{Value as Json, json};

use super::*;
use crate::expr::bounds::checked;
use crate::paimon::spec::binary_row_write::{encode_values, prefixed};
use crate::types::Value;

fn schema(id: i64, fields: &[(i32, &str, &str)]) -> TableSchema {
    let fields: Vec<Json> = fields.iter().map(|(id, name, ty)| json!({"id": id, "name": name, "type": ty})).collect();
    let json = json!({"version": 3, "id": id, "highestFieldId": 99, "partitionKeys": [], "primaryKeys": [],
        "fields": fields, "options": {}});
    TableSchema::from_json(json.as_object().unwrap().clone()).unwrap()
}

fn stats(schema: &TableSchema, columns: &[(&str, Option<Value>, Option<Value>, i64)]) -> SimpleStats {
    let types: Vec<DataType> = columns.iter().map(|(name, ..)| schema.field(name).unwrap().ty.clone()).collect();
    let row = |values: Vec<Option<Value>>| prefixed(&encode_values(values, &types).unwrap(), types.len());
    SimpleStats {
        min: row(columns.iter().map(|c| c.1.clone()).collect()),
        max: row(columns.iter().map(|c| c.2.clone()).collect()),
        null_counts: Some(columns.iter().map(|c| c.3).collect()),
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

/// Lower, upper and nulls of a column.
type Known = (Option<Value>, Option<Value>, Presence);

fn known(mapping: &StatsMapping, stats: &SimpleStats, field: FieldId, ty: PrimitiveType) -> Known {
    let bounds = StatsBounds::new(mapping, stats.as_ref(), 10).unwrap();
    let column = checked(bounds.column(field, &ty), &ty);
    (column.lower.map(ValueRef::to_owned), column.upper.map(ValueRef::to_owned), column.nulls)
}

const UNKNOWN: Known = (None, None, Presence::Possible);

fn int(v: i32) -> Option<Value> {
    Some(Value::Int(v))
}

#[test]
fn columns_meet_by_id_and_widen_with_their_types() {
    let then = schema(0, &[(0, "a", "TINYINT"), (1, "b", "INT"), (2, "c", "VARCHAR(3)"), (3, "gone", "INT")]);
    let now = schema(1, &[(2, "a", "STRING"), (0, "x", "BIGINT"), (1, "b", "SMALLINT"), (9, "later", "INT")]);
    let recorded = stats(
        &then,
        &[
            ("a", int(-1), int(5), 0),
            ("b", int(1), int(70_000), 3),
            ("c", Some(Value::String("k".into())), Some(Value::String("p".into())), 9),
            ("gone", int(0), int(0), 0),
        ],
    );
    let mapping = StatsMapping::of_values(&now, &then, None, None);
    let known = |field, ty| known(&mapping, &recorded, field, ty);
    assert_eq!(known(0, PrimitiveType::Long), (Some(Value::Long(-1)), Some(Value::Long(5)), Presence::Absent));
    // A narrower type wraps around: nothing is known.
    assert_eq!(known(1, PrimitiveType::Int), UNKNOWN);
    let text = |t: &str| Some(Value::String(t.into()));
    assert_eq!(known(2, PrimitiveType::String), (text("k"), text("p"), Presence::Possible));
    assert_eq!(known(9, PrimitiveType::Int), (None, None, Presence::Everywhere));
    assert_eq!(known(3, PrimitiveType::Int), UNKNOWN);
}

/// Statistics that contradict themselves tell nothing: ten nulls of ten rows and bounds, and bounds the wrong way
/// round. A bound of 16 characters may be cut, so that greater values begin with it.
#[test]
fn statistics_that_contradict_themselves_are_not_believed() {
    let s = schema(0, &[(0, "a", "STRING"), (1, "b", "INT"), (2, "c", "STRING")]);
    let mapping = StatsMapping::of_values(&s, &s, None, None);
    let text = |t: &str| Some(Value::String(t.into()));
    let cut = "sixteen letters!";
    let recorded =
        stats(&s, &[("a", text("k"), text("p"), 10), ("b", int(7), int(-7), 0), ("c", text(cut), text(cut), 0)]);
    assert_eq!(known(&mapping, &recorded, 0, PrimitiveType::String), UNKNOWN);
    assert_eq!(known(&mapping, &recorded, 1, PrimitiveType::Int), (None, None, Presence::Absent));
    let bounds = StatsBounds::new(&mapping, recorded.as_ref(), 10).unwrap();
    let bounds = checked(bounds.column(2, &PrimitiveType::String), &PrimitiveType::String);
    assert!(bounds.upper_is_prefix && bounds.point().is_none());
}

#[test]
fn a_column_that_changed_its_kind_has_no_bounds() {
    for (then, now, ty) in [
        ("STRING", "INT", PrimitiveType::Int),
        ("INT", "STRING", PrimitiveType::String),
        ("INT", "DOUBLE", PrimitiveType::Double),
        ("FLOAT", "DOUBLE", PrimitiveType::Double),
        ("CHAR(3)", "STRING", PrimitiveType::String),
        ("VARCHAR(5)", "VARCHAR(4)", PrimitiveType::String),
        ("TIMESTAMP(9)", "TIMESTAMP(6)", PrimitiveType::Timestamp),
        ("DECIMAL(9, 2)", "DECIMAL(9, 1)", PrimitiveType::Decimal { precision: 9, scale: 1 }),
    ] {
        let (then, now) = (schema(0, &[(0, "a", then)]), schema(1, &[(0, "a", now)]));
        let mapping = StatsMapping::of_values(&now, &then, None, None);
        for (nulls, presence) in [(0, Presence::Possible), (10, Presence::Everywhere)] {
            let recorded = stats(&then, &[("a", None, None, nulls)]);
            assert_eq!(known(&mapping, &recorded, 0, ty.clone()), (None, None, presence));
        }
    }
}

#[test]
fn statistics_may_be_of_some_columns() {
    let s = schema(0, &[(0, "a", "INT"), (1, "b", "INT"), (2, "c", "INT")]);
    let recorded = stats(&s, &[("c", int(1), int(2), 0), ("a", int(3), int(4), UNKNOWN_NULLS)]);
    let at = |field, value_stats: Option<&[&str]>, write: Option<&[&str]>| {
        let (value_stats, write) = (value_stats.map(names), write.map(names));
        let mapping = StatsMapping::of_values(&s, &s, value_stats.as_deref(), write.as_deref());
        known(&mapping, &recorded, field, PrimitiveType::Int)
    };
    let cols: Option<&[&str]> = Some(&["c", "a"]);
    assert_eq!(at(0, cols, None), (int(3), int(4), Presence::Possible));
    assert_eq!(at(1, cols, None), UNKNOWN);
    assert_eq!(at(2, cols, None), (int(1), int(2), Presence::Absent));
    assert_eq!(at(2, None, cols), (int(1), int(2), Presence::Absent));
    assert_eq!(at(2, Some(&[]), cols), UNKNOWN);
    // Row tracking's columns may be among those written.
    assert_eq!(at(0, None, Some(&["_ROW_ID", "a"])), (int(3), int(4), Presence::Possible));
}

#[test]
fn columns_of_a_later_schema_are_unknown_in_files_of_some_columns() {
    let (then, now) = (schema(0, &[(0, "a", "INT")]), schema(1, &[(0, "a", "INT"), (1, "b", "INT")]));
    let recorded = stats(&then, &[("a", int(1), int(2), 0)]);
    let written = names(&["a"]);
    let mapping = StatsMapping::of_values(&now, &then, None, Some(&written));
    assert_eq!(known(&mapping, &recorded, 1, PrimitiveType::Int), UNKNOWN);
}

#[test]
fn what_can_not_be_read_tells_nothing() {
    let s = schema(0, &[(0, "a", "STRING"), (1, "b", "TIMESTAMP(9)"), (2, "c", "DOUBLE")]);
    let mapping = StatsMapping::of_values(&s, &s, None, None);
    let mut recorded = stats(
        &s,
        &[
            ("a", Some(Value::String("aé".into())), None, 0),
            ("b", Some(Value::Long(1)), Some(Value::Long(2)), 0),
            ("c", Some(Value::Double(1.0)), Some(Value::Double(f64::NAN)), 0),
        ],
    );
    // Swapped bounds: a NaN can't be the least value. There may still be a NaN.
    let swapped = SimpleStats { min: recorded.max.clone(), max: recorded.min.clone(), ..recorded.clone() };
    let bounds = StatsBounds::new(&mapping, swapped.as_ref(), 10).unwrap();
    let swapped = bounds.column(2, &PrimitiveType::Double);
    assert!(swapped.lower.is_none() && swapped.upper.is_none() && swapped.nans == Presence::Possible);
    // Four bytes before the row, a word, and then the text.
    recorded.min[4 + 8] = 0xff;
    recorded.max[4 + 8 + 8 + 4] = 0xff;
    assert_eq!(known(&mapping, &recorded, 0, PrimitiveType::String), (None, None, Presence::Absent));
    // One bound that can't be read takes the other with it.
    assert_eq!(known(&mapping, &recorded, 1, PrimitiveType::TimestampNs), (None, None, Presence::Absent));
    // A NaN above all other values says nothing about them.
    assert_eq!(
        known(&mapping, &recorded, 2, PrimitiveType::Double),
        (Some(Value::Double(1.0)), None, Presence::Absent)
    );
    recorded.min.truncate(7);
    assert!(StatsBounds::new(&mapping, recorded.as_ref(), 10).is_err());
    // Statistics of fewer columns than the mapping has.
    let none = SimpleStats { min: vec![0; 12], max: vec![0; 12], null_counts: None };
    assert_eq!(known(&mapping, &none, 0, PrimitiveType::String), UNKNOWN);
}
