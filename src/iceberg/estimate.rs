//! What planning will cost, from the manifest list alone.

use crate::expr::BoundPredicate;
use crate::iceberg::manifest_list::{ManifestContent, ManifestFile};
use crate::iceberg::plan::{PlanCounters, WAVE_BYTES};
use crate::iceberg::why::{ManifestVerdict, Stage};

/// The cost of a plan before any manifest is opened. Bytes and manifests are exact, as far as the manifest list is right;
/// files, rows and delete files are upper bounds, `None` where the list of an old writer has no counts; memory is about
/// right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Bytes of manifests that planning reads.
    pub bytes: u64,
    /// Data manifests that planning opens.
    pub data_manifests: u64,
    /// Delete manifests that planning opens.
    pub delete_manifests: u64,
    /// Bytes of all manifests of the snapshot.
    pub total_bytes: u64,
    /// Manifests of the snapshot.
    pub total_manifests: u64,
    /// Tasks at most: live data files in the manifests to open.
    pub data_files: Option<u64>,
    /// Rows in those files.
    pub rows: Option<u64>,
    /// Live delete files in the manifests to open.
    pub delete_files: Option<u64>,
    /// Memory of planning when tasks are streamed.
    pub streamed_memory_bytes: Option<u64>,
    /// Memory of all tasks as one table.
    pub table_memory_bytes: Option<u64>,
}

/// Memory of an entry decoded: its fixed columns, and a path of usual length.
const ENTRY_BYTES: u64 = 300;
/// More for each column of the filter: counts and bounds.
const METRIC_BYTES: u64 = 80;
/// Memory of a task in a table, compressed by no dictionary: numbers and a path of usual length.
const TASK_BYTES: u64 = 200;
/// Memory of a delete file in the index beside its entry.
const DELETE_BYTES: u64 = 300;

impl Estimate {
    /// Of a plan with this filter over the manifests of a snapshot, judged.
    pub fn new(verdicts: &[ManifestVerdict], filter: &BoundPredicate) -> Estimate {
        let mut counters = PlanCounters::default();
        let mut out = Estimate { total_manifests: verdicts.len() as u64, ..Estimate::default() };
        let (mut data, mut deletes) = (Vec::new(), Vec::new());
        for verdict in verdicts {
            let m = &verdict.manifest;
            out.total_bytes = out.total_bytes.saturating_add(m.length_bytes.max(0).unsigned_abs());
            if verdict.stage != Stage::Kept {
                continue;
            }
            match m.content {
                ManifestContent::Data => {
                    counters.matching_manifests.add(m);
                    data.push(m);
                }
                ManifestContent::Deletes => {
                    counters.matching_delete_manifests.add(m);
                    deletes.push(m);
                }
            }
        }
        if data.is_empty() {
            deletes.clear();
        }
        let [of_data, of_deletes] = counters.to_open();
        out.bytes = of_data.bytes.saturating_add(of_deletes.bytes);
        out.data_manifests = of_data.manifests;
        out.delete_manifests = of_deletes.manifests;
        let files = |m: &&ManifestFile| sum(m.added_files_count, m.existing_files_count);
        out.data_files = data.iter().map(files).try_fold(0, add);
        out.rows = data.iter().map(|m| sum(m.added_rows_count, m.existing_rows_count)).try_fold(0, add);
        out.delete_files = deletes.iter().map(files).try_fold(0, add);
        out.estimate_memory(of_data.bytes, filter);
        out
    }

    /// Streamed, a wave of manifests is in memory at once, with the index of all deletes.
    fn estimate_memory(&mut self, data_bytes: u64, filter: &BoundPredicate) {
        let (Some(files), Some(deletes)) = (self.data_files, self.delete_files) else { return };
        let entry = METRIC_BYTES.saturating_mul(filter.field_ids().len() as u64).saturating_add(ENTRY_BYTES);
        let wave = data_bytes.min(WAVE_BYTES.unsigned_abs());
        let share = |files: u64| (u128::from(files) * u128::from(wave) / u128::from(data_bytes.max(1))) as u64;
        let index = deletes.saturating_mul(entry + DELETE_BYTES).saturating_add(self.bytes - data_bytes);
        let streamed = wave.saturating_add(share(files).saturating_mul(entry)).saturating_add(index);
        self.streamed_memory_bytes = Some(streamed);
        self.table_memory_bytes = Some(streamed.saturating_add(files.saturating_mul(TASK_BYTES)));
    }
}

fn sum(added: Option<i64>, existing: Option<i64>) -> Option<u64> {
    Some(added?.max(0).unsigned_abs().saturating_add(existing?.max(0).unsigned_abs()))
}

fn add(total: u64, more: Option<u64>) -> Option<u64> {
    more.map(|more| total.saturating_add(more))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(content: ManifestContent, files: Option<i64>, stage: Stage) -> ManifestVerdict {
        let manifest = ManifestFile {
            content,
            length_bytes: 1000,
            added_files_count: files,
            existing_files_count: Some(1),
            added_rows_count: Some(i64::MAX),
            existing_rows_count: Some(5),
            ..ManifestFile::default()
        };
        ManifestVerdict { manifest, stage, reason: String::new() }
    }

    #[test]
    fn counts_what_will_be_opened() {
        use ManifestContent::{Data, Deletes};
        let of = |verdicts: &[ManifestVerdict]| Estimate::new(verdicts, &BoundPredicate::True);
        let kept = manifest(Data, Some(7), Stage::Kept);
        let pruned = manifest(Data, None, Stage::PartitionSummaries);
        let deletes = manifest(Deletes, Some(2), Stage::Kept);
        let e = of(&[kept.clone(), pruned.clone(), deletes.clone()]);
        assert_eq!((e.bytes, e.data_manifests, e.delete_manifests), (2000, 1, 1));
        assert_eq!((e.total_bytes, e.total_manifests), (3000, 3));
        assert_eq!((e.data_files, e.delete_files, e.rows), (Some(8), Some(3), Some(i64::MAX as u64 + 5)));
        assert!(e.table_memory_bytes > e.streamed_memory_bytes);
        // Delete manifests are opened only where there are files to delete from.
        let e = of(&[pruned, deletes]);
        assert_eq!((e.bytes, e.data_manifests, e.delete_manifests, e.delete_files), (0, 0, 0, Some(0)));
        // A list of an old writer has no counts.
        let e = of(&[kept, manifest(Data, None, Stage::Kept)]);
        assert_eq!((e.bytes, e.data_files, e.streamed_memory_bytes), (2000, None, None));
    }
}
