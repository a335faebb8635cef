//! Tasks, splits and commit messages: what parses is written and parsed to the same.
#![no_main]

use frazil::format::wire::task::{message_from_json, message_to_json, split_from_json, split_to_json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(split) = split_from_json(text) {
        let _ = split_from_json(&split_to_json(&split).expect("what was read can be written"))
            .expect("what was written parses");
    }
    if let Ok(message) = message_from_json(text) {
        let _ = message_from_json(&message_to_json(&message).expect("what was read can be written"))
            .expect("what was written parses");
    }
});
