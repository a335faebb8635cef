//! Object stores: Amazon S3 and stores with its protocol, Google Cloud Storage, Azure.
//!
//! Object stores have no folders: a folder is the part of a key up to a slash. An empty folder that must exist (a
//! namespace) holds a hidden object, which listings leave out. A new object appears complete, at the end of its upload.
//!
//! Each call waits on its own thread while the requests run on the runtime of the process. It checks for cancellation
//! while it waits ([`crate::parallel::check_cancelled`]).

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error as StoreError, GetOptions, GetRange, GetResult, ObjectStore, ObjectStoreExt, PutPayload};

use super::cleaning::clean_up;
use super::connect::{Client, connect};
use super::credentials::{PrefixConfig, longest_prefix, prefixes};
use super::failure::{is_refusal, status};
use super::limits::{check_at_most, check_bytes, most_bytes};
use super::location::{join, normalise};
use super::object_handle::{Object, collect};
use super::object_writer::ObjectWriter;
use super::options::StoreOptions;
use super::place::{Service, StoreBucket, place};
use super::put_once::put_once;
use super::ranges::{cut_out, requests};
use super::runtime::{PendingRequest, PerProcess, start, wait};
use super::{Fetching, FileInfo, Store, StoreWriter};
use crate::error::{Error, ErrorKind, Result};
use crate::parallel::{check_cancelled, in_parallel_on};

/// The most simultaneous requests for the ranges of one call.
const RANGES_AT_ONCE: usize = 8;

/// The most objects that one request deletes, if the store can delete several.
const DELETED_AT_ONCE: usize = 1_000;

/// The hidden object that keeps an empty folder.
const FOLDER_MARK: &str = ".frazil-folder";

/// The connector for buckets, and for paths with credentials of their own.
type Connect = Arc<dyn Fn(&StoreBucket, &str) -> Result<Client> + Send + Sync>;

/// Clients by bucket and prefix.
type SharedClients = Arc<Mutex<HashMap<(StoreBucket, String), Client>>>;

/// The store of `s3:`, `gs:`, `abfs:` and similar schemes, and of `https:`, which is only read.
pub struct ObjectFiles {
    options: Arc<StoreOptions>,
    connect: Connect,
    /// Connections of this process, by bucket and by the prefix of paths with credentials of their own.
    clients: PerProcess<SharedClients>,
    /// These prefixes.
    prefixes: Vec<PrefixConfig>,
}

impl std::fmt::Debug for ObjectFiles {
    /// Leaves out the values of options, because they are secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ObjectFiles({:?})", self.options)
    }
}

impl ObjectFiles {
    /// Creates a store with these options.
    pub fn new(options: StoreOptions) -> ObjectFiles {
        let options = Arc::new(options);
        let given = options.clone();
        ObjectFiles::connected(options, Arc::new(move |bucket, prefix| connect(bucket, prefix, &given)))
    }

    pub(super) fn connected(options: Arc<StoreOptions>, connect: Connect) -> ObjectFiles {
        // A list that can't be read is reported by the first connection.
        let prefixes = prefixes(&options).unwrap_or_default();
        ObjectFiles { options, connect, clients: PerProcess::new(), prefixes }
    }

    /// As [`ObjectFiles::object`], for a call that a web server does not offer.
    fn object_of_a_store(&self, path: &str, action: &str) -> Result<Object> {
        let object = self.object(path)?;
        match object.service {
            Service::Web => Err(Error::unsupported(format!("a web server can only be read: it can't {action}"))
                .with("path", path)
                .hint("Open a table by the URL of its newest metadata file, …/metadata/….metadata.json")),
            _ => Ok(object),
        }
    }

    fn object(&self, path: &str) -> Result<Object> {
        let place = place(path)?;
        let clients = self.clients.get(|| Ok(Arc::default()))?;
        let mut clients = clients.lock().unwrap_or_else(PoisonError::into_inner);
        let service = place.bucket.service;
        let prefix = longest_prefix(&self.prefixes, path).map(|found| found.prefix.clone()).unwrap_or_default();
        let key = (place.bucket, prefix);
        let client = match clients.get(&key) {
            Some(client) => client.clone(),
            None => {
                let client = (self.connect)(&key.0, &key.1).map_err(|e| e.with("path", path))?;
                clients.insert(key, client.clone());
                client
            }
        };
        Ok(Object { path: path.to_owned(), key: place.key, client, options: self.options.clone(), service })
    }

    /// Lists the objects and folders directly in a folder.
    fn listed(&self, folder: &str) -> Result<(Path, object_store::ListResult)> {
        let object = self.object_of_a_store(folder, "list folders")?;
        let listed = object.ask("list", |store, key| async move {
            let prefix = (!key.is_root()).then_some(&key);
            store.list_with_delimiter(prefix).await
        })?;
        Ok((object.key, listed))
    }
}

/// The error for an answer with too few bytes.
fn cut_off(path: &str, range: &Range<u64>, size: u64) -> Error {
    let message =
        format!("the file ends at byte {size}, before byte {} that is wanted from byte {}", range.end, range.start);
    Error::corrupt(message).with("path", path)
}

/// One range of an object, and the object's size.
async fn one_range(store: &dyn ObjectStore, key: &Path, range: GetRange) -> object_store::Result<(Vec<u8>, u64)> {
    let got: GetResult = store.get_opts(key, GetOptions { range: Some(range), ..GetOptions::default() }).await?;
    let size = got.meta.size;
    Ok((collect(got).await?, size))
}

/// A whole object, or its size if that is more than `most` bytes.
async fn whole(
    store: &dyn ObjectStore,
    key: &Path,
    most: u64,
) -> object_store::Result<std::result::Result<Vec<u8>, u64>> {
    let got = store.get(key).await?;
    match got.meta.size > most {
        true => Ok(Err(got.meta.size)),
        false => collect(got).await.map(Ok),
    }
}

/// A whole file that is being fetched.
struct WholeFile {
    object: Object,
    pending: PendingRequest<object_store::Result<std::result::Result<Vec<u8>, u64>>>,
    most: u64,
}

impl Fetching for WholeFile {
    fn finish(self: Box<Self>) -> Result<Vec<Vec<u8>>> {
        let WholeFile { object, pending, most } = *self;
        let got = pending.wait().map_err(|e| e.with("path", &object.path))?.map_err(|e| object.failed("read", e))?;
        got.or_else(|size| check_at_most(&object.path, size, most).map(|()| Vec::new())).map(|bytes| vec![bytes])
    }
}

/// The end of a file that is being fetched.
struct Tail {
    object: Object,
    pending: PendingRequest<object_store::Result<(Vec<u8>, u64)>>,
}

impl Fetching<(Vec<u8>, u64)> for Tail {
    fn finish(self: Box<Self>) -> Result<(Vec<u8>, u64)> {
        let Tail { object, pending } = *self;
        let tail = pending.wait().map_err(|e| e.with("path", &object.path))?;
        object.tail(tail.map_err(|e| object.failed("read", e)))
    }
}

/// Fetches several ranges, each with one request.
async fn each_range(store: Arc<dyn ObjectStore>, key: Path, requests: Vec<Range<u64>>) -> Answers {
    let (store, key) = (&store, &key);
    let answers = requests.into_iter().map(|range| one_range(store.as_ref(), key, GetRange::Bounded(range)));
    futures_util::stream::iter(answers).buffered(RANGES_AT_ONCE).try_collect().await
}

/// The bytes of each request, and the size of the object.
type Answers = object_store::Result<Vec<(Vec<u8>, u64)>>;

/// Deletes objects of one store. The answers have the order of the keys. The last one stands for those after it.
async fn deleted(store: Arc<dyn ObjectStore>, keys: Vec<Path>) -> Vec<object_store::Result<Path>> {
    store.delete_stream(futures_util::stream::iter(keys.into_iter().map(Ok)).boxed()).collect().await
}

/// The objects by their client, with their place in the list.
fn by_client(objects: impl Iterator<Item = (usize, Object)>) -> Vec<Vec<(usize, Object)>> {
    let mut groups: Vec<Vec<(usize, Object)>> = Vec::new();
    let same = |a: &Object, b: &Object| Arc::ptr_eq(&a.client.patient, &b.client.patient);
    for (i, object) in objects {
        match groups.iter_mut().find(|group| group.first().is_some_and(|(_, first)| same(first, &object))) {
            Some(group) => group.push((i, object)),
            None => groups.push(vec![(i, object)]),
        }
    }
    groups
}

/// Deletes objects of one client. Returns the errors, with the places of the objects.
fn delete_batch(batch: &[(usize, Object)]) -> Result<Vec<(usize, Error)>> {
    check_cancelled()?;
    let Some((_, first)) = batch.first() else { return Ok(Vec::new()) };
    let keys = batch.iter().map(|(_, object)| object.key.clone()).collect();
    let mut answers = wait(deleted(first.client.patient.clone(), keys)).map_err(|e| e.with("path", &first.path))?;
    let mut failed = Vec::new();
    // A request for many objects may fail as a whole.
    let rest = match answers.len() < batch.len() {
        true => answers.pop().and_then(std::result::Result::err).map(|e| first.failed("delete", e)),
        false => None,
    };
    let known = answers.len();
    for (answer, (i, object)) in answers.into_iter().zip(batch) {
        let error = answer.err().map(|e| object.failed("delete", e));
        failed.extend(error.filter(|e| !is_missing(e)).map(|e| (*i, e)));
    }
    for (i, object) in batch.iter().skip(known) {
        let error = match &rest {
            Some(e) => Error::new(e.kind(), e.message()),
            None => Error::internal("the store gave no answer for a file"),
        };
        failed.push((*i, error.with("path", &object.path)));
    }
    Ok(failed)
}

/// Whether an error says that an object does not exist.
fn is_missing(e: &Error) -> bool {
    e.kind() == ErrorKind::NotFound && !e.message().contains("bucket")
}

/// Ranges that are being fetched.
struct Ranges {
    object: Object,
    ranges: Vec<Range<u64>>,
    requests: Vec<Range<u64>>,
    answers: PendingRequest<Answers>,
}

impl Ranges {
    fn start(object: Object, ranges: &[Range<u64>]) -> Result<Ranges> {
        let requests = requests(ranges);
        let answers = start(each_range(object.client.patient.clone(), object.key.clone(), requests.clone()))?;
        Ok(Ranges { object, ranges: ranges.to_vec(), requests, answers })
    }
}

impl Fetching for Ranges {
    fn finish(self: Box<Self>) -> Result<Vec<Vec<u8>>> {
        let Ranges { object, ranges, requests, answers } = *self;
        let answers = answers.wait().map_err(|e| e.with("path", &object.path))?;
        let answers = answers.map_err(|e| out_of_range(&object, ranges.last(), e))?;
        let size = answers.first().map_or(0, |(_, size)| *size);
        let answers: Vec<Vec<u8>> = answers.into_iter().map(|(bytes, _)| bytes).collect();
        if let ([request], [range]) = (requests.as_slice(), ranges.as_slice())
            && request == range
            && answers.first().is_some_and(|a| a.len() as u64 == range.end - range.start)
        {
            return Ok(answers);
        }
        let cut = |range| cut_out(&requests, &answers, range).ok_or_else(|| cut_off(&object.path, range, size));
        ranges.iter().map(cut).collect()
    }
}

/// Whether an error says that the object ends before the range.
fn out_of_range(object: &Object, range: Option<&Range<u64>>, e: StoreError) -> Error {
    let ended = status(&e) == Some(416) || e.to_string().contains("object was only");
    let error = object.failed("read", e);
    match range {
        Some(range) if ended && error.kind() == ErrorKind::Store => {
            Error::corrupt(format!("the file ends before byte {} that is wanted from byte {}", range.end, range.start))
                .with("path", &object.path)
                .because(error)
        }
        _ => error,
    }
}

impl Store for ObjectFiles {
    fn get(&self, path: &str) -> Result<Vec<u8>> {
        self.get_at_most(path, most_bytes())
    }

    fn get_at_most(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        let got =
            self.object(path)?.ask("read", move |store, key| async move { whole(store.as_ref(), &key, most).await })?;
        got.or_else(|size| check_at_most(path, size, most).map(|()| Vec::new()))
    }

    fn get_range(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        let range = offset..offset.checked_add(length as u64).ok_or_else(|| cut_off(path, &(offset..u64::MAX), 0))?;
        let mut ranges = self.get_ranges(path, &[range])?;
        ranges.pop().ok_or_else(|| Error::internal("the store gave no bytes for a range"))
    }

    fn get_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        for range in ranges {
            check_bytes(path, range.end.saturating_sub(range.start))?;
        }
        Box::new(Ranges::start(self.object(path)?, ranges)?).finish()
    }

    fn get_tail(&self, path: &str, length: u64) -> Result<(Vec<u8>, u64)> {
        let object = self.object(path)?;
        if object.service == Service::Azure {
            // It can't be asked for the end of an object.
            let size = self.size(path)?;
            let length = size.min(length);
            return Ok((self.get_range(path, size - length, length as usize)?, size));
        }
        let tail = object.ask("read", move |store, key| async move {
            one_range(store.as_ref(), &key, GetRange::Suffix(length)).await
        });
        object.tail(tail)
    }

    fn fetch_tail_ahead(&self, path: &str, length: u64) -> Option<Box<dyn Fetching<(Vec<u8>, u64)>>> {
        let object = self.object(path).ok().filter(|object| object.service != Service::Azure)?;
        let (client, key) = (object.client.patient.clone(), object.key.clone());
        let pending = start(async move { one_range(client.as_ref(), &key, GetRange::Suffix(length)).await }).ok()?;
        Some(Box::new(Tail { object, pending }))
    }

    fn fetch_whole_ahead(&self, path: &str) -> Option<Box<dyn Fetching>> {
        let (object, most) = (self.object(path).ok()?, most_bytes());
        let (client, key) = (object.client.patient.clone(), object.key.clone());
        let pending = start(async move { whole(client.as_ref(), &key, most).await }).ok()?;
        Some(Box::new(WholeFile { object, pending, most }))
    }

    fn fetch_ahead(&self, path: &str, ranges: &[Range<u64>]) -> Option<Box<dyn Fetching>> {
        Some(Box::new(Ranges::start(self.object(path).ok()?, ranges).ok()?))
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn options(&self) -> BTreeMap<String, String> {
        self.options.as_map().clone()
    }

    fn size(&self, path: &str) -> Result<u64> {
        self.object(path)?.size()
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<()> {
        put_once(&self.object_of_a_store(path, "take files")?, bytes)
    }

    fn refused(&self, error: &Error) -> bool {
        is_refusal(error)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let payload = PutPayload::from(bytes.to_vec());
        let object = self.object_of_a_store(path, "take files")?;
        object.ask("write", |store, key| async move { store.put(&key, payload).await })?;
        Ok(())
    }

    fn create(&self, path: &str) -> Result<Box<dyn StoreWriter>> {
        Ok(Box::new(ObjectWriter::new(self.object_of_a_store(path, "take files")?)))
    }

    fn list(&self, folder: &str) -> Result<Vec<FileInfo>> {
        Ok(self.list_all(folder)?.0)
    }

    fn list_folders(&self, folder: &str) -> Result<Vec<String>> {
        Ok(self.list_all(folder)?.1)
    }

    fn list_all(&self, folder: &str) -> Result<(Vec<FileInfo>, Vec<String>)> {
        let (key, listed) = self.listed(folder)?;
        let file = |meta: object_store::ObjectMeta| {
            // Some tools mark a folder by an empty object with its name and a slash.
            let name = meta.location.filename().filter(|name| *name != FOLDER_MARK && meta.location != key)?;
            Some(FileInfo {
                path: join(folder, name),
                size_bytes: meta.size,
                modified_ms: meta.last_modified.timestamp_millis(),
            })
        };
        let mut names: Vec<String> =
            listed.common_prefixes.iter().filter_map(|p| p.filename().map(str::to_owned)).collect();
        names.sort_unstable();
        Ok((listed.objects.into_iter().filter_map(file).collect(), names))
    }

    fn make_folder(&self, folder: &str) -> Result<()> {
        self.put(&join(folder, FOLDER_MARK), b"")
    }

    fn real_folder(&self, folder: &str) -> String {
        normalise(folder)
    }

    fn delete(&self, path: &str) -> Result<()> {
        let object = self.object_of_a_store(path, "remove files")?;
        let deleted = object.ask("delete", |store, key| async move { store.delete(&key).await });
        match deleted {
            Err(e) if is_missing(&e) => Ok(()),
            deleted => deleted,
        }
    }

    fn delete_files(&self, paths: &[&str]) -> Result<Vec<Option<Error>>> {
        let mut errors: Vec<Option<Error>> = paths.iter().map(|_| None).collect();
        let mut objects = Vec::with_capacity(paths.len());
        for (i, path) in paths.iter().enumerate() {
            match self.object_of_a_store(path, "remove files") {
                Ok(object) => objects.push((i, object)),
                Err(e) => errors[i] = Some(e),
            }
        }
        let groups = by_client(objects.into_iter());
        let batches: Vec<&[(usize, Object)]> = groups.iter().flat_map(|group| group.chunks(DELETED_AT_ONCE)).collect();
        let failed =
            in_parallel_on(self.at_once(), batches.len(), |b| batches.get(b).map_or(Ok(vec![]), |b| delete_batch(b)))?;
        for (i, e) in failed.into_iter().flatten() {
            errors[i] = Some(e);
        }
        Ok(errors)
    }

    fn discard(&self, paths: Vec<String>) {
        let objects = paths.iter().filter_map(|path| self.object_of_a_store(path, "remove files").ok());
        let groups = by_client(objects.enumerate()).into_iter().filter_map(|group| {
            let client = group.first().map(|(_, object)| object.client.patient.clone())?;
            Some(deleted(client, group.into_iter().map(|(_, object)| object.key).collect()))
        });
        let all = futures_util::stream::iter(groups.collect::<Vec<_>>());
        clean_up(all.buffer_unordered(self.at_once()).for_each(|_| async {}));
    }

    fn delete_folder(&self, folder: &str) -> Result<()> {
        self.delete(&join(folder, FOLDER_MARK))
    }
}

#[cfg(test)]
#[path = "object_tests.rs"]
mod tests;
