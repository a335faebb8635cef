//! Long strings that dictionaries make short, in files that do not record the lengths.

use std::io::Write;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, StringArray};
use arrow::datatypes::{Int32Type, Int64Type};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnChunkMetaDataBuilder, ParquetMetaDataBuilder, ParquetMetaDataReader,
    ParquetMetaDataWriter,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use tempfile::TempDir;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::deletes::cache::DeleteCache;
use crate::data::parquet::plan::DecodePlan;
use crate::data::read::constants::Constants;
use crate::data::read::file_columns::FileColumns;
use crate::data::read::filter_columns::FilterColumns;
use crate::data::read::task::read_task;
use crate::data::testing::{context, field, leaf, schema, task, write_batch};
use crate::expr::{BoundPredicate, Op};
use crate::format::task::ReadContext;
use crate::store::Store;
use crate::types::metadata_columns::POS;
use crate::types::{PrimitiveType as P, Schema, Value};

const MIB: usize = 1 << 20;

/// Writes the file's footer again, without the sizes of its strings.
fn forget_sizes(path: &str) {
    rewrite_footer(path, |chunk| chunk.set_unencoded_byte_array_data_bytes(None), None);
}

fn rewrite_footer(
    path: &str,
    change: impl Fn(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder,
    rows: Option<i64>,
) {
    let footer = ParquetMetaDataReader::new().parse_and_finish(&std::fs::File::open(path).unwrap()).unwrap();
    let mut builder = ParquetMetaDataBuilder::new(footer.file_metadata().clone());
    for group in footer.row_groups() {
        let forget = |chunk: &ColumnChunkMetaData| {
            let chunk = change(chunk.clone().into_builder());
            chunk.set_column_index_offset(None).set_offset_index_offset(None).build().unwrap()
        };
        let chunks = group.columns().iter().map(forget).collect();
        let group_rows = rows.unwrap_or(group.num_rows());
        let group = group.clone().into_builder().set_num_rows(group_rows).set_column_metadata(chunks);
        builder = builder.add_row_group(group.build().unwrap());
    }
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    let mut footer = Vec::new();
    ParquetMetaDataWriter::new(&mut footer, &builder.build()).finish().unwrap();
    file.write_all(&footer).unwrap();
}

/// A file with the row's number and its text.
fn long_texts(dir: &TempDir, texts: &[&str]) -> (Schema, String) {
    let s = schema(vec![field(1, "i", P::Int), field(2, "t", P::String)]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(0..texts.len() as i32)),
        Arc::new(StringArray::from_iter_values(texts)),
    ];
    let batch = RecordBatch::try_new(to_arrow(&s).unwrap(), columns).unwrap();
    let properties = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::None)
        .set_compression(Compression::SNAPPY)
        .set_dictionary_page_size_limit(64 * MIB);
    let path = write_batch(dir, &batch, properties.build());
    forget_sizes(&path);
    (s, path)
}

/// Reads number, text and position of the rows that `filter` keeps. Returns the rows of each batch and the numbers.
fn read_back(s: &Schema, path: &str, texts: &[&str], filter: BoundPredicate) -> (Vec<usize>, Vec<i32>) {
    let mut fields = s.fields.to_vec();
    fields.push(crate::types::Field::new(POS, "_pos", true, P::Long));
    let projection = Arc::new(schema(fields));
    let context = Arc::new(ReadContext { projection, batch_rows: 1 << 20, ..context(s).as_ref().clone() });
    let store: Arc<dyn Store> = Arc::new(crate::store::local::LocalStore);
    let (mut sizes, mut numbers) = (Vec::new(), Vec::new());
    for batch in read_task(&store, &context, &task(path, filter), &DeleteCache::default()).unwrap() {
        let batch = batch.unwrap();
        let text = batch.column(1).as_string::<i32>();
        let places = batch.column(2).as_primitive::<Int64Type>();
        for (row, number) in batch.column(0).as_primitive::<Int32Type>().values().iter().enumerate() {
            assert_eq!(places.value(row), i64::from(*number));
            let expected = texts[*number as usize];
            assert!(text.value(row).len() == expected.len() && text.value(row).as_bytes()[0] == expected.as_bytes()[0]);
            numbers.push(*number);
        }
        sizes.push(batch.num_rows());
    }
    (sizes, numbers)
}

#[test]
fn a_dictionary_of_long_strings_makes_small_batches() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = ("a".repeat(4 * MIB), "b".repeat(4 * MIB));
    let texts: Vec<&str> = (0..68).map(|i| if i % 3 == 0 { b.as_str() } else { a.as_str() }).collect();
    let (s, path) = long_texts(&dir, &texts);
    let (sizes, numbers) = read_back(&s, &path, &texts, BoundPredicate::True);
    assert_eq!(numbers, (0..68).collect::<Vec<_>>());
    assert!(sizes.iter().all(|rows| rows * 4 * MIB <= BATCH_BYTES as usize), "{sizes:?}");
}

/// A batch may overflow at any moment: the next rows are those that were not given yet.
#[test]
fn decoding_anew_gives_every_row_once() {
    let dir = tempfile::tempdir().unwrap();
    let texts: Vec<String> = (0..100).map(|i| i.to_string()).collect();
    let (s, path) = long_texts(&dir, &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let store: Arc<dyn Store> = Arc::new(crate::store::local::LocalStore);
    for (filter, first) in [(BoundPredicate::True, 0), (leaf(&s, 1, Op::GtEq, vec![Value::Int(30)]), 30)] {
        for turns in [vec![9, 4], vec![1], vec![50, 2, 1], vec![]] {
            let file = ParquetFile::open(&store, &path).unwrap();
            let columns = FileColumns::new(file.metadata.schema());
            let constants = Constants::of(&task(&path, BoundPredicate::True).data_file);
            let asked = FilterColumns::plan(&filter.field_ids(), &s, &columns, &constants).unwrap();
            let placed = asked.place(&columns, &[0].into());
            let test = Arc::new(RowTest::new(Arc::new(filter.clone()), placed));
            let mask = |leaf| ProjectionMask::leaves(file.parquet_schema(), [leaf]);
            let (columns, test) = (mask(1), (first > 0).then(|| (test, mask(0))));
            let leaves = BTreeSet::from([0, 1]);
            let plan = DecodePlan { metadata: file.metadata.clone(), groups: vec![0], selection: None, leaves };
            let decoding = Decoding {
                file,
                plan,
                columns,
                test,
                first: BTreeSet::new(),
                needs_positions: true,
                tells_positions: true,
            };
            let mut batches = ParquetBatches::new(decoding, 20).unwrap();
            let mut seen = Vec::new();
            let mut turns = turns.into_iter();
            while let Some((batch, positions)) = batches.next_batch().unwrap() {
                let column = batch.column(0).as_string::<i32>();
                assert_eq!(column.len(), positions.len());
                for (text, position) in column.iter().zip(positions.iter()) {
                    assert_eq!(text, Some(position.to_string().as_str()));
                    seen.push(position);
                }
                if let Some(rows) = turns.next() {
                    batches.restart(rows).unwrap();
                }
            }
            assert_eq!(seen, (first..100).collect::<Vec<_>>());
        }
    }
}

/// Only the footer says how many rows there are if no column is read.
#[test]
fn claims_of_endless_rows_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (s, path) = long_texts(&dir, &["a", "b"]);
    rewrite_footer(&path, |chunk| chunk.set_num_values(1 << 40), Some(1 << 40));
    let store: Arc<dyn Store> = Arc::new(crate::store::local::LocalStore);
    for columns in [vec![], s.fields.to_vec()] {
        let projection = Arc::new(schema(columns));
        let context = Arc::new(ReadContext { projection, ..context(&s).as_ref().clone() });
        let read = read_task(&store, &context, &task(&path, BoundPredicate::True), &DeleteCache::default());
        let e = read.and_then(|batches| batches.collect::<Result<Vec<_>>>()).unwrap_err();
        assert_eq!(e.kind(), crate::error::ErrorKind::CorruptTable, "{e}");
    }
}

#[test]
fn an_overflow_is_known_by_its_text_wherever_it_is() {
    let inner = ParquetError::ArrowError("Parquet error: index overflow decoding byte array".into());
    assert!(is_overflow(&undecodable(inner)));
    let panic = guard::<()>(|| panic!("index overflow decoding byte array: TryFromIntError(())"));
    assert!(is_overflow(&panic.unwrap_err()));
    assert!(!is_overflow(&undecodable(ParquetError::EOF("eof".into()))));
}
