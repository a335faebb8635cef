use parquet::variant::Variant;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::encode::{put, wrap_array, wrap_object};
use super::*;
use crate::error::ErrorKind;

/// No names.
const EMPTY: [u8; 3] = [1, 0, 0];

pub(crate) fn text_of(metadata: &[u8], value: &[u8]) -> crate::error::Result<String> {
    json::to_text(&Metadata::parse(metadata)?, value)
}

/// A dictionary of these names with one-byte offsets.
fn dictionary(names: &[&str]) -> Vec<u8> {
    let mut out = vec![1, names.len() as u8, 0];
    let mut end = 0;
    for name in names {
        end += name.len() as u8;
        out.push(end);
    }
    out.extend(names.concat().bytes());
    out
}

/// Encodes JSON with our encoder; numbers are 64-bit.
fn encode(value: &Json, names: &[&str], out: &mut Vec<u8>) {
    let start = out.len();
    match value {
        Json::Null => put(&VariantValue::Null, out).unwrap(),
        Json::Bool(b) => put(&VariantValue::Boolean(*b), out).unwrap(),
        Json::Number(n) => match n.as_i64() {
            Some(n) => put(&VariantValue::Int64(n), out).unwrap(),
            None => put(&VariantValue::Double(n.as_f64().unwrap()), out).unwrap(),
        },
        Json::String(s) => put(&VariantValue::String(s), out).unwrap(),
        Json::Array(elements) => {
            let mut starts = Vec::new();
            for element in elements {
                starts.push(out.len());
                encode(element, names, out);
            }
            wrap_array(&starts, start, out).unwrap();
        }
        Json::Object(object) => {
            let mut fields = Vec::new();
            for (name, value) in object {
                let id = names.iter().position(|n| n == name).unwrap();
                fields.push((name.as_str(), id as u32, out.len()));
                encode(value, names, out);
            }
            wrap_object(&mut fields, start, out).unwrap();
        }
    }
}

fn variant(value: &Json, names: &[&str]) -> (Vec<u8>, Vec<u8>) {
    let mut out = Vec::new();
    encode(value, names, &mut out);
    (dictionary(names), out)
}

#[test]
fn every_type_has_its_text() {
    let day = 19_000i64;
    let micros = (day * 86_400_000_000 + 3_723_000_004).to_le_bytes();
    let nanos = (day * 86_400_000_000_000 + 5).to_le_bytes();
    let cases: Vec<(u8, Vec<u8>, &str)> = vec![
        (0, vec![], "null"),
        (1, vec![], "true"),
        (2, vec![], "false"),
        (3, vec![0xff], "-1"),
        (4, vec![0xd4, 0xfe], "-300"),
        (5, 70_000i32.to_le_bytes().into(), "70000"),
        (6, 9_007_199_254_740_993i64.to_le_bytes().into(), "9007199254740993"),
        (7, 1.5f64.to_le_bytes().into(), "1.5"),
        (7, f64::NAN.to_le_bytes().into(), "\"NaN\""),
        (7, f64::NEG_INFINITY.to_le_bytes().into(), "\"-Infinity\""),
        (8, [&[2][..], &12_345i32.to_le_bytes()].concat(), "123.45"),
        (9, [&[0][..], &(-1i64).to_le_bytes()].concat(), "-1"),
        (10, [&[38][..], &1i128.to_le_bytes()].concat(), "0.00000000000000000000000000000000000001"),
        (11, 18_321i32.to_le_bytes().into(), "\"2020-02-29\""),
        (12, micros.into(), "\"2022-01-08T01:02:03.000004+00:00\""),
        (13, micros.into(), "\"2022-01-08T01:02:03.000004\""),
        (14, 0.1f32.to_le_bytes().into(), "0.1"),
        (15, [&[4, 0, 0, 0][..], &[0, 255, 1, 2]].concat(), "\"AP8BAg==\""),
        (16, [&[2, 0, 0, 0][..], "\"ü".as_bytes()].concat()[..6].into(), "damaged"),
        (16, [&[3, 0, 0, 0][..], "\"ü".as_bytes()].concat(), "\"\\\"ü\""),
        (17, 43_200_000_000i64.to_le_bytes().into(), "\"12:00:00\""),
        (18, nanos.into(), "\"2022-01-08T00:00:00.000000005+00:00\""),
        (19, nanos.into(), "\"2022-01-08T00:00:00.000000005\""),
        (20, (0x0011_2233_4455_6677_8899_aabb_ccdd_eeffu128).to_be_bytes().into(), {
            "\"00112233-4455-6677-8899-aabbccddeeff\""
        }),
    ];
    for (kind, bytes, expected) in cases {
        let value = [vec![kind << 2], bytes].concat();
        match text_of(&EMPTY, &value) {
            Ok(text) => assert_eq!(text, expected),
            Err(e) => assert!(expected == "damaged" && e.kind() == ErrorKind::CorruptTable, "{kind}: {e}"),
        }
        if let (Ok((parsed, size)), true) = (VariantValue::parse(&value), expected != "damaged") {
            let mut encoded = Vec::new();
            put(&parsed, &mut encoded).unwrap();
            let short = matches!(parsed, VariantValue::String(_));
            assert!(short || encoded == value, "{kind}");
            assert_eq!(size, value.len());
            for cut in 0..value.len() {
                assert_eq!(VariantValue::parse(&value[..cut]).unwrap_err().kind(), ErrorKind::CorruptTable);
            }
        }
    }
    assert_eq!(text_of(&EMPTY, &[21 << 2]).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(Metadata::parse(&[2, 0, 0]).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(text_of(&EMPTY, &[8 << 2, 39, 0, 0, 0, 0]).unwrap_err().kind(), ErrorKind::CorruptTable);
}

#[test]
fn what_contradicts_itself_is_refused() {
    let refused = |metadata: &[u8], value: &[u8]| {
        let e = text_of(metadata, value).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CorruptTable);
        e.to_string()
    };
    let a = dictionary(&["a"]);
    assert_eq!(text_of(&a, &[0x02, 1, 0, 0, 1, 0]).unwrap(), r#"{"a":null}"#);
    assert!(refused(&a, &[0x02, 1, 1, 0, 1, 0]).contains("dictionary"));
    assert!(refused(&a, &[0x02, 1, 0, 1, 1, 0]).contains("cut off"));
    assert!(refused(&a, &[0x02, 2, 0, 0, 0, 1, 2, 0, 0]).contains("twice"));
    let same = dictionary(&["a", "a"]);
    assert!(refused(&same, &[0x02, 2, 1, 0, 0, 1, 2, 0, 0]).contains("twice"));
    // Names may be out of order. So may values, compared with the names.
    let ab = dictionary(&["a", "b"]);
    assert_eq!(text_of(&ab, &[0x02, 2, 1, 0, 1, 0, 2, 8, 4]).unwrap(), r#"{"b":true,"a":false}"#);
    assert!(refused(&[1, 1, 1, 0, b'a'], &[0]).contains("overlap"));
    assert!(refused(&[1, 1, 0, 1, 0xc3], &[0]).contains("UTF-8"));
}

#[test]
fn few_bytes_stay_few_values() {
    // An array of 200 elements. Each of them is the same array of 200 elements, and so on.
    let mut value = vec![0u8];
    for _ in 0..8 {
        let mut outer = vec![0b0000_0111, 200];
        outer.extend(std::iter::repeat_n([0u8, 0], 200).flatten());
        outer.extend((value.len() as u16).to_le_bytes());
        outer.extend(&value);
        value = outer;
    }
    assert!(text_of(&EMPTY, &value).unwrap_err().to_string().contains("share bytes"));
    let mut deep = vec![0u8];
    for _ in 0..MAX_DEPTH - 1 {
        wrap_array(&[0], 0, &mut deep).unwrap();
    }
    assert!(text_of(&EMPTY, &deep).unwrap().ends_with("]]]"));
    wrap_array(&[0], 0, &mut deep).unwrap();
    assert!(text_of(&EMPTY, &deep).unwrap_err().to_string().contains("too deep"));
    // A count of 2^32 - 1 without the bytes for it.
    assert_eq!(text_of(&EMPTY, &[0b0001_0111, 255, 255, 255, 255, 0]).unwrap_err().kind(), ErrorKind::CorruptTable);
    assert_eq!(Metadata::parse(&[0xc1, 255, 255, 255, 255, 0]).unwrap_err().kind(), ErrorKind::CorruptTable);
}

#[test]
fn damaged_bytes_give_an_error_or_a_value() {
    let sample = json!({"a": [1, 2.5, null, "x".repeat(80)], "bc": {"a": true, "d": []}, "d": "short"});
    let (metadata, value) = variant(&sample, &["a", "bc", "d"]);
    assert_eq!(text_of(&metadata, &value).unwrap(), sample.to_string());
    for cut in 0..value.len() {
        assert!(text_of(&metadata, &value[..cut]).is_err());
    }
    for cut in 0..metadata.len() {
        assert!(text_of(&metadata[..cut], &value).is_err());
    }
    let try_it = |metadata: &[u8], value: &[u8]| match text_of(metadata, value) {
        Ok(text) => drop(serde_json::from_str::<Json>(&text).unwrap()),
        Err(e) => assert!(matches!(e.kind(), ErrorKind::CorruptTable | ErrorKind::Unsupported), "{e}"),
    };
    for (at, bit) in (0..value.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut damaged = value.clone();
        damaged[at] ^= 1 << bit;
        try_it(&metadata, &damaged);
    }
    for (at, bit) in (0..metadata.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut damaged = metadata.clone();
        damaged[at] ^= 1 << bit;
        try_it(&damaged, &value);
    }
}

const NAMES: [&str; 6] = ["A", "a", "b", "long name", "ü", "zz"];

pub(crate) fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-1e9..1e9f64).prop_map(|f| Json::from(f + 0.5)),
        "[a-zü\"]{0,70}".prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 400, 300, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..300).prop_map(Json::from),
            prop::collection::btree_map(prop::sample::select(&NAMES[..]), inner, 0..6)
                .prop_map(|m| Json::Object(m.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_encoded_is_what_the_oracle_reads(value in any_json()) {
        let (metadata, bytes) = variant(&value, &NAMES);
        prop_assert_eq!(check(&Metadata::parse(&metadata).unwrap(), &bytes).unwrap(), bytes.len());
        prop_assert_eq!(&serde_json::from_str::<Json>(&text_of(&metadata, &bytes).unwrap()).unwrap(), &value);
        prop_assert!(Variant::try_new(&metadata, &bytes).is_ok());
    }
}
