use super::*;
use crate::codec::avro::{ContainerWriter, encode};
use crate::error::ErrorKind;

const SCHEMA: &str =
    r#"{"type":"record","name":"r","fields":[{"name":"a","type":"long"},{"name":"s","type":"string"}]}"#;

fn written(codec: AvroCodec, records: i64) -> Vec<u8> {
    let mut writer = ContainerWriter::new(SCHEMA, &[("k", "v"), ("k", "w")], codec);
    for i in 0..records {
        writer.record(|out| {
            encode::put_long(out, i * 1_000_003);
            encode::put_bytes(out, format!("text {i} {}", i % 7).as_bytes());
        });
    }
    writer.finish().unwrap()
}

/// The number of records, after a walk to the end of each block.
fn walk(bytes: &[u8]) -> Result<i64> {
    let container = Container::parse(bytes)?;
    let mut inflater = Inflater::default();
    let mut n = 0;
    for (i, block) in container.blocks.iter().enumerate() {
        let mut cursor = Cursor::new(inflater.inflate(container.codec, container.block_data(i)?)?);
        for _ in 0..block.count {
            assert_eq!(cursor.long()?, n * 1_000_003);
            assert!(cursor.string()?.starts_with(&format!("text {n} ")));
            n += 1;
        }
        assert!(cursor.rest().is_empty());
    }
    Ok(n)
}

#[test]
fn encrypted_files_are_not_called_damaged() {
    let e = Container::parse(b"AGS1\0\0\x10\0more").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported);
    assert_eq!(Container::parse(b"AGS2\0\0\x10\0more").unwrap_err().kind(), ErrorKind::CorruptTable);
}

#[test]
fn every_codec_round_trips() {
    for codec in [AvroCodec::Null, AvroCodec::Deflate, AvroCodec::Snappy, AvroCodec::Zstd] {
        for records in [0, 1, 20_000] {
            let bytes = written(codec, records);
            let container = Container::parse(&bytes).unwrap();
            assert_eq!(container.codec, codec);
            assert_eq!(container.metadata_text("k").unwrap(), Some("w"));
            assert_eq!(container.schema_json().unwrap(), SCHEMA);
            assert!(records < 20_000 || container.blocks.len() > 4);
            assert_eq!(walk(&bytes).unwrap(), records);
        }
    }
}

#[test]
fn reads_what_the_oracle_writes() {
    use apache_avro::types::Value as A;
    let schema = apache_avro::Schema::parse_str(SCHEMA).unwrap();
    for codec in [apache_avro::Codec::Null, apache_avro::Codec::Deflate(Default::default())] {
        let mut writer = apache_avro::Writer::with_codec(&schema, Vec::new(), codec).unwrap();
        for i in 0..20_000i64 {
            let text = A::String(format!("text {i} {}", i % 7));
            let record = A::Record(vec![("a".into(), A::Long(i * 1_000_003)), ("s".into(), text)]);
            writer.append_value(record).unwrap();
        }
        assert_eq!(walk(&writer.into_inner().unwrap()).unwrap(), 20_000);
    }
}

#[test]
fn zstd_without_a_content_size_is_read() {
    // As a streaming writer does: the frame does not record the length of its content.
    let data = zstd::stream::encode_all(&vec![7u8; 300_000][..], 1).unwrap();
    assert_eq!(zstd_safe::get_frame_content_size(&data).ok().flatten(), None);
    assert_eq!(Inflater::default().inflate(AvroCodec::Zstd, &data).unwrap(), vec![7u8; 300_000]);
}

#[test]
fn a_first_frame_that_says_nothing_comes_does_not_stop_the_next() {
    // RFC 8878: magic number, a frame of one segment with content size 0, and a last raw block of 0 bytes. Then the
    // same with a block of 3 bytes that exceeds a frame's content size of 0.
    let empty = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x01, 0x00, 0x00];
    let lying = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x19, 0x00, 0x00, b'a', b'b', b'c'];
    let full = zstd::bulk::compress(b"abc", 1).unwrap();
    let both = [&empty[..], &full[..]].concat();
    assert_eq!(zstd_safe::get_frame_content_size(&both).ok().flatten(), Some(0));
    assert_eq!(Inflater::default().inflate(AvroCodec::Zstd, &both).unwrap(), b"abc");
    assert_eq!(Inflater::default().inflate(AvroCodec::Zstd, &empty).unwrap(), b"");
    let error = Inflater::default().inflate(AvroCodec::Zstd, &lying).unwrap_err();
    assert_eq!(error.kind(), crate::error::ErrorKind::CorruptTable, "{error}");
}

#[test]
fn zstd_repeats_further_than_deflate() {
    for length in [100, 5 << 20, 40 << 20] {
        let content = vec![7u8; length];
        let sized = zstd::bulk::compress(&content, 1).unwrap();
        let unsized_frame = zstd::stream::encode_all(&content[..], 1).unwrap();
        assert!(length < 1000 || length / sized.len() > 1032);
        for data in [sized, unsized_frame] {
            assert_eq!(Inflater::default().inflate(AvroCodec::Zstd, &data).unwrap(), content);
        }
    }
}

#[test]
fn a_size_that_zstd_cannot_mean_is_refused() {
    // A frame of one block of one byte repeated, which claims a gigabyte.
    let mut data = zstd::bulk::compress(&vec![7u8; 100 << 10], 1).unwrap();
    let claim = (1u32 << 30).to_le_bytes();
    assert_eq!(data[4] >> 6, 2, "the content size has four bytes");
    let at = if data[4] & 0x20 == 0 { 6 } else { 5 };
    data[at..at + 4].copy_from_slice(&claim);
    assert!(Inflater::default().inflate(AvroCodec::Zstd, &data).is_err());
}

#[test]
fn metadata_may_come_in_sized_runs() {
    let mut bytes = MAGIC.to_vec();
    let mut run = Vec::new();
    encode::put_bytes(&mut run, b"avro.schema");
    encode::put_bytes(&mut run, b"\"long\"");
    encode::put_long(&mut bytes, -1);
    encode::put_long(&mut bytes, run.len() as i64);
    bytes.extend_from_slice(&run);
    encode::put_long(&mut bytes, 0);
    bytes.extend_from_slice(&[9; SYNC_LENGTH]);
    let container = Container::parse(&bytes).unwrap();
    assert_eq!((container.codec, container.blocks.len()), (AvroCodec::Null, 0));
    assert!(container.schema().unwrap().is_integer());
}

#[test]
fn torn_files_are_refused_at_every_byte() {
    let bytes = written(AvroCodec::Deflate, 3);
    let container = Container::parse(&bytes).unwrap();
    let header = container.blocks[0].range.start - 3;
    for cut in 0..bytes.len() {
        let result = walk(&bytes[..cut]);
        // Directly after the header, the file is a whole file without blocks.
        assert!(result.is_err() || cut.abs_diff(header) <= 2 && result.unwrap() == 0, "{cut}");
    }
}

#[test]
fn says_what_is_wrong() {
    let good = written(AvroCodec::Deflate, 3);
    let kind_of = |bytes: &[u8]| walk(bytes).unwrap_err().kind();
    let mut magic = good.clone();
    magic[3] = 2;
    assert_eq!(kind_of(&magic), ErrorKind::CorruptTable);
    let mut sync = good.clone();
    *sync.last_mut().unwrap() ^= 1;
    assert!(walk(&sync).unwrap_err().to_string().contains("sync marker"));
    assert_eq!(AvroCodec::parse("bzip2").unwrap_err().kind(), ErrorKind::Unsupported);
    let mut checksum = written(AvroCodec::Snappy, 3);
    let at = checksum.len() - SYNC_LENGTH - 1;
    checksum[at] ^= 1;
    assert!(walk(&checksum).unwrap_err().to_string().contains("checksum"));
}

/// A container of one block with these bytes.
fn one_block(codec: &str, count: i64, data: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    encode::put_long(&mut bytes, 1);
    encode::put_bytes(&mut bytes, b"avro.codec");
    encode::put_bytes(&mut bytes, codec.as_bytes());
    encode::put_long(&mut bytes, 0);
    bytes.extend_from_slice(&[9; SYNC_LENGTH]);
    encode::put_long(&mut bytes, count);
    encode::put_bytes(&mut bytes, data);
    bytes.extend_from_slice(&[9; SYNC_LENGTH]);
    bytes
}

#[test]
fn negative_and_huge_sizes_are_refused() {
    assert!(Container::parse(&one_block("null", -1, b"x")).is_err());
    assert_eq!(Container::parse(&one_block("null", i64::MAX, b"x")).unwrap().blocks[0].count, i64::MAX as u64);
    for length in [-1, i64::MAX, 1 << 40] {
        let mut bytes = one_block("null", 1, b"");
        bytes.truncate(bytes.len() - SYNC_LENGTH - 1);
        encode::put_long(&mut bytes, length);
        bytes.extend_from_slice(&[9; SYNC_LENGTH]);
        assert!(Container::parse(&bytes).is_err(), "{length}");
    }
}

#[test]
fn blocks_that_claim_or_make_too_much_are_refused() {
    // Not `unwrap_err`, which would print the decompressed bytes.
    let fails = |codec, data: &[u8]| {
        let error = Inflater::default().inflate(codec, data).err();
        error.map(|e| e.to_string()).unwrap_or_default()
    };
    // A snappy length of 4 GiB without content.
    assert!(fails(AvroCodec::Snappy, &[0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0]).contains("more than"));
    // A zstandard frame header (single segment, 8-byte content size) that claims 2^60 bytes.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
    frame.extend_from_slice(&(1u64 << 60).to_le_bytes());
    assert!(fails(AvroCodec::Zstd, &frame).contains("more than"));
    // Zeros compress 16,000 times with zstandard; no manifest is that long.
    let zeros = vec![0; 129 << 20];
    let bomb = zstd::bulk::compress(&zeros, 1).unwrap();
    assert!(fails(AvroCodec::Zstd, &bomb).contains("more than"));
    let streamed = zstd::stream::encode_all(&zeros[..], 1).unwrap();
    assert!(fails(AvroCodec::Zstd, &streamed).contains("more than"));
    assert!(fails(AvroCodec::Zstd, b"nonsense").contains("zstandard"));
    assert!(fails(AvroCodec::Deflate, &[0xff; 40]).contains("deflate"));
    assert!(fails(AvroCodec::Snappy, b"abc").contains("checksum"));
}
