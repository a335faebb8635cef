//! The metadata file as JSON: snapshots, references, logs.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value as Json;

use super::codes;
use crate::format::diagnosis::finding::Findings;

/// How much the clocks of two writers may differ, in milliseconds. Java accepts the same.
const CLOCK_SKEW_MS: i64 = 60_000;

/// The members of a snapshot that the checks need.
struct SnapshotFacts {
    id: i64,
    parent: Option<i64>,
    sequence: i64,
    time: i64,
    schema: Option<i64>,
    row_ids: Option<(i64, i64)>,
}

fn long(json: &Json, key: &str) -> Option<i64> {
    json.get(key).and_then(Json::as_i64)
}

fn list<'j>(json: &'j Json, key: &str) -> impl Iterator<Item = &'j Json> {
    json.get(key).and_then(Json::as_array).into_iter().flatten()
}

/// Checks snapshots, references and logs of a metadata document.
pub(super) fn check(json: &Json, at: &str, findings: &Findings) {
    let facts = |s: &Json| {
        Some(SnapshotFacts {
            id: long(s, "snapshot-id")?,
            parent: long(s, "parent-snapshot-id"),
            sequence: long(s, "sequence-number").unwrap_or(0),
            time: long(s, "timestamp-ms")?,
            schema: long(s, "schema-id"),
            row_ids: long(s, "first-row-id").zip(long(s, "added-rows")),
        })
    };
    let snapshots: Vec<SnapshotFacts> = list(json, "snapshots").filter_map(facts).collect();
    let mut by_id: HashMap<i64, &SnapshotFacts> = HashMap::new();
    for snapshot in &snapshots {
        if by_id.insert(snapshot.id, snapshot).is_some() {
            findings.add(&codes::DUPLICATE_SNAPSHOT, snapshot.id, "two snapshots have this id");
        }
    }
    check_snapshots(json, &snapshots, &by_id, findings);
    check_circles(&snapshots, &by_id, findings);
    check_refs(json, &by_id, at, findings);
    check_logs(json, &by_id, at, findings);
}

fn check_snapshots(
    json: &Json,
    snapshots: &[SnapshotFacts],
    by_id: &HashMap<i64, &SnapshotFacts>,
    findings: &Findings,
) {
    let (last, updated) = (long(json, "last-sequence-number").unwrap_or(0), long(json, "last-updated-ms"));
    let version = long(json, "format-version").unwrap_or(1);
    let schemas: HashSet<i64> = list(json, "schemas").filter_map(|s| long(s, "schema-id")).collect();
    let next_row_id = long(json, "next-row-id");
    let mut sequences: BTreeMap<i64, i64> = BTreeMap::new();
    for s in snapshots {
        if s.sequence > last && version > 1 {
            let evidence = format!("sequence number {}, but last-sequence-number is {last}", s.sequence);
            findings.add(&codes::SEQUENCE_ABOVE_LAST, s.id, evidence);
        }
        if s.sequence > 0
            && let Some(other) = sequences.insert(s.sequence, s.id)
        {
            let evidence = format!("sequence number {} is also that of snapshot {other}", s.sequence);
            findings.add(&codes::SNAPSHOT_SEQUENCE, s.id, evidence);
        }
        if let Some(parent) = s.parent.and_then(|id| by_id.get(&id)) {
            if s.sequence > 0 && s.sequence <= parent.sequence {
                let evidence = format!("sequence number {}, its parent has {}", s.sequence, parent.sequence);
                findings.add(&codes::SNAPSHOT_SEQUENCE, s.id, evidence);
            }
            if s.time < parent.time.saturating_sub(CLOCK_SKEW_MS) {
                let evidence = format!("made at {} ms, its parent at {} ms", s.time, parent.time);
                findings.add(&codes::SNAPSHOT_TIME, s.id, evidence);
            }
        }
        if let Some(updated) = updated.filter(|t| s.time > t.saturating_add(CLOCK_SKEW_MS)) {
            let evidence = format!("made at {} ms, the table was updated at {updated} ms", s.time);
            findings.add(&codes::SNAPSHOT_TIME, s.id, evidence);
        }
        if let Some(schema) = s.schema.filter(|id| !schemas.is_empty() && !schemas.contains(id)) {
            findings.add(&codes::SNAPSHOT_SCHEMA, s.id, format!("there is no schema {schema}"));
        }
        if let (Some(next), Some((first, rows))) = (next_row_id, s.row_ids)
            && first.saturating_add(rows) > next
        {
            let evidence = format!("snapshot {} has row ids below {}, next-row-id is {next}", s.id, first + rows);
            findings.add(&codes::NEXT_ROW_ID, s.id, evidence);
        }
    }
}

/// Finds snapshots that are their own ancestors. Each snapshot is visited once.
fn check_circles(snapshots: &[SnapshotFacts], by_id: &HashMap<i64, &SnapshotFacts>, findings: &Findings) {
    let mut done: HashSet<i64> = HashSet::new();
    for s in snapshots {
        let (mut path, mut next) = (HashSet::new(), Some(s.id));
        while let Some(id) = next.filter(|id| !done.contains(id)) {
            if !path.insert(id) {
                findings.add(&codes::PARENT_CIRCLE, id, "its parents lead back to it");
                break;
            }
            next = by_id.get(&id).and_then(|s| s.parent);
        }
        done.extend(path);
    }
}

fn check_refs(json: &Json, by_id: &HashMap<i64, &SnapshotFacts>, at: &str, findings: &Findings) {
    let current = long(json, "current-snapshot-id").filter(|id| *id != -1);
    if let Some(id) = current.filter(|id| !by_id.contains_key(id)) {
        findings.add(&codes::CURRENT_SNAPSHOT_MISSING, at, format!("current-snapshot-id is {id}"));
    }
    for (name, reference) in json.get("refs").and_then(Json::as_object).into_iter().flatten() {
        let id = long(reference, "snapshot-id");
        let kind = reference.get("type").and_then(Json::as_str).unwrap_or_default();
        if !id.is_some_and(|id| by_id.contains_key(&id)) {
            findings.add(&codes::REF_MISSING_SNAPSHOT, name, format!("snapshot {}", id.unwrap_or(-1)));
        }
        let is_known = kind.eq_ignore_ascii_case("branch") || kind.eq_ignore_ascii_case("tag");
        if !is_known || (name == "main" && !kind.eq_ignore_ascii_case("branch")) {
            findings.add(&codes::REF_KIND, name, format!("its type is '{kind}'"));
        }
        if name == "main" && id != current && id.is_some_and(|id| by_id.contains_key(&id)) {
            let text = |id: Option<i64>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
            let evidence = format!("main is at {}, the current snapshot is {}", text(id), text(current));
            findings.add(&codes::REF_MAIN_DIFFERS, name, evidence);
        }
        for key in ["min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms"] {
            if let Some(value) = long(reference, key).filter(|value| *value <= 0) {
                findings.add(&codes::REF_RETENTION, name, format!("{key} is {value}"));
            }
        }
    }
}

fn check_logs(json: &Json, by_id: &HashMap<i64, &SnapshotFacts>, at: &str, findings: &Findings) {
    for (key, code) in
        [("snapshot-log", &codes::SNAPSHOT_LOG_DISORDERED), ("metadata-log", &codes::METADATA_LOG_DISORDERED)]
    {
        let times: Vec<i64> = list(json, key).filter_map(|entry| long(entry, "timestamp-ms")).collect();
        for pair in times.windows(2) {
            if let [before, after] = pair
                && *after < before.saturating_sub(CLOCK_SKEW_MS)
            {
                findings.add(code, at, format!("an entry of {after} ms comes after one of {before} ms"));
            }
        }
        let updated = long(json, "last-updated-ms");
        if let Some((last, updated)) = times.last().zip(updated)
            && *last > updated.saturating_add(CLOCK_SKEW_MS)
        {
            findings.add(code, at, format!("the last entry is of {last} ms, the table was updated at {updated} ms"));
        }
    }
    let logged: Vec<i64> = list(json, "snapshot-log").filter_map(|entry| long(entry, "snapshot-id")).collect();
    for id in logged.iter().filter(|id| !by_id.contains_key(id)) {
        findings.add(&codes::SNAPSHOT_LOG_UNKNOWN, at, format!("there is no snapshot {id}"));
    }
    let current = long(json, "current-snapshot-id").filter(|id| *id != -1);
    if let (Some(last), Some(current)) = (logged.last(), current)
        && *last != current
    {
        findings.add(&codes::SNAPSHOT_LOG_END, at, format!("it ends with {last}, the current snapshot is {current}"));
    }
}
