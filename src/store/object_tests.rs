//! Object stores, by one in memory behind the same code.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use object_store::memory::InMemory;

use super::*;
use crate::store::FilesAhead;
use crate::store::options::Secrets;

fn in_memory() -> ObjectFiles {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let client = Client { patient: store.clone(), once: store, secrets: Secrets::default(), renewal: None };
    ObjectFiles::connected(Arc::default(), Arc::new(move |_, _| Ok(client.clone())))
}

#[test]
fn reads_and_writes_objects() {
    let store = in_memory();
    let path = "s3://b/t/k=1 %2F+/x.bin";
    store.put_if_absent(path, b"abcdef").unwrap();
    assert_eq!(store.put_if_absent(path, b"other").unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(store.put_if_absent(path, b"abcdef").unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(store.get("s3a://b/t/k=1 %2F+/x.bin").unwrap(), b"abcdef");
    assert_eq!(store.size(path).unwrap(), 6);
    assert_eq!(store.get_range(path, 2, 3).unwrap(), b"cde");
    assert_eq!(store.get_ranges(path, &[4..6, 0..1, 3..3, 0..6]).unwrap(), [&b"ef"[..], b"a", b"", b"abcdef"]);
    assert_eq!(store.get_tail(path, 4).unwrap(), (b"cdef".to_vec(), 6));
    assert_eq!(store.get_tail(path, 400).unwrap(), (b"abcdef".to_vec(), 6));
    assert_eq!(store.fetch_ahead(path, &[1..3, 0..1]).unwrap().finish().unwrap(), [&b"bc"[..], b"a"]);
    assert_eq!(store.get_ranges(path, &[0..1, 4..7]).unwrap_err().kind(), ErrorKind::CorruptTable);
    assert_eq!(store.get_range(path, 6, 1).unwrap_err().kind(), ErrorKind::CorruptTable);
    assert_eq!(store.get_range(path, u64::MAX, 3).unwrap_err().kind(), ErrorKind::CorruptTable);
    store.put(path, b"new").unwrap();
    assert_eq!(store.get(path).unwrap(), b"new");
    store.delete(path).unwrap();
    store.delete(path).unwrap();
    assert_eq!(store.get(path).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.size(path).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn folders_are_what_keys_have_in_common() {
    let store = in_memory();
    assert_eq!(store.list("s3://b/wh").unwrap(), []);
    store.make_folder("s3://b/wh/empty").unwrap();
    store.put("s3://b/wh/ns/t/metadata/v1.json", b"{}").unwrap();
    store.put("s3://b/wh/top", b"1").unwrap();
    assert_eq!(store.list_folders("s3a://b/wh/").unwrap(), ["empty", "ns"]);
    let files = store.list("s3a://b/wh/").unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!((files[0].path.as_str(), files[0].size_bytes), ("s3a://b/wh/top", 1));
    assert!(files[0].modified_ms > 1_600_000_000_000);
    assert_eq!(store.list("s3://b/wh/empty").unwrap(), []);
    assert_eq!(store.list_folders("s3://b").unwrap(), ["wh"]);
    store.delete_folder("s3://b/wh/empty").unwrap();
    store.delete_folder("s3://b/wh/ns").unwrap();
    assert_eq!(store.list_folders("s3://b/wh").unwrap(), ["ns"]);
    assert!(store.is_same_place("s3://b/wh", "s3n://b/wh/").unwrap());
    assert!(!store.is_same_place("s3://b/wh", "s3://c/wh").unwrap());
}

#[test]
fn of_racing_writers_one_wins() {
    let store = in_memory();
    let wins = AtomicUsize::new(0);
    std::thread::scope(|s| {
        for i in 0..8u8 {
            let (store, wins) = (&store, &wins);
            s.spawn(move || match store.put_if_absent("s3://b/v1.json", &[i; 1000]) {
                Ok(()) => wins.fetch_add(1, Ordering::Relaxed),
                Err(e) => usize::from(e.kind() != ErrorKind::AlreadyExists) * 100,
            });
        }
    });
    assert_eq!(wins.load(Ordering::Relaxed), 1);
}

#[test]
fn large_objects_go_up_in_parts_and_appear_whole() {
    let store = in_memory();
    for bytes in [0usize, 5, 8 << 20, (20 << 20) + 7] {
        let mut writer = store.create("s3://b/large").unwrap();
        let chunk = vec![7u8; 100_000];
        let mut left = bytes;
        while left > 0 {
            let n = left.min(chunk.len());
            writer.write_all(&chunk[..n]).unwrap();
            left -= n;
        }
        assert!(store.size("s3://b/large").is_err());
        assert_eq!(writer.finish().unwrap(), bytes as u64);
        assert_eq!(store.size("s3://b/large").unwrap(), bytes as u64);
        store.delete("s3://b/large").unwrap();
    }
    let mut writer = store.create("s3://b/given-up").unwrap();
    writer.write_all(&vec![1; 9 << 20]).unwrap();
    drop(writer);
    assert!(store.size("s3://b/given-up").is_err());
}

#[test]
fn whole_files_are_fetched_ahead() {
    let store = in_memory();
    let path = |i: usize| format!("s3://b/t/{i}");
    let bytes = |i: usize| format!("file {i}").into_bytes();
    for i in (0..300).filter(|i| *i != 250) {
        store.put(&path(i), &bytes(i)).unwrap();
    }
    // Some files are not read, one is missing, one is said to be large.
    let size = |i: usize| if i == 9 { 1 << 40 } else { 8 };
    let all = (0..300).map(|i| (i % 10 != 3).then(|| (path(i), size(i)))).collect();
    let files = FilesAhead::new(&store, all);
    let read = crate::parallel::in_parallel_on(8, 300, |i| Ok(files.get(i))).unwrap();
    for (i, found) in read.into_iter().enumerate() {
        match i {
            250 => assert_eq!(found.unwrap_err().kind(), ErrorKind::NotFound),
            i if i % 10 == 3 => assert_eq!(found.unwrap_err().kind(), ErrorKind::Internal),
            i => assert_eq!(found.unwrap(), bytes(i)),
        }
    }
    assert_eq!(FilesAhead::new(&store, vec![Some((path(7), 8))]).get(7).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn files_ahead_have_limits() {
    let store = in_memory();
    store.put("s3://b/k", b"x").unwrap();
    for (size, most) in [(1, 160), (1 << 20, 32), (1 << 30, 0)] {
        let files = FilesAhead::new(&store, vec![Some(("s3://b/k".to_owned(), size)); 1000]);
        assert_eq!(files.get(0).unwrap(), b"x");
        // The first one was read, and another one took its place.
        assert_eq!(files.on_the_way(), most);
    }
}

#[test]
fn files_of_a_failed_call_are_removed_after_its_cancellation() {
    let store = in_memory();
    let paths: Vec<String> = (0..100).map(|i| format!("s3://b/t/{i}.parquet")).collect();
    for path in &paths {
        store.put(path, b"rows").unwrap();
    }
    store.put("s3://b/t/kept.parquet", b"rows").unwrap();
    let strange = ["s3://b/t/missing", "https://web.example/t/file", "no path of a store"].map(str::to_owned);
    let cancelled = crate::parallel::Cancellation::after(0);
    cancelled.scope(|| store.discard(strange.into_iter().chain(paths).collect()));
    let left = store.list("s3://b/t").unwrap();
    assert_eq!(left.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["s3://b/t/kept.parquet"]);
}
