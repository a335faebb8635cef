//! Opens the metadata of a table in a file system. [`super::newest_metadata`] decides which file is current.
//!
//! Tables that are committed by renaming have `metadata/v<N>.metadata.json`. A hint, `metadata/version-hint.text`,
//! names a version near the newest. Tables of other catalogs have `metadata/<N>-<uuid>.metadata.json`.
//! `newest_metadata` decides which file is current. Compressed files end in `.gz.metadata.json`, or in
//! `.metadata.json.gz` if an old writer wrote them.
//!
//! Source: Iceberg specification, "File System Tables" and "Metastore Tables"; names as in Java's Hadoop tables.

use super::metadata_names::{Name, VERSION_HINT, file_name, parse_name, read_metadata};
use super::newest_metadata::newest;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::spec::metadata::{METADATA_FOLDER, TableMetadata};
use crate::store::Store;
use crate::store::location::join;

/// How often the newest version is looked up again after its file was deleted meanwhile.
const REREADS: usize = 2;

/// The location of a table's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundMetadata {
    /// The metadata file.
    pub metadata_location: String,
    /// `N` of `v<N>.metadata.json`; none for files of other catalogs.
    pub version: Option<u64>,
}

/// Finds the newest metadata of the table at a root folder. If `location` is a metadata file itself (its name ends in
/// `.json` or `.gz`), returns that file.
///
/// The listing of the folder decides. A hint that is missing, malformed or stale changes nothing.
///
/// # Errors
/// `CorruptTable` if the hint names a version after the newest. Also if the folder holds two tables and their times do
/// not tell which one is current. `NotFound` if there is no table. The error's hint describes the contents of the
/// location. `InvalidInput` for a file of another kind.
pub fn find_metadata(store: &dyn Store, location: &str) -> Result<FoundMetadata> {
    let name = file_name(location);
    // Skip the request if the name shows that the location is a folder.
    let may_be_file = !store.is_remote() || name.contains('.');
    if may_be_file && matches!(store.exists(location), Ok(true)) {
        if !(name.ends_with(".json") || name.ends_with(".gz")) {
            return Err(Error::invalid("this file is neither a table nor table metadata")
                .with("path", location)
                .hint("Give the table's root folder or its metadata JSON file"));
        }
        return Ok(found(location.to_owned()));
    }
    // No folder has the name of a metadata file.
    if [".metadata.json", ".metadata.json.gz"].iter().any(|end| name.ends_with(end)) {
        let error = Error::not_found("there is no metadata file").with("path", location);
        return Err(error.hint("Check the path, or give the table's root folder"));
    }
    newest(store, &join(location, METADATA_FOLDER))?.map(found).ok_or_else(|| no_table(store, location))
}

/// The metadata file with the highest number in a table's folder, without a look into it. For tables whose metadata are
/// damaged.
///
/// # Errors
/// Errors of the store.
pub(crate) fn highest_named(store: &dyn Store, location: &str) -> Result<Option<String>> {
    Ok(numbered_files(store, location)?.into_iter().next())
}

/// All metadata files with a number, the highest first.
///
/// # Errors
/// Errors of listing the folder.
pub(crate) fn numbered_files(store: &dyn Store, location: &str) -> Result<Vec<String>> {
    let folder = join(location, METADATA_FOLDER);
    let names = store.list_names(&folder)?;
    let number = |name: &String| match parse_name(name) {
        Some(Name::Version(n) | Name::Numbered(n)) => Some(n),
        None => None,
    };
    let mut numbered: Vec<_> = names.iter().filter_map(|name| Some((number(name)?, name))).collect();
    numbered.sort_unstable_by(|a, b| b.cmp(a));
    Ok(numbered.into_iter().map(|(_, name)| join(&folder, name)).collect())
}

fn found(metadata_location: String) -> FoundMetadata {
    let version = match parse_name(file_name(&metadata_location)) {
        Some(Name::Version(version)) => Some(version),
        _ => None,
    };
    FoundMetadata { metadata_location, version }
}

/// The error for a location without metadata. Its hint describes the contents of the location.
fn no_table(store: &dyn Store, location: &str) -> Error {
    let error = Error::not_found("there is no table").with("path", location);
    let folders = store.list_folders(location).unwrap_or_default();
    let files = store.list(location).unwrap_or_default();
    let has = |name: &str| folders.iter().any(|f| f == name);
    let ends = |suffix: &str| files.iter().any(|f| f.path.ends_with(suffix));
    error.hint(if has(METADATA_FOLDER) {
        "Its metadata folder holds no v<N>.metadata.json or <N>-<uuid>.metadata.json; give the metadata file itself \
         if it has another name"
    } else if has("snapshot") && has("schema") {
        "It looks like a Paimon table (it has the folders snapshot and schema)"
    } else if has("_delta_log") {
        "It looks like a Delta Lake table (it has the folder _delta_log)"
    } else if ends(".metadata.json") || files.iter().any(|f| file_name(&f.path) == VERSION_HINT) {
        "This is a table's metadata folder; give the folder above it"
    } else if ends(".parquet") {
        "The folder holds plain Parquet files without table metadata"
    } else if folders.is_empty() && files.is_empty() {
        "There is no such folder, or it is empty; check the path"
    } else {
        "The folder holds neither Iceberg's metadata nor Paimon's schemas; check the path"
    })
}

/// Reads a metadata file.
///
/// # Errors
/// `NotFound` if it does not exist; as [`read_metadata`].
pub(in crate::iceberg) fn load_file(store: &dyn Store, path: &str) -> Result<(TableMetadata, FoundMetadata)> {
    Ok((read_metadata(store, path)?, found(path.to_owned())))
}

/// Finds and reads the newest metadata of a table.
///
/// # Errors
/// As [`find_metadata`] and [`read_metadata`].
pub fn load(store: &dyn Store, location: &str) -> Result<(TableMetadata, FoundMetadata)> {
    let mut attempt = 0;
    loop {
        let found = find_metadata(store, location)?;
        match read_metadata(store, &found.metadata_location) {
            // Commits that came meanwhile may have deleted the file.
            Err(e) if e.kind() == ErrorKind::NotFound && attempt < REREADS && found.metadata_location != location => {
                attempt += 1;
            }
            metadata => return Ok((metadata?, found)),
        }
    }
}
