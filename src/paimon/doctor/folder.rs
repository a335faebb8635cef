//! Schemas, snapshots, hints, tags and consumers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::codes;
use crate::error::{Error, Result};
use crate::format::diagnosis::code::Code;
use crate::format::diagnosis::finding::{Findings, Looked, reason};
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::parallel::check_cancelled;
use crate::store::LONGEST_HINT;
use crate::store::location::join;

/// How much the clocks of two writers may differ, in milliseconds.
const CLOCK_SKEW_MS: i64 = 60_000;

/// The snapshots, tags and schemas that can be read.
#[derive(Debug, Default)]
pub(super) struct FolderFacts {
    /// Snapshots in the order of their numbers.
    pub snapshots: Vec<PaimonSnapshot>,
    /// Snapshots of tags whose own file is gone.
    pub tagged: Vec<(String, PaimonSnapshot)>,
    /// Changelogs that have outlasted their snapshots.
    pub changelogs: Vec<PaimonSnapshot>,
    /// Schemas by their ids.
    pub schemas: BTreeMap<i64, Arc<TableSchema>>,
}

/// Reads the folders of a branch.
///
/// # Errors
/// A cancellation; errors of listing the folders.
pub(super) fn read(folder: &TableFolder, findings: &Findings) -> Result<FolderFacts> {
    let mut out = FolderFacts { schemas: schemas(folder, findings)?, ..FolderFacts::default() };
    let ids = folder.snapshot_ids()?;
    for id in &ids {
        check_cancelled()?;
        findings.looked(Looked::Snapshot);
        match folder.snapshot(*id) {
            Ok(snapshot) if snapshot.id == *id => out.snapshots.push(snapshot),
            Ok(snapshot) => {
                findings.add(
                    &codes::SNAPSHOT_DAMAGED,
                    folder.snapshot_path(*id),
                    format!("its number is {}", snapshot.id),
                );
            }
            Err(e) => damaged(findings, &codes::SNAPSHOT_DAMAGED, &folder.snapshot_path(*id), &e)?,
        }
    }
    for pair in ids.windows(2) {
        if let [before, after] = pair
            && *after != before + 1
        {
            findings.add(
                &codes::SNAPSHOT_GAP,
                folder.snapshot_path(before + 1),
                format!("{before} is followed by {after}"),
            );
        }
    }
    order(&out.snapshots, findings);
    hints(folder, &ids, findings);
    tags(folder, &mut out, findings)?;
    match folder.changelogs() {
        Ok(changelogs) => out.changelogs = changelogs,
        Err(e) => damaged(findings, &codes::CHANGELOG_DAMAGED, &folder.folder("changelog"), &e)?,
    }
    consumers(folder, &ids, findings)?;
    let known: BTreeSet<i64> = out.schemas.keys().copied().collect();
    for snapshot in out.snapshots.iter().filter(|s| !known.contains(&s.schema_id)) {
        let evidence = format!("snapshot {} names it", snapshot.id);
        findings.add(&codes::SCHEMA_MISSING, folder.schema_path(snapshot.schema_id), evidence);
    }
    Ok(out)
}

/// Adds a finding for an error, unless the call was cancelled.
pub(super) fn damaged(findings: &Findings, code: &'static Code, object: &str, e: &Error) -> Result<()> {
    check_cancelled()?;
    findings.add(code, object, reason(e));
    Ok(())
}

fn schemas(folder: &TableFolder, findings: &Findings) -> Result<BTreeMap<i64, Arc<TableSchema>>> {
    let mut out = BTreeMap::new();
    for id in folder.schema_ids()? {
        match folder.schema(id) {
            Ok(schema) if schema.id == id => drop(out.insert(id, Arc::new(schema))),
            Ok(schema) => {
                findings.add(&codes::SCHEMA_DAMAGED, folder.schema_path(id), format!("its number is {}", schema.id));
            }
            Err(e) => damaged(findings, &codes::SCHEMA_DAMAGED, &folder.schema_path(id), &e)?,
        }
    }
    Ok(out)
}

fn order(snapshots: &[PaimonSnapshot], findings: &Findings) {
    for pair in snapshots.windows(2) {
        if let [before, after] = pair
            && after.time_ms < before.time_ms.saturating_sub(CLOCK_SKEW_MS)
        {
            let evidence = format!("made at {} ms, snapshot {} at {} ms", after.time_ms, before.id, before.time_ms);
            findings.add(&codes::SNAPSHOT_TIME, format!("snapshot {}", after.id), evidence);
        }
    }
}

/// The text of a hint.
#[derive(Debug)]
pub(super) struct HintText {
    /// Its file.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// The hints to the newest and to the oldest snapshot, as far as they exist.
pub(super) fn read_hints(folder: &TableFolder) -> [Option<HintText>; 2] {
    ["LATEST", "EARLIEST"].map(|name| {
        let path = join(&folder.folder("snapshot"), name);
        let bytes = folder.store().get_at_most(&path, LONGEST_HINT).ok()?;
        Some(HintText { path, text: String::from_utf8_lossy(&bytes).trim().to_owned() })
    })
}

/// The hints that are wrong for these snapshots, with their codes and the snapshot that each should name.
pub(super) fn wrong_hints(
    [latest, earliest]: [Option<HintText>; 2],
    ids: &[i64],
) -> Vec<(&'static Code, HintText, i64)> {
    let (Some(oldest), Some(newest)) = (ids.first(), ids.last()) else { return Vec::new() };
    let latest = latest.filter(|hint| hint.text.parse() != Ok(*newest));
    // Java leaves whole snapshots before it.
    let earliest = earliest.filter(|hint| !hint.text.parse().is_ok_and(|id| ids.contains(&id)));
    let latest = latest.map(|hint| (&codes::HINT_LATEST, hint, *newest));
    latest.into_iter().chain(earliest.map(|hint| (&codes::HINT_EARLIEST, hint, *oldest))).collect()
}

fn hints(folder: &TableFolder, ids: &[i64], findings: &Findings) {
    for (code, HintText { path, text }, right) in wrong_hints(read_hints(folder), ids) {
        let which = if code == &codes::HINT_LATEST { "newest" } else { "oldest" };
        findings.add(code, path, format!("it is '{text}', the {which} snapshot is {right}"));
    }
}

fn tags(folder: &TableFolder, out: &mut FolderFacts, findings: &Findings) -> Result<()> {
    for name in folder.tag_names()? {
        match folder.tag(&name) {
            Ok(tag) => {
                if !out.schemas.contains_key(&tag.snapshot.schema_id) {
                    let path = folder.schema_path(tag.snapshot.schema_id);
                    findings.add(&codes::SCHEMA_MISSING, path, format!("the tag {name} names it"));
                }
                if !out.snapshots.iter().any(|s| s.id == tag.snapshot.id) {
                    out.tagged.push((name, tag.snapshot));
                }
            }
            Err(e) => damaged(findings, &codes::TAG_DAMAGED, &name, &e)?,
        }
    }
    Ok(())
}

fn consumers(folder: &TableFolder, ids: &[i64], findings: &Findings) -> Result<()> {
    let Ok(files) = folder.store().list(&folder.folder("consumer")) else { return check_cancelled() };
    for file in files {
        let read = folder.store().get_at_most(&file.path, LONGEST_HINT);
        let json = read.ok().and_then(|bytes| crate::types::json_text::parse(&bytes).ok());
        let next = json.as_ref().and_then(|json| json.get("nextSnapshot")?.as_i64());
        match (next, ids.first()) {
            (None, _) => findings.add(&codes::CONSUMER, &file.path, "it has no member nextSnapshot"),
            (Some(next), Some(oldest)) if next < *oldest => {
                let evidence = format!("its next snapshot is {next}, the oldest is {oldest}");
                findings.add(&codes::CONSUMER, &file.path, evidence);
            }
            _ => {}
        }
    }
    Ok(())
}
