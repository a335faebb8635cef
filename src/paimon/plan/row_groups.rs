//! Files of a bucket that have columns of the same rows, in tables whose columns are in several files.
//!
//! The deletion vector of such rows belongs to the oldest of their files.
//!
//! Source: Java's `DataEvolutionUtils.retrieveAnchorFile`.

use std::sync::Arc;

use super::compact_plan::BucketFiles;
use super::deletes::for_file;
use super::sections::overlapping;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::task::{DeleteRef, MergeSection, ScanTask};

/// Files that have columns of the same rows, as places in their bucket.
#[derive(Clone, Debug)]
pub(crate) struct RowGroup {
    /// The files, the oldest first.
    pub(crate) files: Vec<usize>,
    /// The first and the last row id.
    pub(crate) rows: (i64, i64),
}

impl RowGroup {
    /// The deletion vector of the rows, if they have one.
    pub(crate) fn vectors<'b>(&self, bucket: &'b BucketFiles) -> &'b [DeleteRef] {
        let oldest = self.files.first().and_then(|at| bucket.tasks.get(*at));
        oldest.map(|task| &task.deletes[..]).unwrap_or_default()
    }

    /// Whether a deletion vector deletes some of the rows.
    pub(crate) fn has_vector(&self, bucket: &BucketFiles) -> bool {
        !self.vectors(bucket).is_empty()
    }
}

/// Whether a file has blobs or vectors. Such a file may have a part of the rows of other files.
pub(crate) fn is_part(name: &str) -> bool {
    name.ends_with(".blob") || name.contains(".vector.")
}

/// The groups of a bucket's files, by row ids ascending.
///
/// # Errors
/// `CorruptTable` for files without row ids, or that overlap without having the same rows; `Unsupported` for files of
/// blobs and of vectors.
pub(crate) fn row_groups(bucket: &BucketFiles) -> Result<Vec<RowGroup>> {
    let mut ranges = Vec::with_capacity(bucket.files.len());
    for file in &bucket.files {
        if is_part(&file.file_name) {
            return Err(Error::unsupported("rows with files of blobs or vectors can't be changed yet")
                .with("file", &file.file_name)
                .hint("Java Paimon does it"));
        }
        let ids = file.row_ids().filter(|(first, last)| *first >= 0 && first <= last);
        ranges.push(ids.ok_or_else(|| Error::corrupt("the rows of a file have no ids").with("file", &file.file_name))?);
    }
    let mut out = Vec::new();
    for mut files in overlapping(&ranges) {
        files.sort_by_key(|at| bucket.files.get(*at).map(|f| (f.max_sequence_number, &f.file_name)));
        let mut rows = files.iter().filter_map(|at| ranges.get(*at).copied());
        let Some(first) = rows.next() else { continue };
        if let Some(other) = rows.find(|other| *other != first) {
            return Err(Error::corrupt("files with columns of the same rows do not cover the same row ids")
                .with("first row id", other.0));
        }
        out.push(RowGroup { files, rows: first });
    }
    Ok(out)
}

/// The task that reads the rows of a group that are not deleted.
///
/// # Errors
/// `Internal` if the files are not the bucket's.
pub(crate) fn task_of_group(bucket: &BucketFiles, group: &RowGroup) -> Result<ScanTask> {
    let vectors = group.vectors(bucket);
    let of_file = |at: &usize| {
        let task = bucket.tasks.get(*at).ok_or_else(|| Error::internal("a group has files of another bucket"))?;
        let deletes = vectors.iter().map(|vector| for_file(vector, &task.data_file.path)).collect();
        Ok(ScanTask { deletes, ..task.clone() })
    };
    let mut tasks = group.files.iter().map(of_file).collect::<Result<Vec<_>>>()?;
    if tasks.len() == 1
        && let Some(only) = tasks.pop()
    {
        return Ok(only);
    }
    let oldest = tasks.first().map(|task| task.data_file.clone());
    Ok(ScanTask {
        data_file: oldest.ok_or_else(|| Error::internal("a group has no files"))?,
        start: 0,
        length: tasks.iter().map(|task| task.length).fold(0, i64::saturating_add),
        deletes: Vec::new(),
        residual: Arc::new(BoundPredicate::True),
        change: None,
        merge: Some(Arc::new(MergeSection { runs: tasks.into_iter().map(|task| vec![task]).collect(), before: None })),
    })
}
