//! The rows of a state that an earlier state did not have.
//!
//! Both states are merged, and the merged rows are compared key by key, in all columns, even if few are selected. Keys
//! that were removed give no row, as in Java's `IncrementalDiffSplitRead`.

use arrow::array::{Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, SchemaRef};

use super::picks::{Picks, RowPlace};
use super::read::{MergeInput, SectionMerge};
use super::runs::{MergeStep, SortedRuns};
use crate::data::arrow::schema::to_arrow;
use crate::error::{Error, Result};
use crate::format::task::{MergeSection, ScanTask};
use crate::types::{Field, Schema};

/// Which of the two merged states is the later one.
const AFTER: usize = 1;

/// Streams the rows of a section that its state before did not have.
pub(crate) struct DifferentRows {
    fields: Vec<Field>,
    schema: SchemaRef,
    /// `None` after the end or an error.
    runs: Option<SortedRuns>,
    most: usize,
}

impl DifferentRows {
    /// Starts to compare. `before` are the sorted runs of the state before.
    ///
    /// # Errors
    /// The errors of merging.
    pub(crate) fn new(
        reading: MergeInput<'_>,
        task: &ScanTask,
        section: &MergeSection,
        before: &[Vec<ScanTask>],
    ) -> Result<DifferentRows> {
        let merge = SectionMerge::plan(reading.context, task, true, true)?;
        let fields = merge.fields.clone();
        let schema = to_arrow(&Schema::new(reading.context.schema.id, fields.clone(), Vec::new()))?;
        let types: Vec<DataType> = schema.fields().iter().map(|f| f.data_type().clone()).collect();
        let (before, after) = (merge.rows(reading, before)?, merge.rows(reading, &section.runs)?);
        let runs = SortedRuns::new(vec![Box::new(before), Box::new(after)], merge.merged_layout(), &types)?;
        Ok(DifferentRows { fields, schema, runs: Some(runs), most: reading.context.batch_rows })
    }

    /// The columns of the rows, the kind among them.
    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(runs) = &mut self.runs else { return Ok(None) };
        let mut picks = Picks::default();
        let mut members: Vec<(usize, RowPlace)> = Vec::new();
        while picks.rows() < self.most {
            if picks.rows() == 0 {
                runs.forget();
            }
            match runs.next(self.most - picks.rows(), &mut members)? {
                MergeStep::End => break,
                MergeStep::Rows { run: AFTER, slot, start, rows } => picks.push_rows(slot, start, rows),
                MergeStep::Rows { .. } => {}
                MergeStep::Group => {
                    let place = |run: usize| members.iter().find(|(of, _)| *of == run).map(|(_, place)| *place);
                    if let Some(after) = place(AFTER).filter(|after| !is_same(runs, place(1 - AFTER), *after)) {
                        picks.push_rows(after.slot, after.row, 1);
                    }
                }
            }
        }
        if picks.rows() == 0 {
            return Ok(None);
        }
        let gather = picks.gather();
        let column = |(index, field): (usize, &Field)| {
            picks.array(&gather, &field.ty, |slot| runs.live.get(slot as usize).and_then(|b| b.columns.get(index)))
        };
        let columns = self.fields.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(picks.rows()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options);
        batch.map(Some).map_err(|e| Error::internal("merged rows are not an Arrow batch").because(e))
    }
}

/// Whether both rows have the same values in all columns except the last, which is the kind.
fn is_same(runs: &SortedRuns, before: Option<RowPlace>, after: RowPlace) -> bool {
    let batch = |place: RowPlace| runs.live.get(place.slot as usize);
    let Some((before, (a, b))) = before.and_then(|p| Some((p, batch(p).zip(batch(after))?))) else { return false };
    let values = a.columns.len().saturating_sub(1);
    let columns = a.columns.iter().zip(&b.columns).take(values);
    columns
        .into_iter()
        .all(|(a, b)| a.slice(before.row as usize, 1).as_ref() == b.slice(after.row as usize, 1).as_ref())
}

impl Iterator for DifferentRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_batch();
        if !matches!(next, Ok(Some(_))) {
            self.runs = None;
        }
        next.transpose()
    }
}
