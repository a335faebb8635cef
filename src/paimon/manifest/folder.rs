//! Reads a table's manifests, manifest lists and index manifests, from a cache if there is one.

use std::sync::Arc;

use crate::codec::avro::{ManifestCache, OpenFile};
use crate::error::{Error, Result};
use crate::paimon::spec::partition::manifest_path;
use crate::store::Store;

/// The folder of a table's manifests. None of its files ever changes, so those that were read may be kept.
#[derive(Clone, Copy, Debug)]
pub struct ManifestFolder<'m> {
    /// Where it is.
    pub store: &'m dyn Store,
    root: &'m str,
    kept: Option<&'m ManifestCache>,
}

impl<'m> ManifestFolder<'m> {
    /// The manifests of the table in a folder.
    pub fn new(store: &'m dyn Store, root: &'m str) -> ManifestFolder<'m> {
        ManifestFolder { store, root, kept: None }
    }

    /// The same folder with a cache of files. Callers that must notice a removed file can't use it.
    #[must_use]
    pub fn keeping(self, kept: &'m ManifestCache) -> ManifestFolder<'m> {
        ManifestFolder { kept: Some(kept), ..self }
    }

    /// The path of a file.
    ///
    /// # Errors
    /// As [`manifest_path`].
    pub fn path(&self, name: &str) -> Result<String> {
        manifest_path(self.root, name)
    }

    /// Reads a file, described by `what`. Returns the result of `read` for it.
    ///
    /// # Errors
    /// Those of the store and of `read`; `Unsupported` if it is ORC or Parquet, `CorruptTable` if it is not Avro; all
    /// name the file.
    pub fn read<T>(&self, what: &'static str, name: &str, read: impl FnOnce(&Arc<OpenFile>) -> Result<T>) -> Result<T> {
        let path = self.path(name)?;
        let load = || self.store.get(&path).and_then(check_format);
        let file = match self.kept {
            Some(kept) => kept.open(&path, load),
            None => load().and_then(OpenFile::parse).map(Arc::new),
        };
        file.and_then(|file| read(&file)).map_err(|e| self.unread(e, what, &path))
    }

    /// An error of a file, described by `what`. The next request loads the file again.
    fn unread(&self, e: Error, what: &'static str, path: &str) -> Error {
        self.kept.iter().for_each(|kept| kept.forget(path));
        e.with(what, path)
    }

    /// An error of a manifest that was read by parts.
    pub(crate) fn unread_manifest(&self, e: Error, name: &str) -> Error {
        match self.path(name) {
            Ok(path) => self.unread(e, "manifest", &path),
            Err(_) => e,
        }
    }
}

/// Refuses manifests of the other formats that `manifest.format` allows.
fn check_format(bytes: Vec<u8>) -> Result<Vec<u8>> {
    let format = match bytes.as_slice() {
        [b'O', b'R', b'C', ..] => "orc",
        [b'P', b'A', b'R', b'1', ..] => "parquet",
        _ => return Ok(bytes),
    };
    Err(Error::unsupported(format!("manifests in {format} files can't be read yet"))
        .with("option", "manifest.format")
        .hint(
            "Read the table with Java, or copy its rows to a table whose manifest.format is avro, which is the default",
        ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::store::local::LocalStore;

    #[test]
    fn other_formats_are_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("manifest")).unwrap();
        let root = dir.path().display().to_string();
        for (bytes, format) in [(&b"ORC\x11more"[..], "orc"), (b"PAR1more", "parquet")] {
            std::fs::write(dir.path().join("manifest/manifest-1"), bytes).unwrap();
            let kept = ManifestCache::default();
            let folder = ManifestFolder::new(&LocalStore, &root);
            for folder in [folder, folder.keeping(&kept)] {
                let e = folder.read("manifest", "manifest-1", |_| Ok(())).unwrap_err();
                assert_eq!(e.kind(), ErrorKind::Unsupported);
                let text = e.to_string();
                assert!(text.contains(format) && text.contains("manifest.format"), "{text}");
            }
        }
    }
}
