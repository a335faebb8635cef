//! Naming deleted rows in delete files.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::view::{Mode, View};
use crate::codec::bitmap::PositionSet;
use crate::data::deletes::cache::DeleteCache;
use crate::data::deletes::filter::DeleteFilter;
use crate::data::write::delete_write::{DeleteForm, PositionDeleteWriter};
use crate::error::{Error, Result, ResultExt};
use crate::expr::Predicate;
use crate::format::task::{DataFile, DeleteRef, FileContent, FileFormat, ScanTask};
use crate::iceberg::commit::removal::FileId;
use crate::iceberg::rows::effect::Effect;
use crate::parallel::{check_cancelled, in_parallel};

/// Deleted rows of a data file.
pub(crate) struct RowsToDelete {
    pub task: ScanTask,
    pub positions: PositionSet,
}

/// Names the rows in new delete files. Version 2 writes position delete files. Version 3 writes deletion vectors, which
/// include earlier vectors and position deletes, since a data file has at most one. Files without remaining rows are
/// removed.
///
/// # Errors
/// Errors of reading and writing delete files; a cancellation.
pub(crate) fn write_deletes(view: &View, rows: Vec<RowsToDelete>, effect: &mut Effect) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let form = DeleteForm::of_version(view.table.format_version())?;
    let writer = PositionDeleteWriter::new(view.store().clone(), view.table.write_context(0)?, form)?;
    let earlier = Earlier::new(view, form)?;
    let (writer, gone) = (Mutex::new(writer), Mutex::new(Vec::new()));
    let lock = |writer: &Mutex<PositionDeleteWriter>, file: &DataFile, positions| {
        writer.lock().unwrap_or_else(PoisonError::into_inner).delete(file, positions)
    };
    let replaced = in_parallel(rows.len(), |i| {
        check_cancelled()?;
        let RowsToDelete { task, positions } = &rows[i];
        let file = &task.data_file;
        let (all, replaced) = earlier.united(task, positions).with("data_file", &file.path)?;
        if i64::try_from(all.len()) == Ok(file.record_count) {
            gone.lock().unwrap_or_else(PoisonError::into_inner).push(view.removable(file));
            return Ok(Vec::new());
        }
        lock(&writer, file, all)?;
        Ok(replaced)
    })?;
    let gone = gone.into_inner().unwrap_or_else(PoisonError::into_inner);
    effect.added.add(writer.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?);
    effect.required.extend(rows.iter().map(|r| r.task.data_file.path.clone()));
    let stay: HashSet<&str> = effect.added.files().iter().filter_map(|f| f.referenced_data_file.as_deref()).collect();
    gone.iter().filter(|file| !stay.contains(file.path.as_str())).for_each(|file| {
        effect.required.remove(&file.path);
    });
    effect.removed.extend(gone);
    effect.removed.extend(replaced.into_iter().flatten().map(|file| view.removable(&file)));
    Ok(())
}

/// Refuses data files that are listed more than once with different deletes. Positions name a file by its path, so they
/// would also apply to rows added after the deletes.
///
/// # Errors
/// `Unsupported` naming the file.
pub(crate) fn check_listed_once<'t>(tasks: impl IntoIterator<Item = &'t ScanTask>) -> Result<()> {
    let mut deletes: HashMap<&str, &ScanTask> = HashMap::new();
    for task in tasks {
        let known = deletes.entry(&task.data_file.path).or_insert(task);
        let of = |task: &'t ScanTask| task.deletes.iter().map(|d| FileId::of(&d.file));
        if !of(known).eq(of(task)) {
            return Err(listed_with_other_deletes(&task.data_file.path));
        }
    }
    Ok(())
}

/// As [`check_listed_once`], for all files whose rows a deletion vector may name. The vector includes earlier deletes
/// and would apply them to every entry of the file.
///
/// # Errors
/// As [`check_listed_once`].
pub(crate) fn check_tasks(view: &View, mode: Mode, tasks: &[ScanTask]) -> Result<()> {
    let vectors = mode == Mode::MergeOnRead && view.table.format_version() >= 3;
    if vectors { check_listed_once(tasks) } else { Ok(()) }
}

/// A data file is listed more than once, with different deletes.
pub(crate) fn listed_with_other_deletes(path: &str) -> Error {
    Error::unsupported("a data file is in the table more than once, with other deletes each time")
        .with("path", path)
        .hint("Compact the table with rewrite_all=True first")
}

/// The earlier deletes of data files.
struct Earlier<'v> {
    view: &'v View,
    form: DeleteForm,
    context: Arc<crate::format::task::ReadContext>,
    cache: DeleteCache,
}

impl<'v> Earlier<'v> {
    fn new(view: &'v View, form: DeleteForm) -> Result<Earlier<'v>> {
        let context = view.scan(Predicate::True)?.context().clone();
        Ok(Earlier { view, form, context, cache: DeleteCache::default() })
    }

    /// All positions that the new delete file must name, and the delete files that it replaces.
    fn united(&self, task: &ScanTask, positions: &PositionSet) -> Result<(PositionSet, Vec<DataFile>)> {
        let mut all = positions.clone();
        let by_position = |d: &&DeleteRef| d.file.content == FileContent::PositionDeletes;
        let deletes: Vec<DeleteRef> = task.deletes.iter().filter(by_position).cloned().collect();
        if self.form == DeleteForm::Files {
            // Earlier position delete files stay. They matter only if no row is left together with them.
            let most =
                deletes.iter().map(|d| d.file.record_count.max(0).unsigned_abs()).fold(all.len(), u64::saturating_add);
            if i64::try_from(most).is_ok_and(|most| most < task.data_file.record_count) {
                return Ok((all, Vec::new()));
            }
        }
        let known = DeleteFilter::load(self.view.store(), &self.context, &task.data_file, &deletes, &self.cache)?;
        if let Some(known) = known.positions() {
            all.unite(known);
        }
        if self.form == DeleteForm::Files {
            let is_all = i64::try_from(all.len()) == Ok(task.data_file.record_count);
            return Ok((if is_all { all } else { positions.clone() }, Vec::new()));
        }
        // A delete file that also names rows of other data files must stay; readers ignore it for files with a vector.
        let only = |d: &DeleteRef| {
            d.file.format == FileFormat::Puffin
                || d.file.referenced_data_file.as_deref() == Some(task.data_file.path.as_str())
        };
        Ok((all, deletes.iter().filter(|d| only(d)).map(|d| d.file.as_ref().clone()).collect()))
    }
}
