//! Table metadata: what parses is written and parsed to the same.
#![no_main]

use frazil::iceberg::spec::metadata_encode::encode_metadata;
use frazil::iceberg::spec::metadata_json::parse_metadata;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(metadata) = parse_metadata(bytes) {
        let again = parse_metadata(&encode_metadata(&metadata)).expect("what was written parses");
        assert_eq!(again, metadata);
    }
});
