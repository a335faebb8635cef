//! Columns of type BLOB, whose values are written to files of their own.
//!
//! A file of the other columns and its files of blobs have the same rows. A file of blobs has one column. It
//! ends after the value that reaches its target size, so there may be several.
//!
//! Source: Java's `DedicatedFormatRollingFileWriter`, `MultipleBlobFileWriter`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, AsArray, BinaryArray, RecordBatch};
use arrow::datatypes::SchemaRef;

use crate::codec::blob_file::{BlobRecord, index_and_tail, is_descriptor};
use crate::data::write::new_file::{NewFile, Written, write_all};
use crate::error::{Error, ErrorKind, Result};
use crate::parallel::{check_cancelled, locked};
use crate::store::{Store, StoreWriter, Unsynced};

/// The columns that are written to files of their own.
#[derive(Debug)]
pub(crate) struct BlobColumns {
    /// Their places and names.
    pub columns: Vec<(usize, String)>,
    /// The places of the other columns.
    pub others: Vec<usize>,
    /// All columns.
    pub arrow: SchemaRef,
    /// The size of a full file, in bytes.
    pub target_bytes: u64,
    /// Whether scans of the table return descriptors in place of values. They must not become values.
    pub refuses_descriptors: bool,
    pub written: Arc<WrittenBlobs>,
}

/// A finished file of blobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlobFile {
    pub path: String,
    pub column: String,
    pub record_count: i64,
    pub size_bytes: i64,
}

/// The files of blobs that belong to each file of other columns. Those that are not released are deleted at the end.
pub(crate) struct WrittenBlobs {
    store: Arc<dyn Store>,
    files: Mutex<HashMap<String, Vec<BlobFile>>>,
}

impl WrittenBlobs {
    pub(crate) fn new(store: Arc<dyn Store>) -> WrittenBlobs {
        WrittenBlobs { store, files: Mutex::default() }
    }

    /// The files of blobs that belong to the file at `path`, column by column in the order of rows.
    pub(crate) fn of_file(&self, path: &str) -> Vec<BlobFile> {
        locked(&self.files).get(path).cloned().unwrap_or_default()
    }

    /// All files belong to the caller from now on.
    pub(crate) fn release(&self) {
        locked(&self.files).clear();
    }
}

impl fmt::Debug for WrittenBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WrittenBlobs")
    }
}

impl Drop for WrittenBlobs {
    fn drop(&mut self) {
        let files = self.files.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.store.discard(files.values().flatten().map(|file| file.path.clone()).collect());
    }
}

/// A file of the other columns, and its files of blobs.
pub(crate) struct FileWithBlobs {
    file: Box<dyn NewFile>,
    settings: Arc<BlobColumns>,
    columns: Vec<ColumnBlobs>,
    unsynced: Arc<Unsynced>,
}

impl FileWithBlobs {
    /// `file` gets the other columns.
    pub(crate) fn begin(file: Box<dyn NewFile>, settings: Arc<BlobColumns>, unsynced: &Arc<Unsynced>) -> FileWithBlobs {
        let columns = settings.columns.iter().map(|_| ColumnBlobs::default()).collect();
        FileWithBlobs { file, settings, columns, unsynced: unsynced.clone() }
    }

    fn others(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        rows.project(&self.settings.others)
            .map_err(|e| Error::internal("rows don't have the columns that they are written with").because(e))
    }

    fn end_columns(&mut self) -> Result<()> {
        let store = &self.settings.written.store;
        self.columns.iter_mut().zip(&self.settings.columns).try_for_each(|(files, (_, name))| files.end(store, name))
    }
}

impl NewFile for FileWithBlobs {
    fn path(&self) -> &str {
        self.file.path()
    }

    fn expect_rows(&mut self, rows: &RecordBatch) -> Result<()> {
        let others = self.others(rows)?;
        self.file.expect_rows(&others)
    }

    fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        let stem = self.file.path().rsplit_once('.').map_or(self.file.path(), |(stem, _)| stem).to_owned();
        let store = &self.settings.written.store;
        for (number, (files, (at, name))) in self.columns.iter_mut().zip(&self.settings.columns).enumerate() {
            let values = rows.columns().get(*at).and_then(|column| column.as_binary_opt::<i32>());
            let values = values.ok_or_else(|| Error::internal("a column of blobs is not of bytes"))?;
            let next = |count: usize| format!("{stem}-{number}-{count}.blob");
            let new = NewBlobs { store, name, unsynced: &self.unsynced, settings: &self.settings };
            files.write(values, &new, &next)?;
        }
        let others = self.others(rows)?;
        self.file.write(&others)
    }

    fn estimated_bytes(&self) -> u64 {
        self.file.estimated_bytes()
    }

    fn buffered_bytes(&self) -> usize {
        self.file.buffered_bytes()
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        self.end_columns()?;
        let FileWithBlobs { file, settings, columns, .. } = *self;
        let path = file.path().to_owned();
        // From now on they are deleted with the others, also if the file below fails.
        let blobs: Vec<BlobFile> = columns.into_iter().flat_map(|mut files| std::mem::take(&mut files.done)).collect();
        locked(&settings.written.files).insert(path, blobs);
        file.finish()
    }
}

/// Where a new file of blobs goes.
struct NewBlobs<'a> {
    store: &'a Arc<dyn Store>,
    name: &'a str,
    unsynced: &'a Arc<Unsynced>,
    settings: &'a BlobColumns,
}

/// The files of one column.
#[derive(Default)]
struct ColumnBlobs {
    open: Option<OpenBlobs>,
    done: Vec<BlobFile>,
    store: Option<Arc<dyn Store>>,
}

/// A file that is being written. It leaves no file if it is dropped.
struct OpenBlobs {
    path: String,
    sink: Box<dyn StoreWriter>,
    bytes: u64,
    lengths: Vec<i64>,
}

impl Drop for ColumnBlobs {
    fn drop(&mut self) {
        if let Some(store) = &self.store {
            store.discard(self.done.iter().map(|file| file.path.clone()).collect());
        }
    }
}

impl ColumnBlobs {
    fn write(&mut self, values: &BinaryArray, new: &NewBlobs<'_>, path: &dyn Fn(usize) -> String) -> Result<()> {
        self.store.get_or_insert_with(|| new.store.clone());
        for row in 0..values.len() {
            check_cancelled()?;
            let open = match &mut self.open {
                Some(open) => open,
                none => {
                    let path = path(self.done.len());
                    let sink = new.store.create_unsynced(&path, new.unsynced)?;
                    none.insert(OpenBlobs { path, sink, bytes: 0, lengths: Vec::new() })
                }
            };
            let value = values.is_valid(row).then(|| values.value(row));
            if new.settings.refuses_descriptors && value.is_some_and(is_descriptor) {
                return Err(Error::unsupported("descriptors can't be written as values of type BLOB yet")
                    .with("column", new.name)
                    .hint("Read the values first: scan(options={'blob-as-descriptor': 'false'})"));
            }
            open.write(value)?;
            if open.bytes >= new.settings.target_bytes {
                self.end(new.store, new.name)?;
            }
        }
        Ok(())
    }

    /// Completes the open file.
    fn end(&mut self, store: &Arc<dyn Store>, column: &str) -> Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        write_all(open.sink.as_mut(), &open.path, &index_and_tail(&open.lengths)?)?;
        let size = open.sink.finish();
        if size.as_ref().is_err_and(|e| e.kind() != ErrorKind::AlreadyExists) {
            store.discard(vec![open.path.clone()]);
        }
        let file = BlobFile {
            path: open.path,
            column: column.to_owned(),
            record_count: i64::try_from(open.lengths.len()).unwrap_or(i64::MAX),
            size_bytes: i64::try_from(size?).unwrap_or(i64::MAX),
        };
        self.done.push(file);
        Ok(())
    }
}

impl OpenBlobs {
    fn write(&mut self, value: Option<&[u8]>) -> Result<()> {
        let record = BlobRecord::of(value);
        for part in [&record.before[..], value.unwrap_or_default(), &record.after[..]] {
            write_all(self.sink.as_mut(), &self.path, part)?;
        }
        self.bytes += u64::try_from(record.length).unwrap_or(0);
        self.lengths.push(record.length);
        Ok(())
    }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
