//! Record batches across the border, both ways, by the Arrow PyCapsule interface: the only `unsafe` of the crate.
//!
//! Out: [`Batch`] (`__arrow_c_array__`), [`Batches`] and [`BatchStream`] (`__arrow_c_stream__`). In: [`Input`], from
//! any object with `__arrow_c_stream__` or `__arrow_c_array__`. Every capsule's name is checked before its pointer is
//! used. The contents are moved out, so that the capsule's own destructor finds them released.
//!
//! Consumers such as polars pull a stream from compiled code, where Python handles no signals. So both directions
//! [`Watch`] for signals between batches.

use std::ffi::CStr;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use arrow::array::{Array, ArrayData, ArrayDataBuilder, RecordBatch, RecordBatchOptions, StructArray};
use arrow::buffer::Buffer;
use arrow::datatypes::{ArrowNativeType, DataType, Fields, Schema as ArrowSchema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, from_ffi_and_data_type, to_ffi};
use arrow::ffi_stream::FFI_ArrowArrayStream;
use arrow::record_batch::{RecordBatchIterator, RecordBatchReader};
use pyo3::exceptions::{PyKeyboardInterrupt, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::call::{guarded, run, run_watched};
use super::errors::to_exception;
use super::lock::lock;
use super::watch::Watch;
use crate::data::arrow::type_names::type_name;
use crate::error::{Error, Result};
use crate::parallel::in_steps;
use crate::rows::stream;

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
/// The hint for data that breaks Arrow's own rules.
/// How many rows of a column are checked before the next look at Ctrl-C.
const ROWS_CHECKED_AT_ONCE: usize = 1 << 16;

const DAMAGED: &str = "pyarrow's array.validate(full=True) says where; put text that is not UTF-8 into a binary column";

type Reader = Box<dyn RecordBatchReader + Send>;

fn from_arrow(error: ArrowError) -> Error {
    Error::invalid("the Arrow data can't be used").because(error)
}

/// Checks that all names can be passed to other libraries, whose texts end with NUL.
///
/// # Errors
/// `Unsupported` for a name with a NUL character.
fn check_names(fields: &Fields) -> Result<()> {
    fields.iter().try_for_each(|field| {
        if field.name().contains('\0') {
            return Err(Error::unsupported("a column's name has a NUL character, which Arrow can't pass on")
                .with("column", field.name().escape_default())
                .hint("Rename the column, or select others"));
        }
        match field.data_type() {
            DataType::Struct(fields) => check_names(fields),
            DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
                check_names(&Fields::from(vec![item.clone()]))
            }
            _ => Ok(()),
        }
    })
}

/// A schema capsule.
pub(super) fn schema_capsule<'py>(py: Python<'py>, schema: &ArrowSchema) -> PyResult<Bound<'py, PyCapsule>> {
    check_names(schema.fields()).map_err(|e| to_exception(py, &e))?;
    let exported = FFI_ArrowSchema::try_from(schema).map_err(|e| to_exception(py, &from_arrow(e)))?;
    PyCapsule::new_with_value(py, exported, SCHEMA)
}

/// Imports a schema from an object with `__arrow_c_schema__`; `None` if it has no such method.
pub(super) fn import_schema(obj: &Bound<'_, PyAny>) -> PyResult<Option<ArrowSchema>> {
    let Some(method) = obj.getattr_opt("__arrow_c_schema__")? else { return Ok(None) };
    let capsule = method.call0()?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name points at an initialised `ArrowSchema` (Arrow PyCapsule interface). The capsule
    // owns it, so it stays valid while `capsule` lives. Nothing else refers to it.
    #[expect(unsafe_code, reason = "Arrow's C interface passes pointers")]
    let schema = unsafe { FFI_ArrowSchema::from_raw(pointer.as_ptr()) };
    let parsed = guarded(|| match schema.release {
        Some(_) => ArrowSchema::try_from(&schema).map_err(from_arrow),
        None => Err(consumed("schema")),
    });
    parsed.map(Some).map_err(|e| to_exception(obj.py(), &e))
}

/// A consumer marks the contents of a capsule as released, and may leave its other fields unchanged.
fn consumed(what: &str) -> Error {
    Error::invalid(format!("the Arrow {what} was read already"))
}

fn stream_capsule(py: Python<'_>, reader: Reader) -> PyResult<Bound<'_, PyCapsule>> {
    check_names(reader.schema().fields()).map_err(|e| to_exception(py, &e))?;
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// One record batch, for any consumer of the Arrow PyCapsule interface.
#[pyclass(name = "Batch", frozen, module = "frazil._core")]
pub(super) struct PyBatch {
    batch: RecordBatch,
}

#[pymethods]
impl PyBatch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.batch.schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    #[allow(unused_variables)]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let data = StructArray::from(self.batch.clone()).to_data();
        let (array, _) = to_ffi(&data).map_err(|e| to_exception(py, &from_arrow(e)))?;
        Ok((schema_capsule(py, &self.batch.schema())?, PyCapsule::new_with_value(py, array, ARRAY)?))
    }
}

/// Batches in memory, all with one schema. They can be streamed any number of times.
#[pyclass(name = "Batches", frozen, module = "frazil._core")]
pub(super) struct PyBatches {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl PyBatches {
    pub(super) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        PyBatches { schema, batches }
    }
}

#[pymethods]
impl PyBatches {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    #[allow(unused_variables)]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = self.batches.clone().into_iter().map(Ok);
        stream_capsule(py, Box::new(RecordBatchIterator::new(batches, self.schema.clone())))
    }
}

/// Batches as they are read. Iterate over it, or give it once to a consumer of `__arrow_c_stream__`.
#[pyclass(name = "BatchStream", frozen, module = "frazil._core")]
pub(super) struct PyBatchStream {
    schema: SchemaRef,
    batches: Mutex<Option<stream::BatchStream>>,
}

impl PyBatchStream {
    pub(super) fn new(batches: stream::BatchStream) -> Self {
        PyBatchStream { schema: batches.schema().clone(), batches: Mutex::new(Some(batches)) }
    }

    /// The next batch; the end closes the stream.
    fn pull(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        run(py, || {
            let mut batches = lock(&self.batches);
            let next = guarded(|| batches.as_mut().map_or(Ok(None), |b| b.next_batch()));
            if matches!(next, Ok(None)) {
                *batches = None;
            }
            next
        })
    }
}

#[pymethods]
impl PyBatchStream {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<PyBatch> {
        self.pull(py)?.map(|batch| PyBatch { batch }).ok_or_else(|| PyStopIteration::new_err(()))
    }

    /// All remaining batches, in memory. Ctrl-C works between batches.
    fn read_all(&self, py: Python<'_>) -> PyResult<PyBatches> {
        let mut batches = Vec::new();
        while let Some(batch) = self.pull(py)? {
            batches.push(batch);
            py.check_signals()?;
        }
        Ok(PyBatches::new(self.schema.clone(), batches))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    #[allow(unused_variables)]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let read = || Error::invalid("the stream was read already").hint("Make a new one from the scan");
        // Detached: another thread that reads holds the lock and may wait for the interpreter.
        let batches = run(py, || lock(&self.batches).take().ok_or_else(read))?;
        stream_capsule(
            py,
            Box::new(Outgoing { schema: self.schema.clone(), batches: Some(batches), watch: Watch::of_stream() }),
        )
    }
}

/// A stream that a consumer pulls from compiled code. Never panics, because a panic there would end the process.
struct Outgoing {
    schema: SchemaRef,
    batches: Option<stream::BatchStream>,
    watch: Watch,
}

impl Outgoing {
    fn pull(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let (batches, watch) = (self.batches.as_mut(), &self.watch);
        let cancellation = watch.cancellation();
        let next = cancellation.scope(|| guarded(|| batches.map_or(Ok(None), |b| b.next_batch())));
        if watch.is_stopped() {
            self.raise_later();
        }
        // Arrow's C interface can't carry a NUL in a message.
        next.map_err(|e| ArrowError::ExternalError(e.to_string().replace('\0', "\u{fffd}").into()))
    }

    /// The consumer will raise its own error; the repeated Ctrl-C raises `KeyboardInterrupt` after it.
    fn raise_later(&self) {
        Python::try_attach(|py| {
            if self.watch.raised().is_some_and(|e| e.is_instance_of::<PyKeyboardInterrupt>(py)) {
                let interrupt = py.import("_thread").and_then(|m| m.call_method0("interrupt_main"));
                interrupt.map(drop).unwrap_or(());
            }
        });
    }
}

impl Iterator for Outgoing {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.pull();
        if matches!(next, Ok(None)) {
            self.batches = None;
        }
        next.transpose()
    }
}

impl RecordBatchReader for Outgoing {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Rows from Python, to be read while detached.
pub(super) struct Input {
    reader: Reader,
    watch: Arc<Watch>,
}

impl Input {
    /// Takes the stream of `obj`.
    ///
    /// # Errors
    /// `InvalidInputError` if it has neither `__arrow_c_stream__` nor `__arrow_c_array__`.
    pub(super) fn new(obj: &Bound<'_, PyAny>) -> PyResult<Input> {
        let watch = Arc::new(Watch::new());
        if let (Some(progress), Some(rows)) = (watch.progress(), rows_of(obj)) {
            progress.give_rows(rows);
        }
        let reader = if obj.hasattr("read_next_batch")? {
            Box::new(Pulled::new(obj, Arc::clone(&watch))?)
        } else {
            match (obj.getattr_opt("__arrow_c_stream__")?, obj.getattr_opt("__arrow_c_array__")?) {
                (Some(method), _) => stream_of(&method)?,
                (None, Some(method)) => reader_of(batch_of(&method)?),
                (None, None) => {
                    let error = Error::invalid(format!("rows can't be read from a '{}'", obj.get_type().name()?))
                        .hint("Give an object with __arrow_c_stream__: pyarrow, polars, duckdb, pandas");
                    return Err(to_exception(obj.py(), &error));
                }
            }
        };
        Ok(Input { reader: Box::new(Watched { reader, watch: Arc::clone(&watch) }), watch })
    }

    /// Runs `work` on the rows, detached. A signal's exception wins over the error that it caused.
    pub(super) fn run<T: Send>(self, py: Python<'_>, work: impl FnOnce(Reader) -> Result<T> + Send) -> PyResult<T> {
        let Input { reader, watch } = self;
        run_watched(py, &watch, || work(reader))
    }
}

/// The number of rows of an object that knows it, such as a table of pyarrow or a frame of polars.
fn rows_of(obj: &Bound<'_, PyAny>) -> Option<u64> {
    ["num_rows", "height"].iter().find_map(|name| obj.getattr_opt(*name).ok().flatten()?.extract().ok())
}

fn stream_of(method: &Bound<'_, PyAny>) -> PyResult<Reader> {
    let py = method.py();
    let capsule = method.call0()?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name points at an initialised `ArrowArrayStream`. The capsule owns it, so it stays
    // valid while `capsule` lives. Nothing else refers to it.
    #[expect(unsafe_code, reason = "Arrow's C interface passes pointers")]
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    run(py, || Ok(Box::new(Imported::new(stream)?) as Reader))
}

/// The error for a stream of single values, not of rows.
fn one_column(schema: &FFI_ArrowSchema) -> Error {
    let of = DataType::try_from(schema).map_or(String::new(), |ty| format!(" of type {}", type_name(&ty)));
    Error::invalid(format!("the data is one column{of}, not rows"))
        .hint("Give its column a name: pyarrow.table({'name': pyarrow.chunked_array(data)})")
}

/// A stream of another library. Arrow's own reader is not used: it panics at sliced structs in structs (see [`cut`]).
struct Imported {
    stream: FFI_ArrowArrayStream,
    schema: SchemaRef,
}

impl Imported {
    fn new(mut stream: FFI_ArrowArrayStream) -> Result<Imported> {
        let Some(get_schema) = stream.get_schema.filter(|_| stream.release.is_some()) else {
            return Err(consumed("stream"));
        };
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the stream is initialised and not released (Arrow C stream interface), and `schema` is to be written.
        #[expect(unsafe_code, reason = "Arrow's C interface passes pointers")]
        let code = unsafe { get_schema(&mut stream, &mut schema) };
        let schema = match code {
            0 if !schema.format().starts_with("+s") => return Err(one_column(&schema)),
            0 => ArrowSchema::try_from(&schema).map_err(from_arrow)?,
            _ => return Err(from_arrow(failure(&mut stream, code))),
        };
        Ok(Imported { stream, schema: Arc::new(schema) })
    }

    fn pull(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(get_next) = self.stream.get_next else { return Ok(None) };
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as in `new`.
        #[expect(unsafe_code, reason = "Arrow's C interface passes pointers")]
        let code = unsafe { get_next(&mut self.stream, &mut array) };
        if code != 0 {
            return Err(failure(&mut self.stream, code));
        }
        if array.is_released() {
            return Ok(None);
        }
        // SAFETY: the stream's arrays are structs of its schema (Arrow C stream interface).
        #[expect(unsafe_code, reason = "Arrow's C interface passes pointers")]
        let data = unsafe { from_ffi_and_data_type(array, DataType::Struct(self.schema.fields().clone())) }?;
        let rows = whole(self.schema.fields(), &data).map_err(|e| ArrowError::ExternalError(Box::new(e)))?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let (_, columns, _) = rows.into_parts();
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map(Some)
    }
}

impl Iterator for Imported {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pull().transpose()
    }
}

impl RecordBatchReader for Imported {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// The error that a stream reports about its failure.
fn failure(stream: &mut FFI_ArrowArrayStream, code: i32) -> ArrowError {
    // SAFETY: asked right after a call that failed; the text is null or ends with NUL, and stays until the next call.
    #[expect(unsafe_code, reason = "Arrow's C interface passes pointers")]
    let text = unsafe {
        let text = stream.get_last_error.map(|ask| ask(stream)).filter(|text| !text.is_null());
        text.map(|text| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    ArrowError::CDataInterface(text.unwrap_or_else(|| format!("the stream failed with code {code}")))
}

/// The rows of imported data, checked for rules that other libraries may break: texts are UTF-8, and offsets ascend
/// within the values. Arrow's arrays rely on that.
fn whole(fields: &Fields, data: &ArrayData) -> Result<StructArray> {
    let columns = fields.iter().zip(data.child_data()).map(|(field, column)| {
        let damaged = |e: ArrowError| {
            Error::invalid("the Arrow data is damaged").with("column", field.name()).because(e).hint(DAMAGED)
        };
        let column = cut(column, data.offset(), data.len()).map_err(damaged)?;
        column.validate().map_err(damaged)?;
        // A stream may have one chunk with all rows. The values are checked in steps, so that a call can be cancelled.
        let step = if refers_anywhere(column.data_type()) { column.len() } else { ROWS_CHECKED_AT_ONCE };
        for range in in_steps(column.len(), step) {
            let range = range?;
            cut(&column, range.start, range.len()).and_then(|some| check_values(&some)).map_err(damaged)?;
        }
        Ok(column)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let rows = StructArray::from(built(rows(data, 0, data.len()).child_data(columns)));
    match rows.null_count() {
        // Values under nulls have no meaning.
        1.. => Err(Error::invalid("rows of a table can't be null").hint("Leave them out")),
        0 => Ok(rows),
    }
}

/// Whether rows of a type may refer to any of their array's values. Then each slice has all of them, so slices would be
/// checked over and over.
fn refers_anywhere(data_type: &DataType) -> bool {
    use DataType as D;
    match data_type {
        D::Dictionary(_, _) | D::Union(_, _) | D::ListView(_) | D::LargeListView(_) => true,
        D::List(field) | D::LargeList(field) | D::FixedSizeList(field, _) | D::Map(field, _) => {
            refers_anywhere(field.data_type())
        }
        D::RunEndEncoded(_, values) => refers_anywhere(values.data_type()),
        D::Struct(fields) => fields.iter().any(|field| refers_anywhere(field.data_type())),
        _ => false,
    }
}

/// Checks the values in the buffers. It does not check where nulls are, because the table's schema says where nulls
/// are allowed. Values under a null struct or list have no meaning. But no schema covers null entries of maps.
fn check_values(data: &ArrayData) -> Result<(), ArrowError> {
    data.validate_values()?;
    if matches!(data.data_type(), DataType::Map(_, _)) && data.child_data().iter().any(|c| c.null_count() > 0) {
        return Err(broken(data, "has null entries"));
    }
    data.child_data().iter().try_for_each(check_values)
}

/// Selected rows of imported data, without unreachable values: children and values are cut, and offsets moved. So
/// checking many small slices takes no longer than checking the whole, and nothing stays unchecked.
///
/// No struct has an offset afterwards. Arrow's own slicing cuts a struct's members and keeps its offset too. So inner
/// structs would be cut twice, beyond their end.
fn cut(data: &ArrayData, offset: usize, len: usize) -> Result<ArrayData, ArrowError> {
    use DataType as D;
    if offset.checked_add(len).is_none_or(|end| end > data.len()) {
        return Err(broken(data, format!("has {} rows, too few for {len} from {offset} on", data.len())));
    }
    match data.data_type() {
        // Imported texts without rows have no values for their offsets.
        _ if len == 0 => Ok(ArrayData::new_empty(data.data_type())),
        D::Utf8 | D::Binary => cut_bytes::<i32>(data, offset, len),
        D::LargeUtf8 | D::LargeBinary => cut_bytes::<i64>(data, offset, len),
        D::List(_) | D::Map(_, _) => cut_lists::<i32>(data, offset, len),
        D::LargeList(_) => cut_lists::<i64>(data, offset, len),
        D::ListView(_) => cut_list_views::<i32>(data, offset, len),
        D::LargeListView(_) => cut_list_views::<i64>(data, offset, len),
        D::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).map_err(|_| broken(data, "has a negative size"))?;
            let start = (data.offset() + offset).saturating_mul(size);
            let elements = cut(child(data, 0)?, start, len.saturating_mul(size))?;
            Ok(built(rows(data, offset, len).add_child_data(elements)))
        }
        D::Struct(_) => {
            let members = data.child_data().iter().map(|member| cut(member, data.offset() + offset, len));
            Ok(built(rows(data, offset, len).child_data(members.collect::<Result<Vec<_>, _>>()?)))
        }
        D::RunEndEncoded(ends, _) => match ends.data_type() {
            D::Int16 => cut_runs::<i16>(data, offset, len),
            D::Int32 => cut_runs::<i32>(data, offset, len),
            D::Int64 => cut_runs::<i64>(data, offset, len),
            other => Err(broken(data, format!("has run ends of type {other}"))),
        },
        // Any row may refer to any value.
        D::Dictionary(_, _) | D::Union(_, _) => {
            let values = data.child_data().iter().map(|values| cut(values, 0, values.len()));
            let rows = rows(data, offset, len).offset(data.offset() + offset).buffers(data.buffers().to_vec());
            Ok(built(rows.child_data(values.collect::<Result<Vec<_>, _>>()?)))
        }
        _ => Ok(data.slice(offset, len)),
    }
}

fn cut_bytes<O: ArrowNativeType>(data: &ArrayData, offset: usize, len: usize) -> Result<ArrayData, ArrowError> {
    let values = data.buffers().get(1).ok_or_else(|| broken(data, "lacks its values"))?;
    let (offsets, reached) = moved::<O>(data, offset, len, values.len())?;
    let values = values.slice_with_length(reached.start, reached.len());
    Ok(built(rows(data, offset, len).buffers(vec![offsets, values])))
}

fn cut_lists<O: ArrowNativeType>(data: &ArrayData, offset: usize, len: usize) -> Result<ArrayData, ArrowError> {
    let elements = child(data, 0)?;
    let (offsets, reached) = moved::<O>(data, offset, len, elements.len())?;
    let elements = cut(elements, reached.start, reached.len())?;
    Ok(built(rows(data, offset, len).add_buffer(offsets).add_child_data(elements)))
}

fn cut_list_views<O: ArrowNativeType>(data: &ArrayData, offset: usize, len: usize) -> Result<ArrayData, ArrowError> {
    let (offsets, sizes) = (numbers::<O>(data, 0, offset, len)?, numbers::<O>(data, 1, offset, len)?);
    let lists = offsets.iter().zip(sizes).map(|(start, size)| {
        let start = start.to_usize()?;
        Some(start..start.checked_add(size.to_usize()?)?)
    });
    let lists = lists.collect::<Option<Vec<_>>>().ok_or_else(|| broken(data, "has negative offsets or sizes"))?;
    // Empty lists may lie anywhere.
    let filled = || lists.iter().filter(|list| !list.is_empty());
    let first = filled().map(|list| list.start).min().unwrap_or(0);
    let last = filled().map(|list| list.end).max().unwrap_or(0);
    let starts = lists.iter().map(|list| O::usize_as(if list.is_empty() { 0 } else { list.start - first }));
    let (starts, sizes) = (starts.collect::<Vec<O>>(), sizes.to_vec());
    let elements = cut(child(data, 0)?, first, last - first)?;
    let buffers = vec![Buffer::from_vec(starts), Buffer::from_vec(sizes)];
    Ok(built(rows(data, offset, len).buffers(buffers).add_child_data(elements)))
}

/// For at least one row.
fn cut_runs<O: ArrowNativeType>(data: &ArrayData, offset: usize, len: usize) -> Result<ArrayData, ArrowError> {
    let (ends, values) = (child(data, 0)?, child(data, 1)?);
    let all = numbers::<O>(ends, 0, 0, ends.len())?;
    let start = data.offset() + offset;
    let run_of = |row: usize| all.partition_point(|end| end.as_usize() <= row);
    let reached = run_of(start)..run_of(start + len - 1) + 1;
    let here = all.get(reached.clone()).ok_or_else(|| broken(data, "has runs that end before its rows"))?;
    let here = here.iter().map(|end| Some(O::usize_as(end.to_usize()?.checked_sub(start)?.min(len))));
    let here = here.collect::<Option<Vec<O>>>().ok_or_else(|| broken(data, "has run ends that don't ascend"))?;
    let ends = built(rows(ends, reached.start, reached.len()).add_buffer(Buffer::from_vec(here)));
    let values = cut(values, reached.start, reached.len())?;
    Ok(built(rows(data, offset, len).child_data(vec![ends, values])))
}

/// The offsets of some rows, counted from the first, and the range of `limit` values that they span. [`check_values`]
/// checks that they ascend.
fn moved<O: ArrowNativeType>(
    data: &ArrayData,
    offset: usize,
    len: usize,
    limit: usize,
) -> Result<(Buffer, Range<usize>), ArrowError> {
    let offsets = numbers::<O>(data, 0, offset, len + 1)?;
    let wrong = || broken(data, format!("has offsets that descend or lie beyond its {limit} values"));
    let ends = offsets.first().and_then(|o| o.to_usize()).zip(offsets.last().and_then(|o| o.to_usize()));
    // A negative offset makes an imported buffer seem longer than memory.
    let within = |(first, last): &(usize, usize)| first <= last && *last <= limit && isize::try_from(limit).is_ok();
    let (first, last) = ends.filter(within).ok_or_else(wrong)?;
    let moved = offsets.iter().map(|o| O::from_usize(o.to_usize()?.checked_sub(first)?));
    Ok((Buffer::from_vec(moved.collect::<Option<Vec<O>>>().ok_or_else(wrong)?), first..last))
}

/// `len` numbers of a buffer, starting at a row.
fn numbers<O: ArrowNativeType>(data: &ArrayData, buffer: usize, row: usize, len: usize) -> Result<&[O], ArrowError> {
    let start = data.offset().saturating_add(row);
    let all = data.buffers().get(buffer).map(|buffer| buffer.typed_data::<O>());
    let some = all.and_then(|all| all.get(start..start.saturating_add(len)));
    some.ok_or_else(|| broken(data, "has too short a buffer"))
}

fn child(data: &ArrayData, at: usize) -> Result<&ArrayData, ArrowError> {
    data.child_data().get(at).ok_or_else(|| broken(data, "lacks a child"))
}

fn broken(data: &ArrayData, what: impl std::fmt::Display) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("an array of type {} {what}", data.data_type()))
}

/// Rows still without buffers and children. Nulls are counted again, because the count in the data may be wrong.
fn rows(data: &ArrayData, offset: usize, len: usize) -> ArrayDataBuilder {
    let nulls = data.nulls().map(|nulls| nulls.slice(offset, len));
    ArrayData::builder(data.data_type().clone()).len(len).nulls(nulls)
}

#[expect(unsafe_code, reason = "the checks of the safe way come later, in `whole`")]
fn built(rows: ArrayDataBuilder) -> ArrayData {
    // SAFETY: only `cut` and `whole` call this. The result of `cut` is checked by `whole` before anything reads it. The
    // rows of `whole` have checked columns of the same length.
    unsafe { rows.build_unchecked() }
}

fn reader_of(batch: RecordBatch) -> Reader {
    let schema = batch.schema();
    Box::new(RecordBatchIterator::new([Ok(batch)], schema))
}

fn batch_of(method: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let py = method.py();
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = method.call0()?.extract()?;
    let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: capsules of these names point at initialised structs. The capsules own them, so they stay valid while
    // the capsules live. The schema describes the array (Arrow PyCapsule interface), as `from_ffi` requires.
    #[expect(unsafe_code, reason = "Arrow's C interface passes pointers")]
    let imported = guarded(|| unsafe {
        let (schema, array) = (FFI_ArrowSchema::from_raw(schema.as_ptr()), FFI_ArrowArray::from_raw(array.as_ptr()));
        if schema.release.is_none() || array.is_released() {
            return Err(consumed("array"));
        }
        from_ffi(array, &schema).map_err(from_arrow)
    });
    let batch = imported.and_then(|data| match data.data_type() {
        DataType::Struct(fields) => guarded(|| Ok(RecordBatch::from(whole(fields, &data)?))),
        other => Err(Error::invalid(format!("rows must be an Arrow struct array, not {other}"))),
    });
    batch.map_err(|e| to_exception(py, &e))
}

/// A `pyarrow.RecordBatchReader`, which often wraps a generator. It is read by its Python method. So an exception of
/// the generator, also that of Ctrl-C, is raised unchanged and not as text.
struct Pulled {
    source: Py<PyAny>,
    schema: SchemaRef,
    watch: Arc<Watch>,
}

impl Pulled {
    fn new(source: &Bound<'_, PyAny>, watch: Arc<Watch>) -> PyResult<Pulled> {
        let schema = import_schema(&source.getattr("schema")?)?.unwrap_or_else(ArrowSchema::empty);
        Ok(Pulled { source: source.clone().unbind(), schema: Arc::new(schema), watch })
    }

    fn pull(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        match self.source.bind(py).call_method0("read_next_batch") {
            Ok(batch) => batch_of(&batch.getattr("__arrow_c_array__")?).map(Some),
            Err(end) if end.is_instance_of::<PyStopIteration>(py) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Iterator for Pulled {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match Python::try_attach(|py| self.pull(py)) {
            Some(Ok(batch)) => batch.map(Ok),
            Some(Err(error)) => {
                let text = error.to_string();
                self.watch.stop(error);
                Some(Err(ArrowError::ExternalError(text.into())))
            }
            None => Some(Err(ArrowError::ExternalError("the interpreter is shutting down".into()))),
        }
    }
}

impl RecordBatchReader for Pulled {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// A stream from Python that stops at a signal.
struct Watched {
    reader: Reader,
    watch: Arc<Watch>,
}

impl Iterator for Watched {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.watch.check() {
            Ok(()) => self.reader.next(),
            Err(stop) => Some(Err(ArrowError::ExternalError(Box::new(stop)))),
        }
    }
}

impl RecordBatchReader for Watched {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}
