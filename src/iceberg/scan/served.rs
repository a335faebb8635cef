//! Scans that the catalog's server plans, and reports of those that are planned here.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use crate::error::Result;
use crate::format::task::ReadContext;
use crate::iceberg::catalog::reports::{MetricsReport, ScanReport};
use crate::iceberg::plan::changes::{AnyPlan, ReportedPlan};
use crate::iceberg::plan::input::PlanInput;
use crate::iceberg::plan::planned::PlanCounters;
use crate::iceberg::plan::served::plan::ServedPlan;
use crate::iceberg::plan::served::planner::{ScanPlanner, ServedFiles, ServedPages, ServedScan};
use crate::iceberg::scan::history::History;
use crate::iceberg::state::IcebergTable;
use crate::parallel::{CountedPlan, PlanMetrics};
use crate::store::credentials::current_options;
use crate::store::{Store, open_store};
use crate::types::metadata_columns::{LINEAGE_COLUMNS, is_metadata};
use crate::types::{FieldId, Schema, Type};

/// A scan, as far as its plan depends on it.
pub(crate) struct PlannedScan<'a> {
    pub(crate) table: &'a IcebergTable,
    pub(crate) history: &'a History,
    pub(crate) context: &'a Arc<ReadContext>,
    pub(crate) input: PlanInput,
}

/// A plan of the server that has begun.
pub(crate) struct BegunPlan {
    /// The name of the plan. Empty if the server gave none.
    pub(crate) plan_id: String,
    pub(crate) plan: ServedPlan,
    /// The store of the plan's files and the context of its tasks, if they are not those of the scan.
    pub(crate) granted: Option<(Arc<dyn Store>, ReadContext)>,
}

impl PlannedScan<'_> {
    /// Whether the catalog's server plans the scan.
    ///
    /// # Errors
    /// Those of the pointer to the table's version.
    pub(crate) fn is_served(&self) -> Result<bool> {
        Ok(self.asked_planner()?.is_some())
    }

    /// Asks the server for a plan. `None` if the scan is planned here: the table is not planned by a server, or the
    /// server can't plan such scans.
    ///
    /// # Errors
    /// Those of the pointer to the table's version; as [`ScanPlanner::plan`].
    pub(crate) fn served(&self) -> Result<Option<BegunPlan>> {
        let Some((planner, files)) = self.asked_planner()? else { return Ok(None) };
        let (began, input) = (Instant::now(), &self.input);
        let metadata = &input.metadata;
        let current = metadata.schema()?;
        let of_snapshot = input.snapshot.as_ref().map_or(Ok(current), |s| metadata.schema_of_snapshot(s))?;
        let schemas = [of_snapshot.clone(), current.clone()];
        let mut columns = leaves(&input.schema, &self.read_columns());
        // Under another name, a server would find another column, or none.
        columns.retain(|(id, name)| schemas.iter().all(|schema| schema.name_of(*id).as_ref() == Some(name)));
        let select: Vec<String> = columns.into_iter().map(|(_, name)| name).collect();
        let pages = planner.plan(&ServedScan {
            files,
            filter: input.filter.clone(),
            schemas,
            metrics: if input.column_metrics { select.clone() } else { Vec::new() },
            select,
        })?;
        let plan_id = pages.plan_id().unwrap_or_default().to_owned();
        let granted = self.granted(pages.as_ref())?;
        Ok(Some(BegunPlan { plan_id, granted, plan: ServedPlan::new(pages, input, began) }))
    }

    /// The server's planner for this scan, and the files that it is asked for.
    fn asked_planner(&self) -> Result<Option<(Arc<dyn ScanPlanner>, ServedFiles)>> {
        let Some(files) = self.served_files() else { return Ok(None) };
        let planner = self.table.inner.versions.planner()?;
        let is_planned = |planner: &Arc<dyn ScanPlanner>| match files {
            ServedFiles::Version(_) => true,
            ServedFiles::Appended { .. } => planner.plans_appends(),
        };
        Ok(planner.filter(is_planned).map(|planner| (planner, files)))
    }

    /// The files that a server would be asked for. `None` for scans that it can't plan: changes of rows, columns of the
    /// rows' history (tasks have no sequence numbers), and plans for files that are written again.
    fn served_files(&self) -> Option<ServedFiles> {
        let until = self.snapshot_id()?;
        if self.input.all_deletes || self.read_columns().iter().any(|id| LINEAGE_COLUMNS.contains(id)) {
            return None;
        }
        match self.history {
            History::None => Some(ServedFiles::Version(until)),
            // Servers want both ends.
            History::Appends(snapshots) => Some(ServedFiles::Appended { since: snapshots.first()?.parent_id?, until }),
            History::Changes(_) => None,
        }
    }

    fn snapshot_id(&self) -> Option<i64> {
        self.input.snapshot.as_ref().map(|s| s.id)
    }

    /// The columns that reading needs, by id.
    fn read_columns(&self) -> Vec<FieldId> {
        let mut ids: Vec<FieldId> = self.context.projection.field_ids().collect();
        ids.extend(self.input.filter.field_ids());
        ids
    }

    /// What the files of a plan are read with, if the plan has credentials.
    fn granted(&self, pages: &dyn ServedPages) -> Result<Option<(Arc<dyn Store>, ReadContext)>> {
        let Some(options) = pages.storage_options() else { return Ok(None) };
        let place = self.table.location();
        let store = open_store(place, options)?;
        let storage_options = current_options(&store.options(), place);
        let context = ReadContext { storage_options, ..self.context.as_ref().clone() };
        Ok(Some((store, context)))
    }

    /// A plan of this process. Its end is reported to the catalog if it wants to know, and counted if somebody listens.
    pub(crate) fn reported(&self, plan: AnyPlan) -> AnyPlan {
        let to_catalog = self.to_catalog();
        let counted = CountedPlan::begin();
        if to_catalog.is_none() && counted.is_none() {
            return plan;
        }
        let has_cache = self.input.cache.is_some();
        let at_end = move |counters: &PlanCounters| {
            if let Some(counted) = counted {
                counted.end(metrics_of(has_cache, counters));
            }
            if let Some(report) = to_catalog {
                report(counters);
            }
        };
        AnyPlan::Reported(Box::new(ReportedPlan::new(plan, Box::new(at_end))))
    }

    /// Reports the plan to the catalog. `None` if it does not want to know.
    fn to_catalog(&self) -> Option<impl FnOnce(&PlanCounters) + Send + use<>> {
        let versions = &self.table.inner.versions;
        let (History::None, Some(snapshot_id), true) = (self.history, self.snapshot_id(), versions.takes_reports())
        else {
            return None;
        };
        let schema = &self.context.schema;
        let (columns, schema_id) = (leaves(schema, &self.read_columns()), schema.id);
        let (filter, versions) = (self.input.filter.clone(), versions.clone());
        Some(move |counters: &PlanCounters| {
            let counters = counters.clone();
            let report = ScanReport { snapshot_id, schema_id, filter, columns, counters };
            versions.report(&MetricsReport::Scan(Box::new(report)));
        })
    }
}

/// What a plan counted, for those who listen to its call.
pub(crate) fn metrics_of(has_cache: bool, counters: &PlanCounters) -> PlanMetrics {
    PlanMetrics { counts: counters.metrics(), cache: has_cache.then(|| counters.cached()) }
}

/// The columns without members among these, by id and full name. Metadata columns are left out.
fn leaves(schema: &Schema, ids: &[FieldId]) -> Vec<(FieldId, String)> {
    let leaf = |id: &FieldId| {
        let path = schema.path(*id)?;
        let is_leaf = matches!(path.last()?.ty, Type::Primitive(_));
        let is_of_table = !is_metadata(path.first()?.id);
        (is_leaf && is_of_table).then(|| (*id, path.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(".")))
    };
    let mut out: Vec<(FieldId, String)> = ids.iter().filter_map(leaf).collect();
    let mut seen = HashSet::new();
    out.retain(|(id, _)| seen.insert(*id));
    out
}
