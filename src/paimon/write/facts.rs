//! Facts about a file that are collected while its rows are written.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::{max, min};
use arrow::datatypes::{Int32Type, Int64Type};

use super::file_indexes::{FileIndexes, IndexPlan, IndexResult, index_path};
use super::keyed::key_rows::KeyRows;
use super::stats::{StatsCollector, StatsConfig};
use crate::data::blobs::write::WrittenBlobs;
use crate::data::write::new_file::{FileObserver, RowObserver};
use crate::error::{Error, Result};
use crate::format::task::RowStats;
use crate::parallel::locked;
use crate::store::{Store, Unsynced};

/// The contents of a file, as found while writing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub key_stats: RowStats,
    pub value_stats: RowStats,
    pub value_stats_cols: Option<Vec<String>>,
    /// The least and the greatest key.
    pub keys: Option<(Vec<u8>, Vec<u8>)>,
    /// The least and the greatest sequence number.
    pub sequence: Option<(i64, i64)>,
    /// Rows that delete others.
    pub deletes: i64,
    pub index: IndexResult,
}

/// How files of a table with a primary key begin: where the key columns are, then the sequence number and the kind.
#[derive(Clone, Debug)]
pub(crate) struct KeyedLayout {
    /// The keys of written rows.
    pub keys: KeyRows,
    /// The places of the columns with key statistics.
    pub key_columns: Vec<usize>,
    pub sequence: usize,
    pub kind: usize,
}

/// The facts to find.
pub(crate) struct FactFinder {
    pub key_stats: StatsConfig,
    pub value_stats: StatsConfig,
    /// Where the columns of the table begin.
    pub first_value: usize,
    pub keyed: Option<KeyedLayout>,
    /// File indexes, if there are some.
    pub indexes: Option<Arc<IndexPlan>>,
    pub found: Arc<FoundFacts>,
}

/// The facts of written files, by their paths. Facts that are neither taken nor released lose their index files at the
/// end.
#[derive(Debug)]
pub(crate) struct FoundFacts {
    store: Arc<dyn Store>,
    facts: Mutex<HashMap<String, Facts>>,
    /// The files of blobs.
    pub blobs: Arc<WrittenBlobs>,
}

impl Drop for FoundFacts {
    fn drop(&mut self) {
        let facts = self.facts.get_mut().unwrap_or_else(PoisonError::into_inner);
        let indexed = facts.iter().filter(|(_, facts)| facts.index.own_file.is_some());
        self.store.discard(indexed.map(|(path, _)| index_path(path)).collect());
    }
}

impl FoundFacts {
    /// Empty facts.
    pub(crate) fn new(store: Arc<dyn Store>) -> FoundFacts {
        let blobs = Arc::new(WrittenBlobs::new(store.clone()));
        FoundFacts { store, facts: Mutex::default(), blobs }
    }

    /// The facts of a file, whose index file belongs to the caller from now on.
    ///
    /// # Errors
    /// `Internal` if it was not ended.
    pub(crate) fn take(&self, path: &str) -> Result<Facts> {
        locked(&self.facts).remove(path).ok_or_else(|| unknown(path))
    }

    /// The facts of a file.
    ///
    /// # Errors
    /// As [`FoundFacts::take`].
    pub(crate) fn of(&self, path: &str) -> Result<Facts> {
        locked(&self.facts).get(path).cloned().ok_or_else(|| unknown(path))
    }

    /// All index files and files of blobs belong to the caller from now on.
    pub(crate) fn release(&self) {
        self.blobs.release();
        locked(&self.facts).clear();
    }
}

fn unknown(path: &str) -> Error {
    Error::internal("nothing is known about a file").with("path", path)
}

impl fmt::Debug for FactFinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FactFinder")
    }
}

impl FileObserver for FactFinder {
    fn begin(&self, path: &str) -> Box<dyn RowObserver> {
        Box::new(Finding {
            path: path.to_owned(),
            key_config: self.key_stats.clone(),
            value_config: self.value_stats.clone(),
            keys: self.key_stats.collect(),
            values: self.value_stats.collect(),
            first_value: self.first_value,
            keyed: self.keyed.clone(),
            plan: self.indexes.clone(),
            indexes: None,
            found: self.found.clone(),
            facts: Facts::default(),
        })
    }
}

struct Finding {
    path: String,
    key_config: StatsConfig,
    value_config: StatsConfig,
    keys: StatsCollector,
    values: StatsCollector,
    first_value: usize,
    keyed: Option<KeyedLayout>,
    plan: Option<Arc<IndexPlan>>,
    /// The indexes, which begin with the first rows.
    indexes: Option<FileIndexes>,
    found: Arc<FoundFacts>,
    facts: Facts,
}

impl RowObserver for Finding {
    fn rows(&mut self, rows: &RecordBatch) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        self.values.add(rows.columns().iter().skip(self.first_value))?;
        if let Some(plan) = &self.plan {
            let indexes = match &mut self.indexes {
                Some(indexes) => indexes,
                none => none.insert(plan.begin()?),
            };
            indexes.add(rows.columns().get(self.first_value..).unwrap_or_default())?;
        }
        let Some(keyed) = &mut self.keyed else { return Ok(()) };
        self.keys.add(keyed.key_columns.iter().filter_map(|at| rows.columns().get(*at)))?;
        let missing = || Error::internal("rows of a file lack a key column");
        let column = |at: usize| rows.columns().get(at).ok_or_else(missing);
        let sequence = column(keyed.sequence)?.as_primitive_opt::<Int64Type>().ok_or_else(missing)?;
        let (low, high) = min(sequence).zip(max(sequence)).ok_or_else(missing)?;
        let facts = &mut self.facts;
        facts.sequence = Some(facts.sequence.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
        let kinds = column(keyed.kind)?.as_primitive_opt::<Int32Type>().ok_or_else(missing)?;
        facts.deletes += kinds.values().iter().filter(|kind| matches!(kind, 1 | 3)).count() as i64;
        let last = keyed.keys.prefixed(rows, rows.num_rows() - 1)?;
        facts.keys = Some(match facts.keys.take() {
            Some((first, _)) => (first, last),
            None => (keyed.keys.prefixed(rows, 0)?, last),
        });
        Ok(())
    }

    fn end(self: Box<Self>, unsynced: &Arc<Unsynced>) -> Result<()> {
        let (value_stats, value_stats_cols) = self.value_config.finish(self.values)?;
        let (key_stats, _) = self.key_config.finish(self.keys)?;
        let index = match self.indexes {
            Some(indexes) => indexes.finish(&self.path, unsynced)?,
            None => IndexResult::default(),
        };
        let facts = Facts { key_stats, value_stats, value_stats_cols, index, ..self.facts };
        locked(&self.found.facts).insert(self.path, facts);
        Ok(())
    }
}
