//! Merges small manifests, so that planning stays fast for tables with many commits.
//!
//! Manifests of one kind and spec are packed into bins of the target size, from the oldest on and without changing
//! their order. A bin of several manifests is written as one manifest. The newest bin is written only when it holds
//! enough manifests, so that an append does not rewrite the previous append's result. This follows Java's
//! `ManifestMergeManager`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::error::{Error, Result};
use crate::iceberg::commit::manifests::{ManifestWriter, target_bytes};
use crate::iceberg::commit::removal::{ManifestOrigin, source_of};
use crate::iceberg::manifest::encode::ManifestEntry;
use crate::iceberg::manifest::entries::{ADDED, DELETED, EXISTING};
use crate::iceberg::manifest::list::ManifestFile;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::store::in_parallel;

const ENABLED: &str = "commit.manifest-merge.enabled";
const MIN_COUNT: &str = "commit.manifest.min-count-to-merge";

/// The settings for merging manifests.
struct Policy {
    target_bytes: i64,
    min_count: i64,
}

impl Policy {
    /// Reads the settings. `None` if the table's properties turn merging off.
    fn of(base: &TableMetadata) -> Result<Option<Policy>> {
        let enabled = match base.properties.get(ENABLED).map(|v| v.trim().to_ascii_lowercase()).as_deref() {
            None | Some("true") => true,
            Some("false") => false,
            Some(other) => {
                return Err(Error::invalid(format!(
                    "the table property {ENABLED} is '{other}', neither true nor false"
                )));
            }
        };
        let target_bytes = target_bytes(base)?;
        let min_count = base.int_property(MIN_COUNT, 100)?;
        Ok(enabled.then_some(Policy { target_bytes, min_count }))
    }
}

/// Merges manifests of one kind, and keeps the results of earlier attempts.
#[derive(Debug, Default)]
pub(super) struct Merger {
    known: HashMap<Vec<ManifestOrigin>, ManifestFile>,
}

impl Merger {
    /// Forgets the results of earlier attempts.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// Returns the manifests, newest first, merged where necessary. Also returns the number of earlier snapshots'
    /// manifests that were merged into others.
    ///
    /// # Errors
    /// Errors of the store; `CorruptTable` if a manifest is damaged; `InvalidInput` if a property is not a number.
    pub(super) fn merge(
        &mut self,
        writer: &ManifestWriter,
        base: &TableMetadata,
        manifests: Vec<ManifestFile>,
    ) -> Result<(Vec<ManifestFile>, usize)> {
        let (Some(policy), Some(first)) = (Policy::of(base)?, manifests.first()) else { return Ok((manifests, 0)) };
        let first = first.path.clone();
        let mut by_spec: BTreeMap<Reverse<i32>, Vec<ManifestFile>> = BTreeMap::new();
        for m in manifests {
            by_spec.entry(Reverse(m.spec_id)).or_default().push(m);
        }
        let bins: Vec<Vec<ManifestFile>> = by_spec.into_values().flat_map(|g| pack(g, policy.target_bytes)).collect();
        let whole = |bin: &[ManifestFile]| {
            let is_newest = bin.iter().any(|m| m.path == first);
            bin.len() < 2 || (is_newest && (bin.len() as i64) < policy.min_count)
        };
        let key = |bin: &[ManifestFile]| bin.iter().map(source_of).collect::<Vec<_>>();
        let merged = in_parallel(writer.store.as_ref(), bins.len(), |i| match &bins[i] {
            bin if whole(bin) => Ok(None),
            bin => match self.known.get(&key(bin)) {
                Some(known) => Ok(Some(known.clone())),
                None => write_merged(writer, base, bin).map(Some),
            },
        })?;
        let (mut out, mut replaced) = (Vec::new(), 0);
        for (bin, merged) in bins.into_iter().zip(merged) {
            match merged {
                None => out.extend(bin),
                Some(merged) => {
                    replaced += bin.iter().filter(|m| !writer.is_own(m)).count();
                    self.known.insert(key(&bin), merged.clone());
                    out.push(merged);
                }
            }
        }
        Ok((out, replaced))
    }
}

/// Packs neighbours into bins. Bins are filled from the end, so that the first bin is the one with free space.
fn pack(manifests: Vec<ManifestFile>, target_bytes: i64) -> Vec<Vec<ManifestFile>> {
    let mut bins: Vec<Vec<ManifestFile>> = Vec::new();
    let mut taken = 0i64;
    for m in manifests.into_iter().rev() {
        let bytes = m.length_bytes.max(0);
        match bins.last_mut().filter(|_| taken.saturating_add(bytes) <= target_bytes) {
            Some(bin) => {
                taken += bytes;
                bin.push(m);
            }
            None => {
                taken = bytes;
                bins.push(vec![m]);
            }
        }
    }
    bins.iter_mut().for_each(|bin| bin.reverse());
    bins.reverse();
    bins
}

fn write_merged(writer: &ManifestWriter, base: &TableMetadata, bin: &[ManifestFile]) -> Result<ManifestFile> {
    let Some(first) = bin.first() else { return Err(Error::internal("there is nothing to merge")) };
    let mut entries: Vec<ManifestEntry> = Vec::new();
    for m in bin {
        for mut entry in writer.read(base, m)? {
            let now = entry.snapshot_id == Some(writer.snapshot_id);
            if entry.status == DELETED && !now {
                continue;
            }
            if entry.status == ADDED && !now {
                entry.status = EXISTING;
            }
            entries.push(entry);
        }
    }
    writer.write(base, first.content, first.spec_id, &entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_neighbours_from_the_end() {
        let manifest = |length_bytes| ManifestFile { length_bytes, ..ManifestFile::default() };
        let packed = |sizes: &[i64]| {
            let bins = pack(sizes.iter().map(|s| manifest(*s)).collect(), 10);
            bins.iter().map(|b| b.iter().map(|m| m.length_bytes).collect()).collect::<Vec<Vec<_>>>()
        };
        assert_eq!(packed(&[3, 4, 5, 6]), [vec![3], vec![4, 5], vec![6]]);
        assert_eq!(packed(&[1, 9, 1, 20, 2]), [vec![1], vec![9, 1], vec![20], vec![2]]);
        assert!(packed(&[]).is_empty());
    }
}
