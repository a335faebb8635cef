use std::sync::Arc;

use arrow::array::{
    ListArray, MapArray, NullBufferBuilder, StringArray, StructArray, TimestampMillisecondArray,
    TimestampNanosecondArray,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{Field, Schema, TimeUnit};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;

fn nanos() -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, None)
}

/// Writes these rows with 96-bit timestamps, and returns the rows that arrow-rs reads from the file.
fn there_and_back(batches: &[RecordBatch], parquet: &str) -> Vec<RecordBatch> {
    let schema = SchemaDescriptor::new(Arc::new(parse_message_type(parquet).unwrap()));
    let options = ArrowWriterOptions::new().with_parquet_schema(schema).with_skip_arrow_metadata(true);
    let file = tempfile::NamedTempFile::new().unwrap();
    let arrow = batches[0].schema();
    let plain = ArrowWriter::try_new_with_options(file.reopen().unwrap(), arrow.clone(), options).unwrap();
    let mut writer = RowWriter::new(plain, arrow.clone(), true).unwrap();
    for (i, batch) in batches.iter().enumerate() {
        writer.write(batch).unwrap();
        if i % 2 == 1 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap();
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file.reopen().unwrap(), options).unwrap();
    reader.build().unwrap().map(|b| b.unwrap()).collect()
}

type Row = Option<Vec<Option<i64>>>;

fn list(rows: &[Row]) -> ListArray {
    let values: Vec<Option<i64>> = rows.iter().flatten().flatten().copied().collect();
    let lengths = rows.iter().map(|r| r.as_ref().map_or(0, Vec::len));
    let mut nulls = NullBufferBuilder::new(rows.len());
    rows.iter().for_each(|r| nulls.append(r.is_some()));
    let element = Arc::new(Field::new("element", nanos(), true));
    let values = Arc::new(TimestampNanosecondArray::from(values));
    ListArray::new(element, OffsetBuffer::from_lengths(lengths), values, nulls.finish())
}

proptest! {
    #[test]
    fn any_values_come_back(
        batches in vec(vec((prop::option::of(any::<i64>()), prop::option::of(vec(prop::option::of(any::<i64>()), 0..4)), any::<bool>()), 1..20), 1..4)
    ) {
        let fields = |name: &str, ty: DataType, nullable| Arc::new(Field::new(name, ty, nullable));
        let members: Fields = vec![fields("t", nanos(), true), fields("s", DataType::Utf8, false)].into();
        let entries: Fields = vec![fields("key", nanos(), false), fields("value", nanos(), true)].into();
        let entry = fields("key_value", DataType::Struct(entries.clone()), false);
        let batch = |rows: &Vec<(Option<i64>, Row, bool)>| {
            let flat: TimestampNanosecondArray = rows.iter().map(|r| r.0).collect();
            let lists: Vec<Row> = rows.iter().map(|r| r.1.clone()).collect();
            let names = Arc::new(rows.iter().map(|r| Some(r.2.to_string())).collect::<StringArray>());
            let mut nulls = NullBufferBuilder::new(rows.len());
            rows.iter().for_each(|r| nulls.append(r.2));
            let columns: Vec<ArrayRef> = vec![Arc::new(flat.clone()), names];
            let row = StructArray::new(members.clone(), columns, nulls.finish());
            // A map with an entry in every second row.
            let offsets: Vec<i32> = (0..=rows.len()).map(|i| (i / 2) as i32).collect();
            let taken = rows.len() / 2;
            let keys: ArrayRef = Arc::new(TimestampNanosecondArray::from((0..taken as i64).map(|i| i - 3).collect::<Vec<_>>()));
            let inner = StructArray::new(entries.clone(), vec![keys, Arc::new(flat.slice(0, taken))], None);
            let map = MapArray::new(entry.clone(), OffsetBuffer::new(ScalarBuffer::from(offsets)), inner, None, false);
            let columns: Vec<(&str, ArrayRef, bool)> = vec![
                ("f", Arc::new(flat), true),
                ("l", Arc::new(list(&lists)), true),
                ("r", Arc::new(row), true),
                ("m", Arc::new(map), false),
            ];
            let schema = columns.iter().map(|(n, a, null)| Field::new(*n, a.data_type().clone(), *null)).collect::<Vec<_>>();
            let columns = columns.into_iter().map(|(_, a, _)| a).collect();
            RecordBatch::try_new(Arc::new(Schema::new(schema)), columns).unwrap()
        };
        let batches: Vec<RecordBatch> = batches.iter().map(batch).collect();
        let parquet = "message m {
            optional int96 f;
            optional group l (LIST) { repeated group list { optional int96 element; } }
            optional group r { optional int96 t; required binary s (STRING); }
            required group m (MAP) { repeated group key_value { required int96 key; optional int96 value; } }
        }";
        let read = there_and_back(&batches, parquet);
        let join = |all: &[RecordBatch], i: usize| {
            arrow::compute::concat(&all.iter().map(|b| b.column(i).as_ref()).collect::<Vec<_>>()).unwrap()
        };
        for i in 0..4 {
            prop_assert_eq!(&join(&batches, i), &join(&read, i));
        }
    }
}

#[test]
fn days_begin_at_midnight() {
    // Julian day 2,440,588 is 1970-01-01; before it the nanoseconds still count up.
    assert_eq!(int96(1).data(), [1, 0, 2_440_588]);
    assert_eq!(int96(-1).data(), [(DAY_NANOS - 1) as u32, ((DAY_NANOS - 1) >> 32) as u32, 2_440_587]);
    for nanos in [i64::MIN, -1, 0, i64::MAX] {
        assert_eq!(int96(nanos).to_nanos(), nanos);
    }
}

/// A column `t` of timestamps read in milliseconds, and the same column as the parquet crate reads it in nanoseconds.
fn read_both(values: &[Int96]) -> [RecordBatch; 2] {
    let millis: TimestampMillisecondArray = values.iter().map(|v| Some(v.to_millis())).chain([None]).collect();
    let nanos: TimestampNanosecondArray = values.iter().map(|v| Some(v.to_nanos())).chain([None]).collect();
    let batch = |array: ArrayRef| RecordBatch::try_from_iter_with_nullable([("t", array, true)]).unwrap();
    [batch(Arc::new(millis)), batch(Arc::new(nanos))]
}

fn check(values: &[Int96]) -> Result<()> {
    let [mut millis, mut nanos] = [AtTheEnds::default(), AtTheEnds::default()];
    let [in_millis, in_nanos] = read_both(values);
    millis.note(&in_millis)?;
    nanos.note(&in_nanos)?;
    millis.check_nanos(&nanos)
}

proptest! {
    /// Nanoseconds may be a number of any size. Those that fit 64 bits are read, others are refused.
    #[test]
    fn what_nanoseconds_hold_is_known_to_the_last(
        values in vec(
            prop_oneof![
                (-1_500_000i64..1_500_000).prop_map(|v| i128::from(i64::MAX) + i128::from(v)),
                (-1_500_000i64..1_500_000).prop_map(|v| i128::from(i64::MIN) + i128::from(v)),
                any::<i64>().prop_map(i128::from),
            ],
            0..4,
        ),
    ) {
        let wide = |v: &i128| {
            let (day, rest) = (v.div_euclid(i128::from(DAY_NANOS)), v.rem_euclid(i128::from(DAY_NANOS)) as u64);
            let mut out = Int96::new();
            out.set_data(rest as u32, (rest >> 32) as u32, (day as i64 + EPOCH_DAY) as u32);
            out
        };
        let held = values.iter().all(|v| i64::try_from(*v).is_ok());
        let found = check(&values.iter().map(wide).collect::<Vec<_>>());
        prop_assert_eq!(held, found.is_ok(), "{:?}", found);
        if let Err(error) = found {
            prop_assert_eq!(error.kind(), ErrorKind::Unsupported);
        }
    }
}
