use std::io;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow::array::*;
use arrow::datatypes::{DataType, Field as ArrowField, Int64Type, Schema as ArrowSchema};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use super::*;
use crate::data::write::context::{RowOrder, WriteContext};
use crate::data::write::file_write::tests::LEAVES;
use crate::data::write::locations::FileLocations;
use crate::error::ErrorKind;
use crate::parallel::Cancellation;
use crate::store::StoreWriter;
use crate::store::local::LocalStore;
use crate::store::testing::{Change, Hooked, Hooks};
use crate::types::{Field, PartitionField, PartitionSpec, PrimitiveType as P, SortField, SortOrder, Transform, Type};

/// The local store, with the number of files open at once and a switch that makes writes fail.
#[derive(Debug, Default)]
struct Watched {
    open: Arc<AtomicUsize>,
    most_open: AtomicUsize,
    full: Arc<AtomicBool>,
}

struct WatchedWriter {
    inner: Option<Box<dyn StoreWriter>>,
    open: Arc<AtomicUsize>,
    full: Arc<AtomicBool>,
}

impl Write for WatchedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.full.load(Ordering::SeqCst) {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left"));
        }
        self.inner.as_mut().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl StoreWriter for WatchedWriter {
    fn finish(mut self: Box<Self>) -> Result<u64> {
        self.inner.take().unwrap().finish()
    }
}

impl Drop for WatchedWriter {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Hooks for Watched {
    fn create(&self, path: &str) -> Result<Box<dyn StoreWriter>> {
        let now = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_open.fetch_max(now, Ordering::SeqCst);
        let inner = Some(LocalStore.create(path)?);
        Ok(Box::new(WatchedWriter { inner, open: self.open.clone(), full: self.full.clone() }))
    }
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(0, vec![Field::new(1, "id", true, P::Long), Field::new(2, "name", false, P::String)], vec![]))
}

fn by_bucket(n: u32) -> PartitionSpec {
    let field =
        PartitionField { source_id: 1, field_id: 1000, name: "id bucket".into(), transform: Transform::Bucket(n) };
    PartitionSpec { id: 1, fields: vec![field] }
}

fn context(
    dir: &tempfile::TempDir,
    schema: Arc<Schema>,
    spec: PartitionSpec,
    properties: &[(&str, &str)],
) -> WriteContext {
    WriteContext {
        schema,
        spec: Arc::new(spec),
        order: Arc::default(),
        row_order: RowOrder::Any,
        locations: FileLocations::in_folder(&dir.path().join("data").display().to_string()),
        properties: properties.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        write_id: "0b5e".into(),
        task_id: 7,
    }
}

fn ids(range: std::ops::Range<i64>) -> RecordBatch {
    let names: StringArray = range.clone().map(|i| (i % 3 != 0).then(|| format!("name {i}"))).collect();
    let fields = vec![ArrowField::new("name", DataType::Utf8, true), ArrowField::new("id", DataType::Int64, true)];
    let columns: Vec<ArrayRef> = vec![Arc::new(names), Arc::new(Int64Array::from_iter_values(range))];
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).unwrap()
}

fn read(path: &str) -> Vec<RecordBatch> {
    let file = std::fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    reader.map(|b| b.unwrap()).collect()
}

fn ids_in(files: &[DataFile]) -> Vec<i64> {
    let batches = files.iter().flat_map(|f| read(&f.path));
    let mut out: Vec<i64> = batches.flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
    out.sort_unstable();
    out
}

/// Regular files below a folder, with any name.
fn files_below(folder: &std::path::Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let one = |e: std::fs::DirEntry| match e.path() {
        p if p.is_dir() => files_below(&p),
        p => vec![p.display().to_string()],
    };
    entries.flat_map(|e| one(e.unwrap())).collect()
}

#[test]
fn one_file_of_an_unpartitioned_table() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = DataWriter::new(Arc::new(LocalStore), context(&dir, schema(), PartitionSpec::default(), &[])).unwrap();
    w.write(&ids(0..10_000)).unwrap();
    w.write(&ids(10_000..20_000)).unwrap();
    let files = w.finish().unwrap();
    let f = &files[0];
    assert_eq!(f.path, format!("{}/data/00007-0-0b5e-00001.parquet", dir.path().display()));
    assert_eq!((files.len(), f.record_count, f.sort_order_id, f.sequence_number), (1, 20_000, Some(0), None));
    assert_eq!(f.size_bytes as u64, std::fs::metadata(&f.path).unwrap().len());
    assert_eq!(f.split_offsets.as_deref(), Some(&[4i64][..]));
    assert!(f.partition.values.is_empty());
    assert_eq!(ids_in(&files), (0..20_000).collect::<Vec<_>>());
    let m = f.metrics.as_ref().unwrap().get().unwrap();
    assert_eq!(m.null_value_counts.as_ref().unwrap()[&2], (0..20_000).filter(|i| i % 3 == 0).count() as i64);
    assert_eq!(m.lower_bounds.as_ref().unwrap()[&1], 0i64.to_le_bytes());
    assert_eq!(m.upper_bounds.as_ref().unwrap()[&1], 19_999i64.to_le_bytes());

    let builder = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&f.path).unwrap()).unwrap();
    let file = builder.metadata().file_metadata();
    assert_eq!(file.created_by(), Some(concat!("frazil ", env!("CARGO_PKG_VERSION"))));
    let pairs = file.key_value_metadata().unwrap();
    assert_eq!(pairs.len(), 1);
    let json = serde_json::from_str(pairs[0].value.as_ref().unwrap()).unwrap();
    assert_eq!(crate::types::schema_json::schema_from_json(&json).unwrap(), *schema());
    let codec = builder.metadata().row_group(0).column(0).compression();
    assert!(matches!(codec, parquet::basic::Compression::ZSTD(_)));
}

/// The parquet crate reads the same rows that were written, for every type and nesting.
#[test]
fn every_type_round_trips() {
    let list = Type::List(Arc::new(Field::new(21, "element", false, P::Uuid)));
    let map =
        Type::Map(Arc::new(Field::new(23, "key", true, P::String)), Arc::new(Field::new(24, "value", false, P::Long)));
    let inner: Arc<[Field]> = vec![Field::new(26, "x y", false, P::Date), Field::new(28, "r", true, P::Int)].into();
    let mut fields: Vec<Field> =
        LEAVES.iter().enumerate().map(|(i, ty)| Field::new(i as i32 + 1, format!("c{i}"), false, ty.clone())).collect();
    fields.extend([
        Field::new(20, "list", false, list),
        Field::new(22, "map", false, map),
        Field::new(25, "struct", false, Type::Struct(inner)),
    ]);
    let schema = Arc::new(Schema::new(0, fields, vec![]));
    let rows = sample(&schema);
    let dir = tempfile::tempdir().unwrap();
    for codec in ["zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"] {
        let properties = [("write.parquet.compression-codec", codec)];
        let mut context = context(&dir, schema.clone(), PartitionSpec::default(), &properties);
        context.write_id = codec.into();
        let mut w = DataWriter::new(Arc::new(LocalStore), context).unwrap();
        w.write(&rows).unwrap();
        let files = w.finish().unwrap();
        let options = ArrowReaderOptions::new().with_schema(renamed(rows.schema()));
        let file = std::fs::File::open(&files[0].path).unwrap();
        let mut reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).unwrap().build().unwrap();
        let back = reader.next().unwrap().unwrap();
        for (expected, got) in rows.columns().iter().zip(back.columns()) {
            assert_eq!(expected.to_data().data_type().is_nested(), got.data_type().is_nested());
            let same = arrow::compute::cast(expected, got.data_type()).unwrap();
            assert_eq!(&same, got);
        }
    }
}

/// The Arrow schema with the names in the file: "x y" is not a name that Avro takes.
fn renamed(schema: arrow::datatypes::SchemaRef) -> arrow::datatypes::SchemaRef {
    let rename = |f: &Arc<ArrowField>| match f.data_type() {
        DataType::Struct(members) => {
            let members: Vec<_> =
                members.iter().map(|m| m.as_ref().clone().with_name(m.name().replace(' ', "_x20"))).collect();
            Arc::new(f.as_ref().clone().with_data_type(DataType::Struct(members.into())))
        }
        _ => f.clone(),
    };
    Arc::new(ArrowSchema::new(schema.fields().iter().map(rename).collect::<Vec<_>>()))
}

/// Three rows of a schema: values, nulls, other values.
fn sample(schema: &Schema) -> RecordBatch {
    let arrow = crate::data::arrow::schema::to_arrow(schema).unwrap();
    let column = |ty: &DataType| -> ArrayRef {
        match ty {
            DataType::List(f) => {
                let mut b = ListBuilder::new(FixedSizeBinaryBuilder::new(16)).with_field(f.clone());
                b.values().append_value([9; 16]).unwrap();
                b.values().append_null();
                b.append(true);
                b.append(false);
                b.append(true);
                Arc::new(b.finish())
            }
            DataType::Map(entries, _) => {
                let DataType::Struct(kv) = entries.data_type() else { panic!() };
                let kv = StructArray::new(
                    kv.clone(),
                    vec![Arc::new(StringArray::from(vec!["a", "b"])), Arc::new(Int64Array::from(vec![Some(1), None]))],
                    None,
                );
                let offsets = arrow::buffer::OffsetBuffer::from_lengths([2, 0, 0]);
                Arc::new(MapArray::new(entries.clone(), offsets, kv, Some(vec![true, false, true].into()), false))
            }
            DataType::Struct(members) => {
                let columns: Vec<ArrayRef> = vec![
                    Arc::new(Date32Array::from(vec![Some(1), None, None])),
                    Arc::new(Int32Array::from(vec![5, 0, 6])),
                ];
                Arc::new(StructArray::new(members.clone(), columns, Some(vec![true, false, true].into())))
            }
            DataType::Boolean => Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
            DataType::FixedSizeBinary(n) => {
                let mut b = FixedSizeBinaryBuilder::new(*n);
                b.append_value(vec![1; *n as usize]).unwrap();
                b.append_null();
                b.append_value(vec![255; *n as usize]).unwrap();
                Arc::new(b.finish())
            }
            DataType::Binary => Arc::new(BinaryArray::from(vec![Some(&b"\xff"[..]), None, Some(b"")])),
            DataType::Utf8 => Arc::new(StringArray::from(vec![Some("żółw"), None, Some("")])),
            ty => {
                let narrow: ArrayRef = Arc::new(Int32Array::from(vec![Some(-7), None, Some(1_234_567)]));
                match ty {
                    DataType::Decimal128(p, s) => Arc::new(
                        Decimal128Array::from(vec![Some(-7), None, Some(1_234_567)])
                            .with_precision_and_scale(*p, *s)
                            .unwrap(),
                    ),
                    DataType::Date32 => arrow::compute::cast(&narrow, ty).unwrap(),
                    ty => arrow::compute::cast(&arrow::compute::cast(&narrow, &DataType::Int64).unwrap(), ty).unwrap(),
                }
            }
        }
    };
    let columns = arrow.fields().iter().map(|f| column(f.data_type())).collect();
    RecordBatch::try_new(arrow, columns).unwrap()
}

#[test]
fn rows_go_to_the_folder_of_their_partition() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = DataWriter::new(Arc::new(LocalStore), context(&dir, schema(), by_bucket(4), &[])).unwrap();
    for i in 0..5 {
        w.write(&ids(i * 100..i * 100 + 100)).unwrap();
    }
    let files = w.finish().unwrap();
    assert_eq!(files.len(), 4);
    for f in &files {
        let Some(crate::types::Value::Int(bucket)) = f.partition.values[0].value else { panic!() };
        assert!(f.path.contains(&format!("/data/id+bucket={bucket}/00007-0-0b5e-")), "{}", f.path);
        for id in ids_in(std::slice::from_ref(f)) {
            let expected = Transform::Bucket(4).apply(crate::types::ValueRef::Long(id), &P::Long);
            assert_eq!(Some(crate::types::Value::Int(bucket)), expected);
        }
    }
    assert_eq!(ids_in(&files), (0..500).collect::<Vec<_>>());
}

#[test]
fn files_roll_over_at_their_target_size() {
    let dir = tempfile::tempdir().unwrap();
    let properties = [("write.target-file-size-bytes", "100000"), ("write.parquet.row-group-size-bytes", "40000")];
    let mut w =
        DataWriter::new(Arc::new(LocalStore), context(&dir, schema(), PartitionSpec::default(), &properties)).unwrap();
    w.write(&ids(0..200_000)).unwrap();
    let files = w.finish().unwrap();
    assert!(files.len() > 3, "{}", files.len());
    assert!(files[0].split_offsets.as_ref().unwrap().len() > 1);
    assert!(files.iter().all(|f| f.size_bytes < 300_000));
    assert!(files.windows(2).all(|w| w[0].path < w[1].path));
    assert_eq!(ids_in(&files), (0..200_000).collect::<Vec<_>>());
}

#[test]
fn many_partitions_hold_few_files_open_and_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(Hooked::<Watched>::default());
    let mut w = DataWriter::new(store.clone(), context(&dir, schema(), by_bucket(50), &[])).unwrap();
    w.limits = WriterLimits { open_files: 8, waiting_bytes: 40_000, buffered_bytes: 50_000 };
    for i in 0..30 {
        w.write(&ids(i * 500..i * 500 + 500)).unwrap();
        assert!(w.waiting_bytes < 40_000 && w.buffered_bytes <= 50_000 && w.open.len() <= 9);
    }
    let files = w.finish().unwrap();
    assert!(store.most_open.load(Ordering::SeqCst) <= 8 + parallel::threads(usize::MAX));
    assert_eq!(store.open.load(Ordering::SeqCst), 0);
    assert_eq!(ids_in(&files), (0..15_000).collect::<Vec<_>>());
}

/// Rows that come clustered make one file a partition, even if only few files may be open.
#[test]
fn clustered_rows_make_the_fewest_files() {
    let dir = tempfile::tempdir().unwrap();
    let truncated =
        PartitionField { source_id: 1, field_id: 1000, name: "t".into(), transform: Transform::Truncate(100) };
    let spec = PartitionSpec { id: 1, fields: vec![truncated] };
    let store = Arc::new(Hooked::<Watched>::default());
    let mut w = DataWriter::new(store.clone(), context(&dir, schema(), spec, &[])).unwrap();
    w.limits = WriterLimits { open_files: 4, waiting_bytes: 1, buffered_bytes: 1 << 20 };
    for i in 0..100 {
        w.write(&ids(i * 50..i * 50 + 50)).unwrap();
    }
    let files = w.finish().unwrap();
    assert_eq!((files.len(), store.most_open.load(Ordering::SeqCst)), (50, 4));
}

#[test]
fn aborted_dropped_and_failed_writers_leave_nothing() {
    let properties = [("write.target-file-size-bytes", "1000")];
    let begin = |dir: &tempfile::TempDir, store: Arc<dyn Store>| {
        let mut w = DataWriter::new(store, context(dir, schema(), by_bucket(3), &properties)).unwrap();
        w.limits.waiting_bytes = 1;
        w.write(&ids(0..50_000)).unwrap();
        assert!(w.output.count() > 0 && files_below(dir.path()).len() >= w.output.count());
        w
    };
    let dir = tempfile::tempdir().unwrap();
    begin(&dir, Arc::new(LocalStore)).abort().unwrap();
    assert!(files_below(dir.path()).is_empty());
    drop(begin(&dir, Arc::new(LocalStore)));
    assert!(files_below(dir.path()).is_empty());

    let store = Arc::new(Hooked::<Watched>::default());
    let mut w = begin(&dir, store.clone());
    store.full.store(true, Ordering::SeqCst);
    let e = w.write(&ids(0..50_000)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Store);
    assert!(e.to_string().contains(".parquet") && e.to_string().contains("no space left"), "{e}");
    assert!(w.write(&ids(0..1)).unwrap_err().to_string().contains("earlier write failed"));
    store.full.store(false, Ordering::SeqCst);
    assert!(w.finish().is_err());
    assert!(files_below(dir.path()).is_empty());
}

/// The local store, whose deletes can be cancelled as those of a remote store can.
#[derive(Debug, Default)]
struct Slow;

impl Hooks for Slow {
    fn change(&self, _: Change<'_>, work: &dyn Fn() -> Result<()>) -> Result<()> {
        parallel::check_cancelled().and_then(|()| work())
    }
}

/// A call is cancelled at any of its checks: at most one small piece of rows is written after that, and no file stays.
#[test]
fn a_cancelled_writer_stops_soon_and_leaves_nothing() {
    let rows = ids(0..100_000);
    let sorted = SortOrder {
        id: 3,
        fields: vec![SortField { source_id: 2, transform: Transform::Identity, descending: true, nulls_first: true }],
    };
    for (format, spec, order) in [
        ("parquet", PartitionSpec::default(), None),
        ("parquet", by_bucket(3), None),
        ("parquet", by_bucket(2), Some(sorted.clone())),
        ("orc", PartitionSpec::default(), None),
        ("avro", PartitionSpec::default(), Some(sorted)),
    ] {
        let work = |dir: &tempfile::TempDir| {
            let properties = [("write.format.default", format), ("write.target-file-size-bytes", "100000")];
            let mut context = context(dir, schema(), spec.clone(), &properties);
            if let Some(order) = &order {
                (context.order, context.row_order) = (Arc::new(order.clone()), RowOrder::Sort);
            }
            let mut writer = DataWriter::new(Arc::new(Hooked::<Slow>::default()), context)?;
            writer.write(&rows)?;
            writer.finish()
        };
        let all = Cancellation::checks_in(|| drop(work(&tempfile::tempdir().unwrap()).unwrap()));
        assert!(all > rows.num_rows() / ROWS_AT_ONCE, "{format}: {all}");
        // Threads that wait for others make more checks than there are pieces.
        for checks in [0, 1, 2, 4, 7, rows.num_rows() / ROWS_AT_ONCE] {
            let dir = tempfile::tempdir().unwrap();
            let stopped = Cancellation::after(checks).scope(|| work(&dir).map(drop));
            let error = stopped.unwrap_err().to_string();
            assert!(error.contains("stopped"), "{format}: {error}");
            assert!(files_below(dir.path()).is_empty(), "{format}: {checks} checks");
        }
    }
}

#[test]
fn a_taken_name_is_an_error_and_the_other_file_stays() {
    let dir = tempfile::tempdir().unwrap();
    let write = || {
        let context = context(&dir, schema(), PartitionSpec::default(), &[]);
        let mut w = DataWriter::new(Arc::new(LocalStore), context).unwrap();
        w.write(&ids(0..3)).unwrap();
        w.finish()
    };
    let files = write().unwrap();
    assert_eq!(write().unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(ids_in(&files), [0, 1, 2]);
    assert_eq!(files_below(dir.path()), [files[0].path.clone()]);
}

#[test]
fn no_rows_no_files() {
    let dir = tempfile::tempdir().unwrap();
    for spec in [PartitionSpec::default(), by_bucket(2)] {
        let mut w = DataWriter::new(Arc::new(LocalStore), context(&dir, schema(), spec, &[])).unwrap();
        w.write(&ids(0..0)).unwrap();
        assert!(w.finish().unwrap().is_empty());
    }
    assert!(files_below(dir.path()).is_empty());
    // A schema that does not fit is an error even without rows.
    let mut w = DataWriter::new(Arc::new(LocalStore), context(&dir, schema(), PartitionSpec::default(), &[])).unwrap();
    let wrong =
        RecordBatch::new_empty(Arc::new(ArrowSchema::new(vec![ArrowField::new("nope", DataType::Int64, true)])));
    assert!(w.write(&wrong).is_err());
}

#[test]
fn rows_of_errors_count_over_all_batches() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = DataWriter::new(Arc::new(LocalStore), context(&dir, schema(), PartitionSpec::default(), &[])).unwrap();
    w.write(&ids(0..70_000)).unwrap();
    let fields = vec![ArrowField::new("id", DataType::Int64, true)];
    let nulls: Int64Array = (0..70_000).map(|i| (i != 66_000).then_some(i)).collect();
    let bad = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), vec![Arc::new(nulls)]).unwrap();
    let e = w.write(&bad).unwrap_err();
    assert!(e.to_string().contains("(column: id, row: 136000)"), "{e}");
}

#[test]
fn wrong_properties_and_types_are_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |properties: &[(&str, &str)]| {
        let context = context(&dir, schema(), PartitionSpec::default(), properties);
        DataWriter::new(Arc::new(LocalStore), context).err().unwrap().to_string()
    };
    assert!(refused(&[("write.target-file-size-bytes", "0")]).contains("property: write.target-file-size-bytes"));
    assert!(refused(&[("write.parquet.page-size-bytes", "1 MB")]).contains("write.parquet.page-size-bytes"));
    assert!(refused(&[("write.parquet.compression-codec", "lzo")]).contains("not written with lzo"));
    assert!(refused(&[("write.parquet.compression-codec", "lz5")]).contains("'lz5' is not a compression codec"));
    let brotli = ("write.parquet.compression-codec", "brotli");
    assert!(
        refused(&[brotli, ("write.parquet.compression-level", "99")]).contains("does not have this compression level")
    );
    assert!(refused(&[("write.parquet.compression-level", "x")]).contains("whole number"));
    assert!(refused(&[("write.format.default", "csv")]).contains("'csv' is not a format"));
    let nothing = Type::List(Arc::new(Field::new(2, "element", false, P::Unknown)));
    let unknown = Arc::new(Schema::new(0, vec![Field::new(1, "v", false, nothing)], vec![]));
    let e = DataWriter::new(Arc::new(LocalStore), context(&dir, unknown, PartitionSpec::default(), &[])).err().unwrap();
    assert_eq!(e.kind(), ErrorKind::Unsupported);
}

/// The files have the table's order within each partition, and record it.
#[test]
fn rows_are_sorted_by_the_tables_order() {
    let dir = tempfile::tempdir().unwrap();
    let by =
        |source_id, descending| SortField { source_id, transform: Transform::Identity, descending, nulls_first: false };
    let mut context = context(&dir, schema(), by_bucket(3), &[("write.target-file-size-bytes", "20000")]);
    context.order = Arc::new(SortOrder { id: 7, fields: vec![by(2, true), by(1, false)] });
    let mut w =
        DataWriter::new(Arc::new(LocalStore), WriteContext { row_order: RowOrder::Sort, ..context.clone() }).unwrap();
    for i in 0..20 {
        w.write(&ids(i * 500..i * 500 + 500)).unwrap();
    }
    assert_eq!(w.output.count(), 0);
    let files = w.finish().unwrap();
    assert!(files.len() > 3 && files.iter().all(|f| f.sort_order_id == Some(7)));
    assert_eq!(ids_in(&files), (0..10_000).collect::<Vec<_>>());
    let mut of_partition: HashMap<String, Vec<(Option<String>, i64)>> = HashMap::new();
    for f in &files {
        for b in read(&f.path) {
            let names = b.column(1).as_string::<i32>().iter().map(|s| s.map(str::to_owned)).collect::<Vec<_>>();
            let ids = b.column(0).as_primitive::<Int64Type>().values().to_vec();
            of_partition.entry(f.partition.path()).or_default().extend(names.into_iter().zip(ids));
        }
    }
    for rows in of_partition.values() {
        let key = |(name, id): &(Option<String>, i64)| (std::cmp::Reverse(name.clone()), *id);
        assert!(rows.is_sorted_by_key(key));
    }
    // Rows that are declared as sorted are not sorted again.
    let mut w = DataWriter::new(
        Arc::new(LocalStore),
        WriteContext { row_order: RowOrder::Sorted, write_id: "x".into(), ..context.clone() },
    )
    .unwrap();
    w.write(&ids(0..10)).unwrap();
    assert!(w.finish().unwrap().iter().all(|f| f.sort_order_id == Some(7)));
    // Files do not record an order that can't be made.
    context.order = Arc::new(SortOrder { id: 8, fields: vec![by(99, false)] });
    let mut w = DataWriter::new(
        Arc::new(LocalStore),
        WriteContext { row_order: RowOrder::Sort, write_id: "y".into(), ..context },
    )
    .unwrap();
    w.write(&ids(0..10)).unwrap();
    assert!(w.finish().unwrap().iter().all(|f| f.sort_order_id == Some(0)));
}

/// Variants come in any form, geometries as well-known binary. Columns of type unknown are in no file.
#[test]
fn types_of_version_3_are_written() {
    let inner: Arc<[Field]> = vec![Field::new(5, "u", false, P::Unknown), Field::new(6, "x", false, P::Int)].into();
    let schema = Arc::new(Schema::new(
        0,
        vec![
            Field::new(1, "v", false, P::Variant),
            Field::new(2, "g", false, P::Geometry { crs: None }),
            Field::new(3, "u", false, P::Unknown),
            Field::new(4, "s", false, Type::Struct(inner)),
        ],
        vec![],
    ));
    let dir = tempfile::tempdir().unwrap();
    let mut w =
        DataWriter::new(Arc::new(LocalStore), context(&dir, schema.clone(), PartitionSpec::default(), &[])).unwrap();
    // {} and null; other widths, another order.
    let value: ArrayRef = Arc::new(LargeBinaryArray::from(vec![Some(&[2u8, 0, 0][..]), None]));
    let metadata: ArrayRef = Arc::new(BinaryViewArray::from(vec![Some(&[1u8, 0, 0][..]), None]));
    let variant = StructArray::new(
        vec![
            ArrowField::new("value", DataType::LargeBinary, true),
            ArrowField::new("metadata", DataType::BinaryView, true),
        ]
        .into(),
        vec![value, metadata],
        Some(vec![true, false].into()),
    );
    let point = [&[1u8, 1, 0, 0, 0][..], &1.0f64.to_le_bytes(), &2.0f64.to_le_bytes()].concat();
    let points = LargeBinaryArray::from(vec![Some(point.as_slice()), None]);
    let x = StructArray::from(vec![(
        Arc::new(ArrowField::new("x", DataType::Int32, true)),
        Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef,
    )]);
    let batch = |points: LargeBinaryArray, metadata: &[(&str, &str)]| {
        let metadata = metadata.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let g = ArrowField::new("g", DataType::LargeBinary, true).with_metadata(metadata);
        let fields = vec![
            ArrowField::new("v", variant.data_type().clone(), true),
            g,
            ArrowField::new("u", DataType::Null, true),
            ArrowField::new("s", x.data_type().clone(), true),
        ];
        let columns: Vec<ArrayRef> =
            vec![Arc::new(variant.clone()), Arc::new(points), Arc::new(NullArray::new(2)), Arc::new(x.clone())];
        RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).unwrap()
    };
    let crs = |crs: &str| {
        [
            ("ARROW:extension:name", "geoarrow.wkb".to_owned()),
            ("ARROW:extension:metadata", format!("{{\"crs\": \"{crs}\"}}")),
        ]
    };
    let as_texts = |pairs: &[(&'static str, String); 2]| pairs.iter().map(|(k, v)| (*k, v.clone())).collect::<Vec<_>>();
    let own = as_texts(&crs("OGC:CRS84"));
    let own: Vec<(&str, &str)> = own.iter().map(|(k, v)| (*k, v.as_str())).collect();
    w.write(&batch(points.clone(), &own)).unwrap();
    let files = w.finish().unwrap();
    let back = &read(&files[0].path)[0];
    assert_eq!(back.schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(), ["v", "g", "s"]);
    let v = back.column(0).as_struct();
    assert_eq!(
        (v.column(0).as_binary::<i32>().value(0), v.column(1).as_binary::<i32>().value(0)),
        (&[1u8, 0, 0][..], &[2u8, 0, 0][..])
    );
    assert!(v.is_null(1));
    assert_eq!(back.column(1).as_binary::<i32>().value(0), point);
    let m = files[0].metrics.as_ref().unwrap().get().unwrap();
    let (counts, nulls) = (m.value_counts.as_ref().unwrap(), m.null_value_counts.as_ref().unwrap());
    assert_eq!((counts[&1], nulls[&1], counts[&2], nulls[&2], counts[&6]), (2, 1, 2, 1, 2));
    let bounds = m.lower_bounds.as_ref().unwrap();
    assert!(!bounds.contains_key(&1) && !bounds.contains_key(&2) && bounds.contains_key(&6));

    let refused = |batch: RecordBatch| {
        let mut w = DataWriter::new(Arc::new(LocalStore), context(&dir, schema.clone(), PartitionSpec::default(), &[]))
            .unwrap();
        w.write(&batch).unwrap_err().to_string()
    };
    let other = as_texts(&crs("EPSG:3857"));
    let other: Vec<(&str, &str)> = other.iter().map(|(k, v)| (*k, v.as_str())).collect();
    assert!(refused(batch(points, &other)).contains("geometry(EPSG:3857) can't be written"));
    let text = LargeBinaryArray::from(vec![Some(&b"POINT(1 2)"[..]), None]);
    assert!(refused(batch(text, &[])).contains("not the well-known binary"));
}

#[test]
fn columns_that_are_not_given_hold_their_write_default() {
    let with = |mut f: Field, default: serde_json::Value| {
        f.write_default = Some(default);
        f
    };
    let inner: Arc<[Field]> =
        vec![with(Field::new(5, "x", true, P::Int), 3.into()), Field::new(6, "y", false, P::Int)].into();
    let fields = vec![
        Field::new(1, "id", true, P::Long),
        with(Field::new(2, "name", true, P::String), "new".into()),
        Field::new(3, "old", false, P::Int),
        with(Field::new(4, "s", false, Type::Struct(inner)), serde_json::json!({})),
    ];
    let schema = Arc::new(Schema::new(0, fields, vec![]));
    let dir = tempfile::tempdir().unwrap();
    let mut w = DataWriter::new(Arc::new(LocalStore), context(&dir, schema, PartitionSpec::default(), &[])).unwrap();
    let id: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    w.write(&RecordBatch::try_from_iter([("id", id.clone())]).unwrap()).unwrap();
    let y: ArrayRef = Arc::new(Int32Array::from(vec![Some(8), None]));
    let s = StructArray::from(vec![(Arc::new(ArrowField::new("y", DataType::Int32, true)), y)]);
    let names: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    w.write(&RecordBatch::try_from_iter([("id", id), ("s", Arc::new(s) as ArrayRef), ("name", names)]).unwrap())
        .unwrap();
    let back = &read(&w.finish().unwrap()[0].path)[0];
    let name = |row| back.column(1).as_string::<i32>().value(row).to_owned();
    assert_eq!([0, 1, 2, 3].map(name), ["new", "new", "a", "b"]);
    assert_eq!(back.column(2).null_count(), 4);
    let s = back.column(3).as_struct();
    let ints = |at: usize| s.column(at).as_primitive::<arrow::datatypes::Int32Type>().iter().collect::<Vec<_>>();
    assert_eq!((s.null_count(), ints(0), ints(1)), (0, vec![Some(3); 4], vec![None, None, Some(8), None]));
}

/// The files have the settings of the properties.
#[test]
fn properties_are_those_of_the_written_file() {
    let dir = tempfile::tempdir().unwrap();
    let properties = [
        ("write.parquet.bloom-filter-enabled.column.id", "true"),
        ("write.parquet.bloom-filter-fpp.column.id", "0.05"),
        ("write.parquet.bloom-filter-max-bytes", "4096"),
        ("write.parquet.bloom-filter-enabled.column.nope", "true"),
        ("write.parquet.stats-enabled.column.name", "false"),
        ("write.parquet.dict-encoding-enabled.column.name", "false"),
        ("write.parquet.page-version", "v2"),
        ("write.parquet.page-row-limit", "1000"),
        ("write.parquet.compression-codec", "GZIP"),
        ("write.parquet.compression-level", "1"),
    ];
    let write = |properties: &[(&str, &str)], id: &str, rows: RecordBatch| {
        let mut context = context(&dir, schema(), PartitionSpec::default(), properties);
        context.write_id = id.into();
        let mut w = DataWriter::new(Arc::new(LocalStore), context).unwrap();
        w.write(&rows).unwrap();
        w.finish().unwrap().remove(0)
    };
    // These are too few rows to tell whether a dictionary pays.
    let file = write(&properties, "a", ids(0..9_000));
    let options = ArrowReaderOptions::new().with_page_index_policy(parquet::file::metadata::PageIndexPolicy::Required);
    let open = |path: &str| {
        ParquetRecordBatchReaderBuilder::try_new_with_options(std::fs::File::open(path).unwrap(), options.clone())
            .unwrap()
    };
    let builder = open(&file.path);
    let group = builder.metadata().row_group(0);
    let (id, name) = (group.column(0), group.column(1));
    assert!(matches!(id.compression(), parquet::basic::Compression::GZIP(_)));
    let length = id.bloom_filter_length().unwrap();
    assert!((2048..5000).contains(&length), "{length}");
    assert!(name.bloom_filter_offset().is_none() && name.statistics().is_none() && id.statistics().is_some());
    assert!(id.dictionary_page_offset().is_some() && name.dictionary_page_offset().is_none());
    let pages = builder.metadata().offset_index().unwrap()[0][0].page_locations().len();
    assert!(pages >= 9, "{pages}");
    // Columns without statistics have no counts and no bounds, as in Java.
    let m = file.metrics.as_ref().unwrap().get().unwrap();
    assert!(m.column_sizes.as_ref().unwrap().contains_key(&2) && !m.value_counts.as_ref().unwrap().contains_key(&2));
    assert!(!m.lower_bounds.as_ref().unwrap().contains_key(&2));
    assert_eq!(
        open(&write(&[], "b", ids(0..20_000)).path).metadata().offset_index().unwrap()[0][0].page_locations().len(),
        1
    );
    // Numbers that never repeat have no dictionary. Texts have none either if a third of them is null.
    let all = [ids(0..12_000), ids(0..12_000)];
    for (rows, dictionary) in [(all[0].clone(), false), (concat_batches(&all[0].schema(), &all).unwrap(), true)] {
        let file = write(&[], if dictionary { "c" } else { "d" }, rows);
        let builder = open(&file.path);
        let columns = builder.metadata().row_group(0).columns();
        assert!(columns.iter().all(|c| c.dictionary_page_offset().is_some() == dictionary));
    }
    for (key, value) in
        [("bloom-filter-fpp.column.id", "2"), ("bloom-filter-ndv.column.id", "x"), ("page-version", "v3")]
    {
        let key = format!("write.parquet.{key}");
        let given = [(key.as_str(), value), ("write.parquet.bloom-filter-enabled.column.id", "true")];
        let context = context(&dir, schema(), PartitionSpec::default(), &given);
        let e = DataWriter::new(Arc::new(LocalStore), context).err().unwrap();
        assert!(e.to_string().contains(&key), "{e}");
    }
}
