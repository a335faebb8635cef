//! Statistics of the current snapshot: rows, and distinct values, bounds, nulls and lengths of columns.
//!
//! They are in a JSON file, which a snapshot of kind `ANALYZE` names. Distinct values are estimated. Bounds of texts
//! and binaries are not recorded.
//!
//! Source: Java's `Statistics`, `ColStats`, `PaimonAnalyzeTableColumnCommand`; Spark's `CommandUtils`.

use std::sync::{Arc, Mutex};

use serde_json::{Map, json};

use super::column_facts::{ColumnFacts, is_analyzed};
use crate::data::read::read_ahead::ScanReader;
use crate::data::read::task::CountedBytes;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::commit_loop::CommitOutcome;
use crate::format::maintenance::{ComputedStatistics, StatisticsOptions};
use crate::format::request::ScanRequest;
use crate::format::task::{ReadContext, ScanTask};
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::Commit;
use crate::paimon::plan::compact_plan::bucket_files;
use crate::paimon::spec::data_type::DataField;
use crate::paimon::spec::pretty_json::pretty;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::paimon::state::PaimonTable;
use crate::parallel::{Phase, begin_phase, check_cancelled, in_parallel, locked_unless_cancelled, threads};
use crate::store::location::join;
use crate::types::select::{column_hint, prune_to};

impl PaimonTable {
    /// Computes statistics of the current snapshot by reading its rows, and commits them. Without columns, only rows
    /// are counted. Returns the table at its new version. A table without snapshots has no statistics.
    ///
    /// # Errors
    /// `InvalidInput` for unknown columns, and for columns that have members; `Unsupported` for other snapshots; those
    /// of reading and of the commit.
    pub(crate) fn compute_statistics(
        &self,
        options: &StatisticsOptions,
    ) -> Result<(PaimonTable, Option<ComputedStatistics>)> {
        let table = self.refresh()?;
        let Some(snapshot) = table.metadata().snapshot.clone() else { return Ok((table, None)) };
        if options.snapshot_id.is_some_and(|id| id != snapshot.id) {
            return Err(Error::unsupported("statistics of earlier snapshots: not with tables of Apache Paimon")
                .with("table", self.location())
                .hint("Leave out snapshot="));
        }
        let fields = table.analyzed(options.columns.as_deref())?;
        let (rows, facts) = table.facts(&fields)?;
        let mut columns = Map::new();
        let mut distinct = Vec::new();
        for (field, facts) in fields.iter().zip(facts) {
            let (described, count) = facts.describe(field, rows)?;
            columns.insert(field.name.clone(), described);
            distinct.push((field.name.clone(), count));
        }
        let bytes = pretty(&json!({
            "snapshotId": snapshot.id,
            "schemaId": snapshot.schema_id,
            "mergedRecordCount": rows,
            "mergedRecordSize": table.merged_bytes(&snapshot, rows)?,
            "colStats": columns,
        }));
        let name = format!("stat-{}-0", uuid::Uuid::new_v4());
        let path = join(&join(table.location(), "statistics"), &name);
        let store = table.folder().store();
        store.put_if_absent(&path, &bytes).inspect_err(|_| store.discard(vec![path.clone()]))?;
        let outcome = Commit::new(table.folder(), Changes::default()).with_statistics(&name).run();
        if matches!(outcome, CommitOutcome::Failed(_)) {
            store.discard(vec![path.clone()]);
        }
        outcome.into_result()?;
        let size_bytes = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let computed = ComputedStatistics { snapshot_id: snapshot.id, path: path.clone(), size_bytes, distinct };
        Ok((self.after_commit()?, Some(computed)))
    }

    /// The columns to describe.
    fn analyzed(&self, names: Option<&[String]>) -> Result<Vec<DataField>> {
        let schema = self.table_schema();
        let Some(names) = names else {
            return Ok(schema.fields.iter().filter(|field| is_analyzed(field)).cloned().collect());
        };
        let mut out: Vec<DataField> = Vec::new();
        for name in names {
            let missing = || {
                Error::invalid("the table has no such column")
                    .with("column", name)
                    .hint(column_hint(self.schema(), name))
            };
            let field = schema.field(name).ok_or_else(missing)?;
            if !is_analyzed(field) {
                let error = Error::invalid(format!("a column of type {} has no statistics", field.ty));
                return Err(error.with("column", name));
            }
            if !out.contains(field) {
                out.push(field.clone());
            }
        }
        Ok(out)
    }

    /// The number of rows, and what they say about columns. Files are read in parallel.
    fn facts(&self, fields: &[DataField]) -> Result<(i64, Vec<ColumnFacts>)> {
        let scan = self.scan_newest(ScanRequest::default())?;
        if fields.is_empty() {
            return Ok((i64::try_from(scan.count()?).unwrap_or(i64::MAX), Vec::new()));
        }
        let ids: Vec<i32> = fields.iter().map(|field| field.id).collect();
        let read = Arc::new(prune_to(&scan.context().projection, &ids));
        let context = ReadContext { projection: read.clone(), ..scan.context().as_ref().clone() };
        let store = self.folder().store().clone();
        let reader = ScanReader { store, context: Arc::new(context), deletes: Arc::default() };
        let _phase = begin_phase(Phase::Reading, 0);
        let tasks = Mutex::new(scan.tasks()?);
        let next = || -> Result<Option<ScanTask>> { Ok(locked_unless_cancelled(&tasks)?.next()) };
        let begun = || -> Result<Vec<ColumnFacts>> { fields.iter().map(|f| ColumnFacts::new(&read, f)).collect() };
        let of_threads = in_parallel(threads(usize::MAX), |_| {
            let (mut rows, mut facts) = (0i64, begun()?);
            while let Some(task) = next()? {
                let mut counted = CountedBytes::of([&task]);
                for batch in reader.read(&task)? {
                    check_cancelled()?;
                    let batch = batch?;
                    counted.add(batch.num_rows());
                    rows = rows.saturating_add(i64::try_from(batch.num_rows()).unwrap_or(i64::MAX));
                    facts.iter_mut().try_for_each(|f| f.take(&batch)).with("path", &task.data_file.path)?;
                }
                counted.end();
            }
            Ok((rows, facts))
        })?;
        let mut whole = (0i64, begun()?);
        for (rows, facts) in of_threads {
            whole.0 = whole.0.saturating_add(rows);
            whole.1 = whole.1.into_iter().zip(facts).map(|(a, b)| a.and(b)).collect::<Result<_>>()?;
        }
        Ok(whole)
    }

    /// The bytes of the files, less the share of rows that merging leaves out.
    fn merged_bytes(&self, snapshot: &PaimonSnapshot, rows: i64) -> Result<i64> {
        let buckets = bucket_files(self.metadata(), self.table_schema(), &BoundPredicate::True, None)?;
        let sizes = buckets.iter().flat_map(|bucket| &bucket.files).map(|file| file.file_size);
        let bytes = sizes.fold(0i64, i64::saturating_add);
        // Each row of such tables is counted in several files.
        let in_parts = self.table_schema().options().data_evolution()?;
        match snapshot.total_record_count.filter(|_| !in_parts) {
            Some(all) if all > 0 => Ok((bytes as f64 * rows as f64 / all as f64) as i64),
            _ => Ok(bytes),
        }
    }
}
