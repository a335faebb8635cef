//! Position deletes by the data files that they name: exactly ([`PathMap`]), or by a range of paths ([`PathRanges`]).

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

/// Maps a path to the delete files with a range of paths that holds it: a balanced tree of intervals in an array.
#[derive(Debug, Default)]
pub(crate) struct PathRanges {
    /// Ascending by lower bound, after closing.
    ranges: Vec<PathRange>,
}

#[derive(Debug)]
struct PathRange {
    /// Empty if unknown. The empty path is below every path.
    lower: Box<[u8]>,
    /// `None` if unknown.
    upper: Option<Box<[u8]>>,
    sequence_number: i64,
    file: u32,
    /// The greatest upper bound in the subtree; `None` if one of them is unknown.
    most: Option<Box<[u8]>>,
    /// The newest sequence number in the subtree.
    newest: i64,
}

impl PathRanges {
    /// Adds a delete file. Bounds are bytes and may be truncated.
    pub(crate) fn add(&mut self, lower: Option<&[u8]>, upper: Option<&[u8]>, sequence_number: i64, file: u32) {
        self.ranges.push(PathRange {
            lower: lower.unwrap_or_default().into(),
            upper: upper.map(Into::into),
            sequence_number,
            file,
            most: None,
            newest: i64::MIN,
        });
    }

    /// Prepares the ranges for searches.
    pub(crate) fn close(&mut self) {
        self.ranges.sort_by(|a, b| a.lower.cmp(&b.lower));
        close_subtree(&mut self.ranges);
    }

    /// Adds the delete files that may name a path and are not older than `sequence_number`.
    pub(crate) fn find(&self, path: &[u8], sequence_number: i64, out: &mut Vec<u32>) {
        find_in_subtree(&self.ranges, path, sequence_number, out);
    }
}

/// Fills in the data about each subtree at its root. The root is the middle of a slice, so the depth is logarithmic.
fn close_subtree(ranges: &mut [PathRange]) {
    let middle = ranges.len() / 2;
    let (left, rest) = ranges.split_at_mut(middle);
    let Some((root, right)) = rest.split_first_mut() else { return };
    root.most = root.upper.clone();
    root.newest = root.sequence_number;
    for side in [left, right] {
        close_subtree(side);
        if let Some(child) = side.get(side.len() / 2) {
            root.newest = root.newest.max(child.newest);
            root.most = root.most.take().zip(child.most.as_ref()).map(|(a, b)| if a >= *b { a } else { b.clone() });
        }
    }
}

fn find_in_subtree(ranges: &[PathRange], path: &[u8], sequence_number: i64, out: &mut Vec<u32>) {
    let (left, rest) = ranges.split_at(ranges.len() / 2);
    let Some((root, right)) = rest.split_first() else { return };
    if root.newest < sequence_number || root.most.as_deref().is_some_and(|most| most < path) {
        return;
    }
    find_in_subtree(left, path, sequence_number, out);
    if *root.lower <= *path {
        if root.sequence_number >= sequence_number && root.upper.as_deref().is_none_or(|upper| path <= upper) {
            out.push(root.file);
        }
        find_in_subtree(right, path, sequence_number, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_what_a_walk_over_all_finds(
            files in prop::collection::vec((0u8..6, 0u8..6, any::<(bool, bool)>(), 0i64..5), 0..40),
            path in 0u8..8,
            sequence_number in 0i64..6,
        ) {
            let (mut ranges, mut map) = (PathRanges::default(), PathMap::default());
            let (mut in_range, mut exact) = (Vec::new(), Vec::new());
            for (i, (a, b, known, s)) in files.iter().enumerate() {
                let (lower, upper) = (known.0.then_some([*a.min(b)]), known.1.then_some([*a.max(b)]));
                ranges.add(lower.as_ref().map(|b| &b[..]), upper.as_ref().map(|b| &b[..]), *s, i as u32);
                map.insert(&[*a], *s, i as u32);
                let holds = lower.is_none_or(|l| l[0] <= path) && upper.is_none_or(|u| path <= u[0]);
                if holds && *s >= sequence_number {
                    in_range.push(i as u32);
                }
                if *a == path && *s >= sequence_number {
                    exact.push(i as u32);
                }
            }
            ranges.close();
            let (mut found, mut named) = (Vec::new(), Vec::new());
            ranges.find(&[path], sequence_number, &mut found);
            map.find(&[path], sequence_number, &mut named);
            let newest = exact.iter().map(|i| files[*i as usize].3).max();
            prop_assert!(newest.is_none() || map.newest(&[path]).map(|n| n.0) == newest);
            found.sort_unstable();
            named.sort_unstable();
            prop_assert_eq!(found, in_range);
            prop_assert_eq!(named, exact);
        }
    }
}
