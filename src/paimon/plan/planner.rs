//! Planning: manifest lists → manifests → live files → splits.
//!
//! Manifests are pruned by the partitions, buckets and levels in their list. Files are pruned by partition, bucket,
//! level, key, statistics of values and file index, each manifest on its own thread. The remaining files are grouped by
//! bucket. Overlapping files of a primary-key table become sections to merge. Splits equal Java's.
//!
//! Source: Java's `KeyValueFileStoreScan`, `AppendOnlyFileStoreScan` and `SnapshotReaderImpl`.

use std::collections::HashMap;
use std::time::Instant;

use super::buckets::{PlannedBuckets, live_files};
use super::deletes::DeletionVectors;
use super::files::{FilePruner, JudgedEntries};
use super::index::drop_by_index_files;
use super::input::PaimonPlanInput;
use super::planned::{PaimonPlan, PaimonPlanCounters, PlannedSplit, count};
use super::rules::PlanRules;
use super::splits::Splitter;
use crate::error::{Result, ResultExt};
use crate::paimon::manifest::live::data_manifests;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::parallel::{Phase, begin_phase, check_cancelled, in_parallel};

/// Plans the state of a table at a snapshot.
///
/// # Errors
/// `NotFound`, `CorruptTable` or `Unsupported`, naming the file; `InvalidInput` for invalid options; a cancellation.
pub fn plan(input: &PaimonPlanInput) -> Result<PaimonPlan> {
    let rules = PlanRules::of_state(input)?;
    let Some(snapshot) = &input.snapshot else { return Ok(PaimonPlan::default()) };
    plan_state(input, &rules, snapshot).with("snapshot", snapshot.id)
}

fn plan_state(input: &PaimonPlanInput, rules: &PlanRules, snapshot: &PaimonSnapshot) -> Result<PaimonPlan> {
    let (began, _phase) = (Instant::now(), begin_phase(Phase::Planning, 0));
    let mut counters = PaimonPlanCounters::default();
    let manifests = data_manifests(input.manifests(), snapshot)?;
    let pruner = FilePruner::new(input, rules)?;
    let kept = pruner.manifests(manifests, &mut counters)?;
    counters.list_ms = millis_since(began);
    let read = Instant::now();
    let files = live_files(input, &pruner, &kept, &mut counters)?;
    counters.entries_ms = millis_since(read);
    let split = Instant::now();
    let buckets = PlannedBuckets::of(&pruner, &files)?;
    let deletes = match rules.deletion_vectors {
        true => DeletionVectors::load(input.manifests(), snapshot, &buckets.keys())?,
        false => DeletionVectors::default(),
    };
    let splits = splits(input, rules, &files, (&buckets, &deletes), &mut counters)?;
    counters.splits_ms = millis_since(split);
    Ok(PaimonPlan { splits, counters })
}

/// The number of entries that one thread makes splits of at a time.
const ENTRIES_AT_ONCE: usize = 512;

/// The splits of all buckets, on as many threads as pay off.
fn splits(
    input: &PaimonPlanInput,
    rules: &PlanRules,
    files: &[JudgedEntries],
    (buckets, deletes): (&PlannedBuckets, &DeletionVectors),
    counters: &mut PaimonPlanCounters,
) -> Result<Vec<PlannedSplit>> {
    let parts = buckets.parts(ENTRIES_AT_ONCE);
    let planned = in_parallel(parts.len(), |i| {
        let splitter = Splitter::new(input, rules, files, deletes)?;
        let (mut splits, mut counted) = (Vec::new(), PaimonPlanCounters::default());
        for (group, bucket, entries) in parts.get(i).into_iter().flatten() {
            check_cancelled()?;
            splits.extend(splitter.bucket(group, *bucket, entries)?);
        }
        count(&splits, &mut counted);
        Ok((splits, splitter.left_out(), splitter.index_files(), counted))
    })?;
    let (mut splits, mut indexes, mut counted) = (Vec::new(), HashMap::new(), PaimonPlanCounters::default());
    for (of_part, left_out, index_files, counted_there) in planned {
        counters.files_after_values = counters.files_after_values.saturating_sub(left_out);
        splits.extend(of_part);
        indexes.extend(index_files);
        counted.add_kept(&counted_there);
    }
    if !indexes.is_empty() {
        splits = drop_by_index_files(input, splits, &indexes)?;
        counted = PaimonPlanCounters::default();
        count(&splits, &mut counted);
    }
    splits.retain(|s| !s.tasks.is_empty());
    counters.add_kept(&counted);
    Ok(splits)
}

fn millis_since(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

#[cfg(test)]
#[path = "planner_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "planner_property_tests.rs"]
mod property_tests;
