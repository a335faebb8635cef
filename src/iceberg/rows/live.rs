//! The current rows of data files, with their positions.

use std::sync::Arc;

use super::view::View;
use crate::data::read::read_ahead::ScanReader;
use crate::error::Result;
use crate::expr::{BoundPredicate, Predicate};
use crate::format::task::{DataFile, ReadContext, ScanTask};
use crate::iceberg::write::contexts::lineage_columns;
use crate::rows::row_changes::placed::{Placed, PlacedRows, placed, without_ids};
use crate::types::metadata_columns::{LINEAGE_COLUMNS, POS, metadata_column};
use crate::types::{Field, Schema};

/// An id that no row has. It is so far below 0 that ids counted from it are below 0 too.
const NO_ROW_ID: i64 = i64::MIN / 2;

/// Reads rows that no delete file names.
pub(crate) struct LiveRows<'v> {
    view: &'v View,
    reader: ScanReader,
    /// The indexes of the lineage columns, if they are read.
    lineage: Option<[usize; 2]>,
}

impl<'v> LiveRows<'v> {
    /// Creates a reader of these columns of the table. Where a row's identity must be kept, the lineage columns
    /// follow.
    ///
    /// # Errors
    /// `Unsupported` if the table has a column with the name of one of lineage.
    pub(crate) fn new(view: &'v View, columns: &[Field], lineage: bool) -> Result<LiveRows<'v>> {
        let own = view.table.schema();
        let lineage = lineage && view.table.format_version() >= 3;
        let mut fields = columns.to_vec();
        if lineage {
            fields.extend(lineage_columns(own)?);
        }
        fields.extend(metadata_column(POS));
        let more = LINEAGE_COLUMNS.into_iter().filter(|_| lineage).chain([POS]).filter_map(metadata_column);
        let schema = Schema::new(own.id, own.fields.iter().cloned().chain(more).collect::<Vec<_>>(), Vec::new());
        let scan = view.scan(Predicate::True)?;
        let context = ReadContext {
            schema: Arc::new(schema),
            projection: Arc::new(Schema::new(own.id, fields, Vec::new())),
            ..scan.context().as_ref().clone()
        };
        let reader = ScanReader { store: view.store().clone(), context: Arc::new(context), deletes: Arc::default() };
        Ok(LiveRows { view, reader, lineage: lineage.then_some([columns.len(), columns.len() + 1]) })
    }

    /// The indexes of the lineage columns, if they are read.
    pub(crate) fn lineage(&self) -> Option<[usize; 2]> {
        self.lineage
    }

    /// The rows of a task that its residual keeps.
    ///
    /// # Errors
    /// As [`ScanReader::read`].
    pub(crate) fn read(&self, task: &ScanTask) -> Result<PlacedRows> {
        let own = self.lineage.filter(|_| self.view.is_own(&task.data_file));
        let batches = match own {
            None => self.reader.read(task)?,
            Some(_) => {
                let file = DataFile {
                    first_row_id: Some(NO_ROW_ID),
                    sequence_number: None,
                    ..task.data_file.as_ref().clone()
                };
                self.reader.read(&ScanTask { data_file: Arc::new(file), ..task.clone() })?
            }
        };
        Ok(Box::new(batches.map(move |batch| {
            let placed = placed(batch?)?;
            match own {
                None => Ok(placed),
                Some([row_id, _]) => Ok(Placed { rows: without_ids(&placed.rows, row_id)?, ..placed }),
            }
        })))
    }

    /// All rows of a task.
    ///
    /// # Errors
    /// As [`ScanReader::read`].
    pub(crate) fn read_all(&self, task: &ScanTask) -> Result<PlacedRows> {
        self.read(&ScanTask { residual: Arc::new(BoundPredicate::True), ..task.clone() })
    }
}
