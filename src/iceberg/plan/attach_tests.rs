//! Very many deletes for each file: memory stays bounded, and the work can be stopped.

use crate::expr::BoundPredicate;
use crate::format::task::{ColumnMetrics, DataFile, FieldMap, FileContent};
use crate::iceberg::manifest::list::ManifestContent;
use crate::iceberg::plan::deletes::DeleteIndex;
use crate::iceberg::plan::input::{EntryScope, PlanInput};
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::plan::testing::{TestTable, added, batches_of, file, partition, tasks_of};
use crate::parallel::Cancellation;
use crate::types::{Field, PartitionSpec, PrimitiveType, Schema};

fn ids(low: i64, high: i64) -> ColumnMetrics {
    let one = |n: i64| Some(FieldMap::from([(1, n)]));
    let bound = |n: i64| Some(FieldMap::from([(1, n.to_le_bytes().to_vec())]));
    ColumnMetrics {
        value_counts: one(10),
        null_value_counts: one(0),
        lower_bounds: bound(low),
        upper_bounds: bound(high),
        ..ColumnMetrics::default()
    }
}

/// `files` data files and `deletes` equality deletes of all partitions. The `k`-th file ends at id `k` if
/// `told_apart`, and the `d`-th delete begins at `d`. So the file has the deletes up to `k`.
fn table(files: i64, deletes: i64, told_apart: bool) -> TestTable {
    let schema = Schema::new(0, vec![Field::new(1, "id", false, PrimitiveType::Long)], vec![]);
    let spec = PartitionSpec::default();
    let mut table = TestTable::new(2, std::slice::from_ref(&schema), std::slice::from_ref(&spec));
    let nowhere = partition(&spec, &schema, &[]);
    let data = |k: i64| {
        let high = if told_apart { k } else { i64::MAX };
        added(DataFile { metrics: Some(ids(0, high).into()), record_count: 10, ..file(&format!("f{k}"), &nowhere) }, 1)
    };
    let delete = |d: i64| {
        let (content, equality_ids) = (FileContent::EqualityDeletes, Some(vec![1]));
        let metrics = Some(ids(d, i64::MAX).into());
        added(DataFile { content, equality_ids, metrics, record_count: 10, ..file(&format!("d{d}"), &nowhere) }, 2)
    };
    table.add(ManifestContent::Data, &schema, 0, &(0..files).map(data).collect::<Vec<_>>());
    table.add(ManifestContent::Deletes, &schema, 0, &(0..deletes).map(delete).collect::<Vec<_>>());
    table.write_list(2);
    table
}

#[test]
fn files_with_the_same_deletes_share_them() {
    let batches = batches_of(table(2000, 1000, false).input(BoundPredicate::True)).unwrap();
    let sum =
        |of: &dyn Fn(&crate::iceberg::plan::planned::PlannedBatch) -> usize| batches.iter().map(of).sum::<usize>();
    assert_eq!(sum(&|b| b.deletes.total()), 2_000_000);
    assert!(sum(&|b| b.deletes.held()) <= 1000 * batches.len());
    assert!(batches.iter().all(|b| b.deletes.refs(0).unwrap().len() == 1000));
}

#[test]
fn what_is_held_of_different_deletes_is_bounded() {
    let table = table(3000, 3000, true);
    let mut plan = RunningPlan::start(table.input(BoundPredicate::True)).unwrap();
    let (mut seen, mut total, mut most) = (0, 0, 0);
    while let Some(batch) = plan.next_batch().unwrap() {
        most = most.max(batch.deletes.held());
        assert_eq!(batch.deletes.len(), batch.rows.len());
        for k in 0..batch.rows.len() {
            assert_eq!(batch.columns.path.get(batch.rows[k] as usize), Some(format!("f{seen}").as_bytes()));
            seen += 1;
            assert_eq!(batch.deletes.count(k), seen);
        }
        total += batch.deletes.total();
    }
    assert_eq!((seen, total), (3000, 3000 * 3001 / 2));
    assert!(most <= (1 << 20) + 3000 && most > 1 << 19, "{most}");
    assert_eq!(plan.counters().deletes_attached, total as u64);
    assert_eq!((plan.counters().files_kept, plan.counters().files), (3000, 3000));
    let tasks = tasks_of(&batches_of(self::table(30, 30, true).input(BoundPredicate::True)).unwrap()).unwrap();
    assert!(tasks.iter().enumerate().all(|(k, t)| t.deletes.len() == k + 1));
}

#[test]
fn the_index_and_its_look_ups_can_be_stopped() {
    let table = table(600, 600, false);
    let input = || table.input(BoundPredicate::True);
    let batches = batches_of(input()).unwrap();
    let deletes = || {
        let only = table.manifests[1].clone();
        // The deletes' own entries, planned like data.
        let mut counters = crate::iceberg::plan::planned::PlanCounters::default();
        let scoped = PlanInput { entries: EntryScope::Live, ..input() };
        RunningPlan::index_deletes(scoped, [&only], &mut counters).unwrap().unwrap()
    };
    let index = deletes();
    let attached = Cancellation::after(1).scope(|| index.attach(&batches[0]));
    assert_eq!(attached.unwrap_err().message(), "stopped");
    let schema = table.metadata.schema().unwrap();
    let batches = batches.into_iter().map(|b| b.entries).collect();
    let none = Cancellation::after(0).scope(|| DeleteIndex::new(batches, schema, &table.metadata));
    assert_eq!(none.unwrap_err().message(), "stopped");
}
