//! Why planning kept or left out each file of a snapshot: the stage, the clause and the bound.
//!
//! Planning itself keeps no reasons, and never opens manifests that the manifest list excludes. This module opens all
//! of them and applies the stages of planning.

use std::collections::HashSet;
use std::sync::Arc;

use super::files::PruneStage;
use super::files::{FilePruner, Mappings};
use super::input::{PaimonPlanInput, paths};
use super::planned::PaimonPlan;
use super::rules::PlanRules;
use crate::error::{Result, ResultExt};
use crate::expr::explain::explain;
use crate::format::task::{DataFile, Partition};
use crate::paimon::manifest::entries::{PaimonEntryColumns, PaimonEntryRequest};
use crate::paimon::manifest::live::{DeletedFiles, data_manifests};
use crate::paimon::spec::partition::{PaimonPartitionBounds, TablePaths, partition_of};
use crate::parallel::check_cancelled;

/// A live file of a snapshot and the decision of planning about it.
#[derive(Clone, Debug)]
pub struct FileVerdict {
    /// The file.
    pub file: DataFile,
    /// The manifest that added it.
    pub manifest: String,
    /// Where it was decided.
    pub stage: PruneStage,
    /// The reason in words; empty if kept.
    pub reason: String,
}

/// All live files of the snapshot, in the order of manifests; `planned` is the plan.
///
/// # Errors
/// As [`super::planner::plan`].
pub fn verdicts(input: &PaimonPlanInput, planned: &PaimonPlan) -> Result<Vec<FileVerdict>> {
    let rules = PlanRules::of_state(input)?;
    let Some(snapshot) = &input.snapshot else { return Ok(Vec::new()) };
    let kept: HashSet<&str> =
        planned.splits.iter().flat_map(|s| s.files()).map(|t| t.data_file.path.as_str()).collect();
    let pruner = FilePruner::new(input, &rules)?;
    let manifests = data_manifests(input.manifests(), snapshot)?;
    let mut of_manifests = Vec::with_capacity(manifests.len());
    for manifest in &manifests {
        of_manifests.push(pruner.why_no_manifest(manifest).with("manifest", &manifest.file_name)?);
    }
    let request = PaimonEntryRequest { keep: None, ..pruner.request() };
    let deleted = DeletedFiles::read(input.manifests(), &manifests, &request)?;
    let judge = FileJudge { pruner: &pruner, paths: paths(input)?, kept: &kept };
    let parts = deleted.live_parts(input.manifests(), &manifests, &request, |at, live| {
        check_cancelled()?;
        let name = manifests.get(at).map(|m| m.file_name.as_str()).unwrap_or_default();
        let reason = of_manifests.get(at).and_then(Option::as_deref);
        judge.entries(&live.columns, &live.rows, name, reason).with("manifest", name)
    })?;
    Ok(parts.into_iter().flatten().flatten().collect())
}

struct FileJudge<'p> {
    pruner: &'p FilePruner<'p>,
    paths: TablePaths,
    /// The files that the plan has.
    kept: &'p HashSet<&'p str>,
}

impl FileJudge<'_> {
    fn entries(
        &self,
        columns: &PaimonEntryColumns,
        rows: &[u32],
        manifest: &str,
        excluded: Option<&str>,
    ) -> Result<Vec<FileVerdict>> {
        let mut mappings = Mappings::default();
        let mut out = Vec::with_capacity(rows.len());
        for row in rows.iter().map(|row| *row as usize) {
            let partition = Arc::new(partition_of(&self.pruner.input.schema, columns.partition_row(row))?);
            let bucket = columns.bucket.get(row).copied().unwrap_or_default();
            let folder = self.paths.bucket(&partition, bucket)?;
            let file = columns.data_file(row, partition.clone(), &folder)?;
            let (stage, reason) = match excluded {
                _ if self.kept.contains(file.path.as_str()) => (PruneStage::Kept, String::new()),
                Some(reason) => (PruneStage::Manifest, reason.to_owned()),
                None => self.left_out(columns, row, &partition, &mut mappings)?,
            };
            out.push(FileVerdict { file, manifest: manifest.to_owned(), stage, reason });
        }
        Ok(out)
    }

    /// Why a file that no manifest's ranges exclude is not in the plan.
    fn left_out(
        &self,
        columns: &PaimonEntryColumns,
        row: usize,
        partition: &Partition,
        mappings: &mut Mappings,
    ) -> Result<(PruneStage, String)> {
        let pruner = self.pruner;
        let Some(group) = pruner.group(columns.partition_row(row))? else {
            let reason = explain(&pruner.input.filter, &PaimonPartitionBounds(partition)).unwrap_or_default();
            return Ok((PruneStage::Partition, reason));
        };
        let number = |column: &[i32]| column.get(row).copied().unwrap_or_default();
        if let Some(reason) = pruner.why_no_bucket(&group, number(&columns.bucket), number(&columns.total_buckets)) {
            return Ok((PruneStage::Bucket, reason.to_owned()));
        }
        let stage = pruner.stage(columns, row, mappings)?;
        let reason = match stage {
            // Only files of the same rows or an index file are left as the reason.
            PruneStage::Kept if pruner.rules.data_evolution => {
                let reason = "no row of the group may match, or its other files already have all columns that are read";
                return Ok((PruneStage::Values, reason.to_owned()));
            }
            PruneStage::Kept => {
                return Ok((PruneStage::FileIndex, "its own index file excludes the filter".to_owned()));
            }
            stage => pruner.why(columns, row, stage)?,
        };
        Ok((stage, reason.unwrap_or_default()))
    }
}
