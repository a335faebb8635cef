//! Recorded paths of tables, and the real locations of the files.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use crate::error::{Error, ErrorKind, Result};

/// Whether a scheme is that of local files. Schemes have no case (RFC 3986, 3.1).
pub fn is_file(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("file")
}

/// The scheme of a URI (`s3` of `s3://b/k`) as it is written, or `None` for a plain path.
pub fn scheme(location: &str) -> Option<&str> {
    let (scheme, _) = location.split_once(':')?;
    let ok = scheme.len() > 1
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
        && scheme.as_bytes()[0].is_ascii_alphabetic();
    ok.then_some(scheme)
}

/// The authority and the path of a URI: `b` and `/k` of `s3://b/k`. `None` for plain paths, and without `//`.
pub fn authority_and_path(location: &str) -> Option<(&str, &str)> {
    let rest = location[scheme(location)?.len()..].strip_prefix("://")?;
    Some(rest.split_at(rest.find('/').unwrap_or(rest.len())))
}

/// A location without the slashes at its end. Those of a location that is only a scheme belong to it.
pub fn without_slashes(location: &str) -> &str {
    let mut out = location;
    while let Some(shorter) = out.strip_suffix('/').filter(|_| !out.ends_with("://")) {
        out = shorter;
    }
    out
}

/// Whether a path begins with a Windows drive: `C:/a`, `C:\a` and `C:`, but not `C:a`, which is relative.
fn has_drive(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.len() > 1
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes.get(2), None | Some(b'/' | b'\\'))
}

/// The one spelling of a local path on Windows: slashes, a large letter for the drive, and no slash before it. `None`
/// for a path that has this spelling. A folder of another machine keeps its two slashes: `//server/share/a`.
fn windows_spelling(path: &str) -> Option<String> {
    let slashes = path.replace('\\', "/");
    let plain = match slashes.strip_prefix("//?/") {
        Some(verbatim) => verbatim.strip_prefix("UNC/").map_or(verbatim.to_owned(), |share| format!("//{share}")),
        None => slashes,
    };
    let drive = Some(plain.trim_start_matches('/')).filter(|path| has_drive(path));
    let out = drive.map_or(plain.clone(), |path| path[..1].to_ascii_uppercase() + &path[1..]);
    (out != path).then_some(out)
}

/// A local path in the one spelling of this system. Elsewhere than on Windows a path has only one.
pub(super) fn local_spelling(path: &str) -> Cow<'_, str> {
    match cfg!(windows).then(|| windows_spelling(path)).flatten() {
        Some(other) => Cow::Owned(other),
        None => Cow::Borrowed(path),
    }
}

/// Whether a plain path is absolute: it begins with a slash, or on Windows with a drive.
pub(crate) fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || (cfg!(windows) && (has_drive(path) || path.starts_with('\\')))
}

/// The local path of a plain path or a `file:` URI (`file:/a`, `file:///a`, on Windows `file:///C:/a`). Nothing is
/// percent-decoded: Java records file names as they are.
///
/// # Errors
/// `InvalidInput` for another scheme, a remote host or a NUL byte.
pub fn local_path(location: &str) -> Result<PathBuf> {
    if location.contains('\0') {
        return Err(Error::invalid("a path contains a NUL byte").with("path", location.escape_debug()));
    }
    match scheme(location) {
        None => Ok(PathBuf::from(&*local_spelling(location))),
        Some(scheme) if is_file(scheme) => {
            let path = match authority_and_path(location) {
                None => &location["file:".len()..],
                Some(("" | "localhost", path)) => path,
                Some((host, _)) => {
                    return Err(
                        Error::invalid(format!("the file URI names another host, '{host}'")).with("path", location)
                    );
                }
            };
            Ok(PathBuf::from(&*local_spelling(path)))
        }
        Some(other) => Err(Error::invalid(format!("'{other}' is not a local scheme")).with("path", location)),
    }
}

/// Makes a plain relative path absolute, so that it means the same in other processes. Leaves other paths unchanged,
/// except for Windows' spelling.
///
/// # Errors
/// `InvalidInput` for an empty path; `Store` if the working directory no longer exists.
pub fn absolute(location: &str) -> Result<String> {
    if location.is_empty() {
        return Err(Error::invalid("a location is empty"));
    }
    if scheme(location).is_some() {
        return Ok(location.to_owned());
    }
    if is_absolute(location) {
        return Ok(local_spelling(location).into_owned());
    }
    let path =
        std::path::absolute(location).map_err(|e| Error::store("the working directory does not exist").because(e))?;
    path.into_os_string()
        .into_string()
        .map(|path| local_spelling(&path).into_owned())
        .map_err(|p| Error::invalid("the working directory's path is not UTF-8").with("path", p.display()))
}

/// `base` and `name` joined by one slash.
pub fn join(base: &str, name: &str) -> String {
    format!("{}/{name}", base.trim_end_matches('/'))
}

/// One spelling for each place. Local paths lose their `file:` scheme, and on Windows get slashes. Object stores get
/// one scheme of those they share (`s3` for `s3a` and `s3n`). Double and trailing slashes at the ends are removed.
pub fn normalise(location: &str) -> String {
    normalised(location).into_owned()
}

/// Like [`normalise`], but without a copy if the path needs no change.
pub fn normalised(location: &str) -> Cow<'_, str> {
    if scheme(location).is_some_and(is_file) {
        let rest = &location["file:".len()..];
        let path = rest.strip_prefix("//localhost/").unwrap_or(rest);
        let path = path.trim_start_matches('/').trim_end_matches('/');
        return Cow::Owned(local_spelling(&format!("/{path}")).into_owned());
    }
    if let Some(scheme) = scheme(location) {
        return Cow::Owned(normalised_object(scheme, location));
    }
    match local_spelling(location) {
        Cow::Owned(other) => Cow::Owned(other.trim_end_matches('/').to_owned()),
        Cow::Borrowed(_) => match location.trim_end_matches('/') {
            "" => Cow::Borrowed(location),
            trimmed => Cow::Borrowed(trimmed),
        },
    }
}

/// The same for a URI with another scheme. Azure's containers have a name for each of its two protocols.
fn normalised_object(scheme: &str, location: &str) -> String {
    let rest = location[scheme.len()..].trim_end_matches('/');
    match scheme.to_ascii_lowercase().as_str() {
        "s3a" | "s3n" => format!("s3{rest}"),
        "gcs" => format!("gs{rest}"),
        "abfss" | "abfs" | "wasb" | "wasbs" => {
            let (authority, path) = authority_and_path(location).unwrap_or((rest, ""));
            format!("abfss://{}{}", authority.replace(".blob.", ".dfs."), path.trim_end_matches('/'))
        }
        scheme => format!("{scheme}{rest}"),
    }
}

/// A copied table. Paths that its metadata records below `from` are read below `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The recorded location, normalised.
    pub from: String,
    /// The location of the copy.
    pub to: String,
}

/// Translates recorded paths to real ones. Cheap to clone; sent along with tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// Set for a table opened with `moved=True`.
    pub relocation: Option<Relocation>,
}

impl Location {
    /// The recorded paths are the real ones.
    pub fn recorded() -> Self {
        Location::default()
    }

    /// Replaces the folder `from` by `to`.
    pub fn moved(from: &str, to: &str) -> Self {
        Location { relocation: Some(Relocation { from: normalise(from), to: normalise(to) }) }
    }

    /// The real path of a recorded one.
    ///
    /// # Errors
    /// `InvalidInput` if a moved table's path is not below its recorded location, or leaves it with `..`.
    pub fn resolve(&self, recorded: &str) -> Result<String> {
        let Some(Relocation { from, to }) = &self.relocation else { return Ok(recorded.to_owned()) };
        let path = normalise(recorded);
        let rest = below(&path, from).ok_or_else(|| {
            Error::invalid(format!("a file of the moved table is not below its recorded location {from}"))
                .with("path", recorded)
                .hint("Open the table where it was written, or rewrite its metadata")
        })?;
        if rest.split('/').any(|part| part == "..") {
            return Err(Error::invalid("a path of the moved table leaves it with '..'").with("path", recorded));
        }
        Ok(format!("{to}{rest}"))
    }

    /// Adapts an error about a file that the table's metadata names. If it is missing, the table may have moved.
    pub fn explain(&self, error: Error) -> Error {
        match &self.relocation {
            _ if error.kind() != ErrorKind::NotFound => error,
            Some(Relocation { to, .. }) => error.advise(format!("Check that {to} is a whole copy of the table")),
            None => error.advise(
                "Check the path; if the table was copied, open it with moved=True; an old version may have expired",
            ),
        }
    }

    /// The path to name in errors: the place where a recorded file is looked for.
    pub fn found<'a>(&'a self, recorded: &'a str) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| f.write_str(self.resolve(recorded).as_deref().unwrap_or(recorded)))
    }
}

/// The part of a path behind a folder, with a slash at its start. Engines spell one place in several ways: with `./` or
/// double slashes, and without the scheme or the authority that the table's location has.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let ((place, mut rest), (folder_place, folder)) = (divided(path), divided(folder));
    if let (Some(a), Some(b)) = (place, folder_place)
        && a != b
    {
        return None;
    }
    for wanted in steps(folder) {
        let (step, behind) = next_step(rest)?;
        if step != wanted {
            return None;
        }
        rest = behind;
    }
    (rest.starts_with('/') && next_step(rest).is_some()).then_some(rest)
}

/// A location as scheme with authority (`None` if it has no authority), and path.
fn divided(location: &str) -> (Option<&str>, &str) {
    let Some(scheme) = scheme(location) else { return (None, location) };
    let Some((authority, path)) = authority_and_path(location) else { return (None, &location[scheme.len() + 1..]) };
    let place = &location[..location.len() - path.len()];
    ((!authority.is_empty()).then_some(place), path)
}

/// The first name of a path, and what is behind it.
fn next_step(mut path: &str) -> Option<(&str, &str)> {
    loop {
        path = path.trim_start_matches('/');
        let (step, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
        match step {
            "" => return None,
            "." => path = rest,
            step => return Some((step, rest)),
        }
    }
}

fn steps(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = path;
    std::iter::from_fn(move || {
        let (step, behind) = next_step(rest)?;
        rest = behind;
        Some(step)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_uris_and_plain_paths_are_the_same_place() {
        for l in ["/a/b", "file:/a/b", "file:///a/b", "file://localhost/a/b", "FILE:/a/b", "File:///a/b"] {
            assert_eq!(local_path(l).unwrap(), PathBuf::from("/a/b"));
        }
        for l in ["/a/b/", "file:/a/b", "file:///a/b", "FILE:/a/b", "File://localhost/a/b"] {
            assert_eq!(normalise(l), "/a/b");
        }
        for l in ["s3://b/k", "s3a://b/k/", "s3n://b/k//", "S3://b/k", "S3A://b/k"] {
            assert_eq!(normalise(l), "s3://b/k");
        }
        for l in ["abfs://c@a.dfs.core.windows.net/k", "wasbs://c@a.blob.core.windows.net/k/"] {
            assert_eq!(normalise(l), "abfss://c@a.dfs.core.windows.net/k");
        }
        assert_eq!(normalise("abfss://c@a.dfs.core.windows.net"), "abfss://c@a.dfs.core.windows.net");
        assert_eq!((normalise("gcs://b/k"), normalise("hdfs://h/k/")), ("gs://b/k".into(), "hdfs://h/k".into()));
        assert_eq!(scheme("C:/x"), None);
        assert_eq!(scheme("s3://b/k"), Some("s3"));
        assert!(local_path("file://elsewhere/a").is_err());
    }

    #[test]
    fn windows_paths_have_one_spelling() {
        let same = [
            ("C:\\lake\\t", "C:/lake/t"),
            ("c:/lake/t", "C:/lake/t"),
            ("C:\\lake/t/data\\x.parquet", "C:/lake/t/data/x.parquet"),
            // What remains of file:///c:/lake and of file:/C:/lake.
            ("/c:/lake", "C:/lake"),
            ("///C:/lake", "C:/lake"),
            ("\\\\?\\C:\\lake", "C:/lake"),
            ("\\\\?\\UNC\\server\\share\\t", "//server/share/t"),
            ("\\\\server\\share\\t", "//server/share/t"),
            ("c:", "C:"),
        ];
        for (path, wanted) in same {
            assert_eq!(windows_spelling(path).as_deref(), Some(wanted), "{path}");
        }
        for path in ["C:/lake/t", "//server/share/t", "lake/t", "/lake/c:/t", "", "/", "cd:/x", "C:x"] {
            assert_eq!(windows_spelling(path), None, "{path}");
        }
        for (path, drive) in
            [("C:/a", true), ("z:\\a", true), ("C:", true), ("C:a", false), ("1:/a", false), ("é:/", false)]
        {
            assert_eq!(has_drive(path), drive, "{path}");
        }
    }

    /// A backslash and a colon are letters of names elsewhere.
    #[cfg(not(windows))]
    #[test]
    fn other_systems_take_windows_paths_as_names() {
        assert_eq!(normalise("file:///c:/a\\b"), "/c:/a\\b");
        assert_eq!(local_path("C:\\a").unwrap(), PathBuf::from("C:\\a"));
        assert!(is_absolute("/a") && !is_absolute("C:/a") && !is_absolute("\\a"));
    }

    #[cfg(windows)]
    #[test]
    fn drives_and_their_uris_are_the_same_place() {
        for l in ["C:\\a\\b", "c:/a/b", "file:/C:/a/b", "file:///c:/a/b", "file://localhost/C:/a/b/"] {
            assert_eq!(normalise(l), "C:/a/b");
            assert_eq!(local_path(l.trim_end_matches('/')).unwrap(), PathBuf::from("C:/a/b"));
        }
        assert!(is_absolute("C:/a") && is_absolute("c:\\a") && !is_absolute("C:a") && !is_absolute("a/b"));
        assert_eq!(absolute("c:\\a").unwrap(), "C:/a");
        assert_eq!(absolute("a\\b").unwrap(), absolute("a/b").unwrap());
    }

    #[test]
    fn relative_paths_become_absolute() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(absolute("lake").unwrap(), here.join("lake").display().to_string());
        assert_eq!(absolute("/a/b").unwrap(), "/a/b");
        assert_eq!(absolute("s3://b/k").unwrap(), "s3://b/k");
        assert!(absolute("").is_err());
    }

    #[test]
    fn moved_tables_stay_inside() {
        let l = Location::moved("file:///wh/t", "/copy/t/");
        assert_eq!(l.resolve("/wh/t/data/x").unwrap(), "/copy/t/data/x");
        assert_eq!(l.resolve("file:/wh/t/data/x").unwrap(), "/copy/t/data/x");
        let error = || Error::not_found("gone").hint("Check the path");
        assert_eq!(l.explain(error()).hint_text(), Some("Check that /copy/t is a whole copy of the table"));
        let of_recorded = Location::recorded().explain(error());
        assert!(of_recorded.hint_text().is_some_and(|hint| hint.contains("moved=True")));
        let other = Location::recorded().explain(Error::store("down"));
        assert_eq!(other.hint_text(), None);
        assert!(l.resolve("/wh/t2/data/x").is_err());
        assert!(l.resolve("/wh/t").is_err() && l.resolve("/wh/t/").is_err());
        assert!(l.resolve("/wh/t/../../etc/passwd").is_err());
    }

    /// DuckDB's demonstration table: the location `./lineitem_iceberg`, and files `lineitem_iceberg/...`.
    #[test]
    fn a_moved_table_is_spelt_in_any_way() {
        let cases = [
            ("s3a://b/t", "s3://b/t/data/x"),
            ("./lineitem", "lineitem/data/x"),
            ("lineitem", "./lineitem/data/x"),
            ("lake/./t/", "lake//t/data/x"),
            ("s3://b//t", "s3://b/t/data/x"),
            ("s3://b/t", "s3://b///t/data/x"),
            ("hdfs://nn/x/t", "/x/t/data/x"),
            ("/x/t", "hdfs://nn:8020/x/t/data/x"),
            ("hdfs:///x/t", "hdfs://nn/x/t/data/x"),
            ("file:/x/t", "file:///x/t/data/x"),
            ("viewfs:/x/t", "/x/t/data/x"),
        ];
        for (location, path) in cases {
            let moved = Location::moved(location, "/copy/t");
            assert_eq!(moved.resolve(path).unwrap(), "/copy/t/data/x", "{location} {path}");
        }
        // Doubled slashes below the table are part of an object's key.
        let l = Location::moved("s3://b//t", "s3://c/t");
        assert_eq!(l.resolve("s3://b/t/data//x").unwrap(), "s3://c/t/data//x");
        for (location, path) in [
            ("s3://b/t", "s3://c/t/data/x"),
            ("s3://b/t", "gs://b/t/data/x"),
            ("hdfs://nn/x/t", "hdfs://other/x/t/data/x"),
            ("lineitem", "/lake/lineitem/data/x"),
            ("./t", "t2/data/x"),
            ("./t", "./t/../data/x"),
            ("t", ""),
        ] {
            assert!(Location::moved(location, "/copy/t").resolve(path).is_err(), "{location} {path}");
        }
    }
}
