//! Scans of the toy format.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;

use super::table::{TOY, ToyTable};
use crate::data::read::read_ahead::{ScanReader, TaskSource};
use crate::error::Result;
use crate::expr::{BoundPredicate, Predicate};
use crate::format::request::{At, ScanRequest};
use crate::format::splits::{SplitRequest, pack};
use crate::format::table_format::TableFormat;
use crate::format::task::{ReadContext, ScanTask, Split};
use crate::rows::explanation::{Explain, Explained, FunnelStage};
use crate::rows::judged_files::{Judged, encode_judged, manifest_schema};
use crate::rows::scan_options::ScanOptions;
use crate::rows::seam::{Scan, Table};
use crate::rows::shape::ScanShape;
use crate::rows::stream::{BatchStream, StreamRequest};
use crate::store::Location;

#[derive(Clone, Debug)]
pub(super) struct ToyScan {
    table: ToyTable,
    shape: ScanShape,
    request: ScanRequest,
}

impl ToyScan {
    pub(crate) fn new(table: &ToyTable, request: ScanRequest) -> Result<ToyScan> {
        if request.since.is_some() || request.changes {
            return Err(TOY.lacks("what came between versions"));
        }
        let table = match &request.at {
            None => table.clone(),
            Some(At::Snapshot(version)) => table.at(*version)?,
            Some(_) => return Err(TOY.lacks("references")),
        };
        let options = ScanOptions::parse(&request.options)?;
        let context = ReadContext {
            schema: table.schema.clone(),
            projection: table.schema.clone(),
            dropped: [].into(),
            change_filter: Arc::new(BoundPredicate::True),
            snapshot_id: table.snapshot().map(|s| s.id),
            location: Location::recorded(),
            storage_options: table.store.options(),
            name_mapping: None,
            keep_deleted: false,
            batch_rows: options.batch_rows,
            buckets: None,
        };
        let shape = ScanShape::new(context, table.schema.clone(), options.case_sensitive, false);
        let shape = shape.with(request.filter.clone(), request.select.clone())?;
        Ok(ToyScan { table, shape, request })
    }

    fn tasks(&self) -> Vec<ScanTask> {
        let task = |data_file: &Arc<_>| ScanTask {
            data_file: Arc::clone(data_file),
            start: 0,
            length: data_file.size_bytes,
            deletes: Vec::new(),
            residual: self.shape.filter.clone(),
            change: None,
            merge: None,
        };
        self.table.files.iter().map(task).collect()
    }

    fn rows(&self) -> u64 {
        self.table.files.iter().map(|file| file.record_count.unsigned_abs()).sum()
    }
}

impl Scan for ToyScan {
    fn format(&self) -> &'static TableFormat {
        &TOY
    }
    fn filter(&self, predicate: Predicate) -> Result<Box<dyn Scan>> {
        Ok(Box::new(ToyScan { shape: self.shape.filter(predicate)?, ..self.clone() }))
    }
    fn select(&self, columns: &[String]) -> Result<Box<dyn Scan>> {
        Ok(Box::new(ToyScan { shape: self.shape.select(columns)?, ..self.clone() }))
    }
    fn limit(&self, rows: usize) -> Box<dyn Scan> {
        Box::new(ToyScan { shape: self.shape.limit(rows), ..self.clone() })
    }
    fn context(&self) -> &Arc<ReadContext> {
        &self.shape.context
    }
    fn whole_filter(&self) -> BoundPredicate {
        self.shape.whole_filter()
    }
    fn snapshot_id(&self) -> Option<i64> {
        self.shape.context.snapshot_id
    }
    fn plan_files(&self) -> Result<TaskSource> {
        let mut tasks = self.tasks().into_iter();
        Ok(Box::new(move || Ok(tasks.next())))
    }
    fn splits(&self, request: SplitRequest) -> Result<Vec<Split>> {
        let groups = pack(self.tasks(), &request.or(&self.request.options, &self.table.properties())?)?;
        Ok(groups.into_iter().map(|tasks| Split { context: self.shape.context.clone(), tasks }).collect())
    }
    fn explain(&self, files: bool) -> Result<Explained> {
        let kept = self.count_files()?;
        let stage = FunnelStage { name: "files", unit: "data file", considered: kept, kept, ..FunnelStage::default() };
        let explain = Explain {
            table: self.table.root.clone(),
            format: TOY.id,
            format_version: 1,
            snapshot_id: self.snapshot_id(),
            filter: self.whole_filter().to_string(),
            select: self.context().projection.fields.iter().map(|f| f.name.clone()).collect(),
            stages: vec![stage],
            rows: self.rows(),
            ..Explain::default()
        };
        let judge = |file| Judged { file, kept: true, stage: "files", reason: "no pruning", deletes: 0, manifest: "" };
        let judged: Vec<_> = self.table.files.iter().map(|file| judge(file.as_ref())).collect();
        let files = files.then(|| Ok(vec![encode_judged(&judged)?])).transpose()?;
        Ok(Explained { explain, manifests: RecordBatch::new_empty(manifest_schema()), files })
    }
    fn read(&self, request: StreamRequest) -> Result<BatchStream> {
        let (store, context) = (self.table.store.clone(), self.shape.context.clone());
        let reader = ScanReader { store, context, deletes: Arc::default() };
        BatchStream::new(reader, self.plan_files()?, request, self.shape.limit)
    }
}
