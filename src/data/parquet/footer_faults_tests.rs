//! Files with the faults that known writers had. Values are those that were written.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow::compute::concat_batches;
use arrow::datatypes::Int32Type;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};
use tempfile::TempDir;

use crate::codec::parquet::footer_testing::{Thrift, change_file, change_footer, chunk_of, column_of};
use crate::codec::parquet::thrift::page_header;
use crate::data::arrow::schema::to_arrow;
use crate::data::testing::{
    context, field, leaf, list, projecting, read, read_rows, required, rows, schema, task, write_batch,
};
use crate::error::ErrorKind;
use crate::expr::{BoundPredicate, Op};
use crate::types::{PrimitiveType as P, Schema, Value};

/// A flat column of numbers, one of text, and a list.
fn table() -> (Schema, Vec<ArrayRef>) {
    let s = schema(vec![
        required(1, "n", P::Long),
        field(2, "t", P::String),
        field(3, "l", list(field(4, "element", P::Int))),
    ]);
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), Some(2)]),
        None,
        Some(vec![]),
        Some(vec![Some(3)]),
        Some(vec![None, Some(4)]),
    ]));
    let lists = renamed(&lists, &s);
    let numbers = Arc::new(Int64Array::from_iter_values(1..=5));
    (s, vec![numbers, Arc::new(StringArray::from(vec![Some("a"), Some("a"), None, Some("b"), Some("a")])), lists])
}

const ROWS: [&str; 5] = ["1|a|[1, 2]", "2|a|-", "3|-|[]", "4|b|[3]", "5|a|[-, 4]"];

/// The lists with the fields of the table.
fn renamed(lists: &ArrayRef, s: &Schema) -> ArrayRef {
    arrow::compute::cast(lists, to_arrow(s).unwrap().field(2).data_type()).unwrap()
}

/// Settings without a page index, as old writers had none.
fn old() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_compression(Compression::SNAPPY)
}

fn written(dir: &TempDir, properties: WriterPropertiesBuilder) -> (Schema, String) {
    repeated(dir, properties, 1)
}

/// The rows this many times.
fn repeated(dir: &TempDir, properties: WriterPropertiesBuilder, times: usize) -> (Schema, String) {
    let (s, columns) = table();
    let batch = RecordBatch::try_new(to_arrow(&s).unwrap(), columns).unwrap();
    let batch = concat_batches(&batch.schema(), &vec![batch.clone(); times]).unwrap();
    let path = write_batch(dir, &batch, properties.build());
    assert_eq!(read_rows(&s, &path, BoundPredicate::True), ROWS.repeat(times));
    (s, path)
}

/// Marks all pages v2 as not compressed.
fn hide_compression(path: &str) {
    change_file(path, |_, bytes| {
        let mut at = 4;
        while at < bytes.len() {
            let header = page_header(&bytes[at..]).unwrap();
            let mut changed = Thrift::read(&bytes[at..]);
            assert!(header.plain_at.is_none());
            changed.field(8).fields().insert(7, Thrift::Boolean(false));
            let changed = changed.write();
            assert_eq!(changed.len(), header.length);
            bytes[at..at + header.length].copy_from_slice(&changed);
            at += header.length + header.compressed as usize;
        }
    });
}

fn set_writer(footer: &mut Thrift, created_by: &str) {
    footer.fields().insert(6, Thrift::bytes(created_by));
}

/// ARROW-10353: Arrow C++ before its version 3.
#[test]
fn pages_that_hide_their_compression_are_decompressed() {
    let dir = tempfile::tempdir().unwrap();
    // There are enough rows for compression to pay. Otherwise the writer does not compress.
    let properties = old().set_writer_version(WriterVersion::PARQUET_2_0).set_dictionary_enabled(false);
    let (s, path) = repeated(&dir, properties, 500);
    hide_compression(&path);
    // Only the lengths of pages show that values are wrong.
    let e = read(&context(&s), &task(&path, BoundPredicate::True)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CorruptTable, "{e}");
    change_footer(&path, |footer| set_writer(footer, "parquet-cpp version 1.5.1-SNAPSHOT"));
    assert_eq!(read_rows(&s, &path, BoundPredicate::True), ROWS.repeat(500));
    // The decoder of flat columns reads the file without the list.
    let flat = schema(s.fields[..2].to_vec());
    let found = rows(&read(&projecting(&s, &flat), &task(&path, BoundPredicate::True)).unwrap());
    assert_eq!(found, ["1|a", "2|a", "3|-", "4|b", "5|a"].repeat(500));
}

#[test]
fn no_dictionary_is_at_zero() {
    let dir = tempfile::tempdir().unwrap();
    let (s, path) = written(&dir, old().set_dictionary_enabled(false));
    change_footer(&path, |footer| {
        (0..3).for_each(|leaf| drop(column_of(footer, 0, leaf).fields().insert(11, Thrift::Number(6, 0))));
    });
    assert_eq!(read_rows(&s, &path, BoundPredicate::True), ROWS);
}

/// PARQUET-816: parquet-mr before 1.2.9.
#[test]
fn chunks_may_be_longer_by_the_header_of_their_dictionary() {
    let dir = tempfile::tempdir().unwrap();
    let (s, path) = written(&dir, old());
    change_file(&path, |footer, bytes| {
        for leaf in 0..3 {
            let column = column_of(footer, 0, leaf).fields();
            let Thrift::Number(_, start) = column[&11] else { panic!() };
            let Some(Thrift::Number(_, size)) = column.get_mut(&7) else { panic!() };
            *size -= page_header(&bytes[start as usize..]).unwrap().length as i64;
        }
    });
    let e = read(&context(&s), &task(&path, BoundPredicate::True)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CorruptTable, "{e}");
    for created_by in ["parquet-mr", "parquet-mr version 1.2.8 (build x)"] {
        change_footer(&path, |footer| set_writer(footer, created_by));
        assert_eq!(read_rows(&s, &path, BoundPredicate::True), ROWS, "{created_by}");
    }
}

/// The first versions of parquet-rs left the number of rows out.
#[test]
fn row_groups_say_how_many_rows_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let (s, path) = written(&dir, old());
    change_footer(&path, |footer| *footer.field(3) = Thrift::Number(6, 0));
    assert_eq!(read_rows(&s, &path, BoundPredicate::True), ROWS);
}

#[test]
fn only_encrypted_columns_can_not_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let (s, path) = written(&dir, old());
    change_footer(&path, |footer| {
        chunk_of(footer, 0, 1).fields().insert(9, Thrift::bytes("encrypted"));
    });
    let others = schema(vec![s.fields[0].clone(), s.fields[2].clone()]);
    let found = rows(&read(&projecting(&s, &others), &task(&path, BoundPredicate::True)).unwrap());
    assert_eq!(found, ["1|[1, 2]", "2|-", "3|[]", "4|[3]", "5|[-, 4]"]);
    for projection in [&s, &schema(s.fields[1..2].to_vec())] {
        let e = read(&projecting(&s, projection), &task(&path, BoundPredicate::True)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
        assert!(e.to_string().contains("column: t"), "{e}");
    }
}

/// A required and an optional column of numbers from 0 in pages of 10 rows.
fn indexed(dir: &TempDir) -> (Schema, String) {
    let s = schema(vec![required(1, "r", P::Int), field(2, "o", P::Int)]);
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..40));
    let batch = RecordBatch::try_new(to_arrow(&s).unwrap(), vec![numbers.clone(), numbers]).unwrap();
    let properties = WriterProperties::builder().set_data_page_row_count_limit(10).set_write_batch_size(5);
    (s, write_batch(dir, &batch, properties.build()))
}

/// Changes the column index of both columns. The new copy lies after the old one.
fn change_index(path: &str, change: impl Fn(&mut Thrift)) {
    change_file(path, |footer, bytes| {
        for leaf in 0..2 {
            let Thrift::Number(_, start) = chunk_of(footer, 0, leaf).fields()[&6] else { panic!() };
            let mut index = Thrift::read(&bytes[start as usize..]);
            assert_eq!(index.field(1).items().len(), 4);
            change(&mut index);
            let index = index.write();
            let chunk = chunk_of(footer, 0, leaf).fields();
            chunk.insert(6, Thrift::Number(6, bytes.len() as i64));
            chunk.insert(7, Thrift::Number(5, index.len() as i64));
            bytes.extend(index);
        }
    });
}

/// GH-3457 of parquet-java: all pages are marked as null if the writer had no statistics.
#[test]
fn an_index_that_contradicts_itself_is_not_used() {
    let numbers = |values: [i64; 4]| Thrift::List(6, values.map(|v| Thrift::Number(6, v)).to_vec());
    let all = |value: bool| Thrift::List(1, vec![Thrift::Boolean(value); 4]);
    let set = |nulls: bool, counts: Option<[i64; 4]>| {
        move |index: &mut Thrift| {
            index.fields().insert(1, all(nulls));
            match counts {
                Some(counts) => index.fields().insert(5, numbers(counts)),
                None => index.fields().remove(&5),
            };
        }
    };
    // No page of 10 rows can have these counts. Without counts, only the required column shows it.
    for (nulls, counts, columns) in [
        (true, Some([-1; 4]), 1..=2),
        (true, Some([0; 4]), 1..=2),
        (true, Some([10, 10, 10, 9]), 1..=2),
        (true, None, 1..=1),
        (false, Some([-1; 4]), 1..=2),
        (false, Some([0, 11, 0, 0]), 1..=2),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (s, path) = indexed(&dir);
        // Statistics of the row group would not show it.
        change_footer(&path, |footer| {
            (0..2).for_each(|leaf| drop(column_of(footer, 0, leaf).fields().remove(&12)));
        });
        change_index(&path, set(nulls, counts));
        for column in columns {
            for (op, wanted) in [(Op::Eq, 1), (Op::LtEq, 18), (Op::NotEq, 39)] {
                let found = read_rows(&s, &path, leaf(&s, column, op, vec![Value::Int(17)]));
                assert_eq!(found.len(), wanted, "{nulls} {counts:?} {column} {op:?}");
            }
            assert_eq!(read_rows(&s, &path, leaf(&s, column, Op::IsNull, vec![])).len(), 0);
        }
    }
}

/// The same in the statistics of a row group: nulls everywhere, and values.
#[test]
fn statistics_that_contradict_themselves_are_not_used() {
    for (column, nulls) in [(1, 40), (1, 1), (2, 40), (2, 41), (1, -1), (2, -1)] {
        let dir = tempfile::tempdir().unwrap();
        let (s, path) = indexed(&dir);
        change_footer(&path, |footer| {
            let statistics = column_of(footer, 0, column as usize - 1).field(12).fields();
            statistics.insert(3, Thrift::Number(6, nulls));
            (0..2).for_each(|leaf| drop(chunk_of(footer, 0, leaf).fields().remove(&6)));
        });
        let found = read_rows(&s, &path, leaf(&s, column, Op::Eq, vec![Value::Int(17)]));
        assert_eq!(found, ["17|17"], "{column} {nulls}");
    }
}
