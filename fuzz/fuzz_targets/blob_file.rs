//! Any bytes as a file of blobs: values that lie in the file and are written the same again, or an error.
#![no_main]

use frazil::codec::blob_file::{BlobIndex, BlobPlace, BlobRecord, TAIL_BYTES, index_and_tail, index_bytes, payload};
use libfuzzer_sys::fuzz_target;

fn check(file: &[u8]) {
    let Ok(length) = index_bytes(file, file.len() as u64) else { return };
    let end = file.len() - TAIL_BYTES;
    let start = end - length as usize;
    let Ok(BlobIndex(places)) = BlobIndex::decode(&file[start..end], start as u64) else { return };
    let mut lengths = Vec::new();
    for place in places {
        lengths.push(match &place {
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
    let again = index_and_tail(&lengths).expect("they came from a file");
    let list = again.len() - TAIL_BYTES;
    assert_eq!(
        BlobIndex::decode(&again[..list], start as u64).expect("it was just written"),
        BlobIndex::decode(&file[start..end], start as u64).expect("it was read before")
    );
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
