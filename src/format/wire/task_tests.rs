use super::*;
use crate::format::task::{BucketContext, BucketFile, MergeSection};
use crate::types::Field;

fn day() -> PartitionValue {
    PartitionValue {
        name: "ts_day".into(),
        field_id: 1000,
        source_id: 2,
        transform: Transform::Day,
        ty: PrimitiveType::Date,
        value: Some(Value::Int(17486)),
    }
}

pub(crate) fn file() -> DataFile {
    DataFile {
        content: FileContent::Data,
        path: "s3://b/t/data/x.parquet".into(),
        format: FileFormat::Parquet,
        partition: Arc::new(Partition { spec_id: 3, values: vec![day()] }),
        record_count: 7,
        size_bytes: 1024,
        sequence_number: Some(5),
        file_sequence_number: Some(6),
        snapshot_id: Some(i64::MAX),
        metrics: Some(FileMetrics::from(ColumnMetrics {
            value_counts: Some(FieldMap::from([(1, 7)])),
            lower_bounds: Some(FieldMap::from([(1, vec![1, 0xab])])),
            ..Default::default()
        })),
        key_metadata: Some(vec![0, 255]),
        split_offsets: Some(vec![4, 512]),
        equality_ids: None,
        sort_order_id: Some(0),
        first_row_id: Some(0),
        referenced_data_file: None,
        content_offset: None,
        content_size_bytes: None,
        bucket_file: None,
    }
}

pub(crate) fn split() -> Split {
    let fields =
        vec![Field::new(1, "id", true, PrimitiveType::Long), Field::new(2, "ts", false, PrimitiveType::Timestamp)];
    let schema = Arc::new(Schema::new(4, fields, vec![1]));
    let delete = DataFile { content: FileContent::EqualityDeletes, equality_ids: Some(vec![1]), ..file() };
    let task = ScanTask {
        data_file: Arc::new(file()),
        start: 4,
        length: 1020,
        deletes: vec![DeleteRef { file: Arc::new(delete) }],
        residual: Arc::new(BoundPredicate::True),
        change: None,
        merge: None,
    };
    let context = ReadContext {
        projection: schema.clone(),
        schema,
        dropped: vec![Schema::new(2, vec![Field::new(9, "old", false, PrimitiveType::Int)], vec![])].into(),
        change_filter: Arc::new(BoundPredicate::True),
        snapshot_id: Some(77),
        location: Location::moved("/a", "/b"),
        storage_options: BTreeMap::from([("k".into(), "v".into())]),
        name_mapping: Some("[]".into()),
        keep_deleted: true,
        batch_rows: 100,
        buckets: None,
    };
    Split { context: Arc::new(context), tasks: vec![task] }
}

#[test]
fn splits_and_messages_survive_the_journey() {
    let s = split();
    assert_eq!(split_from_json(&split_to_json(&s).unwrap()).unwrap(), s);
    let at = WrittenAt { sequence_number: 7, time_ms: 1_700_000_000_000 };
    let m = CommitMessage { rewrites: Some(3), ..CommitMessage::new("u", vec![file()], Some(at)) };
    assert_eq!(message_from_json(&message_to_json(&m).unwrap()).unwrap(), m);
    // A message of an earlier version of the library.
    let m = CommitMessage::new("u", vec![file()], None);
    assert_eq!(message_from_json(&message_to_json(&m).unwrap()).unwrap(), m);
}

#[test]
fn changes_survive_the_journey_and_have_no_form_of_the_specification() {
    let mut s = split();
    let other = DataFile { partition: Arc::new(Partition { spec_id: 9, values: vec![] }), ..file() };
    let change = |commit| {
        let removed_by = Some(vec![DeleteRef { file: Arc::new(other.clone()) }]);
        let operation = ChangeOperation::Delete;
        Some(Box::new(TaskChange { operation, ordinal: 2, commit_snapshot_id: -3, removed_by, commit }))
    };
    let inner = ScanTask { change: change(None), ..s.tasks[0].clone() };
    let commit = CommitChanges { sequence_number: 8, first_row_id: 70, tasks: vec![inner] };
    s.tasks[0].change = change(Some(Arc::new(commit)));
    let filter = predicate_from_json(&json!({"type": "eq", "term": "_change_type", "value": "delete"})).unwrap();
    let filter = bind(&filter, &metadata_columns(), true).unwrap();
    s.context = Arc::new(ReadContext { change_filter: Arc::new(filter), ..s.context.as_ref().clone() });
    assert_eq!(split_from_json(&split_to_json(&s).unwrap()).unwrap(), s);
    assert!(task_to_json(&s.tasks[0], &s.context.schema).is_err());
}

#[test]
fn files_to_be_merged_survive_the_journey() {
    let mut s = split();
    let bucket_file = BucketFile {
        bucket: -2,
        total_buckets: 4,
        level: 5,
        schema_id: 3,
        min_key: vec![0, 255],
        max_key: vec![],
        min_sequence_number: 7,
        max_sequence_number: i64::MAX,
        delete_row_count: Some(2),
        write_columns: Some(vec!["a".into()]),
    };
    let task = |bucket_file| {
        let data_file = Arc::new(DataFile { bucket_file: Some(Box::new(bucket_file)), ..file() });
        ScanTask { data_file, ..s.tasks[0].clone() }
    };
    let other = BucketFile { delete_row_count: None, write_columns: None, ..bucket_file.clone() };
    let runs = vec![vec![task(bucket_file)], vec![task(other.clone()), task(other)]];
    let before = Some(vec![runs[1].clone()]);
    let section = |before| Some(Arc::new(MergeSection { runs: runs.clone(), before }));
    s.tasks = [None, before].map(|before| ScanTask { merge: section(before), ..s.tasks[0].clone() }).into();
    let schemas = BTreeMap::from([(3, s.context.schema.clone())]);
    let options = BTreeMap::from([("merge-engine".into(), "first-row".into())]);
    let declared = BTreeMap::from([(3, Arc::new(BTreeMap::from([(1, "TINYINT".into()), (2, "CHAR(3)".into())])))]);
    let buckets = Some(Arc::new(BucketContext { schemas, declared, key: vec![1], options }));
    s.context = Arc::new(ReadContext { buckets, ..s.context.as_ref().clone() });
    assert_eq!(split_from_json(&split_to_json(&s).unwrap()).unwrap(), s);
}

/// Spelling as in a task that Java Iceberg 1.12 serialised.
#[test]
fn tasks_have_the_specifications_members() {
    let s = split();
    let text = task_to_json(&s.tasks[0], &s.context.schema).unwrap();
    let j: Json = serde_json::from_str(&text).unwrap();
    let keys: Vec<&String> = j.as_object().unwrap().keys().collect();
    let expected = ["task-type", "schema", "spec", "data-file", "start", "length", "delete-files", "residual-filter"];
    assert_eq!(keys, expected);
    assert_eq!(j["data-file"]["partition"], json!(["2017-11-16"]));
    assert_eq!(j["data-file"]["lower-bounds"], json!({"keys": [1], "values": ["01AB"]}));
    assert_eq!(j["delete-files"][0]["content"], "equality-deletes");
    let (task, schema) = task_from_json(&text).unwrap();
    assert_eq!(schema, *s.context.schema);
    let unnumbered = DataFile { sequence_number: None, file_sequence_number: None, snapshot_id: None, ..file() };
    assert_eq!(*task.data_file, unnumbered);
}

/// Java Iceberg 1.12 wrote the ids of an equality delete file with columns 9, 10 and 13 as 9, 13, 10.
#[test]
fn metrics_are_in_javas_order() {
    let counts = Some(FieldMap::from([(9, 3), (10, 3), (13, 3)]));
    let metrics = FileMetrics::from(ColumnMetrics { value_counts: counts, ..Default::default() });
    let of_data = DataFile { metrics: Some(metrics), ..file() };
    let equality_ids = Some(vec![9, 10, 13]);
    let of_deletes = DataFile { content: FileContent::EqualityDeletes, equality_ids, ..of_data.clone() };
    let keys = |file: &DataFile| file_object(file, TaskForm::Complete).unwrap()["value-counts"]["keys"].clone();
    assert_eq!(keys(&of_data), json!([9, 10, 13]));
    assert_eq!(keys(&of_deletes), json!([9, 13, 10]));
}

/// A partition column that became wider and was then dropped: files have the type that their manifest was written
/// with.
#[test]
fn values_of_one_spec_may_be_of_several_types() {
    let of = |ty, value| {
        let source = PartitionValue { name: "p".into(), transform: Transform::Identity, ..day() };
        let values = vec![PartitionValue { ty, value: Some(value), ..source }];
        DataFile { partition: Arc::new(Partition { spec_id: 3, values }), ..file() }
    };
    let float = of(PrimitiveType::Float, Value::Float(0.1));
    let double = of(PrimitiveType::Double, Value::Double(0.1));
    let date = of(PrimitiveType::Date, Value::Int(5));
    let timestamp = of(PrimitiveType::Timestamp, Value::Long(5));
    for files in [[&float, &double], [&double, &float], [&date, &timestamp]] {
        let task =
            |f: &&DataFile| ScanTask { data_file: Arc::new((*f).clone()), deletes: vec![], ..split().tasks[0].clone() };
        let mut s = Split { tasks: files.iter().map(task).collect(), ..split() };
        assert_eq!(split_from_json(&split_to_json(&s).unwrap()).unwrap(), s);
        let deletes = files.iter().map(|&f| DeleteRef { file: Arc::new(f.clone()) });
        s.tasks.truncate(1);
        s.tasks[0].deletes = deletes.collect();
        assert_eq!(tasks_from_json(&tasks_to_json(&s).unwrap(), &s.context).unwrap(), s);
        let message = CommitMessage::new("u", files.map(DataFile::clone).into(), None);
        assert_eq!(message_from_json(&message_to_json(&message).unwrap()).unwrap(), message);
    }
}

#[test]
fn wrong_json_names_the_member() {
    assert!(split_from_json("{}").unwrap_err().to_string().contains("context"));
    assert!(task_from_json("no").is_err());
    let text = split_to_json(&split()).unwrap().replace("\"file-size-in-bytes\":1024", "\"file-size-in-bytes\":\"x\"");
    assert!(split_from_json(&text).unwrap_err().to_string().contains("file-size-in-bytes"));
}
