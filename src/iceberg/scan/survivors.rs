//! The files that a plan keeps, counted for an explanation.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use crate::error::{Error, Result};
use crate::format::task::ChangeOperation;
use crate::iceberg::plan::changes::AnyPlan;
use crate::iceberg::plan::deletes::AttachedDeletes;
use crate::iceberg::plan::input::PlanInput;
use crate::iceberg::plan::planned::PlannedBatch;
use crate::iceberg::plan::why::{FileVerdicts, ManifestVerdict, ReasonJudge};
use crate::iceberg::scan::explain_clauses::MetricsSeen;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::parallel::in_parallel;
use crate::rows::explanation::CommitFacts;

/// Manifest bytes judged at once when every file is listed; bounds the memory.
const WAVE_BYTES: i64 = 16 << 20;

pub(crate) fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// The files that planning keeps, entry by entry.
pub(crate) struct Survivors {
    pub(crate) plan: AnyPlan,
    pub(crate) batch: PlannedBatch,
    pub(crate) next: usize,
    /// By number of the delete file: the data files that it applies to.
    pub(crate) reached: Vec<u32>,
    /// For a changelog, where each commit numbers delete files from 0: those that apply to a data file.
    pub(crate) reached_paths: HashSet<(String, Option<i64>)>,
    /// For a changelog: how often delete files apply to a data file.
    pub(crate) attachments: u64,
    /// The bytes of delete files that apply to data files, for each data file.
    pub(crate) attached_bytes: u64,
    pub(crate) metrics_seen: MetricsSeen,
    pub(crate) commits: Commits,
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
            attached_bytes: 0,
            metrics_seen: MetricsSeen::new(&input.filter),
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
        self.attached_bytes = self.attached_bytes.saturating_add(batch.deletes.total_bytes());
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

    /// Takes the next survivor, which must be the file with this path. Returns the number of its delete files.
    pub(crate) fn take(&mut self, path: Option<&[u8]>) -> Result<u32> {
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

/// Judges manifests a few at a time in parallel, and passes them on in order.
pub(crate) fn in_waves(
    judge: &ReasonJudge<'_>,
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

/// Counts the kept files of each commit.
#[derive(Default)]
pub(crate) struct Commits {
    pub facts: Vec<CommitFacts>,
    by_snapshot: HashMap<i64, usize>,
}

impl Commits {
    pub(crate) fn new(facts: Vec<CommitFacts>) -> Commits {
        let by_snapshot = facts.iter().enumerate().map(|(i, c)| (c.snapshot_id, i)).collect();
        Commits { facts, by_snapshot }
    }

    pub(crate) fn look(&mut self, batch: &PlannedBatch) {
        if self.facts.is_empty() {
            return;
        }
        for row in &batch.rows {
            let (id, inserts) = match &batch.change {
                Some(change) => (Some(change.commit_snapshot_id), change.operation == ChangeOperation::Insert),
                None => (batch.columns.snapshot_id.get(*row as usize).copied().flatten(), true),
            };
            let at = id.and_then(|id| self.by_snapshot.get(&id));
            if let Some(commit) = at.and_then(|at| self.facts.get_mut(*at)) {
                *if inserts { &mut commit.inserts } else { &mut commit.deletes } += 1;
            }
        }
    }
}

impl CommitFacts {
    pub(crate) fn of(snapshot: &Snapshot, ordinal: Option<i32>) -> CommitFacts {
        CommitFacts {
            snapshot_id: snapshot.id,
            timestamp_ms: snapshot.timestamp_ms,
            operation: snapshot.operation().map(str::to_owned),
            ordinal,
            ..CommitFacts::default()
        }
    }
}
