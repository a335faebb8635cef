use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;
use crate::expr::{BoundPredicate, bind, parse as parse_filter};
use crate::format::task::{
    ChangeOperation, ColumnMetrics, CommitChanges, DataFile, DeleteRef, FieldMap, FileMetrics, MergeSection, Partition,
    PartitionValue, ScanTask, TaskChange,
};
use crate::format::wire::task::tests::{file, split as one_split};
use crate::parallel::Cancellation;
use crate::types::{PrimitiveType, Transform, Value};

fn packed(splits: &[Arc<Split>]) -> Vec<u8> {
    pack_tasks(splits).unwrap()
}

fn of_spec(spec_id: i32, ty: PrimitiveType, value: Option<Value>) -> Arc<Partition> {
    let transform = if spec_id == 2 { Transform::Bucket(16) } else { Transform::Identity };
    let value =
        PartitionValue { name: format!("p{spec_id}"), field_id: 1000 + spec_id, source_id: 1, transform, ty, value };
    Arc::new(Partition { spec_id, values: vec![value] })
}

fn with_tasks(tasks: Vec<ScanTask>, context: &Arc<ReadContext>) -> Arc<Split> {
    Arc::new(Split { tasks, context: context.clone() })
}

fn task_of(file: DataFile) -> ScanTask {
    ScanTask { data_file: Arc::new(file), ..one_split().tasks[0].clone() }
}

fn chunk_of(content: &[u8], splits: usize, content_bytes: u32) -> Chunk {
    let frame = OpenChunk::new().unwrap().compressor.compress(content).unwrap();
    Chunk { splits, content_bytes, frame }
}

/// This number of splits, with one task each.
fn many(count: usize) -> Vec<Arc<Split>> {
    let context = one_split().context;
    let task = |i| task_of(DataFile { path: format!("s3://b/t/data/{i}.parquet"), ..file() });
    (0..count).map(|i| with_tasks(vec![task(i)], &context)).collect()
}

/// The same of plain tasks, whose chunks are not compressed. Partitions and residuals alternate.
fn many_plain(count: usize) -> Vec<Arc<Split>> {
    let context = one_split().context;
    let residual = |text: &str| Arc::new(bind(&crate::expr::parse(text).unwrap(), &context.schema, true).unwrap());
    let residuals = ["id > 5", "id is null", "id > 5"].map(residual);
    let partitions: Vec<_> = (0..7).map(|v| of_spec(v % 2, PrimitiveType::Int, Some(Value::Int(v)))).collect();
    let task = |i: usize| {
        let folder = (i as u64).reverse_bits(); // it shares little with the folder of the file before
        let path = format!("s3://b/{folder:064b}/a105a9b9-1cd8-35be-1359-{:012x}-{}.parquet", i / 3, i % 5);
        let partition = partitions[i % partitions.len()].clone();
        let file = DataFile { path, partition, metrics: None, key_metadata: None, ..file() };
        ScanTask { deletes: vec![], residual: residuals[i % residuals.len()].clone(), ..task_of(file) }
    };
    (0..count).map(|i| with_tasks(vec![task(i)], &context)).collect()
}

fn comes_back(splits: &[Arc<Split>]) {
    let packed = packed(splits);
    for (i, split) in splits.iter().enumerate() {
        assert_eq!(packed_tasks_at(&packed, i, &split.context).unwrap(), **split, "{i}");
    }
    let e = packed_tasks_at(&packed, splits.len(), &one_split().context).unwrap_err();
    assert!(e.message().contains(&format!("the pack has {} splits", splits.len())), "{e}");
}

#[test]
fn any_number_of_splits_comes_back() {
    for count in [0, 1, 2, GROUP - 1, GROUP, GROUP + 1, 3 * GROUP + 5] {
        comes_back(&many(count));
        comes_back(&many_plain(count));
    }
    let chunks = number_at(&packed(&many_plain(GROUP + 1)), 2).unwrap();
    assert!(chunks > 2, "{chunks}");
}

#[test]
fn large_splits_have_chunks_of_their_own() {
    let small = many(3);
    let task = |i: usize| task_of(DataFile { path: format!("s3://b/{}{i}", "x".repeat(5000)), ..file() });
    let large = with_tasks((0..200).map(task).collect(), &small[0].context);
    let splits = [small[0].clone(), large.clone(), large.clone(), small[1].clone(), large, small[2].clone()];
    comes_back(&splits);
    assert_eq!(number_at(&packed(&splits), 2), Some(4));
}

#[test]
fn partition_specs_are_shared_only_where_they_are_the_same() {
    let context = one_split().context;
    let of = |partition: &Arc<Partition>| {
        let delete = DeleteRef { file: Arc::new(DataFile { partition: partition.clone(), ..file() }) };
        let task = task_of(DataFile { partition: partition.clone(), ..file() });
        with_tasks(vec![ScanTask { deletes: vec![delete], ..task }], &context)
    };
    let long = of_spec(1, PrimitiveType::Long, Some(Value::Long(7)));
    let int = of_spec(1, PrimitiveType::Int, Some(Value::Int(7)));
    let bucket = of_spec(2, PrimitiveType::Int, None);
    let none = Arc::new(Partition { spec_id: 0, values: vec![] });
    let mixed = with_tasks([&long, &bucket, &none].map(|p| of(p).tasks[0].clone()).into(), &context);
    let splits: Vec<_> = [&long, &int, &bucket, &none, &int, &long].into_iter().map(of).chain([mixed]).collect();
    comes_back(&splits);
    let place = &packed(&splits);
    let content = find(place, 0).unwrap().content().unwrap();
    let specs =
        |i| serde_json::from_slice::<serde_json::Value>(parts(&content, i).unwrap().split).unwrap()["specs"].clone();
    assert_eq!([0, 1, 2, 4, 5, 6].map(|i| specs(i).as_array().unwrap().len()), [0, 1, 0, 1, 0, 0]);
}

#[test]
fn whatever_a_task_has_comes_back() {
    let mut split = one_split();
    let residual = bind(&parse_filter("id > 5 or ts is null").unwrap(), &split.context.schema, true).unwrap();
    let other = Arc::new(DataFile { partition: of_spec(9, PrimitiveType::String, None), ..file() });
    let removed_by = Some(vec![DeleteRef { file: other.clone() }]);
    let plain = split.tasks[0].clone();
    let commit = CommitChanges { sequence_number: 8, first_row_id: 70, tasks: vec![plain.clone()] };
    let (operation, commit) = (ChangeOperation::Delete, Some(Arc::new(commit)));
    let change = TaskChange { operation, ordinal: 2, commit_snapshot_id: -3, removed_by, commit };
    let merge = MergeSection { runs: vec![vec![plain.clone(), plain.clone()], vec![plain.clone()]], before: None };
    split.tasks.push(ScanTask { residual: Arc::new(residual), ..plain.clone() });
    split.tasks.push(ScanTask { residual: Arc::new(BoundPredicate::False), data_file: other, ..plain.clone() });
    split.tasks.push(ScanTask { change: Some(Box::new(change)), ..plain.clone() });
    split.tasks.push(ScanTask { merge: Some(Arc::new(merge)), ..plain });
    let empty = Split { tasks: vec![], context: split.context.clone() };
    comes_back(&[Arc::new(split), Arc::new(empty)]);
}

#[test]
fn damage_is_an_error() {
    damage_is_found(&many(5));
    damage_is_found(&many_plain(5));
}

fn damage_is_found(splits: &[Arc<Split>]) {
    let (packed, context) = (packed(splits), &splits[0].context);
    let read = |bytes: &[u8], i| packed_tasks_at(bytes, i, context);
    for end in 0..packed.len() {
        assert_eq!(read(&packed[..end], 2).unwrap_err().kind(), ErrorKind::InvalidInput, "{end}");
    }
    assert!(read(&[&packed[..], b"x"].concat(), 2).is_err());
    for at in 0..packed.len() {
        for bit in [1, 4, 0x80, 0xff] {
            let mut bytes = packed.clone();
            bytes[at] ^= bit;
            // One bit of the frame's header is not used. No change makes the reader return another split.
            match read(&bytes, 2) {
                Ok(split) => assert_eq!(split, *splits[2], "{at}"),
                Err(e) => assert_eq!(e.kind(), ErrorKind::InvalidInput, "{at}"),
            }
        }
    }
}

#[test]
fn a_claim_of_many_bytes_gets_no_memory() {
    let bytes = written(&[chunk_of(b"[]", 1, u32::MAX)]).unwrap();
    assert!(packed_tasks_at(&bytes, 0, &one_split().context).is_err());
}

#[test]
fn splits_of_several_scans_are_refused() {
    let mut splits = many(2);
    let context = ReadContext { batch_rows: 7, ..splits[1].context.as_ref().clone() };
    splits.push(with_tasks(vec![], &Arc::new(context)));
    assert_eq!(pack_tasks(&splits).unwrap_err().kind(), ErrorKind::Internal);
    let stopped = Cancellation::after(0).scope(|| pack_tasks(&many(400)));
    assert_eq!(stopped.unwrap_err().message(), "stopped");
}

/// Partition specs have the same types in all tasks of a split, because the text of a split can't express anything
/// else.
fn any_task() -> impl Strategy<Value = ScanTask> {
    let values = prop_oneof![
        any::<Option<i64>>().prop_map(|v| of_spec(1, PrimitiveType::Long, v.map(Value::Long))),
        any::<i32>().prop_map(|v| of_spec(2, PrimitiveType::Int, Some(Value::Int(v)))),
        any::<String>().prop_map(|v| of_spec(5, PrimitiveType::String, Some(Value::String(v)))),
        any::<f64>().prop_map(|v| of_spec(4, PrimitiveType::Double, Some(Value::Double(v)))),
    ];
    let bounds = proptest::collection::vec((any::<i32>(), any::<Vec<u8>>()), 0..5);
    let sizes = (0..i64::MAX, 0..i64::MAX);
    (values, any::<String>(), bounds, sizes, 0..3usize).prop_map(|(partition, path, bounds, sizes, deletes)| {
        let lower_bounds = Some(FieldMap::from_iter(bounds));
        let metrics = Some(FileMetrics::from(ColumnMetrics { lower_bounds, ..ColumnMetrics::default() }));
        let data_file = DataFile { partition, path, metrics, size_bytes: sizes.0, record_count: sizes.1, ..file() };
        let task = task_of(data_file);
        ScanTask { deletes: vec![task.deletes[0].clone(); deletes], ..task }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn what_is_packed_comes_back(tasks in proptest::collection::vec(proptest::collection::vec(any_task(), 0..4), 1..9)) {
        let context = one_split().context;
        comes_back(&tasks.into_iter().map(|tasks| with_tasks(tasks, &context)).collect::<Vec<_>>());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, index in 0..9usize) {
        let _ = packed_tasks_at(&bytes, index, &one_split().context);
        let table = [&1u32.to_le_bytes()[..], &bytes].concat();
        let with_checksum = [&MAGIC[..], &crc32fast::hash(&table).to_le_bytes(), &table].concat();
        let _ = packed_tasks_at(&with_checksum, index, &one_split().context);
        let chunk = chunk_of(&bytes, 9, bytes.len() as u32);
        prop_assert!(packed_tasks_at(&written(&[chunk]).unwrap(), index, &one_split().context).is_err());
    }
}
