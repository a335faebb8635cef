//! A store of files behind a file system of Python: one of fsspec or pyarrow. Each call takes the interpreter's lock.

use std::collections::BTreeMap;
use std::io::Write;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::calls::attached;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{FileInfo, Store, StoreWriter};

/// Files of a Python object with the methods of `frazil.foreign.Files`.
pub(super) struct PythonFiles {
    files: Py<PyAny>,
    /// The option from which the object is made again.
    text: String,
}

impl std::fmt::Debug for PythonFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PythonFiles")
    }
}

impl PythonFiles {
    pub(super) fn new(files: Py<PyAny>, text: &str) -> PythonFiles {
        PythonFiles { files, text: text.to_owned() }
    }

    /// Calls a method about a path.
    fn call<T>(&self, path: &str, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T> {
        attached(|py| work(self.files.bind(py))).map_err(|e| e.with("path", path))
    }
}

/// A file that is being written. Its bytes are kept until it is complete.
struct PythonWriter {
    files: Py<PyAny>,
    path: String,
    bytes: Vec<u8>,
}

impl Write for PythonWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl StoreWriter for PythonWriter {
    fn finish(self: Box<Self>) -> Result<u64> {
        let PythonWriter { files, path, bytes } = *self;
        let made =
            attached(|py| files.bind(py).call_method1("put_if_absent", (&path, PyBytes::new(py, &bytes))).map(drop));
        made.map_err(|e| e.with("path", path))?;
        Ok(bytes.len() as u64)
    }
}

impl Store for PythonFiles {
    fn get(&self, path: &str) -> Result<Vec<u8>> {
        self.call(path, |files| files.call_method1("get", (path,))?.extract())
    }

    fn get_range(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        let bytes: Vec<u8> =
            self.call(path, |files| files.call_method1("get_range", (path, offset, length))?.extract())?;
        match bytes.len() == length {
            true => Ok(bytes),
            false => {
                Err(Error::corrupt(format!("the file ends before byte {} that is wanted", offset + length as u64))
                    .with("path", path))
            }
        }
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn options(&self) -> BTreeMap<String, String> {
        BTreeMap::from([(crate::store::credentials::FILES.to_owned(), self.text.clone())])
    }

    fn size(&self, path: &str) -> Result<u64> {
        self.call(path, |files| files.call_method1("size", (path,))?.extract())
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.call(path, |files| files.call_method1("put_if_absent", (path, PyBytes::new(files.py(), bytes))).map(drop))
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.call(path, |files| files.call_method1("put", (path, PyBytes::new(files.py(), bytes))).map(drop))
    }

    fn create(&self, path: &str) -> Result<Box<dyn StoreWriter>> {
        self.call(path, |files| files.call_method0("check_writable").map(drop))?;
        let files = attached(|py| Ok(self.files.clone_ref(py)))?;
        Ok(Box::new(PythonWriter { files, path: path.to_owned(), bytes: Vec::new() }))
    }

    fn list(&self, folder: &str) -> Result<Vec<FileInfo>> {
        let listed: Vec<(String, u64, i64)> =
            self.call(folder, |files| files.call_method1("list", (folder,))?.extract())?;
        Ok(listed
            .into_iter()
            .map(|(path, size_bytes, modified_ms)| FileInfo { path, size_bytes, modified_ms })
            .collect())
    }

    fn list_folders(&self, folder: &str) -> Result<Vec<String>> {
        self.call(folder, |files| files.call_method1("list_folders", (folder,))?.extract())
    }

    fn make_folder(&self, folder: &str) -> Result<()> {
        self.call(folder, |files| files.call_method1("make_folder", (folder,)).map(drop))
    }

    fn delete(&self, path: &str) -> Result<()> {
        match self.call(path, |files| files.call_method1("delete", (path,)).map(drop)) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn delete_folder(&self, folder: &str) -> Result<()> {
        match self.call(folder, |files| files.call_method1("delete_folder", (folder,)).map(drop)) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}
