//! What the fuzz targets that read files share: a store that has one file, and tables of it.

use std::sync::Arc;

pub mod avro_file;
pub mod choices;
pub mod compress;
pub mod numbers;
pub mod orc_file;
pub mod parquet_file;

use frazil::data::deletes::cache::DeleteCache;
use frazil::data::read::task::read_task;
use frazil::error::{Error, Result};
use frazil::expr::BoundPredicate;
use frazil::format::task::{DataFile, FileContent, FileFormat, Partition, ReadContext, ScanTask};
use frazil::store::{FileInfo, Location, Store, StoreWriter};
use frazil::types::{Field, PrimitiveType, Schema, Type};

/// A store of one file that can't be written.
#[derive(Debug)]
pub struct One(pub Vec<u8>);

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

/// A file as a manifest lists it.
pub fn file(content: FileContent, format: FileFormat, path: &str, size: usize) -> DataFile {
    DataFile {
        size_bytes: size as i64,
        ..DataFile::new(content, path, format, Arc::new(Partition { spec_id: 0, values: vec![] }))
    }
}

/// For files without field ids.
const NAMES: &str = r#"[{"field-id":1,"names":["a"]},{"field-id":2,"names":["b"]},
    {"field-id":3,"names":["c"],"fields":[{"field-id":4,"names":["element"]}]},
    {"field-id":5,"names":["d"],"fields":[{"field-id":6,"names":["x"]}]},
    {"field-id":7,"names":["e"]},{"field-id":8,"names":["f"]}]"#;

/// A table with a column of each kind.
pub fn context() -> Arc<ReadContext> {
    let list = Type::List(Arc::new(Field::new(4, "element", false, PrimitiveType::Int)));
    let member = Field::new(6, "x", false, PrimitiveType::Decimal { precision: 9, scale: 2 });
    let fields = vec![
        Field::new(1, "a", false, PrimitiveType::Long),
        Field::new(2, "b", false, PrimitiveType::String),
        Field::new(3, "c", false, list),
        Field::new(5, "d", false, Type::Struct(vec![member].into())),
        Field::new(7, "e", false, PrimitiveType::Timestamptz),
        Field::new(8, "f", false, PrimitiveType::Double),
    ];
    let schema = Arc::new(Schema::new(0, fields, vec![]));
    Arc::new(ReadContext {
        projection: schema.clone(),
        schema,
        dropped: [].into(),
        change_filter: Arc::new(BoundPredicate::True),
        snapshot_id: None,
        location: Location::recorded(),
        storage_options: Default::default(),
        name_mapping: Some(NAMES.to_owned()),
        keep_deleted: false,
        batch_rows: 1024,
        buckets: None,
    })
}

/// The bytes as a data file of this format: rows of the right number and shape, or an error.
pub fn read_rows(format: FileFormat, bytes: &[u8]) {
    let store: Arc<dyn Store> = Arc::new(One(bytes.to_vec()));
    let data_file = Arc::new(file(FileContent::Data, format, "f", bytes.len()));
    let residual = Arc::new(BoundPredicate::True);
    let length = bytes.len() as i64;
    let task = ScanTask { data_file, start: 0, length, deletes: vec![], residual, change: None, merge: None };
    if let Ok(batches) = read_task(&store, &context(), &task, &DeleteCache::default()) {
        for batch in batches.map_while(Result::ok) {
            assert!(batch.num_rows() > 0 && batch.num_rows() <= 1024);
        }
    }
}
