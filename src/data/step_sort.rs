//! Sorts many items in short steps, so that a cancelled call ends soon.
//!
//! Each step sorts a bounded number of items. Then the sorted steps are merged. A comparison never fails, because the
//! sort of the standard library can't be stopped by one.

use std::cmp::Ordering;

use crate::error::Result;
use crate::parallel::{check_cancelled, in_steps};

/// The number of items that are sorted or merged between two checks for cancellation.
pub(crate) const SORT_STEP: usize = 1 << 17;

/// Sorts items. Equal items must not differ.
///
/// # Errors
/// A cancellation.
pub(crate) fn sort_in_steps<T: Copy + Ord>(mut items: Vec<T>) -> Result<Vec<T>> {
    for range in in_steps(items.len(), SORT_STEP) {
        items[range?].sort_unstable();
    }
    merge_steps(items, &T::cmp)
}

/// Sorts items whose steps of [`SORT_STEP`] items are sorted already. Equal items keep their order.
///
/// # Errors
/// A cancellation.
pub(crate) fn merge_steps<T: Copy>(items: Vec<T>, compare: &impl Fn(&T, &T) -> Ordering) -> Result<Vec<T>> {
    let (mut from, mut to, mut width) = (items, Vec::new(), SORT_STEP);
    while width < from.len() {
        to.clear();
        to.reserve_exact(from.len());
        for pair in from.chunks(width.saturating_mul(2)) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge_pair(left, right, compare, &mut to)?;
        }
        std::mem::swap(&mut from, &mut to);
        width = width.saturating_mul(2);
    }
    Ok(from)
}

fn merge_pair<T: Copy>(
    mut left: &[T],
    mut right: &[T],
    compare: &impl Fn(&T, &T) -> Ordering,
    to: &mut Vec<T>,
) -> Result<()> {
    check_cancelled()?;
    let is_sorted = left.last().zip(right.first()).is_none_or(|(last, first)| compare(last, first).is_le());
    while !is_sorted && let (Some((a, others)), Some((b, rest))) = (left.split_first(), right.split_first()) {
        if to.len().is_multiple_of(SORT_STEP) {
            check_cancelled()?;
        }
        if compare(b, a).is_lt() {
            to.push(*b);
            right = rest;
        } else {
            to.push(*a);
            left = others;
        }
    }
    to.extend_from_slice(left);
    to.extend_from_slice(right);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::parallel::Cancellation;

    fn mixed(count: u64) -> Vec<u64> {
        (0..count).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).collect()
    }

    #[test]
    fn steps_become_one_order() {
        for count in [0, 1, SORT_STEP as u64, SORT_STEP as u64 + 1, 5 * SORT_STEP as u64 + 7] {
            let mut expected = mixed(count);
            let sorted = sort_in_steps(expected.clone()).unwrap();
            expected.sort();
            assert_eq!(sorted, expected);
        }
    }

    #[test]
    fn equal_items_keep_their_order() {
        let count = 3 * SORT_STEP;
        let mut items: Vec<(usize, usize)> = (0..count).map(|n| (n % 7, n)).collect();
        items.chunks_mut(SORT_STEP).for_each(|step| step.sort_by_key(|item| item.0));
        let sorted = merge_steps(items, &|a, b| a.0.cmp(&b.0)).unwrap();
        assert!(sorted.is_sorted());
    }

    #[test]
    fn a_cancelled_sort_stops_within_a_step() {
        let items: Vec<u64> = {
            let mut items = mixed(4 * SORT_STEP as u64);
            items.chunks_mut(SORT_STEP).for_each(<[u64]>::sort_unstable);
            items
        };
        for checks in 0..8 {
            let compared = Cell::new(0);
            let compare = |a: &u64, b: &u64| {
                compared.set(compared.get() + 1);
                a.cmp(b)
            };
            let sorted = Cancellation::after(checks).scope(|| merge_steps(items.clone(), &compare));
            assert!(sorted.is_err());
            assert!(compared.get() <= (checks + 1) * (SORT_STEP + 1), "{checks}: {}", compared.get());
        }
        assert!(Cancellation::after(3).scope(|| sort_in_steps(mixed(4 * SORT_STEP as u64))).is_err());
    }
}
