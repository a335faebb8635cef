//! Any bytes as a variant: an error, or a value that has text. The first byte says where metadata ends.
#![no_main]

use frazil::codec::variant::{Metadata, check, json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((at, rest)) = bytes.split_first() else { return };
    let (metadata, value) = rest.split_at(rest.len().min(usize::from(*at)));
    let Ok(metadata) = Metadata::parse(metadata) else { return };
    assert!(metadata.names().count() == metadata.len());
    match check(&metadata, value) {
        Ok(size) => {
            assert!(size <= value.len());
            let text = json::to_text(&metadata, &value[..size]).expect("what was checked");
            assert_eq!(json::to_text(&metadata, value).expect("the same value"), text);
        }
        Err(_) => assert!(json::to_text(&metadata, value).is_err()),
    }
});
