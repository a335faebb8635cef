//! The Python face: converts arguments, detaches from the interpreter, calls the crate, converts back. No logic lives
//! here; words, types and documentation for users are in `python/frazil`.
//!
//! [`call`] is the only way into the crate, [`arrow`] the only place with `unsafe`, [`errors`] the map to exceptions.

mod arrow;
mod call;
mod catalog;
mod errors;
mod explain;
mod plan_part;
mod requests;
mod scan;
mod schema;
mod signals;
mod table;
mod task;
mod transaction;
mod transforms;
mod value;
mod variant;

use pyo3::prelude::*;

use crate::error::Error;

/// Arrow's columns are many buffers of some hundred kilobytes, made and freed batch by batch. The system's allocator
/// maps each buffer again, with a page fault every 4 KB. That was a third of a full scan's processor time. This one
/// keeps freed memory for a while (`.cargo/config.toml`).
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The compiled half of Frazil; `frazil` wraps it.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::arrow::{Batch, BatchStream, Batches};
    #[pymodule_export]
    use super::catalog::Catalog;
    #[pymodule_export]
    use super::plan_part::PlanPart;
    #[pymodule_export]
    use super::requests::columns::{NewSortField, Position, SchemaOperation, SpecOperation};
    #[pymodule_export]
    use super::requests::evolution::{Evolution, Retention};
    #[pymodule_export]
    use super::requests::row_change::{Assigned, RowChange};
    #[pymodule_export]
    use super::requests::version::At;
    #[pymodule_export]
    use super::scan::{PackedSplits, Scan, Split, TaskStream, check_filter, is_plain_path};
    #[pymodule_export]
    use super::schema::Schema;
    #[pymodule_export]
    use super::table::{CommitMessage, Table};
    #[pymodule_export]
    use super::task::{DataFile, DeleteFile, ScanTask};
    #[pymodule_export]
    use super::transaction::Transaction;
    #[pymodule_export]
    use super::transforms::{transform_array, xxh64};
    #[pymodule_export]
    use super::variant::{variant_json, variant_objects};

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("DEBUG_BUILD", cfg!(debug_assertions))
    }
}

/// What `__reduce__` returns: a class's `from_json` and its argument.
type Pickled<'py> = (Bound<'py, PyAny>, (String,));

/// The text of a method that reads JSON.
///
/// # Errors
/// `InvalidInputError` if it is something else.
fn json_text(text: &Bound<'_, PyAny>) -> PyResult<String> {
    text.extract().map_err(|_| {
        let kind = text.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        errors::to_exception(text.py(), &Error::invalid(format!("text must be text, not a '{kind}'")))
    })
}

/// Pickles an object of class `T` by the JSON that `T.from_json` reads.
fn pickle_as_json<T: pyo3::PyTypeInfo>(py: Python<'_>, json: String) -> PyResult<Pickled<'_>> {
    Ok((py.get_type::<T>().getattr("from_json")?, (json,)))
}
