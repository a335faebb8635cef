//! Tables of Frazil as tables of DataFusion's Python package.
//!
//! Frazil's own Rust code is not linked. Python plans and opens streams ([`source`]). This crate translates filters
//! ([`filter`], [`literal`]), describes the scan to DataFusion ([`provider`], [`plan`]) and pulls batches
//! ([`stream`]).

mod filter;
mod literal;
mod plan;
mod provider;
mod source;
mod stream;

use std::sync::Arc;

use datafusion_ffi::table_provider::FFI_TableProvider;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The capsule by which DataFusion reads `source`.
#[pyfunction]
fn table_provider<'py>(
    py: Python<'py>,
    source: Bound<'py, PyAny>,
    session: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let codec = source::logical_codec(&session)?;
    let provider = provider::FrazilTable::new(source::Source::new(&source)?);
    let provider = FFI_TableProvider::new_with_ffi_codec(Arc::new(provider), true, None, codec);
    PyCapsule::new_with_value(py, provider, c"datafusion_table_provider")
}

/// The compiled part of `frazil_datafusion`.
#[pymodule(gil_used = false)]
fn _provider(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let major = datafusion_ffi::version();
    if major == 0 {
        return Err(PyImportError::new_err("the version of DataFusion is unknown"));
    }
    module.add("DATAFUSION", major)?;
    module.add_function(wrap_pyfunction!(table_provider, module)?)
}
