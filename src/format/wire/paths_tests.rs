use proptest::prelude::*;

use super::*;

fn written(paths: &[String]) -> Vec<u8> {
    let (mut writer, mut out) = (PathWriter::default(), Vec::new());
    paths.iter().for_each(|path| writer.put(path, &mut out));
    out
}

fn read(bytes: &[u8]) -> Result<Vec<String>> {
    let (mut reader, mut cursor, mut out) = (PathReader::default(), Cursor::new(bytes), Vec::new());
    while !cursor.rest().is_empty() {
        reader.step(&mut cursor)?;
        out.push(reader.path()?);
    }
    Ok(out)
}

fn comes_back(paths: &[&str]) -> usize {
    let paths: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
    let bytes = written(&paths);
    assert_eq!(read(&bytes).unwrap(), paths);
    bytes.len()
}

const ONE: &str = "s3://b/t/data/day=1/00001-1-a105a9b9-1cd8-35be-1359-35ddd135bdc3-00001.parquet";
const TWO: &str = "s3://b/t/data/day=1/00001-1-4d49f838-f141-79a3-486d-f1963ed660cc-00001.parquet";

#[test]
fn a_uuid_takes_sixteen_bytes() {
    let first = comes_back(&[ONE]);
    // The number of shared bytes takes two bytes. No other bytes of the path are written.
    assert_eq!(comes_back(&[ONE, TWO]) - first, 2 + 1 + BINARY);
    // The same UUID takes no bytes. Neither does the same tail.
    assert_eq!(comes_back(&[ONE, ONE]) - first, 2 + 1);
    let tail = "-00002.parquet";
    assert_eq!(comes_back(&[ONE, &ONE.replace("-00001.parquet", tail)]) - first, 2 + 1 + 1 + tail.len());
}

#[test]
fn odd_paths_come_back() {
    let zeros = "00000000-0000-0000-0000-000000000000";
    comes_back(&["", zeros, "", "a", &format!("{zeros}-x"), ONE, "s3://b/t/data", TWO, TWO, "é", "è", "/"]);
    // Other forms than those of UUIDs: in capitals, too short, with a hyphen elsewhere, in the folder.
    comes_back(&[&ONE.to_uppercase(), &ONE[..ONE.len() - 20], &ONE.replace("-1cd8", "1-cd8"), &format!("{ONE}/x")]);
    // Several UUIDs, and more digits around one.
    comes_back(&[&format!("{zeros}{zeros}"), &format!("f{zeros}{zeros}f"), &format!("a/{zeros}/{zeros}"), zeros]);
}

#[test]
fn damage_is_an_error() {
    let bytes = written(&[ONE.to_owned(), TWO.to_owned()]);
    assert!(read(&bytes[..bytes.len() - 1]).is_err());
    let mut shares_more = Vec::new();
    put_long(&mut shares_more, 1 << KIND_SHIFT);
    put_bytes(&mut shares_more, b"");
    assert!(read(&shares_more).unwrap_err().to_string().contains("shares more"));
    let mut negative = Vec::new();
    put_long(&mut negative, -8);
    put_bytes(&mut negative, b"");
    assert!(read(&negative).is_err());
    let mut no_kind = Vec::new();
    put_long(&mut no_kind, 5);
    put_bytes(&mut no_kind, b"");
    assert!(read(&no_kind).is_err());
    let mut no_text = Vec::new();
    put_long(&mut no_text, 0);
    put_bytes(&mut no_text, &[0xff]);
    assert!(read(&no_text).unwrap_err().to_string().contains("UTF-8"));
}

#[test]
fn long_texts_are_not_shared() {
    let long = "x".repeat(2 * MOST_SHARED);
    let (head, tail) = (format!("{long}{ONE}"), format!("{ONE}{long}"));
    let alone = comes_back(&[&head, &tail]);
    assert!(comes_back(&[&head, &head, &tail, &tail]) > alone + MOST_SHARED + long.len());
    // A few bytes can't ask for it either.
    for path in [head, tail] {
        let mut bytes = written(std::slice::from_ref(&path));
        put_long(&mut bytes, (long.len() as i64 * i64::from(path.starts_with('x'))) << KIND_SHIFT | SAME_UUID);
        put_bytes(&mut bytes, b"");
        assert!(read(&bytes).is_err());
    }
}

fn path() -> impl Strategy<Value = String> {
    let uuid = "[0-1a-b]{8}-[0-1]{4}-[0-1]{4}-[0-1]{4}-[0-1]{12}";
    prop_oneof![("[ab/é]{0,40}", uuid, "[-a.0]{0,8}").prop_map(|(a, b, c)| format!("{a}{b}{c}")), "[ab/é0-1-]{0,60}",]
}

proptest! {
    #[test]
    fn any_paths_come_back(paths in prop::collection::vec(path(), 0..12)) {
        prop_assert_eq!(read(&written(&paths)).unwrap(), paths);
    }

    #[test]
    fn any_bytes_are_paths_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }
}
