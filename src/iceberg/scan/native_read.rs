//! Decides which files of a scan an engine's own Parquet reader can read.
//!
//! [`IcebergScan::native_read`] plans and reads the footers of the files. The engine may read a file if reading
//! columns by the names in the file follows the specification (`data::parquet::plain_columns`). The file may have
//! deletes by position only. These are returned as deleted rows, which the engine looks up (`deleted_rows`).

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, LargeStringArray};
use arrow::record_batch::RecordBatch;
use indexmap::IndexMap;

use crate::data::deletes::cache::DeleteCache;
use crate::data::deletes::filter::DeleteFilter;
use crate::data::parquet::plain_columns::{Plain, plain_columns};
use crate::error::{Error, Result, ResultExt};
use crate::expr::{BoundPredicate, Op};
use crate::format::packed_splits::Splits;
use crate::format::splits::SplitRequest;
use crate::format::task::{FileContent, ScanTask};
use crate::iceberg::scan::deleted_rows::DeletedRows;
use crate::iceberg::scan::handle::IcebergScan;
use crate::parallel::{Phase, Unit, begin_phase, check_cancelled, count_done};
use crate::rows::native_read::{
    NativeFile, NativeRead, NativeReadRequest, NativeValue, PlainGroup, Reasons, is_plain_path, reasons_schema,
    values_of,
};
use crate::store::{in_parallel, location};
use crate::types::metadata_columns::is_metadata;
use crate::types::{Field, PrimitiveType, Schema, Transform};

/// The prefix of columns that are added while an engine reads.
const OWN_COLUMNS: &str = "__frazil_";

/// The common form of the files of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GroupForm {
    /// For each wanted column, its name in the files; `None` where it is null in every row.
    columns: Vec<Option<String>>,
    has_deletes: bool,
    is_filtered: bool,
}

fn reasons_batch(reasons: &[(String, String)]) -> Result<RecordBatch> {
    let paths: ArrayRef = Arc::new(LargeStringArray::from_iter_values(reasons.iter().map(|(path, _)| path)));
    let why: ArrayRef = Arc::new(LargeStringArray::from_iter_values(reasons.iter().map(|(_, reason)| reason)));
    RecordBatch::try_new(reasons_schema(), vec![paths, why])
        .map_err(|e| Error::internal("reasons make no batch").because(e))
}

impl IcebergScan {
    /// Plans, and assigns each file to a reader. Reads the footer and position deletes of each file that may go to the
    /// engine.
    ///
    /// # Errors
    /// Errors of [`IcebergScan::splits`], [`DeleteFilter::load`] and the store.
    pub fn native_read(&self, request: &NativeReadRequest, packing: SplitRequest) -> Result<NativeRead> {
        let packing = self.split_plan(packing)?;
        let (scan, planned) = self.planned(request.pack_from)?;
        let mut assigner = Assigner::new(&scan, request);
        let mut out = AssignedFiles::default();
        let (rest, reasons) = match assigner.refusal(planned.len()) {
            Some(reason) => (scan.pack_planned(planned, &packing, request.pack_from)?, Reasons::Everywhere(reason)),
            None => {
                assigner.assign(planned.into_tasks()?, &mut out)?;
                let rest = Splits::Each(scan.pack(out.rest, &packing)?);
                (rest, Reasons::Each(reasons_batch(&out.reasons)?))
            }
        };
        Ok(NativeRead {
            filter: BoundPredicate::clone(self.bound_filter()),
            groups: out.groups.into_iter().map(|(form, files)| form.of(files)).collect(),
            deleted: out.deleted.into_batch()?,
            rest,
            reasons,
            wanted: Schema::new(self.context().schema.id, assigner.wanted, Vec::new()),
        })
    }
}

impl GroupForm {
    fn of(self, files: Vec<NativeFile>) -> PlainGroup {
        PlainGroup { columns: self.columns, is_filtered: self.is_filtered, files }
    }
}

#[derive(Default)]
struct AssignedFiles {
    groups: IndexMap<GroupForm, Vec<NativeFile>>,
    numbered: usize,
    deleted: DeletedRows,
    rest: Vec<ScanTask>,
    reasons: Vec<(String, String)>,
}

impl AssignedFiles {
    fn refuse(&mut self, task: ScanTask, reason: String) {
        self.reasons.push((task.data_file.path.clone(), reason));
        self.rest.push(task);
    }
}

struct Assigner<'a> {
    scan: &'a IcebergScan,
    request: &'a NativeReadRequest,
    wanted: Vec<Field>,
    deletes: DeleteCache,
    /// Real paths of several tasks. Engines would read such a file only once.
    repeated: HashSet<String>,
}

impl<'a> Assigner<'a> {
    fn new(scan: &'a IcebergScan, request: &'a NativeReadRequest) -> Assigner<'a> {
        let context = scan.context();
        let mut wanted = context.projection.fields.to_vec();
        let asked = crate::types::select::prune_to(&context.schema, &scan.bound_filter().field_ids());
        let more = asked.fields.iter().filter(|f| context.projection.fields.iter().all(|p| p.id != f.id));
        wanted.extend(more.cloned());
        Assigner { scan, request, wanted, deletes: DeleteCache::default(), repeated: HashSet::new() }
    }

    /// The reason why no file of the scan, with this number of files, can go to the engine.
    fn refusal(&self, files: usize) -> Option<String> {
        let most = self.request.most_files;
        if files > most {
            return Some(format!("there are {files} files, more than {most}"));
        }
        if self.scan.is_of_changes() {
            return Some("changelogs are read by Frazil only".into());
        }
        let mut names = HashSet::new();
        if !self.wanted.iter().all(|f| names.insert(f.name.to_lowercase())) {
            return Some("the table has columns that differ in case only".into());
        }
        if self.wanted.iter().any(|f| f.name.to_lowercase().starts_with(OWN_COLUMNS)) {
            return Some(format!("columns that begin with '{OWN_COLUMNS}' are Frazil's own in Spark"));
        }
        let filtered = self.scan.bound_filter().field_ids();
        let asked = self.wanted.iter().map(|f| f.id).chain(filtered);
        let named = |id| is_metadata(id).then(|| "metadata columns are read by Frazil only".to_owned());
        asked.into_iter().find_map(named)
    }

    fn assign(&mut self, tasks: Vec<ScanTask>, out: &mut AssignedFiles) -> Result<()> {
        let location = &self.scan.context().location;
        let place = |task: &ScanTask| location.resolve(&task.data_file.path);
        let paths = tasks.iter().map(place).collect::<Result<Vec<_>>>()?;
        let mut known = HashSet::with_capacity(paths.len());
        self.repeated = paths.iter().filter(|path| !known.insert(path.as_str())).cloned().collect();
        let store = self.scan.store().as_ref();
        let _phase = begin_phase(Phase::ReadingFooters, tasks.len());
        let forms = in_parallel(store, tasks.len(), |i| {
            check_cancelled()?;
            let (Some(task), Some(path)) = (tasks.get(i), paths.get(i)) else {
                return Err(Error::internal("a task is gone"));
            };
            let form = self.form(task, path);
            count_done(Unit::Files, 1);
            form
        })?;
        for ((task, path), form) in tasks.into_iter().zip(paths).zip(forms) {
            check_cancelled()?;
            match form {
                Plain::Columns(columns) => self.take(task, path, columns, out)?,
                Plain::Not(reason) => out.refuse(task, reason),
            }
        }
        Ok(())
    }

    /// How the task's file at this path can be read, apart from its deletes.
    fn form(&self, task: &ScanTask, path: &str) -> Result<Plain> {
        match self.place_refusal(task, path) {
            Some(reason) => Ok(Plain::Not(reason)),
            None => plain_columns(self.scan.store(), self.scan.context(), &task.data_file, &self.wanted),
        }
    }

    /// The reason why the task's file can't go to the engine, for any contents.
    fn place_refusal(&self, task: &ScanTask, path: &str) -> Option<String> {
        let file = &task.data_file;
        if task.merge.is_some() || file.bucket_file.is_some() {
            return Some("its rows may have to be merged with others".into());
        }
        if task.deletes.iter().any(|d| d.file.content == FileContent::EqualityDeletes) {
            return Some("it has equality deletes".into());
        }
        // Then neither the deletes nor the file's footer need to be read.
        if self.request.most_positions == 0 && !task.deletes.is_empty() {
            return Some("it has deletes".into());
        }
        if *task.residual != BoundPredicate::True
            && let Some(reason) = unsayable(self.scan.bound_filter())
        {
            return Some(reason);
        }
        if let Some(reason) = self.request.refused.get(path) {
            return Some(reason.clone());
        }
        if self.repeated.contains(path) {
            return Some("the table has it more than once".into());
        }
        let scheme = location::scheme(path).unwrap_or("file");
        if !self.request.schemes.iter().any(|s| s == scheme) {
            return Some(format!("the engine is not configured to read from '{scheme}:'"));
        }
        if !is_plain_path(path) {
            return Some("engines spell its path in another way".into());
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        if name.starts_with(['_', '.']) || name.ends_with("._COPYING_") {
            return Some("engines take its name for that of a hidden file".into());
        }
        let unsafe_char = |c: char| matches!(c, '{' | '}' | '[' | ']' | '*' | '?' | '\\' | ',' | '#') || c.is_control();
        path.contains(unsafe_char).then(|| "its path has characters that engines take for patterns".into())
    }

    fn take(&self, task: ScanTask, path: String, columns: Vec<Option<String>>, out: &mut AssignedFiles) -> Result<()> {
        let (file, context) = (&task.data_file, self.scan.context());
        let mut number = None;
        if !task.deletes.is_empty() {
            let filter = DeleteFilter::load(self.scan.store(), context, file, &task.deletes, &self.deletes)
                .with("data_file", &file.path)?;
            if let Some(positions) = filter.positions().filter(|p| !p.is_empty()) {
                let most = self.request.most_positions;
                if positions.len().saturating_add(out.deleted.count()) > most {
                    out.refuse(task, format!("there are more than {most} deleted rows"));
                    return Ok(());
                }
                if let Err(e) = out.deleted.add(out.numbered, positions) {
                    out.refuse(task, e.to_string());
                    return Ok(());
                }
                number = Some(out.numbered);
                out.numbered += 1;
            }
        }
        let is_filtered = *task.residual != BoundPredicate::True;
        let plain = NativeFile { path, size_bytes: file.size_bytes, record_count: file.record_count, number };
        let form = GroupForm { columns, has_deletes: number.is_some(), is_filtered };
        out.groups.entry(form).or_default().push(plain);
        Ok(())
    }
}

/// The reason why a filter can't be written in SQL.
fn unsayable(filter: &BoundPredicate) -> Option<String> {
    let mut reason = filter.has_tests().then(|| "the filter asks about computed values".to_owned());
    filter.for_each_leaf(&mut |leaf| {
        let plain = match leaf.term.source.as_primitive() {
            Some(PrimitiveType::String) => true,
            Some(
                PrimitiveType::Boolean
                | PrimitiveType::Int
                | PrimitiveType::Long
                | PrimitiveType::Float
                | PrimitiveType::Double
                | PrimitiveType::Decimal { .. }
                | PrimitiveType::Date
                | PrimitiveType::Timestamp
                | PrimitiveType::Timestamptz
                | PrimitiveType::Binary
                | PrimitiveType::Fixed(_),
            ) => !matches!(leaf.op, Op::StartsWith | Op::NotStartsWith),
            _ => matches!(leaf.op, Op::IsNull | Op::NotNull),
        };
        // Years beyond four digits have no text that all engines read.
        let years = |value: &NativeValue| !matches!(value, NativeValue::Text(t) if t.starts_with(['+', '-']));
        let times = matches!(leaf.term.source.as_primitive(), Some(p) if is_time(p));
        let plain = plain && (!times || values_of(leaf).iter().all(years));
        if !plain || leaf.term.transform != Transform::Identity {
            reason = Some(format!("the filter asks about {} in a way of Frazil's own", leaf.term.path.join(".")));
        }
    });
    reason
}

fn is_time(ty: &PrimitiveType) -> bool {
    matches!(ty, PrimitiveType::Date | PrimitiveType::Timestamp | PrimitiveType::Timestamptz)
}

#[cfg(test)]
#[path = "native_read_tests.rs"]
mod tests;
