//! Position deletes by the data file that they name ([`PathMap`]).

use std::hash::{BuildHasher, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};

/// Maps a path to the delete files that name it. The time of a search depends only on the number of files found.
#[derive(Debug, Default)]
pub(crate) struct PathMap {
    hasher: DefaultHashBuilder,
    /// Numbers of the newest entry of each path.
    heads: HashTable<u32>,
    entries: Vec<Entry>,
    paths: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u64,
    start: usize,
    end: usize,
    sequence_number: i64,
    file: u32,
    /// The path's next older entry.
    older: Option<u32>,
}

impl PathMap {
    fn hash(&self, path: &[u8]) -> u64 {
        let mut state = self.hasher.build_hasher();
        state.write(path);
        state.finish()
    }

    fn head(&self, path: &[u8], hash: u64) -> Option<u32> {
        let is_it = |entry: &u32| {
            let entry = self.entries.get(*entry as usize).filter(|e| e.hash == hash);
            entry.is_some_and(|e| self.paths.get(e.start..e.end) == Some(path))
        };
        self.heads.find(hash, is_it).copied()
    }

    /// Adds a delete file. Returns false if another one named the path before. Fast if none of these is newer.
    pub(crate) fn insert(&mut self, path: &[u8], sequence_number: i64, file: u32) -> bool {
        let (hash, new) = (self.hash(path), self.entries.len() as u32);
        if let Some(head) = self.head(path, hash) {
            self.link(head, new, sequence_number, file);
            return false;
        }
        let start = self.paths.len();
        self.paths.extend_from_slice(path);
        self.entries.push(Entry { hash, start, end: self.paths.len(), sequence_number, file, older: None });
        let hash_of = |entry: &u32| self.entries.get(*entry as usize).map_or(0, |e| e.hash);
        self.heads.insert_unique(hash, new, hash_of);
        true
    }

    /// Inserts a new entry into the chain that starts at `head`, newest first. The head keeps its place in the table.
    /// If the new entry is newer, the two swap their contents.
    fn link(&mut self, head: u32, new: u32, sequence_number: i64, file: u32) {
        let (mut at, mut before) = (Some(head), None);
        while let Some(entry) = at.and_then(|e| self.entries.get(e as usize)) {
            if entry.sequence_number <= sequence_number {
                break;
            }
            (before, at) = (at, entry.older);
        }
        // If no older entry precedes it, it becomes the head, and the old head moves.
        let place = before.unwrap_or(head);
        let Some(entry) = self.entries.get_mut(place as usize) else { return };
        let mut added = Entry { sequence_number, file, older: at, ..*entry };
        if before.is_none() {
            std::mem::swap(entry, &mut added);
        }
        entry.older = Some(new);
        self.entries.push(added);
    }

    /// The newest delete file of a path, with its sequence number.
    pub(crate) fn newest(&self, path: &[u8]) -> Option<(i64, u32)> {
        if self.entries.is_empty() {
            return None;
        }
        self.entries.get(self.head(path, self.hash(path))? as usize).map(|e| (e.sequence_number, e.file))
    }

    /// Adds the delete files of a path that are not older than `sequence_number`.
    pub(crate) fn find(&self, path: &[u8], sequence_number: i64, out: &mut Vec<u32>) {
        if self.entries.is_empty() {
            return;
        }
        let mut at = self.head(path, self.hash(path));
        while let Some(entry) = at.and_then(|e| self.entries.get(e as usize)) {
            if entry.sequence_number < sequence_number {
                return;
            }
            out.push(entry.file);
            at = entry.older;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_what_a_walk_over_all_finds(
            files in prop::collection::vec((0u8..6, 0i64..5), 0..40),
            path in 0u8..8,
            sequence_number in 0i64..6,
        ) {
            let (mut map, mut exact) = (PathMap::default(), Vec::new());
            for (i, (name, s)) in files.iter().enumerate() {
                map.insert(&[*name], *s, i as u32);
                if *name == path && *s >= sequence_number {
                    exact.push(i as u32);
                }
            }
            let mut named = Vec::new();
            map.find(&[path], sequence_number, &mut named);
            let newest = exact.iter().map(|i| files[*i as usize].1).max();
            prop_assert!(newest.is_none() || map.newest(&[path]).map(|n| n.0) == newest);
            named.sort_unstable();
            prop_assert_eq!(named, exact);
        }
    }
}
