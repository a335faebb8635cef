//! Any bytes as a Parquet data file: rows or an error of our own, never a crash or a hang.
#![no_main]

use std::sync::Arc;

use frazil::data::delete_files::DeleteCache;
use frazil::data::read::read_task;
use frazil::error::{Error, Result};
use frazil::expr::BoundPredicate;
use frazil::store::{FileInfo, Location, Store, StoreWriter};
use frazil::task::{DataFile, FileContent, FileFormat, Partition, ReadContext, ScanTask};
use frazil::types::{Field, PrimitiveType, Schema};
use libfuzzer_sys::fuzz_target;

/// A store of one file that can't be written.
#[derive(Debug)]
struct One(Vec<u8>);

fn refused<T>() -> Result<T> {
    Err(Error::unsupported("this store is read-only"))
}

impl Store for One {
    fn get(&self, _: &str) -> Result<Vec<u8>> {
        Ok(self.0.clone())
    }

    fn get_range(&self, _: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|s| self.0.get(s..s.checked_add(length)?));
        range.map(<[u8]>::to_vec).ok_or_else(|| Error::corrupt("the file ends before"))
    }

    fn size(&self, _: &str) -> Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn put_if_absent(&self, _: &str, _: &[u8]) -> Result<()> {
        refused()
    }

    fn put(&self, _: &str, _: &[u8]) -> Result<()> {
        refused()
    }

    fn create(&self, _: &str) -> Result<Box<dyn StoreWriter>> {
        refused()
    }

    fn list(&self, _: &str) -> Result<Vec<FileInfo>> {
        Ok(Vec::new())
    }

    fn list_folders(&self, _: &str) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn make_folder(&self, _: &str) -> Result<()> {
        refused()
    }

    fn delete(&self, _: &str) -> Result<()> {
        refused()
    }

    fn delete_folder(&self, _: &str) -> Result<()> {
        refused()
    }
}

fn task(size: usize) -> ScanTask {
    let file = DataFile {
        content: FileContent::Data,
        path: "f".into(),
        format: FileFormat::Parquet,
        partition: Arc::new(Partition { spec_id: 0, values: vec![] }),
        record_count: 0,
        size_bytes: size as i64,
        sequence_number: None,
        file_sequence_number: None,
        snapshot_id: None,
        metrics: None,
        key_metadata: None,
        split_offsets: None,
        equality_ids: None,
        sort_order_id: None,
        first_row_id: None,
        referenced_data_file: None,
        content_offset: None,
        content_size_bytes: None,
    };
    let residual = Arc::new(BoundPredicate::True);
    ScanTask { data_file: Arc::new(file), start: 0, length: size as i64, deletes: vec![], residual, change: None }
}

fuzz_target!(|bytes: &[u8]| {
    let fields = vec![Field::new(1, "a", false, PrimitiveType::Long), Field::new(2, "b", false, PrimitiveType::String)];
    let schema = Arc::new(Schema::new(0, fields, vec![]));
    let context = ReadContext {
        projection: schema.clone(),
        schema,
        dropped: [].into(),
        change_filter: Arc::new(BoundPredicate::True),
        location: Location::recorded(),
        storage_options: Default::default(),
        name_mapping: None,
        keep_deleted: false,
        batch_rows: 1024,
    };
    let store: Arc<dyn Store> = Arc::new(One(bytes.to_vec()));
    if let Ok(batches) = read_task(&store, &Arc::new(context), &task(bytes.len()), &DeleteCache::default()) {
        batches.for_each(drop);
    }
});
