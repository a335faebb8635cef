//! Finds the current metadata file of a folder.
//!
//! A folder may hold two lines of files: `v<N>`, which commits to the folder make, and `<N>-<uuid>`, which catalogs
//! make. The numbers of the two lines say nothing about each other. A folder may also hold files of a dropped table.
//! So a few files are compared by their content: the last of each line, the hinted one, and one that was written after
//! the last.
//!
//! - Within a line of one table the highest number is current. The hint only decides between equal numbers.
//! - Between two lines of one table the later one is current. This is the one whose log names the other, else the one
//!   with the higher sequence number, else the one that was updated later.
//! - A hint that names the last file of the only line settles the matter at once. A local store then looks at no other
//!   file, so that opening a table with a long history stays fast.
//! - Of two tables (`table-uuid`) the later one is current if it began after the last update of the other.
//!   Otherwise the error names both.

use std::collections::BTreeMap;

use super::metadata_names::{
    LONGEST_HINT, Name, SUFFIXES, VERSION_HINT, file_name, find_version, parse_name, read_metadata,
};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::metadata_json::parse_metadata;
use crate::iceberg::spec::snapshot::MetadataLogEntry;
use crate::store::location::join;
use crate::store::{Fetching, FileInfo, Store, in_parallel};
use crate::types::temporal::format_instant;

/// Finds the current metadata file of a metadata folder. Returns `None` for a folder without metadata files.
///
/// # Errors
/// `CorruptTable` if the hint names a later version than the folder has. Also if the folder holds two tables or two
/// histories of one, and nothing tells which is current. Errors of the store and of reading metadata.
pub(super) fn newest(store: &dyn Store, folder: &str) -> Result<Option<String>> {
    Ok(search(store, folder, SearchGoal::Path)?.map(|newest| newest.path))
}

/// As [`newest`], for callers that read the file. A remote store is asked for the hinted file as soon as the hint is
/// known, without waiting for the listing.
///
/// # Errors
/// As [`newest`].
pub(super) fn newest_to_read(store: &dyn Store, folder: &str) -> Result<Option<Newest>> {
    search(store, folder, SearchGoal::Content)
}

/// The current metadata file of a folder.
pub(super) struct Newest {
    /// Its path.
    pub(super) path: String,
    content: Content,
}

impl Newest {
    /// The metadata. Makes no request if the search has read the file.
    ///
    /// # Errors
    /// As [`read_metadata`].
    pub(super) fn read(self, store: &dyn Store) -> Result<TableMetadata> {
        match self.content {
            Content::Unread => read_metadata(store, &self.path),
            Content::Read(metadata) => Ok(*metadata),
            Content::Requested(request) => read_requested(store, &self.path, request),
        }
    }
}

/// What the search knows about the content of a file.
enum Content {
    Unread,
    /// The search compared it with others.
    Read(Box<TableMetadata>),
    /// The file is on its way.
    Requested(Box<dyn Fetching>),
}

/// Reads a metadata file that is on its way.
fn read_requested(store: &dyn Store, path: &str, request: Box<dyn Fetching>) -> Result<TableMetadata> {
    match request.finish() {
        // The file may have been published after the request.
        Err(e) if e.kind() == ErrorKind::NotFound => read_metadata(store, path),
        answer => match answer?.pop() {
            Some(bytes) => parse_metadata(&bytes).with("path", path),
            None => read_metadata(store, path),
        },
    }
}

/// What a file tells that is compared with others. One that is damaged or was deleted decides nothing. Any other error
/// ends the search, because the file may be the current one.
fn compared(read: Result<TableMetadata>) -> Result<Option<TableMetadata>> {
    use ErrorKind::{CorruptTable, InvalidInput, NotFound, Unsupported};
    match read {
        Err(e) if !matches!(e.kind(), CorruptTable | InvalidInput | NotFound | Unsupported) => Err(e),
        read => Ok(read.ok()),
    }
}

/// What a caller wants of the current file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchGoal {
    Path,
    Content,
}

fn search(store: &dyn Store, folder: &str, goal: SearchGoal) -> Result<Option<Newest>> {
    let FirstAnswers { hint, files, hinted } = match store.is_remote() {
        true => match first_answers(store, folder, goal)? {
            // A version that was published between the two answers is not lost.
            answers if answers.hint.as_ref().is_some_and(|hint| hint.is_after(&answers.files)) => {
                FirstAnswers { files: store.list(folder)?, ..answers }
            }
            answers => answers,
        },
        false => {
            let hint = read_hint(store, folder)?;
            if let Some(path) = hinted_last(store, folder, hint.as_ref())? {
                return Ok(Some(Newest { path, content: Content::Unread }));
            }
            FirstAnswers { hint, files: store.list(folder)?, hinted: None }
        }
    };
    let mut choice = Choice { store, folder, hint, hinted, metadata: BTreeMap::new() };
    let named: Vec<Named> = files.iter().filter_map(Named::of).collect();
    let tops = choice.tops(&named)?;
    if tops.is_empty() {
        return Ok(None);
    }
    let current = choice.current(&named, tops)?;
    choice.check_not_lost(&named, &current)?;
    Ok(Some(choice.into_newest(current)))
}

/// A metadata file in the listing of the folder.
#[derive(Clone, Debug)]
struct Named {
    name: Name,
    path: String,
    modified_ms: i64,
}

impl Named {
    fn of(file: &FileInfo) -> Option<Named> {
        let name = parse_name(file_name(&file.path))?;
        Some(Named { name, path: file.path.clone(), modified_ms: file.modified_ms })
    }
}

/// The version that the hint names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Hint {
    /// A number, `v<N>`, or the file name of a version.
    Version(u64),
    /// The name of a file of a catalog, without its ending.
    File(u64, String),
}

impl Hint {
    /// Reads a hint. Some writers put a byte-order mark before it, or name the whole path.
    fn parse(bytes: &[u8]) -> Option<Hint> {
        let text = std::str::from_utf8(bytes).ok()?.trim_start_matches('\u{feff}').trim();
        if let Ok(version) = text.parse::<u64>() {
            return Some(Hint::Version(version));
        }
        let name = file_name(text);
        let stem = SUFFIXES.iter().rev().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        match parse_name(&format!("{stem}{}", SUFFIXES[0]))? {
            Name::Version(version) => Some(Hint::Version(version)),
            Name::Numbered(number) => Some(Hint::File(number, stem.to_owned())),
        }
    }

    /// Whether all listed files of its line are older than the hinted one.
    fn is_after(&self, files: &[FileInfo]) -> bool {
        let reaches_it = |name: Name| match (self, name) {
            (Hint::Version(hinted), Name::Version(number)) | (Hint::File(hinted, _), Name::Numbered(number)) => {
                number >= *hinted
            }
            _ => false,
        };
        !files.iter().filter_map(Named::of).any(|file| reaches_it(file.name))
    }

    /// The path that the hinted file usually has.
    fn usual_path(&self, folder: &str) -> String {
        let stem = match self {
            Hint::Version(version) => format!("v{version}"),
            Hint::File(_, stem) => stem.clone(),
        };
        join(folder, &format!("{stem}{}", SUFFIXES[0]))
    }

    fn names(&self, file: &Named) -> bool {
        match (self, file.name) {
            (Hint::Version(hinted), Name::Version(version)) => *hinted == version,
            (Hint::File(_, stem), Name::Numbered(_)) => {
                file_name(&file.path).strip_prefix(stem).is_some_and(|rest| SUFFIXES.contains(&rest))
            }
            _ => false,
        }
    }
}

/// Reads the version hint, if there is a usable one.
fn read_hint(store: &dyn Store, folder: &str) -> Result<Option<Hint>> {
    match store.get_at_most(&join(folder, VERSION_HINT), LONGEST_HINT) {
        // The store did not answer, so a hint may exist. A file that is too long is not a hint.
        Err(e) if store.is_remote() && !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::CorruptTable) => Err(e),
        found => Ok(found.ok().and_then(|bytes| Hint::parse(&bytes))),
    }
}

/// The last version of a local folder, if the hint names it and the folder has no files of catalogs. Commits to the
/// folder write the hint after the version, so no other table can have continued this line.
fn hinted_last(store: &dyn Store, folder: &str, hint: Option<&Hint>) -> Result<Option<String>> {
    let Some(Hint::Version(hinted)) = hint else { return Ok(None) };
    let (mut named, mut last) = (Vec::new(), None);
    for file in store.list_names(folder)? {
        match parse_name(&file) {
            Some(Name::Numbered(_)) => return Ok(None),
            Some(name @ Name::Version(version)) => {
                last = last.max(Some(version));
                if version == *hinted {
                    named.push(Named { name, path: join(folder, &file), modified_ms: 0 });
                }
            }
            None => {}
        }
    }
    match named.first().filter(|_| last == Some(*hinted)) {
        Some(top) => last_version(store, folder, &named, top).map(|found| Some(found.path)),
        None => Ok(None),
    }
}

/// What a remote store says first.
#[derive(Default)]
struct FirstAnswers {
    hint: Option<Hint>,
    files: Vec<FileInfo>,
    /// The request for the hinted file, and its path.
    hinted: Option<(String, Box<dyn Fetching>)>,
}

/// Reads the hint and lists the folder of a remote store at once.
fn first_answers(store: &dyn Store, folder: &str, goal: SearchGoal) -> Result<FirstAnswers> {
    let mut both = in_parallel(store, 2, |i| match i {
        0 => {
            let hint = read_hint(store, folder)?;
            // A listing takes longer than other requests, and a long one takes several.
            let path = hint.as_ref().filter(|_| goal == SearchGoal::Content).map(|hint| hint.usual_path(folder));
            let hinted = path.and_then(|path| store.fetch_whole_ahead(&path).map(|request| (path, request)));
            Ok(FirstAnswers { hint, hinted, files: Vec::new() })
        }
        _ => Ok(FirstAnswers { files: store.list(folder)?, ..FirstAnswers::default() }),
    })?;
    let files = both.pop().map(|listed| listed.files).unwrap_or_default();
    Ok(FirstAnswers { files, ..both.pop().unwrap_or_default() })
}

/// The search in one folder, with the files that were read to compare them.
struct Choice<'s> {
    store: &'s dyn Store,
    folder: &'s str,
    hint: Option<Hint>,
    /// As in [`FirstAnswers`].
    hinted: Option<(String, Box<dyn Fetching>)>,
    metadata: BTreeMap<String, Option<TableMetadata>>,
}

impl Choice<'_> {
    /// The last file of each line. Several `<N>-<uuid>` can have the highest number, because a commit that lost a race
    /// may leave its file.
    fn tops(&mut self, named: &[Named]) -> Result<Vec<Named>> {
        let mut tops = Vec::new();
        if let Some(version) = highest(named, |name| matches!(name, Name::Version(_))) {
            tops.push(last_version(self.store, self.folder, named, version)?);
        }
        if let Some(last) = highest(named, |name| matches!(name, Name::Numbered(_))) {
            let mut last: Vec<Named> = named.iter().filter(|file| file.name == last.name).cloned().collect();
            if let Some(hinted) = last.iter().find(|file| self.is_hinted(file)).cloned() {
                last = vec![hinted];
            }
            if last.len() > 1 {
                self.read(&last)?;
                last.sort_by(|a, b| a.path.cmp(&b.path));
                last.sort_by_key(|file| (self.updated_ms(file), file.modified_ms));
            }
            tops.extend(last.pop());
        }
        Ok(tops)
    }

    fn is_hinted(&self, file: &Named) -> bool {
        self.hint.as_ref().is_some_and(|hint| hint.names(file))
    }

    /// Reads files that are compared, all at once.
    fn read<'f>(&mut self, files: impl IntoIterator<Item = &'f Named>) -> Result<()> {
        let known = &self.metadata;
        let mut unread: Vec<String> =
            files.into_iter().map(|file| file.path.clone()).filter(|path| !known.contains_key(path)).collect();
        unread.sort_unstable();
        unread.dedup();
        let hinted = self.hinted.take_if(|(path, _)| unread.contains(path));
        unread.retain(|path| hinted.as_ref().is_none_or(|(hinted, _)| hinted != path));
        let store = self.store;
        let read = in_parallel(store, unread.len(), |i| compared(read_metadata(store, &unread[i])))?;
        self.metadata.extend(unread.into_iter().zip(read));
        if let Some((path, request)) = hinted {
            let metadata = compared(read_requested(store, &path, request))?;
            self.metadata.insert(path, metadata);
        }
        Ok(())
    }

    /// The file that was chosen.
    fn into_newest(mut self, path: String) -> Newest {
        let requested = self.hinted.filter(|(hinted, _)| *hinted == path).map(|(_, request)| request);
        let content = match (self.metadata.remove(&path).flatten(), requested) {
            (Some(metadata), _) => Content::Read(Box::new(metadata)),
            (None, Some(request)) => Content::Requested(request),
            (None, None) => Content::Unread,
        };
        Newest { path, content }
    }

    fn known(&self, file: &Named) -> Option<&TableMetadata> {
        self.metadata.get(&file.path).and_then(Option::as_ref)
    }

    fn updated_ms(&self, file: &Named) -> i64 {
        self.known(file).map_or(i64::MIN, |metadata| metadata.last_updated_ms)
    }

    /// The current one of the last files of the lines.
    fn current(&mut self, named: &[Named], tops: Vec<Named>) -> Result<String> {
        let others = self.witnesses(named, &tops);
        if let ([only], true) = (tops.as_slice(), others.is_empty()) {
            return Ok(only.path.clone());
        }
        self.read(tops.iter().chain(&others))?;
        if let Some(torn) = tops.iter().find(|file| self.known(file).is_none()) {
            // The error tells more than a choice among the other files.
            return read_metadata(self.store, &torn.path).map(|_| torn.path.clone());
        }
        let current = self.later_line(&tops)?;
        for other in tops.iter().chain(&others) {
            if self.uuid(other).zip(self.uuid(&current)).is_some_and(|(a, b)| a != b) {
                return self.of_two_tables(&tops, &others);
            }
        }
        Ok(current.path)
    }

    /// Other files than the last ones that may show another table: the hinted file, and the one that was written last.
    fn witnesses(&self, named: &[Named], tops: &[Named]) -> Vec<Named> {
        let is_top = |file: &Named| tops.iter().any(|top| top.path == file.path || top.name == file.name);
        let written = |file: &Named| named.iter().find(|n| n.path == file.path).map_or(i64::MAX, |n| n.modified_ms);
        let last_written = tops.iter().map(written).max().unwrap_or(i64::MAX);
        let mut found: Vec<Named> = named.iter().filter(|f| self.is_hinted(f) && !is_top(f)).cloned().collect();
        found.truncate(1);
        let latest = named.iter().filter(|file| !is_top(file)).max_by_key(|file| file.modified_ms);
        found.extend(latest.filter(|file| file.modified_ms > last_written).cloned());
        found
    }

    fn uuid(&self, file: &Named) -> Option<&str> {
        self.known(file)?.table_uuid.as_deref()
    }

    /// The later one of two lines of one table.
    fn later_line(&self, tops: &[Named]) -> Result<Named> {
        let [version, numbered] = tops else {
            return tops.first().cloned().ok_or_else(|| Error::internal("a folder without metadata has no line"));
        };
        let (Some(by_folder), Some(by_catalog)) = (self.known(version), self.known(numbered)) else {
            return Ok(version.clone());
        };
        if is_logged(by_catalog, version, by_folder) {
            return Ok(numbered.clone());
        }
        let age = |m: &TableMetadata| (m.last_sequence_number, m.last_updated_ms);
        if !is_logged(by_folder, numbered, by_catalog) {
            if age(by_catalog) > age(by_folder) {
                return Ok(numbered.clone());
            }
            if self.uuid(version) == self.uuid(numbered) && is_fork(by_folder, by_catalog) {
                return Err(self.two("two histories of one table", version, numbered));
            }
        }
        Ok(version.clone())
    }

    /// The later one of two tables, if it began after the last update of the other and no other sign contradicts.
    fn of_two_tables(&self, tops: &[Named], others: &[Named]) -> Result<String> {
        let all: Vec<&Named> = tops.iter().chain(others).filter(|file| self.uuid(file).is_some()).collect();
        let latest = all.iter().max_by_key(|file| self.updated_ms(file));
        let Some(latest) = latest.copied() else { return Err(Error::internal("two tables without a uuid")) };
        let own = |file: &&&Named| self.uuid(file) == self.uuid(latest);
        let Some(other) = all.iter().find(|file| !own(file)) else { return Ok(latest.path.clone()) };
        let began = all.iter().filter(own).filter_map(|file| self.known(file)).map(began_ms).min().unwrap_or(i64::MIN);
        let ended = all.iter().filter(|file| !own(file)).map(|file| self.updated_ms(file)).max().unwrap_or(i64::MAX);
        // A version that is not the last can't be committed to, and other engines take the last.
        let is_in_the_way = matches!(latest.name, Name::Version(_)) && !tops.iter().any(|top| top.path == latest.path);
        let hinted_other = all.iter().any(|file| self.is_hinted(file) && !own(&file));
        if began <= ended || is_in_the_way || hinted_other {
            return Err(self.two("two tables with different table-uuid", latest, other));
        }
        Ok(latest.path.clone())
    }

    fn two(&self, what: &str, one: &Named, other: &Named) -> Error {
        let told = |file: &Named| {
            let metadata = self.known(file);
            let uuid = metadata.and_then(|m| m.table_uuid.as_deref()).unwrap_or("none");
            let updated = metadata.map(|m| format_instant(m.last_updated_ms)).unwrap_or_default();
            format!("{} (table-uuid {uuid}, updated {updated})", file.path)
        };
        Error::corrupt(format!("the metadata folder holds {what}, and it is unclear which is current"))
            .with("path", self.folder)
            .with("one", told(one))
            .with("other", told(other))
            .hint("Open the metadata file of the right one, or open the table by its catalog")
    }

    /// Fails if the hint names a later file than the folder has. The hinted version was published and is lost; opening
    /// an older one would silently undo commits. Java fails as well.
    fn check_not_lost(&self, named: &[Named], current: &str) -> Result<()> {
        let newest = parse_name(file_name(current));
        let (lost, newest, file) = match (&self.hint, newest) {
            (Some(Hint::Version(hinted)), Some(Name::Version(newest))) if *hinted > newest => {
                (format!("version {hinted}"), newest.to_string(), format!("v{hinted}"))
            }
            (Some(Hint::File(number, stem)), Some(Name::Numbered(newest)))
                if *number > newest && !named.iter().any(|file| self.is_hinted(file)) =>
            {
                (format!("version {number}"), file_name(current).to_owned(), stem.clone())
            }
            _ => return Ok(()),
        };
        let hint = join(self.folder, VERSION_HINT);
        Err(Error::corrupt(format!("the metadata file of {lost} is missing; the newest version is {newest}"))
            .with("path", join(self.folder, &format!("{file}{}", SUFFIXES[0])))
            .hint(format!("Restore the file, or write {newest} into {hint} to go back to version {newest}")))
    }
}

/// The file of the last version that was listed, the plain one first. A local folder may have a later one, which came
/// after the listing.
fn last_version(store: &dyn Store, folder: &str, named: &[Named], last: &Named) -> Result<Named> {
    let rank = |file: &&Named| SUFFIXES.iter().rposition(|suffix| file.path.ends_with(suffix));
    let first = named.iter().filter(|file| file.name == last.name).min_by_key(rank).unwrap_or(last);
    let (mut version, mut path) = (number(first.name), first.path.clone());
    while !store.is_remote()
        && let Some(next) = version.checked_add(1)
        && let Some(newer) = find_version(store, folder, next)?
    {
        (version, path) = (next, newer);
    }
    Ok(Named { name: Name::Version(version), path, modified_ms: first.modified_ms })
}

fn number(name: Name) -> u64 {
    match name {
        Name::Version(number) | Name::Numbered(number) => number,
    }
}

fn highest(named: &[Named], wanted: impl Fn(&Name) -> bool) -> Option<&Named> {
    named.iter().filter(|file| wanted(&file.name)).max_by_key(|file| number(file.name))
}

/// Whether the log of earlier files names this file. An earlier file may have had the same name, so the time has to fit
/// too.
fn is_logged(log: &TableMetadata, file: &Named, metadata: &TableMetadata) -> bool {
    let is_it = |entry: &MetadataLogEntry| {
        entry.timestamp_ms == metadata.last_updated_ms && file_name(&entry.metadata_file) == file_name(&file.path)
    };
    log.metadata_log.iter().any(is_it)
}

/// Whether a line lacks the current snapshot of an older line although it keeps snapshots from before it.
fn is_fork(later: &TableMetadata, earlier: &TableMetadata) -> bool {
    let Some(current) = earlier.current_snapshot() else { return false };
    let knows = later.snapshots.iter().any(|s| s.id == current.id)
        || later.snapshot_log.iter().any(|entry| entry.snapshot_id == current.id);
    !knows && later.snapshots.iter().any(|s| s.timestamp_ms < current.timestamp_ms)
}

/// The earliest time in the metadata.
fn began_ms(metadata: &TableMetadata) -> i64 {
    let files = metadata.metadata_log.iter().map(|entry| entry.timestamp_ms);
    let snapshots = metadata.snapshots.iter().map(|snapshot| snapshot.timestamp_ms);
    let log = metadata.snapshot_log.iter().map(|entry| entry.timestamp_ms);
    files.chain(snapshots).chain(log).min().unwrap_or(i64::MAX).min(metadata.last_updated_ms)
}

#[cfg(test)]
#[path = "newest_metadata_tests.rs"]
mod tests;
