use arrow::array::{ArrayRef, Int32Array};
use tempfile::TempDir;

use super::*;
use crate::codec::blob_file::{BlobPlace, payload};
use crate::data::arrow::schema::to_arrow;
use crate::data::blobs::read::read_index;
use crate::data::testing::{field, schema};
use crate::data::write::file_write::FileSettings;
use crate::data::write::metrics::MetricsConfig;
use crate::data::write::new_file::Purpose;
use crate::format::task::FileFormat;
use crate::store::local::LocalStore;
use crate::types::{PrimitiveType as P, Schema};

fn whole() -> Schema {
    schema(vec![field(1, "pic", P::Binary), field(0, "id", P::Int), field(2, "doc", P::Binary)])
}

fn settings(written: &Arc<WrittenBlobs>, target_bytes: u64) -> FileSettings {
    let ids = Arc::new(schema(vec![field(0, "id", P::Int)]));
    let (arrow, metrics) = (to_arrow(&ids).unwrap(), MetricsConfig::full());
    let plain =
        FileSettings::new(FileFormat::Parquet, ids.clone(), arrow, &Default::default(), metrics, Purpose::Rows(&ids));
    plain.unwrap().with_blobs(BlobColumns {
        columns: vec![(0, "pic".to_owned()), (2, "doc".to_owned())],
        others: vec![1],
        arrow: to_arrow(&whole()).unwrap(),
        target_bytes,
        refuses_descriptors: false,
        written: written.clone(),
    })
}

fn rows(ids: std::ops::Range<i32>) -> RecordBatch {
    let numbers = Arc::new(Int32Array::from_iter_values(ids.clone())) as ArrayRef;
    let pictures: BinaryArray = ids.clone().map(|i| (i % 3 != 1).then(|| vec![i as u8; i as usize])).collect();
    let documents: BinaryArray = ids.map(|i| Some(format!("doc{i}").into_bytes())).collect();
    let columns = vec![Arc::new(pictures) as ArrayRef, numbers, Arc::new(documents)];
    RecordBatch::try_new(to_arrow(&whole()).unwrap(), columns).unwrap()
}

fn files(dir: &TempDir) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn values(file: &BlobFile) -> Vec<Option<Vec<u8>>> {
    let (index, size) = read_index(&LocalStore, &file.path, file.record_count as u64).unwrap();
    assert_eq!(size as i64, file.size_bytes);
    let bytes = std::fs::read(&file.path).unwrap();
    let value = |place: Result<BlobPlace>| match place.unwrap() {
        BlobPlace::Record(record) => {
            Some(payload(&bytes[record.start as usize..record.end as usize]).unwrap().to_vec())
        }
        _ => None,
    };
    index.map(value).collect()
}

#[test]
fn blobs_are_written_to_files_of_their_own() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().to_str().unwrap();
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    let written = Arc::new(WrittenBlobs::new(store.clone()));
    let unsynced = Unsynced::new(folder);
    let path = format!("{folder}/data-1.parquet");
    let mut file = settings(&written, 60).create(store.as_ref(), path.clone(), &unsynced).unwrap();
    file.write(&rows(0..5)).unwrap();
    file.write(&rows(5..9)).unwrap();
    assert_eq!(file.finish().unwrap().record_count, 9);
    let blobs = written.of_file(&path);
    let of = |column: &str| blobs.iter().filter(|f| f.column == column).cloned().collect::<Vec<_>>();
    // Records have 16 bytes more than their values. A file ends with the value that reaches 60 bytes.
    let counts = |column| of(column).iter().map(|f| f.record_count).collect::<Vec<_>>();
    assert_eq!(counts("pic"), [6, 3]);
    assert_eq!(counts("doc"), [3, 3, 3]);
    let pictures: Vec<_> = of("pic").iter().flat_map(values).collect();
    let wanted: Vec<_> = (0..9_u8).map(|i| (i % 3 != 1).then(|| vec![i; i.into()])).collect();
    assert_eq!(pictures, wanted);
    let documents: Vec<_> = of("doc").iter().flat_map(values).collect();
    assert_eq!(documents, (0..9).map(|i| Some(format!("doc{i}").into_bytes())).collect::<Vec<_>>());
    unsynced.sync().unwrap();
    assert_eq!(files(&dir).len(), 6);
    drop(written);
    assert_eq!(files(&dir), ["data-1.parquet"], "files that nobody took are deleted");
}

#[test]
fn a_writer_that_is_dropped_leaves_no_blobs() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().to_str().unwrap();
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    let written = Arc::new(WrittenBlobs::new(store.clone()));
    let unsynced = Unsynced::new(folder);
    let mut file = settings(&written, 60).create(store.as_ref(), format!("{folder}/a.parquet"), &unsynced).unwrap();
    file.write(&rows(0..9)).unwrap();
    drop(file);
    assert_eq!(files(&dir), Vec::<String>::new());
    // The name of the second file of blobs is taken.
    std::fs::write(format!("{folder}/b-0-1.blob"), "mine").unwrap();
    let mut file = settings(&written, 60).create(store.as_ref(), format!("{folder}/b.parquet"), &unsynced).unwrap();
    let failed = file.write(&rows(0..9)).and_then(|()| file.finish().map(drop)).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::AlreadyExists);
    assert_eq!(files(&dir), ["b-0-1.blob"]);
    assert_eq!(std::fs::read(format!("{folder}/b-0-1.blob")).unwrap(), b"mine");
}
