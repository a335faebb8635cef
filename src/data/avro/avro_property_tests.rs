//! Random tables of nested columns, encoded by the `apache-avro` crate, read back whole and in part.

use std::collections::HashMap;
use std::sync::Arc;

use apache_avro::types::Value as A;
use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use proptest::prelude::*;

use super::tests::{avro_task, container, save};
use crate::codec::avro::AvroCodec;
use crate::data::testing::{projecting, read};
use crate::expr::BoundPredicate;
use crate::types::{Field, PrimitiveType as P, Schema, Type};

/// A column of a file.
#[derive(Clone, Debug)]
struct Tree {
    kind: Kind,
    /// 0: required, 1: null first, 2: null last.
    optional: u32,
    /// Whether a struct that holds it is read with it.
    kept: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Leaf(usize),
    Struct(Vec<Tree>),
    List(Box<Tree>),
    Map(Box<Tree>),
    /// A map whose keys are of the leaf type.
    Pairs(usize, Box<Tree>),
}

/// Avro's and the table's type of every kind of leaf.
fn leaf(which: usize, name: &str) -> (String, P) {
    let (avro, ty) = match which {
        0 => (r#""boolean""#, P::Boolean),
        1 => (r#""int""#, P::Int),
        2 => (r#""long""#, P::Long),
        3 => (r#""float""#, P::Float),
        4 => (r#""double""#, P::Double),
        5 => (r#""string""#, P::String),
        6 => (r#""bytes""#, P::Binary),
        7 => (r#"{"type":"fixed","name":"NAME","size":3}"#, P::Fixed(3)),
        8 => (r#"{"type":"int","logicalType":"date"}"#, P::Date),
        9 => (r#"{"type":"long","logicalType":"timestamp-micros","adjust-to-utc":true}"#, P::Timestamptz),
        10 => (
            r#"{"type":"fixed","name":"NAME","size":8,"logicalType":"decimal","precision":18,"scale":3}"#,
            P::Decimal { precision: 18, scale: 3 },
        ),
        _ => (r#"{"type":"enum","name":"NAME","symbols":["RED","GREEN"]}"#, P::String),
    };
    (avro.replace("NAME", name), ty)
}

const LEAVES: usize = 12;

fn tree() -> impl Strategy<Value = Tree> {
    let of = |kind: BoxedStrategy<Kind>| {
        (kind, 0u32..3, any::<bool>()).prop_map(|(kind, optional, kept)| Tree { kind, optional, kept })
    };
    let leaf = of((0..LEAVES).prop_map(Kind::Leaf).boxed());
    leaf.prop_recursive(3, 12, 3, move |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        of(prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Kind::Struct),
            boxed().prop_map(Kind::List),
            boxed().prop_map(Kind::Map),
            ((1usize..3), boxed()).prop_map(|(key, value)| Kind::Pairs(key, value)),
        ]
        .boxed())
    })
}

/// The form of a tree in Avro, in the table, and in the projection.
fn describe(tree: &Tree, name: &str, next: &mut i32) -> (String, Field, Field) {
    let id = *next;
    *next += 1;
    let field = |ty: Type| Field::new(id, name, tree.optional == 0, ty);
    let (avro, full, read) = match &tree.kind {
        Kind::Leaf(which) => {
            let (avro, ty) = leaf(*which, &format!("n{id}"));
            (avro, Type::Primitive(ty.clone()), Type::Primitive(ty))
        }
        Kind::Struct(members) => {
            let (avro, full, read) = describe_members(members, next);
            let avro = format!(r#"{{"type":"record","name":"r{id}","fields":[{avro}]}}"#);
            (avro, Type::Struct(full.into()), Type::Struct(read.into()))
        }
        Kind::List(element) => {
            let element_id = *next;
            let (avro, full, read) = describe(element, "element", next);
            let avro = format!(r#"{{"type":"array","items":{avro},"element-id":{element_id}}}"#);
            (avro, Type::List(Arc::new(full)), Type::List(Arc::new(read)))
        }
        Kind::Map(value) | Kind::Pairs(_, value) => {
            let key_id = *next;
            *next += 1;
            let value_id = *next;
            let (value, full, read) = describe(value, "value", next);
            let key = if let Kind::Pairs(key, _) = &tree.kind { *key } else { 5 };
            let (key_avro, key) = leaf(key, "");
            let key = Arc::new(Field::new(key_id, "key", true, key));
            let avro = match &tree.kind {
                Kind::Map(_) => {
                    format!(r#"{{"type":"map","values":{value},"key-id":{key_id},"value-id":{value_id}}}"#)
                }
                _ => format!(
                    r#"{{"type":"array","logicalType":"map","items":{{"type":"record","name":"k{key_id}","fields":[
                        {{"name":"key","type":{key_avro},"field-id":{key_id}}},
                        {{"name":"value","type":{value},"field-id":{value_id}}}]}}}}"#
                ),
            };
            (avro, Type::Map(key.clone(), Arc::new(full)), Type::Map(key, Arc::new(read)))
        }
    };
    let avro = match tree.optional {
        0 => avro,
        1 => format!(r#"["null",{avro}]"#),
        _ => format!(r#"[{avro},"null"]"#),
    };
    (avro, field(full), field(read))
}

fn describe_members(members: &[Tree], next: &mut i32) -> (String, Vec<Field>, Vec<Field>) {
    let (mut avro, mut full, mut read) = (Vec::new(), Vec::new(), Vec::new());
    for (i, member) in members.iter().enumerate() {
        let id = *next;
        let (ty, whole, part) = describe(member, &format!("c{i}"), next);
        avro.push(format!(r#"{{"name":"c{i}","type":{ty},"field-id":{id}}}"#));
        full.push(whole);
        read.extend(member.kept.then_some(part));
    }
    // A projection has its own order.
    read.reverse();
    (avro.join(","), full, read)
}

/// A source of choices.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A random value in its written form, and in the form to be read: without unions, and pruned.
fn value(tree: &Tree, dice: &mut Dice) -> (A, A) {
    if tree.optional > 0 && dice.roll(4) == 0 {
        return (A::Union(tree.optional - 1, Box::new(A::Null)), A::Null);
    }
    let count = dice.roll(4) as usize;
    let (written, read) = match &tree.kind {
        Kind::Leaf(which) => leaf_value(*which, dice),
        Kind::Struct(members) => record(members, dice),
        Kind::List(element) => {
            let (written, read) = (0..count).map(|_| value(element, dice)).unzip();
            (A::Array(written), A::Array(read))
        }
        Kind::Map(of) => {
            let both = (0..count).map(|i| (format!("k{i}"), value(of, dice)));
            let (written, read) = both.map(|(k, (w, r))| ((k.clone(), w), (k, r))).unzip();
            (A::Map(written), A::Map(read))
        }
        Kind::Pairs(key, of) => {
            let pair = |key: &A, value: A| A::Record(vec![("key".into(), key.clone()), ("value".into(), value)]);
            let (written, read) = (0..count)
                .map(|_| (leaf_value(*key, dice).0, value(of, dice)))
                .map(|(key, (w, r))| (pair(&key, w), pair(&key, r)))
                .unzip();
            (A::Array(written), A::Array(read))
        }
    };
    match tree.optional {
        0 => (written, read),
        branch => (A::Union(2 - branch, Box::new(written)), read),
    }
}

fn record(members: &[Tree], dice: &mut Dice) -> (A, A) {
    let (mut written, mut read) = (Vec::new(), Vec::new());
    for (i, member) in members.iter().enumerate() {
        let (w, r) = value(member, dice);
        written.push((format!("c{i}"), w));
        read.extend(member.kept.then_some((format!("c{i}"), r)));
    }
    read.reverse();
    (A::Record(written), A::Record(read))
}

fn leaf_value(which: usize, dice: &mut Dice) -> (A, A) {
    let wide = (dice.roll(1 << 31) as i64 - (1 << 30)) * dice.roll(1 << 20) as i64;
    let narrow = wide as i32;
    let bytes: Vec<u8> = wide.to_be_bytes()[..dice.roll(9) as usize].to_vec();
    let same = |value: A| (value.clone(), value);
    match which {
        0 => same(A::Boolean(wide % 2 == 0)),
        1 => same(A::Int(narrow)),
        2 => same(A::Long(wide)),
        3 => same(A::Float(narrow as f32)),
        4 => same(A::Double(wide as f64 / 3.0)),
        5 => same(A::String(format!("ä{wide}"))),
        6 => same(A::Bytes(bytes)),
        7 => same(A::Fixed(3, wide.to_be_bytes()[5..].to_vec())),
        8 => same(A::Date(narrow)),
        9 => same(A::TimestampMicros(wide)),
        10 => {
            let wide = wide % 1_000_000_000_000_000_000;
            (A::Fixed(8, wide.to_be_bytes().to_vec()), A::Long(wide))
        }
        _ => {
            let symbol = dice.roll(2) as u32;
            let name = ["RED", "GREEN"][symbol as usize].to_owned();
            (A::Enum(symbol, name.clone()), A::String(name))
        }
    }
}

/// A value of an array in the same form.
fn value_of(array: &dyn Array, row: usize) -> A {
    if array.is_null(row) {
        return A::Null;
    }
    match array.data_type() {
        DataType::Boolean => A::Boolean(array.as_boolean().value(row)),
        DataType::Int32 => A::Int(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => A::Long(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => A::Float(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => A::Double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => A::String(array.as_string::<i32>().value(row).to_owned()),
        DataType::Binary => A::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        DataType::FixedSizeBinary(_) => A::Fixed(3, array.as_fixed_size_binary().value(row).to_vec()),
        DataType::Date32 => A::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(_, Some(_)) => {
            A::TimestampMicros(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Decimal128(18, 3) => A::Long(array.as_primitive::<Decimal128Type>().value(row) as i64),
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            A::Record(columns.map(|(f, c)| (f.name().clone(), value_of(c, row))).collect())
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            A::Array((0..items.len()).map(|i| value_of(&items, i)).collect())
        }
        DataType::Map(_, _) => {
            let entries = array.as_map().value(row);
            let pairs: Vec<A> = (0..entries.len()).map(|i| value_of(&entries, i)).collect();
            if entries.column(0).data_type() != &DataType::Utf8 {
                return A::Array(pairs);
            }
            let pair = |pair: A| match pair {
                A::Record(members) => match <[(String, A); 2]>::try_from(members) {
                    Ok([(_, A::String(key)), (_, value)]) => (key, value),
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            };
            A::Map(pairs.into_iter().map(pair).collect::<HashMap<_, _>>())
        }
        other => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn random_tables_are_read_as_they_were_written(
        columns in prop::collection::vec(tree(), 1..5),
        seed in any::<u64>(),
        count in 0usize..20,
        codec in prop::sample::select(vec![AvroCodec::Null, AvroCodec::Deflate, AvroCodec::Snappy, AvroCodec::Zstd]),
    ) {
        let (members, full, part) = describe_members(&columns, &mut 1);
        let avro = format!(r#"{{"type":"record","name":"table","fields":[{members}]}}"#);
        let mut dice = Dice(seed);
        let (written, pruned): (Vec<A>, Vec<A>) = (0..count).map(|_| record(&columns, &mut dice)).unzip();
        let dir = tempfile::tempdir().unwrap();
        let task = avro_task(&save(&dir, &container(&avro, &written, codec)), BoundPredicate::True);
        let (full, part) = (Schema::new(0, full, vec![]), Schema::new(0, part, vec![]));
        let mut found = Vec::new();
        for batch in read(&projecting(&full, &part), &task).unwrap() {
            let names = batch.schema();
            for row in 0..batch.num_rows() {
                let members = names.fields().iter().zip(batch.columns());
                found.push(A::Record(members.map(|(f, c)| (f.name().clone(), value_of(c, row))).collect()));
            }
        }
        prop_assert_eq!(found, pruned);
    }
}
