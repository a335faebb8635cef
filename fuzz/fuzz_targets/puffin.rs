//! Any bytes as a Puffin file: a footer whose blobs lie in the file, or an error.
#![no_main]

use frazil::codec::puffin::{Footer, TAIL_BYTES, footer_bytes};
use libfuzzer_sys::fuzz_target;

fn check(file: &[u8]) {
    let Some(tail) = file.last_chunk::<TAIL_BYTES>() else { return };
    let Ok(length) = footer_bytes(tail) else { return };
    let Some(start) = (file.len() as u64).checked_sub(length) else { return };
    let Ok(footer) = Footer::parse(&file[start as usize..], file.len() as u64) else { return };
    for blob in footer.blobs {
        let range = blob.offset as usize..(blob.offset + blob.length) as usize;
        let _ = blob.content(file[range].to_vec());
    }
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    let length = (bytes.len() as i32).to_le_bytes();
    check(&[b"PFA1PFA1", bytes, &length, &[0; 4], b"PFA1"].concat());
});
