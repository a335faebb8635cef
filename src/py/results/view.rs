//! Views of catalogs.

use std::collections::BTreeMap;

use pyo3::prelude::*;

use crate::format::view::{NewView, ViewInfo, ViewText};
use crate::py::schema::PySchema;

/// A view at one version; `frazil.View` wraps it.
#[pyclass(name = "View", frozen, module = "frazil._core")]
pub(in crate::py) struct PyView {
    inner: ViewInfo,
}

impl From<ViewInfo> for PyView {
    fn from(inner: ViewInfo) -> PyView {
        PyView { inner }
    }
}

/// The definition of a view's version, from Python's arguments. `texts` are pairs of a dialect and a query.
pub(in crate::py) fn new_view(
    schema: &Bound<'_, PySchema>,
    texts: Vec<(String, String)>,
    properties: BTreeMap<String, String>,
) -> NewView {
    NewView {
        schema: schema.get().inner.clone(),
        texts: texts.into_iter().map(|(dialect, sql)| ViewText { dialect, sql }).collect(),
        properties,
        default_namespace: Vec::new(),
        default_catalog: None,
    }
}

#[pymethods]
impl PyView {
    #[getter]
    fn uuid(&self) -> &str {
        &self.inner.uuid
    }

    #[getter]
    fn location(&self) -> &str {
        &self.inner.location
    }

    #[getter]
    fn metadata_location(&self) -> Option<&str> {
        self.inner.metadata_location.as_deref()
    }

    #[getter]
    fn version(&self) -> i64 {
        self.inner.version
    }

    #[getter]
    fn schema(&self) -> PySchema {
        PySchema { inner: self.inner.schema.clone() }
    }

    /// Pairs of a dialect and a query.
    #[getter]
    fn texts(&self) -> Vec<(&str, &str)> {
        self.inner.texts.iter().map(|text| (text.dialect.as_str(), text.sql.as_str())).collect()
    }

    #[getter]
    fn default_namespace(&self) -> Vec<String> {
        self.inner.default_namespace.clone()
    }

    #[getter]
    fn default_catalog(&self) -> Option<&str> {
        self.inner.default_catalog.as_deref()
    }

    #[getter]
    fn properties(&self) -> BTreeMap<String, String> {
        self.inner.properties.clone()
    }
}
