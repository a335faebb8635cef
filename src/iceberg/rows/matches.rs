//! The part of a merge whose matches another engine has found.

use super::apply::apply;
use super::positions::check_tasks;
use super::view::{Mode, View};
use crate::error::Result;
use crate::expr::Predicate;
use crate::format::row_change::Merge;
use crate::iceberg::rows::effect::Effect;
use crate::iceberg::rows::inserts::Inserts;
use crate::iceberg::rows::plan::tasks_of;
use crate::rows::row_changes::clauses::{Clauses, check_insert};
use crate::rows::row_changes::matched_rows::MatchedSource;
use crate::rows::stream::RowReader;

/// Applies the merge to matching rows and inserts the others. `filter` is true for all rows that match.
///
/// # Errors
/// As [`MatchedSource::read`]; `InvalidInput` if a row of the table matches several rows of the source, unless all
/// matches are deleted; errors of the merge itself.
pub(crate) fn matches(
    view: &View,
    mode: Mode,
    merge: &Merge,
    filter: &Predicate,
    rows: RowReader,
    task: u64,
) -> Result<Effect> {
    let schema = view.table.schema();
    let source = MatchedSource::new(rows, schema, merge)?;
    let mut inserts = Inserts::new(view, merge, &source.empty(), task)?;
    let matched = source.read(merge, &mut |rows| inserts.as_mut().map_or(Ok(()), |inserts| inserts.write(&rows)))?;
    let mut effect = Effect::none(view);
    // This comes first, so that the inserted files are deleted on errors.
    if let Some(inserts) = inserts {
        let (files, rows) = inserts.finish()?;
        effect.added.add(files);
        effect.counts.inserted = rows;
    }
    let clauses = Clauses::new(schema, merge, &matched.source)?;
    check_insert(schema, merge, &matched.source)?;
    let tasks = tasks_of(view, filter, &matched.files())?;
    let (hits, matching) = matched.hits(tasks, &clauses)?;
    check_tasks(view, mode, &hits.iter().map(|h| h.task.clone()).collect::<Vec<_>>())?;
    let done = apply(view, mode, hits, &clauses)?;
    effect.added.join(done.added);
    effect.removed = done.removed;
    effect.required = done.required;
    effect.counts.updated = done.counts.updated;
    effect.counts.deleted = done.counts.deleted;
    effect.required.extend(matching);
    Ok(effect)
}
