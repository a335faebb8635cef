//! Any text as JSON files of a Paimon table: snapshots, tags, schemas. What parses is written and parsed to the same.
#![no_main]

use frazil::paimon::spec::schema::TableSchema;
use frazil::paimon::spec::snapshot::{PaimonSnapshot, Tag};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(snapshot) = PaimonSnapshot::parse(bytes) {
        let again = PaimonSnapshot::parse(&snapshot.encode()).expect("what was written");
        assert_eq!(again.encode(), snapshot.encode());
    }
    let _ = Tag::parse("t", bytes);
    if let Ok(schema) = TableSchema::parse(bytes) {
        let again = TableSchema::parse(&schema.encode()).expect("what was written");
        assert_eq!(again, schema);
    }
});
