//! Rewrites manifests so that each holds neighbouring partitions. A plan with a filter on partitions then opens few
//! manifests.
//!
//! No file is added or removed. Entries keep their snapshots, sequence numbers and row ids, and become EXISTING.
//! Manifests of one kind and spec are read twice. The first pass reads only the partitions and assigns every entry its
//! place. The second pass writes the entries in waves of a bounded size. This follows Java's `RewriteManifests`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::error::{Error, Result, ResultExt};
use crate::format::task::Partition;
use crate::iceberg::commit::manifests::{ManifestWriter, inherited, partitions_of, target_bytes};
use crate::iceberg::commit::removal::{ManifestOrigin, source_of};
use crate::iceberg::manifest::columns::Manifest;
use crate::iceberg::manifest::encode::ManifestEntry;
use crate::iceberg::manifest::entries::{DELETED, EXISTING, EntryRequest};
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::plan::deletes::partition_key;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::store::in_parallel;

/// The most entries in memory, in addition to those of one new manifest and of one old manifest for each thread.
const WAVE: u64 = if cfg!(test) { 4 } else { 100_000 };

/// The manifests to rewrite, and those that earlier attempts wrote.
#[derive(Clone, Debug, Default)]
pub struct ManifestRewrite {
    /// Rewrites only the manifests of this partition spec; all manifests if `None`.
    pub spec_id: Option<i32>,
    /// The target size of new manifests. `None` uses the property `commit.manifest.target-size-bytes`.
    pub target_bytes: Option<i64>,
    known: HashMap<Vec<ManifestOrigin>, Vec<ManifestFile>>,
    /// Which manifests are rewritten.
    scope: RewriteScope,
    /// Members of the summary that replace those of the parent.
    pub(super) totals: BTreeMap<String, String>,
}

/// Which manifests are rewritten.
#[derive(Clone, Debug, Default)]
enum RewriteScope {
    /// Those whose number or size is not as wanted.
    #[default]
    Unsuitable,
    /// All, even if the list describes them wrongly. Manifests with these paths are lost and left out.
    All(HashSet<String>),
    /// None.
    Nothing,
}

/// All manifests of a snapshot after the rewrite.
pub(super) struct Rewritten {
    pub manifests: Vec<ManifestFile>,
    /// The number of old manifests that were replaced.
    pub replaced: usize,
    /// The number of entries that were written.
    pub entries: i64,
}

/// The new places of one manifest's entries.
struct Places {
    /// For each partition: the place of its first entry, and its number of entries.
    by_partition: HashMap<Vec<u8>, (u64, u64)>,
}

impl ManifestRewrite {
    /// Creates a rewrite of the manifests of one partition spec, or of all.
    pub fn new(spec_id: Option<i32>, target_bytes: Option<i64>) -> ManifestRewrite {
        ManifestRewrite { spec_id, target_bytes, ..ManifestRewrite::default() }
    }

    /// A rewrite of all manifests from their entries, without those that are lost.
    pub(crate) fn repairing(lost: HashSet<String>) -> ManifestRewrite {
        ManifestRewrite { scope: RewriteScope::All(lost), ..ManifestRewrite::default() }
    }

    /// A snapshot with the same manifests and other members in its summary.
    pub(crate) fn keeping_manifests(totals: BTreeMap<String, String>) -> ManifestRewrite {
        ManifestRewrite { scope: RewriteScope::Nothing, totals, ..ManifestRewrite::default() }
    }

    /// The manifests to rewrite, one list for each kind and spec, with the number of new manifests. A single manifest
    /// that would become one manifest again stays.
    ///
    /// # Errors
    /// `InvalidInput` if the target is not a number above 0, or if the table has no such spec.
    pub fn groups(&self, base: &TableMetadata, manifests: &[ManifestFile]) -> Result<Vec<(Vec<ManifestFile>, u64)>> {
        let target = self.target_bytes.map_or_else(|| target_bytes(base), Ok)?;
        if target < 1 {
            return Err(Error::invalid(format!("the target size of manifests must be above 0, not {target}")));
        }
        if let Some(id) = self.spec_id.filter(|id| base.partition_specs.iter().all(|s| s.id != *id)) {
            return Err(Error::invalid(format!("the table has no partition spec {id}")));
        }
        let mut groups: BTreeMap<(bool, i32), Vec<ManifestFile>> = BTreeMap::new();
        for m in manifests.iter().filter(|m| self.spec_id.is_none_or(|id| id == m.spec_id)) {
            groups.entry((m.content == ManifestContent::Deletes, m.spec_id)).or_default().push(m.clone());
        }
        let counted = groups.into_values().map(|group| {
            let bytes = group.iter().fold(0u64, |n, m| n.saturating_add(m.length_bytes.max(0).unsigned_abs()));
            let count = bytes.div_ceil(target.unsigned_abs()).max(1);
            (group, count)
        });
        let is_wanted = |group: &[ManifestFile], count: u64| match &self.scope {
            RewriteScope::Unsuitable => group.len() > 1 || count > 1,
            RewriteScope::All(_) => true,
            RewriteScope::Nothing => false,
        };
        Ok(counted.filter(|(group, count)| is_wanted(group, *count)).collect())
    }

    /// Returns the snapshot's manifests with those of each group rewritten, data before deletes.
    ///
    /// # Errors
    /// Errors of [`ManifestRewrite::groups`] and of the store; `CorruptTable` if a manifest is damaged.
    pub(super) fn apply(
        &mut self,
        writer: &ManifestWriter,
        base: &TableMetadata,
        manifests: Vec<ManifestFile>,
    ) -> Result<Rewritten> {
        let manifests = self.described(writer, manifests)?;
        let mut out = Rewritten { manifests: Vec::new(), replaced: 0, entries: 0 };
        let mut replaced: HashSet<String> = HashSet::new();
        for (group, count) in self.groups(base, &manifests)? {
            let sources: Vec<ManifestOrigin> = group.iter().map(source_of).collect();
            let written = match self.known.get(&sources) {
                Some(known) => known.clone(),
                None => rewrite(writer, base, &group, count)?,
            };
            self.known.insert(sources, written.clone());
            out.replaced += group.len();
            out.entries += written.iter().filter_map(|m| m.existing_files_count).sum::<i64>();
            replaced.extend(group.into_iter().map(|m| m.path));
            out.manifests.extend(written);
        }
        out.manifests.extend(manifests.into_iter().filter(|m| !replaced.contains(&m.path)));
        out.manifests.sort_by_key(|m| m.content == ManifestContent::Deletes);
        Ok(out)
    }
}

impl ManifestRewrite {
    /// The manifests to go on with. A repair takes what their own headers say, each once and without the lost ones.
    fn described(&self, writer: &ManifestWriter, manifests: Vec<ManifestFile>) -> Result<Vec<ManifestFile>> {
        let RewriteScope::All(lost) = &self.scope else { return Ok(manifests) };
        let mut seen = HashSet::new();
        let kept: Vec<ManifestFile> =
            manifests.into_iter().filter(|m| !lost.contains(&m.path) && seen.insert(m.path.clone())).collect();
        in_parallel(writer.store.as_ref(), kept.len(), |i| {
            let bytes = writer.store.get(&kept[i].path)?;
            let manifest = Manifest::parse(&bytes).with("path", &kept[i].path)?;
            let spec_id = manifest.spec_id.unwrap_or(kept[i].spec_id);
            Ok(ManifestFile { length_bytes: bytes.len() as i64, content: manifest.content, spec_id, ..kept[i].clone() })
        })
    }
}

fn rewrite(
    writer: &ManifestWriter,
    base: &TableMetadata,
    group: &[ManifestFile],
    count: u64,
) -> Result<Vec<ManifestFile>> {
    let Some(first) = group.first() else { return Ok(Vec::new()) };
    let (places, total) = place(writer, base, group)?;
    let per_manifest = total.div_ceil(count).max(1);
    let per_wave = (WAVE / per_manifest).max(1) * per_manifest;
    let mut out = Vec::new();
    let mut from = 0;
    while from < total {
        let until = total.min(from + per_wave);
        let read = in_parallel(writer.store.as_ref(), group.len(), |i| {
            places[i].entries(writer, base, &group[i], from, until)
        })?;
        let mut entries: Vec<(u64, ManifestEntry)> = read.into_iter().flatten().collect();
        entries.sort_unstable_by_key(|(at, _)| *at);
        let entries: Vec<ManifestEntry> = entries.into_iter().map(|(_, entry)| entry).collect();
        let chunks: Vec<&[ManifestEntry]> = entries.chunks(per_manifest as usize).collect();
        out.extend(in_parallel(writer.store.as_ref(), chunks.len(), |i| {
            writer.write(base, first.content, first.spec_id, chunks[i])
        })?);
        from = until;
    }
    Ok(out)
}

/// Assigns every live entry its place: by partition, then in the order of the manifests.
fn place(writer: &ManifestWriter, base: &TableMetadata, group: &[ManifestFile]) -> Result<(Vec<Places>, u64)> {
    let counted = in_parallel(writer.store.as_ref(), group.len(), |i| {
        count(writer, base, &group[i]).with("path", &group[i].path)
    })?;
    let mut partitions: HashMap<Vec<u8>, Arc<Partition>> = HashMap::new();
    for (key, (partition, _)) in counted.iter().flatten() {
        partitions.entry(key.clone()).or_insert_with(|| partition.clone());
    }
    let mut ordered: Vec<(Vec<u8>, Arc<Partition>)> = partitions.into_iter().collect();
    ordered.sort_by(|(a_key, a), (b_key, b)| in_order(a, b).then_with(|| a_key.cmp(b_key)));
    let mut places: Vec<Places> = counted.iter().map(|_| Places { by_partition: HashMap::new() }).collect();
    let mut next = 0;
    for (key, _) in ordered {
        for (of_manifest, places) in counted.iter().zip(&mut places) {
            if let Some((_, n)) = of_manifest.get(&key) {
                places.by_partition.insert(key.clone(), (next, *n));
                next += n;
            }
        }
    }
    Ok((places, next))
}

/// Partitions by key, each with its number of live entries.
type LiveCounts = HashMap<Vec<u8>, (Arc<Partition>, u64)>;

/// Counts the live entries of a manifest by partition.
fn count(writer: &ManifestWriter, base: &TableMetadata, m: &ManifestFile) -> Result<LiveCounts> {
    let bytes = writer.store.get(&m.path)?;
    let manifest = Manifest::parse_listed(&bytes, m.size(), None)?;
    let columns = manifest.decode(0..manifest.block_count(), &EntryRequest::default(), &inherited(m))?;
    let partitions = partitions_of(base, m, &manifest, &columns)?;
    let mut counts = vec![0u64; partitions.len()];
    for at in &columns.partition {
        if let Some(n) = counts.get_mut(*at as usize) {
            *n += 1;
        }
    }
    let mut out = LiveCounts::new();
    for (partition, n) in partitions.into_iter().zip(counts).filter(|(_, n)| *n > 0) {
        out.entry(partition_key(&partition)).or_insert_with(|| (partition, 0)).1 += n;
    }
    Ok(out)
}

/// Compares the values of the fields one after another, nulls first.
fn in_order(a: &Partition, b: &Partition) -> Ordering {
    let fields = a.values.iter().zip(&b.values);
    let each = fields.map(|(a, b)| match (&a.value, &b.value) {
        (Some(a), Some(b)) => a.sql_cmp(b).unwrap_or(Ordering::Equal),
        (a, b) => a.is_some().cmp(&b.is_some()),
    });
    each.fold(Ordering::Equal, Ordering::then)
}

impl Places {
    /// Reads the entries with places in a range.
    fn entries(
        &self,
        writer: &ManifestWriter,
        base: &TableMetadata,
        m: &ManifestFile,
        from: u64,
        until: u64,
    ) -> Result<Vec<(u64, ManifestEntry)>> {
        if self.by_partition.values().all(|(start, n)| *start >= until || start + n <= from) {
            return Ok(Vec::new());
        }
        let mut next: HashMap<&[u8], u64> = self.by_partition.iter().map(|(k, (start, _))| (&k[..], *start)).collect();
        let mut out = Vec::new();
        for mut entry in writer.read(base, m)?.into_iter().filter(|e| e.status != DELETED) {
            let at = next.get_mut(&partition_key(&entry.file.partition)[..]);
            let at = at.ok_or_else(|| Error::internal("a manifest changed while it was rewritten"))?;
            if (from..until).contains(at) {
                entry.status = EXISTING;
                out.push((*at, entry));
            }
            *at += 1;
        }
        Ok(out)
    }
}
