//! Written indexes equal those of Java byte by byte. Where Java's bytes are random, the answers are the same.

use std::collections::BTreeMap;

use super::*;
use crate::codec::file_index::{IndexOptions, IndexWriter, encode_file_index};

fn written(column: &Column, kind: &IndexKind, options: IndexOptions) -> Option<Vec<u8>> {
    let mut writer = IndexWriter::new(kind, column.indexed, options).ok()?;
    column.rows.iter().for_each(|v| writer.push(v.as_ref().map(Value::as_ref)).unwrap());
    writer.finish().unwrap()
}

fn file(column: &Column, kind: &IndexKind, bytes: Option<Vec<u8>>) -> Vec<u8> {
    encode_file_index(&BTreeMap::from([(column.name.clone(), vec![(kind.clone(), bytes)])])).unwrap()
}

#[test]
fn slices_and_dictionaries_are_those_of_java() {
    for (name, kind) in [("slices", IndexKind::Slices), ("range", IndexKind::RangeBitmap)] {
        let java = index(name);
        let java = FileIndex::parse(&java).unwrap();
        let columns = columns();
        for theirs in &java.indexes {
            let column = columns.iter().find(|c| c.name == theirs.column).unwrap();
            if column.rows.iter().all(Option::is_none) {
                continue; // Java writes slices for codes that do not exist.
            }
            // The file does not name its options, so all sizes are tried.
            let same = [None].into_iter().chain((1..200).map(Some)).any(|chunk_bytes| {
                let options = IndexOptions { chunk_bytes, ..IndexOptions::default() };
                written(column, &kind, options).as_deref() == theirs.bytes
            });
            assert!(same, "{kind:?} of {}", column.name);
        }
        assert!(java.indexes.len() > 5);
    }
}

#[test]
fn bitmaps_answer_as_those_of_java() {
    for (name, version) in [("bitmap", 2), ("bitmap1", 1)] {
        let java = index(name);
        let java = FileIndex::parse(&java).unwrap();
        for column in columns() {
            let Some(theirs) = java.indexes.iter().find(|i| i.column == column.name) else { continue };
            let encode = |block_bytes| {
                let options = IndexOptions { version, block_bytes, ..IndexOptions::default() };
                written(&column, &IndexKind::Bitmap, options).unwrap()
            };
            let lengths = [16 << 10].into_iter().chain(20..200).map(|block_bytes| encode(block_bytes).len());
            assert!(lengths.into_iter().any(|length| length == theirs.bytes.unwrap().len()), "{}", column.name);
            for block_bytes in [16 << 10, 40] {
                let ours = encode(block_bytes);
                let bytes = file(&column, &IndexKind::Bitmap, Some(ours));
                let ours = FileIndex::parse(&bytes).unwrap();
                for question in questions(&column) {
                    assert_eq!(rows(&java, &column, &question), rows(&ours, &column, &question), "{question}");
                }
            }
        }
    }
}

#[test]
fn bloom_filters_are_those_of_java() {
    let java = index("bloom");
    let java = FileIndex::parse(&java).unwrap();
    let columns = columns();
    for theirs in &java.indexes {
        let column = columns.iter().find(|c| c.name == theirs.column).unwrap();
        let (theirs, mut found) = (theirs.bytes.unwrap(), false);
        // The file does not record the options that it was made with.
        for items in 1..200 {
            let options = IndexOptions { items, false_positives: 0.1, ..IndexOptions::default() };
            found |= written(column, &IndexKind::Bloom, options.clone()).unwrap() == theirs;
            let options = IndexOptions { false_positives: 0.01, ..options };
            found |= written(column, &IndexKind::Bloom, options).unwrap() == theirs;
        }
        assert!(found, "{}", column.name);
    }
}

#[test]
fn columns_without_values_have_no_index() {
    let columns = columns();
    let column = columns.iter().find(|c| c.indexed == IndexedType::Int).unwrap();
    let bytes = file(column, &IndexKind::Bitmap, None);
    let index = FileIndex::parse(&bytes).unwrap();
    assert!(
        !index
            .rows(&leaf(column, Op::Eq, vec![Value::Int(1)]), &|_| Some((&column.name, column.indexed)))
            .unwrap()
            .any()
    );
    assert_eq!(index.columns().count(), 1);
}

proptest! {
    #[test]
    fn texts_are_found_again(values in proptest::collection::vec(proptest::option::of("[a-c]{0,4}"), 1..60)) {
        let rows_of = |v: &Option<String>| v.clone().map(Value::String);
        let column = Column {
            name: "größe 🦀\0".to_owned(),
            indexed: IndexedType::Text,
            ty: PrimitiveType::String,
            rows: values.iter().map(rows_of).collect(),
        };
        for kind in [IndexKind::Bitmap, IndexKind::RangeBitmap] {
            let options = IndexOptions { block_bytes: 30, chunk_bytes: Some(12), ..IndexOptions::default() };
            let bytes = file(&column, &kind, written(&column, &kind, options));
            let (exact, of) = ask(&FileIndex::parse(&bytes).unwrap(), &column);
            prop_assert!(exact * 10 >= of * 3, "{exact} of {of}");
        }
    }
}
