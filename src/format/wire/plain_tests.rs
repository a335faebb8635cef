use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;
use crate::format::task::{ColumnMetrics, DeleteRef};
use crate::format::wire::packed::{pack_tasks, packed_tasks_at};
use crate::format::wire::task::tests::{file, split};
use crate::types::{PrimitiveType, Transform, Value};

fn plain_file(path: &str) -> DataFile {
    DataFile { path: path.to_owned(), metrics: None, key_metadata: None, ..file() }
}

fn task(file: &Arc<DataFile>, start: i64, length: i64) -> ScanTask {
    ScanTask { data_file: file.clone(), start, length, deletes: Vec::new(), ..split().tasks[0].clone() }
}

fn of(tasks: Vec<ScanTask>) -> Arc<Split> {
    Arc::new(Split { tasks, context: split().context })
}

fn comes_back(splits: &[Arc<Split>]) {
    let packed = pack_tasks(splits).unwrap();
    for (i, split) in splits.iter().enumerate() {
        assert_eq!(packed_tasks_at(&packed, i, &split.context).unwrap(), **split, "{i}");
    }
}

/// Sections and tasks of one split.
fn written(tasks: &[ScanTask]) -> (Vec<u8>, PlainSections<Vec<u8>>) {
    let (mut shared, mut out) = (Shared::default(), Vec::new());
    shared.put_tasks(tasks, &mut out).unwrap();
    (out, shared.take().unwrap())
}

fn sections(of: &PlainSections<Vec<u8>>) -> PlainSections<&[u8]> {
    PlainSections { specs: &of.specs, partitions: &of.partitions, residuals: &of.residuals, files: &of.files }
}

#[test]
fn pieces_of_a_file_share_it_in_any_order() {
    let files: Vec<_> = (0..9).map(|i| Arc::new(plain_file(&format!("s3://b/t/data/{i}/é{i}.parquet")))).collect();
    let splits: Vec<_> = [vec![3, 1, 3], vec![8, 0], vec![], vec![1, 8, 3, 2]]
        .iter()
        .map(|files_of: &Vec<usize>| of(files_of.iter().map(|i| task(&files[*i], *i as i64, 100)).collect()))
        .collect();
    comes_back(&splits);
    let both = [task(&files[0], 0, 5), task(&files[0], 5, 5)];
    let one = written(&both[..1]).1.files;
    assert_eq!(written(&both).1.files, one);
}

#[test]
fn partitions_of_all_types_come_back() {
    use PrimitiveType as P;
    let values = [
        (P::Boolean, Value::Boolean(true)),
        (P::Int, Value::Int(-7)),
        (P::Long, Value::Long(i64::MIN)),
        (P::Float, Value::Float(f32::NAN)),
        (P::Double, Value::Double(-0.0)),
        (P::Decimal { precision: 38, scale: 2 }, Value::Decimal(i128::MIN / 2)),
        (P::Date, Value::Int(i32::MIN)),
        (P::Time, Value::Long(86_399_999_999)),
        (P::Timestamp, Value::Long(-1)),
        (P::Timestamptz, Value::Long(i64::MAX)),
        (P::TimestampNs, Value::Long(1)),
        (P::TimestamptzNs, Value::Long(-1)),
        (P::String, Value::String("é\0\"".into())),
        (P::Uuid, Value::Uuid(u128::MAX)),
        (P::Fixed(2), Value::Bytes(vec![0, 255])),
        (P::Binary, Value::Bytes(vec![])),
    ];
    let partition = |id: i32, fields: Vec<(P, Option<Value>)>| {
        let field = |(i, (ty, value))| PartitionValue {
            name: format!("p{i}"),
            field_id: 1000 + i as i32,
            source_id: 1,
            transform: Transform::Identity,
            ty,
            value,
        };
        Arc::new(Partition { spec_id: id, values: fields.into_iter().enumerate().map(field).collect() })
    };
    let all = partition(0, values.iter().map(|(ty, v)| (ty.clone(), Some(v.clone()))).collect());
    let none = partition(0, values.iter().map(|(ty, _)| (ty.clone(), None)).collect());
    // One spec whose files have different types, another, and none.
    let int = partition(1, vec![(P::Int, Some(Value::Int(7)))]);
    let long = partition(1, vec![(P::Long, Some(Value::Long(7)))]);
    let unpartitioned = partition(2, vec![]);
    let tasks = [all, none, int.clone(), long.clone(), unpartitioned, int, long].map(|partition| {
        let file = DataFile { partition, ..plain_file("x") };
        task(&Arc::new(file), 0, 1)
    });
    comes_back(&[of(tasks.to_vec()), of(tasks[2..].to_vec())]);
}

#[test]
fn residuals_are_told_apart_by_what_they_say() {
    let residual = |text: &str| {
        let filter = crate::expr::parse(text).unwrap();
        Arc::new(bind(&filter, &split().context.schema, true).unwrap())
    };
    let file = Arc::new(plain_file("x"));
    let with = |residual: Arc<BoundPredicate>| ScanTask { residual, ..task(&file, 0, 1) };
    let shared = residual("id > 5");
    // Each of the middle ones is dropped before the next is made, unless the writer keeps it.
    struct Fleeting<'a>(&'a ScanTask, i64);
    impl<'a> PlainTask<'a> for Fleeting<'a> {
        fn file_key(&self) -> (usize, usize) {
            self.0.file_key()
        }
        fn file(&self) -> Result<PlainTaskFile<'a>> {
            self.0.file()
        }
        fn partition(&self) -> Result<&'a Arc<Partition>> {
            self.0.partition()
        }
        fn range(&self) -> (i64, i64) {
            self.0.range()
        }
        fn residual(&self) -> Result<Arc<BoundPredicate>> {
            let filter = crate::expr::parse(&format!("id = {}", self.1))?;
            bind(&filter, &split().context.schema, true).map(Arc::new)
        }
    }
    let (mut writer, mut out, base) = (Shared::default(), Vec::new(), task(&file, 0, 1));
    writer.put_tasks((0..20).map(|n| Fleeting(&base, n)), &mut out).unwrap();
    let read = plain_split(&out, &sections(&writer.take().unwrap()), &split().context).unwrap();
    for (n, task) in read.tasks.iter().enumerate() {
        assert_eq!(task.residual, residual(&format!("id = {n}")));
    }
    comes_back(&[of(vec![with(shared.clone()), with(residual("ts is null")), with(shared), task(&file, 0, 1)])]);
}

#[test]
fn what_has_more_is_not_plain() {
    let plain = task(&Arc::new(plain_file("x")), 0, 1);
    assert!(is_plain(&plain));
    let of_file = |file: DataFile| ScanTask { data_file: Arc::new(file), ..plain.clone() };
    let x = || plain_file("x");
    let others = [
        ScanTask { deletes: vec![DeleteRef { file: plain.data_file.clone() }], ..plain.clone() },
        ScanTask { merge: Some(Arc::default()), ..plain.clone() },
        of_file(DataFile { content: FileContent::EqualityDeletes, ..x() }),
        of_file(DataFile { metrics: Some(ColumnMetrics::default().into()), ..x() }),
        of_file(DataFile { key_metadata: Some(vec![]), ..x() }),
        of_file(DataFile { equality_ids: Some(vec![1]), ..x() }),
        of_file(DataFile { referenced_data_file: Some("y".into()), ..x() }),
        of_file(DataFile { content_offset: Some(1), ..x() }),
        of_file(DataFile { content_size_bytes: Some(1), ..x() }),
    ];
    assert!(others.iter().all(|task| !is_plain(task)));
}

#[test]
fn numbers_of_nothing_and_torn_sections_are_refused() {
    let files: Vec<_> = (0..3).map(|i| Arc::new(plain_file(&format!("f{i}")))).collect();
    let tasks: Vec<_> = files.iter().map(|file| task(file, 0, 1)).collect();
    let (bytes, shared) = written(&tasks);
    let whole = sections(&shared);
    let read = |tasks: &[u8], shared: &PlainSections<&[u8]>| plain_split(tasks, shared, &split().context);
    assert_eq!(read(&bytes, &whole).unwrap().tasks, tasks);
    for [file, range, residual] in [[3, 0, 0], [-1, 0, 0], [i64::MAX >> 3, 0, 0], [0, 0, 3], [0, 0, -1], [0, 3, 0]] {
        let mut row = Vec::new();
        [file << TASK_SHIFT | range | HAS_RESIDUAL, residual].iter().for_each(|n| put_long(&mut row, *n));
        assert_eq!(read(&row, &whole).unwrap_err().kind(), ErrorKind::CorruptTable, "{file} {range} {residual}");
    }
    for end in 0..shared.files.len() {
        assert!(read(&bytes, &PlainSections { files: &shared.files[..end], ..whole }).is_err(), "{end}");
    }
    assert!(read(&bytes, &PlainSections { partitions: b"", ..whole }).is_err());
    assert!(read(&bytes, &PlainSections { residuals: b"", ..whole }).is_err());
    assert!(read(&bytes, &PlainSections { specs: b"[]", ..whole }).is_err());
    assert!(read(&bytes[..bytes.len() - 1], &whole).is_err());
}

#[test]
fn what_is_as_before_takes_no_bytes() {
    let path = |i: usize| format!("s3://b/t/data/00001-1-a105a9b9-1cd8-35be-1359-35ddd135bdc{i}-00001.parquet");
    let size_bytes = 200;
    let files: Vec<_> = (0..3).map(|i| Arc::new(DataFile { size_bytes, ..plain_file(&path(i)) })).collect();
    let residual = split().tasks[0].residual.clone();
    let task = |file, start, length| ScanTask { residual: residual.clone(), ..task(file, start, length) };
    let whole: Vec<_> = files.iter().map(|file| task(file, 0, size_bytes)).collect();
    let (tasks, shared) = written(&whole);
    assert_eq!(tasks, [0, 0, 0]);
    let bytes = |of: &[ScanTask]| written(of).1.files.len();
    // The head of a file, two bytes for the shared part of its path, a UUID, its partition, rows and bytes.
    assert_eq!(bytes(&whole) - bytes(&whole[..2]), 2 + 2 + 1 + 16 + 1 + 1 + 1);
    assert_eq!(plain_split(&tasks, &sections(&shared), &split().context).unwrap().tasks, whole);
    // A range from the middle to the end, and a part.
    comes_back(&[of(vec![task(&files[1], 50, 150), task(&files[0], 50, 149), task(&files[0], 0, 201)])]);
}

#[test]
fn equal_residuals_are_written_once() {
    let base = plain_file("x");
    let tasks: Vec<_> = (0..3).map(|_| task(&Arc::new(base.clone()), 0, 1)).collect();
    assert!(!Arc::ptr_eq(&tasks[0].residual, &tasks[1].residual));
    let mut others = tasks.clone();
    others[1].residual = Arc::new(BoundPredicate::False);
    let residuals = |tasks: &[ScanTask]| written(tasks).1.residuals;
    assert_eq!(residuals(&tasks), residuals(&tasks[..1]));
    assert_eq!(residuals(&others), residuals(&others[..2]));
    comes_back(&[of(tasks), of(others)]);
}

#[test]
fn a_few_bytes_share_only_a_few_offsets() {
    let with = |count: usize| {
        let split_offsets = Some((0..count as i64).collect());
        task(&Arc::new(DataFile { split_offsets, ..plain_file("x") }), 0, 1)
    };
    let bytes = |count: usize| {
        let tasks = [with(count), with(count)];
        comes_back(&[of(tasks.to_vec())]);
        written(&tasks).1.files.len() - written(&tasks[..1]).1.files.len()
    };
    assert_eq!(bytes(0), bytes(MOST_SAME_OFFSETS));
    assert!(bytes(MOST_SAME_OFFSETS + 1) > MOST_SAME_OFFSETS);
    // A head that still claims to share them is refused. So are offsets of no file, and unknown formats.
    let (rows, long) = written(&[with(MOST_SAME_OFFSETS + 1), with(MOST_SAME_OFFSETS + 1)]);
    let second = written(&[with(MOST_SAME_OFFSETS + 1)]).1.files.len();
    for head in
        [HAS_OFFSETS | SAME_OFFSETS | SAME_NUMBERS, SAME_OFFSETS | SAME_NUMBERS, SAME_NUMBERS | 5 << FORMAT_SHIFT]
    {
        let mut files = long.files.clone();
        files[second..second + 2].copy_from_slice(&head.to_le_bytes());
        let shared = PlainSections { files: &files[..], ..sections(&long) };
        assert!(plain_split(&rows, &shared, &split().context).is_err(), "{head:b}");
    }
}

/// Files with mostly the same values, so that all forms of sharing occur.
fn any_task() -> impl Strategy<Value = ScanTask> {
    fn number() -> impl Strategy<Value = Option<i64>> {
        prop_oneof![4 => prop::option::of(0..2i64), 1 => any::<Option<i64>>()]
    }
    let path =
        prop_oneof![any::<String>(), "data/[01]/0000[01]-a105a9b9-1cd8-35be-1359-35ddd135bd[0-2]{2}-0000[01].parquet",];
    let offsets = prop_oneof![Just(None), Just(Some(vec![4, 9])), any::<Option<Vec<i64>>>()];
    let size = prop_oneof![4 => 0..3i64, 1 => any::<i64>()];
    let numbers = (size, number(), number(), number(), number());
    let rest = (any::<Option<i32>>(), offsets, any::<Option<i32>>(), 0..4usize, 0..6u8, any::<(i64, i64)>());
    (path, any::<i64>(), numbers, rest).prop_map(|(path, record_count, numbers, rest)| {
        let (size_bytes, sequence_number, file_sequence_number, snapshot_id, first_row_id) = numbers;
        let (sort_order_id, split_offsets, day, format, kind, odd) = rest;
        let values = vec![PartitionValue { value: day.map(Value::Int), ..file().partition.values[0].clone() }];
        let data_file = DataFile {
            format: FORMATS[format],
            partition: Arc::new(Partition { spec_id: 3, values }),
            record_count,
            size_bytes,
            sequence_number,
            file_sequence_number,
            snapshot_id,
            sort_order_id,
            first_row_id,
            split_offsets,
            ..plain_file(&path)
        };
        let (start, length) = match kind {
            0..3 => (0, size_bytes),
            3 => (1, size_bytes.wrapping_sub(1)),
            4 => (0, size_bytes.wrapping_add(1)),
            _ => odd,
        };
        let residual = if odd.0 % 2 == 0 { Arc::new(BoundPredicate::True) } else { split().tasks[0].residual.clone() };
        ScanTask { residual, ..task(&Arc::new(data_file), start, length) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
    #[test]
    fn plain_tasks_come_back_among_others(tasks in proptest::collection::vec(proptest::collection::vec(any_task(), 0..4), 1..9)) {
        let mut splits: Vec<_> = tasks.into_iter().map(of).collect();
        comes_back(&splits);
        splits.insert(splits.len() / 2, Arc::new(split()));
        comes_back(&splits);
    }

    #[test]
    fn any_sections_are_read_or_refused(tasks: Vec<u8>, partitions: Vec<u8>, residuals: Vec<u8>, files: Vec<u8>) {
        let (_, known) = written(&[task(&Arc::new(plain_file("x")), 0, 1)]);
        let all = PlainSections { partitions: &partitions[..], residuals: &residuals[..], files: &files[..], specs: &known.specs };
        for shared in [all, PlainSections { files: &files[..], ..sections(&known) }, sections(&known)] {
            let _ = plain_split(&tasks, &shared, &split().context);
        }
    }
}
