use parquet::data_type::{
    ByteArray, ByteArrayType, DataType as ParquetType, FixedLenByteArray, FixedLenByteArrayType, Int64Type as PInt64,
};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;

use super::*;
use crate::codec::parquet::footer_testing::{Thrift, change_footer, chunk_of, column_of};
use crate::data::testing::{field, required, schema};
use crate::store::local::LocalStore;
use crate::types::PrimitiveType as P;

/// A file of one row group with one column.
fn one_column<T: ParquetType>(dir: &TempDir, column: &str, values: &[T::T]) -> String {
    let path = dir.path().join(format!("{}.parquet", uuid::Uuid::new_v4()));
    let message = Arc::new(parse_message_type(&format!("message m {{ {column} }}")).unwrap());
    let mut writer =
        SerializedFileWriter::new(std::fs::File::create(&path).unwrap(), message, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut chunk = group.next_column().unwrap().unwrap();
    let levels = column.starts_with("optional").then(|| vec![1; values.len()]);
    chunk.typed::<T>().write_batch(values, levels.as_deref(), None).unwrap();
    chunk.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    path.display().to_string()
}

fn texts(dir: &TempDir, values: &[&str]) -> String {
    let values: Vec<ByteArray> = values.iter().map(|v| ByteArray::from(*v)).collect();
    one_column::<ByteArrayType>(dir, "optional byte_array c (UTF8);", &values)
}

/// Statistics with only the deprecated ends, as in files of writers before 2017.
fn deprecate(path: &str, created_by: &str, min: &[u8], max: &[u8]) {
    change_footer(path, |footer| {
        footer.fields().remove(&7);
        footer.fields().insert(6, Thrift::bytes(created_by));
        let statistics = column_of(footer, 0, 0).field(12).fields();
        statistics.retain(|id, _| *id == 3);
        statistics.extend([(1, Thrift::bytes(max)), (2, Thrift::bytes(min))]);
    });
}

fn importer(ty: P, is_partitioned: bool, is_required: bool) -> Importer {
    let schema = Arc::new(schema(vec![if is_required { required(1, "c", ty) } else { field(1, "c", ty) }]));
    let by = PartitionField { source_id: 1, field_id: 1000, name: "c".into(), transform: Transform::Identity };
    let spec = PartitionSpec { id: 0, fields: if is_partitioned { vec![by] } else { vec![] } };
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    Importer::new(store, schema, Arc::new(spec), &BTreeMap::new(), &[], None, &[]).unwrap()
}

type Ends = Option<(Vec<u8>, Vec<u8>)>;

/// Checks the other metrics of a file, and returns its bounds.
fn bounds(ty: P, path: &str, rows: i64) -> Ends {
    let file = importer(ty, false, false).import(path).unwrap().file;
    let metrics = file.metrics.unwrap().get().unwrap().clone();
    assert_eq!(metrics.value_counts.unwrap().get(&1), Some(&rows));
    assert_eq!(metrics.null_value_counts.unwrap().get(&1), Some(&0));
    metrics.lower_bounds.unwrap().get(&1).cloned().zip(metrics.upper_bounds.unwrap().get(&1).cloned())
}

const SPARK_2: &str = "parquet-mr version 1.8.2 (build c6522788629e590a53eb79874b95f6c3ff11f16c)";

/// Bytes that were compared as signed numbers: "aé" comes before "ab", and 200 before 100.
#[test]
fn ends_in_another_order_are_no_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let path = texts(&dir, &["ab", "aé", "b", "bz"]);
    assert_eq!(bounds(P::String, &path, 4), Some(("ab".into(), "bz".into())));
    deprecate(&path, SPARK_2, "aé".as_bytes(), b"bz");
    assert_eq!(bounds(P::String, &path, 4), None);

    let decimals: Vec<FixedLenByteArray> = [100u8, 200].iter().map(|v| vec![0, *v].into()).collect();
    let column = "optional fixed_len_byte_array(2) c (DECIMAL(4,2));";
    let path = one_column::<FixedLenByteArrayType>(&dir, column, &decimals);
    let ty = P::Decimal { precision: 4, scale: 2 };
    assert_eq!(bounds(ty.clone(), &path, 2), Some((vec![100], vec![0, 200])));
    deprecate(&path, SPARK_2, &[0, 200], &[0, 100]);
    assert_eq!(bounds(ty, &path, 2), None);

    // Numbers have one order only.
    let path = one_column::<PInt64>(&dir, "optional int64 c;", &[-3, 5]);
    deprecate(&path, SPARK_2, &(-3i64).to_le_bytes(), &5i64.to_le_bytes());
    let ends = ((-3i64).to_le_bytes().to_vec(), 5i64.to_le_bytes().to_vec());
    assert_eq!(bounds(P::Long, &path, 2), Some(ends));
}

/// Such writers cut the maximum without rounding it up.
#[test]
fn ends_without_an_order_are_no_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let path = texts(&dir, &["abcdef", "abcdez"]);
    change_footer(&path, |footer| {
        footer.fields().remove(&7);
        column_of(footer, 0, 0).field(12).fields().extend([(5, Thrift::bytes("abc")), (6, Thrift::bytes("abc"))]);
    });
    assert_eq!(bounds(P::String, &path, 2), None);
    let e = importer(P::String, true, false).import(&path).unwrap_err();
    assert!(e.to_string().contains("do not show which partition"), "{e}");
}

#[test]
fn equal_ends_are_believed_of_writers_that_kept_their_values() {
    let dir = tempfile::tempdir().unwrap();
    let partition = |created_by: &str| {
        let path = texts(&dir, &["é", "é"]);
        deprecate(&path, created_by, "é".as_bytes(), "é".as_bytes());
        let file = importer(P::String, true, false).import(&path)?.file;
        Ok::<_, Error>(file.partition.values[0].value.clone())
    };
    assert_eq!(partition(SPARK_2).unwrap(), Some(Value::String("é".into())));
    // PARQUET-251: ends could be those of later values.
    for created_by in ["parquet-mr version 1.7.0", "parquet-mr", ""] {
        assert_eq!(partition(created_by).unwrap_err().kind(), ErrorKind::InvalidInput, "{created_by}");
    }
}

#[test]
fn damage_is_told_from_nulls() {
    let dir = tempfile::tempdir().unwrap();
    let path = one_column::<PInt64>(&dir, "optional int64 c;", &[7; 1000]);
    let forget_nulls = |footer: &mut Thrift| drop(column_of(footer, 0, 0).fields().remove(&12));
    change_footer(&path, forget_nulls);
    importer(P::Long, false, true).import(&path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4..40].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let e = importer(P::Long, false, true).import(&path).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CorruptTable, "{e}");

    let path = dir.path().join("nulls.parquet");
    let message = Arc::new(parse_message_type("message m { optional int64 c; }").unwrap());
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, message, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut chunk = group.next_column().unwrap().unwrap();
    chunk.typed::<PInt64>().write_batch(&[7], Some(&[1, 0]), None).unwrap();
    chunk.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let path = path.display().to_string();
    change_footer(&path, forget_nulls);
    let e = importer(P::Long, false, true).import(&path).unwrap_err();
    assert!(e.to_string().contains("a required column of the table is null"), "{e}");
}

#[test]
fn files_with_encrypted_columns_are_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    let path = one_column::<PInt64>(&dir, "optional int64 c;", &[7]);
    change_footer(&path, |footer| {
        chunk_of(footer, 0, 0).fields().insert(9, Thrift::bytes("encrypted"));
    });
    let e = importer(P::Long, false, false).import(&path).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
}
