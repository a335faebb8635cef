use proptest::prelude::*;

use super::*;
use crate::paimon::spec::binary_row_write::{encode_row, encode_values, prefixed};
use crate::paimon::spec::data_type::{DataField, MAX_LENGTH};
use crate::types::value::hex;

fn leaf() -> impl Strategy<Value = TypeKind> {
    prop_oneof![
        Just(TypeKind::Boolean),
        Just(TypeKind::TinyInt),
        Just(TypeKind::SmallInt),
        Just(TypeKind::Int),
        Just(TypeKind::BigInt),
        Just(TypeKind::Float),
        Just(TypeKind::Double),
        (1..=38u8).prop_map(|precision| TypeKind::Decimal { precision, scale: 0 }),
        Just(TypeKind::Char(3)),
        Just(TypeKind::VarChar(MAX_LENGTH)),
        Just(TypeKind::VarBinary(MAX_LENGTH)),
        Just(TypeKind::Date),
        Just(TypeKind::Time(3)),
        (0..=9u8).prop_map(TypeKind::Timestamp),
        (0..=9u8).prop_map(TypeKind::TimestampLtz),
        Just(TypeKind::Variant),
        Just(TypeKind::Blob),
        (1..4u32).prop_map(|length| TypeKind::Vector { element: Box::new(TypeKind::Float.not_null()), length }),
    ]
}

fn any_type() -> impl Strategy<Value = DataType> {
    leaf().prop_map(TypeKind::nullable).prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|t| TypeKind::Array(Box::new(t)).nullable()),
            inner.clone().prop_map(|t| TypeKind::Multiset(Box::new(t)).nullable()),
            (inner.clone(), inner.clone()).prop_map(|(k, v)| TypeKind::Map(Box::new(k), Box::new(v)).nullable()),
            prop::collection::vec(inner, 1..4).prop_map(|types| {
                let field = |(i, ty)| DataField::new(i as i32, format!("f{i}"), ty);
                TypeKind::Row(types.into_iter().enumerate().map(field).collect()).nullable()
            }),
        ]
    })
}

fn value(v: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Datum> {
    v.prop_map(Datum::Value).boxed()
}

/// Values that a type holds without loss.
fn datum_of(ty: &DataType) -> BoxedStrategy<Datum> {
    match &ty.kind {
        TypeKind::Boolean => value(any::<bool>().prop_map(Value::Boolean)),
        TypeKind::TinyInt => value(any::<i8>().prop_map(|v| Value::Int(v.into()))),
        TypeKind::SmallInt => value(any::<i16>().prop_map(|v| Value::Int(v.into()))),
        TypeKind::Int | TypeKind::Date => value(any::<i32>().prop_map(Value::Int)),
        TypeKind::BigInt => value(any::<i64>().prop_map(Value::Long)),
        TypeKind::Float => value(prop::num::f32::NORMAL.prop_map(Value::Float)),
        TypeKind::Double => value(prop::num::f64::NORMAL.prop_map(Value::Double)),
        TypeKind::Decimal { precision, .. } => {
            let most = 10i128.pow(u32::from(*precision)) - 1;
            value((-most..=most).prop_map(Value::Decimal))
        }
        TypeKind::Char(_) | TypeKind::VarChar(_) => value("\\PC{0,12}".prop_map(Value::String)),
        TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob => {
            value(prop::collection::vec(any::<u8>(), 0..12).prop_map(Value::Bytes))
        }
        TypeKind::Time(_) => value((0..86_400_000i64).prop_map(|ms| Value::Long(ms * 1000))),
        TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) => {
            let unit = if *p <= 3 { 1000 } else { 1 };
            value(any::<i64>().prop_map(move |v| Value::Long(v / unit * unit)))
        }
        TypeKind::Variant => (prop::collection::vec(any::<u8>(), 0..9), prop::collection::vec(any::<u8>(), 0..9))
            .prop_map(|(metadata, value)| Datum::Variant { metadata, value })
            .boxed(),
        TypeKind::Vector { element, length } => {
            let items = prop::collection::vec(datum_of(element).prop_map(Some), *length as usize);
            items.prop_map(Datum::Array).boxed()
        }
        TypeKind::Array(element) => {
            prop::collection::vec(prop::option::of(datum_of(element)), 0..40).prop_map(Datum::Array).boxed()
        }
        TypeKind::Multiset(element) => entries(element, &TypeKind::Int.not_null()),
        TypeKind::Map(key, value) => entries(key, value),
        TypeKind::Row(fields) => {
            let members: Vec<_> = fields.iter().map(|f| prop::option::of(datum_of(&f.ty))).collect();
            members.prop_map(Datum::Row).boxed()
        }
    }
}

fn entries(key: &DataType, value: &DataType) -> BoxedStrategy<Datum> {
    let entry = (datum_of(key).prop_map(Some), prop::option::of(datum_of(value)));
    prop::collection::vec(entry, 0..5).prop_map(Datum::Map).boxed()
}

fn any_row() -> impl Strategy<Value = (Vec<DataType>, Vec<Option<Datum>>)> {
    prop::collection::vec(any_type(), 0..12).prop_flat_map(|types| {
        let fields: Vec<_> = types.iter().map(|ty| prop::option::of(datum_of(ty))).collect();
        (Just(types), fields)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_as_it_was((types, fields) in any_row()) {
        let row = encode_row(&fields, &types).unwrap();
        prop_assert_eq!(row.len() % 8, 0);
        let with_arity = prefixed(&row, types.len());
        let read = BinaryRow::from_prefixed(&with_arity).unwrap();
        prop_assert_eq!(read.bytes(), &row[..]);
        prop_assert_eq!(read.data(&types).unwrap(), fields);
        prop_assert_eq!(read.compare(&read, &types).unwrap_or(Ordering::Equal), Ordering::Equal);
    }

    #[test]
    fn damage_gives_errors_at_worst(
        (types, fields) in any_row(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut row = prefixed(&encode_row(&fields, &types).unwrap(), types.len());
        for (at, byte) in changes {
            let at = at.index(row.len());
            row[at] = byte;
        }
        for bytes in [&row[..], &row[..cut.index(row.len())]] {
            if let Ok(row) = BinaryRow::from_prefixed(bytes) {
                for (i, ty) in types.iter().enumerate() {
                    let _ = row.datum(i, ty);
                }
                let _ = row.compare(&row, &types);
            }
        }
    }
}

#[test]
fn rows_are_byte_for_byte_javas() {
    let types = [TypeKind::Int.not_null(), TypeKind::VarChar(MAX_LENGTH).nullable(), TypeKind::VarChar(9).nullable()];
    let fields = [Some(Value::Int(-2)), None, Some(Value::String("abc".into()))];
    let row = encode_values(fields, &types).unwrap();
    assert_eq!(hex(&row), "0002000000000000feffffff0000000000000000000000006162630000000083");
    // Room is kept for nulls that may be set later.
    let types = [TypeKind::Decimal { precision: 20, scale: 2 }.nullable(), TypeKind::Timestamp(6).nullable()];
    let row = encode_row(&[None, None], &types).unwrap();
    assert_eq!(row.len(), 8 + 16 + 16 + 8);
    assert_eq!((row[0], row[1], row[12], row[20]), (0, 3, 24, 40));
}

#[test]
fn the_empty_row_has_a_word() {
    let row = BinaryRow::from_prefixed(&[0; 12]).unwrap();
    assert_eq!(row.arity(), 0);
    assert!(row.is_null(0));
    assert_eq!(encode_row(&[], &[]).unwrap(), [0; 8]);
}

#[test]
fn claims_that_the_bytes_do_not_cover_are_refused() {
    for bytes in [&[][..], &[0, 0, 0], &[0; 4], &[0x7f, 0xff, 0xff, 0xff, 0, 0], &[0xff, 0xff, 0xff, 0xff, 0, 0]] {
        assert!(BinaryRow::from_prefixed(bytes).is_err(), "{bytes:?}");
    }
    let mut row = vec![0; 16];
    for slot in [u64::MAX >> 1, 16 << 32 | 1, 9 << 32 | 8, 0x88 << 56] {
        row[8..].copy_from_slice(&slot.to_le_bytes());
        let row = BinaryRow::new(&row, 1).unwrap();
        for kind in
            [TypeKind::VarChar(MAX_LENGTH), TypeKind::Decimal { precision: 38, scale: 0 }, TypeKind::Timestamp(9)]
        {
            assert!(row.value(0, &kind.nullable()).is_err(), "{slot:x}");
        }
        assert!(row.datum(0, &TypeKind::Array(Box::new(TypeKind::Int.nullable())).nullable()).is_err());
    }
}

#[test]
fn keys_compare_as_in_java() {
    let compare = |kind: TypeKind, a: Option<Value>, b: Option<Value>| {
        let types = [kind.nullable()];
        let (a, b) = (encode_values([a], &types).unwrap(), encode_values([b], &types).unwrap());
        BinaryRow::new(&a, 1).unwrap().compare(&BinaryRow::new(&b, 1).unwrap(), &types).unwrap()
    };
    let double = |v| Some(Value::Double(v));
    assert_eq!(compare(TypeKind::Double, double(-0.0), double(0.0)), Ordering::Less);
    assert_eq!(compare(TypeKind::Double, double(f64::NAN), double(f64::INFINITY)), Ordering::Greater);
    assert_eq!(compare(TypeKind::Int, None, Some(Value::Int(i32::MIN))), Ordering::Less);
    let bytes = |b: &[u8]| Some(Value::Bytes(b.to_vec()));
    assert_eq!(compare(TypeKind::VarBinary(9), bytes(&[0x80]), bytes(&[0x7f, 1])), Ordering::Greater);
    let text = |t: &str| Some(Value::String(t.to_owned()));
    assert_eq!(compare(TypeKind::VarChar(99), text("a"), text("a much longer text")), Ordering::Less);
    let far = Some(Value::Long(i64::MIN));
    assert_eq!(compare(TypeKind::Timestamp(9), far.clone(), Some(Value::Long(-1))), Ordering::Less);
    assert_eq!(compare(TypeKind::Timestamp(6), Some(Value::Long(-1)), Some(Value::Long(0))), Ordering::Less);
}
