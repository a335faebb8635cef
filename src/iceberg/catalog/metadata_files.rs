//! Finding the newest metadata file of a table in a file system.
//!
//! Tables that are committed by renaming have `metadata/v<N>.metadata.json`. A hint, `metadata/version-hint.text`,
//! names a version near the newest. Tables of other catalogs have `metadata/<N>-<uuid>.metadata.json`. Only the catalog
//! knows which of those is current, so the highest number is used. Compressed files end in `.gz.metadata.json`, or in
//! `.metadata.json.gz` if an old writer wrote them.
//!
//! Source: Iceberg specification, "File System Tables" and "Metastore Tables"; names as in Java's Hadoop tables.

use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::iceberg::spec::metadata::{METADATA_FOLDER, TableMetadata};
use crate::iceberg::spec::metadata_json::parse_metadata;
use crate::store::location::join;
use crate::store::{FileInfo, Store, in_parallel};

/// The file that names the newest version, or a version near it.
pub const VERSION_HINT: &str = "version-hint.text";

/// The endings of a version's file name, in the order in which the Java implementation tries them.
const SUFFIXES: [&str; 3] = [".metadata.json", ".gz.metadata.json", ".metadata.json.gz"];

/// The longest hint that is read, in bytes.
const LONGEST_HINT: u64 = 1024;

/// The location of a table's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundMetadata {
    /// The metadata file.
    pub metadata_location: String,
    /// `N` of `v<N>.metadata.json`; none for files of other catalogs.
    pub version: Option<i32>,
}

/// The kind and number in a metadata file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    /// `v<N>`.
    Version(i32),
    /// `<N>-<uuid>`.
    Numbered(i32),
}

fn parse_name(name: &str) -> Option<Name> {
    let stem = SUFFIXES.iter().rev().find_map(|suffix| name.strip_suffix(suffix))?;
    if let Some(digits) = stem.strip_prefix('v') {
        let version: i32 = digits.parse().ok().filter(|v| *v >= 0)?;
        return (version.to_string() == digits).then_some(Name::Version(version));
    }
    let (digits, rest) = stem.split_once('-')?;
    let all_digits = digits.bytes().all(|b| b.is_ascii_digit());
    (all_digits && !rest.is_empty()).then(|| digits.parse().ok().map(Name::Numbered)).flatten()
}

/// The `N` of a path to `v<N>.metadata.json` or one of its compressed forms.
pub(super) fn version_of(path: &str) -> Option<i32> {
    match parse_name(file_name(path)) {
        Some(Name::Version(version)) => Some(version),
        _ => None,
    }
}

/// The number in the name of a metadata file of either kind.
pub(super) fn number_of(path: &str) -> Option<i32> {
    match parse_name(file_name(path))? {
        Name::Version(number) | Name::Numbered(number) => Some(number),
    }
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The names that a version may have in the folder, the plain one first.
pub(super) fn version_paths(folder: &str, version: i32) -> [String; 3] {
    SUFFIXES.map(|suffix| join(folder, &format!("v{version}{suffix}")))
}

/// Finds the file of a version under any of its names.
pub(super) fn find_version(store: &dyn Store, folder: &str, version: i32) -> Result<Option<String>> {
    first_there(store, version_paths(folder, version))
}

/// The first of these files that exists. Requests to a remote store run in parallel.
pub(super) fn first_there(store: &dyn Store, paths: impl IntoIterator<Item = String>) -> Result<Option<String>> {
    if store.is_remote() {
        let paths: Vec<String> = paths.into_iter().collect();
        let there = in_parallel(store, paths.len(), |i| store.exists(&paths[i]))?;
        return Ok(paths.into_iter().zip(there).find(|(_, there)| *there).map(|(path, _)| path));
    }
    for path in paths {
        if store.exists(&path)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Finds the newest metadata of the table at a root folder. If `location` is a metadata file itself (its name ends in
/// `.json` or `.gz`), returns that file.
///
/// A hint is ignored if it is missing, malformed, or names a missing file of another catalog. A stale hint is followed
/// to the newest version.
///
/// # Errors
/// `CorruptTable` if the hint names a version after the newest. `NotFound` if there is no table; the error's hint tells
/// what the location holds instead. `InvalidInput` for a file of another kind.
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
    let folder = join(location, METADATA_FOLDER);
    let metadata_location = match by_hint(store, &folder)? {
        Some(path) => path,
        None => by_listing(store, &folder)?.map_or_else(|| Err(no_table(store, location)), Ok)?,
    };
    Ok(found(metadata_location))
}

fn found(metadata_location: String) -> FoundMetadata {
    let version = match parse_name(file_name(&metadata_location)) {
        Some(Name::Version(version)) => Some(version),
        _ => None,
    };
    FoundMetadata { metadata_location, version }
}

/// Follows the hint. It holds a version number or, from some writers, a metadata file's name with or without its
/// ending.
fn by_hint(store: &dyn Store, folder: &str) -> Result<Option<String>> {
    let path = join(folder, VERSION_HINT);
    let found = match store.get_tail(&path, LONGEST_HINT) {
        // The store did not answer, so a hint may exist.
        Err(e) if store.is_remote() && e.kind() != ErrorKind::NotFound => return Err(e),
        found => found.ok(),
    };
    let sane = found.filter(|(_, size)| *size <= LONGEST_HINT);
    let Some(text) = sane.and_then(|(bytes, _)| String::from_utf8(bytes).ok()) else {
        return Ok(None);
    };
    let hint = text.trim();
    if let Some(version) = hint.parse::<i32>().ok().filter(|v| *v >= 0) {
        return match find_version(store, folder, version)? {
            Some(path) => newest_from(store, folder, version, path).map(Some),
            None => check_not_lost(store, folder, version).map(|()| None),
        };
    }
    if hint.is_empty() || hint.contains(['/', '\\', '\0']) {
        return Ok(None);
    }
    for name in [hint.to_owned(), format!("{hint}.metadata.json")] {
        let path = join(folder, &name);
        if parse_name(&name).is_some() && store.exists(&path)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Fails if the folder's newest version is older than the hint. The hinted version was published and is lost; opening
/// an older one would silently undo commits. Java fails as well. A folder without versions belongs to another catalog.
fn check_not_lost(store: &dyn Store, folder: &str, hinted: i32) -> Result<()> {
    let files = store.list(folder)?;
    match files.iter().filter_map(|f| version_of(&f.path)).max() {
        Some(newest) if newest < hinted => {
            let hint = join(folder, VERSION_HINT);
            Err(Error::corrupt(format!(
                "the metadata file of version {hinted} is missing; the newest version is {newest}"
            ))
            .with("path", join(folder, &format!("v{hinted}{}", SUFFIXES[0])))
            .hint(format!("Restore the file, or write {newest} into {hint} to go back to version {newest}")))
        }
        _ => Ok(()),
    }
}

/// Follows the versions upwards from an existing one to the last one before a gap.
fn newest_from(store: &dyn Store, folder: &str, mut version: i32, mut path: String) -> Result<String> {
    while let Some(next) = version.checked_add(1) {
        let Some(newer) = find_version(store, folder, next)? else { break };
        (version, path) = (next, newer);
    }
    Ok(path)
}

/// The highest `v<N>` of the folder; without one, the highest `<N>-<uuid>`.
fn by_listing(store: &dyn Store, folder: &str) -> Result<Option<String>> {
    let files = store.list(folder)?;
    let named: Vec<(Name, &FileInfo)> =
        files.iter().filter_map(|f| Some((parse_name(file_name(&f.path))?, f))).collect();
    let highest_version = named.iter().filter_map(|(n, _)| match n {
        Name::Version(v) => Some(*v),
        Name::Numbered(_) => None,
    });
    if let Some(version) = highest_version.max() {
        let Some(path) = find_version(store, folder, version)? else { return Ok(None) };
        return newest_from(store, folder, version, path).map(Some);
    }
    let highest = named.iter().filter_map(|(n, _)| match n {
        Name::Numbered(v) => Some(*v),
        Name::Version(_) => None,
    });
    let Some(highest) = highest.max() else { return Ok(None) };
    let mut best: Vec<&FileInfo> =
        named.iter().filter(|(n, _)| *n == Name::Numbered(highest)).map(|(_, f)| *f).collect();
    best.sort_by(|a, b| a.path.cmp(&b.path));
    if best.len() > 1 {
        // Concurrent writers of a catalog leave several files with the same number. The latest one is most likely
        // current.
        let updated = |f: &FileInfo| read_metadata(store, &f.path).map_or(i64::MIN, |m| m.last_updated_ms);
        best.sort_by_cached_key(|f| (updated(f), f.modified_ms));
    }
    Ok(best.last().map(|f| f.path.clone()))
}

/// The error for a location without metadata. Its hint tells what the location holds instead.
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
/// Errors of [`parse_metadata`] and [`Store::get`], with the path.
pub fn read_metadata(store: &dyn Store, path: &str) -> Result<TableMetadata> {
    parse_metadata(&store.get(path)?).with("path", path)
}

/// Finds and reads the newest metadata of a table.
///
/// # Errors
/// As [`find_metadata`] and [`read_metadata`].
pub fn load(store: &dyn Store, location: &str) -> Result<(TableMetadata, FoundMetadata)> {
    let found = find_metadata(store, location)?;
    let metadata = read_metadata(store, &found.metadata_location)?;
    Ok((metadata, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let cases = [
            ("v3.metadata.json", Some(Name::Version(3))),
            ("v12.gz.metadata.json", Some(Name::Version(12))),
            ("v12.metadata.json.gz", Some(Name::Version(12))),
            ("00004-9f.metadata.json", Some(Name::Numbered(4))),
            ("00004-9f.gz.metadata.json", Some(Name::Numbered(4))),
            ("v03.metadata.json", None),
            ("v-3.metadata.json", None),
            ("v+3.metadata.json", None),
            ("v99999999999.metadata.json", None),
            ("-9f.metadata.json", None),
            ("00004-.metadata.json", None),
            (".v3.metadata.json.crc", None),
            ("version-hint.text", None),
        ];
        for (name, want) in cases {
            assert_eq!(parse_name(name), want, "{name}");
        }
    }
}
