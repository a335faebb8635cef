use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;

/// Deletion vectors as Java Iceberg 1.12 wrote them, with the rows that Java finds in them.
const JAVA: [(&str, &[u64]); 4] = [
    ("00000022d1d339640100000000000000000000003a300000010000000000000010000000040093ca71b1", &[4]),
    ("00000024d1d339640100000000000000000000003a30000001000000000001001000000001000300683497a9", &[1, 3]),
    ("00000028d1d339640100000000000000000000003a3000000100000000000300100000000100030008000900e4206a70", &[1, 3, 8, 9]),
    ("00000026d1d339640100000000000000000000003a300000010000000000020010000000010003000900f62b1235", &[1, 3, 9]),
];

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

fn set(positions: impl IntoIterator<Item = u64>) -> PositionSet {
    let mut set = PositionSet::default();
    set.extend(&positions.into_iter().map(|p| p as i64).collect::<Vec<_>>()).unwrap();
    set
}

/// A vector whose length and checksum are right, around any bitmap.
fn framed(bitmap: &[u8]) -> Vec<u8> {
    let covered = [&MAGIC[..], bitmap].concat();
    let length = (covered.len() as i32).to_be_bytes();
    [&length[..], &covered, &crc32fast::hash(&covered).to_be_bytes()].concat()
}

fn refused(blob: &[u8]) -> String {
    let e = PositionSet::from_vector(blob).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CorruptTable);
    e.to_string()
}

#[test]
fn java_vectors_hold_what_java_put_in() {
    for (hex, positions) in JAVA {
        let blob = bytes(hex);
        let read = PositionSet::from_vector(&blob).unwrap();
        assert_eq!(read.iter().collect::<Vec<_>>(), positions);
        assert_eq!(read.to_vector().unwrap(), blob, "the bytes that Java wrote");
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    for (hex, _) in JAVA {
        let blob = bytes(hex);
        for at in 0..blob.len() {
            for bit in 0..8 {
                let mut flipped = blob.clone();
                flipped[at] ^= 1 << bit;
                refused(&flipped);
            }
            refused(&blob[..at]);
        }
        refused(&[&blob[..], &[0]].concat());
    }
}

#[test]
fn each_part_of_the_frame_is_checked_by_itself() {
    let good = bytes(JAVA[0].0);
    let with = |at: usize, byte: u8| {
        let mut bad = good.clone();
        bad[at] = byte;
        refused(&bad)
    };
    assert!(with(3, 0x23).contains("claims 35 bytes"));
    assert!(with(0, 0xFF).contains("claims -"));
    assert!(with(4, 0).contains("begins with"));
    assert!(with(good.len() - 1, 0).contains("checksum"));
    assert!(refused(&[0; 7]).contains("too short"));
}

#[test]
fn bitmaps_that_contradict_themselves_are_refused_with_a_right_checksum_too() {
    let good = bytes(JAVA[0].0);
    let bitmap = &good[8..good.len() - 4];
    let one = |key: u32| [&key.to_le_bytes()[..], &bitmap[12..]].concat();
    let many = |keys: &[u32]| {
        let body: Vec<u8> = keys.iter().flat_map(|k| one(*k)).collect();
        framed(&[&(keys.len() as u64).to_le_bytes()[..], &body].concat())
    };
    assert_eq!(PositionSet::from_vector(&many(&[0, 7])).unwrap().iter().collect::<Vec<_>>(), [4, (7 << 32) + 4]);
    assert!(refused(&many(&[7, 7])).contains("out of order"));
    assert!(refused(&many(&[7, 0])).contains("out of order"));
    assert!(refused(&many(&[i32::MAX as u32])).contains("out of order"));
    assert!(refused(&framed(&[&u64::MAX.to_le_bytes()[..], &one(0)].concat())).contains("ends early"));
    assert!(refused(&framed(&[bitmap, &[0]].concat())).contains("followed by 1 bytes"));
    assert!(refused(&framed(&[])).contains("ends early"));
    // A container that claims 65,536 members, in a bitmap that ends at once.
    assert!(
        refused(&framed(&[&1u64.to_le_bytes()[..], &[0; 4], &[0x3B, 0x30, 0xFF, 0xFF]].concat())).contains("damaged")
    );
    // Java writes empty bitmaps for keys between others.
    let empty = [0u32.to_le_bytes(), 12346u32.to_le_bytes(), 0u32.to_le_bytes()].concat();
    let sparse = framed(&[&2u64.to_le_bytes()[..], &empty, &one(1)].concat());
    assert_eq!(PositionSet::from_vector(&sparse).unwrap(), set([(1 << 32) + 4]));
    assert!(PositionSet::from_vector(&framed(&0u64.to_le_bytes())).unwrap().is_empty());
}

#[test]
fn impossible_positions_are_refused() {
    let largest = ((i64::from(i32::MAX) - 1) << 32) | 0xFFFF_FFFF;
    assert!(PositionSet::default().extend(&[largest]).is_ok());
    for bad in [-1, i64::MIN, largest + 1, i64::MAX] {
        let mut set = PositionSet::default();
        assert!(set.extend(&[1, bad]).unwrap_err().to_string().contains(&bad.to_string()));
        assert!(set.is_empty());
    }
    assert_eq!(PositionSet(RoaringTreemap::from([u64::MAX])).to_vector().unwrap_err().kind(), ErrorKind::InvalidInput);
}

/// Positions in a few neighbourhoods, some dense.
fn positions() -> impl Strategy<Value = Vec<u64>> {
    let near = (prop::sample::select(vec![0u64, 65_530, 1 << 20, (1 << 32) - 5, 5 << 32]), 0u64..3000);
    let run = (near.clone(), 1u64..2000).prop_map(|((base, at), n)| (base + at..base + at + n).collect::<Vec<_>>());
    let some = prop::collection::vec(near.prop_map(|(base, at)| base + at), 0..200);
    prop::collection::vec(prop_oneof![run, some], 0..5).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn sets_are_sets(given in positions(), more in positions(), range in (0u64..6 << 32, 0u64..6 << 32)) {
        let model: BTreeSet<u64> = given.iter().copied().collect();
        let mut read = set(given);
        prop_assert_eq!(read.len(), model.len() as u64);
        prop_assert!(read.iter().eq(model.iter().copied()));
        prop_assert_eq!(&PositionSet::from_vector(&read.to_vector().unwrap()).unwrap(), &read);
        let range = range.0.min(range.1)..range.0.max(range.1);
        prop_assert!(read.in_range(range.clone()).eq(model.range(range.clone()).copied()));
        prop_assert_eq!(read.count_in(range.clone()), model.range(range.clone()).count() as u64);
        prop_assert_eq!(read.contains(range.start), model.contains(&range.start));
        read.unite(&set(more.clone()));
        prop_assert!(read.iter().eq(model.union(&more.into_iter().collect()).copied()));
    }

    #[test]
    fn any_bitmap_is_read_or_refused(bitmap in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..40, byte: u8) {
        let _ = PositionSet::from_vector(&framed(&bitmap));
        let mut vector = set((0..3000).step_by(3).chain(70_000..80_000)).to_vector().unwrap();
        let end = vector.len() - 4;
        vector[8 + at] = byte;
        let _ = PositionSet::from_vector(&framed(&vector[8..end]));
    }
}

#[test]
fn narrow_vectors_are_read_again() {
    for positions in
        [vec![], vec![0], vec![3, 1, 70_000], (0..100_000).collect::<Vec<i64>>(), vec![i64::from(i32::MAX)]]
    {
        let mut set = PositionSet::default();
        set.extend(&positions).unwrap();
        let (vector, length) = set.to_narrow_vector().unwrap();
        // The recorded length includes neither itself nor the checksum.
        assert_eq!(vector.len(), length + 8);
        assert_eq!(vector.get(..4), Some(i32::try_from(length).unwrap().to_be_bytes().as_slice()));
        let more = [vector.as_slice(), b"more"].concat();
        assert_eq!(PositionSet::from_index_file(&more, length).unwrap(), set);
        let mut damaged = vector.clone();
        *damaged.get_mut(9).unwrap() ^= 1;
        assert!(PositionSet::from_index_file(&damaged, length).is_err());
    }
    let mut far = PositionSet::default();
    far.extend(&[i64::from(i32::MAX) + 1]).unwrap();
    assert!(far.to_narrow_vector().is_err());
    let mut farther = PositionSet::default();
    farther.extend(&[1 << 40]).unwrap();
    assert!(farther.to_narrow_vector().is_err());
}
