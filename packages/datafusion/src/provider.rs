//! A scan of Frazil as a table of DataFusion.

use std::sync::Arc;
use std::thread;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_session::{Session, TableProvider};
use tokio::sync::oneshot;

use crate::filter::weakened;
use crate::plan::FrazilScan;
use crate::source::{Plan, Request, Source};

/// A table of DataFusion that a scan of Frazil reads.
#[derive(Debug)]
pub(crate) struct FrazilTable {
    source: Arc<Source>,
}

impl FrazilTable {
    pub(crate) fn new(source: Source) -> FrazilTable {
        FrazilTable { source: Arc::new(source) }
    }

    fn text_of(&self, filter: &Expr) -> Option<String> {
        if self.source.takes_filters { weakened(filter, &self.source.schema) } else { None }
    }
}

#[async_trait]
impl TableProvider for FrazilTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.source.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// DataFusion applies every filter again, so Frazil may return more rows, but never fewer.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let kind = |filter: &&Expr| match self.text_of(filter) {
            Some(_) => TableProviderFilterPushDown::Inexact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(kind).collect())
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(columns) => Arc::new(self.source.schema.project(columns)?),
            None => Arc::clone(&self.source.schema),
        };
        let texts: Vec<String> = filters.iter().filter_map(|filter| self.text_of(filter)).collect();
        let shown = texts.join(" and ");
        let request = Request {
            columns: schema.fields().iter().map(|field| field.name().clone()).collect(),
            filters: texts,
            // The limit counts rows that all filters keep, and Frazil may keep more.
            limit: limit.filter(|_| filters.is_empty()),
            parts: session.config().target_partitions(),
            batch_rows: session.config().batch_size(),
        };
        let plan = planned(Arc::clone(&self.source), request).await?;
        Ok(Arc::new(FrazilScan::new(schema, plan, shown)))
    }
}

/// Plans in a thread of its own, because it reads files of the table.
async fn planned(source: Arc<Source>, request: Request) -> Result<Plan> {
    let failed = || DataFusionError::Internal("the thread that plans stopped before its end".to_owned());
    let (sender, receiver) = oneshot::channel();
    let work = move || {
        // Nobody listens if the query was stopped.
        sender.send(source.plan(request)).unwrap_or_else(drop);
    };
    thread::Builder::new()
        .name("frazil-datafusion-plan".to_owned())
        .spawn(work)
        .map_err(|e| DataFusionError::Execution(format!("no thread could be started to plan: {e}")))?;
    receiver.await.map_err(|_| failed())?
}
