use parquet::basic::{BrotliLevel, GzipLevel};
use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type as ParquetType};
use proptest::prelude::*;

use super::*;
use crate::data::testing::{context, field, read, schema, task};
use crate::error::ErrorKind;
use crate::expr::BoundPredicate;
use crate::types::PrimitiveType as P;

fn varint(mut n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while n > 127 {
        out.push((n & 127) as u8 | 128);
        n >>= 7;
    }
    out.push(n as u8);
    out
}

fn zigzag(n: i64) -> Vec<u8> {
    varint(((n << 1) ^ (n >> 63)) as u64)
}

/// A structure of fields: number, type, value.
fn structure(fields: &[(u8, u8, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut last) = (Vec::new(), 0);
    for (id, kind, value) in fields {
        out.push((id - last) << 4 | kind);
        out.extend_from_slice(value);
        last = *id;
    }
    out.push(0);
    out
}

fn text(text: &str) -> Vec<u8> {
    [varint(text.len() as u64), text.as_bytes().to_vec()].concat()
}

fn items(kind: u8, items: &[Vec<u8>]) -> Vec<u8> {
    [vec![(items.len() as u8) << 4 | kind], items.concat()].concat()
}

/// The header of a data page.
fn header(encoding: i64, compressed: usize, uncompressed: i64, values: i64) -> Vec<u8> {
    let counts = structure(&[(1, 5, zigzag(values)), (2, 5, zigzag(encoding)), (3, 5, zigzag(3)), (4, 5, zigzag(3))]);
    structure(&[(1, 5, zigzag(0)), (2, 5, zigzag(uncompressed)), (3, 5, zigzag(compressed as i64)), (5, 12, counts)])
}

/// A file with one page of a required column of strings.
fn file(encoding: i64, page: &[u8], values: i64) -> Vec<u8> {
    file_of(encoding, page, values, None, &[encoding, 3])
}

/// A file with one page of a required column of strings, or of bytes of a length. The footer lists some encodings.
fn file_of(encoding: i64, page: &[u8], values: i64, length: Option<i64>, listed: &[i64]) -> Vec<u8> {
    let physical = if length.is_some() { 7 } else { 6 };
    let head = header(encoding, page.len(), page.len() as i64, values);
    let size = (head.len() + page.len()) as i64;
    let root = structure(&[(4, 8, text("r")), (5, 5, zigzag(1))]);
    let mut column = vec![(1, 5, zigzag(physical))];
    column.extend(length.map(|length| (2, 5, zigzag(length))));
    column.extend([(3, 5, zigzag(0)), (4, 8, text("s"))]);
    column.extend(length.is_none().then(|| (6, 5, zigzag(0))));
    column.push((9, 5, zigzag(1)));
    let listed: Vec<Vec<u8>> = listed.iter().map(|encoding| zigzag(*encoding)).collect();
    let chunk = structure(&[
        (1, 5, zigzag(physical)),
        (2, 9, items(5, &listed)),
        (3, 9, items(8, &[text("s")])),
        (4, 5, zigzag(0)),
        (5, 6, zigzag(values)),
        (6, 6, zigzag(size)),
        (7, 6, zigzag(size)),
        (9, 6, zigzag(4)),
    ]);
    let chunk = structure(&[(2, 6, zigzag(0)), (3, 12, chunk)]);
    let group = structure(&[(1, 9, items(12, &[chunk])), (2, 6, zigzag(size)), (3, 6, zigzag(values))]);
    let footer = structure(&[
        (1, 5, zigzag(1)),
        (2, 9, items(12, &[root, structure(&column)])),
        (3, 6, zigzag(values)),
        (4, 9, items(12, &[group])),
    ]);
    let length = (footer.len() as u32).to_le_bytes();
    [&b"PAR1"[..], &head, page, &footer, &length, b"PAR1"].concat()
}

/// A header of delta-encoded numbers that all equal the first. The blocks take no bits.
fn numbers(claimed: u64, first: i64, blocks: usize) -> Vec<u8> {
    [varint(128), varint(4), varint(claimed), zigzag(first), [0; 5].repeat(blocks)].concat()
}

fn rows_of(bytes: &[u8]) -> Result<usize> {
    rows_as(bytes, P::String)
}

fn rows_as(bytes: &[u8], ty: P) -> Result<usize> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.parquet").display().to_string();
    std::fs::write(&path, bytes).unwrap();
    let s = schema(vec![field(1, "s", ty)]);
    read(&context(&s), &task(&path, BoundPredicate::True)).map(|batches| batches.iter().map(|b| b.num_rows()).sum())
}

#[test]
fn pages_that_claim_2_to_the_40_strings_are_damaged() {
    let one = |claimed| [numbers(claimed, 1, 1), b"abc".to_vec()].concat();
    assert_eq!(rows_of(&file(DELTA_LENGTH_BYTE_ARRAY, &one(3), 3)).unwrap(), 3);
    let shared = |claimed| [numbers(3, 0, 1), numbers(claimed, 1, 1), b"abc".to_vec()].concat();
    assert_eq!(rows_of(&file(DELTA_BYTE_ARRAY, &shared(3), 3)).unwrap(), 3);
    for bad in [
        file(DELTA_LENGTH_BYTE_ARRAY, &one(1 << 40), 3),
        file(DELTA_LENGTH_BYTE_ARRAY, &one(1 << 40), 1 << 30),
        file(DELTA_BYTE_ARRAY, &one(1 << 40), 3),
        file(DELTA_BYTE_ARRAY, &shared(1 << 40), 3),
        file(DELTA_BYTE_ARRAY, &shared(4), 4),
    ] {
        let e = rows_of(&bad).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CorruptTable, "{e}");
    }
}

#[test]
fn footers_that_hide_an_encoding_hide_no_claims() {
    let shared = |claimed| [numbers(3, 0, 1), numbers(claimed, 1, 1), b"abc".to_vec()].concat();
    let one = |claimed| [numbers(claimed, 1, 1), b"abc".to_vec()].concat();
    for (length, ty) in [(None, P::String), (Some(1), P::Fixed(1))] {
        let file = |page: &[u8]| file_of(DELTA_BYTE_ARRAY, page, 3, length, &[0, 3]);
        assert_eq!(rows_as(&file(&shared(3)), ty.clone()).unwrap(), 3);
        for bad in [file(&one(1 << 40)), file(&shared(1 << 40))] {
            assert_eq!(rows_as(&bad, ty.clone()).unwrap_err().kind(), ErrorKind::CorruptTable);
        }
    }
}

fn chunk(compression: Compression) -> ColumnChunkMetaData {
    let physical = parquet::basic::Type::BYTE_ARRAY;
    let column = ParquetType::primitive_type_builder("s", physical).build().unwrap();
    let column = ColumnDescriptor::new(Arc::new(column), 0, 0, ColumnPath::from("s"));
    ColumnChunkMetaData::builder(Arc::new(column)).set_compression(compression).build().unwrap()
}

/// 100,000 letters `a` in Brotli.
const BROTLI: [u8; 13] = [91, 159, 134, 1, 64, 34, 44, 30, 11, 36, 203, 47, 0];

#[test]
fn a_page_never_decompresses_to_more_than_it_claims() {
    let chunk = chunk(Compression::BROTLI(BrotliLevel::default()));
    let page = |claimed| [header(0, BROTLI.len(), claimed, 1), BROTLI.to_vec()].concat();
    assert!(check_contents(&chunk, &page(100_000)).is_ok());
    for claimed in [99_999, 100_001, 10, 1 << 30] {
        assert!(check_contents(&chunk, &page(claimed)).is_err(), "{claimed}");
    }
}

#[test]
fn large_pages_of_few_bytes_are_read_within_a_budget() {
    let brotli = chunk(Compression::BROTLI(BrotliLevel::default()));
    let page = |claimed| [header(0, BROTLI.len(), claimed, 1), BROTLI.to_vec()].concat();
    let mut budget = PageBudget::default();
    budget.add(&brotli, &page(30_000_000)).unwrap();
    budget.add(&brotli, &page(20_000_000)).unwrap();
    assert!(budget.check().is_ok() && budget.check_against(30_000_000).is_ok(), "pages of a column take turns");
    let e = budget.check_against(29_999_999).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CorruptTable);
    assert!(format!("{e:?}").contains(VARIABLE), "{e:?}");
    budget.add(&brotli, &page(i64::from(i32::MAX))).unwrap();
    assert!(budget.check().is_err());
    // Gzip can't expand bytes by this factor.
    assert!(PageBudget::default().add(&chunk(Compression::GZIP(GzipLevel::default())), &page(30_000_000)).is_err());
}

proptest! {
    #[test]
    fn any_page_of_deltas_is_read_or_refused(
        byte_array: bool,
        values in 0i64..300,
        page in prop::collection::vec(any::<u8>(), 0..60),
        claimed in prop_oneof![0u64..300, any::<u64>()],
        blocks in 0usize..4,
    ) {
        let encoding = if byte_array { DELTA_BYTE_ARRAY } else { DELTA_LENGTH_BYTE_ARRAY };
        let crafted = [numbers(claimed, 1, blocks), page.clone()].concat();
        for page in [crafted, page] {
            let _ = rows_of(&file(encoding, &page, values));
        }
    }
}
