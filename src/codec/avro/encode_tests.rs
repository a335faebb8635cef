use proptest::prelude::*;

use super::*;
use crate::codec::avro::{Container, Cursor, Inflater};

const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[
    {"name":"b","type":"boolean"},{"name":"i","type":"int"},{"name":"l","type":["null","long"]},
    {"name":"f","type":"float"},{"name":"d","type":"double"},{"name":"s","type":"string"},
    {"name":"x","type":["null","bytes"]},{"name":"a","type":{"type":"array","items":"long"}}]}"#;

type Row = (bool, i32, Option<i64>, f32, f64, String, Option<Vec<u8>>, Vec<i64>);

fn row() -> impl Strategy<Value = Row> {
    let bytes = prop::collection::vec(any::<u8>(), 0..50);
    (
        any::<bool>(),
        any::<i32>(),
        any::<Option<i64>>(),
        any::<f32>(),
        any::<f64>(),
        ".{0,40}",
        prop::option::of(bytes),
        prop::collection::vec(any::<i64>(), 0..5),
    )
}

fn put(out: &mut Vec<u8>, r: &Row) {
    put_boolean(out, r.0);
    put_int(out, r.1);
    put_optional(out, r.2, put_long);
    put_float(out, r.3);
    put_double(out, r.4);
    put_bytes(out, r.5.as_bytes());
    put_optional(out, r.6.as_deref(), put_bytes);
    put_items(out, r.7.iter(), |out, v| put_long(out, *v));
}

fn take(c: &mut Cursor<'_>) -> Row {
    use crate::codec::avro::Optional::NullFirst;
    let (b, i) = (c.boolean().unwrap(), c.int().unwrap());
    let l = c.present(NullFirst).unwrap().then(|| c.long().unwrap());
    let (f, d, s) = (c.float().unwrap(), c.double().unwrap(), c.string().unwrap().to_owned());
    let x = c.present(NullFirst).unwrap().then(|| c.bytes().unwrap().to_vec());
    let mut a = Vec::new();
    while let Some(run) = c.run().unwrap() {
        (0..run.count).for_each(|_| a.push(c.long().unwrap()));
    }
    (b, i, l, f, d, s, x, a)
}

fn oracle(r: &Row) -> apache_avro::types::Value {
    use apache_avro::types::Value as A;
    let optional = |v: Option<A>| match v {
        None => A::Union(0, Box::new(A::Null)),
        Some(v) => A::Union(1, Box::new(v)),
    };
    A::Record(vec![
        ("b".into(), A::Boolean(r.0)),
        ("i".into(), A::Int(r.1)),
        ("l".into(), optional(r.2.map(A::Long))),
        ("f".into(), A::Float(r.3)),
        ("d".into(), A::Double(r.4)),
        ("s".into(), A::String(r.5.clone())),
        ("x".into(), optional(r.6.clone().map(A::Bytes))),
        ("a".into(), A::Array(r.7.iter().map(|v| A::Long(*v)).collect())),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_written_is_read(rows in prop::collection::vec(row(), 0..200)) {
        for codec in [AvroCodec::Null, AvroCodec::Deflate, AvroCodec::Snappy, AvroCodec::Zstd] {
            let mut writer = ContainerWriter::new(SCHEMA, &[("a", "b")], codec);
            rows.iter().for_each(|r| writer.record(|out| put(out, r)));
            let bytes = writer.finish().unwrap();
            let container = Container::parse(&bytes).unwrap();
            let mut inflater = Inflater::default();
            let mut back = Vec::new();
            for (i, block) in container.blocks.iter().enumerate() {
                let mut cursor = Cursor::new(inflater.inflate(container.codec, container.block_data(i).unwrap()).unwrap());
                (0..block.count).for_each(|_| back.push(take(&mut cursor)));
                prop_assert!(cursor.rest().is_empty());
            }
            prop_assert_eq!(&back, &rows);
            if matches!(codec, AvroCodec::Null | AvroCodec::Deflate) {
                let reader = apache_avro::Reader::new(&bytes[..]).unwrap();
                let read: Vec<_> = reader.collect::<Result<_, _>>().unwrap();
                prop_assert_eq!(read, rows.iter().map(oracle).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn levels_that_do_not_exist_are_refused() {
    for (codec, level) in [(AvroCodec::Deflate, 13), (AvroCodec::Deflate, -2)] {
        let mut writer = ContainerWriter::new("\"long\"", &[], codec).with_level(Some(level));
        writer.record(|out| put_long(out, 1));
        assert_eq!(writer.finish().unwrap_err().kind(), crate::error::ErrorKind::InvalidInput);
    }
}

#[test]
fn zstandard_takes_the_nearest_of_its_levels() {
    let long = |level: i32| {
        let mut writer = ContainerWriter::new("\"long\"", &[], AvroCodec::Zstd).with_level(Some(level));
        (0..1000).for_each(|n| writer.record(|out| put_long(out, n * n)));
        writer.finish().unwrap()
    };
    // Equal except for the random mark that ends each block.
    let length = |level| long(level).len();
    assert_eq!(length(99), length(22));
    assert_eq!(length(0), length(3));
    assert!(length(i32::MIN) > length(3));
}
