use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;
use crate::paimon::spec::binary_row::Datum;
use crate::paimon::spec::testing::shown;
use crate::types::value::{hex, unhex};

/// Keys of tables that Java put into buckets: values, binary row, hash, bucket.
fn tables() -> Vec<(TableSchema, Vec<Json>)> {
    let path = crate::paimon::spec::testing::table("buckets.json");
    let json: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let table = |t: &Json| {
        let schema = TableSchema::from_json(t["schema"].as_object().unwrap().clone()).unwrap();
        (schema, t["keys"].as_array().unwrap().clone())
    };
    json.as_array().unwrap().iter().map(table).collect()
}

#[test]
fn keys_hash_into_the_buckets_that_java_gave_them() {
    let mut functions = Vec::new();
    for (schema, keys) in tables() {
        let bucketing = Bucketing::new(&schema).unwrap();
        let buckets = schema.options().bucket().unwrap();
        functions.push(bucketing.function);
        for key in keys {
            let bytes = unhex(key[1].as_str().unwrap()).unwrap();
            let types = bucketing.types();
            let row = BinaryRow::new(&bytes, types.len()).unwrap();
            let data = row.data(types).unwrap();
            let values: Vec<Json> = data.iter().zip(types).map(|(d, ty)| shown(d.as_ref(), ty)).collect();
            assert_eq!(Json::from(values), key[0]);
            let values: Vec<Option<Value>> = data
                .into_iter()
                .map(|d| match d {
                    Some(Datum::Value(v)) => Some(v),
                    _ => None,
                })
                .collect();
            let row = encode_values(values.clone(), types).unwrap();
            assert_eq!(hex(&row), key[1].as_str().unwrap(), "{key}");
            assert_eq!(i64::from(row_hash(&row)), key[2].as_i64().unwrap(), "{key}");
            assert_eq!(i64::from(bucketing.bucket(&values, buckets).unwrap()), key[3].as_i64().unwrap(), "{key}");
        }
    }
    for function in [BucketFunction::Default, BucketFunction::Mod, BucketFunction::Hive] {
        assert!(functions.contains(&function));
    }
}

#[test]
fn hive_hashes_decimals_as_java_hashes_them_without_trailing_zeros() {
    // BigDecimal("1.5").hashCode(), of "-1.5", "7", "123456789012345678901234567890.12".
    assert_eq!(hash_decimal(1500, 3), 466);
    assert_eq!(hash_decimal(-15, 1), -464);
    assert_eq!(hash_decimal(700, 2), 217);
    assert_eq!(hash_decimal(0, 2), 0);
}

#[test]
fn what_can_not_be_put_into_buckets_is_refused() {
    let (schema, _) =
        tables().into_iter().find(|(s, _)| s.options().get("bucket-function.type") == Some("mod")).unwrap();
    let bucketing = Bucketing::new(&schema).unwrap();
    assert!(bucketing.bucket(&[Some(Value::String("x".into()))], 4).is_err());
    assert!(bucketing.bucket(&[], 4).is_err());
    assert!(bucketing.bucket(&[Some(Value::Int(1))], 0).is_err());
}

proptest! {
    #[test]
    fn the_hash_is_that_of_another_murmur3(row in prop::collection::vec(any::<u8>(), 0..64)) {
        let oracle = murmur3::murmur3_32(&mut &row[..], SEED).unwrap();
        prop_assert_eq!(row_hash(&row), oracle as i32);
    }
}
