//! The estimated cost of planning, by the manifest lists alone.

use super::files::FilePruner;
use super::input::PaimonPlanInput;
use super::planned::PaimonPlanCounters;
use super::rules::PlanRules;
use crate::error::Result;
use crate::format::manifest_count::ManifestCount;
use crate::paimon::manifest::live::data_manifests;

/// The cost of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanEstimate {
    /// Manifests in the manifest lists.
    pub listed: ManifestCount,
    /// Manifests that planning reads.
    pub opened: ManifestCount,
    /// Files that those manifests add. The plan has no more files.
    pub most_files: u64,
    /// Whether the snapshot has an index manifest, which planning reads where files may have deletion vectors.
    pub index_manifest: bool,
    /// Rows of the snapshot, not merged.
    pub rows: Option<u64>,
}

/// The estimate for a plan of one version.
///
/// # Errors
/// As [`super::planner::plan`], except the errors of manifests.
pub fn estimate(input: &PaimonPlanInput) -> Result<PlanEstimate> {
    let Some(snapshot) = &input.snapshot else { return Ok(PlanEstimate::default()) };
    let rules = PlanRules::of_state(input)?;
    let pruner = FilePruner::new(input, &rules)?;
    let listed = data_manifests(input.manifests(), snapshot)?;
    let mut counters = PaimonPlanCounters::default();
    let kept = pruner.manifests(listed, &mut counters)?;
    Ok(PlanEstimate {
        listed: counters.manifests,
        opened: counters.manifests_kept,
        most_files: kept.iter().map(|m| m.added_files.max(0).unsigned_abs()).fold(0, u64::saturating_add),
        index_manifest: snapshot.index_manifest.is_some(),
        rows: snapshot.total_record_count.and_then(|n| u64::try_from(n).ok()),
    })
}
