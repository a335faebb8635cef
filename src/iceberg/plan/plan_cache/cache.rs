//! A local cache of decoded manifests. The next plan reads only the columns that its filter needs, without
//! decompression.
//!
//! Manifests never change, so a path and length identify the content. Values that entries inherit from the manifest
//! list (snapshot id, sequence numbers, row ids) are not stored. A cache file is written completely before it gets its
//! final name. It may be replaced but is never changed, and is read by ranges. Processes share it through the page
//! cache. Deleting or replacing a file during a read does no harm. If anything is wrong with a cache file, planning
//! reads the manifest instead.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::codec::avro::Cursor;
use crate::codec::avro::encode::{put_bytes, put_long, put_optional};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::manifest::columns::Manifest;
use crate::iceberg::manifest::entries::EntryColumns;
use crate::iceberg::manifest::layout::EntryLayout;
use crate::iceberg::manifest::list::ManifestFile;
use crate::iceberg::plan::plan_cache::cached_columns::{CachedSections, Loaded, Section, SectionKey};
use crate::store::Store;
use crate::types::FieldId;
use crate::types::hash::murmur3_bytes;

/// The first bytes of a cache file. The last two are the format version.
const MAGIC: [u8; 8] = *b"FrazilP\x01";
/// Magic, length and checksum of the header.
const PREFIX_BYTES: usize = 20;
/// The longest header that is accepted. A header of a thousand columns has 200 KiB.
const MOST_HEADER_BYTES: u64 = 64 << 20;
const SUFFIX: &str = ".plan";

/// A folder of decoded manifests.
#[derive(Debug)]
pub struct PlanCache {
    store: Arc<dyn Store>,
    folder: String,
    most_bytes: u64,
    grew: AtomicBool,
    /// The last failure, in words.
    trouble: Mutex<Option<String>>,
}

impl PlanCache {
    /// The cache in a local folder. The folder is created when the first manifest is stored. The cache grows to about
    /// `most_bytes`.
    pub fn new(store: Arc<dyn Store>, folder: &str, most_bytes: u64) -> PlanCache {
        PlanCache {
            store,
            folder: folder.to_owned(),
            most_bytes,
            grew: AtomicBool::new(false),
            trouble: Mutex::default(),
        }
    }

    /// The folder.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// The last reason why the cache failed to serve or store something. A missing entry is not a reason.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note<T>(&self, done: Result<T>) -> Option<T> {
        match done {
            Ok(value) => Some(value),
            Err(e) => {
                if e.kind() != ErrorKind::NotFound {
                    *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(e.to_string());
                }
                None
            }
        }
    }

    /// Whether the cache has a manifest, judging by the first bytes of its file.
    pub fn has(&self, m: &ManifestFile) -> bool {
        let prefix = self.note(self.store.get_range(&self.path(m), 0, PREFIX_BYTES));
        prefix.is_some_and(|prefix| parse_prefix(&prefix).is_some())
    }

    fn path(&self, m: &ManifestFile) -> String {
        let key = format!("{}\n{}", m.path, m.length_bytes);
        // If a manifest gets two names, or two manifests get one name, no harm is done: the header has the whole key.
        let reversed: Vec<u8> = key.bytes().rev().collect();
        let name = format!("{:08x}{:08x}", murmur3_bytes(key.as_bytes()), murmur3_bytes(&reversed));
        crate::store::location::join(&self.folder, &format!("{name}{SUFFIX}"))
    }

    /// The cached entries of a manifest, if the file exists, is complete, and has the metrics of these columns.
    pub(crate) fn get(
        &self,
        m: &ManifestFile,
        fields: &[FieldId],
        like: Option<&Arc<EntryLayout>>,
    ) -> Option<CachedManifest> {
        let path = self.path(m);
        let prefix = self.note(self.store.get_range(&path, 0, PREFIX_BYTES))?;
        let (length, checksum) = parse_prefix(&prefix)?;
        let header = self.store.get_range(&path, PREFIX_BYTES as u64, usize::try_from(length).ok()?).ok()?;
        let source = CacheSource::File { store: self.store.clone(), path, start: PREFIX_BYTES as u64 + length };
        let found = self.note(CachedManifest::parse(&header, checksum, source, like))?;
        let is_it = found.path == m.path && found.length_bytes == m.length_bytes;
        (is_it && fields.iter().all(|id| found.sections.fields.binary_search(id).is_ok())).then_some(found)
    }

    /// Stores the decoded entries of a manifest, without inherited values, and returns them as [`PlanCache::get`]
    /// would. A failure to store them is not an error.
    ///
    /// # Errors
    /// `Unsupported` if the entries can't be cached.
    pub(crate) fn put(
        &self,
        m: &ManifestFile,
        manifest: &Manifest<'_>,
        columns: &EntryColumns,
    ) -> Result<CachedManifest> {
        let (sections, body) = super::cached_columns::encode_columns(columns)?;
        let mut header = Vec::new();
        put_bytes(&mut header, m.path.as_bytes());
        put_long(&mut header, m.length_bytes);
        let (schema, spec) = manifest.layout().source();
        put_bytes(&mut header, schema.as_bytes());
        put_optional(&mut header, spec.map(str::as_bytes), put_bytes);
        sections.encode(&mut header);
        let checksum = crc32fast::hash(&header);
        let mut file = MAGIC.to_vec();
        file.extend_from_slice(&(header.len() as u64).to_le_bytes());
        file.extend_from_slice(&checksum.to_le_bytes());
        file.extend_from_slice(&header);
        file.extend_from_slice(&body);
        let kept = match file.len() as u64 <= self.most_bytes {
            true => self.store.put(&self.path(m), &file),
            false => {
                Err(Error::invalid("a decoded manifest is larger than plan-cache-bytes allows").with("path", &m.path))
            }
        };
        if self.note(kept).is_some() {
            self.grew.store(true, Ordering::Relaxed);
        }
        CachedManifest::parse(&header, checksum, CacheSource::Memory(body), Some(manifest.layout()))
    }

    /// Removes the oldest files if the cache has exceeded its bound since the last call. This includes files that a
    /// process left incomplete when it died. Other files in the folder stay.
    pub fn trim(&self) {
        if !self.grew.swap(false, Ordering::Relaxed) {
            return;
        }
        let Ok(mut files) = self.store.list(&self.folder) else { return };
        files.retain(|f| f.path.ends_with(SUFFIX) || is_half_written(&f.path));
        files.sort_by_key(|f| f.modified_ms);
        let mut total: u64 = files.iter().map(|f| f.size_bytes).sum();
        for file in files {
            if total <= self.most_bytes {
                return;
            }
            if self.store.delete(&file.path).is_ok() {
                total = total.saturating_sub(file.size_bytes);
            }
        }
    }
}

/// Whether this is the temporary name of an incomplete cache file.
fn is_half_written(path: &str) -> bool {
    path.strip_suffix(".tmp").and_then(|p| p.rsplit_once('.')).is_some_and(|(name, _)| name.ends_with(SUFFIX))
}

fn parse_prefix(prefix: &[u8]) -> Option<(u64, u32)> {
    let (magic, rest) = prefix.split_first_chunk::<8>()?;
    let (length, checksum) = rest.split_first_chunk::<8>()?;
    let length = u64::from_le_bytes(*length);
    let checksum = u32::from_le_bytes(checksum.try_into().ok()?);
    (*magic == MAGIC && length <= MOST_HEADER_BYTES).then_some((length, checksum))
}

#[derive(Debug)]
enum CacheSource {
    Memory(Vec<u8>),
    File { store: Arc<dyn Store>, path: String, start: u64 },
}

/// The entries of one manifest in the cache.
#[derive(Debug)]
pub(crate) struct CachedManifest {
    path: String,
    length_bytes: i64,
    pub layout: Arc<EntryLayout>,
    pub sections: CachedSections,
    source: CacheSource,
}

/// Sections that were loaded.
pub(crate) struct LoadedSections<'a> {
    of: &'a CachedSections,
    bytes: BTreeMap<SectionKey, Vec<u8>>,
}

impl CachedManifest {
    fn parse(
        header: &[u8],
        checksum: u32,
        source: CacheSource,
        like: Option<&Arc<EntryLayout>>,
    ) -> Result<CachedManifest> {
        if crc32fast::hash(header) != checksum {
            return Err(Error::corrupt("the header of a file of the plan cache is broken"));
        }
        let mut cursor = Cursor::new(header);
        let (path, length_bytes) = (cursor.string()?.to_owned(), cursor.long()?);
        let schema = cursor.string()?;
        let spec = if cursor.long()? == 1 { Some(cursor.string()?) } else { None };
        let layout = match like.filter(|l| l.is_of(schema, spec)) {
            Some(layout) => layout.clone(),
            None => EntryLayout::of(schema, spec)?,
        };
        Ok(CachedManifest { path, length_bytes, layout, sections: CachedSections::decode(&mut cursor)?, source })
    }

    /// Loads some sections. Missing sections are left out.
    ///
    /// # Errors
    /// Errors of the store; `CorruptTable` if the file is shorter than its header says.
    pub(crate) fn load(&self, keys: impl IntoIterator<Item = SectionKey>) -> Result<LoadedSections<'_>> {
        let known = |key: SectionKey| self.sections.sections.get(&key).map(|s| (key, s));
        let wanted: Vec<(SectionKey, &Section)> = keys.into_iter().filter_map(known).collect();
        let bytes: Vec<Vec<u8>> = match &self.source {
            CacheSource::Memory(body) => {
                let range = |s: &Section| body.get(s.offset as usize..(s.offset + s.length) as usize);
                wanted.iter().map(|(_, s)| range(s).unwrap_or_default().to_vec()).collect()
            }
            CacheSource::File { store, path, start } => {
                let range = |s: &Section| {
                    let from = start.saturating_add(s.offset);
                    from..from.saturating_add(s.length)
                };
                store.get_ranges(path, &wanted.iter().map(|(_, s)| range(s)).collect::<Vec<_>>())?
            }
        };
        Ok(LoadedSections { of: &self.sections, bytes: wanted.iter().map(|(key, _)| *key).zip(bytes).collect() })
    }
}

impl LoadedSections<'_> {
    /// One section, checked; `None` if the file has none.
    ///
    /// # Errors
    /// `CorruptTable` if the checksum does not match.
    pub(crate) fn get(&self, key: SectionKey) -> Result<Option<Loaded<'_>>> {
        let section = self.of.sections.get(&key).zip(self.bytes.get(&key));
        section.map(|(section, bytes)| Loaded::new(section, bytes)).transpose()
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
