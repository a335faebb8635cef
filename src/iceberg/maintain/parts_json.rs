//! Steps of maintenance whose parts other processes do, by name, with arguments and results as JSON.
//!
//! A job plans (`plan_…`), has each part done elsewhere (`…_part`), and commits what the parts gave (`commit_…`).
//! `remove_files_of` deletes what its parts wrote and no commit took.

use serde_json::{Value as Json, json};

use super::delete_parts::{DeletePart, PartedDeletes};
use super::json::{compacted_json, orphans_json, rewritten_deletes_json};
use super::orphans::Orphans;
use super::parts::{PartWriter, PartedCompaction, PartedGroup};
use crate::error::{Error, Result};
use crate::format::task::{CommitMessage, DataFile};
use crate::format::wire::arguments::Arguments;
use crate::format::wire::task::{message_from_json, message_to_json, split_from_json, split_to_json};
use crate::iceberg::state::Table;

/// Runs one step.
///
/// # Errors
/// `InvalidInput` for an unknown step, or arguments that it does not take; those of the step.
pub(crate) fn part_of_action(table: &Table, step: &str, mut arguments: Arguments) -> Result<(Table, Json)> {
    match step {
        "plan_compact" => {
            let options = arguments.compact()?;
            arguments.check_used()?;
            let (newest, planned) = table.compact_in_parts(&options)?;
            let planned = planned_json(&newest, &planned)?;
            Ok((newest, planned))
        }
        "compact_part" => {
            let order = arguments.file_order()?;
            let (part, roll_at) = (split_from_json(&arguments.text("part")?)?, arguments.number("roll_at")?);
            let writer = arguments.part_writer()?;
            arguments.check_used()?;
            let message = table.compact_part(&part, roll_at, &order, &writer)?;
            Ok((table.clone(), Json::String(message_to_json(&message)?)))
        }
        "commit_compact" => {
            let (since, removed, messages) = arguments.parts_done()?;
            let options = arguments.commit()?;
            arguments.check_used()?;
            let (table, done) = table.commit_compacted_parts(since, removed, messages, &options)?;
            Ok((table, compacted_json(&done)))
        }
        "plan_rewrite_position_deletes" => {
            let mut options = arguments.deletes()?;
            options.filter = arguments.filter()?;
            arguments.check_used()?;
            let (newest, planned) = table.deletes_in_parts(&options)?;
            let planned = planned_deletes_json(&newest, &planned)?;
            Ok((newest, planned))
        }
        "rewrite_position_deletes_part" => {
            let since = arguments.since()?;
            let part = DeletePart {
                deletes: arguments.files("deletes")?,
                concerned: arguments.files("concerned")?,
                roll_at: arguments.number("roll_at")?,
            };
            let writer = arguments.part_writer()?;
            arguments.check_used()?;
            let message = table.deletes_part(since, part, &writer)?;
            Ok((table.clone(), Json::String(message_to_json(&message)?)))
        }
        "commit_rewrite_position_deletes" => {
            let (since, removed, messages) = arguments.parts_done()?;
            let options = arguments.commit()?;
            arguments.check_used()?;
            let (table, done) = table.commit_delete_parts(since, removed, messages, &options)?;
            Ok((table, rewritten_deletes_json(&done)))
        }
        "plan_orphans" => {
            let options = arguments.orphans()?;
            arguments.check_used()?;
            let planned = table.orphans_to_list(&options)?;
            let (folders, listed, age) = (planned.folders, planned.listed, planned.older_than_ms);
            Ok((table.clone(), json!({"folders": folders, "rows": listed, "older_than_ms": age})))
        }
        "list_part" => {
            let (options, folders) = (arguments.orphans()?, arguments.paths("folders")?);
            arguments.check_used()?;
            Ok((table.clone(), json!(table.list_part(&options, folders)?)))
        }
        "plan_reachable" => {
            let options = arguments.orphans()?;
            arguments.check_used()?;
            let (newest, planned) = table.reachable_to_read(&options)?;
            Ok((newest, json!({"manifests": planned.manifests, "rows": planned.reachable})))
        }
        "reachable_part" => {
            let (options, manifests) = (arguments.orphans()?, arguments.paths("manifests")?);
            arguments.check_used()?;
            Ok((table.clone(), json!(table.reachable_part(&options, &manifests)?)))
        }
        "delete_orphans" => {
            let (options, files) = (arguments.orphans()?, arguments.paths("files")?);
            let conflicts = arguments.paths("conflicts")?.into_iter().collect();
            arguments.check_used()?;
            let deletion = table.delete_orphans(&options, &conflicts, &files)?;
            Ok((table.clone(), orphans_json(&Orphans { files, deletion })))
        }
        "remove_files_of" => {
            let job = arguments.text("job")?;
            arguments.check_used()?;
            let (table, removed) = table.remove_files_of(&job)?;
            Ok((table, json!(removed)))
        }
        other => Err(Error::invalid(format!("there is no maintenance action '{other}'"))),
    }
}

impl Arguments {
    fn text(&mut self, name: &str) -> Result<String> {
        let missing = || Error::invalid(format!("the argument {name} is missing"));
        self.take(name, |v| v.as_str().map(str::to_owned))?.ok_or_else(missing)
    }

    fn number(&mut self, name: &str) -> Result<u64> {
        self.take(name, Json::as_u64)?.ok_or_else(|| Error::invalid(format!("the argument {name} is missing")))
    }

    fn messages(&mut self, name: &str) -> Result<Vec<CommitMessage>> {
        self.paths(name)?.iter().map(|text| message_from_json(text)).collect()
    }

    fn paths(&mut self, name: &str) -> Result<Vec<String>> {
        let texts = |v: &Json| v.as_array()?.iter().map(|p| p.as_str().map(str::to_owned)).collect();
        Ok(self.take(name, texts)?.unwrap_or_default())
    }

    fn files(&mut self, name: &str) -> Result<Vec<DataFile>> {
        Ok(message_from_json(&self.text(name)?)?.files)
    }

    fn since(&mut self) -> Result<i64> {
        self.take("snapshot", Json::as_i64)?.ok_or_else(|| Error::invalid("the argument snapshot is missing"))
    }

    fn part_writer(&mut self) -> Result<PartWriter> {
        Ok(PartWriter { job: self.text("job")?, part: self.number("number")?, attempt: self.number("attempt")? })
    }

    /// The snapshot that was read, the files that go and what was written.
    fn parts_done(&mut self) -> Result<(i64, Vec<DataFile>, Vec<CommitMessage>)> {
        let since = self.since()?;
        let removed = self.messages("removed")?.into_iter().flat_map(|m| m.files).collect();
        Ok((since, removed, self.messages("messages")?))
    }
}

fn planned_json(table: &Table, planned: &PartedCompaction) -> Result<Json> {
    let groups = planned.groups.iter().map(|group| group_json(table, group)).collect::<Result<Vec<_>>>()?;
    Ok(json!({"snapshot": planned.since, "groups": groups, "counted": compacted_json(&planned.counted)}))
}

fn group_json(table: &Table, group: &PartedGroup) -> Result<Json> {
    let parts = group.parts.iter().map(split_to_json).collect::<Result<Vec<_>>>()?;
    Ok(json!({"removed": files_text(table, &group.removed)?, "parts": parts, "roll_at": group.roll_at}))
}

fn planned_deletes_json(table: &Table, planned: &PartedDeletes) -> Result<Json> {
    let part = |part: &DeletePart| {
        Ok(json!({
            "deletes": files_text(table, &part.deletes)?,
            "concerned": files_text(table, &part.concerned)?,
            "roll_at": part.roll_at,
        }))
    };
    let parts = planned.parts.iter().map(part).collect::<Result<Vec<_>>>()?;
    Ok(json!({"snapshot": planned.since, "parts": parts, "counted": rewritten_deletes_json(&planned.counted)}))
}

/// Files in the complete form of messages.
fn files_text(table: &Table, files: &[DataFile]) -> Result<String> {
    message_to_json(&CommitMessage::new(table.uuid(), files.to_vec(), None))
}
