//! Any bytes as a file of blobs: values that lie in the file and are written the same again, or an error.
#![no_main]

use frazil::codec::blob_file::{BlobIndex, BlobPlace, BlobRecord, TAIL_BYTES, index_and_tail, index_bytes, payload};
use libfuzzer_sys::fuzz_target;

fn check(file: &[u8]) {
    let Ok(length) = index_bytes(file, file.len() as u64) else { return };
    let end = file.len() - TAIL_BYTES;
    let start = end - length as usize;
    let list = file[start..end].to_vec();
    // The last byte of a number has no high bit.
    let rows = list.iter().filter(|byte| **byte < 0x80).count() as u64;
    let Ok(index) = BlobIndex::decode(list, start as u64, rows) else { return };
    let places: Vec<BlobPlace> = index.map(|place| place.expect("it was checked")).collect();
    assert_eq!(places.len() as u64, rows);
    let mut lengths = Vec::new();
    for place in &places {
        lengths.push(match place {
            BlobPlace::Null => -1,
            BlobPlace::Placeholder => -2,
            BlobPlace::Record(range) => {
                let record = &file[range.start as usize..range.end as usize];
                if let Ok(value) = payload(record) {
                    let again = BlobRecord::of(Some(value));
                    assert_eq!([&again.before[..], value, &again.after[..]].concat(), record);
                }
                record.len() as i64
            }
        });
    }
    let mut again = index_and_tail(&lengths).expect("they came from a file");
    again.truncate(again.len() - TAIL_BYTES);
    let again = BlobIndex::decode(again, start as u64, rows).expect("it was just written");
    assert!(again.map(|place| place.expect("it was just written")).eq(places));
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    // A list of lengths with the values that it asks for, and a value with its frame.
    let record = BlobRecord::of(Some(bytes));
    let mut file = [&record.before[..], bytes, &record.after[..]].concat();
    file.extend(index_and_tail(&[record.length, -1, -2]).expect("three values"));
    check(&file);
    let length = (bytes.len() as u32).to_le_bytes();
    check(&[bytes, &length[..], &[1]].concat());
});
