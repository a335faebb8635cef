//! The bounds of columns over all files: how much they overlap, and whether they tell files apart.

use std::collections::{HashMap, HashSet};

use super::code::Code;
use super::finding::{Findings, Gain};
use crate::types::value::decode_bound;
use crate::types::{PrimitiveType, ValueRef};

/// The most columns whose order of files is measured.
pub(crate) const MOST_ORDERS: usize = 4;
/// The least number of files whose order is judged.
pub(crate) const LEAST_ORDERED: usize = 16;
/// The least share of files that a value may be in, for a finding about the order of files.
const OVERLAP: f64 = 0.5;
/// The least share of files that counts as nearly all.
const NEARLY_ALL: f64 = 0.9;
/// The longest text of a bound that is kept, in bytes.
const MOST_TEXT: usize = 64;
/// The bits of a place that give the length of its text.
const LENGTH_BITS: u32 = MOST_TEXT.ilog2() + 1;

/// Whether bounds of this type can be ordered.
pub(crate) fn has_order(ty: &PrimitiveType) -> bool {
    use PrimitiveType as P;
    matches!(
        ty,
        P::Int
            | P::Long
            | P::Date
            | P::Time
            | P::Timestamp
            | P::Timestamptz
            | P::TimestampNs
            | P::TimestamptzNs
            | P::Float
            | P::Double
            | P::String
    )
}

/// The bounds of one column in many files.
#[derive(Debug, Default)]
pub(crate) struct FileBounds {
    /// The manifest of each file with its bounds: numbers that keep the order, or places in the text.
    files: Vec<(u32, u64, u64)>,
    /// The bounds of a column of text, one after the other. A place in it is an offset and a length.
    text: String,
}

impl FileBounds {
    /// Adds the bounds of a file. Bounds that can't be ordered are left out.
    pub(crate) fn add(&mut self, manifest: u32, lower: Option<&[u8]>, upper: Option<&[u8]>, ty: &PrimitiveType) {
        let (Some(low), Some(high)) = (decoded(lower, ty), decoded(upper, ty)) else { return };
        if let (ValueRef::String(low), ValueRef::String(high)) = (low, high) {
            let (first, last) = (cut(low), cut(high));
            // The bounds may differ behind the end of what is kept.
            let is_unknown = first == last && (first.len() < low.len() || last.len() < high.len());
            if first <= last && !is_unknown {
                let bounds = (manifest, self.place(first), self.place(last));
                self.files.push(bounds);
            }
        } else if let (Some(low), Some(high)) = (number(low), number(high))
            && low <= high
        {
            self.files.push((manifest, low, high));
        }
    }

    /// Adds the bounds of more files.
    pub(crate) fn extend(&mut self, more: FileBounds) {
        // Only a column of text moves.
        let moved = (self.text.len() as u64) << LENGTH_BITS;
        self.files.extend(more.files.into_iter().map(|(manifest, low, high)| (manifest, low + moved, high + moved)));
        self.text.push_str(&more.text);
    }

    fn place(&mut self, text: &str) -> u64 {
        let start = self.text.len() as u64;
        self.text.push_str(text);
        (start << LENGTH_BITS) | text.len() as u64
    }

    fn at(&self, place: u64) -> &str {
        let (start, length) = ((place >> LENGTH_BITS) as usize, (place & ((1 << LENGTH_BITS) - 1)) as usize);
        self.text.get(start..start + length).unwrap_or_default()
    }

    /// The bounds in these manifests.
    pub(crate) fn of(&self, manifests: &HashSet<u32>) -> Vec<(u64, u64)> {
        let files = self.files.iter().filter(|(manifest, ..)| manifests.contains(manifest));
        files.map(|(_, low, high)| (*low, *high)).collect()
    }

    /// The lower bound, the middle and the upper bound of each file, as numbers that keep the order.
    pub(crate) fn ranked(&self, bounds: &[(u64, u64)]) -> Vec<(u64, u64, u64)> {
        if self.text.is_empty() {
            let middle = |low: u64, high: u64| low + high.saturating_sub(low) / 2;
            return bounds.iter().map(|(low, high)| (*low, middle(*low, *high), *high)).collect();
        }
        let bytes = |place: &u64| self.at(*place).as_bytes();
        let mut texts: Vec<&[u8]> = bounds.iter().flat_map(|(low, high)| [bytes(low), bytes(high)]).collect();
        texts.sort_unstable();
        texts.dedup();
        // Bounds are even, and what is between two of them is odd.
        let rank = |text: &[u8]| match texts.binary_search(&text) {
            Ok(at) => at as u64 * 2,
            Err(at) => (at as u64 * 2).saturating_sub(1),
        };
        let ranks = |(low, high): &(u64, u64)| {
            let (low, high) = (bytes(low), bytes(high));
            let (first, last) = (rank(low), rank(high));
            (first, rank(&middle(low, high)).clamp(first, last), last)
        };
        bounds.iter().map(ranks).collect()
    }

    /// The text bounds that nearly all files have: the lower bound, the upper bound, and the number of files.
    pub(crate) fn same(&self, bounds: &[(u64, u64)]) -> Option<(&str, &str, usize)> {
        if self.text.is_empty() {
            return None;
        }
        let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
        for (low, high) in bounds {
            *counts.entry((self.at(*low), self.at(*high))).or_default() += 1;
        }
        let ((low, high), count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        (count as f64 >= bounds.len() as f64 * NEARLY_ALL).then_some((low, high, count))
    }

    /// Reports the column if its bounds overlap in most files: a value is in many files, on average. `bounds` has those
    /// of each file, `data_bytes` are the bytes of all files.
    pub(crate) fn report(
        &self,
        bounds: &[(u64, u64)],
        findings: &Findings,
        code: &'static Code,
        column: String,
        data_bytes: u64,
    ) {
        let count = bounds.len();
        if count < LEAST_ORDERED {
            return;
        }
        let Some(share) = overlap(&self.ranked(bounds)).filter(|share| *share > OVERLAP) else { return };
        let saved = ((share * count as f64) as u64).saturating_sub(1);
        let gain = Gain { bytes: data_bytes / count.max(1) as u64 * saved, files: saved, requests: saved * 2 };
        let evidence = format!("a value is in the bounds of {:.0} % of {count} files on average", share * 100.0);
        findings.gain(code, column, evidence, gain);
    }
}

/// A bound that can be read.
fn decoded<'a>(bound: Option<&'a [u8]>, ty: &PrimitiveType) -> Option<ValueRef<'a>> {
    decode_bound(bound?, ty).ok()?
}

/// A text about in the middle of two others.
fn middle(low: &[u8], high: &[u8]) -> Vec<u8> {
    let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let number = |text: &[u8]| {
        let mut first = [0; 8];
        first.iter_mut().zip(text.iter().skip(same)).for_each(|(to, from)| *to = *from);
        u64::from_be_bytes(first)
    };
    let (from, to) = (number(low), number(high));
    let mut out: Vec<u8> = low.iter().copied().take(same).collect();
    out.extend((from + to.saturating_sub(from) / 2).to_be_bytes());
    out
}

/// The beginning of a text.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MOST_TEXT)).unwrap_or(text)
}

/// A value as a number that keeps the order.
fn number(value: ValueRef<'_>) -> Option<u64> {
    let signed = |v: i64| (v as u64) ^ (1 << 63);
    match value {
        ValueRef::Int(v) => Some(signed(i64::from(v))),
        ValueRef::Long(v) => Some(signed(v)),
        ValueRef::Float(v) => float(f64::from(v)),
        ValueRef::Double(v) => float(v),
        _ => None,
    }
}

fn float(v: f64) -> Option<u64> {
    let bits = v.to_bits();
    (!v.is_nan()).then_some(if v.is_sign_negative() { !bits } else { bits ^ (1 << 63) })
}

/// How much the bounds overlap: the share of files that a value is in, on average. `None` if all bounds are one value.
fn overlap(bounds: &[(u64, u64, u64)]) -> Option<f64> {
    let count = bounds.len();
    let mut starts: Vec<u64> = bounds.iter().map(|(low, ..)| *low).collect();
    let mut ends: Vec<u64> = bounds.iter().map(|(.., high)| *high).collect();
    starts.sort_unstable();
    ends.sort_unstable();
    if starts.first() == ends.last() {
        return None;
    }
    // For each file: the files that begin before its middle, without those that end before it.
    let depth = |at: &u64| starts.partition_point(|s| s <= at).saturating_sub(ends.partition_point(|e| e < at));
    Some(bounds.iter().map(|(_, middle, _)| depth(middle)).sum::<usize>() as f64 / (count * count) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds of text, half of the files from another batch.
    fn texts(bounds: &[(String, String)]) -> FileBounds {
        let mut out = FileBounds::default();
        for half in bounds.chunks(bounds.len().div_ceil(2)) {
            let mut batch = FileBounds::default();
            for (low, high) in half {
                batch.add(0, Some(low.as_bytes()), Some(high.as_bytes()), &PrimitiveType::String);
            }
            out.extend(batch);
        }
        out
    }

    fn overlap_of(column: &FileBounds) -> Option<f64> {
        overlap(&column.ranked(&column.of(&HashSet::from([0]))))
    }

    #[test]
    fn sorted_texts_with_a_common_prefix_do_not_overlap() {
        let sorted: Vec<_> =
            (0..20).map(|n| (format!("common-user-{n:03}0"), format!("common-user-{n:03}9"))).collect();
        // Each value is in one of 20 files.
        assert_eq!(overlap_of(&texts(&sorted)), Some(0.05));
        // Each file begins where the last one ends.
        let touching: Vec<_> = (0..20).map(|n| (format!("{n:03}"), format!("{:03}", n + 1))).collect();
        assert_eq!(overlap_of(&texts(&touching)), Some(0.05));
        let same = vec![("common-user-0000".to_owned(), "common-user-9999".to_owned()); 20];
        assert_eq!(overlap_of(&texts(&same)), Some(1.0));
        assert_eq!(overlap_of(&texts(&vec![("a".to_owned(), "a".to_owned()); 20])), None);
        // All begin before the middles of all, and end after them.
        let mixed: Vec<_> = (0..20).map(|n| (format!("user-{n:03}"), format!("user-{:03}", n + 180))).collect();
        assert_eq!(overlap_of(&texts(&mixed)), Some(1.0));
    }

    #[test]
    fn long_texts_are_left_out_if_they_may_differ_behind_the_end() {
        let long = |end: &str| format!("{}{end}", "ä".repeat(40));
        let bounds = [(long("a"), long("b")), (long("c"), long("c")), ("b".repeat(70), "c".repeat(70))];
        let column = texts(&bounds);
        let kept = column.of(&HashSet::from([0]));
        assert_eq!(kept.len(), 1);
        assert_eq!(kept.iter().map(|(low, _)| column.at(*low)).collect::<Vec<_>>(), ["b".repeat(64)]);
        assert!(column.of(&HashSet::from([1])).is_empty());
    }

    #[test]
    fn numbers_keep_their_order() {
        let mut column = FileBounds::default();
        for n in [-5i64, 0, 7] {
            let bytes = [n.to_le_bytes(), (n + 1).to_le_bytes()];
            column.add(n.unsigned_abs() as u32, Some(&bytes[0]), Some(&bytes[1]), &PrimitiveType::Long);
            column.add(0, Some(&bytes[1]), Some(&bytes[0]), &PrimitiveType::Long);
            column.add(0, Some(&bytes[0]), None, &PrimitiveType::Long);
        }
        let mut all = FileBounds::default();
        all.extend(column);
        let bounds = all.ranked(&all.of(&HashSet::from([0, 5, 7])));
        assert!(bounds.is_sorted() && bounds.len() == 3, "{bounds:?}");
        assert_eq!(overlap(&bounds), Some(1.0 / 3.0));
        let [low, high] = [f64::NEG_INFINITY, -0.5].map(f64::to_le_bytes);
        let mut floats = FileBounds::default();
        floats.add(0, Some(&low), Some(&high), &PrimitiveType::Double);
        floats.add(0, Some(&f64::NAN.to_le_bytes()), Some(&high), &PrimitiveType::Double);
        assert_eq!(floats.of(&HashSet::from([0])).len(), 1);
    }

    #[test]
    fn bounds_that_nearly_all_files_have_are_found() {
        let found = |bounds: &[(String, String)]| {
            let column = texts(bounds);
            let same = column.same(&column.of(&HashSet::from([0])));
            same.map(|(low, high, count)| (low.to_owned(), high.to_owned(), count))
        };
        let (low, high) = ("https://example.".to_owned(), "https://example/".to_owned());
        let mut bounds = vec![(low.clone(), high.clone()); 18];
        bounds.extend(vec![("a".to_owned(), "b".to_owned()); 2]);
        assert_eq!(found(&bounds), Some((low, high, 18)));
        bounds.push(("a".to_owned(), "b".to_owned()));
        // 18 of 21 files are not nearly all.
        assert_eq!(found(&bounds), None);
    }
}
