//! Reads delete files. Each is read once for a scan.

use std::sync::Arc;

use super::cache::DeleteCache;
use super::keys::{KeyDeletes, KeySet, Unions};
use super::position_schema::position_schema;
use super::position_sets::{PositionsByFile, SharedPositions, add_positions, positions_bytes};
use crate::codec::bitmap::PositionSet;
use crate::data::read::file::read_delete_file;
use crate::error::{Error, Result, ResultExt};
use crate::expr::{BoundLeaf, BoundPredicate, BoundTerm, Op};
use crate::format::task::{DataFile, ReadContext};
use crate::store::{Store, in_parallel};
use crate::types::metadata_columns::DELETE_FILE_PATH;
use crate::types::{FieldId, PrimitiveType, Schema, Transform, Type, Value};

/// Position delete files larger than this are searched for one data file instead of being decoded whole.
const WHOLE_FILE_BYTES: i64 = 32 << 20;

/// The least number of bytes that a column of a decoded key takes. Equality delete files with more keys than the cache
/// could keep are not decoded whole.
const KEY_COLUMN_BYTES: u64 = 8;

/// Rows of a batch of a delete file.
const BATCH_ROWS: usize = 65_536;

/// The positions of a deletion vector.
pub(crate) fn read_vector(
    store: &Arc<dyn Store>,
    context: &ReadContext,
    data_file: &DataFile,
    file: &DataFile,
    cache: &DeleteCache,
) -> Result<SharedPositions> {
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
        let set = match &context.buckets {
            None => PositionSet::from_vector(&bytes_at(store, &path, start, length)?)?,
            Some(_) => {
                // The recorded length of a vector of 32-bit positions leaves out two words around it.
                let rest = u64::try_from(file.size_bytes).unwrap_or(0).saturating_sub(start);
                let with_words = length.saturating_add(8).min(usize::try_from(rest).unwrap_or(usize::MAX));
                PositionSet::from_index_file(&bytes_at(store, &path, start, with_words.max(length))?, length)?
            }
        };
        // Old Paimon writers do not record the number of positions.
        let is_known = context.buckets.is_none() || file.record_count >= 0;
        if is_known && i64::try_from(set.len()) != Ok(file.record_count) {
            let (has, recorded) = (set.len(), file.record_count);
            return Err(Error::corrupt(format!("a deletion vector has {has} positions instead of {recorded}")));
        }
        Ok(PositionsByFile::from([(data_file.path.clone(), Arc::new(set))]))
    };
    let key = (file.path.clone(), Some((offset, bytes)), None);
    let positions = cache.positions.get(key, load, positions_bytes)?;
    // In Paimon, all files with columns of the same rows share the vector of the oldest one.
    let found = match &context.buckets {
        None => positions.get(&data_file.path).cloned(),
        Some(_) => positions.values().next().cloned(),
    };
    found
        .map(|set| (set, positions))
        .ok_or_else(|| Error::corrupt("two data files share a deletion vector").with("data_file", &data_file.path))
}

fn bytes_at(store: &Arc<dyn Store>, path: &str, start: u64, length: usize) -> Result<Vec<u8>> {
    let bytes = store.get_range(path, start, length)?;
    match bytes.len() == length {
        true => Ok(bytes),
        false => Err(Error::store("the store returned fewer bytes than requested")),
    }
}

/// The positions that a position delete file has for a data file; `None` if it has no positions.
pub(crate) fn read_positions(
    store: &Arc<dyn Store>,
    context: &ReadContext,
    data_file: &DataFile,
    file: &DataFile,
    cache: &DeleteCache,
) -> Result<Option<SharedPositions>> {
    let only = (file.size_bytes > WHOLE_FILE_BYTES).then(|| data_file.path.clone());
    let load = || positions_where(store, context, file, only.as_deref().map_or(BoundPredicate::True, path_is));
    let key = (file.path.clone(), None, only.clone());
    let positions = cache.positions.get(key, load, positions_bytes)?;
    Ok(positions.get(&data_file.path).cloned().map(|set| (set, positions)))
}

/// All deletes of a position delete file, by data file.
///
/// # Errors
/// The errors of [`read_delete_file`].
pub(crate) fn read_all_positions(
    store: &Arc<dyn Store>,
    context: &ReadContext,
    file: &DataFile,
) -> Result<PositionsByFile> {
    positions_where(store, context, file, BoundPredicate::True)
}

fn positions_where(
    store: &Arc<dyn Store>,
    context: &ReadContext,
    file: &DataFile,
    wanted: BoundPredicate,
) -> Result<PositionsByFile> {
    let schema = Arc::new(position_schema());
    let own = delete_context(context, schema.clone(), schema);
    let mut out = PositionsByFile::new();
    for rows in read_delete_file(store, &own, file, wanted, &[])? {
        add_positions(&mut out, &rows?.batch)?;
    }
    Ok(out)
}

/// The context to read a delete file: the scan's context with other columns.
fn delete_context(context: &ReadContext, schema: Arc<Schema>, projection: Arc<Schema>) -> Arc<ReadContext> {
    Arc::new(ReadContext { schema, projection, batch_rows: BATCH_ROWS, ..context.clone() })
}

fn path_is(path: &str) -> BoundPredicate {
    let source = Type::Primitive(PrimitiveType::String);
    BoundPredicate::Leaf(BoundLeaf {
        term: BoundTerm {
            field_id: DELETE_FILE_PATH,
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

/// The keys of equality delete files with the same key columns. For a file with very many keys, only those within the
/// ranges that `range_of` gives for the columns.
pub(crate) fn read_keys(
    store: &Arc<dyn Store>,
    context: &ReadContext,
    ids: &[FieldId],
    files: &[&DataFile],
    cache: &DeleteCache,
    range_of: &dyn Fn(FieldId) -> BoundPredicate,
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
        true => BoundPredicate::all(ids.iter().map(|id| range_of(*id))),
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
    // Other tasks wait for the same files, so the cores have no other work.
    let sets = match files.iter().filter(|file| !cache.keys.has(&key(file))).nth(1) {
        None => files.iter().map(|file| set(file)).collect::<Result<_>>()?,
        Some(_) => in_parallel(store.as_ref(), files.len(), |i| {
            files.get(i).map_or_else(|| Err(Error::internal("a delete file is missing")), |file| set(file))
        })?,
    };
    let paths = files.iter().map(|f| f.path.clone()).collect();
    // A union for some rows is not valid for other rows.
    let unions = if some_large { Arc::new(Unions::new(0)) } else { cache.unions.clone() };
    Ok(KeyDeletes::new(encoder, sets, paths, unions))
}

/// Adds the path of the delete file to an error.
pub(crate) fn located(context: &ReadContext, file: &DataFile, error: Error) -> Error {
    context.location.explain(error.with("path", context.location.found(&file.path)))
}
