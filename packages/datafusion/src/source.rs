//! What Python is asked for: the schema, plans, streams, and the codec of a session.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::ffi::FFI_ArrowSchema;
use arrow::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use datafusion_common::{DataFusionError, Result, plan_err};
use datafusion_ffi::proto::logical_extension_codec::FFI_LogicalExtensionCodec;
use pyo3::exceptions::{PyImportError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A scan that Python plans and reads: `frazil.interop.datafusion_source.Source`.
#[derive(Debug)]
pub(crate) struct Source {
    object: Py<PyAny>,
    pub(crate) schema: SchemaRef,
    /// Whether the scan takes more filters. One with a limit does not: it would count other rows.
    pub(crate) takes_filters: bool,
}

/// What one query needs of a scan.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) columns: Vec<String>,
    pub(crate) filters: Vec<String>,
    pub(crate) limit: Option<usize>,
    /// The largest number of parts.
    pub(crate) parts: usize,
    pub(crate) batch_rows: usize,
}

/// Parts of a plan, which are read independently.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) parts: Vec<Part>,
    /// The number of rows of all parts, if metadata has it exactly.
    pub(crate) rows: Option<usize>,
}

/// A part of a plan.
#[derive(Debug)]
pub(crate) struct Part {
    opener: Py<PyAny>,
    /// About how many rows it has.
    pub(crate) rows: usize,
}

impl Source {
    /// The scan that `object` stands for.
    ///
    /// # Errors
    /// Those of Python, and a schema with a name twice: columns are found by their names.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Source> {
        let schema = schema_of(&object.getattr("schema")?)?;
        let mut names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        names.sort_unstable();
        if let Some([name, _]) = names.array_windows().find(|[left, right]| left == right) {
            return Err(PyValueError::new_err(format!("two columns have the name '{name}': select one of them")));
        }
        let takes_filters = object.getattr("takes_filters")?.extract()?;
        Ok(Source { object: object.clone().unbind(), schema: Arc::new(schema), takes_filters })
    }

    /// Plans. This may read files of the table, so callers that must not wait use a thread.
    pub(crate) fn plan(&self, request: Request) -> Result<Plan> {
        attached(|py| {
            let Request { columns, filters, limit, parts, batch_rows } = request;
            let made = self.object.bind(py).call_method1("plan", (columns, filters, limit, parts, batch_rows))?;
            let (parts, rows): (Vec<(Py<PyAny>, usize)>, Option<usize>) = made.extract()?;
            Ok(Plan { parts: parts.into_iter().map(|(opener, rows)| Part { opener, rows }).collect(), rows })
        })
    }
}

impl Part {
    /// Opens the stream of its rows.
    pub(crate) fn open(&self) -> Result<ArrowArrayStreamReader> {
        let stream = attached(|py| stream_of(&self.opener.bind(py).call0()?))?;
        // Detached, because asking for the schema may wait for files.
        ArrowArrayStreamReader::try_new(stream).map_err(|e| DataFusionError::Execution(e.to_string()))
    }
}

/// Runs `work` with the interpreter. Its exception becomes an error with the same text.
fn attached<T>(work: impl for<'py> FnOnce(Python<'py>) -> PyResult<T>) -> Result<T> {
    let done = Python::try_attach(|py| work(py).map_err(|e| text_of(py, &e)));
    match done {
        Some(Ok(value)) => Ok(value),
        Some(Err(text)) => Err(DataFusionError::Execution(text)),
        None => plan_err!("Python is shutting down"),
    }
}

/// `NotFoundError: text`.
fn text_of(py: Python<'_>, error: &PyErr) -> String {
    let kind = error.get_type(py).name().map_or_else(|_| "Exception".to_owned(), |name| name.to_string());
    format!("{kind}: {}", error.value(py))
}

fn schema_of(object: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let capsule = object.call_method0("__arrow_c_schema__")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name points at an initialised `ArrowSchema`, which it owns while `capsule` lives.
    #[expect(unsafe_code, reason = "Arrow's C interface passes pointers")]
    let schema = unsafe { pointer.as_ref() };
    Schema::try_from(schema).map_err(|e| PyValueError::new_err(e.to_string()))
}

fn stream_of(object: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowArrayStream> {
    let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name points at an initialised `ArrowArrayStream`. The capsule owns it, so it stays
    // valid while `capsule` lives. Nothing else refers to it.
    #[expect(unsafe_code, reason = "Arrow's C interface passes pointers")]
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    Ok(stream)
}

/// The codec of a session, by which functions in filters are found. `session` is the session or the codec's capsule.
///
/// # Errors
/// `ImportError` for another major version of DataFusion.
pub(crate) fn logical_codec(session: &Bound<'_, PyAny>) -> PyResult<FFI_LogicalExtensionCodec> {
    let found = match session.getattr_opt("__datafusion_logical_extension_codec__")? {
        Some(method) => method.call0()?,
        None => session.clone(),
    };
    let capsule = found.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"datafusion_logical_extension_codec"))?;
    let pointer = pointer.cast::<FFI_LogicalExtensionCodec>();
    // SAFETY: a capsule of this name points at a codec, which it owns while `capsule` lives. Python checked before that
    // DataFusion has this crate's major version, for which the struct has this form.
    #[expect(unsafe_code, reason = "DataFusion passes pointers")]
    let (codec, major) = unsafe {
        let codec = pointer.as_ref();
        (codec, (codec.version)())
    };
    let own = datafusion_ffi::version();
    if major != own {
        return Err(PyImportError::new_err(format!("frazil-datafusion fits DataFusion {own}, not {major}")));
    }
    Ok(codec.clone())
}
