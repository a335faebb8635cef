//! Random files with their true statistics. For every filter, the planned files give the rows that match.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::expr::BoundPredicate;
use crate::expr::oracle::holds;
use crate::expr::{BoundLeaf, BoundTerm, Op};
use crate::format::task::ScanTask;
use crate::paimon::manifest::entries::PaimonEntryColumns;
use crate::paimon::manifest::live::EntryJudge;
use crate::paimon::plan::files::BatchJudge;
use crate::paimon::plan::planned::files_of;
use crate::paimon::spec::binary_row_write::{encode_values, prefixed};
use crate::paimon::spec::data_type::{DataType, TypeKind};
use crate::paimon::spec::schema::TableSchema;
use crate::store::open_store;
use crate::types::FieldId;
use crate::types::{PrimitiveType, Transform, Value};

/// The columns: the partition, the key, a value.
const PARTITION: FieldId = 0;
const KEY: FieldId = 1;
const VALUE: FieldId = 2;

/// A row: partition, key, value, and the sequence number, which is higher for later rows.
type Row = (i32, i32, Option<i32>, i64);

/// A file: its level and rows, sorted by key, each key once; all of one partition and bucket.
#[derive(Clone, Debug)]
struct File {
    partition: i32,
    bucket: i32,
    level: i32,
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Append,
    Deduplicate,
    PartialUpdate,
}

fn schema(kind: Kind, buckets: i32) -> Arc<TableSchema> {
    let keys = if kind == Kind::Append { "[]" } else { r#"["p", "k"]"# };
    let engine = if kind == Kind::PartialUpdate { "partial-update" } else { "deduplicate" };
    let json = format!(
        r#"{{"version": 3, "id": 0, "highestFieldId": 2, "fields": [{{"id": 0, "name": "p", "type": "INT NOT NULL"}},
            {{"id": 1, "name": "k", "type": "INT NOT NULL"}}, {{"id": 2, "name": "v", "type": "INT"}}],
            "partitionKeys": ["p"], "primaryKeys": {keys}, "timeMillis": 0,
            "options": {{"bucket": "{buckets}", "bucket-key": "k", "merge-engine": "{engine}"}}}}"#
    );
    Arc::new(TableSchema::parse(json.as_bytes()).unwrap())
}

fn input(kind: Kind, buckets: i32, filter: BoundPredicate, split_bytes: i64) -> PaimonPlanInput {
    let schema = schema(kind, buckets);
    let mut options = schema.options.clone();
    options.insert("source.split.target-size".to_owned(), split_bytes.to_string());
    options.insert("source.split.open-file-cost".to_owned(), "1".to_owned());
    PaimonPlanInput {
        store: open_store("/nowhere", &BTreeMap::new()).unwrap(),
        root: "/nowhere".to_owned(),
        kept: Arc::default(),
        schemas: Arc::new(BTreeMap::from([(0, schema.clone())])),
        snapshot: None,
        schema,
        filter: Arc::new(filter),
        options: Arc::new(options),
        projection: None,
        files_since_ms: None,
        every_level: false,
    }
}

fn int() -> DataType {
    DataType { kind: TypeKind::Int, nullable: true }
}

fn row(values: &[Option<i32>]) -> Vec<u8> {
    let types = vec![int(); values.len()];
    let row = encode_values(values.iter().map(|v| v.map(Value::Int)), &types).unwrap();
    prefixed(&row, values.len())
}

/// Rows in files: those of one partition and bucket in runs, as compaction leaves them.
fn files(kind: Kind, buckets: i32, rows: &[(i32, i32, Option<i32>)], cuts: &[(u8, u8)]) -> Vec<File> {
    let bucketing = crate::paimon::spec::bucket::Bucketing::new(&schema(kind, buckets)).unwrap();
    let mut at: BTreeMap<(i32, i32), Vec<Row>> = BTreeMap::new();
    for (sequence, (p, k, v)) in rows.iter().enumerate() {
        let bucket = bucketing.bucket(&[Some(Value::Int(*k))], buckets).unwrap();
        at.entry((*p, bucket)).or_default().push((*p, *k, *v, sequence as i64));
    }
    let mut out = Vec::new();
    for ((partition, bucket), rows) in at {
        // The oldest rows are on the highest level, each level a sorted run; the last ones in files of level 0.
        let mut level = 3;
        let mut rest = rows.as_slice();
        for (length, files) in cuts.iter().chain([&(u8::MAX, 1)]) {
            if rest.is_empty() {
                break;
            }
            let (run, later) = rest
                .split_at(rest.len().min(*length as usize % 6 + 1).max(usize::from(*length == u8::MAX) * rest.len()));
            rest = later;
            let mut by_key: BTreeMap<(i32, i64), Row> = BTreeMap::new();
            for row in run {
                let unique = if kind == Kind::Append { row.3 } else { 0 };
                let old = by_key.get(&(row.1, unique)).copied();
                let value = if kind == Kind::PartialUpdate { row.2.or(old.and_then(|o| o.2)) } else { row.2 };
                by_key.insert((row.1, unique), (row.0, row.1, value, row.3));
            }
            let run: Vec<Row> = by_key.into_values().collect();
            let parts = if level > 0 { (*files as usize % 3 + 1).min(run.len()) } else { 1 };
            for part in run.chunks(run.len().div_ceil(parts)) {
                out.push(File {
                    partition,
                    bucket,
                    level: if kind == Kind::Append { 0 } else { level },
                    rows: part.to_vec(),
                });
            }
            level = (level - 1).max(0);
        }
    }
    out
}

/// The entries of files, as in a manifest.
fn entries(files: &[File], buckets: i32) -> PaimonEntryColumns {
    let mut c = PaimonEntryColumns::default();
    for (i, file) in files.iter().enumerate() {
        let partition = row(&[Some(file.partition)]).into_boxed_slice();
        let at = c.partitions.iter().position(|p| *p == partition).unwrap_or_else(|| {
            c.partitions.push(partition);
            c.partitions.len() - 1
        });
        let (first, last) = (file.rows[0], file.rows[file.rows.len() - 1]);
        let values: Vec<i32> = file.rows.iter().filter_map(|r| r.2).collect();
        let nulls = (file.rows.len() - values.len()) as i64;
        c.kind.push(0);
        c.partition.push(at as u32);
        c.bucket.push(file.bucket);
        c.total_buckets.push(buckets);
        assert!(c.file_name.push(Some(format!("data-{i}.parquet").as_bytes())));
        c.file_size.push(10);
        c.row_count.push(file.rows.len() as i64);
        assert!(c.min_key.push(Some(&row(&[Some(first.1)]))));
        assert!(c.max_key.push(Some(&row(&[Some(last.1)]))));
        assert!(c.key_stats.min.push(Some(&row(&[Some(first.1)]))));
        assert!(c.key_stats.max.push(Some(&row(&[Some(last.1)]))));
        assert!(c.key_stats.null_counts.push(Some(&[0])));
        let of = |key: i32, value: Option<&i32>| row(&[Some(file.partition), Some(key), value.copied()]);
        assert!(c.value_stats.min.push(Some(&of(first.1, values.iter().min()))));
        assert!(c.value_stats.max.push(Some(&of(last.1, values.iter().max()))));
        assert!(c.value_stats.null_counts.push(Some(&[0, 0, nulls])));
        c.min_sequence_number.push(file.rows.iter().map(|r| r.3).min().unwrap());
        c.max_sequence_number.push(file.rows.iter().map(|r| r.3).max().unwrap());
        c.schema_id.push(0);
        c.level.push(file.level);
        c.delete_row_count.push(Some(0));
        c.creation_time_ms.push(None);
        c.place.push(i as u32);
    }
    c
}

/// The rows that tasks give, by the contents of files.
fn read(splits: &[PlannedSplit], files: &[File], kind: Kind) -> Vec<Row> {
    let file = |task: &ScanTask| {
        let name = task.data_file.path.rsplit_once("data-").unwrap().1;
        &files[name.strip_suffix(".parquet").unwrap().parse::<usize>().unwrap()]
    };
    let mut out = Vec::new();
    for task in splits.iter().flat_map(|s| &s.tasks) {
        let rows = files_of(task).flat_map(|t| file(t).rows.clone()).collect::<Vec<Row>>();
        out.extend(if task.merge.is_some() { merged(rows, kind) } else { rows });
    }
    out
}

fn merged(mut rows: Vec<Row>, kind: Kind) -> Vec<Row> {
    if kind == Kind::Append {
        return rows;
    }
    rows.sort_by_key(|r| r.3);
    let mut by_key: BTreeMap<(i32, i32), Row> = BTreeMap::new();
    for row in rows {
        let old = by_key.get(&(row.0, row.1)).copied();
        let value = if kind == Kind::PartialUpdate { row.2.or(old.and_then(|o| o.2)) } else { row.2 };
        by_key.insert((row.0, row.1), (row.0, row.1, value, row.3));
    }
    by_key.into_values().collect()
}

fn matches(filter: &BoundPredicate, row: &Row) -> Option<bool> {
    let all = |parts: &[BoundPredicate]| parts.iter().map(|p| matches(p, row)).collect::<Vec<_>>();
    match filter {
        BoundPredicate::And(parts) => match all(parts) {
            found if found.contains(&Some(false)) => Some(false),
            found if found.contains(&None) => None,
            _ => Some(true),
        },
        BoundPredicate::Or(parts) => match all(parts) {
            found if found.contains(&Some(true)) => Some(true),
            found if found.contains(&None) => None,
            _ => Some(false),
        },
        BoundPredicate::Leaf(leaf) => {
            let value = match leaf.term.field_id {
                PARTITION => Some(row.0),
                KEY => Some(row.1),
                _ => row.2,
            };
            holds(filter, value.map(Value::Int).as_ref())
        }
        constant => holds(constant, None),
    }
}

fn filters() -> BoxedStrategy<BoundPredicate> {
    let ops =
        vec![Op::Eq, Op::Eq, Op::In, Op::NotEq, Op::NotIn, Op::Lt, Op::LtEq, Op::Gt, Op::GtEq, Op::IsNull, Op::NotNull];
    let leaf =
        (select(vec![PARTITION, KEY, KEY, VALUE, VALUE]), select(ops), prop::collection::btree_set(-3i32..14, 1..4))
            .prop_map(|(field_id, op, literals)| {
                let mut values: Vec<Value> = literals.into_iter().map(Value::Int).collect();
                match op {
                    Op::IsNull | Op::NotNull => values.clear(),
                    Op::In | Op::NotIn => {}
                    _ => values.truncate(1),
                }
                let name = ["p", "k", "v"][field_id as usize];
                let term = BoundTerm {
                    field_id,
                    path: vec![name.to_owned()],
                    source: PrimitiveType::Int.into(),
                    transform: Transform::Identity,
                    ty: PrimitiveType::Int.into(),
                    required: field_id != VALUE,
                };
                BoundPredicate::Leaf(BoundLeaf { term, op, values })
            });
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 1..4).prop_map(BoundPredicate::all),
            1 => prop::collection::vec(inner, 1..4).prop_map(BoundPredicate::any),
        ]
    })
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn plans_give_every_row_that_matches(
        kind in select(vec![Kind::Append, Kind::Deduplicate, Kind::PartialUpdate]),
        buckets in 1i32..4,
        rows in prop::collection::vec((0i32..3, -2i32..12, prop::option::weighted(0.8, -2i32..12)), 1..40),
        cuts in prop::collection::vec((any::<u8>(), any::<u8>()), 0..5),
        filter in filters(),
        split_bytes in 1i64..60,
    ) {
        let files = files(kind, buckets, &rows, &cuts);
        let input = input(kind, buckets, filter.clone(), split_bytes);
        let rules = PlanRules::of_state(&input).unwrap();
        let pruner = FilePruner::new(&input, &rules).unwrap();
        let columns = entries(&files, buckets);
        let kept: Vec<u32> = (0..files.len() as u32)
            .filter(|i| pruner.keeps(columns.partition_row(*i as usize), files[*i as usize].bucket, buckets))
            .collect();
        let mut judge = BatchJudge::new(&pruner);
        for row in kept {
            judge.wants(&columns, row as usize).unwrap();
        }
        let judged = [judge.end(columns)];
        let groups = PlannedBuckets::of(&pruner, &judged).unwrap();
        let deletes = DeletionVectors::default();
        let mut counters = PaimonPlanCounters::default();
        let splits = splits(&input, &rules, &judged, (&groups, &deletes), &mut counters).unwrap();
        let matching = |rows: Vec<Row>| {
            let found: BTreeSet<Row> = rows.into_iter().filter(|r| matches(&filter, r) == Some(true)).collect();
            found
        };
        let all: Vec<Row> = rows.iter().enumerate().map(|(i, (p, k, v))| (*p, *k, *v, i as i64)).collect();
        prop_assert_eq!(matching(read(&splits, &files, kind)), matching(merged(all, kind)));
        // The residual filter does not ask for the partition again.
        for task in splits.iter().flat_map(|s| &s.tasks) {
            prop_assert!(!task.residual.field_ids().contains(&PARTITION));
        }
        // No file twice.
        let paths: Vec<String> =
            splits.iter().flat_map(|s| s.files()).map(|t| t.data_file.path.clone()).collect();
        prop_assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), paths.len());
    }
}
