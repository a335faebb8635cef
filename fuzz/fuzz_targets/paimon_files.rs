//! Any bytes as the files of a Paimon table that hold no rows: manifests, indexes, deletion vectors in their frames, sketches,
//! bitmaps.
#![no_main]

use frazil::codec::avro::OpenFile;
use frazil::codec::bitmap::PositionSet;
use frazil::codec::file_index::FileIndex;
use frazil::codec::long_bitmap::LongBitmap;
use frazil::codec::theta::ThetaSketch;
use frazil::paimon::manifest::columns::Decoder;
use frazil::paimon::manifest::entries::PaimonEntryRequest;
use frazil::paimon::manifest::index_manifest::{decode_hashes, decode_index_manifest};
use frazil::paimon::manifest::list::decode_manifest_list;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = decode_hashes(bytes);
    let request = PaimonEntryRequest { key_stats: true, value_stats: true, ..PaimonEntryRequest::default() };
    if let Ok(file) = OpenFile::parse(bytes) {
        let _ = (decode_index_manifest(&file), decode_manifest_list(&file));
        if let Ok(columns) = Decoder::default().decode(&file, &request) {
            for row in columns.rows() {
                let _ = (columns.name(row), columns.extra_files(row), columns.external(row), columns.entry(row));
            }
        }
    }
    if let Ok(index) = FileIndex::parse(bytes) {
        assert!(index.columns().count() <= bytes.len());
    }
    for length in [bytes.len(), bytes.len().saturating_sub(8)] {
        if let Ok(set) = PositionSet::from_index_file(bytes, length) {
            assert_eq!(set.iter().count() as u64, set.len());
        }
    }
    // A 32-bit vector in a right frame.
    let covered = [&1_581_511_376u32.to_be_bytes()[..], bytes].concat();
    let length = (covered.len() as i32).to_be_bytes();
    let framed = [&length[..], &covered, &crc32fast::hash(&covered).to_be_bytes()].concat();
    if let Ok(set) = PositionSet::from_index_file(&framed, covered.len()) {
        if let Ok((again, length)) = set.to_narrow_vector() {
            assert_eq!(PositionSet::from_index_file(&again, length).expect("it was just written"), set);
        }
    }
    if let Ok(sketch) = ThetaSketch::from_bytes(bytes) {
        assert_eq!(ThetaSketch::from_bytes(&sketch.to_bytes()).expect("it was just written"), sketch);
    }
    if let Ok(set) = LongBitmap::from_bytes(bytes) {
        let again = set.to_bytes();
        assert!(bytes.starts_with(&again));
        let united = set.clone().union(set).to_bytes();
        LongBitmap::from_bytes(&united).expect("it was just written");
    }
});
