//! Which requests to make for ranges of a file: close ranges are joined, and large ones are split.

use std::ops::Range;

/// Up to this number of bytes between two ranges are read as well: another request would cost as much.
const GAP_BYTES: u64 = 1 << 20;

/// Bytes of a request at most: a larger range is read by several at once.
const REQUEST_BYTES: u64 = 8 << 20;

/// The requests, ascending and disjoint. Empty ranges need none.
pub(super) fn requests(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    joined(ranges, GAP_BYTES).into_iter().flat_map(|range| pieces(range, REQUEST_BYTES)).collect()
}

/// The ranges in order. Ranges that are at most `gap` apart are joined.
fn joined(ranges: &[Range<u64>], gap: u64) -> Vec<Range<u64>> {
    let mut wanted: Vec<Range<u64>> = ranges.iter().filter(|r| r.start < r.end).cloned().collect();
    wanted.sort_unstable_by_key(|r| r.start);
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(wanted.len());
    for range in wanted {
        match joined.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(gap) => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// A range in pieces of about equal size, with at most `most` bytes each.
fn pieces(range: Range<u64>, most: u64) -> impl Iterator<Item = Range<u64>> {
    let length = range.end - range.start;
    let count = length.div_ceil(most);
    let at = move |i: u64| range.start + (u128::from(length) * u128::from(i) / u128::from(count.max(1))) as u64;
    (0..count).map(move |i| at(i)..at(i + 1))
}

/// The bytes of `range` out of the answers to [`requests`]; `None` if an answer is too short.
pub(super) fn cut_out(requests: &[Range<u64>], answers: &[impl AsRef<[u8]>], range: &Range<u64>) -> Option<Vec<u8>> {
    if range.start >= range.end {
        return Some(Vec::new());
    }
    let mut out = Vec::with_capacity((range.end - range.start) as usize);
    let first = requests.partition_point(|r| r.end <= range.start);
    for (request, answer) in requests.iter().zip(answers).skip(first) {
        if request.start >= range.end {
            break;
        }
        let from = range.start.max(request.start) - request.start;
        let to = range.end.min(request.end) - request.start;
        out.extend_from_slice(answer.as_ref().get(from as usize..to as usize)?);
    }
    (out.len() as u64 == range.end - range.start).then_some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn near_ranges_are_one_request_and_large_ones_several() {
        let mib = 1 << 20;
        let asked = |ranges: &[(u64, u64)]| -> Vec<(u64, u64)> {
            let ranges: Vec<Range<u64>> = ranges.iter().map(|(start, end)| *start..*end).collect();
            requests(&ranges).into_iter().map(|r| (r.start, r.end)).collect()
        };
        assert_eq!(asked(&[(5, 5)]), []);
        assert_eq!(asked(&[(2 * mib, 2 * mib + 9), (0, mib)]), [(0, 2 * mib + 9)]);
        assert_eq!(asked(&[(0, 10), (11 + mib, 12 + mib)]), [(0, 10), (11 + mib, 12 + mib)]);
        assert_eq!(asked(&[(0, 20 * mib)]).len(), 3);
        assert_eq!(asked(&[(u64::MAX - 1, u64::MAX)]), [(u64::MAX - 1, u64::MAX)]);
    }

    proptest! {
        #[test]
        fn every_range_is_found_in_the_answers(
            ranges in prop::collection::vec((0u64..40_000, 0u64..12_000), 0..8)
        ) {
            let ranges: Vec<Range<u64>> = ranges.into_iter().map(|(start, length)| start..start + length).collect();
            let asked: Vec<_> = joined(&ranges, 1000).into_iter().flat_map(|range| pieces(range, 8000)).collect();
            prop_assert!(asked.windows(2).all(|w| w[0].end <= w[1].start));
            prop_assert!(asked.iter().all(|r| r.start < r.end && r.end - r.start <= 8000));
            let byte = |at: u64| (at % 251) as u8;
            let answers: Vec<Vec<u8>> = asked.iter().map(|r| r.clone().map(byte).collect()).collect();
            for range in &ranges {
                let found = cut_out(&asked, &answers, range).unwrap();
                prop_assert_eq!(found.len() as u64, range.end - range.start);
                let sample = [0, found.len() / 2, found.len().saturating_sub(1)];
                for i in sample.into_iter().filter(|i| *i < found.len()) {
                    prop_assert_eq!(found[i], byte(range.start + i as u64));
                }
            }
        }
    }
}
