//! Why planning kept or left out each file of a snapshot: the stage, the clause and the bound.
//!
//! Planning itself keeps no reasons, and never opens what the manifest list excludes. Here everything is opened and judged as
//! planning does, stage by stage.

use std::collections::HashSet;
use std::sync::Arc;

use super::files::Stage;
use super::files::{Mappings, Pruner};
use super::input::{PlanInput, paths};
use super::planned::Plan;
use super::rules::Rules;
use crate::error::{Result, ResultExt};
use crate::expr::explain::explain;
use crate::format::task::{DataFile, Partition};
use crate::paimon::manifest::entries::{EntryColumns, EntryRequest};
use crate::paimon::manifest::live::{DeletedFiles, data_manifests};
use crate::paimon::spec::partition::{PartitionBounds, Paths, partition_of};
use crate::parallel::Cancellation;

/// A live file of a snapshot and what planning decided about it.
#[derive(Clone, Debug)]
pub struct FileVerdict {
    /// The file.
    pub file: DataFile,
    /// The manifest that added it.
    pub manifest: String,
    /// Where it was decided.
    pub stage: Stage,
    /// In words; empty if kept.
    pub reason: String,
}

/// All live files of the snapshot, in the order of manifests; `planned` is the plan.
///
/// # Errors
/// As [`super::planner::plan`].
pub fn verdicts(input: &PlanInput, planned: &Plan, go_on: Cancellation) -> Result<Vec<FileVerdict>> {
    let rules = Rules::of_state(input)?;
    let Some(snapshot) = &input.snapshot else { return Ok(Vec::new()) };
    let kept: HashSet<&str> =
        planned.splits.iter().flat_map(|s| s.files()).map(|t| t.data_file.path.as_str()).collect();
    let pruner = Pruner::new(input, &rules)?;
    let manifests = data_manifests(input.manifests(), snapshot)?;
    let mut of_manifests = Vec::with_capacity(manifests.len());
    for manifest in &manifests {
        of_manifests.push(pruner.why_no_manifest(manifest).with("manifest", &manifest.file_name)?);
    }
    let request = EntryRequest { keep: None, ..pruner.request() };
    let deleted = DeletedFiles::read(input.manifests(), &manifests, &request)?;
    let judge = Judge { pruner: &pruner, paths: paths(input)?, kept: &kept };
    let parts = deleted.live_parts(input.manifests(), &manifests, &request, |at, live| {
        go_on()?;
        let name = manifests.get(at).map(|m| m.file_name.as_str()).unwrap_or_default();
        let reason = of_manifests.get(at).and_then(Option::as_deref);
        judge.entries(&live.columns, &live.rows, name, reason).with("manifest", name)
    })?;
    Ok(parts.into_iter().flatten().flatten().collect())
}

struct Judge<'p> {
    pruner: &'p Pruner<'p>,
    paths: Paths,
    /// The files that the plan has.
    kept: &'p HashSet<&'p str>,
}

impl Judge<'_> {
    fn entries(
        &self,
        columns: &EntryColumns,
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
                _ if self.kept.contains(file.path.as_str()) => (Stage::Kept, String::new()),
                Some(reason) => (Stage::Manifest, reason.to_owned()),
                None => self.left_out(columns, row, &partition, &mut mappings)?,
            };
            out.push(FileVerdict { file, manifest: manifest.to_owned(), stage, reason });
        }
        Ok(out)
    }

    /// Why a file that no manifest's ranges exclude is not in the plan.
    fn left_out(
        &self,
        columns: &EntryColumns,
        row: usize,
        partition: &Partition,
        mappings: &mut Mappings,
    ) -> Result<(Stage, String)> {
        let pruner = self.pruner;
        let Some(group) = pruner.group(columns.partition_row(row))? else {
            let reason = explain(&pruner.input.filter, &PartitionBounds(partition)).unwrap_or_default();
            return Ok((Stage::Partition, reason));
        };
        let number = |column: &[i32]| column.get(row).copied().unwrap_or_default();
        if let Some(reason) = pruner.why_no_bucket(&group, number(&columns.bucket), number(&columns.total_buckets)) {
            return Ok((Stage::Bucket, reason.to_owned()));
        }
        let stage = pruner.stage(columns, row, mappings)?;
        let reason = match stage {
            // What is left are files beside it: those of the same rows, or an index.
            Stage::Kept if pruner.rules.data_evolution => {
                let reason = "the files of the same rows have no row that may match, or all that is read of them";
                return Ok((Stage::Values, reason.to_owned()));
            }
            Stage::Kept => {
                return Ok((Stage::FileIndex, "the index file beside it has no row that may match".to_owned()));
            }
            stage => pruner.why(columns, row, stage)?,
        };
        Ok((stage, reason.unwrap_or_default()))
    }
}
