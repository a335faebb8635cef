use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::error::ErrorKind;

/// A footer in the form that Java Iceberg 1.12 writes, for a file of 62 bytes before it.
fn payload() -> Json {
    json!({
        "blobs": [
            {"type": "deletion-vector-v1", "fields": [], "snapshot-id": -1, "sequence-number": -1, "offset": 4, "length": 42,
             "properties": {"referenced-data-file": "s3://b/a.parquet", "cardinality": "1"}},
            {"type": "apache-datasketches-theta-v1", "fields": [1, 2], "snapshot-id": 7, "sequence-number": 3, "offset": 46,
             "length": 16, "compression-codec": "zstd", "properties": {"ndv": "12"}},
        ],
        "properties": {"created-by": "Apache Iceberg 1.12.0"},
    })
}

fn footer(payload: &[u8], flags: [u8; 4]) -> Vec<u8> {
    [&MAGIC[..], payload, &(payload.len() as i32).to_le_bytes(), &flags, &MAGIC].concat()
}

fn parse(payload: &Json) -> Result<Footer> {
    let bytes = footer(payload.to_string().as_bytes(), [0; 4]);
    Footer::parse(&bytes, 62 + bytes.len() as u64)
}

#[test]
fn a_footer_is_found_and_read() {
    let bytes = footer(payload().to_string().as_bytes(), [0; 4]);
    assert_eq!(footer_bytes(bytes.last_chunk().unwrap()).unwrap(), bytes.len() as u64);
    let read = parse(&payload()).unwrap();
    assert_eq!(read.properties["created-by"], "Apache Iceberg 1.12.0");
    assert_eq!(read.blobs.len(), 2);
    assert_eq!((read.blobs[1].fields.as_slice(), read.blobs[1].snapshot_id), (&[1, 2][..], 7));
    let vector = read.deletion_vector("s3://b/a.parquet").unwrap();
    assert_eq!((vector.offset, vector.length, vector.compression.as_deref()), (4, 42, None));
    assert_eq!(read.deletion_vector("s3://b/b.parquet"), None);
}

#[test]
fn damaged_footers_are_refused() {
    let bytes = footer(payload().to_string().as_bytes(), [0; 4]);
    let size = 62 + bytes.len() as u64;
    let kind = |bytes: &[u8], size: u64| Footer::parse(bytes, size).unwrap_err().kind();
    for cut in 0..bytes.len() {
        assert_eq!(kind(&bytes[..cut], size), ErrorKind::CorruptTable);
        assert_eq!(kind(&bytes[bytes.len() - cut..], size), ErrorKind::CorruptTable);
    }
    // The blobs would overlap the footer, or the footer the beginning of the file.
    assert_eq!(kind(&bytes, size - 1), ErrorKind::CorruptTable);
    assert_eq!(kind(&bytes, 10), ErrorKind::CorruptTable);
    let text = payload().to_string();
    assert_eq!(kind(&footer(text.as_bytes(), [1, 0, 0, 0]), size), ErrorKind::Unsupported);
    assert_eq!(kind(&footer(text.as_bytes(), [2, 0, 0, 0]), size), ErrorKind::Unsupported);
    let mut negative = bytes.clone();
    let at = negative.len() - 9;
    negative[at] = 0x80;
    assert_eq!(kind(&negative, size), ErrorKind::CorruptTable);
    let no_puffin = footer_bytes(b"0123456789ab").unwrap_err();
    assert!(no_puffin.to_string().contains("no Puffin"), "{no_puffin}");

    for (key, wrong) in [
        ("type", json!(null)),
        ("fields", json!(["a"])),
        ("snapshot-id", json!("1")),
        ("offset", json!(3)),
        ("offset", json!(-4)),
        ("length", json!(59)),
        ("length", json!(i64::MAX)),
        ("properties", json!({"a": 1})),
        ("properties", json!([])),
    ] {
        let mut bad = payload();
        bad["blobs"][0][key] = wrong;
        assert_eq!(parse(&bad).unwrap_err().kind(), ErrorKind::CorruptTable, "{key}");
    }
    assert!(parse(&json!({"blobs": []})).unwrap().blobs.is_empty());
    assert!(parse(&json!({})).is_err());
}

#[test]
fn content_is_decompressed_within_bounds() {
    let mut blob = parse(&payload()).unwrap().blobs.remove(1);
    let stored = zstd::bulk::compress(&[7; 1000], 3).unwrap();
    assert_eq!(blob.content(stored.clone()).unwrap(), [7; 1000]);
    for cut in 0..stored.len() {
        assert_eq!(blob.content(stored[..cut].to_vec()).unwrap_err().kind(), ErrorKind::CorruptTable);
    }
    // The frame header claims 4 GiB in eight bytes.
    let bomb = [&[0x28, 0xB5, 0x2F, 0xFD, 0xE0][..], &(4u64 << 30).to_le_bytes()].concat();
    assert_eq!(blob.content(bomb).unwrap_err().kind(), ErrorKind::CorruptTable);
    blob.compression = Some("lz4".into());
    assert_eq!(blob.content(stored.clone()).unwrap_err().kind(), ErrorKind::Unsupported);
    blob.compression = None;
    assert_eq!(blob.content(stored.clone()).unwrap(), stored);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(payload in "\\PC{0,80}", noise in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = Footer::parse(&footer(payload.as_bytes(), [0; 4]), 1000);
        let _ = Footer::parse(&noise, 1000);
        if let Some(tail) = noise.last_chunk() {
            let _ = footer_bytes(tail);
        }
    }
}

#[test]
fn what_is_built_is_read() {
    let mut file = FileBuilder::new(BTreeMap::from([("created-by".to_owned(), "frazil".to_owned())]));
    let mut bytes = FileBuilder::START.to_vec();
    let blob = |kind: &str, length: u64, compression: Option<&str>| Blob {
        kind: kind.to_owned(),
        fields: vec![1, 2_147_483_645],
        snapshot_id: -1,
        sequence_number: -1,
        offset: 0,
        length,
        compression: compression.map(str::to_owned),
        properties: BTreeMap::from([("referenced-data-file".to_owned(), format!("s3://b/{kind} \"ż\""))]),
    };
    let blobs = [blob(DELETION_VECTOR, 42, None), blob("ndv", 0, Some("zstd")), blob("x", 7, None)];
    for blob in &blobs {
        assert_eq!(file.add(blob.clone()), bytes.len() as u64);
        bytes.extend(vec![9; blob.length as usize]);
    }
    let expected: Vec<Blob> =
        blobs.iter().zip([4, 46, 46]).map(|(blob, offset)| Blob { offset, ..blob.clone() }).collect();
    let end = file.finish().unwrap();
    assert_eq!(footer_bytes(end.last_chunk().unwrap()).unwrap(), end.len() as u64);
    let read = Footer::parse(&end, (bytes.len() + end.len()) as u64).unwrap();
    assert_eq!(read.blobs, expected);
    assert_eq!(read.properties["created-by"], "frazil");
}
