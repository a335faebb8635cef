//! A metadata document without references, log entries and statistics that lead nowhere.

use std::collections::{HashMap, HashSet};

use serde_json::{Value as Json, json};

use crate::format::diagnosis::repair::{RepairKind, RepairStep};
use crate::iceberg::spec::metadata::MAIN_BRANCH;

fn long(json: &Json, key: &str) -> Option<i64> {
    json.get(key).and_then(Json::as_i64)
}

fn step(object: impl Into<String>, action: impl Into<String>) -> RepairStep {
    RepairStep { kind: RepairKind::Refs, object: object.into(), action: action.into(), rows_lost: 0 }
}

/// Mends references, logs and entries of statistics. Returns what was changed.
pub(super) fn references(mut json: Json) -> (Json, Vec<RepairStep>) {
    let mut steps = Vec::new();
    let snapshots = json.get("snapshots").and_then(Json::as_array).cloned().unwrap_or_default();
    let sequence = |s: &Json| (long(s, "sequence-number").unwrap_or(0), long(s, "timestamp-ms").unwrap_or(0));
    let known: HashMap<i64, (i64, i64)> =
        snapshots.iter().filter_map(|s| Some((long(s, "snapshot-id")?, sequence(s)))).collect();
    let current = current(&mut json, &known, &mut steps);
    if let Some(refs) = json.get_mut("refs").and_then(Json::as_object_mut) {
        refs.retain(|name, reference| {
            let is_kind =
                |kind: &str| reference.get("type").and_then(Json::as_str).is_some_and(|t| t.eq_ignore_ascii_case(kind));
            let is_known = long(reference, "snapshot-id").is_some_and(|id| known.contains_key(&id));
            let keep = name == MAIN_BRANCH || (is_known && (is_kind("branch") || is_kind("tag")));
            if !keep {
                steps.push(step(name.as_str(), "removes the reference"));
            }
            keep
        });
        let main = refs.get(MAIN_BRANCH);
        let is_right = main.is_none_or(|main| {
            long(main, "snapshot-id") == current && main.get("type").and_then(Json::as_str) == Some("branch")
        });
        if !is_right {
            match current {
                Some(id) => {
                    steps.push(step(MAIN_BRANCH, format!("sets it to the current snapshot {id}")));
                    refs.insert(MAIN_BRANCH.to_owned(), json!({"snapshot-id": id, "type": "branch"}));
                }
                None => {
                    steps.push(step(MAIN_BRANCH, "removes the reference: there is no current snapshot"));
                    refs.remove(MAIN_BRANCH);
                }
            }
        }
    }
    let ids: HashSet<i64> = known.into_keys().collect();
    for key in ["snapshot-log", "statistics", "partition-statistics"] {
        let Some(entries) = json.get_mut(key).and_then(Json::as_array_mut) else { continue };
        entries.retain(|entry| {
            let id = long(entry, "snapshot-id");
            let keep = id.is_none_or(|id| ids.contains(&id));
            if !keep {
                steps.push(step(key, format!("removes the entry of snapshot {}", id.unwrap_or(-1))));
            }
            keep
        });
    }
    for key in ["snapshot-log", "metadata-log"] {
        let Some(entries) = json.get_mut(key).and_then(Json::as_array_mut) else { continue };
        if !entries.is_sorted_by_key(|entry| long(entry, "timestamp-ms")) {
            steps.push(step(key, "sorts it by time"));
            entries.sort_by_key(|entry| long(entry, "timestamp-ms"));
        }
    }
    (json, steps)
}

/// The current snapshot. If it is missing, that of main, or the newest one.
fn current(json: &mut Json, known: &HashMap<i64, (i64, i64)>, steps: &mut Vec<RepairStep>) -> Option<i64> {
    let recorded = long(json, "current-snapshot-id").filter(|id| *id != -1)?;
    if known.contains_key(&recorded) {
        return Some(recorded);
    }
    let main = json.get("refs").and_then(|refs| long(refs.get(MAIN_BRANCH)?, "snapshot-id"));
    let newest = || known.iter().max_by_key(|(_, sequence)| **sequence).map(|(id, _)| *id);
    let chosen = main.filter(|id| known.contains_key(id)).or_else(newest);
    let text = chosen.map_or_else(|| "none".to_owned(), |id| id.to_string());
    steps.push(step("current-snapshot-id", format!("sets it to {text}: there is no snapshot {recorded}")));
    if let Some(members) = json.as_object_mut() {
        members.insert("current-snapshot-id".to_owned(), json!(chosen.unwrap_or(-1)));
    }
    chosen
}
