//! The flat decoder, compared with the rows that were written and with the parquet crate's decoder.

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt32Array,
};
use arrow::compute::take_record_batch;
use parquet::arrow::arrow_reader::RowSelection;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::parquet::checks::footer::start;
use crate::data::parquet::column_chunk::Pages;
use crate::data::read::constants::Constants;
use crate::data::read::file_columns::FileColumns;
use crate::data::testing::{
    context, deleting, deletion_vector, equality_deletes, field, leaf, projecting, read, required, rows, schema, task,
    write_batch,
};
use crate::error::ErrorKind;
use crate::expr::{BoundPredicate, Op};
use crate::store::Store;
use crate::store::local::LocalStore;
use crate::types::{Field, PrimitiveType as P, Schema, Value};

/// The types of the columns after `i` and `l`.
const TYPES: [P; 13] = [
    P::Int,
    P::Long,
    P::Float,
    P::Double,
    P::Boolean,
    P::Date,
    P::Timestamp,
    P::Decimal { precision: 9, scale: 2 },
    P::Decimal { precision: 18, scale: 2 },
    P::Decimal { precision: 38, scale: 2 },
    P::String,
    P::Binary,
    P::Fixed(5),
];

/// A column of seeds, as values of a type. Few of them differ if `narrow`.
fn column(ty: &P, seeds: &[Option<u64>], narrow: u64) -> ArrayRef {
    let n = || seeds.iter().map(|seed| seed.map(|n| (n % narrow) as i64 - 3));
    let text = |n: i64| format!("{}{n}", "ż".repeat(n.rem_euclid(5) as usize));
    match ty {
        P::Int => Arc::new(n().map(|n| n.map(|n| n as i32)).collect::<Int32Array>()),
        P::Long => Arc::new(n().collect::<Int64Array>()),
        P::Float => Arc::new(n().map(|n| n.map(|n| n as f32 / 4.0)).collect::<Float32Array>()),
        P::Double => Arc::new(n().map(|n| n.map(|n| n as f64 / 4.0)).collect::<Float64Array>()),
        P::Boolean => Arc::new(n().map(|n| n.map(|n| n % 3 == 0)).collect::<BooleanArray>()),
        P::Date => Arc::new(n().map(|n| n.map(|n| n as i32 % 9999)).collect::<Date32Array>()),
        P::Timestamp => Arc::new(n().collect::<TimestampMicrosecondArray>()),
        P::Decimal { precision, scale } => {
            let high = if *precision == 38 { 1i128 << 70 } else { 1 };
            let top = 10i128.pow(u32::from(*precision) - 1);
            let array = n().map(|n| n.map(|n| i128::from(n) * high % top)).collect::<Decimal128Array>();
            Arc::new(array.with_precision_and_scale(*precision, *scale as i8).unwrap())
        }
        P::String => Arc::new(n().map(|n| n.map(text)).collect::<StringArray>()),
        P::Binary => Arc::new(n().map(|n| n.map(|n| text(n).into_bytes())).collect::<BinaryArray>()),
        P::Fixed(length) => {
            let bytes = n().map(|n| n.map(|n| n.to_be_bytes()[8 - *length as usize..].to_vec()));
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, *length as i32).unwrap())
        }
        other => unreachable!("{other}"),
    }
}

/// Rows, and how they are written and read.
#[derive(Debug)]
struct Case {
    /// Type, whether it is required, seeds (those below `nulls` are null), how many of them differ.
    columns: Vec<(P, bool, Vec<u64>, u64, u64)>,
    numbers: Vec<Option<i32>>,
    version: WriterVersion,
    compression: Compression,
    dictionary: bool,
    dictionary_bytes: usize,
    page_rows: usize,
    group_rows: usize,
    boolean_runs: bool,
    deleted: Vec<bool>,
    keys: Vec<i64>,
    filter: Option<i32>,
    batch_rows: usize,
    /// Which columns are read.
    projected: Vec<bool>,
}

const ROWS: usize = 150;

prop_compose! {
    fn cases()(rows in 0..ROWS)(
        ascending in any::<bool>(),
        columns in prop::collection::vec(
            (
                prop::sample::select(TYPES.to_vec()),
                any::<bool>(),
                prop::collection::vec(any::<u64>(), rows),
                prop_oneof![Just(0), Just(u64::MAX / 10), Just(u64::MAX / 2), Just(u64::MAX)],
                prop_oneof![Just(1), Just(7), Just(300), Just(1 << 40)],
            ),
            0..4,
        ),
        numbers in prop::collection::vec(prop::option::weighted(0.9, 0i32..50), rows),
        version in prop_oneof![Just(WriterVersion::PARQUET_1_0), Just(WriterVersion::PARQUET_2_0)],
        compression in prop_oneof![
            Just(Compression::UNCOMPRESSED),
            Just(Compression::SNAPPY),
            Just(Compression::ZSTD(ZstdLevel::default())),
        ],
        dictionary in any::<bool>(),
        dictionary_bytes in prop_oneof![Just(1 << 20), 1usize..200],
        page_rows in 1usize..60,
        group_rows in prop_oneof![Just(ROWS), 1usize..ROWS],
        boolean_runs in any::<bool>(),
        deleted in prop_oneof![
            Just(vec![false; rows]),
            prop::collection::vec(prop::bool::weighted(0.1), rows),
            prop::collection::vec(prop::bool::weighted(0.95), rows),
        ],
        keys in prop_oneof![Just(vec![]), prop::collection::vec(0..ROWS as i64, 1..30)],
        filter in prop::option::of(0i32..55),
        batch_rows in prop_oneof![Just(1000), 1usize..40],
        projected in prop::collection::vec(any::<bool>(), 6),
    ) -> Case {
        let mut numbers = numbers;
        if ascending {
            // The page index leaves out many pages.
            numbers.sort();
        }
        Case {
            columns, numbers, version, compression, dictionary, dictionary_bytes, page_rows, group_rows, boolean_runs,
            deleted, keys, filter, batch_rows, projected,
        }
    }
}

impl Case {
    /// Columns `i` (filtered), `l` (the row's number, deletes are keyed on it) and all others.
    fn batch(&self) -> (Schema, RecordBatch) {
        let mut fields = vec![field(1, "i", P::Int), required(2, "l", P::Long)];
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(self.numbers.iter().copied().collect::<Int32Array>()),
            Arc::new((0..self.numbers.len() as i64).map(Some).collect::<Int64Array>()),
        ];
        for ((ty, is_required, seeds, nulls, narrow), id) in self.columns.iter().zip(3..) {
            fields.push(Field::new(id, format!("c{id}"), *is_required, ty.clone()));
            let seeds: Vec<_> = seeds.iter().map(|n| (*is_required || n >= nulls).then_some(*n)).collect();
            arrays.push(column(ty, &seeds, *narrow));
        }
        let s = schema(fields);
        let batch = RecordBatch::try_new(to_arrow(&s).unwrap(), arrays).unwrap();
        (s, batch)
    }

    fn write(&self, dir: &TempDir, s: &Schema, batch: &RecordBatch) -> String {
        let mut properties = WriterProperties::builder()
            .set_writer_version(self.version)
            .set_compression(self.compression)
            .set_dictionary_enabled(self.dictionary)
            .set_dictionary_page_size_limit(self.dictionary_bytes)
            .set_data_page_row_count_limit(self.page_rows)
            .set_write_batch_size(self.page_rows)
            .set_max_row_group_row_count(Some(self.group_rows))
            .set_encoding(Encoding::PLAIN);
        for field in s.fields.iter().filter(|f| self.boolean_runs && f.ty == P::Boolean.into()) {
            properties = properties.set_column_encoding(ColumnPath::from(field.name.as_str()), Encoding::RLE);
        }
        write_batch(dir, batch, properties.build())
    }

    /// The rows that are left.
    fn left(&self) -> Vec<u32> {
        let stays = |row: &usize| {
            let found = self.filter.is_none_or(|least| self.numbers[*row].is_some_and(|n| n >= least));
            found && !self.deleted[*row] && !self.keys.contains(&(*row as i64))
        };
        (0..self.numbers.len()).filter(stays).map(|row| row as u32).collect()
    }
}

fn open(path: &str) -> ParquetFile {
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    ParquetFile::open(&store, path).unwrap()
}

fn all_of(rows: usize) -> KeptRows {
    KeptRows::between(0, rows, std::slice::from_ref(&(0..rows)))
}

fn masked(mask: &BooleanBuffer) -> KeptRows {
    all_of(mask.len()).masked(mask)
}

/// Single rows, or runs of them.
fn is_selected(seeds: &[u8], runs: bool, row: usize) -> bool {
    if runs { seeds[row / 20] < 3 } else { seeds[row] < 2 }
}

fn whole(file: &ParquetFile) -> DecodePlan {
    let leaves = (0..file.parquet_schema().num_columns()).collect();
    let groups = (0..file.footer().num_row_groups()).collect();
    DecodePlan { metadata: file.metadata.clone(), groups, selection: None, leaves }
}

proptest! {
    #[test]
    fn rows_are_those_that_were_written(case in cases()) {
        let dir = tempfile::tempdir().unwrap();
        let (s, batch) = case.batch();
        let path = case.write(&dir, &s, &batch);

        // The parquet crate reads the same rows.
        let file = open(&path);
        let plan = whole(&file);
        prop_assert!(case.numbers.is_empty() || FlatPlan::of(&plan, &plan.leaves).is_some());
        let theirs = ParquetBatches::after(file, plan, 37, 0).unwrap().map(|b| b.unwrap().0).collect::<Vec<_>>();
        prop_assert_eq!(rows(&theirs), rows(std::slice::from_ref(&batch)));

        let positions: Vec<i64> = (0..).zip(&case.deleted).filter(|(_, d)| **d).map(|(i, _)| i).collect();
        let mut deletes = Vec::new();
        if !positions.is_empty() {
            deletes.push(deletion_vector(&dir, &path, &positions));
        }
        if !case.keys.is_empty() {
            let keys = schema(vec![required(2, "l", P::Long)]);
            deletes.push(equality_deletes(&dir, &keys, vec![Arc::new(Int64Array::from(case.keys.clone()))], &[2]));
        }
        let filter = case.filter.map_or(BoundPredicate::True, |n| leaf(&s, 1, Op::GtEq, vec![Value::Int(n)]));
        let task = deleting(task(&path, filter), deletes);
        let left = take_record_batch(&batch, &UInt32Array::from(case.left())).unwrap();

        let picked: Vec<usize> = (0..s.fields.len()).filter(|i| case.projected[*i]).collect();
        let all: Vec<usize> = (0..s.fields.len()).collect();
        for picked in [all, picked] {
            let projection = schema(picked.iter().map(|i| s.fields[*i].clone()).collect());
            let mut context = projecting(&s, &projection).as_ref().clone();
            context.batch_rows = case.batch_rows;
            let found = read(&Arc::new(context), &task).unwrap();
            prop_assert!(found.iter().all(|b| b.num_rows() <= case.batch_rows));
            prop_assert_eq!(rows(&found), rows(&[left.project(&picked).unwrap()]));
        }
    }

    /// Only the selected rows come from the pages that the index names, with their positions. That holds too if batches
    /// become smaller on the way. It holds if the rest of the file is left to the parquet crate, which reads the rest
    /// of row groups whole.
    #[test]
    fn selected_rows_come_from_their_pages(
        case in cases(),
        seeds in prop::collection::vec(0u8..9, ROWS),
        runs: bool,
        turns in prop::collection::vec((0usize..4, 1usize..40), 0..6),
        leave in prop::option::of(0usize..8),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (s, batch) = case.batch();
        let path = case.write(&dir, &s, &batch);
        let file = open(&path);
        let mut selected: Vec<bool> = (0..case.numbers.len()).map(|row| is_selected(&seeds, runs, row)).collect();
        let mut plan = whole(&file);
        plan.metadata = match file.with_page_index().unwrap() {
            Some(indexed) if !selected.is_empty() => indexed,
            _ => return Ok(()),
        };
        plan.selection = Some(RowSelection::from_filters(&[BooleanArray::from(selected.clone())]));
        let columns = FlatPlan::of(&plan, &plan.leaves).unwrap().columns;
        let filter = case.filter.map_or(BoundPredicate::True, |n| leaf(&s, 1, Op::GtEq, vec![Value::Int(n)]));
        let mut batches = by_plan(&s, &path, (file, plan), filter, columns, case.batch_rows);
        let (mut seen, mut positions, mut turns) = (Vec::new(), Vec::new(), turns.into_iter());
        let mut turn = turns.next();
        for step in 0.. {
            if let (true, FlatState::Flat(reading)) = (Some(step) == leave, &batches.state) {
                let behind = reading.group.map(|group| (group.index, group.given));
                let later = reading.groups.as_slice().iter().filter(|(_, rows)| !rows.is_empty()).map(|(index, _)| (*index, 0));
                for (index, first) in behind.into_iter().chain(later) {
                    let start = index * case.group_rows;
                    let end = selected.len().min(start + case.group_rows);
                    selected[start + first..end].fill(true);
                }
                batches.leave_rest().unwrap();
            }
            match (&mut turn, &mut batches.state) {
                (Some((0, rows)), FlatState::Flat(reading)) => {
                    batches.batch_rows = *rows;
                    reading.restart();
                    turn = turns.next();
                }
                (Some((wait, _)), FlatState::Flat(_)) => *wait -= 1,
                _ => {}
            }
            let Some((batch, places)) = batches.next_batch().unwrap() else { break };
            prop_assert_eq!(batch.num_rows(), places.len());
            positions.extend(places.iter());
            seen.push(batch);
        }
        let passes = |row: usize| case.filter.is_none_or(|n| case.numbers[row].is_some_and(|i| i >= n));
        let kept: Vec<u32> = (0..selected.len()).filter(|row| selected[*row] && passes(*row)).map(|row| row as u32).collect();
        prop_assert_eq!(positions, kept.iter().map(|row| u64::from(*row)).collect::<Vec<_>>());
        prop_assert_eq!(rows(&seen), rows(&[take_record_batch(&batch, &UInt32Array::from(kept)).unwrap()]));
    }

    /// The same test, but some pages are missing, and others may be at a place that the index does not name.
    #[test]
    fn damaged_pages_of_selected_rows_give_rows_or_an_error(
        case in cases(),
        seeds in prop::collection::vec(0u8..9, ROWS),
        runs: bool,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        shift in prop::option::of((any::<prop::sample::Index>(), 0usize..4)),
        piece in 1usize..60,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (s, batch) = case.batch();
        let path = case.write(&dir, &s, &batch);
        let file = open(&path);
        let Some(indexed) = file.with_page_index().unwrap() else { return Ok(()) };
        for (g, group) in file.footer().row_groups().iter().enumerate() {
            let rows = 0..group.num_rows() as usize;
            let wanted = |rows: Range<usize>| rows.map(|row| is_selected(&seeds, runs, row)).collect::<BooleanBuffer>();
            let selected: Vec<Range<usize>> = masked(&wanted(rows.clone())).ranges(0).collect();
            for leaf in (0..s.fields.len()).filter(|_| !selected.is_empty()) {
                let flat = flat(&file.metadata, leaf).unwrap();
                let fetch = Fetch::of(indexed.metadata(), g, leaf, &selected).unwrap();
                let fetched = file.pages(&fetch.bytes, None).unwrap();
                let mut pages = fetch.take(&mut fetched.into_iter());
                for (at, byte) in &changes {
                    let at = at.index(pages.bytes.len());
                    pages.bytes[at] ^= byte;
                }
                if let (Some(rows), Some((at, by))) = (&mut pages.rows, &shift) {
                    let at = at.index(rows.len());
                    rows[at].start += by;
                }
                let compression = group.columns()[leaf].compression();
                let mut column = FlatColumn::new(flat.kind, flat.optional, compression, pages).unwrap();
                for at in rows.clone().step_by(piece) {
                    let mask = wanted(at..rows.end.min(at + piece));
                    let Ok(array) = column.read(&masked(&mask)) else { break };
                    prop_assert_eq!(array.len(), mask.count_set_bits());
                    array.to_data().validate_full().unwrap();
                }
            }
        }
    }

    /// Any damage to a chunk gives an error or the requested number of rows.
    #[test]
    fn damaged_pages_give_rows_or_an_error(
        mut case in cases(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
        every in 1usize..9,
    ) {
        case.compression = Compression::UNCOMPRESSED;
        let dir = tempfile::tempdir().unwrap();
        let (s, batch) = case.batch();
        let path = case.write(&dir, &s, &batch);
        let file = open(&path);
        for (group, leaf) in (0..file.footer().num_row_groups()).flat_map(|g| (0..s.fields.len()).map(move |l| (g, l))) {
            let group = &file.footer().row_groups()[group];
            let chunk = &group.columns()[leaf];
            let first = start(chunk) as u64;
            let range = first..first + chunk.compressed_size() as u64;
            let mut bytes = file.pages(std::slice::from_ref(&range), None).unwrap().remove(0);
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] ^= byte;
            }
            if let Some(cut) = &cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            let flat = flat(&file.metadata, leaf).unwrap();
            let mut column = FlatColumn::new(flat.kind, flat.optional, chunk.compression(), Pages { bytes, rows: None }).unwrap();
            let rows = group.num_rows() as usize;
            let mask: BooleanBuffer = (0..rows).map(|row| row % every == 0).collect();
            for (kept, count) in [(masked(&mask), mask.count_set_bits()), (all_of(rows), rows)] {
                column.restart();
                if let Ok(array) = column.read(&kept) {
                    prop_assert_eq!(array.len(), count);
                    array.to_data().validate_full().unwrap();
                    let _ = column.check_end();
                }
            }
        }
    }
}

/// A file of every type, 300 rows.
fn every_type(dir: &TempDir, compression: Compression) -> (Schema, RecordBatch, String) {
    let seeds: Vec<u64> = (0..300u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let case = Case {
        columns: TYPES.iter().map(|ty| (ty.clone(), false, seeds.clone(), u64::MAX / 10, 90)).collect(),
        numbers: (0..300).map(Some).collect(),
        version: WriterVersion::PARQUET_1_0,
        compression,
        dictionary: true,
        dictionary_bytes: 400,
        page_rows: 70,
        group_rows: 200,
        boolean_runs: false,
        deleted: vec![],
        keys: vec![],
        filter: None,
        batch_rows: 64,
        projected: vec![],
    };
    let (s, batch) = case.batch();
    let path = case.write(dir, &s, &batch);
    (s, batch, path)
}

/// Every byte of a file is flipped. The result is the right number of rows or an error, never a panic.
#[test]
fn flipped_bytes_give_rows_or_an_error() {
    for compression in [Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())] {
        let dir = tempfile::tempdir().unwrap();
        let (s, _, path) = every_type(&dir, compression);
        let intact = std::fs::read(&path).unwrap();
        let last = start(open(&path).footer().row_groups()[1].columns().last().unwrap()) as usize;
        let damaged = dir.path().join("damaged.parquet").display().to_string();
        for at in (4..last).step_by(7) {
            let mut bytes = intact.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&damaged, &bytes).unwrap();
            match read(&context(&s), &task(&damaged, BoundPredicate::True)) {
                Ok(batches) => assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 300),
                Err(e) => assert!(matches!(e.kind(), ErrorKind::CorruptTable | ErrorKind::Unsupported), "{at}: {e}"),
            }
        }
    }
}

#[test]
fn every_type_is_read_flat() {
    let dir = tempfile::tempdir().unwrap();
    let (s, batch, path) = every_type(&dir, Compression::SNAPPY);
    let file = open(&path);
    let plan = whole(&file);
    assert_eq!(FlatPlan::of(&plan, &plan.leaves).unwrap().columns.len(), s.fields.len());
    assert!(FlatPlan::of(&plan, &BTreeSet::new()).is_none());
    assert_eq!(rows(&read(&context(&s), &task(&path, BoundPredicate::True)).unwrap()), rows(&[batch]));
}

/// Reads all columns of a file with its positions, by a separate plan.
fn started(s: &Schema, path: &str, filter: BoundPredicate, columns: Vec<Flat>, batch_rows: usize) -> FlatBatches {
    let file = open(path);
    let plan = whole(&file);
    by_plan(s, path, (file, plan), filter, columns, batch_rows)
}

fn by_plan(
    s: &Schema,
    path: &str,
    (file, plan): (ParquetFile, DecodePlan),
    filter: BoundPredicate,
    columns: Vec<Flat>,
    batch_rows: usize,
) -> FlatBatches {
    let filter = Arc::new(filter);
    let constants = Constants::of(&task(path, BoundPredicate::True).data_file);
    let found = FileColumns::new(file.metadata.schema());
    let asked = FilterColumns::plan(&filter.field_ids(), s, &found, &constants).unwrap();
    let (test, keys) = (RowTest::new(filter.clone(), asked), FilterColumns::none());
    let request = DecodeRequest { leaves: plan.leaves.clone(), test, keys, tells_positions: true, batch_rows };
    let part = FilePart {
        range: i64::MIN..i64::MAX,
        filter: &filter,
        schema: s,
        columns: &found,
        constants: &constants,
        recorded: Default::default(),
    };
    FlatPlan { columns }.batches(file, plan, &part, request).unwrap()
}

/// A batch may become larger than Arrow can hold at any moment: no row is lost or given twice.
#[test]
fn starting_anew_gives_every_row_once() {
    let dir = tempfile::tempdir().unwrap();
    let (s, batch, path) = every_type(&dir, Compression::SNAPPY);
    let plan = whole(&open(&path));
    let columns = FlatPlan::of(&plan, &plan.leaves).unwrap().columns;
    for first in [0, 30, 170] {
        let filter = leaf(&s, 1, Op::GtEq, vec![Value::Int(first)]);
        for turns in [vec![(0, 9), (2, 4)], vec![(0, 1)], vec![(3, 20), (1, 2), (6, 1)], vec![]] {
            let mut batches = started(&s, &path, filter.clone(), columns.clone(), 16);
            let (mut turns, mut seen, mut positions) = (turns.into_iter(), Vec::new(), Vec::new());
            let mut turn = turns.next();
            while let Some((batch, places)) = batches.next_batch().unwrap() {
                positions.extend(places.iter());
                seen.push(batch);
                match &mut turn {
                    Some((0, rows)) => {
                        batches.batch_rows = *rows;
                        let FlatState::Flat(reading) = &mut batches.state else { panic!("it is read flat") };
                        reading.restart();
                        turn = turns.next();
                    }
                    Some((wait, _)) => *wait -= 1,
                    None => {}
                }
            }
            assert_eq!(positions, (first as u64..300).collect::<Vec<_>>());
            assert_eq!(rows(&seen), rows(&[batch.slice(first as usize, 300 - first as usize)]));
        }
    }
}

/// Pages whose encoding the footer does not name are left to the parquet crate, with all rows after them. No row is
/// lost or given twice.
#[test]
fn what_is_encoded_in_other_ways_is_left_to_the_crate() {
    let dir = tempfile::tempdir().unwrap();
    let s = schema(vec![field(1, "i", P::Int), field(2, "t", P::String)]);
    let texts: StringArray = (0..300).map(|i| Some(format!("text {i}"))).collect();
    let columns: Vec<ArrayRef> = vec![Arc::new((0..300).map(Some).collect::<Int32Array>()), Arc::new(texts)];
    let batch = RecordBatch::try_new(to_arrow(&s).unwrap(), columns).unwrap();
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_encoding(Encoding::PLAIN)
        .set_dictionary_enabled(false)
        .set_column_encoding(ColumnPath::from("t"), Encoding::DELTA_BYTE_ARRAY)
        .set_max_row_group_row_count(Some(100));
    let path = write_batch(&dir, &batch, properties.build());
    let file = open(&path);
    let plan = whole(&file);
    assert!(FlatPlan::of(&plan, &plan.leaves).is_none());
    assert!(FlatPlan::of(&plan, &[0].into()).is_some());
    // This acts as if the footer did not name the encoding.
    let columns: Vec<Flat> = plan.leaves.iter().map(|leaf| flat(&plan.metadata, *leaf).unwrap()).collect();
    let early = leaf(&s, 1, Op::GtEq, vec![Value::Int(130)]);
    for (filter, first) in [(BoundPredicate::True, 0), (early, 130)] {
        let batches = started(&s, &path, filter, columns.clone(), 33);
        let (batches, positions): (Vec<_>, Vec<_>) = batches.map(|b| b.unwrap()).unzip();
        let positions: Vec<u64> = positions.iter().flat_map(RowPositions::iter).collect();
        assert_eq!(positions, (first..300).collect::<Vec<_>>());
        assert_eq!(rows(&batches), rows(&[batch.slice(first as usize, 300 - first as usize)]));
    }
}

/// An index that contradicts the pages would give other rows.
#[test]
fn pages_that_contradict_their_index_are_damage() {
    let dir = tempfile::tempdir().unwrap();
    let (_, _, path) = every_type(&dir, Compression::SNAPPY);
    let file = open(&path);
    let metadata = file.with_page_index().unwrap().unwrap();
    let flat = flat(&file.metadata, 0).unwrap();
    let compression = Compression::SNAPPY;
    let selected: Vec<Range<usize>> = vec![75..80, 145..150];
    let fetch = Fetch::of(metadata.metadata(), 0, 0, &selected).unwrap();
    let pages = file.pages(&fetch.bytes, None).unwrap();
    let Pages { bytes, rows } = fetch.take(&mut pages.into_iter());
    assert_eq!(rows, Some(vec![70..140, 140..200]));
    let read = |rows: Vec<Range<usize>>| {
        let pages = Pages { bytes: bytes.clone(), rows: Some(rows) };
        let mut column = FlatColumn::new(flat.kind.clone(), flat.optional, compression, pages).unwrap();
        let mask: BooleanBuffer = (0..200).map(|row| selected.iter().any(|range| range.contains(&row))).collect();
        column.read(&masked(&mask))
    };
    let expected: Vec<i32> = selected.iter().cloned().flatten().map(|row| row as i32).collect();
    assert_eq!(read(vec![70..140, 140..200]).unwrap().as_ref(), &Int32Array::from(expected) as &dyn Array);
    for lying in [vec![70..139, 139..200], vec![71..141, 141..200], vec![70..150, 150..200]] {
        assert!(
            matches!(read(lying.clone()), Err(Stop::Damaged(e)) if e.kind() != ErrorKind::Unsupported),
            "{lying:?}"
        );
    }
}
