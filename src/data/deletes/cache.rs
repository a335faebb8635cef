//! The decoded delete files of a scan, kept in memory for all its tasks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::DefaultHashBuilder;

use super::keys::{KeyEncoder, KeySet, Unions};
use super::position_sets::PositionsByFile;
use super::weighted_cache::WeightedCache;
use crate::data::arrow::schema::arrow_primitive;
use crate::data::changes::row_moves::RowMoves;
use crate::data::read::filter_columns::key_path;
use crate::error::{Error, Result};
use crate::format::task::ReadContext;
use crate::parallel::locked_unless_cancelled;
use crate::types::FieldId;

/// Bytes of decoded positions that a cache keeps for later tasks. It keeps the same number of bytes of decoded keys.
const KEPT_BYTES: u64 = 128 << 20;

/// The number of a changelog's commits whose moved rows a cache keeps at once.
const KEPT_COMMITS: usize = 4;

/// The place of a deletion vector or position delete file. If it was not decoded whole, also the one data file that was
/// looked for.
type PositionsKey = (String, Option<(i64, i64)>, Option<String>);

/// The contents of a scan's delete files, shared by its tasks, up to a number of bytes. One cache serves one
/// [`ReadContext`]; its clones are the same cache.
#[derive(Clone, Debug)]
pub struct DeleteCache {
    pub(super) positions: Arc<WeightedCache<PositionsKey, PositionsByFile>>,
    pub(super) keys: Arc<WeightedCache<(String, Vec<FieldId>), KeySet>>,
    pub(super) unions: Arc<Unions>,
    hasher: DefaultHashBuilder,
    /// Rows that the last commits moved, by snapshot id. Tasks come commit by commit.
    moves: Arc<Mutex<Moves>>,
}

/// The moved rows of commits.
type Moves = VecDeque<(i64, Arc<MovesPlace>)>;

/// The thread that loads it holds the lock; others wait.
type MovesPlace = Mutex<Option<Arc<RowMoves>>>;

impl Default for DeleteCache {
    fn default() -> Self {
        DeleteCache::new(KEPT_BYTES)
    }
}

impl DeleteCache {
    /// A cache that keeps at most about `kept_bytes` bytes of positions, and the same of keys. Values that tasks use
    /// now are not counted.
    pub fn new(kept_bytes: u64) -> DeleteCache {
        DeleteCache {
            positions: Arc::new(WeightedCache::new(kept_bytes)),
            keys: Arc::new(WeightedCache::new(kept_bytes)),
            unions: Arc::new(WeightedCache::new(kept_bytes)),
            hasher: Default::default(),
            moves: Arc::default(),
        }
    }

    /// The rows that a commit moved, loaded once for its tasks.
    ///
    /// # Errors
    /// The errors of `load`.
    pub(crate) fn row_moves(&self, commit: i64, load: impl FnOnce() -> Result<RowMoves>) -> Result<Arc<RowMoves>> {
        let place = {
            let mut places = self.moves.lock().unwrap_or_else(PoisonError::into_inner);
            match places.iter().find(|(id, _)| *id == commit) {
                Some((_, place)) => place.clone(),
                None => {
                    let place = Arc::<MovesPlace>::default();
                    places.push_back((commit, place.clone()));
                    if places.len() > KEPT_COMMITS {
                        places.pop_front();
                    }
                    place
                }
            }
        };
        let mut value = locked_unless_cancelled(&place)?;
        match value.as_ref() {
            Some(moves) => Ok(moves.clone()),
            None => Ok(value.insert(Arc::new(load()?)).clone()),
        }
    }

    /// The encoder of keys of these columns.
    ///
    /// # Errors
    /// `CorruptTable` for no columns, and for columns that no schema of the table has; `Unsupported` for columns that
    /// are not primitive, and for columns inside lists or maps.
    pub(super) fn encoder(&self, context: &ReadContext, ids: &[FieldId]) -> Result<KeyEncoder> {
        if ids.is_empty() {
            return Err(Error::corrupt("an equality delete file names no key columns"));
        }
        let data_type = |id: &FieldId| {
            let path = key_path(context, *id)?;
            let ty = path.last().and_then(|f| f.ty.as_primitive());
            arrow_primitive(ty.ok_or_else(|| Error::internal("a key column is not primitive"))?)
        };
        KeyEncoder::new(ids, ids.iter().map(data_type).collect::<Result<_>>()?, self.hasher.clone())
    }
}
