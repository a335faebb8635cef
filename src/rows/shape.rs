//! The rows and columns of a scan, for any table format.

use std::sync::Arc;

use crate::error::Result;
use crate::expr::{BoundPredicate, Predicate, bind};
use crate::format::task::ReadContext;
use crate::types::metadata_columns::DELETED;
use crate::types::{Schema, select};

/// The request of a scan.
#[derive(Clone, Debug)]
pub(crate) struct ScanShape {
    /// The version's columns.
    own: Arc<Schema>,
    /// The columns that a request may name.
    all: Arc<Schema>,
    predicate: Predicate,
    /// The filter, bound to the columns of the table.
    pub filter: Arc<BoundPredicate>,
    /// The context that the tasks share.
    pub context: Arc<ReadContext>,
    select: Option<Vec<String>>,
    /// The most rows to read.
    pub limit: Option<usize>,
    /// Whether column names are case-sensitive.
    pub case_sensitive: bool,
    /// Whether the rows are changes.
    of_changes: bool,
}

impl ScanShape {
    /// A scan of all rows of `context`, which has the version's columns. `all` are the columns that a request may
    /// name.
    pub(crate) fn new(context: ReadContext, all: Arc<Schema>, case_sensitive: bool, of_changes: bool) -> ScanShape {
        ScanShape {
            own: context.schema.clone(),
            all,
            predicate: Predicate::True,
            filter: Arc::new(BoundPredicate::True),
            context: Arc::new(context),
            select: None,
            limit: None,
            case_sensitive,
            of_changes,
        }
    }

    /// The shape with a request's filter and columns.
    ///
    /// # Errors
    /// As [`ScanShape::filter`] and [`ScanShape::select`].
    pub(crate) fn with(self, filter: Option<Predicate>, select: Option<Vec<String>>) -> Result<ScanShape> {
        let shape = filter.map_or(Ok(self.clone()), |filter| self.filter(filter))?;
        select.map_or(Ok(shape.clone()), |columns| shape.select(&columns))
    }

    /// Adds a filter: a row must pass all of them.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the schema.
    pub(crate) fn filter(&self, predicate: Predicate) -> Result<ScanShape> {
        let predicate = self.predicate.clone().and(predicate);
        let bound = bind(&predicate, &self.all, self.case_sensitive)?;
        let mut context = self.context.as_ref().clone();
        let filter = match self.of_changes {
            true => {
                let (filter, change_filter) = crate::rows::change_columns::split_filter(bound)?;
                context.change_filter = Arc::new(change_filter);
                filter
            }
            false => bound,
        };
        let shape = ScanShape { predicate, filter: Arc::new(filter), ..self.clone() };
        match &self.select {
            Some(columns) => shape.with_context(context).select(columns),
            None => Ok(shape.with_context(context)),
        }
    }

    /// Reads only these columns (dotted paths), in this order.
    ///
    /// # Errors
    /// `InvalidInput` for a column that does not exist.
    pub(crate) fn select(&self, columns: &[String]) -> Result<ScanShape> {
        let projection = Arc::new(select::select(&self.all, columns, &self.filter.field_ids(), self.case_sensitive)?);
        let context = ReadContext { projection, ..self.context.as_ref().clone() };
        Ok(ScanShape { select: Some(columns.to_vec()), ..self.clone() }.with_context(context))
    }

    /// Reads at most `rows` rows.
    pub(crate) fn limit(&self, rows: usize) -> ScanShape {
        ScanShape { limit: Some(self.limit.map_or(rows, |l| l.min(rows))), ..self.clone() }
    }

    /// Reads with this context, and with the requested metadata columns.
    fn with_context(self, context: ReadContext) -> ScanShape {
        let schema = match self.of_changes {
            true => self.own.clone(),
            false => {
                crate::rows::change_columns::named_columns(&self.own, &self.all, &self.filter, &context.projection)
            }
        };
        let keep_deleted = schema.fields.iter().any(|f| f.id == DELETED);
        ScanShape { context: Arc::new(ReadContext { schema, keep_deleted, ..context }), ..self }
    }

    /// Whether the rows are changes.
    pub(crate) fn of_changes(&self) -> bool {
        self.of_changes
    }

    /// The columns that a request may name.
    pub(crate) fn all_columns(&self) -> &Arc<Schema> {
        &self.all
    }

    /// The filter, for changes with its questions about their own columns.
    pub(crate) fn whole_filter(&self) -> BoundPredicate {
        match self.of_changes {
            true => BoundPredicate::all([(*self.filter).clone(), (*self.context.change_filter).clone()]),
            false => (*self.filter).clone(),
        }
    }
}
