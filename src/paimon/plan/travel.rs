//! The snapshot and schema that a scan reads, by its options: time travel and start modes.
//!
//! A scan that names a snapshot, directly or by tag, time or watermark, reads it with the snapshot's schema. All
//! others read with the current schema.
//!
//! Source: Java's `TimeTravelUtil` and `AbstractDataTableScan.createStartingScanner`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Result, ResultExt};
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::types::options::Options;
use crate::types::temporal::parse_timestamp;

const SNAPSHOT_ID: &str = "scan.snapshot-id";
const TAG_NAME: &str = "scan.tag-name";
const VERSION: &str = "scan.version";
const WATERMARK: &str = "scan.watermark";
const TIMESTAMP: &str = "scan.timestamp";
const TIMESTAMP_MILLIS: &str = "scan.timestamp-millis";
const FILE_CREATION_MILLIS: &str = "scan.file-creation-time-millis";
const CREATION_MILLIS: &str = "scan.creation-time-millis";

/// Options that choose a snapshot. At most one may be set.
const PLACES: [&str; 6] = [SNAPSHOT_ID, TAG_NAME, VERSION, WATERMARK, TIMESTAMP, TIMESTAMP_MILLIS];

/// Snapshots that a compaction made.
const COMPACT: &str = "COMPACT";

/// The version that a scan reads.
#[derive(Clone, Debug, Default)]
pub struct ScanVersion {
    /// The snapshot; `None` if the table has none.
    pub snapshot: Option<Arc<PaimonSnapshot>>,
    /// Whether to read with the snapshot's schema rather than the current one.
    pub own_schema: bool,
    /// Only files made then or later, milliseconds since the epoch.
    pub files_since_ms: Option<i64>,
}

/// The requested changes.
#[derive(Clone, Debug)]
pub struct Between {
    /// The snapshot before the changes, as a number because it may have expired.
    pub start: i64,
    /// The snapshot before the changes, for [`ChangeMode::Diff`] only.
    pub before: Option<Arc<PaimonSnapshot>>,
    /// The last snapshot of the changes.
    pub end: Arc<PaimonSnapshot>,
    /// How they are found.
    pub mode: ChangeMode,
}

/// How changes are found (`incremental-between-scan-mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeMode {
    /// The files that appends added.
    Delta,
    /// The changelog files that commits wrote.
    Changelog,
    /// The difference of two states.
    Diff,
}

/// The version that a scan reads by these options (the table's, overridden by its own). It is `latest` if they name
/// nothing.
///
/// # Errors
/// `NotFound` if the snapshot does not exist; `InvalidInput` for options that contradict each other or are not numbers;
/// as [`TableFolder::snapshot`].
pub fn place(
    folder: &TableFolder,
    latest: Option<Arc<PaimonSnapshot>>,
    options: &BTreeMap<String, String>,
) -> Result<ScanVersion> {
    let options = Options(options);
    let latest = ScanVersion { snapshot: latest, ..ScanVersion::default() };
    let given: Vec<&str> = PLACES.into_iter().filter(|key| options.get(key).is_some()).collect();
    if let [first, second, ..] = given[..] {
        return Err(Error::invalid(format!("the options '{first}' and '{second}' can't both be given")));
    }
    let mode = options.get("scan.mode").map(str::to_ascii_lowercase).unwrap_or_default();
    match (mode.as_str(), given.first()) {
        ("" | "default" | "from-timestamp" | "from-snapshot" | "from-snapshot-full", Some(key)) => {
            let snapshot = named(folder, options, key)?;
            Ok(ScanVersion { snapshot: Some(Arc::new(snapshot)), own_schema: true, files_since_ms: None })
        }
        ("from-timestamp" | "from-snapshot" | "from-snapshot-full", None) => {
            Err(Error::invalid(format!("the scan mode '{mode}' needs a snapshot"))
                .hint(format!("Set one of {}", PLACES.join(", "))))
        }
        (
            "compacted-full"
            | "from-file-creation-time"
            | "from-creation-timestamp"
            | "latest-full"
            | "full"
            | "latest",
            Some(key),
        ) => Err(Error::invalid(format!("the scan mode '{mode}' does not use the option '{key}'"))
            .hint("Leave out one of them")),
        ("incremental", _) => Err(Error::invalid("the scan mode 'incremental' can't be set by an option")
            .hint("Use table.changes(since=..., at=...) or table.scan(since=..., at=...)")),
        ("compacted-full", _) => compacted(folder, latest, options),
        ("from-file-creation-time", _) => Ok(latest.of_files_since(number(options, FILE_CREATION_MILLIS)?)),
        ("from-creation-timestamp", _) => from_creation(folder, latest, number(options, CREATION_MILLIS)?),
        ("" | "default", None) => match (options.integer(FILE_CREATION_MILLIS)?, options.integer(CREATION_MILLIS)?) {
            (Some(millis), _) => Ok(latest.of_files_since(millis)),
            (None, Some(millis)) => from_creation(folder, latest, millis),
            (None, None) => Ok(latest),
        },
        ("latest-full" | "full" | "latest", _) => Ok(latest),
        (other, _) => Err(Error::invalid(format!("there is no scan mode '{other}'"))),
    }
}

fn number(options: Options<'_>, key: &str) -> Result<i64> {
    options.integer(key)?.ok_or_else(|| Error::invalid(format!("the scan mode needs the option '{key}'")))
}

impl ScanVersion {
    fn of_files_since(self, millis: i64) -> ScanVersion {
        ScanVersion { files_since_ms: Some(millis), ..self }
    }
}

/// The snapshot that one of [`PLACES`] names.
fn named(folder: &TableFolder, options: Options<'_>, key: &str) -> Result<PaimonSnapshot> {
    let text = options.get(key).unwrap_or_default();
    match key {
        TAG_NAME => folder.tag(text).map(|tag| tag.snapshot),
        VERSION => match text.strip_prefix("watermark-").map(str::parse) {
            Some(Ok(watermark)) if !folder.tag_names()?.iter().any(|tag| tag == text) => {
                by_watermark(folder, watermark)
            }
            _ => folder.snapshot_of_version(text),
        },
        WATERMARK => by_watermark(folder, number(options, key)?),
        TIMESTAMP => at_time(folder, local_millis(text)?),
        TIMESTAMP_MILLIS => at_time(folder, number(options, key)?),
        _ => folder.snapshot(number(options, key)?),
    }
}

fn by_watermark(folder: &TableFolder, watermark: i64) -> Result<PaimonSnapshot> {
    let none = || Error::not_found(format!("no snapshot has the watermark {watermark} or a later one"));
    folder.snapshot_by_watermark(watermark)?.ok_or_else(|| none().with("path", folder.root()))
}

/// The latest snapshot made at `millis` or before it.
fn at_time(folder: &TableFolder, millis: i64) -> Result<PaimonSnapshot> {
    if let Some(snapshot) = folder.snapshot_at_time(millis)? {
        return Ok(snapshot);
    }
    let error = Error::not_found(format!("no snapshot was made at {millis} (milliseconds since 1970) or before it"));
    let first = folder.earliest_snapshot_id()?.map(|id| folder.snapshot(id)).transpose().if_found()?.flatten();
    let hint = first.map_or("The table has no snapshots".to_owned(), |s| {
        format!("The earliest snapshot was made at {}", s.time_ms)
    });
    Err(error.with("path", folder.root()).hint(hint))
}

/// A time in UTC as people write it: `2026-01-02`, `2026-01-02 03:04:05.678`.
fn local_millis(text: &str) -> Result<i64> {
    let whole = if text.trim().len() == "2026-01-02".len() {
        format!("{}T00:00:00", text.trim())
    } else {
        text.trim().replacen(' ', "T", 1)
    };
    let parsed = parse_timestamp(&whole, 1000).map(|(millis, _)| millis);
    parsed.ok_or_else(|| Error::invalid(format!("'{text}' is not a time")).hint("Write 2026-01-02 03:04:05.678"))
}

/// The latest snapshot of a compaction, up to `latest`. If the table makes full compactions at intervals, only these
/// count. Without such a snapshot it is `latest`.
fn compacted(folder: &TableFolder, latest: ScanVersion, options: Options<'_>) -> Result<ScanVersion> {
    let commits = options.integer("full-compaction.delta-commits")?;
    let full = options.get("changelog-producer") == Some("full-compaction") || commits.is_some();
    let every = commits.unwrap_or(1).max(1);
    let is_seen = |id: &i64| latest.snapshot.as_ref().is_some_and(|last| *id <= last.id);
    for id in folder.snapshot_ids()?.into_iter().rev().filter(is_seen) {
        // One may be expired just now, and with it those before it.
        let Some(snapshot) = folder.snapshot(id).if_found()? else { break };
        let identifier = snapshot.commit_identifier;
        if snapshot.commit_kind == COMPACT && (!full || identifier % every == 0 || identifier == i64::MAX) {
            return Ok(ScanVersion { snapshot: Some(Arc::new(snapshot)), ..ScanVersion::default() });
        }
    }
    Ok(latest)
}

/// The first snapshot made at `millis` or later, if there are earlier ones; else the files made since then.
fn from_creation(folder: &TableFolder, latest: ScanVersion, millis: i64) -> Result<ScanVersion> {
    let before = millis.checked_sub(1).map(|t| folder.snapshot_at_time(t)).transpose()?.flatten();
    let after = match before {
        Some(before) => folder.snapshot_ids()?.into_iter().find(|id| *id == before.id.saturating_add(1)),
        None => None,
    };
    match after {
        Some(id) => Ok(ScanVersion { snapshot: Some(Arc::new(folder.snapshot(id)?)), ..ScanVersion::default() }),
        None => Ok(latest.of_files_since(millis)),
    }
}

/// One end of the changes: a snapshot by its number, which may have expired, or a tag by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// A number.
    Snapshot(i64),
    /// A tag; its snapshot may have expired.
    Tag(String),
}

impl End {
    fn load(&self, folder: &TableFolder) -> Result<std::result::Result<PaimonSnapshot, i64>> {
        match self {
            End::Snapshot(id) => Ok(Err(*id)),
            End::Tag(name) => folder.tag(name).map(|tag| Ok(tag.snapshot)),
        }
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Snapshot(id) => write!(f, "{id}"),
            End::Tag(name) => f.write_str(name),
        }
    }
}

/// The changes after `start` up to `end`. `None` if both are the same. Between two tags, their states are compared.
/// Java knows no changes between a tag and a number. Here the tag then means its snapshot, even an expired one.
///
/// # Errors
/// `InvalidInput` if they are in the wrong order; `NotFound` if they do not exist.
pub fn between(
    folder: &TableFolder,
    options: &BTreeMap<String, String>,
    start: &End,
    end: &End,
) -> Result<Option<Between>> {
    let opts = Options(options);
    let (first, last) = (start.load(folder)?, end.load(folder)?);
    let by_ids = opts.boolean("incremental-between-tag-to-snapshot", false)?;
    let diff = first.is_ok() && last.is_ok() && !by_ids;
    let id = |place: &std::result::Result<PaimonSnapshot, i64>| place.as_ref().map_or_else(|id| *id, |s| s.id);
    if id(&first) > id(&last) {
        return Err(Error::invalid(format!("changes can't begin at '{start}' and end before it, at '{end}'")));
    }
    if id(&first) == id(&last) {
        return Ok(None);
    }
    let mode = if diff { ChangeMode::Diff } else { change_mode(opts)? };
    let start = id(&first);
    if mode == ChangeMode::Diff {
        let load =
            |place: std::result::Result<PaimonSnapshot, i64>| place.or_else(|id| folder.snapshot(id)).map(Arc::new);
        return Ok(Some(Between { start, before: Some(load(first)?), end: load(last)?, mode }));
    }
    // The changes of an expired commit may be kept.
    let end = last.or_else(|id| folder.commit_left(id)).map(Arc::new)?;
    Ok(Some(Between { start, before: None, end, mode }))
}

/// How changes are found by these options, unless between two tags.
///
/// # Errors
/// `InvalidInput` for an unknown mode.
pub fn change_mode(options: Options<'_>) -> Result<ChangeMode> {
    let mode = options.get("incremental-between-scan-mode").unwrap_or("auto").to_ascii_lowercase();
    Ok(match mode.as_str() {
        "delta" => ChangeMode::Delta,
        "changelog" => ChangeMode::Changelog,
        "diff" => ChangeMode::Diff,
        "auto" => match options.get("changelog-producer").unwrap_or("none") {
            "none" => ChangeMode::Delta,
            _ => ChangeMode::Changelog,
        },
        other => return Err(Error::invalid(format!("there is no 'incremental-between-scan-mode' '{other}'"))),
    })
}
