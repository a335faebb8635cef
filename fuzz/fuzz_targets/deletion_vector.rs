//! Any bytes as a deletion vector, with and without a right frame: a set that survives writing, or an error.
#![no_main]

use frazil::codec::bitmap::PositionSet;
use libfuzzer_sys::fuzz_target;

fn check(blob: &[u8]) {
    if let Ok(set) = PositionSet::from_vector(blob) {
        let again = PositionSet::from_vector(&set.to_vector().expect("its positions are allowed"));
        assert_eq!(again.expect("it was just written"), set);
        assert_eq!(set.iter().count() as u64, set.len());
    }
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    let covered = [&[0xD1, 0xD3, 0x39, 0x64], bytes].concat();
    let length = (covered.len() as i32).to_be_bytes();
    check(&[&length[..], &covered, &crc32fast::hash(&covered).to_be_bytes()].concat());
});
