//! Explains a scan: the pruning funnel, the effect of each clause, the verdict on every manifest and file, and the
//! cost of planning.

use std::time::Instant;

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use arrow::record_batch::RecordBatch;

use crate::error::{Error, Result, ResultExt};
use crate::format::estimate::Estimate;
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::plan::changes::{AnyPlan, list_appends};
use crate::iceberg::plan::estimate::estimate_changes;
use crate::iceberg::plan::input::PlanInput;
use crate::iceberg::plan::planned::PlanCounters;
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::plan::why::{ManifestVerdict, ReasonJudge, Stage};
use crate::iceberg::scan::explain_files::{encode_manifests, encode_served};
use crate::iceberg::scan::handle::IcebergScan;
use crate::iceberg::scan::history::History;
use crate::iceberg::scan::served::{BegunPlan, metrics_of};
use crate::iceberg::scan::survivors::{Survivors, disagree, in_waves, millis};
use crate::parallel::CountedPlan;
use crate::rows::explanation::{CommitFacts, Explained, FunnelStage};

impl IcebergScan {
    /// Explains planning: it plans and keeps only the counts. With `files` it also opens the excluded manifests, and
    /// tells for every file why it was kept or dropped. For a changelog, figures are sums over its commits. Unchanged
    /// files are listed only where their rows changed, and delete files are not listed. If the catalog's server plans,
    /// only the files of its plan are known.
    ///
    /// # Errors
    /// As [`RunningPlan::start`].
    pub fn explain(&self, files: bool) -> Result<Explained> {
        let began = Instant::now();
        let explained = match self.history() {
            History::Changes(snapshots) => self.explain_changes(&self.plan_input(), snapshots, files),
            _ => match self.planned_scan(false).served() {
                Ok(None) => self.explain_files(files, began),
                Ok(Some(begun)) => self.explain_served(begun, files, began),
                Err(e) => Err(e),
            },
        };
        explained.map_err(|e| self.snapshot_id().into_iter().fold(e, |e, id| e.with("snapshot", id)))
    }

    fn explain_files(&self, files: bool, began: Instant) -> Result<Explained> {
        let (input, listed) = self.listed()?;
        let (input, appends) = (&input, self.history().appends());
        let counted = CountedPlan::begin();
        let read_ms = millis(began);
        let judge = ReasonJudge::new(input);
        let verdicts = listed.iter().cloned().map(|m| judge.manifest(m)).collect::<Result<Vec<_>>>()?;
        let plan = AnyPlan::Files(Box::new(RunningPlan::over(input.clone(), listed, began)?));
        let commits = appends.map(|s| CommitFacts::of(s, None)).collect();
        let mut survivors = Survivors::new(plan, input, commits);
        let tables = match files {
            true => Some(judge_files(&judge, &verdicts, &mut survivors)?),
            false => {
                while survivors.next_batch()? {}
                None
            }
        };
        let attached_bytes = Some(survivors.attached_bytes);
        let counters = PlanCounters { read_ms, attached_bytes, ..survivors.plan.counters().clone() };
        let mut explain = self.facts(input, &verdicts, &survivors, &counters);
        if let Some(counted) = counted {
            counted.end(metrics_of(input.cache.is_some(), &counters));
        }
        explain.time_ms = millis(began);
        Ok(Explained { explain, manifests: encode_manifests(&verdicts)?, files: tables })
    }

    /// Explains a plan of the server: only its files are known, and what was left out of them here.
    fn explain_served(&self, begun: BegunPlan, files: bool, began: Instant) -> Result<Explained> {
        let input = self.plan_input();
        let mut survivors = Survivors::new(AnyPlan::Served(Box::new(begun.plan)), &input, Vec::new());
        let mut listed = Vec::new();
        while survivors.next_batch()? {
            if files {
                listed.push(encode_served(&survivors.batch)?);
            }
        }
        let counters = survivors.plan.counters().clone();
        let mut explain = self.facts(&input, &[], &survivors, &counters);
        explain.deletes.attached = explain.deletes.position + explain.deletes.equality + explain.deletes.vectors;
        explain.stages = vec![FunnelStage {
            name: "server plan",
            unit: "data file",
            considered: counters.files,
            kept: counters.files_kept,
            considered_bytes: counters.file_bytes,
            kept_bytes: counters.bytes_kept,
            reason: "partitions of files",
            time_ms: counters.entries_ms,
        }];
        explain.server_plan = Some(begun.plan_id);
        explain.time_ms = millis(began);
        Ok(Explained { explain, manifests: encode_manifests(&[])?, files: files.then_some(listed) })
    }

    /// The cost of planning, from the manifest lists alone. For a changelog, bytes and manifests are upper bounds.
    ///
    /// # Errors
    /// As [`RunningPlan::start`].
    pub fn estimate(&self) -> Result<Estimate> {
        if let History::Changes(snapshots) = self.history() {
            return estimate_changes(&self.plan_input(), snapshots);
        }
        // The server's plan costs no manifest.
        if self.planned_scan(false).is_served()? {
            return Ok(Estimate::default());
        }
        let (input, listed) = self.listed()?;
        let judge = ReasonJudge::new(&input);
        let verdicts = listed.into_iter().map(|m| judge.manifest(m)).collect::<Result<Vec<_>>>()?;
        Ok(Estimate::new(&verdicts, &input.entries, &input.filter, input.cache.as_deref()))
    }

    /// The manifests in planning order, and the input of the plan; not for a changelog.
    pub(crate) fn listed(&self) -> Result<(PlanInput, Vec<ManifestFile>)> {
        let input = match self.history() {
            History::Appends(snapshots) => return list_appends(self.plan_input(), snapshots),
            _ => self.version_input()?,
        };
        let Some(snapshot) = &input.snapshot else { return Ok((input, Vec::new())) };
        let loaded = load_manifests(input.store.as_ref(), &input.location, snapshot);
        let mut manifests = loaded.with("snapshot", snapshot.id)?;
        manifests.reverse();
        Ok((input, manifests))
    }
}

/// Judges the files of all manifests: first data files, then delete files, as these depend on the data files that are
/// kept.
fn judge_files(
    judge: &ReasonJudge<'_>,
    verdicts: &[ManifestVerdict],
    survivors: &mut Survivors,
) -> Result<Vec<RecordBatch>> {
    let of = |content| verdicts.iter().filter(|v| v.manifest.content == content).collect::<Vec<_>>();
    let (data, deletes) = (of(ManifestContent::Data), of(ManifestContent::Deletes));
    let mut out = Vec::new();
    in_waves(judge, &data, &mut |verdict, files| {
        let mut attached = vec![0; files.columns.len()];
        let shown = BooleanArray::from(files.in_scope.clone());
        let kept = |row: &usize| files.stages.get(*row) == Some(&Stage::Kept) && shown.value(*row);
        for row in files.columns.rows().filter(kept) {
            if let Some(attached) = attached.get_mut(row) {
                *attached = survivors.take(files.columns.path.get(row))?;
            }
        }
        let all = crate::iceberg::scan::explain_files::encode_files(verdict, &files, &attached)?;
        let shown = if shown.true_count() == shown.len() { Ok(all) } else { filter_record_batch(&all, &shown) };
        out.push(shown.map_err(|e| Error::internal("the explanation is not an Arrow batch").because(e))?);
        Ok(())
    })?;
    if survivors.next < survivors.batch.rows.len() || survivors.next_batch()? {
        return Err(disagree());
    }
    let loaded = data.iter().any(|v| v.stage == Stage::Kept);
    let mut numbers = 0..;
    in_waves(judge, &deletes, &mut |verdict, mut files| {
        let mut reached = vec![0; files.columns.len()];
        for (stage, reached) in files.stages.iter_mut().zip(&mut reached).filter(|(stage, _)| **stage == Stage::Kept) {
            // Delete files are numbered in the order in which planning keeps them.
            *reached = match numbers.next() {
                Some(number) if loaded => survivors.reached.get(number).copied().unwrap_or(0),
                _ => 0,
            };
            if *reached == 0 {
                *stage = Stage::DeleteMatching;
            }
        }
        out.push(crate::iceberg::scan::explain_files::encode_files(verdict, &files, &reached)?);
        Ok(())
    })?;
    Ok(out)
}
