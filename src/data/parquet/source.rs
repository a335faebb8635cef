//! A Parquet file as a source of rows.
//!
//! Row groups and pages that the filter rules out are skipped, by their statistics and bloom filters. Flat columns are
//! decoded by [`super::column_reader`], all others by [`super::read`].

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::Schema as ArrowSchema;
use parquet::file::metadata::ParquetMetaData;

use super::bloom_filters::BloomFilters;
use super::column_reader::FlatPlan;
use super::file::ParquetFile;
use super::plan::{DecodePlan, pruner};
use super::read::{check_wide, decode};
use super::row_groups::{in_range, range_of};
use crate::data::read::guard::guard;
use crate::data::read::source::{DecodeRequest, FilePart, FormatFile, Started};
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::store::Store;
use crate::types::FieldId;

/// A Parquet file to read rows from.
pub(crate) struct ParquetSource {
    file: ParquetFile,
    /// The row groups that may matter.
    groups: Vec<usize>,
}

impl ParquetSource {
    /// Opens it.
    ///
    /// # Errors
    /// The errors of [`ParquetFile::open`].
    pub(crate) fn open(store: &Arc<dyn Store>, path: &str) -> Result<ParquetSource> {
        let file = ParquetFile::open(store, path)?;
        let groups = (0..file.footer().num_row_groups()).collect();
        Ok(ParquetSource { file, groups })
    }
}

impl FormatFile for ParquetSource {
    fn schema(&self) -> &ArrowSchema {
        self.file.metadata.schema()
    }

    fn read_nanos(&mut self, leaves: &BTreeSet<usize>) -> Result<()> {
        self.file.read_nanos(leaves)
    }

    fn narrow(&mut self, part: &FilePart<'_>) -> Result<bool> {
        let pruner = pruner(part);
        let footer = self.file.footer();
        let rows = footer.row_groups().iter().map(|g| g.num_rows().max(0) as u64).fold(0, u64::saturating_add);
        part.recorded.check_whole(rows, self.file.size())?;
        self.groups = guard(|| {
            let mut groups = in_range(footer, part.range.clone());
            // Statistics that cannot be decoded rule nothing out.
            groups.retain(|&group| guard(|| Ok(pruner.may_match(footer, group))).unwrap_or(true));
            check_row_groups(footer, &groups)?;
            // A chunk without rows may have no pages, and an offset of its first page that means nothing.
            groups.retain(|&group| footer.row_groups().get(group).is_some_and(|g| g.num_rows() > 0));
            Ok(groups)
        })?;
        let blooms = BloomFilters::new(part);
        let mut kept = Vec::with_capacity(self.groups.len());
        for &group in &self.groups {
            if blooms.may_match(&self.file, group)? {
                kept.push(group);
            }
        }
        self.groups = kept;
        Ok(!self.groups.is_empty())
    }

    fn range_of(&self, part: &FilePart<'_>, column: FieldId) -> BoundPredicate {
        guard(|| Ok(range_of(self.file.footer(), &self.groups, part, column))).unwrap_or(BoundPredicate::True)
    }

    fn start(self: Box<Self>, part: &FilePart<'_>, request: DecodeRequest) -> Result<Option<Started>> {
        let ParquetSource { mut file, groups } = *self;
        let leaves = request.all_leaves();
        file.check_plain(leaves.iter().copied())?;
        let mut plan = DecodePlan { metadata: file.metadata.clone(), groups, selection: None, leaves };
        if **part.filter != BoundPredicate::True && !request.test.leaves().is_empty() && plan.can_skip() {
            plan.use_page_index(&file, part)?;
        }
        if plan.selection.as_ref().is_some_and(|s| !s.selects_any()) {
            return Ok(None);
        }
        if plan.leaves.is_empty() {
            part.recorded.check_unread(plan.rows())?;
        }
        let wide = file.wide_leaves(&plan.leaves);
        if !wide.is_empty() {
            file = check_wide(file, &plan, wide, request.batch_rows)?;
        }
        match FlatPlan::of(&plan, &plan.leaves) {
            Some(flat) => flat.start(file, plan, part, request).map(Some),
            None => decode(file, plan, part, request).map(Some),
        }
    }
}

/// Rejects row groups whose numbers contradict themselves, before the numbers are used.
fn check_row_groups(metadata: &ParquetMetaData, groups: &[usize]) -> Result<()> {
    for group in groups.iter().filter_map(|&i| metadata.row_groups().get(i)) {
        let rows = group.num_rows();
        // Every row has at least one value, null or not, in every leaf column.
        if rows < 0 || group.columns().iter().any(|c| c.num_values() < rows) {
            return Err(Error::corrupt(format!("a row group claims {rows} rows, but a column of it has fewer values")));
        }
        if group.columns().iter().any(|c| c.file_path().is_some()) {
            return Err(Error::unsupported("Parquet files with columns in other files cannot be read"));
        }
    }
    Ok(())
}
