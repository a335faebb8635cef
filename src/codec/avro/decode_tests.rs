use proptest::prelude::*;

use super::*;
use crate::codec::avro::encode;

fn encoded(values: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    values.iter().for_each(|v| encode::put_long(&mut out, *v));
    out
}

/// The table of the Avro specification, "Primitive Types".
#[test]
fn integers_are_zigzag_varints() {
    for (value, bytes) in [
        (0, &[0x00][..]),
        (-1, &[0x01]),
        (1, &[0x02]),
        (-2, &[0x03]),
        (2, &[0x04]),
        (-64, &[0x7f]),
        (64, &[0x80, 0x01]),
        (i64::MIN, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
    ] {
        assert_eq!(Cursor::new(bytes).long().unwrap(), value);
        assert_eq!(encoded(&[value]), bytes);
    }
}

#[test]
fn refuses_integers_that_are_too_long() {
    assert!(Cursor::new(&[0xff; 9]).long().is_err());
    assert!(Cursor::new(&[0x80; 20]).long().is_err());
    let eleven = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02, 0, 0];
    assert!(Cursor::new(&eleven).long().is_err());
    assert!(Cursor::new(&encoded(&[1 << 31])).int().is_err());
    assert_eq!(Cursor::new(&encoded(&[-(1 << 31)])).int().unwrap(), i32::MIN);
}

#[test]
fn refuses_lengths_that_the_bytes_do_not_have() {
    for length in [-1, 5, i64::MAX, i64::MIN] {
        let mut bytes = encoded(&[length]);
        bytes.extend_from_slice(b"abcd");
        assert!(Cursor::new(&bytes).bytes().is_err(), "{length}");
        let run = encoded(&[-3, length]);
        assert!(Cursor::new(&run).run().is_err(), "{length}");
    }
    assert!(Cursor::new(&[2]).boolean().is_err());
    assert!(Cursor::new(&[0, 0, 0]).float().is_err());
    assert!(Cursor::new(&[0; 7]).double().is_err());
    assert!(Cursor::new(&[2, 0xff]).string().is_err());
}

#[test]
fn optional_values_have_either_order() {
    for (optional, first, second) in [(Optional::NullFirst, false, true), (Optional::NullLast, true, false)] {
        assert_eq!(Cursor::new(&[0]).present(optional).unwrap(), first);
        assert_eq!(Cursor::new(&[2]).present(optional).unwrap(), second);
        // A longer form of the same number.
        assert_eq!(Cursor::new(&[0x80, 0]).present(optional).unwrap(), first);
        assert_eq!(Cursor::new(&[0x82, 0]).present(optional).unwrap(), second);
        assert!(Cursor::new(&[4]).present(optional).is_err());
        assert!(Cursor::new(&[]).present(optional).is_err());
    }
}

fn skip(schema: &str) -> Skip {
    Skip::of(&Node::parse(schema).unwrap(), &mut Budget::default()).unwrap()
}

#[test]
fn sized_runs_are_hopped_over_at_once() {
    let skip = skip(r#"{"type":"array","items":"string"}"#);
    // The five bytes are no strings, and they are not read.
    let mut bytes = encoded(&[-1_000_000_000, 5]);
    bytes.extend_from_slice(&[0xff; 5]);
    bytes.push(0);
    bytes.push(0x77);
    assert_eq!(skip.run(Cursor::new(&bytes)).unwrap().rest(), [0x77]);
}

#[test]
fn the_size_of_a_run_must_be_true() {
    let bytes = encoded(&[-2, 2, 7, 8, 0]);
    let mut cursor = Cursor::new(&bytes);
    let run = cursor.run().unwrap().unwrap();
    assert_eq!(run, SkipRun { count: 2, bytes: Some(2) });
    let before = cursor.rest().len();
    cursor.long().unwrap();
    assert!(run.check(before, &cursor).is_err());
    cursor.long().unwrap();
    assert!(run.check(before, &cursor).is_ok());
}

#[test]
fn items_without_bytes_can_not_repeat_without_end() {
    let record = r#"{"type":"array","items":{"type":"record","name":"e","fields":[
        {"name":"a","type":"null"},{"name":"b","type":{"type":"fixed","name":"f","size":0}}]}}"#;
    let bytes = encoded(&[i64::MAX, 0]);
    assert!(skip(record).run(Cursor::new(&bytes)).unwrap().rest().is_empty());
    assert!(skip(r#"{"type":"array","items":"long"}"#).run(Cursor::new(&bytes)).is_err());
}

#[test]
fn types_that_multiply_are_refused() {
    // Each record holds two of the one before: 2^40 fields in all.
    let mut fields = r#"{"type":"record","name":"r0","fields":[{"name":"x","type":"int"}]}"#.to_owned();
    for i in 1..40 {
        fields = format!(
            r#"{{"type":"record","name":"r{i}","fields":[{{"name":"a","type":{fields}}},{{"name":"b","type":"r{}"}}]}}"#,
            i - 1
        );
    }
    let node = Node::parse(&fields).unwrap();
    assert_eq!(Skip::of(&node, &mut Budget::default()).unwrap_err().kind(), crate::error::ErrorKind::Unsupported);
}

const EVERYTHING: &str = r#"{"type":"record","name":"r","fields":[
    {"name":"i","type":["null","int"]},
    {"name":"l","type":["long","null"]},
    {"name":"b","type":"boolean"},
    {"name":"s","type":"string"},
    {"name":"x","type":{"type":"fixed","name":"x","size":3}},
    {"name":"counts","type":["null",{"type":"array","items":{"type":"record","name":"kv","fields":[
        {"name":"key","type":"int"},{"name":"value","type":"long"}]}}]},
    {"name":"bounds","type":{"type":"array","items":{"type":"record","name":"kb","fields":[
        {"name":"key","type":"int"},{"name":"value","type":"bytes"}]}}},
    {"name":"m","type":{"type":"map","values":["null","double","string"]}},
    {"name":"e","type":{"type":"enum","name":"e","symbols":["A","B"]}},
    {"name":"f","type":"float"}]}"#;

type Everything = (Option<i32>, Option<i64>, String, Vec<(i32, i64)>, Vec<(i32, Vec<u8>)>, Vec<(String, Option<f64>)>);

fn everything() -> impl Strategy<Value = Everything> {
    (
        any::<Option<i32>>(),
        any::<Option<i64>>(),
        ".{0,80}",
        prop::collection::vec(any::<(i32, i64)>(), 0..30),
        prop::collection::vec((0..200i32, prop::collection::vec(any::<u8>(), 0..100)), 0..30),
        prop::collection::vec((".{0,5}", any::<Option<f64>>()), 0..4),
    )
}

/// The bytes that the oracle writes.
fn oracle_bytes(v: &Everything) -> Vec<u8> {
    use apache_avro::types::Value as A;
    let optional = |null: u32, some: u32, v: Option<A>| match v {
        None => A::Union(null, Box::new(A::Null)),
        Some(v) => A::Union(some, Box::new(v)),
    };
    let pair = |key: &i32, value: A| A::Record(vec![("key".into(), A::Int(*key)), ("value".into(), value)]);
    let counts = v.3.iter().map(|(k, n)| pair(k, A::Long(*n))).collect();
    let bounds = v.4.iter().map(|(k, b)| pair(k, A::Bytes(b.clone()))).collect();
    let map = v.5.iter().map(|(k, d)| (k.clone(), optional(0, 1, d.map(A::Double)))).collect();
    let record = A::Record(vec![
        ("i".into(), optional(0, 1, v.0.map(A::Int))),
        ("l".into(), optional(1, 0, v.1.map(A::Long))),
        ("b".into(), A::Boolean(true)),
        ("s".into(), A::String(v.2.clone())),
        ("x".into(), A::Fixed(3, vec![1, 2, 3])),
        ("counts".into(), A::Union(1, Box::new(A::Array(counts)))),
        ("bounds".into(), A::Array(bounds)),
        ("m".into(), A::Map(map)),
        ("e".into(), A::Enum(1, "B".into())),
        ("f".into(), A::Float(1.5)),
    ]);
    let schema = apache_avro::Schema::parse_str(EVERYTHING).unwrap();
    apache_avro::writer::datum::GenericDatumWriter::builder(&schema)
        .build()
        .unwrap()
        .write_value_to_vec(record)
        .unwrap()
}

proptest! {
    #[test]
    fn skipping_ends_where_the_oracle_does(v in everything(), tail in prop::collection::vec(any::<u8>(), 0..20)) {
        let skip = skip(EVERYTHING);
        let mut bytes = oracle_bytes(&v);
        let end = bytes.len();
        bytes.extend_from_slice(&tail);
        prop_assert_eq!(skip.run(Cursor::new(&bytes)).unwrap().rest(), &tail[..]);
        for cut in 0..end {
            prop_assert!(skip.run(Cursor::new(&bytes[..cut])).is_err());
        }
    }

    #[test]
    fn integers_round_trip_anywhere(values in prop::collection::vec(any::<i64>().prop_map(|v| v >> (v & 63)), 1..40)) {
        let bytes = encoded(&values);
        let mut cursor = Cursor::new(&bytes);
        for v in &values {
            prop_assert_eq!(cursor.long().unwrap(), *v);
        }
        prop_assert!(cursor.rest().is_empty());
        for n in 0..=values.len() {
            let mut cursor = Cursor::new(&bytes);
            cursor.skip_varints(n as u64).unwrap();
            prop_assert_eq!(cursor.rest().len(), bytes.len() - encoded(&values[..n]).len());
            let mut one_by_one = Cursor::new(&bytes);
            (0..n).for_each(|_| one_by_one.skip_varint().unwrap());
            prop_assert_eq!(cursor.rest(), one_by_one.rest());
        }
        prop_assert!(Cursor::new(&bytes).skip_varints(values.len() as u64 + 1).is_err());
    }

    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = skip(EVERYTHING).run(Cursor::new(&bytes));
    }
}
