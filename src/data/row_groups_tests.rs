use proptest::prelude::*;

use super::*;

fn ranges(rows: &[bool]) -> Vec<Range<usize>> {
    let single = rows.iter().enumerate().filter(|(_, kept)| **kept).map(|(i, _)| i..i + 1);
    single.fold(Vec::new(), |all, r| unite(all, vec![r]))
}

fn rows(ranges: &[Range<usize>], total: usize) -> Vec<bool> {
    (0..total).map(|i| ranges.iter().any(|r| r.contains(&i))).collect()
}

proptest! {
    #[test]
    fn ranges_are_sets_of_rows(a in prop::collection::vec(any::<bool>(), 40), b in prop::collection::vec(any::<bool>(), 40)) {
        let (ra, rb) = (ranges(&a), ranges(&b));
        let both: Vec<bool> = a.iter().zip(&b).map(|(x, y)| *x && *y).collect();
        let either: Vec<bool> = a.iter().zip(&b).map(|(x, y)| *x || *y).collect();
        prop_assert_eq!(rows(&intersect(&ra, &rb), 40), both);
        let united = unite(ra, rb);
        prop_assert_eq!(rows(&united, 40), either);
        prop_assert!(united.windows(2).all(|w| w[0].end < w[1].start));
    }
}

#[test]
fn pages_must_tile_their_row_group() {
    let pages = |firsts: &[i64]| {
        let page = |&first_row_index| PageLocation { offset: 4, compressed_page_size: 1, first_row_index };
        firsts.iter().map(page).collect::<Vec<_>>()
    };
    assert_eq!(page_rows(&pages(&[0, 3]), 5), Some(vec![0..3, 3..5]));
    for (firsts, rows) in [(&[1, 3][..], 5), (&[0, 3, 3], 5), (&[0, 5], 5), (&[0, -1], 5), (&[], 5), (&[0], 0)] {
        assert_eq!(page_rows(&pages(firsts), rows), None, "{firsts:?}");
    }
}
