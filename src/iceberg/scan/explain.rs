//! Explaining a scan: the pruning funnel, what each clause of the filter can do, and the verdict on every manifest and
//! file; and what planning will cost.

use std::collections::HashSet;
use std::time::Instant;

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use arrow::record_batch::RecordBatch;

use crate::error::{Error, Result, ResultExt};
use crate::format::estimate::Estimate;
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::plan::changes::{AnyPlan, list_appends};
use crate::iceberg::plan::deletes::AttachedDeletes;
use crate::iceberg::plan::estimate::estimate_changes;
use crate::iceberg::plan::input::PlanInput;
use crate::iceberg::plan::planned::{PlanCounters, PlannedBatch};
use crate::iceberg::plan::planner::Plan;
use crate::iceberg::plan::why::{FileVerdicts, Judge, ManifestVerdict, Stage};
use crate::iceberg::scan::explain_changes::Commits;
use crate::iceberg::scan::handle::Scan;
use crate::iceberg::scan::history::History;
use crate::parallel::in_parallel;
use crate::rows::explanation::{CacheFacts, CommitFacts, DeleteFacts, Explain, Explained, FunnelStage};

/// Manifest bytes judged at once when every file is listed; bounds the memory.
const WAVE_BYTES: i64 = 16 << 20;

impl Scan {
    /// What planning does and why: plans, keeping only the counts. With `files` it also opens the manifests that the
    /// manifest list excludes, and says of every file why it was kept or dropped. Of a changelog, figures are sums over
    /// its commits; files that stayed are listed only where their rows changed, and delete files are not.
    ///
    /// # Errors
    /// As [`Plan::start`].
    pub fn explain(&self, files: bool) -> Result<Explained> {
        let began = Instant::now();
        let explained = match self.history() {
            History::Changes(snapshots) => self.explain_changes(&self.plan_input(), snapshots, files),
            _ => self.explain_files(files, began),
        };
        explained.map_err(|e| self.snapshot_id().into_iter().fold(e, |e, id| e.with("snapshot", id)))
    }

    fn explain_files(&self, files: bool, began: Instant) -> Result<Explained> {
        let (input, listed) = self.listed()?;
        let (input, appends) = (&input, self.history().appends());
        let read_ms = millis(began);
        let judge = Judge::new(input);
        let verdicts = listed.iter().cloned().map(|m| judge.manifest(m)).collect::<Result<Vec<_>>>()?;
        let plan = AnyPlan::Files(Box::new(Plan::over(input.clone(), listed, began)?));
        let commits = appends.map(|s| CommitFacts::of(s, None)).collect();
        let mut survivors = Survivors::new(plan, input, commits);
        let tables = match files {
            true => Some(judge_files(&judge, &verdicts, &mut survivors)?),
            false => {
                while survivors.next_batch()? {}
                None
            }
        };
        let counters = PlanCounters { read_ms, ..survivors.plan.counters().clone() };
        let mut explain = self.facts(input, &verdicts, &survivors, &counters);
        explain.time_ms = millis(began);
        Ok(Explained {
            explain,
            manifests: crate::iceberg::scan::explain_files::encode_manifests(&verdicts)?,
            files: tables,
        })
    }

    pub(crate) fn facts(
        &self,
        input: &PlanInput,
        verdicts: &[ManifestVerdict],
        survivors: &Survivors,
        counters: &PlanCounters,
    ) -> Explain {
        let mut used: Vec<i32> = verdicts.iter().map(|v| v.manifest.spec_id).collect();
        used.sort_unstable();
        used.dedup();
        let specs: Vec<_> = input.metadata.partition_specs.iter().filter(|s| used.contains(&s.id)).collect();
        let deletes = DeleteFacts {
            position: counters.position_deletes,
            equality: counters.equality_deletes,
            vectors: counters.deletion_vectors,
            attached: (survivors.reached.iter().filter(|n| **n > 0).count() + survivors.reached_paths.len()) as u64,
            attachments: counters.deletes_attached + survivors.attachments,
        };
        Explain {
            table: input.metadata.location.clone(),
            format: "iceberg",
            format_version: input.metadata.format_version,
            snapshot_id: self.snapshot_id(),
            snapshot_timestamp_ms: input.snapshot.as_ref().map(|s| s.timestamp_ms),
            operation: input.snapshot.as_ref().and_then(|s| s.operation().map(str::to_owned)),
            schema_id: input.schema.id,
            specs: specs
                .iter()
                .map(|s| (s.id, crate::iceberg::scan::explain_clauses::spec_text(s, &input.schema)))
                .collect(),
            filter: self.filter_text(),
            select: self.projection().fields.iter().map(|f| f.name.clone()).collect(),
            clauses: crate::iceberg::scan::explain_clauses::of(
                &input.filter,
                &input.schema,
                &specs,
                &survivors.metrics_seen,
            ),
            stages: funnel(counters, &deletes, crate::iceberg::scan::explain_clauses::asks_of_place(&input.filter)),
            deletes,
            commits: survivors.commits.facts.clone(),
            cache: input.cache.as_ref().map(|cache| CacheFacts {
                folder: cache.folder().to_owned(),
                served: counters.from_cache.manifests,
                read: counters.to_open().iter().map(|m| m.manifests).sum(),
                trouble: cache.trouble(),
            }),
            rows: counters.rows_kept,
            time_ms: 0.0,
        }
    }

    /// What planning will cost, from the manifest lists alone. Of a changelog, bytes and manifests are upper bounds.
    ///
    /// # Errors
    /// As [`Plan::start`].
    pub fn estimate(&self) -> Result<Estimate> {
        if let History::Changes(snapshots) = self.history() {
            return estimate_changes(&self.plan_input(), snapshots);
        }
        let (input, listed) = self.listed()?;
        let judge = Judge::new(&input);
        let verdicts = listed.into_iter().map(|m| judge.manifest(m)).collect::<Result<Vec<_>>>()?;
        Ok(Estimate::new(&verdicts, &input.entries, &input.filter, input.cache.as_deref()))
    }

    /// The manifests in the order of planning, and what is planned of them; not of a changelog.
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

pub(crate) fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// What planning keeps, entry by entry.
pub(crate) struct Survivors {
    pub(crate) plan: AnyPlan,
    pub(crate) batch: PlannedBatch,
    next: usize,
    /// By number of the delete file: data files that it reaches.
    reached: Vec<u32>,
    /// Of a changelog, whose commits number them anew: those that reach a data file.
    reached_paths: HashSet<(String, Option<i64>)>,
    /// Of a changelog: how often deletes reach a data file.
    attachments: u64,
    metrics_seen: crate::iceberg::scan::explain_clauses::MetricsSeen,
    commits: Commits,
}

impl Survivors {
    pub(crate) fn new(plan: AnyPlan, input: &PlanInput, commits: Vec<CommitFacts>) -> Survivors {
        Survivors {
            plan,
            batch: PlannedBatch::default(),
            next: 0,
            reached: Vec::new(),
            reached_paths: HashSet::new(),
            attachments: 0,
            metrics_seen: crate::iceberg::scan::explain_clauses::MetricsSeen::new(&input.filter),
            commits: Commits::new(commits),
        }
    }

    pub(crate) fn next_batch(&mut self) -> Result<bool> {
        let Some(batch) = self.plan.next_batch()? else { return Ok(false) };
        if let Some(change) = &batch.change {
            for deletes in [Some(&batch.deletes), change.removed_by.as_ref()].into_iter().flatten() {
                self.attachments += deletes.total() as u64;
                for k in 0..batch.rows.len() {
                    let refs = deletes.refs(k)?.into_iter();
                    self.reached_paths.extend(refs.map(|d| (d.file.path.clone(), d.file.content_offset)));
                }
            }
        }
        let of_version = batch.change.is_none().then_some(&batch.deletes);
        for number in of_version.into_iter().flat_map(AttachedDeletes::numbers) {
            let number = number as usize;
            if number >= self.reached.len() {
                self.reached.resize(number + 1, 0);
            }
            if let Some(reached) = self.reached.get_mut(number) {
                *reached = reached.saturating_add(1);
            }
        }
        self.metrics_seen.look(&batch);
        self.commits.look(&batch);
        (self.batch, self.next) = (batch, 0);
        Ok(true)
    }

    /// Takes the next survivor, which must be the file of that path; the number of its delete files.
    fn take(&mut self, path: Option<&[u8]>) -> Result<u32> {
        while self.next >= self.batch.rows.len() {
            if !self.next_batch()? {
                return Err(disagree());
            }
        }
        let row = self.batch.rows.get(self.next).map_or(usize::MAX, |row| *row as usize);
        if path.is_none() || self.batch.columns.path.get(row) != path {
            return Err(disagree());
        }
        self.next += 1;
        Ok(self.batch.deletes.count(self.next - 1) as u32)
    }
}

pub(crate) fn disagree() -> Error {
    Error::internal("planning and its explanation disagree about a file")
}

/// Judges the files of all manifests: data first, then deletes, of which is known by then what they reach.
fn judge_files(judge: &Judge<'_>, verdicts: &[ManifestVerdict], survivors: &mut Survivors) -> Result<Vec<RecordBatch>> {
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
        out.push(shown.map_err(|e| Error::internal("the explanation is no Arrow batch").because(e))?);
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

/// Judges manifests a few at a time in parallel, and gives them on in order.
pub(crate) fn in_waves(
    judge: &Judge<'_>,
    mut manifests: &[&ManifestVerdict],

    each: &mut dyn FnMut(&ManifestVerdict, FileVerdicts) -> Result<()>,
) -> Result<()> {
    while !manifests.is_empty() {
        let mut bytes = 0i64;
        let fits = |m: &&&ManifestVerdict| {
            bytes = bytes.saturating_add(m.manifest.length_bytes.max(0));
            bytes <= WAVE_BYTES
        };
        let (wave, rest) = manifests.split_at(manifests.iter().take_while(fits).count().max(1));
        let judged = in_parallel(wave.len(), |i| judge.files(wave[i]))?;
        for (verdict, files) in wave.iter().zip(judged) {
            each(verdict, files)?;
        }
        manifests = rest;
    }
    Ok(())
}

/// The stages of a plan, whose filter asks about `_spec_id`, `_file` or not.
fn funnel(c: &PlanCounters, deletes: &DeleteFacts, [asks_spec, asks_file]: [bool; 2]) -> Vec<FunnelStage> {
    let mut stages = vec![
        FunnelStage {
            name: "manifest counts",
            unit: "manifest",
            considered: c.data_manifests.manifests,
            kept: c.live_manifests.manifests,
            considered_bytes: c.data_manifests.bytes,
            kept_bytes: c.live_manifests.bytes,
            reason: "counts of live files",
            time_ms: c.read_ms,
        },
        FunnelStage {
            name: "partition summaries",
            unit: "manifest",
            considered: c.live_manifests.manifests,
            kept: c.matching_manifests.manifests,
            considered_bytes: c.live_manifests.bytes,
            kept_bytes: c.matching_manifests.bytes,
            reason: if asks_spec { "partition ranges, specs" } else { "partition ranges" },
            time_ms: c.list_ms,
        },
    ];
    let [_, opened] = c.to_open();
    if c.delete_manifests.manifests > 0 {
        stages.push(FunnelStage {
            name: "delete manifests",
            unit: "manifest",
            considered: c.delete_manifests.manifests,
            kept: opened.manifests,
            considered_bytes: c.delete_manifests.bytes,
            kept_bytes: opened.bytes,
            reason: "counts and ranges",
            time_ms: 0.0,
        });
        stages.push(FunnelStage {
            name: "delete files",
            unit: "delete file",
            considered: c.delete_files,
            kept: deletes.position + deletes.equality + deletes.vectors,
            considered_bytes: c.delete_file_bytes,
            kept_bytes: c.delete_bytes_kept,
            reason: "partitions, keys",
            time_ms: c.deletes_ms,
        });
    }
    stages.extend(file_stages(c, asks_file));
    if c.delete_manifests.manifests > 0 {
        stages.push(FunnelStage {
            name: "deletes attached",
            unit: "delete file",
            considered: deletes.position + deletes.equality + deletes.vectors,
            kept: deletes.attached,
            considered_bytes: c.delete_bytes_kept,
            kept_bytes: 0,
            reason: "age, paths and keys",
            time_ms: 0.0,
        });
    }
    stages
}

fn file_stages(c: &PlanCounters, asks_file: bool) -> [FunnelStage; 2] {
    [
        FunnelStage {
            name: "partition tuples",
            unit: "data file",
            considered: c.files,
            kept: c.files_in_partitions,
            considered_bytes: c.file_bytes,
            kept_bytes: c.partition_bytes,
            reason: "partitions of files",
            time_ms: 0.0,
        },
        FunnelStage {
            name: "column metrics",
            unit: "data file",
            considered: c.files_in_partitions,
            kept: c.files_kept,
            considered_bytes: c.partition_bytes,
            kept_bytes: c.bytes_kept,
            reason: if asks_file { "bounds, counts and paths" } else { "bounds and counts" },
            time_ms: c.entries_ms,
        },
    ]
}
