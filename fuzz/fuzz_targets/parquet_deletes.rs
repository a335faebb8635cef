//! Any bytes as a Parquet delete file, by position and by key: a filter or an error, never a crash or a hang.
#![no_main]

use std::sync::Arc;

use frazil::data::deletes::cache::DeleteCache;
use frazil::data::deletes::filter::DeleteFilter;
use frazil::format::task::{DataFile, DeleteRef, FileContent, FileFormat};
use frazil::store::Store;
use frazil_fuzz::{One, context, file};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let store: Arc<dyn Store> = Arc::new(One(bytes.to_vec()));
    let data_file = file(FileContent::Data, FileFormat::Parquet, "data", 1);
    let delete = |content, ids: Option<Vec<i32>>| {
        let file = file(content, FileFormat::Parquet, "deletes", bytes.len());
        vec![DeleteRef { file: Arc::new(DataFile { equality_ids: ids, ..file }) }]
    };
    for deletes in [
        delete(FileContent::PositionDeletes, None),
        delete(FileContent::EqualityDeletes, Some(vec![1])),
        delete(FileContent::EqualityDeletes, Some(vec![2, 6])),
    ] {
        let _ = DeleteFilter::load(&store, &context(), &data_file, &deletes, &DeleteCache::default());
    }
});
