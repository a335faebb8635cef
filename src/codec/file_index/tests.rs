//! Indexes that Java Paimon 1.4.2 wrote for 24 rows, with every question, and damaged bytes.

mod writing;

use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::Value as Json;

use super::{FileIndex, IndexKind, IndexedType, MatchingRows};
use crate::codec::xxhash::xxh64;
use crate::error::ErrorKind;
use crate::expr::oracle::holds;
use crate::expr::{BoundLeaf, BoundPredicate, BoundTerm, Literal, Op, value_of};
use crate::types::{PrimitiveType, Transform, Value};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/paimon/file_index"))
}

fn index(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{name}.index"))).unwrap()
}

struct Column {
    name: String,
    indexed: IndexedType,
    ty: PrimitiveType,
    rows: Vec<Option<Value>>,
}

/// The rows of the indexes.
fn columns() -> Vec<Column> {
    let text = std::fs::read_to_string(folder().join("rows.json")).unwrap();
    let json: Json = serde_json::from_str(&text).unwrap();
    let fields = json["fields"].as_array().unwrap().iter().enumerate();
    let column = |(at, field): (usize, &Json)| {
        let (indexed, ty) = types(field[1].as_str().unwrap());
        let cells = json["rows"].as_array().unwrap().iter().map(|row| cell(&row[at], &ty));
        Column { name: field[0].as_str().unwrap().to_owned(), indexed, rows: cells.collect(), ty }
    };
    fields.map(column).collect()
}

fn types(name: &str) -> (IndexedType, PrimitiveType) {
    use {IndexedType as I, PrimitiveType as P};
    match name {
        "BOOLEAN" => (I::Boolean, P::Boolean),
        "TINYINT" => (I::TinyInt, P::Int),
        "SMALLINT" => (I::SmallInt, P::Int),
        "INT" => (I::Int, P::Int),
        "BIGINT" => (I::BigInt, P::Long),
        "FLOAT" => (I::Float, P::Float),
        "DOUBLE" => (I::Double, P::Double),
        "DATE" => (I::Date, P::Date),
        "TIME(3)" => (I::Time, P::Time),
        "DECIMAL(10, 2)" => (I::Decimal { precision: 10 }, P::Decimal { precision: 10, scale: 2 }),
        "TIMESTAMP(3)" => (I::Timestamp { precision: 3 }, P::Timestamp),
        "TIMESTAMP(6)" => (I::Timestamp { precision: 6 }, P::Timestamp),
        "TIMESTAMP(9)" => (I::Timestamp { precision: 9 }, P::TimestampNs),
        "TIMESTAMP(6) WITH LOCAL TIME ZONE" => (I::Timestamp { precision: 6 }, P::Timestamptz),
        "STRING" | "CHAR(3)" => (I::Text, P::String),
        "BYTES" => (I::Bytes, P::Binary),
        other => panic!("{other}"),
    }
}

fn cell(json: &Json, ty: &PrimitiveType) -> Option<Value> {
    let literal = match json {
        Json::Null => return None,
        Json::Bool(v) => Literal::Boolean(*v),
        Json::Number(v) => Literal::Number(v.to_string()),
        Json::String(v) if ty.is_float() && v == "-0.0" => {
            return Some(if *ty == PrimitiveType::Float { Value::Float(-0.0) } else { Value::Double(-0.0) });
        }
        Json::String(v) if ty.is_float() && v.parse::<f64>().is_ok_and(f64::is_finite) => Literal::Number(v.clone()),
        Json::String(v) if matches!(ty, PrimitiveType::Decimal { .. }) => Literal::Number(v.clone()),
        Json::String(v) if *ty == PrimitiveType::Timestamptz => Literal::String(format!("{v}Z")),
        Json::String(v) => Literal::String(v.clone()),
        other => panic!("{other}"),
    };
    Some(value_of(&literal, ty).unwrap())
}

const ID: i32 = 3;

fn leaf(column: &Column, op: Op, mut values: Vec<Value>) -> BoundPredicate {
    values.sort_by(|a, b| a.sql_cmp(b).unwrap());
    values.dedup_by(|a, b| a.sql_cmp(b).is_some_and(|o| o.is_eq()));
    let term = BoundTerm {
        field_id: ID,
        path: vec![column.name.clone()],
        source: column.ty.clone().into(),
        transform: Transform::Identity,
        ty: column.ty.clone().into(),
        required: false,
    };
    BoundPredicate::Leaf(BoundLeaf { term, op, values })
}

/// Values of the column, and some between and beyond them.
fn literals(column: &Column) -> Vec<Value> {
    let mut out: Vec<Value> = column.rows.iter().flatten().filter(|v| !v.as_ref().is_nan()).cloned().collect();
    let near: Vec<Value> = out.iter().flat_map(neighbours).collect();
    out.extend(near);
    out
}

fn neighbours(v: &Value) -> Vec<Value> {
    match v {
        Value::Int(v) => vec![Value::Int(v - 1), Value::Int(v + 1)],
        Value::Long(v) => vec![Value::Long(v - 1), Value::Long(v + 1), Value::Long(v + 1_000_000)],
        Value::Decimal(v) => vec![Value::Decimal(v - 1), Value::Decimal(v + 1)],
        Value::Float(v) if v.is_finite() => vec![Value::Float(v - 0.5), Value::Float(-v)],
        Value::Double(v) if v.is_finite() => vec![Value::Double(v - 0.5), Value::Double(-v)],
        Value::String(v) => vec![Value::String(format!("{v}!")), Value::String(v.chars().take(1).collect())],
        Value::Bytes(v) => vec![Value::Bytes(v.iter().rev().copied().collect())],
        _ => Vec::new(),
    }
}

/// Every question with one literal, and some with several.
fn questions(column: &Column) -> Vec<BoundPredicate> {
    let literals = literals(column);
    let mut out = vec![leaf(column, Op::IsNull, vec![]), leaf(column, Op::NotNull, vec![])];
    if column.ty.is_float() {
        out.extend([leaf(column, Op::IsNan, vec![]), leaf(column, Op::NotNan, vec![])]);
    }
    for (i, v) in literals.iter().enumerate() {
        for op in [Op::Lt, Op::LtEq, Op::Gt, Op::GtEq, Op::Eq, Op::NotEq] {
            out.push(leaf(column, op, vec![v.clone()]));
        }
        let some: Vec<Value> = literals.iter().skip(i).step_by(7).cloned().collect();
        out.extend([leaf(column, Op::In, some.clone()), leaf(column, Op::NotIn, some)]);
    }
    out
}

fn rows(index: &FileIndex<'_>, column: &Column, filter: &BoundPredicate) -> Vec<bool> {
    let found = index.rows(filter, &|id| (id == ID).then_some((column.name.as_str(), column.indexed))).unwrap();
    let has = |row: u32| match &found {
        MatchingRows::Unknown => true,
        MatchingRows::Only(rows) => rows.contains(row),
        MatchingRows::AllBut { count, except } => {
            assert_eq!(*count as usize, column.rows.len());
            !except.contains(row)
        }
    };
    let out: Vec<bool> = (0..column.rows.len() as u32).map(has).collect();
    assert_eq!(found.any(), out.contains(&true), "{filter}");
    out
}

/// Asks one index of one column every question. Returns the number of exact answers, and the number of all answers.
fn ask(index: &FileIndex<'_>, column: &Column) -> (usize, usize) {
    let questions = questions(column);
    let mut exact = 0;
    for question in &questions {
        let matching: Vec<bool> = column.rows.iter().map(|v| holds(question, v.as_ref()) == Some(true)).collect();
        let found = rows(index, column, question);
        let lost = matching.iter().zip(&found).any(|(matches, kept)| *matches && !kept);
        assert!(!lost, "{question} of {:?}", column.indexed);
        exact += usize::from(found == matching);
    }
    (exact, questions.len())
}

#[test]
fn indexes_of_values_know_exactly_which_rows_match() {
    for (name, kind) in
        [("bitmap", IndexKind::Bitmap), ("slices", IndexKind::Slices), ("range", IndexKind::RangeBitmap)]
    {
        let bytes = index(name);
        let index = FileIndex::parse(&bytes).unwrap();
        for column in columns() {
            let has = index.columns().find(|(c, _)| *c == column.name).map(|(_, kind)| kind.clone());
            let (exact, asked) = ask(&index, &column);
            // Keys of these columns are less exact than literals, and bitmaps have no order.
            if has.is_some() && !["m", "u", "w"].contains(&column.name.as_str()) && name != "bitmap" {
                assert_eq!(has.as_ref(), Some(&kind));
                let unknown = usize::from(column.ty.is_float());
                assert_eq!(exact, asked - unknown, "{name} of {}", column.name);
            }
            assert!(has.is_none() || exact > asked / 5, "{name} of {}: {exact} of {asked}", column.name);
        }
    }
}

#[test]
fn both_versions_of_bitmaps_know_rows_by_value() {
    for name in ["bitmap", "bitmap1"] {
        let bytes = index(name);
        let index = FileIndex::parse(&bytes).unwrap();
        for column in columns().iter().filter(|c| ["t", "i", "c", "x", "v"].contains(&c.name.as_str())) {
            let order = |q: &BoundPredicate| match q {
                BoundPredicate::Leaf(l) => matches!(l.op, Op::Lt | Op::LtEq | Op::Gt | Op::GtEq | Op::NotNan),
                _ => true,
            };
            for question in questions(column).iter().filter(|q| !order(q)) {
                let matching: Vec<bool> =
                    column.rows.iter().map(|v| holds(question, v.as_ref()) == Some(true)).collect();
                assert_eq!(rows(&index, column, question), matching, "{name}: {question}");
            }
        }
    }
}

#[test]
fn bloom_filters_lose_no_row_and_exclude_most_others() {
    let bytes = index("bloom");
    let index = FileIndex::parse(&bytes).unwrap();
    for column in columns() {
        let (exact, _) = ask(&index, &column);
        let Some((_, kind)) = index.columns().find(|(c, _)| *c == column.name) else { continue };
        assert_eq!(*kind, IndexKind::Bloom);
        assert!(exact > 0, "{}: {exact}", column.name);
    }
}

#[test]
fn answers_of_several_indexes_and_columns_combine() {
    let bytes = index("several");
    let index = FileIndex::parse(&bytes).unwrap();
    let all = columns();
    let i = all.iter().find(|c| c.name == "i").unwrap();
    assert_eq!(index.columns().filter(|(c, _)| *c == "i").count(), 3);
    let (exact, asked) = ask(&index, i);
    assert_eq!(exact, asked);
    let (low, high) = (Value::Int(-1_000_000_000), Value::Int(1_000_000_000));
    let both = BoundPredicate::all([leaf(i, Op::Gt, vec![low.clone()]), leaf(i, Op::Lt, vec![high.clone()])]);
    let none = BoundPredicate::all([leaf(i, Op::Lt, vec![low.clone()]), leaf(i, Op::Gt, vec![high.clone()])]);
    let either = BoundPredicate::any([leaf(i, Op::Lt, vec![low]), leaf(i, Op::Gt, vec![high])]);
    let rest = BoundPredicate::any([either.clone(), both.clone(), leaf(i, Op::IsNull, vec![])]);
    for filter in [both, none, either, rest] {
        let matching: Vec<bool> = i.rows.iter().map(|v| holds(&filter, v.as_ref()) == Some(true)).collect();
        assert_eq!(rows(&index, i, &filter), matching, "{filter}");
    }
}

#[test]
fn a_column_without_values_has_no_rows_but_nulls() {
    for name in ["bitmap", "slices", "range", "bloom"] {
        let bytes = index(name);
        let index = FileIndex::parse(&bytes).unwrap();
        let all = columns();
        let o = all.iter().find(|c| c.name == "o").unwrap();
        assert!(o.rows.iter().all(Option::is_none));
        assert!(!rows(&index, o, &leaf(o, Op::Eq, vec![Value::Int(1)])).contains(&true), "{name}");
        assert!(!rows(&index, o, &leaf(o, Op::IsNull, vec![])).contains(&false), "{name}");
    }
}

#[test]
fn xxh64_of_known_texts() {
    assert_eq!(xxh64(b"", 0), 0xef46_db37_51d8_e999);
    assert_eq!(xxh64(b"a", 0), 0xd24e_c4f1_a98c_6e5b);
    assert_eq!(xxh64(b"abc", 0), 0x44bc_2cf5_ad77_0999);
    assert_eq!(xxh64(b"Nobody inspects the spammish repetition", 0), 0xfbce_a83c_8a37_8bf1);
}

#[test]
fn no_index_is_an_error() {
    let kind = |bytes: &[u8]| FileIndex::parse(bytes).unwrap_err().kind();
    assert_eq!(kind(b"PAR1"), ErrorKind::CorruptTable);
    assert_eq!(kind(&[0; 40]), ErrorKind::CorruptTable);
    let mut later = index("several");
    later[11] = 2;
    assert_eq!(kind(&later), ErrorKind::Unsupported);
    let mut long = index("several");
    long[12..16].copy_from_slice(&i32::MAX.to_be_bytes());
    assert_eq!(kind(&long), ErrorKind::CorruptTable);
}

proptest! {
    /// Damage gives errors or wrong answers, but never panics, and does not take memory or time without bound.
    #[test]
    fn damage_is_survived(
        file in prop::sample::select(vec!["bitmap", "bitmap1", "slices", "range", "bloom", "several"]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::weighted(0.3, any::<prop::sample::Index>()),
    ) {
        let mut bytes = index(file);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        let Ok(index) = FileIndex::parse(&bytes) else { return Ok(()) };
        for column in columns() {
            let literal = column.rows.iter().flatten().find(|v| !v.as_ref().is_nan()).cloned();
            let ops = [Op::IsNull, Op::NotNull, Op::Eq, Op::NotEq, Op::Lt, Op::GtEq];
            for op in ops {
                let values = if matches!(op, Op::IsNull | Op::NotNull) { None } else { literal.clone() };
                if values.is_none() && !matches!(op, Op::IsNull | Op::NotNull) {
                    continue;
                }
                let filter = leaf(&column, op, values.into_iter().collect());
                let _ = index.may_match(&filter, &|_| Some((column.name.as_str(), column.indexed)));
            }
        }
    }
}
