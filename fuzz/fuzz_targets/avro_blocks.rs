//! Generated Avro files with wrong counts and lengths, as data files, manifests and lists: values or an error of our own.
#![no_main]

use frazil::codec::avro::OpenFile;
use frazil::format::task::FileFormat;
use frazil::iceberg::manifest::columns::Manifest;
use frazil::iceberg::manifest::entries::{EntryRequest, Inherited};
use frazil::paimon::manifest::encode::encode_manifest_list;
use frazil::paimon::manifest::list::decode_manifest_list;
use frazil_fuzz::choices::Choices;
use frazil_fuzz::{avro_file, read_rows};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    let kind = choices.below(3);
    let schema = [avro_file::ROWS, avro_file::MANIFEST, avro_file::PAIMON_LIST][kind];
    let file = avro_file::file(&mut choices, schema);
    let file = choices.damage(file);
    match kind {
        0 => read_rows(FileFormat::Avro, &file),
        1 => {
            let Ok(manifest) = Manifest::parse(&file) else { return };
            let request = EntryRequest { unknown_members: true, all_metrics: true, ..EntryRequest::default() };
            let _ = manifest.decode(0..manifest.block_count(), &request, &Inherited::default());
        }
        _ => {
            let decode = |bytes: &[u8]| OpenFile::parse(bytes).and_then(|file| decode_manifest_list(&file));
            let Ok(list) = decode(&file) else { return };
            let again = encode_manifest_list(&list, Default::default()).expect("what was read can be written");
            assert_eq!(decode(&again).expect("what was written"), list);
        }
    }
});
