//! Containers that threads share, and a cache of containers that were read. The next plan of a table does not load or
//! decompress the files of the last plan again.
//!
//! The cache identifies files by name only, so it is for files that never change, such as manifests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, TryLockError};

use super::container::{AvroCodec, Block, Container, Inflater};
use super::decode::Cursor;
use crate::error::{Error, Result, ResultExt};

/// The default number of bytes that a table keeps: the manifests of about 50,000 files.
const MOST_BYTES: usize = 64 << 20;

/// A container and its blocks.
#[derive(Debug)]
pub struct OpenFile<B = Vec<u8>> {
    bytes: B,
    codec: AvroCodec,
    blocks: Vec<Block>,
    kept: Option<KeptFile>,
}

/// The cached parts of a file, in addition to its bytes: decompressed blocks. A block is cached when it is read in a
/// second round. A plan that runs only once does not cache blocks.
#[derive(Debug)]
struct KeptFile {
    blocks: Vec<OnceLock<Box<[u8]>>>,
    /// Whether a second round asks for the file.
    is_reused: AtomicBool,
    room: Arc<CacheRoom>,
    /// The number of bytes that this file takes in the cache.
    bytes: AtomicUsize,
}

impl<B: AsRef<[u8]>> OpenFile<B> {
    /// A container that does not cache its blocks.
    ///
    /// # Errors
    /// Errors of [`Container::parse`].
    pub fn parse(bytes: B) -> Result<OpenFile<B>> {
        let container = Container::parse(bytes.as_ref())?;
        let (codec, blocks) = (container.codec, container.blocks);
        Ok(OpenFile { bytes, codec, blocks, kept: None })
    }

    /// The content of its header.
    ///
    /// # Errors
    /// Errors of [`Container::head`].
    pub fn head(&self) -> Result<Container<'_>> {
        Container::head(self.bytes.as_ref())
    }

    /// The length of the file.
    pub fn size_bytes(&self) -> usize {
        self.bytes.as_ref().len()
    }

    /// The number of records, as the blocks claim.
    pub fn record_count(&self) -> u64 {
        self.blocks.iter().fold(0, |n, block| n.saturating_add(block.count))
    }

    /// The blocks, in the order of the file.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The decompressed bytes of a block. The inflater may hold them.
    ///
    /// # Errors
    /// `InvalidInput` if the block does not exist; errors of [`Inflater::inflate`].
    pub fn block<'b>(&'b self, index: usize, inflater: &'b mut Inflater) -> Result<&'b [u8]> {
        let place = self.kept.as_ref().and_then(|kept| kept.blocks.get(index));
        if let Some(block) = place.and_then(OnceLock::get) {
            return Ok(block);
        }
        let data = self.blocks.get(index).and_then(|b| self.bytes.as_ref().get(b.range.clone()));
        let data = data.ok_or_else(|| Error::invalid(format!("the Avro file has no block {index}")))?;
        let block = inflater.inflate(self.codec, data)?;
        if let (Some(kept), Some(place)) = (&self.kept, place)
            && self.codec != AvroCodec::Null
            && kept.is_reused.load(Ordering::Relaxed)
            && kept.takes(block.len())
            && place.set(block.into()).is_err()
        {
            kept.gives_back(block.len()); // another thread was faster
        }
        Ok(block)
    }

    /// Reads every record of every block in order. `read` reads one record.
    ///
    /// # Errors
    /// `CorruptTable` if a block can't be decompressed or holds more than its records; errors of `read`, with the
    /// block.
    pub fn decode_records<T>(&self, mut read: impl FnMut(&mut Cursor<'_>) -> Result<T>) -> Result<Vec<T>> {
        let mut inflater = Inflater::default();
        let mut out = Vec::new();
        for (i, block) in self.blocks.iter().enumerate() {
            let mut read_block = || -> Result<()> {
                let mut cursor = Cursor::new(self.block(i, &mut inflater)?);
                for _ in 0..block.count {
                    out.push(read(&mut cursor)?);
                }
                match cursor.rest() {
                    [] => Ok(()),
                    _ => Err(Error::corrupt("the block holds more than its records")),
                }
            };
            read_block().with("block", i)?;
        }
        Ok(out)
    }
}

impl KeptFile {
    fn takes(&self, bytes: usize) -> bool {
        let taken = self.room.takes(bytes);
        if taken {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        taken
    }

    fn gives_back(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.room.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        self.room.used.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

/// The space that all cached files share.
#[derive(Debug)]
struct CacheRoom {
    most: usize,
    used: AtomicUsize,
    /// Whether something did not fit since the last call.
    short: AtomicBool,
}

impl CacheRoom {
    fn takes(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|all| *all <= self.most);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        if !taken {
            self.short.store(true, Ordering::Relaxed);
        }
        taken
    }
}

/// Files, and the last round that asked for each.
type ByPath = HashMap<Box<str>, (Arc<OpenFile>, u64)>;

/// Files that stay in memory for the next plan. The size is bounded. Files that don't fit are loaded and decompressed
/// each time.
#[derive(Debug)]
pub struct ManifestCache {
    room: Arc<CacheRoom>,
    files: Mutex<ByPath>,
    /// The number of the current round.
    round: AtomicU64,
}

impl Default for ManifestCache {
    fn default() -> ManifestCache {
        ManifestCache::new(MOST_BYTES)
    }
}

impl ManifestCache {
    /// A cache of at most `most_bytes` bytes, for files and their decompressed blocks.
    pub fn new(most_bytes: usize) -> ManifestCache {
        let room = CacheRoom { most: most_bytes, used: AtomicUsize::new(0), short: AtomicBool::new(false) };
        ManifestCache { room: Arc::new(room), files: Mutex::default(), round: AtomicU64::new(0) }
    }

    /// The file at a path. The file must never change. `load` reads its bytes if it is not cached.
    ///
    /// # Errors
    /// Errors of `load` and of [`Container::parse`].
    pub fn open(&self, path: &str, load: impl FnOnce() -> Result<Vec<u8>>) -> Result<Arc<OpenFile>> {
        let round = self.round.load(Ordering::Relaxed);
        let found = self.with(|files| {
            files.get_mut(path).map(|(file, last)| {
                if *last != round {
                    file.kept.iter().for_each(|kept| kept.is_reused.store(true, Ordering::Relaxed));
                }
                *last = round;
                file.clone()
            })
        });
        if let Some(found) = found.flatten() {
            return Ok(found);
        }
        let mut file = OpenFile::parse(load()?)?;
        let size = file.bytes.len();
        if self.room.takes(size) {
            let blocks = file.blocks.iter().map(|_| OnceLock::new()).collect();
            let is_reused = AtomicBool::new(false);
            file.kept = Some(KeptFile { blocks, is_reused, room: self.room.clone(), bytes: AtomicUsize::new(size) });
            let file = Arc::new(file);
            // Another thread may have been faster.
            let kept = self.with(|files| files.entry(path.into()).or_insert_with(|| (file.clone(), round)).0.clone());
            return Ok(kept.unwrap_or(file));
        }
        Ok(Arc::new(file))
    }

    /// Removes a file that could not be parsed, because its bytes may have been read wrongly.
    pub fn forget(&self, path: &str) {
        self.with(|files| files.remove(path));
    }

    /// Ends a round. If something did not fit, removes the files that the round did not ask for.
    pub fn end_round(&self) {
        let round = self.round.fetch_add(1, Ordering::Relaxed);
        if self.room.short.swap(false, Ordering::Relaxed) {
            self.with(|files| files.retain(|_, (_, last)| *last >= round));
        }
    }

    /// Never waits: in a forked process, a thread that no longer exists may hold the lock forever.
    fn with<O>(&self, work: impl FnOnce(&mut ByPath) -> O) -> Option<O> {
        match self.files.try_lock() {
            Ok(mut files) => Some(work(&mut files)),
            Err(TryLockError::Poisoned(files)) => Some(work(&mut files.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::avro::{ContainerWriter, encode};

    const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[{"name":"a","type":"long"}]}"#;

    /// A file of zeros, which decompresses to `zeros` bytes.
    fn file(codec: AvroCodec, zeros: usize) -> Vec<u8> {
        let mut writer = ContainerWriter::new(SCHEMA, &[], codec);
        (0..zeros).for_each(|_| writer.record(|out| encode::put_long(out, 0)));
        writer.finish().unwrap()
    }

    /// All of a file's blocks one after another, and the number of times it was loaded.
    fn read(files: &ManifestCache, path: &str, bytes: &[u8]) -> (Vec<u8>, usize) {
        let mut loaded = 0;
        let load = || {
            loaded += 1;
            Ok(bytes.to_vec())
        };
        let open = files.open(path, load).unwrap();
        let mut inflater = Inflater::default();
        let mut all = Vec::new();
        (0..open.blocks().len()).for_each(|i| all.extend_from_slice(open.block(i, &mut inflater).unwrap()));
        (all, loaded)
    }

    #[test]
    fn files_are_loaded_and_decompressed_once() {
        for codec in [AvroCodec::Null, AvroCodec::Deflate, AvroCodec::Snappy, AvroCodec::Zstd] {
            let (files, bytes) = (ManifestCache::default(), file(codec, 200_000));
            // The blocks are kept from the second time on.
            assert!(read(&files, "a", &bytes) == (vec![0; 200_000], 1));
            assert_eq!(files.room.used.load(Ordering::Relaxed), bytes.len());
            files.end_round();
            assert!(read(&files, "a", &bytes) == (vec![0; 200_000], 0));
            let used = files.room.used.load(Ordering::Relaxed);
            let blocks = if codec == AvroCodec::Null { 0 } else { 200_000 };
            assert_eq!(used, bytes.len() + blocks);
            assert!(read(&files, "a", &bytes) == (vec![0; 200_000], 0));
            assert_eq!(files.room.used.load(Ordering::Relaxed), used);
            // The blocks come from memory alone: the compressed bytes are not read again.
            let open = files.open("a", || unreachable!()).unwrap();
            assert!(codec == AvroCodec::Null || open.kept.as_ref().unwrap().blocks.iter().all(|b| b.get().is_some()));
            drop(open);
            files.files.lock().unwrap().clear();
            assert_eq!(files.room.used.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn what_finds_no_room_is_read_each_time_until_others_go() {
        let bytes = file(AvroCodec::Zstd, 100_000);
        let files = ManifestCache::new(100_000 + 2 * bytes.len());
        for _ in 0..3 {
            assert!(read(&files, "a", &bytes).0 == vec![0; 100_000]);
            files.end_round();
            for name in ["a", "b"] {
                assert!(read(&files, name, &bytes).0 == vec![0; 100_000]);
            }
            assert!(read(&files, "c", &bytes) == (vec![0; 100_000], 1));
            files.end_round();
            // The first ones stay as long as they are requested.
            assert_eq!(read(&files, "a", &bytes).1, 0);
        }
        assert!(files.room.used.load(Ordering::Relaxed) <= files.room.most);
        read(&files, "c", &bytes);
        files.end_round();
        assert_eq!((read(&files, "c", &bytes).1, read(&files, "c", &bytes).1), (1, 0));
        assert!(files.room.used.load(Ordering::Relaxed) <= files.room.most);
    }

    #[test]
    fn errors_are_not_kept() {
        let (files, bytes) = (ManifestCache::default(), file(AvroCodec::Deflate, 10));
        assert!(files.open("a", || Err(Error::not_found("gone"))).is_err());
        assert!(files.open("a", || Ok(bytes[..20].to_vec())).is_err());
        assert_eq!(read(&files, "a", &bytes), (vec![0; 10], 1));
        assert!(files.open("a", || unreachable!()).unwrap().block(9, &mut Inflater::default()).is_err());
        let torn = [&bytes[..], &[0; 40]].concat();
        assert!(files.open("b", || Ok(torn)).is_err());
        files.forget("a");
        assert_eq!(read(&files, "a", &bytes).1, 1);
    }

    #[test]
    fn nobody_waits_for_it() {
        let (files, bytes) = (ManifestCache::default(), file(AvroCodec::Zstd, 10));
        let held = files.files.lock().unwrap();
        assert_eq!(read(&files, "a", &bytes), (vec![0; 10], 1));
        drop(held);
        assert_eq!(read(&files, "a", &bytes).1, 1);
        assert_eq!(read(&files, "a", &bytes).1, 0);
    }
}
