//! Reads delete files, each once for a scan.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use hashbrown::DefaultHashBuilder;

use super::filter::located;
use super::keys::{KeyDeletes, KeyEncoder, KeySet, Unions};
use crate::codec::bitmap::PositionSet;
use crate::data::arrow::schema::arrow_primitive;
use crate::data::read::change_rows::RowMoves;
use crate::data::read::file::read_delete_file;
use crate::data::read::filter_columns::key_path;
use crate::data::write::delete_write::position_schema;
use crate::error::{Error, Result, ResultExt};
use crate::expr::{BoundLeaf, BoundPredicate, BoundTerm, Op};
use crate::format::task::{DataFile, ReadContext};
use crate::store::{Store, in_parallel};
use crate::types::{FieldId, PrimitiveType, Schema, Transform, Type, Value};

/// Field ids of position delete files (specification, "Reserved Field IDs").
pub(crate) const PATH_ID: FieldId = 2_147_483_546;
pub(crate) const POS_ID: FieldId = 2_147_483_545;

/// Bytes of decoded positions, and as many of decoded keys, that a cache keeps for tasks to come.
const KEPT_BYTES: u64 = 128 << 20;

/// Commits of a changelog whose moved rows a cache knows at once.
const KEPT_COMMITS: usize = 4;

/// Position delete files larger than this are searched for one data file instead of being decoded whole.
const WHOLE_FILE_BYTES: i64 = 32 << 20;

/// Bytes that a column of a key takes at least once it is decoded. Equality delete files with more keys than the cache could
/// keep are not decoded whole.
const KEY_COLUMN_BYTES: u64 = 8;

/// Rows of a batch of a delete file.
const BATCH_ROWS: usize = 65_536;

/// Where a deletion vector or position delete file is, and the one data file that was looked for if it was not decoded
/// whole.
type PositionsKey = (String, Option<(i64, i64)>, Option<String>);

/// Positions by data file.
pub(crate) type Positions = HashMap<String, Arc<PositionSet>>;

/// The positions of one data file, and what holds them: as long as that lives, other tasks find it.
pub(crate) type Shared = (Arc<PositionSet>, Arc<Positions>);

/// What the delete files of a scan said, for its tasks to share, up to a bounded number of bytes. One cache serves one
/// [`ReadContext`]; its clones are the same cache.
#[derive(Clone, Debug)]
pub struct DeleteCache {
    positions: Arc<WeightedCache<PositionsKey, Positions>>,
    keys: Arc<WeightedCache<(String, Vec<FieldId>), KeySet>>,
    unions: Arc<Unions>,
    hasher: DefaultHashBuilder,
    /// What the last commits moved, by snapshot id; tasks come commit by commit.
    moves: Arc<Mutex<Moves>>,
}

/// The moved rows of commits.
type Moves = VecDeque<(i64, Arc<MovesPlace>)>;

/// Locked by who loads it; others wait.
type MovesPlace = Mutex<Option<Arc<RowMoves>>>;

impl Default for DeleteCache {
    fn default() -> Self {
        DeleteCache::new(KEPT_BYTES)
    }
}

impl DeleteCache {
    /// A cache that keeps at most about so many bytes of positions, and as many of keys. What tasks are using comes on
    /// top.
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
    /// What `load` gives.
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
        let mut value = place.lock().unwrap_or_else(PoisonError::into_inner);
        match value.as_ref() {
            Some(moves) => Ok(moves.clone()),
            None => Ok(value.insert(Arc::new(load()?)).clone()),
        }
    }

    /// The encoder of keys of these columns.
    ///
    /// # Errors
    /// `CorruptTable` for no columns and for those that no schema of the table has; `Unsupported` for those that are not
    /// primitive or inside lists or maps.
    fn encoder(&self, context: &ReadContext, ids: &[FieldId]) -> Result<KeyEncoder> {
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

/// The positions of a deletion vector.
pub(crate) fn read_vector(
    store: &Arc<dyn Store>,
    context: &ReadContext,
    data_file: &DataFile,
    file: &DataFile,
    cache: &DeleteCache,
) -> Result<Shared> {
    if file.referenced_data_file.as_ref() != Some(&data_file.path) {
        let of = file.referenced_data_file.as_deref().unwrap_or("no data file");
        return Err(Error::corrupt(format!("a deletion vector belongs to {of}")).with("data_file", &data_file.path));
    }
    let wrong = || Error::corrupt("a deletion vector has no place in its file, or an impossible one");
    let (offset, bytes) = file.content_offset.zip(file.content_size_bytes).ok_or_else(wrong)?;
    let start = u64::try_from(offset).map_err(|_| wrong())?;
    let length = i32::try_from(bytes).ok().and_then(|n| usize::try_from(n).ok()).ok_or_else(wrong)?;
    let load = || {
        let path = context.location.resolve(&file.path)?;
        let set = match &context.paimon {
            None => PositionSet::from_vector(&bytes_at(store, &path, start, length)?)?,
            Some(_) => {
                // What a table records of a vector of 32-bit positions leaves out two words around it.
                let rest = u64::try_from(file.size_bytes).unwrap_or(0).saturating_sub(start);
                let with_words = length.saturating_add(8).min(usize::try_from(rest).unwrap_or(usize::MAX));
                PositionSet::from_index_file(&bytes_at(store, &path, start, with_words.max(length))?, length)?
            }
        };
        // Old writers of Paimon record no number of positions.
        let is_known = context.paimon.is_none() || file.record_count >= 0;
        if is_known && i64::try_from(set.len()) != Ok(file.record_count) {
            let (has, recorded) = (set.len(), file.record_count);
            return Err(Error::corrupt(format!("a deletion vector has {has} positions instead of {recorded}")));
        }
        Ok(Positions::from([(data_file.path.clone(), Arc::new(set))]))
    };
    let key = (file.path.clone(), Some((offset, bytes)), None);
    let positions = cache.positions.get(key, load, positions_bytes)?;
    let found = positions.get(&data_file.path).cloned();
    found
        .map(|set| (set, positions))
        .ok_or_else(|| Error::corrupt("two data files share a deletion vector").with("data_file", &data_file.path))
}

fn bytes_at(store: &Arc<dyn Store>, path: &str, start: u64, length: usize) -> Result<Vec<u8>> {
    let bytes = store.get_range(path, start, length)?;
    match bytes.len() == length {
        true => Ok(bytes),
        false => Err(Error::store("the store gave fewer bytes than asked for")),
    }
}

/// The positions that a position delete file has for a data file; `None` if none.
pub(crate) fn read_positions(
    store: &Arc<dyn Store>,
    context: &ReadContext,
    data_file: &DataFile,
    file: &DataFile,
    cache: &DeleteCache,
) -> Result<Option<Shared>> {
    let only = (file.size_bytes > WHOLE_FILE_BYTES).then(|| data_file.path.clone());
    let load = || positions_where(store, context, file, only.as_deref().map_or(BoundPredicate::True, path_is));
    let key = (file.path.clone(), None, only.clone());
    let positions = cache.positions.get(key, load, positions_bytes)?;
    Ok(positions.get(&data_file.path).cloned().map(|set| (set, positions)))
}

/// All that a position delete file says, by data file.
///
/// # Errors
/// As [`read_delete_file`].
pub(crate) fn read_all_positions(store: &Arc<dyn Store>, context: &ReadContext, file: &DataFile) -> Result<Positions> {
    positions_where(store, context, file, BoundPredicate::True)
}

fn positions_where(
    store: &Arc<dyn Store>,
    context: &ReadContext,
    file: &DataFile,
    wanted: BoundPredicate,
) -> Result<Positions> {
    let schema = Arc::new(position_schema());
    let own = delete_context(context, schema.clone(), schema);
    let mut out = Positions::new();
    for rows in read_delete_file(store, &own, file, wanted, &[])? {
        add_positions(&mut out, &rows?.batch)?;
    }
    Ok(out)
}

/// How a delete file is read: as the scan's data files are, but for the columns.
fn delete_context(context: &ReadContext, schema: Arc<Schema>, projection: Arc<Schema>) -> Arc<ReadContext> {
    Arc::new(ReadContext { schema, projection, batch_rows: BATCH_ROWS, ..context.clone() })
}

fn path_is(path: &str) -> BoundPredicate {
    let source = Type::Primitive(PrimitiveType::String);
    BoundPredicate::Leaf(BoundLeaf {
        term: BoundTerm {
            field_id: PATH_ID,
            path: vec!["file_path".into()],
            ty: source.clone(),
            source,
            transform: Transform::Identity,
            required: true,
        },
        op: Op::Eq,
        values: vec![Value::String(path.into())],
    })
}

/// Adds the positions of a batch, run by run of the same data file.
fn add_positions(out: &mut Positions, batch: &RecordBatch) -> Result<()> {
    let shape = || Error::internal("a position delete file was read as other columns");
    let [paths, positions] = batch.columns() else { return Err(shape()) };
    let paths = paths.as_string_opt::<i32>().ok_or_else(shape)?;
    let positions = positions.as_primitive_opt::<Int64Type>().ok_or_else(shape)?.values();
    let mut start = 0;
    while start < paths.len() {
        let path = paths.value(start);
        let run = (start..paths.len()).take_while(|&i| paths.value(i) == path).count();
        if !out.contains_key(path) {
            out.insert(path.to_owned(), Arc::default());
        }
        if let (Some(set), Some(run)) = (out.get_mut(path), positions.get(start..start + run)) {
            Arc::make_mut(set).extend(run)?;
        }
        start += run;
    }
    Ok(())
}

fn positions_bytes(positions: &Positions) -> u64 {
    positions.iter().map(|(path, set)| 128 + path.len() as u64 + set.memory_bytes()).sum()
}

/// The keys of equality delete files of the same key columns; of a file with very many only those that can be of rows of
/// which `near` says where their columns lie.
pub(crate) fn read_keys(
    store: &Arc<dyn Store>,
    context: &ReadContext,
    ids: &[FieldId],
    files: &[&DataFile],
    cache: &DeleteCache,
    near: &dyn Fn(FieldId) -> BoundPredicate,
) -> Result<KeyDeletes> {
    let at = files.first().map_or("", |f| f.path.as_str());
    let encoder = Arc::new(cache.encoder(context, ids).with("path", at)?);
    let load = |file: &DataFile, wanted: BoundPredicate| {
        let nothing = Arc::new(Schema::new(0, Vec::new(), Vec::new()));
        let own = delete_context(context, context.schema.clone(), nothing);
        let rows = read_delete_file(store, &own, file, wanted, ids)?;
        KeySet::collect(&encoder, rows.map(|rows| rows.map(|rows| rows.keys)))
    };
    let is_large = |file: &DataFile| {
        let keys = u64::try_from(file.record_count).unwrap_or(0);
        keys.saturating_mul(KEY_COLUMN_BYTES * ids.len() as u64) > cache.keys.most_bytes
    };
    let some_large = files.iter().any(|file| is_large(file));
    let wanted = match some_large {
        true => BoundPredicate::all(ids.iter().map(|id| near(*id))),
        false => BoundPredicate::True,
    };
    let key = |file: &DataFile| (file.path.clone(), ids.to_vec());
    let set = |file: &DataFile| {
        let set = match wanted != BoundPredicate::True && is_large(file) {
            true => load(file, wanted.clone()).map(Arc::new),
            false => cache.keys.get(key(file), || load(file, BoundPredicate::True), KeySet::memory_bytes),
        };
        set.map_err(|e| located(context, file, e))
    };
    // Other tasks wait for the same files, so that the cores have nothing else to do.
    let sets = match files.iter().filter(|file| !cache.keys.has(&key(file))).nth(1) {
        None => files.iter().map(|file| set(file)).collect::<Result<_>>()?,
        Some(_) => in_parallel(store.as_ref(), files.len(), |i| {
            files.get(i).map_or_else(|| Err(Error::internal("a delete file is gone")), |file| set(file))
        })?,
    };
    let paths = files.iter().map(|f| f.path.clone()).collect();
    // The union of what is near some rows is no other rows'.
    let unions = if some_large { Arc::new(Unions::new(0)) } else { cache.unions.clone() };
    Ok(KeyDeletes::new(encoder, sets, paths, unions))
}

/// Rejects delete files that cannot be read, whatever their format.
pub(crate) fn check_readable(file: &DataFile) -> Result<()> {
    match file.key_metadata {
        Some(_) => Err(Error::unsupported("encrypted delete files cannot be read yet")),
        None => Ok(()),
    }
}

/// Places without a value that a shelf may have before it looks for them.
const PLACES_SLACK: usize = 64;

/// Values by key, each loaded once while it is there, up to a number of bytes. What was asked for least lately goes first,
/// roughly (second chance). What someone uses is there in any case, however large it is.
#[derive(Debug)]
pub(crate) struct WeightedCache<K, V> {
    most_bytes: u64,
    state: Mutex<WeightedCacheState<K, V>>,
}

#[derive(Debug)]
struct WeightedCacheState<K, V> {
    places: HashMap<K, Place<V>>,
    order: VecDeque<K>,
    bytes: u64,
}

#[derive(Debug)]
struct Place<V> {
    /// Locked by who loads it; others wait.
    value: Arc<Mutex<Option<Arc<V>>>>,
    /// What was loaded last, for as long as anyone uses it.
    used: Weak<V>,
    /// Those of the value that is kept; 0 if it is not.
    bytes: u64,
    asked_again: bool,
}

impl<V> Place<V> {
    fn new() -> Place<V> {
        Place { value: Arc::default(), used: Weak::new(), bytes: 0, asked_again: false }
    }

    /// Lets go of the value; those who use it keep it.
    fn forget(&mut self) {
        (self.value, self.bytes) = (Arc::default(), 0);
    }

    /// Whether it has a value, or one that is being loaded.
    fn is_needed(&self) -> bool {
        self.bytes > 0 || self.used.strong_count() > 0 || Arc::strong_count(&self.value) > 1
    }
}

impl<K: Clone + Eq + Hash, V> WeightedCache<K, V> {
    pub(crate) fn new(most_bytes: u64) -> Self {
        let state = WeightedCacheState { places: HashMap::new(), order: VecDeque::new(), bytes: 0 };
        WeightedCache { most_bytes, state: Mutex::new(state) }
    }

    /// Whether the value of this key is there.
    fn has(&self, key: &K) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.places.get(key).is_some_and(|place| place.bytes > 0 || place.used.strong_count() > 0)
    }

    /// The value of this key, else what `load` gives; `weigh` says how many bytes that takes.
    pub(crate) fn get(
        &self,
        key: K,
        load: impl FnOnce() -> Result<V>,
        weigh: impl FnOnce(&V) -> u64,
    ) -> Result<Arc<V>> {
        let place = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let place = state.places.entry(key.clone()).or_insert_with(Place::new);
            place.asked_again = place.bytes > 0;
            if let Some(value) = place.used.upgrade() {
                return Ok(value);
            }
            place.value.clone()
        };
        let mut value = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = value.as_ref() {
            return Ok(value.clone());
        }
        let loaded = load().map(Arc::new);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &loaded {
            Ok(loaded) => {
                *value = Some(loaded.clone());
                state.put(key, &place, loaded, weigh(loaded).max(1), self.most_bytes);
            }
            Err(_) => {
                state.places.remove(&key);
            }
        }
        loaded
    }
}

impl<K: Clone + Eq + Hash, V> WeightedCacheState<K, V> {
    fn put(&mut self, key: K, value: &Arc<Mutex<Option<Arc<V>>>>, loaded: &Arc<V>, bytes: u64, most_bytes: u64) {
        if self.places.len() > 2 * self.order.len() + PLACES_SLACK {
            self.places.retain(|_, place| place.is_needed());
        }
        match self.places.get_mut(&key) {
            // Another one took the place after an error.
            Some(place) if !Arc::ptr_eq(&place.value, value) || place.bytes > 0 => return,
            Some(place) => {
                (place.bytes, place.used) = (bytes, Arc::downgrade(loaded));
                if bytes > most_bytes {
                    return place.forget();
                }
            }
            None => return,
        }
        self.order.push_back(key);
        self.bytes += bytes;
        while self.bytes > most_bytes {
            let Some(oldest) = self.order.pop_front() else { return };
            match self.places.get_mut(&oldest) {
                Some(place) if place.asked_again => {
                    place.asked_again = false;
                    self.order.push_back(oldest);
                }
                Some(place) => {
                    self.bytes -= place.bytes;
                    place.forget();
                    if !place.is_needed() {
                        self.places.remove(&oldest);
                    }
                }
                None => {}
            }
        }
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
