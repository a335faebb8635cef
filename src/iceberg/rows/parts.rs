//! Changes of rows in parts: several processes do a part each, and one commits them all.
//!
//! A delete or update is divided by files ([`IcebergTable::change_files`]). For a merge, another engine matches rows
//! of the source with rows of the table. It sends all matches of a data file to one part. A part returns a
//! [`CommitMessage`]; [`IcebergTable::commit_parts`] commits them with the preconditions of the whole change.

use std::collections::HashSet;

use super::apply::apply;
use super::delete::{RowRemoval, find_removal, hits};
use super::matches::matches;
use super::plan::Touched;
use super::view::View;
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::format::commit::CommitOptions;
use crate::format::row_change::{ChangeFiles, Command, Part, RowChange};
use crate::format::task::{CommitMessage, DataFile, FileContent, PartRows, RowDelta};
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::committing;
use crate::iceberg::rows::effect::Effect;
use crate::iceberg::rows::plan::tasks_of;
use crate::iceberg::state::IcebergTable;
use crate::iceberg::write::commit_messages::fingerprint;
use crate::rows::row_changes::assignments::{Assignments, row_counts};
use crate::rows::row_changes::parts::check_parts;
use crate::rows::stream::RowReader;
use crate::store::location::normalise;

impl IcebergTable {
    /// The files that a delete or update touches at this version.
    ///
    /// # Errors
    /// `InvalidInput` for other changes, and if the change does not fit the schema; errors of planning; a
    /// cancellation.
    pub fn change_files(&self, change: &RowChange, branch: Option<&str>) -> Result<ChangeFiles> {
        self.writable_location()?;
        let view = View::new(self.clone(), branch)?;
        let mut effect = Effect::none(&view);
        let tasks = match change {
            RowChange::Delete(filter) => match find_removal(&view, filter)? {
                (RowRemoval::Named(files, _), tasks) => {
                    effect.counts.deleted =
                        files.iter().map(|f| f.record_count.max(0).unsigned_abs()).fold(0, u64::saturating_add);
                    effect.removed.extend(files);
                    tasks
                }
                (RowRemoval::Whole(_), tasks) => tasks,
            },
            RowChange::Update(filter, assigned) => {
                Assignments::new(self.schema(), assigned)?;
                view.mode(Command::Update)?;
                Touched::all(&view.scan(filter.clone())?)?
            }
            _ => return Err(Error::invalid("only deletes and updates can be divided by files")),
        };
        let files = tasks.iter().map(|t| (t.data_file.path.clone(), t.data_file.size_bytes)).collect();
        Ok(ChangeFiles { whole: message(effect, &view), files })
    }

    /// Does a part of a change at this version, without committing. For a merge, `rows` have the columns of the source,
    /// then `frazil file` and `frazil position`, which are null where a row matches nothing. The last column is `frazil
    /// missing`, true where the row of the table has no row of the source. All rows with one file go to one part.
    /// `task` numbers the writers of one job.
    ///
    /// # Errors
    /// As [`IcebergTable::change_rows`], but for the commit; `InvalidInput` if a row of the table matches several
    /// rows of the source.
    pub fn write_part(
        &self,
        part: &Part,
        rows: Option<RowReader>,
        branch: Option<&str>,
        task: u64,
    ) -> Result<CommitMessage> {
        self.writable_location()?;
        let view = View::new(self.clone(), branch)?;
        let effect = match (part, rows) {
            (Part::Files { change, files }, None) => of_files(&view, change, files)?,
            (Part::Matches { merge, filter, command }, Some(rows)) => {
                matches(&view, view.mode(*command)?, merge, filter, rows, task)?
            }
            _ => return Err(Error::invalid("a part of a merge needs rows, and parts of other changes take no rows")),
        };
        Ok(message(effect, &view))
    }

    /// Commits all parts of a change that were done at this version; returns the table at its new version. `filter` is
    /// true for every row of the table that the change read. The same parts are committed only once. If the commit
    /// fails, the files stay.
    ///
    /// # Errors
    /// `InvalidInput` for messages that are not parts, belong to another table or version, or change the same data file
    /// twice; as [`IcebergTable::change_rows`].
    pub fn commit_parts(
        &self,
        change: &RowChange,
        filter: &Predicate,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
    ) -> Result<IcebergTable> {
        self.check_messages(&messages)?;
        let command = command(change)?;
        let since = View::new(self.clone(), options.branch.as_deref())?.since;
        check_parts(&messages, since)?;
        let once = fingerprint(&messages);
        let newest = self.refresh()?;
        options.check(&newest)?;
        let mut all = RowDelta::default();
        let (mut files, mut rows, mut required) = (Vec::new(), PartRows::default(), HashSet::new());
        for message in messages {
            files.extend(message.files);
            let Some(delta) = message.delta else { continue };
            let of_part = delta.part.unwrap_or_default();
            rows.updated += of_part.updated;
            rows.deleted += of_part.deleted;
            rows.inserted += of_part.inserted;
            all.removed.extend(delta.removed);
            required.extend(delta.referenced);
        }
        if files.is_empty() && all.removed.is_empty() {
            return Ok(newest);
        }
        let mut view = View::new(newest.clone(), options.branch.as_deref())?;
        view.since = since;
        let preconditions = view.preconditions(command, filter.clone(), required)?;
        let adds = |data: bool| files.iter().any(|f: &DataFile| (f.content == FileContent::Data) == data);
        let operation = match (adds(true), adds(false) || !all.removed.is_empty()) {
            (true, false) => Operation::Append,
            (true, true) => Operation::Overwrite,
            (false, _) => Operation::Delete,
        };
        let change = view.change(operation).planned_at(self.format_version());
        let mut change = change.remove_files(all.removed).add_files(files).with_preconditions(preconditions).once(once);
        if command != Command::Delete {
            change = change.with_summary(row_counts(rows.updated, rows.inserted, rows.deleted));
        }
        committing::commit(&newest, vec![Box::new(options.apply(change, &newest)?)]).into_result()
    }
}

fn command(change: &RowChange) -> Result<Command> {
    match change {
        RowChange::Delete(_) => Ok(Command::Delete),
        RowChange::Update(..) => Ok(Command::Update),
        RowChange::Merge(_) => Ok(Command::Merge),
        _ => Err(Error::invalid("only deletes, updates and merges have parts")),
    }
}

fn message(effect: Effect, view: &View) -> CommitMessage {
    let Effect { added, removed, required, counts, .. } = effect;
    let mut referenced: Vec<String> = required.into_iter().collect();
    referenced.sort_unstable();
    let part = PartRows { updated: counts.updated, deleted: counts.deleted, inserted: counts.inserted };
    let delta = RowDelta { since: view.since, removed, referenced, specs: None, part: Some(part) };
    let written_at = Some(view.table.written_now());
    CommitMessage { delta: Some(delta), ..CommitMessage::new(view.table.uuid(), added.take(), written_at) }
}

fn of_files(view: &View, change: &RowChange, files: &[String]) -> Result<Effect> {
    let paths: Vec<String> = files.iter().map(|path| normalise(path)).collect();
    let wanted: HashSet<&str> = paths.iter().map(String::as_str).collect();
    match change {
        RowChange::Delete(filter) => {
            let mode = view.mode(Command::Delete)?;
            let tasks = tasks_of(view, filter, &wanted)?;
            apply(view, mode, hits(view, tasks, mode)?, &crate::rows::row_changes::patch::Remove)
        }
        RowChange::Update(filter, assigned) => {
            let patch = Assignments::new(view.table.schema(), assigned)?;
            let mode = view.mode(Command::Update)?;
            let tasks = tasks_of(view, filter, &wanted)?;
            apply(view, mode, hits(view, tasks, mode)?, &patch)
        }
        _ => Err(Error::invalid("only deletes and updates can be divided by files")),
    }
}
