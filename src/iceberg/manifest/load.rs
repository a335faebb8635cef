//! The manifests of a snapshot: its manifest list, or the inline list of v1.

use super::columns::Manifest;
use super::list::ManifestFile;
use super::whole::decode_list_of;
use crate::error::{Result, ResultExt};
use crate::iceberg::spec::snapshot::Snapshot;
use crate::parallel::check_cancelled;
use crate::store::{Location, Store};

/// Loads the manifests of a snapshot from its manifest list, or from the inline list of v1.
///
/// # Errors
/// Errors of the store and of [`decode_list_of`], with the file; cancellation.
pub fn load_manifests(store: &dyn Store, location: &Location, snapshot: &Snapshot) -> Result<Vec<ManifestFile>> {
    if let Some(path) = &snapshot.manifest_list {
        let bytes = store.get(&location.resolve(path)?).map_err(|e| location.explain(e))?;
        return decode_list_of(&bytes, snapshot).with("path", location.found(path));
    }
    let paths = snapshot.manifests.iter().flatten();
    let opened = paths.map(|path| check_cancelled().and_then(|()| inline_manifest(store, location, path, snapshot.id)));
    opened.collect()
}

/// The entry of a manifest that v1 lists inline. Only its spec and length are known.
fn inline_manifest(store: &dyn Store, location: &Location, path: &str, snapshot_id: i64) -> Result<ManifestFile> {
    let bytes = store.get(&location.resolve(path)?).map_err(|e| location.explain(e))?;
    let manifest = Manifest::parse(&bytes).with("path", location.found(path))?;
    Ok(ManifestFile {
        path: path.to_owned(),
        length_bytes: bytes.len() as i64,
        spec_id: manifest.spec_id.unwrap_or(0),
        added_snapshot_id: Some(snapshot_id),
        ..ManifestFile::default()
    })
}
