//! Any bytes as packed splits, alone and as the content of a pack whose checksums are right: splits or an error.
#![no_main]

use frazil::format::wire::packed::packed_tasks_at;
use frazil_fuzz::context;
use libfuzzer_sys::fuzz_target;

/// A pack of one chunk with this content, which holds `splits` splits.
fn pack(content: &[u8], splits: u32) -> Vec<u8> {
    let frame = [content, &crc32fast::hash(content).to_le_bytes()].concat();
    let end = (frame.len() as u64).to_le_bytes();
    let table = [&1u32.to_le_bytes()[..], &splits.to_le_bytes(), &0u32.to_le_bytes(), &end].concat();
    [&b"FZT3"[..], &crc32fast::hash(&table).to_le_bytes(), &table, &frame].concat()
}

fuzz_target!(|bytes: &[u8]| {
    let context = context();
    let splits = u32::from(bytes.first().copied().unwrap_or(1));
    for packed in [bytes.to_vec(), pack(bytes.get(1..).unwrap_or_default(), splits)] {
        for index in 0..3 {
            let _ = packed_tasks_at(&packed, index, &context);
        }
    }
});
