use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;

/// Sets as Java Paimon 1.4.2 wrote them, with their members.
const JAVA: [(&str, &[i64]); 4] = [
    ("00", &[]),
    (
        "01010000000000000004000000000000000000000000000000000001000000fe01000000010201000000050001000000000000000000000000000000",
        &[5],
    ),
    (
        "010200000000000000000200000000ff0004000000000000000000010000000000000004000000ffffffffffff000000000000000001000000fe020000\
         00010201000000ffff01000500000001000100040002000000000000000000000001000000",
        &[-1, 1, 2, 3, 4, 5],
    ),
    (
        "010300000000000000000200020000000002010002000200000000010004000000000001000000000000000000000004000000000001000001010000\
         000000000004000000000002000000020000000000000001000000fe03000000010201000000000001020100000007000102010000000000030000\
         00000000000000000002000000",
        &[1 << 40, (1 << 40) + (1 << 16) + 7, 1 << 41],
    ),
];

/// Java's union of the last two.
const UNION: &str = "010500000000000000000200000000ff0000030001000002010004000000000000000000010000000000000000020002000000000100040000\
    00000001000000020000000000000004000000000001000001030000000000000004000000000002000000040000000000000004000000ffffffffffff\
    000000000000000001000000fe06000000010201000000ffff01000500000001000100040001020100000000000102010000000700010201000000000000\
    05000000000000000000000004000000";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

fn read(bytes: &[u8]) -> LongBitmap {
    LongBitmap::from_bytes(bytes).unwrap()
}

fn numbers(bitmap: &LongBitmap) -> Vec<u64> {
    let of = |(key, slot): (TreeKey, usize)| {
        let high = key.iter().fold(0, |high, byte| high << 8 | u64::from(*byte)) << 16;
        let bits = bitmap.slots[slot].as_ref().unwrap().bits();
        bits.numbers().map(|low| high | u64::from(low)).collect::<Vec<_>>()
    };
    bitmap.leaves().into_iter().flat_map(of).collect()
}

/// A set that was filled number by number and then looked for runs, as Java does before it writes.
fn set(numbers: impl IntoIterator<Item = i64>) -> LongBitmap {
    let (mut keys, mut of_key) = (Vec::new(), HashMap::<TreeKey, BTreeSet<u16>>::new());
    for number in numbers {
        let [key @ .., a, b] = number.to_be_bytes();
        of_key.entry(key).or_insert_with(|| {
            keys.push(key);
            BTreeSet::new()
        });
        of_key.get_mut(&key).unwrap().insert(u16::from_be_bytes([a, b]));
    }
    let mut set = LongBitmap::default();
    for key in keys {
        let numbers = &of_key[&key];
        let array = ShortSet::Array(numbers.iter().copied().collect());
        set.add(key, if numbers.len() > 4096 { ShortSet::Bitmap(array.bits()) } else { array });
    }
    set.union(LongBitmap::default())
}

fn steps(count: i64, step: i64, start: i64) -> LongBitmap {
    set((0..count).map(|i| start.wrapping_add(i.wrapping_mul(step))))
}

#[test]
fn sets_of_java_hold_what_java_put_in() {
    for (hex, of) in JAVA {
        let read = read(&bytes(hex));
        assert_eq!(
            numbers(&read),
            of.iter().map(|n| *n as u64).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        );
        assert_eq!(read.to_bytes(), bytes(hex), "the bytes that Java wrote");
        assert_eq!(set(of.iter().copied()).to_bytes(), bytes(hex), "as it came about");
    }
    let [.., (a, _), (b, _)] = JAVA;
    assert_eq!(unite_long_bitmaps(&bytes(a), &bytes(b)).unwrap(), bytes(UNION));
    for (hex, _) in JAVA {
        assert_eq!(unite_long_bitmaps(&bytes(hex), &[0]).unwrap(), bytes(hex));
        assert_eq!(
            read(&unite_long_bitmaps(&[0], &bytes(hex)).unwrap()),
            set(numbers(&read(&bytes(hex))).into_iter().map(|n| n as i64))
        );
    }
}

/// Lengths and CRC-32 of the bytes of Java Paimon 1.4.2 for the same unions.
#[test]
fn unions_have_the_bytes_of_java() {
    const GOLDEN: i64 = 0x9E37_79B9_7F4A_7C15_u64 as i64;
    let keys = |n: i64| (steps(n / 2, 2 << 16, 0), steps((n + 1) / 2, -2 << 16, (n - 1) << 16));
    let run = set([9, 10, 13, 14, 17, 18]);
    for ((a, b), expected) in [
        (keys(4), (151, 0x6077_8199)),
        (keys(6), (215, 0x4681_794f)),
        (keys(16), (478, 0xcf56_39d6)),
        (keys(18), (768, 0xc3e0_c3ae)),
        (keys(48), (1562, 0xc3f4_3357)),
        (keys(50), (1388, 0x0241_c2fd)),
        (keys(256), (6791, 0xe055_f961)),
        (keys(300), (8158, 0xa6dc_211c)),
        (keys(70_000), (1_852_375, 0xae68_c754)),
        // Over all of 64 bits, then with branches at each level.
        ((steps(1000, GOLDEN, 0), steps(1500, GOLDEN, GOLDEN.wrapping_mul(500))), (57_588, 0xeb87_405f)),
        ((steps(2000, 0x0001_0203_0507_0b0d * 17, 9), steps(3000, -0x0100_0301_0207_0501, -9)), (168_449, 0x156f_f7ce)),
        // Containers of each form united with each other form.
        ((steps(30_000, 2, 0), steps(30_000, 3, 1)), (16_479, 0xf27f_3e2e)),
        ((steps(4096, 2, 0), steps(1, 2, 1)), (8250, 0x8895_f333)),
        ((steps(3000, 5, 0), steps(3000, 5, 5000)), (8058, 0x3c85_3a61)),
        ((steps(32_768, 2, 0), steps(32_768, 2, 1)), (64, 0x21fc_96f5)),
        ((steps(700, 1, 0), steps(700, 1, 300)), (64, 0xab05_e876)),
        ((steps(20, 1, 0), steps(60, 2, 30)), (218, 0xc323_af46)),
        ((steps(200, 1, 3), steps(20_000, 3, 0)), (8250, 0xe7d6_6a5b)),
        ((steps(4, 1, 0).union(run), set([21])), (80, 0xfc4b_c5b0)),
    ] {
        let united = unite_long_bitmaps(&a.to_bytes(), &b.to_bytes()).unwrap();
        assert_eq!((united.len(), crc32fast::hash(&united)), expected);
    }
}

/// The numbers of a set: a few keys that are near each other at any level, in containers of all forms.
fn any_numbers() -> impl Strategy<Value = Vec<i64>> {
    let key = prop_oneof![any::<u64>(), (0..0x0400u64, 0..5u32).prop_map(|(n, level)| n << (8 * level + 16))];
    let many = prop_oneof![
        4 => (any::<u16>(), 1..20u64, Just(1)),
        1 => (any::<u16>(), 1..6000u64, 1..20u64),
    ];
    let part = (key, many).prop_map(|(key, (start, count, step))| {
        (0..count).map(move |i| (key & !0xffff | (u64::from(start) + i * step) & 0xffff) as i64).collect::<Vec<_>>()
    });
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn unions_hold_what_both_hold(parts in prop::collection::vec(any_numbers(), 1..4)) {
        let mut model = BTreeSet::new();
        let mut united = LongBitmap::default();
        for part in parts {
            model.extend(part.iter().map(|n| *n as u64));
            let other = set(part);
            prop_assert_eq!(&read(&other.to_bytes()), &other);
            united = read(&unite_long_bitmaps(&united.to_bytes(), &other.to_bytes()).unwrap());
        }
        prop_assert_eq!(numbers(&united), model.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn any_bytes_are_a_set_or_an_error(mut bytes in prop::collection::vec(0..6u8, 0..200)) {
        if let Some(first) = bytes.first_mut() {
            *first = 1;
        }
        if let Ok(read) = LongBitmap::from_bytes(&bytes) {
            prop_assert!(bytes.starts_with(&read.to_bytes()));
        }
    }
}

fn refused(bytes: &[u8]) -> String {
    let e = LongBitmap::from_bytes(bytes).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CorruptTable);
    e.to_string()
}

#[test]
fn damage_is_an_error_or_another_whole_set() {
    let all_kinds = steps(300, 1 << 16, 7).union(steps(60, 1 << 40, -3)).union(steps(20, 1 << 56, 3));
    let all_kinds = all_kinds.union(steps(400, 1, 0)).to_bytes();
    let (united, bitmap) = (bytes(UNION), steps(5000, 3, 1 << 33).to_bytes());
    for (whole, step) in [(&united, 1), (&all_kinds, 41), (&bitmap, 397)] {
        for length in (0..whole.len()).step_by(step) {
            refused(&whole[..length]);
        }
        for at in (0..whole.len()).step_by(step) {
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                // The format has no checksum: a number may have become another.
                if let Ok(read) = LongBitmap::from_bytes(&flipped) {
                    assert_eq!(read.to_bytes(), flipped[..read.to_bytes().len()]);
                    let _ = read.union(self::read(whole));
                }
            }
        }
        assert_eq!(read(&[whole, &[1][..]].concat()), read(whole), "Java does not look at what follows");
    }
}

#[test]
fn what_bytes_claim_is_not_believed() {
    assert!(refused(&[]).contains("cut off"));
    assert!(refused(&[2]).contains("begins with 2"));
    let five = bytes(JAVA[1].0);
    let with = |at: usize, new: &[u8]| {
        let mut bad = five.clone();
        bad[at..at + new.len()].copy_from_slice(new);
        refused(&bad)
    };
    let most = i32::MAX.to_le_bytes();
    assert!(with(1, &[2]).contains("says 2 keys"));
    assert!(with(9, &[5]).contains("no nodes of type 5"));
    assert!(with(10, &[1]).contains("does not belong"));
    assert!(with(19, &[1]).contains("no container of its own"));
    assert!(with(19, &[0xff; 8]).contains("no container"));
    assert!(with(27, &most).contains("one list"));
    assert!(with(32, &most).contains("cut off"));
    assert!(with(32, &[0xff; 4]).contains("the length -1"));
    assert!(with(36, &[2]).contains("marked with 2"));
    assert!(with(37, &[3]).contains("containers of type 3"));
    assert!(with(37, &[1]).contains("cut off"));
    assert!(with(38, &most).contains("cut off"));
    assert!(with(44, &[2]).contains("says 1 keys and 2 containers"));
    assert!(with(52, &[1]).contains("last container"));
    assert!(with(56, &[1]).contains("last container"));
    // Branches within branches, deeper than the length of keys.
    let branch = [0, 1, 0, 0, 0, 0, 0, 0];
    let deep = [&[1, 1, 0, 0, 0, 0, 0, 0, 0][..], &branch.repeat(100_000)].concat();
    assert!(refused(&deep).contains("deeper"));
}
