//! Overlapping files of a bucket: sections that share no key, and sorted runs within a section.
//!
//! Source: Java's `IntervalPartition`, `BinPacking` and `RangeHelper`.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Files as places in a list, one run after another; the files of a run follow each other and don't overlap.
pub type KeySection = Vec<Vec<usize>>;

/// Sections of intervals, both ends included, in ascending order. Each has as few runs as possible. Runs are in the
/// order of their first interval.
pub fn sections<K: Ord>(intervals: &[(K, K)]) -> Vec<KeySection> {
    let mut order: Vec<usize> = (0..intervals.len()).collect();
    order.sort_by(|a, b| key(intervals, *a).cmp(&key(intervals, *b)));
    let mut out = Vec::new();
    let mut section: Vec<usize> = Vec::new();
    let mut bound: Option<&K> = None;
    for at in order {
        let Some((low, high)) = intervals.get(at) else { continue };
        if bound.is_some_and(|bound| low > bound) {
            out.push(runs(intervals, &section));
            section.clear();
            bound = None;
        }
        section.push(at);
        bound = Some(bound.map_or(high, |bound| bound.max(high)));
    }
    if !section.is_empty() {
        out.push(runs(intervals, &section));
    }
    out
}

fn key<K>(intervals: &[(K, K)], at: usize) -> Option<&(K, K)> {
    intervals.get(at)
}

/// The sort key of a section's runs, oldest first: that of their oldest file. Two writers that began at the same time
/// may give rows of one key equal sequence numbers. Then the row of the last run counts. Reading and compacting must
/// both use this order, so that this row stays the same. The order is by the files' least sequence numbers, then
/// higher levels first, then their order in manifests.
pub fn age<P: Ord>(least_sequence: i64, level: i32, place: P) -> (i64, Reverse<i32>, P) {
    (least_sequence, Reverse(level), place)
}

/// An interval is appended to the run that ends first, if it begins after that end.
fn runs<K: Ord>(intervals: &[(K, K)], section: &[usize]) -> KeySection {
    let mut runs: KeySection = Vec::new();
    let mut ends: BinaryHeap<Reverse<(&K, usize)>> = BinaryHeap::new();
    for at in section {
        let Some((low, high)) = key(intervals, *at) else { continue };
        let free = ends.peek().is_some_and(|Reverse((end, _))| low.cmp(end) == Ordering::Greater);
        let run = match if free { ends.pop() } else { None } {
            Some(Reverse((_, run))) => run,
            None => {
                runs.push(Vec::new());
                runs.len() - 1
            }
        };
        if let Some(run) = runs.get_mut(run) {
            run.push(*at);
        }
        ends.push(Reverse((high, run)));
    }
    runs
}

/// Items in bins of consecutive ones. Each bin is as full as the target allows, and has at least one item.
pub fn pack<T>(items: Vec<T>, weight: impl Fn(&T) -> i64, target: i64) -> Vec<Vec<T>> {
    let (mut out, mut bin, mut filled) = (Vec::new(), Vec::new(), 0i64);
    for item in items {
        let weight = weight(&item);
        if filled.saturating_add(weight) > target && !bin.is_empty() {
            out.push(std::mem::take(&mut bin));
            filled = 0;
        }
        filled = filled.saturating_add(weight);
        bin.push(item);
    }
    if !bin.is_empty() {
        out.push(bin);
    }
    out
}

/// As [`pack`], but borrows the items.
pub fn packed<T>(items: &[T], weight: impl Fn(&T) -> i64, target: i64) -> Vec<&[T]> {
    let (mut out, mut start, mut filled) = (Vec::new(), 0, 0i64);
    for (end, item) in items.iter().enumerate() {
        let weight = weight(item);
        if filled.saturating_add(weight) > target && end > start {
            out.extend(items.get(start..end));
            (start, filled) = (end, 0);
        }
        filled = filled.saturating_add(weight);
    }
    out.extend(items.get(start..).filter(|last| !last.is_empty()));
    out
}

/// Groups of ranges that overlap, both ends included, in ascending order; within a group in the order given.
pub fn overlapping(ranges: &[(i64, i64)]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_by_key(|at| ranges.get(*at).copied());
    let mut out: Vec<Vec<usize>> = Vec::new();
    let mut end = i64::MIN;
    for at in order {
        let Some((from, to)) = ranges.get(at).copied() else { continue };
        match out.last_mut() {
            Some(group) if from <= end => group.push(at),
            _ => {
                out.push(vec![at]);
                end = to;
            }
        }
        end = end.max(to);
    }
    out.iter_mut().for_each(|group| group.sort_unstable());
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn intervals_that_touch_are_of_one_section() {
        let intervals = [(5, 9), (1, 3), (3, 4), (2, 6), (10, 10), (4, 4)];
        assert_eq!(sections(&intervals), [vec![vec![1, 5, 0], vec![3], vec![2]], vec![vec![4]]]);
        assert!(sections::<i32>(&[]).is_empty());
    }

    #[test]
    fn bins_are_filled_in_order() {
        assert_eq!(pack(vec![3, 3, 9, 1, 1], |n| *n, 5), [vec![3], vec![3], vec![9], vec![1, 1]]);
        assert_eq!(pack(vec![2, 3], |n| *n, 5), [vec![2, 3]]);
        assert_eq!(packed(&[3, 3, 9, 1, 1], |n| *n, 5), [&[3][..], &[3], &[9], &[1, 1]]);
        assert!(packed::<i64>(&[], |n| *n, 5).is_empty());
    }

    #[test]
    fn ranges_are_grouped_by_what_they_share() {
        assert_eq!(overlapping(&[(10, 19), (0, 9), (0, 4), (20, 29), (5, 9)]), [vec![1, 2, 4], vec![0], vec![3]]);
    }

    proptest! {
        #[test]
        fn sections_part_all_keys_and_runs_do_not_overlap(ends in prop::collection::vec((0u8..40, 0u8..12), 0..30)) {
            let intervals: Vec<(u8, u8)> = ends.iter().map(|(low, length)| (*low, low + length)).collect();
            let sections = sections(&intervals);
            let mut all: Vec<usize> = sections.iter().flatten().flatten().copied().collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..intervals.len()).collect::<Vec<_>>());
            let mut before = None;
            for section in &sections {
                let files = || section.iter().flatten().map(|at| intervals[*at]);
                let (low, high) = (files().map(|f| f.0).min().unwrap(), files().map(|f| f.1).max().unwrap());
                prop_assert!(before.is_none_or(|before| before < low));
                before = Some(high);
                for run in section {
                    prop_assert!(run.windows(2).all(|w| intervals[w[0]].1 < intervals[w[1]].0));
                }
                // As few runs as files that share a key.
                let deepest = (low..=high).map(|key| files().filter(|f| f.0 <= key && key <= f.1).count()).max().unwrap();
                prop_assert_eq!(section.len(), deepest);
            }
        }
    }
}
