use super::*;
use crate::error::ErrorKind;

const PLAIN: Compression = Compression { codec: OrcCodec::None, block_size: 0 };

/// A field whose value is bytes.
fn bytes(field: u8, value: &[u8]) -> Vec<u8> {
    [&[field << 3 | 2, value.len() as u8][..], value].concat()
}

fn number(field: u8, value: u8) -> Vec<u8> {
    vec![field << 3, value]
}

fn ty(kind: u8, children: &[u8], names: &[&str]) -> Vec<u8> {
    let mut out = number(1, kind);
    out.extend(bytes(2, children));
    names.iter().for_each(|name| out.extend(bytes(3, name.as_bytes())));
    bytes(4, &out)
}

fn stripe(rows: u8) -> Vec<u8> {
    bytes(3, &[number(1, 3), number(3, 10), number(4, 5), number(5, rows)].concat())
}

#[test]
fn a_postscript_says_where_and_how() {
    let mut file = [number(1, 9), number(2, 2), vec![0x18, 0x80, 0x08], bytes(4, &[0, 12])].concat();
    let magic = [&[0x82, 0xf4, 0x03, 3][..], b"ORC"].concat();
    assert!(!PostScript::parse(&file).unwrap().is_named);
    let other = [&file[..], &[0x82, 0xf4, 0x03, 3], b"OCR"].concat();
    assert_eq!(PostScript::parse(&other).unwrap_err().kind(), ErrorKind::CorruptTable);
    file.extend(&magic);
    let compression = Compression { codec: OrcCodec::Snappy, block_size: 1024 };
    assert_eq!(
        PostScript::parse(&file).unwrap(),
        PostScript { footer_length: 9, compression, is_named: true, has_short_decimals: false }
    );
    let lzo = [number(1, 9), number(2, 3), magic.clone()].concat();
    assert_eq!(PostScript::parse(&lzo).unwrap_err().kind(), ErrorKind::Unsupported);
    let huge = [number(1, 9), number(2, 1), vec![0x18, 0xff, 0xff, 0xff, 0xff, 0x0f], magic].concat();
    assert_eq!(PostScript::parse(&huge).unwrap_err().kind(), ErrorKind::CorruptTable);
}

#[test]
fn a_footer_has_types_and_stripes_that_agree() {
    let types = [ty(12, &[1, 2], &["a", "b"]), ty(3, &[], &[]), ty(10, &[3], &[]), ty(7, &[], &[])].concat();
    let footer = [stripe(4), stripe(3), types.clone(), number(6, 7)].concat();
    let footer = OrcFooter::parse(&footer, PLAIN).unwrap();
    assert_eq!(footer.stripes.iter().map(|s| s.rows).collect::<Vec<_>>(), [4, 3]);
    assert_eq!((footer.stripes[0].footer_offset(), footer.stripes[0].end()), (Some(13), Some(18)));
    assert_eq!(footer.types[0].names, ["a", "b"]);
    assert_eq!((footer.types[2].kind, footer.types[2].children.as_slice()), (OrcKind::List, &[3][..]));
    let other_rows = [stripe(4), types, number(6, 7)].concat();
    assert_eq!(OrcFooter::parse(&other_rows, PLAIN).unwrap_err().kind(), ErrorKind::CorruptTable);
    assert_eq!(OrcFooter::parse(&bytes(10, &[]), PLAIN).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn types_that_are_no_tree_are_refused() {
    let leaf = ty(3, &[], &[]);
    for types in [
        vec![],
        vec![ty(12, &[1], &["a"])],
        vec![ty(12, &[0], &["a"])],
        vec![ty(12, &[1], &["a", "b"]), leaf.clone()],
        vec![ty(12, &[1], &["a"]), leaf.clone(), leaf.clone()],
        vec![ty(12, &[1, 1], &["a", "b"]), leaf.clone()],
        vec![ty(12, &[1], &["a"]), ty(10, &[], &[])],
        vec![ty(12, &[1], &["a"]), ty(11, &[2], &[]), leaf.clone()],
        vec![ty(12, &[1], &["a"]), ty(3, &[2], &[]), leaf.clone()],
        vec![ty(12, &[1], &["a"]), ty(10, &[1], &[])],
        (0..120u8).map(|i| ty(if i == 0 { 12 } else { 10 }, &[i + 1], &["a"][..usize::from(i == 0)])).collect(),
    ] {
        let error = OrcFooter::parse(&types.concat(), PLAIN).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptTable, "{error}");
    }
    assert_eq!(OrcFooter::parse(&leaf, PLAIN).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn streams_lie_one_behind_the_other_in_their_stripe() {
    let info = StripeInfo { offset: 100, index_length: 10, data_length: 20, footer_length: 0, rows: 1 };
    let stream = |kind, column, length| bytes(1, &[number(1, kind), number(2, column), number(3, length)].concat());
    let encodings = [bytes(2, &[]), bytes(2, &[number(1, 3), number(2, 5)].concat())].concat();
    let footer = [stream(6, 1, 10), stream(0, 1, 4), stream(1, 1, 16), encodings, bytes(3, b"UTC")].concat();
    let parsed = StripeFooter::parse(&footer, PLAIN, &info).unwrap();
    assert_eq!(parsed.streams[2], StreamInfo { kind: StreamKind::Data, column: 1, offset: 114, length: 16 });
    assert_eq!(parsed.encodings[1], Encoding { is_dictionary: true, v2: true, dictionary_size: 5 });
    assert_eq!(parsed.writer_zone.as_deref(), Some("UTC"));
    let longer = [footer, stream(1, 2, 1)].concat();
    assert_eq!(StripeFooter::parse(&longer, PLAIN, &info).unwrap_err().kind(), ErrorKind::CorruptTable);
    let encoding = bytes(2, &number(1, 4));
    assert_eq!(StripeFooter::parse(&encoding, PLAIN, &info).unwrap_err().kind(), ErrorKind::Unsupported);
}
