//! A planned scan, as a leaf of DataFusion's physical plans.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::stats::Precision;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{Result, Statistics, internal_err};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion_physical_plan::execution_plan::{
    Boundedness, EmissionType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use datafusion_physical_plan::stream::EmptyRecordBatchStream;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, StatisticsArgs};

use crate::source::{Part, Plan};
use crate::stream;

/// Reads the parts of a plan, one in each partition.
#[derive(Debug)]
pub(crate) struct FrazilScan {
    schema: SchemaRef,
    parts: Vec<Arc<Part>>,
    rows: Option<usize>,
    filters: String,
    properties: Arc<PlanProperties>,
}

impl FrazilScan {
    /// Reads `plan`. Its batches have the columns of `schema`. `filters` is shown to users.
    pub(crate) fn new(schema: SchemaRef, plan: Plan, filters: String) -> FrazilScan {
        // A plan without parts has one partition, which is empty.
        let partitions = Partitioning::UnknownPartitioning(plan.parts.len().max(1));
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            partitions,
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let parts = plan.parts.into_iter().map(Arc::new).collect();
        FrazilScan { schema, parts, rows: plan.rows, filters, properties: Arc::new(properties) }
    }

    /// This plan, for which nothing changes.
    fn leaf(self: Arc<Self>, children: &[Arc<dyn ExecutionPlan>]) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("a scan of Frazil has no children") }
    }

    fn row_count(&self, partition: Option<usize>) -> Precision<usize> {
        match (partition, self.rows) {
            (None, Some(rows)) => Precision::Exact(rows),
            (None, None) => Precision::Inexact(self.parts.iter().map(|part| part.rows).sum()),
            (Some(at), _) => self.parts.get(at).map_or(Precision::Exact(0), |part| Precision::Inexact(part.rows)),
        }
    }
}

impl DisplayAs for FrazilScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "FrazilScan: columns=[{}], parts={}", names.join(", "), self.parts.len())?;
        if self.filters.is_empty() { Ok(()) } else { write!(f, ", filter={}", self.filters) }
    }
}

impl ExecutionPlan for FrazilScan {
    fn name(&self) -> &str {
        "FrazilScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.leaf(&children)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.leaf(&children)
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        match self.parts.get(partition) {
            Some(part) => stream::read(Arc::clone(part), Arc::clone(&self.schema)),
            None => Ok(Box::pin(EmptyRecordBatchStream::new(Arc::clone(&self.schema)))),
        }
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema);
        statistics.num_rows = self.row_count(args.partition());
        Ok(Arc::new(statistics))
    }
}
