//! Explains a changelog: the funnel over all commits, and the effect of each commit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, BooleanArray, Int32Array, Int64Array, StringArray};
use arrow::compute::filter_record_batch;
use arrow::record_batch::RecordBatch;

use super::explain_files::{encode_files, encode_manifests};
use crate::error::{Error, Result};
use crate::format::task::ChangeOperation;
use crate::iceberg::plan::changes::{AnyPlan, ChangesPlan, Look};
use crate::iceberg::plan::input::{EntryScope, PlanInput};
use crate::iceberg::plan::planned::PlanCounters;
use crate::iceberg::plan::why::{FileVerdicts, ReasonJudge, Stage};
use crate::iceberg::scan::handle::IcebergScan;
use crate::iceberg::scan::survivors::{Survivors, disagree, in_waves, millis};
use crate::iceberg::spec::snapshot::Snapshot;
use crate::rows::explanation::{CommitFacts, Explained, FunnelStage};
use crate::rows::judged_files::change_file_schema;

/// A changed file: the commit, the kind of change, whether the file itself stayed, and its path.
type Changed = (i32, ChangeOperation, bool, Vec<u8>);

impl IcebergScan {
    pub(crate) fn explain_changes(
        &self,
        input: &PlanInput,
        snapshots: &[Arc<Snapshot>],
        files: bool,
    ) -> Result<Explained> {
        let began = Instant::now();
        let mut plan = ChangesPlan::new(input.clone(), snapshots);
        plan.remember_looks();
        let commits = plan.commits().map(|(ordinal, s)| CommitFacts::of(s, Some(*ordinal))).collect();
        let mut survivors = Survivors::new(AnyPlan::Changes(Box::new(plan)), input, commits);
        let (mut changed, mut stayed) = (HashMap::new(), HashSet::new());
        let (mut rows, mut whole) = (0u64, 0u64);
        while survivors.next_batch()? {
            let batch = &survivors.batch;
            let Some(change) = &batch.change else { continue };
            for (k, row) in batch.rows.iter().map(|row| *row as usize).enumerate() {
                let records = batch.columns.record_count.get(row).map_or(0, |n| n.max(&0).unsigned_abs());
                rows = rows.saturating_add(records);
                let path = batch.columns.path.get(row).unwrap_or_default().to_vec();
                match change.removed_by {
                    Some(_) => drop(stayed.insert((change.ordinal, path.clone()))),
                    None => whole += 1,
                }
                if files {
                    let key: Changed = (change.ordinal, change.operation, change.removed_by.is_some(), path);
                    changed.insert(key, batch.deletes.count(k) as u32);
                }
            }
        }
        let counters = PlanCounters { rows_kept: rows, ..survivors.plan.counters().clone() };
        let AnyPlan::Changes(plan) = &survivors.plan else { return Err(Error::internal("this is not a changelog")) };
        let (mut verdicts, mut batches) = (Vec::new(), Vec::new());
        for look in plan.looks() {
            let scoped = PlanInput { entries: look.scope.clone(), ..input.clone() };
            let judge = ReasonJudge::new(&scoped);
            let judged = look.manifests.iter().cloned().map(|m| judge.manifest(m)).collect::<Result<Vec<_>>>()?;
            if files {
                let data: Vec<_> = judged.iter().collect();
                in_waves(&judge, &data, &mut |verdict, files| {
                    for operation in operations(&look.scope) {
                        let (shown, deletes) = shown(look, *operation, &files, &changed)?;
                        let all = encode_files(verdict, &files, &deletes)?;
                        batches.push(of_change(&all, &shown, look, *operation)?);
                    }
                    Ok(())
                })?;
            }
            verdicts.extend(judged);
        }
        let mut explain = self.facts(input, &verdicts, &survivors, &counters);
        if counters.delete_manifests.manifests > 0 {
            explain.stages.push(changed_rows(&counters, whole + stayed.len() as u64));
        }
        explain.time_ms = millis(began);
        Ok(Explained { explain, manifests: encode_manifests(&verdicts)?, files: files.then_some(batches) })
    }
}

/// The stage that keeps data files with changed rows.
fn changed_rows(counters: &PlanCounters, kept: u64) -> FunnelStage {
    FunnelStage {
        name: "changed rows",
        unit: "data file",
        considered: counters.files_kept,
        kept,
        considered_bytes: counters.bytes_kept,
        kept_bytes: 0,
        reason: "deletes that changed",
        time_ms: 0.0,
    }
}

/// The possible changes of files in this scope.
fn operations(scope: &EntryScope) -> &'static [ChangeOperation] {
    match scope {
        EntryScope::RemovedBy(_) => &[ChangeOperation::Delete],
        EntryScope::KeptBy(_) => &[ChangeOperation::Delete, ChangeOperation::Insert],
        _ => &[ChangeOperation::Insert],
    }
}

/// The files to show, with their numbers of delete files. Files that stayed are shown only if their rows changed.
fn shown(
    look: &Look,
    operation: ChangeOperation,
    files: &FileVerdicts,
    changed: &HashMap<Changed, u32>,
) -> Result<(BooleanArray, Vec<u32>)> {
    let stays = matches!(look.scope, EntryScope::KeptBy(_));
    let (mut shown, mut deletes) = (Vec::new(), Vec::new());
    for (row, stage) in files.stages.iter().enumerate() {
        let path = files.columns.path.get(row).unwrap_or_default().to_vec();
        let found = changed.get(&(look.ordinal, operation, stays, path));
        let in_scope = files.in_scope.get(row).copied().unwrap_or_default();
        if in_scope && !stays && (*stage == Stage::Kept) != found.is_some() {
            return Err(disagree());
        }
        shown.push(in_scope && (found.is_some() || !stays));
        deletes.push(found.copied().unwrap_or(0));
    }
    Ok((BooleanArray::from(shown), deletes))
}

fn of_change(
    files: &RecordBatch,
    shown: &BooleanArray,
    look: &Look,
    operation: ChangeOperation,
) -> Result<RecordBatch> {
    let wrong = |e| Error::internal("the explanation is not an Arrow batch").because(e);
    let kept = filter_record_batch(files, shown).map_err(wrong)?;
    let n = kept.num_rows();
    let more: [ArrayRef; 3] = [
        Arc::new(StringArray::from_iter_values(std::iter::repeat_n(operation.as_str(), n))),
        Arc::new(Int32Array::from_value(look.ordinal, n)),
        Arc::new(Int64Array::from_value(look.snapshot.id, n)),
    ];
    let columns = kept.columns().iter().cloned().chain(more).collect();
    RecordBatch::try_new(change_file_schema(), columns).map_err(wrong)
}
