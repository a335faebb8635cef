//! File indexes in separate files next to the data files. They are read last, for files that all other checks keep.

use std::collections::{HashMap, HashSet};

use super::files::index_may_match;
use super::input::PaimonPlanInput;
use super::planned::PlannedSplit;
use crate::error::{Result, ResultExt};
use crate::store::in_parallel;

/// The most indexes that planning reads. If a scan keeps more files, it reads no index.
const MOST_FILES: usize = 1000;

/// The suffix of an index file's name.
pub(crate) const SUFFIX: &str = ".index";

/// The index file of a data file.
#[derive(Clone, Debug)]
pub(crate) struct IndexFile {
    /// The data file.
    pub data_file: String,
    /// Where the index is.
    pub path: String,
    /// The schema that both were written with.
    pub schema_id: i64,
}

/// Skips files that are read alone and have an index file that excludes the filter.
///
/// # Errors
/// As the store's; `CorruptTable`, naming the index, if it is damaged.
pub(crate) fn drop_by_index_files(
    input: &PaimonPlanInput,
    mut splits: Vec<PlannedSplit>,
    indexes: &HashMap<String, IndexFile>,
) -> Result<Vec<PlannedSplit>> {
    let tasks = splits.iter().flat_map(|s| &s.tasks).filter(|t| t.merge.is_none());
    let asked: Vec<_> =
        tasks.filter_map(|t| indexes.get(&t.data_file.path).map(|index| (index, t.residual.clone()))).collect();
    if asked.is_empty() || asked.len() > MOST_FILES {
        return Ok(splits);
    }
    let kept = in_parallel(input.store.as_ref(), asked.len(), |i| {
        let Some((index, filter)) = asked.get(i) else { return Ok(true) };
        let bytes = input.store.get(&index.path)?;
        index_may_match(input, Some(&index.schema_id), &bytes, filter).with("path", &index.path)
    })?;
    let dropped: HashSet<&str> =
        asked.iter().zip(&kept).filter(|(_, kept)| !**kept).map(|((index, _), _)| index.data_file.as_str()).collect();
    for split in &mut splits {
        split.tasks.retain(|t| t.merge.is_some() || !dropped.contains(t.data_file.path.as_str()));
    }
    Ok(splits)
}
