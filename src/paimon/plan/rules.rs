//! Rules of planning by the kind of table: visible levels, and whether files may be pruned one by one.
//!
//! In a primary-key table, a file must not be skipped because its rows don't match: they may replace older rows that
//! do. So statistics of values decide about single files only if files don't overlap. Otherwise they decide about whole
//! buckets.
//!
//! Source: Java's `DataTableBatchScan` and `KeyValueFileStoreScan`.

use super::input::PaimonPlanInput;
use crate::error::Result;
use crate::paimon::spec::bucket::POSTPONE_BUCKET;
use crate::paimon::spec::options::MergeEngine;
use crate::types::options::Options;

/// The rules of one plan.
#[derive(Clone, Debug)]
pub(crate) struct PlanRules {
    /// Rows have keys.
    pub has_key: bool,
    /// Files of level 0 are not seen: deletion vectors and first-row tables know of them only after compaction.
    pub hides_level_0: bool,
    /// Rows that wait for a bucket are not seen.
    pub real_buckets: bool,
    /// Statistics of values judge each file alone.
    pub values_by_file: bool,
    /// Statistics of values judge buckets with overlapping files.
    pub values_by_bucket: bool,
    /// File indexes in manifests are used.
    pub file_index: bool,
    /// File indexes in separate files are used, for data files that are read alone.
    pub index_files: bool,
    /// Files have deletion vectors.
    pub deletion_vectors: bool,
    /// Files of the same rows have some columns each.
    pub data_evolution: bool,
    /// How rows with one key become one.
    pub engine: MergeEngine,
    /// Bytes of a split.
    pub split_bytes: i64,
    /// Bytes that opening a file counts as.
    pub open_file_bytes: i64,
}

impl PlanRules {
    /// Rules for the state at a snapshot.
    pub(crate) fn of_state(input: &PaimonPlanInput) -> Result<PlanRules> {
        let options = Options(&input.options);
        let has_key = input.schema.has_primary_key();
        let (engine, deletion_vectors) = (options.merge_engine()?, options.deletion_vectors()?);
        let hides_level_0 = options.hides_level_0(has_key)? && !input.every_level;
        let data_evolution = !has_key && options.data_evolution()?;
        let index_files = options.file_index_read()? && !data_evolution;
        Ok(PlanRules {
            has_key,
            hides_level_0,
            real_buckets: options.bucket()? == POSTPONE_BUCKET,
            values_by_file: if has_key { hides_level_0 } else { !data_evolution },
            values_by_bucket: has_key,
            file_index: index_files && (!has_key || deletion_vectors),
            index_files,
            deletion_vectors,
            data_evolution,
            engine,
            split_bytes: options.split_target_bytes()?,
            open_file_bytes: options.open_file_cost_bytes()?,
        })
    }

    /// Rules for the files that appends added.
    pub(crate) fn of_delta(input: &PaimonPlanInput) -> Result<PlanRules> {
        let state = PlanRules::of_state(input)?;
        Ok(PlanRules { values_by_file: state.values_by_file && !state.has_key, values_by_bucket: false, ..state })
    }

    /// Rules for changelog files.
    pub(crate) fn of_changelog(input: &PaimonPlanInput) -> Result<PlanRules> {
        let state = PlanRules::of_state(input)?;
        let producer = Options(&input.options).get("changelog-producer").unwrap_or_default().to_ascii_lowercase();
        let whole = ["lookup", "full-compaction"].contains(&producer.as_str());
        Ok(PlanRules { values_by_file: whole || !state.has_key, values_by_bucket: false, ..state })
    }

    /// Whether a bucket with overlapping files is left out if none of them may match. This is not done if rows are
    /// combined from several.
    pub(crate) fn drops_buckets(&self) -> bool {
        self.deletion_vectors || !matches!(self.engine, MergeEngine::PartialUpdate | MergeEngine::Aggregation)
    }
}
