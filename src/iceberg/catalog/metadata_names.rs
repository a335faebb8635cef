//! Reads names of metadata files, and finds the files of a version.
//!
//! Source: names as in Java's Hadoop tables; Iceberg specification, "File System Tables" and "Metastore Tables".

use crate::error::{Result, ResultExt};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::metadata_json::parse_metadata;
use crate::store::location::join;
use crate::store::{Store, in_parallel};

/// The file that names the newest version, or a version near it.
pub(super) const VERSION_HINT: &str = "version-hint.text";

/// The endings of a version's file name, in the order in which the Java implementation tries them.
pub(super) const SUFFIXES: [&str; 3] = [".metadata.json", ".gz.metadata.json", ".metadata.json.gz"];

/// The longest hint that is read, in bytes.
pub(super) const LONGEST_HINT: u64 = 1024;

/// The kind and number in a metadata file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// `v<N>`.
    Version(u64),
    /// `<N>-<uuid>`.
    Numbered(u64),
}

/// Whether a path names the first metadata file of a table.
pub(in crate::iceberg) fn is_first_name(path: &str) -> bool {
    matches!(parse_name(file_name(path)), Some(Name::Version(1) | Name::Numbered(0)))
}

/// Reads the name of a metadata file. Returns `None` for other names and for numbers beyond 64 bits.
pub(super) fn parse_name(name: &str) -> Option<Name> {
    let stem = SUFFIXES.iter().rev().find_map(|suffix| name.strip_suffix(suffix))?;
    if let Some(digits) = stem.strip_prefix('v') {
        let version: u64 = digits.parse().ok()?;
        return (version.to_string() == digits).then_some(Name::Version(version));
    }
    let (digits, rest) = stem.split_once('-')?;
    let all_digits = digits.bytes().all(|b| b.is_ascii_digit());
    (all_digits && !rest.is_empty()).then(|| digits.parse().ok().map(Name::Numbered)).flatten()
}

/// The `N` of a path to `v<N>.metadata.json` or one of its compressed forms.
pub(super) fn version_of(path: &str) -> Option<u64> {
    match parse_name(file_name(path)) {
        Some(Name::Version(version)) => Some(version),
        _ => None,
    }
}

/// The number in the name of a metadata file of either kind.
pub(super) fn number_of(path: &str) -> Option<u64> {
    match parse_name(file_name(path))? {
        Name::Version(number) | Name::Numbered(number) => Some(number),
    }
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The names that a version may have in the folder, the plain one first.
pub(super) fn version_paths(folder: &str, version: u64) -> [String; 3] {
    SUFFIXES.map(|suffix| join(folder, &format!("v{version}{suffix}")))
}

/// Finds the file of a version under any of its names.
pub(super) fn find_version(store: &dyn Store, folder: &str, version: u64) -> Result<Option<String>> {
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

/// Reads a metadata file.
///
/// # Errors
/// Errors of [`parse_metadata`] and [`Store::get`], with the path.
pub(super) fn read_metadata(store: &dyn Store, path: &str) -> Result<TableMetadata> {
    parse_metadata(&store.get(path)?).with("path", path)
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
            ("v99999999999.metadata.json", Some(Name::Version(99_999_999_999))),
            ("v20240101120000.metadata.json", Some(Name::Version(20_240_101_120_000))),
            ("v18446744073709551615.metadata.json", Some(Name::Version(u64::MAX))),
            ("v18446744073709551616.metadata.json", None),
            ("18446744073709551616-9f.metadata.json", None),
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
