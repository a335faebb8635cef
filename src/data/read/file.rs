//! Opens one file and reads its rows.
//!
//! The file is opened by its format. The parts that the residual filter rules out are skipped. In the others, the
//! columns that the filter and the projection need are decoded. The rows on which the filter is true get the schema of
//! the projection. [`open_rows`] gives them before deletes are applied, with their positions in the file.

use std::sync::Arc;

use super::constants::Constants;
use super::file_columns::FileColumns;
use super::file_reader::{FileReader, ReadRequest};
use super::filter_columns::{FilterColumns, check_has_key};
use super::project::Projection;
use super::rows::RowStream;
use super::source::{FilePart, FormatFile, RecordedSize};
use crate::data::avro::read::AvroSource;
use crate::data::deletes::filter::DeleteFilter;
use crate::data::orc::read::OrcSource;
use crate::data::parquet::source::ParquetSource;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::expr::bounds::may_match;
use crate::format::task::{DataFile, DeleteRef, FileFormat, ReadContext, ScanTask};
use crate::store::Store;
use crate::types::FieldId;
use crate::types::metadata_columns::DELETED;

/// The rows of a task that satisfy its residual, deleted or not, with their positions and these key columns
/// ([`DeleteFilter::key_ids`]). The task's deletes are not read. No batch is empty.
///
/// # Errors
/// `Unsupported` for encrypted files and tasks that merge files. `CorruptTable` if the bytes of the file contradict
/// themselves or the schema of the table. These errors, and those of the store, name the file.
pub fn open_rows(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    keys: &[FieldId],
) -> Result<RowStream> {
    check_single(task)?;
    raw_rows(store, context, task, Wanted::All(keys))
}

/// The rows of a task that satisfy its residual and that the deletes of `load` leave; `None` if no row can stay.
///
/// # Errors
/// The errors of [`open_rows`] and of `load`.
pub(super) fn open_live(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    load: &LoadDeletes<'_>,
) -> Result<Option<FileReader>> {
    check_single(task)?;
    open(store, context, task, Wanted::Live(load))
}

/// Refuses tasks that do not read the rows of one readable file.
fn check_single(task: &ScanTask) -> Result<()> {
    check_supported(task).with("path", &task.data_file.path)?;
    match task.merge {
        Some(_) => Err(Error::unsupported("merged rows have no place in a file").with("path", &task.data_file.path)),
        None => Ok(()),
    }
}

/// The rows of a whole delete file on which `filter` is true, as [`open_rows`] gives those of a data file.
///
/// # Errors
/// The errors of [`open_rows`]; `CorruptTable` if the file lacks a key column, or has fewer rows than the table says.
pub(crate) fn read_delete_file(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    file: &DataFile,
    filter: BoundPredicate,
    keys: &[FieldId],
) -> Result<RowStream> {
    check_readable(file)?;
    let (data_file, residual) = (Arc::new(file.clone()), Arc::new(filter));
    let length = file.size_bytes;
    let task = ScanTask { data_file, start: 0, length, deletes: Vec::new(), residual, change: None, merge: None };
    raw_rows(store, context, &task, Wanted::Deletes(keys))
}

fn raw_rows(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    wanted: Wanted<'_>,
) -> Result<RowStream> {
    Ok(match open(store, context, task, wanted)? {
        Some(reader) => Box::new(reader),
        None => Box::new(std::iter::empty()),
    })
}

/// Refuses data files that can't be read, in any format.
pub(super) fn check_supported(task: &ScanTask) -> Result<()> {
    if task.data_file.key_metadata.is_some() {
        return Err(Error::unsupported("encrypted data files cannot be read yet"));
    }
    Ok(())
}

/// Loads the deletes of the data file that is open. It gets the range of each column in the part that is read.
pub(super) type LoadDeletes<'a> = dyn Fn(&dyn Fn(FieldId) -> BoundPredicate) -> Result<DeleteFilter> + 'a;

/// The purpose of a reader.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    /// The rows that the task's deletes leave.
    Live(&'a LoadDeletes<'a>),
    /// All rows, with their positions and these key columns.
    All(&'a [FieldId]),
    /// All rows of a delete file, with these key columns, which it must have.
    Deletes(&'a [FieldId]),
}

/// The bytes of the file that the task covers. A task that reaches the recorded end reaches the real one: a file may be
/// longer than recorded.
fn byte_range(task: &ScanTask) -> std::ops::Range<i64> {
    let end = task.start.saturating_add(task.length);
    // All bytes before the first offset belong to the first split, because recorded offsets may be wrong.
    let first = task.data_file.split_offsets.as_deref().and_then(<[i64]>::first).copied().unwrap_or(0);
    let start = if task.start <= first.max(0) { i64::MIN } else { task.start };
    start..if end >= task.data_file.size_bytes { i64::MAX } else { end }
}

/// Everything decided before the first row is decoded; `None` if no row is left.
fn open(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    wanted: Wanted<'_>,
) -> Result<Option<FileReader>> {
    if *task.residual == BoundPredicate::False {
        return Ok(None);
    }
    let path = context.location.resolve(&task.data_file.path).with("path", &task.data_file.path)?;
    let constants = Constants::of(&task.data_file);
    if !may_match(&task.residual, &constants) {
        return Ok(None);
    }
    open_at(store, context, task, wanted, constants, &path).map_err(|e| context.location.explain(e.with("path", &path)))
}

fn open_at(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    wanted: Wanted<'_>,
    constants: Constants,
    path: &str,
) -> Result<Option<FileReader>> {
    let mut file = open_file(store, task.data_file.format, path)?;
    let columns = identified(file.as_mut(), context, &task.data_file)?;
    let filter = &task.residual;
    let projection = Projection::plan(&context.projection.fields, &columns, &constants)?;
    let asked = |filter: BoundPredicate| {
        let asked = FilterColumns::plan(&filter.field_ids(), &context.schema, &columns, &constants)?;
        Ok((Arc::new(filter), asked))
    };
    let keep_deleted = context.keep_deleted && matches!(wanted, Wanted::Live(_));
    let (test, late) = split_filter(filter, keep_deleted, &task.deletes);
    let (test, late) = (asked(test)?, late.map(asked).transpose()?);

    let (range, schema) = (byte_range(task), &context.schema);
    let recorded = |n: i64| u64::try_from(n).unwrap_or(0);
    let recorded = RecordedSize {
        rows: recorded(task.data_file.record_count),
        bytes: recorded(task.data_file.size_bytes),
        are_deletes: matches!(wanted, Wanted::Deletes(_)),
    };
    let part = FilePart { range, filter, schema, columns: &columns, constants: &constants, recorded };
    if !file.narrow(&part)? {
        return Ok(None);
    }
    let (deletes, key_ids) = match wanted {
        Wanted::Live(load) if !task.deletes.is_empty() => {
            let range_of = |column| file.range_of(&part, column);
            let deletes = load(&range_of).with("data_file", &task.data_file.path)?;
            let key_ids = deletes.key_ids();
            ((!deletes.is_empty()).then(|| Arc::new(deletes)), key_ids)
        }
        Wanted::Live(_) => (None, Vec::new()),
        Wanted::All(keys) => (None, keys.to_vec()),
        Wanted::Deletes(keys) => {
            keys.iter().try_for_each(|id| check_has_key(context, *id, &columns))?;
            (None, keys.to_vec())
        }
    };
    let keys = FilterColumns::plan_keys(&key_ids, context, &columns, &constants)?;
    let tells_positions = !matches!(wanted, Wanted::Live(_));
    let batch_rows = context.batch_rows;
    let request = ReadRequest { projection, test, late, keys, deletes, keep_deleted, tells_positions, batch_rows };
    FileReader::start(file, path, &part, request)
}

/// The columns of a file with their ids.
fn identified(file: &mut dyn FormatFile, context: &ReadContext, data_file: &DataFile) -> Result<FileColumns> {
    let mut columns = FileColumns::new(file.schema());
    columns.identify(context, data_file)?;
    let nanos = columns.nano_leaves(&context.schema);
    if !nanos.is_empty() {
        file.read_nanos(&nanos)?;
        columns = FileColumns::new(file.schema());
        columns.identify(context, data_file)?;
    }
    Ok(columns)
}

/// Splits a filter into two parts. The first can be tested at once, the second only when the deleted rows are known:
/// it asks for them, or deleted rows could make it fail.
fn split_filter(
    filter: &BoundPredicate,
    keep_deleted: bool,
    deletes: &[DeleteRef],
) -> (BoundPredicate, Option<BoundPredicate>) {
    let is_late = |clause: &BoundPredicate| match keep_deleted {
        true => clause.field_ids().contains(&DELETED),
        false => !deletes.is_empty() && clause.can_fail(),
    };
    if !is_late(filter) {
        return (filter.clone(), None);
    }
    let clauses = match filter {
        BoundPredicate::And(clauses) => clauses.as_slice(),
        other => std::slice::from_ref(other),
    };
    let (late, early): (Vec<_>, Vec<_>) = clauses.iter().cloned().partition(is_late);
    (BoundPredicate::all(early), Some(BoundPredicate::all(late)))
}

/// Opens a file by its format.
fn open_file(store: &Arc<dyn Store>, format: FileFormat, path: &str) -> Result<Box<dyn FormatFile>> {
    Ok(match format {
        FileFormat::Parquet => Box::new(ParquetSource::open(store, path)?),
        FileFormat::Avro => Box::new(AvroSource::open(store, path)?),
        FileFormat::Orc => Box::new(OrcSource::open(store, path)?),
        FileFormat::Puffin | FileFormat::Blob => {
            return Err(Error::unsupported(format!("rows in files of format {} cannot be read yet", format.as_str())));
        }
    })
}

/// Refuses delete files that can't be read, in any format.
fn check_readable(file: &DataFile) -> Result<()> {
    match file.key_metadata {
        Some(_) => Err(Error::unsupported("encrypted delete files cannot be read yet")),
        None => Ok(()),
    }
}
