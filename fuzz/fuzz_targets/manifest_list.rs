//! Any bytes: what decodes, and a v3 list can hold, comes back the same after writing.
#![no_main]

use frazil::iceberg::manifest::list::{ManifestListHeader, decode_manifest_list, encode_manifest_list};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(list) = decode_manifest_list(data) else { return };
    let header = ManifestListHeader { format_version: 3, first_row_id: Some(0), ..Default::default() };
    let Ok(bytes) = encode_manifest_list(&list, &header) else { return };
    let mut expected = list;
    for m in &mut expected {
        if m.content == frazil::iceberg::manifest::list::ManifestContent::Deletes {
            m.first_row_id = None;
        }
    }
    assert_eq!(decode_manifest_list(&bytes).expect("what was just written"), expected);
});
