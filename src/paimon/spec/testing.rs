//! Helpers of several tests of this tower: tables that Java wrote, and values as in the expected results.

use serde_json::Value as Json;

use super::binary_row::{BinaryRow, Datum};
use super::data_type::{DataType, TypeKind};
use super::schema::TableSchema;
use crate::codec::avro::{AvroCodec, Budget, Container, ContainerWriter, Cursor, Inflater, Node, OpenFile, Skip};
use crate::types::{Value, decimal, temporal, value};

/// The folder of a table that Java wrote.
pub(crate) fn table(name: &str) -> String {
    format!("{}/tests/data/paimon/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Java's result for it.
pub(crate) fn expected(name: &str) -> Json {
    serde_json::from_slice(&std::fs::read(format!("{}/expected.json", table(name))).unwrap()).unwrap()
}

/// A manifest as Java Paimon wrote it up to 0.8: each record is in a union with null.
pub(crate) fn in_unions(bytes: &[u8]) -> Vec<u8> {
    let file = OpenFile::parse(bytes).unwrap();
    let schema = file.head().unwrap().schema_json().unwrap().to_owned();
    let skip = Skip::of(&Node::parse(&schema).unwrap(), &mut Budget::default()).unwrap();
    let mut writer = ContainerWriter::new(&format!(r#"["null",{schema}]"#), &[], AvroCodec::Null);
    for (i, block) in file.blocks().iter().enumerate() {
        let mut inflater = Inflater::default();
        let mut rest = file.block(i, &mut inflater).unwrap();
        for _ in 0..block.count {
            let after = skip.run(Cursor::new(rest)).unwrap().rest();
            let record = &rest[..rest.len() - after.len()];
            writer.record(|out| {
                out.push(2);
                out.extend_from_slice(record);
            });
            rest = after;
        }
    }
    writer.finish().unwrap()
}

/// An empty file of the same schema, apart from a record that is null.
pub(crate) fn with_null_record(bytes: &[u8]) -> Vec<u8> {
    let schema = Container::head(bytes).unwrap().schema_json().unwrap().to_owned();
    let mut writer = ContainerWriter::new(&format!(r#"["null",{schema}]"#), &[], AvroCodec::Null);
    writer.record(|out| out.push(0));
    writer.finish().unwrap()
}

/// A schema of it.
pub(crate) fn schema(name: &str, id: i64) -> TableSchema {
    TableSchema::parse(&std::fs::read(format!("{}/schema/schema-{id}", table(name))).unwrap()).unwrap()
}

/// A value as in expected results; floating-point numbers stay numbers.
pub(crate) fn shown(datum: Option<&Datum>, ty: &DataType) -> Json {
    let Some(datum) = datum else { return Json::Null };
    let Datum::Value(v) = datum else { panic!("{datum:?}") };
    match (v, &ty.kind) {
        (Value::Int(days), TypeKind::Date) => temporal::format_date(i64::from(*days)).into(),
        (Value::Long(units), TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p)) => {
            let per_second = if *p <= 6 { 1_000_000 } else { 1_000_000_000 };
            let nanos = units.rem_euclid(per_second) * (1_000_000_000 / per_second);
            format!("{}.{nanos:09}", temporal::format_timestamp(units.div_euclid(per_second), 1)).into()
        }
        (Value::Decimal(v), TypeKind::Decimal { scale, .. }) => decimal::format_decimal(*v, *scale).into(),
        (Value::Boolean(v), _) => (*v).into(),
        (Value::Int(v), _) => (*v).into(),
        (Value::Long(v), _) => (*v).into(),
        // The shortest text of the number, as Java prints it.
        (Value::Float(v), _) if v.is_finite() => v.to_string().parse::<f64>().unwrap().into(),
        (Value::Double(v), _) if v.is_finite() => (*v).into(),
        (Value::Float(v), _) => special(f64::from(*v)),
        (Value::Double(v), _) => special(*v),
        (Value::String(v), _) => v.as_str().into(),
        (Value::Bytes(v), _) => value::hex(v).into(),
        (v, ty) => panic!("{v:?} of {ty:?}"),
    }
}

fn special(v: f64) -> Json {
    if v.is_nan() {
        "NaN"
    } else if v > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
    .into()
}

/// The values of a row after its number of fields.
pub(crate) fn shown_row(row: &[u8], types: &[DataType]) -> Json {
    let row = BinaryRow::from_prefixed(row).unwrap();
    assert_eq!(row.arity(), types.len());
    let data = row.data(types).unwrap();
    data.iter().zip(types).map(|(datum, ty)| shown(datum.as_ref(), ty)).collect()
}
