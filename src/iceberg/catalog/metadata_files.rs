//! Opens the metadata of a table in a file system. [`super::newest_metadata`] decides which file is current.
//!
//! Tables that are committed by renaming have `metadata/v<N>.metadata.json`. A hint, `metadata/version-hint.text`,
//! names a version near the newest. Tables of other catalogs have `metadata/<N>-<uuid>.metadata.json`.
//! `newest_metadata` decides which file is current. Compressed files end in `.gz.metadata.json`, or in
//! `.metadata.json.gz` if an old writer wrote them.
//!
//! Source: Iceberg specification, "File System Tables" and "Metastore Tables"; names as in Java's Hadoop tables.

use super::metadata_names::{Name, VERSION_HINT, file_name, parse_name, read_metadata};
use super::newest_metadata::{newest, newest_to_read};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::spec::metadata::{METADATA_FOLDER, TableMetadata};
use crate::store::location::join;
use crate::store::{Store, in_parallel};

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
    if let Some(file) = given_file(store, location)? {
        return Ok(file);
    }
    let current = newest(store, &join(location, METADATA_FOLDER));
    Ok(found(or_no_table(store, location, current)?))
}

/// The metadata file that the location itself is; `None` if it can only be a folder.
fn given_file(store: &dyn Store, location: &str) -> Result<Option<FoundMetadata>> {
    let may_be_metadata = may_be_metadata(location);
    if (!store.is_remote() || may_be_metadata) && matches!(store.exists(location), Ok(true)) {
        return match may_be_metadata {
            true => Ok(Some(found(location.to_owned()))),
            false => Err(other_file(location)),
        };
    }
    check_may_be_folder(location).map(|()| None)
}

/// Whether a location can be a metadata file, by its name.
fn may_be_metadata(location: &str) -> bool {
    location.ends_with(".json") || location.ends_with(".gz")
}

/// Checks that a location without a file can be a folder. No folder has the name of a metadata file.
fn check_may_be_folder(location: &str) -> Result<()> {
    match [".metadata.json", ".metadata.json.gz"].iter().any(|end| location.ends_with(end)) {
        true => Err(Error::not_found("there is no metadata file")
            .with("path", location)
            .hint("Check the path, or give the table's root folder")),
        false => Ok(()),
    }
}

/// The answer for a table's folder, or the error for a location without a table. A remote store is asked for a file of
/// this name only now, because most locations are folders.
fn or_no_table<T>(store: &dyn Store, location: &str, current: Result<Option<T>>) -> Result<T> {
    let error = match current {
        Ok(Some(current)) => return Ok(current),
        Ok(None) => None,
        Err(e) => Some(e),
    };
    let may_be_file = store.is_remote() && file_name(location).contains('.') && !may_be_metadata(location);
    if may_be_file && matches!(store.exists(location), Ok(true)) {
        return Err(other_file(location));
    }
    Err(error.unwrap_or_else(|| no_table(store, location)))
}

/// The error for a file that is not the metadata of a table.
fn other_file(location: &str) -> Error {
    Error::invalid("this file is neither a table nor table metadata")
        .with("path", location)
        .hint("Give the table's root folder or its metadata JSON file")
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
    let listed = in_parallel(store, 2, |i| match i {
        0 => Ok((store.list_folders(location).unwrap_or_default(), Vec::new())),
        _ => Ok((Vec::new(), store.list(location).unwrap_or_default())),
    });
    let (folders, files): (Vec<_>, Vec<_>) = listed.unwrap_or_default().into_iter().unzip();
    let (folders, files) = (folders.concat(), files.concat());
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
    match read_given_file(store, location)? {
        Some(read) => Ok(read),
        None => newest_in(store, location),
    }
}

/// Reads the metadata file that the location itself is; `None` if it can only be a folder.
fn read_given_file(store: &dyn Store, location: &str) -> Result<Option<(TableMetadata, FoundMetadata)>> {
    if !(store.is_remote() && may_be_metadata(location)) {
        let file = given_file(store, location)?;
        return file.map(|file| load_file(store, &file.metadata_location)).transpose();
    }
    // The answer tells whether the file exists.
    match load_file(store, location) {
        Err(e) if e.kind() == ErrorKind::NotFound => check_may_be_folder(location).map(|()| None),
        read => read.map(Some),
    }
}

/// Finds and reads the newest metadata in a table's folder.
fn newest_in(store: &dyn Store, location: &str) -> Result<(TableMetadata, FoundMetadata)> {
    let mut attempt = 0;
    loop {
        let current = newest_to_read(store, &join(location, METADATA_FOLDER));
        let current = or_no_table(store, location, current)?;
        let path = current.path.clone();
        match current.read(store) {
            // Commits that came meanwhile may have deleted the file.
            Err(e) if e.kind() == ErrorKind::NotFound && attempt < REREADS => attempt += 1,
            metadata => return Ok((metadata?, found(path))),
        }
    }
}
