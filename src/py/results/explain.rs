//! Explanations, estimates and statistics as dictionaries.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::value::to_python;
use crate::format::estimate::Estimate;
use crate::rows::explanation::{CacheFacts, Clause, CommitFacts, Explain, FunnelStage};
use crate::rows::statistics::{ColumnStatistics, Fact, Statistics};
use crate::types::{PrimitiveType, Value};

/// The result of planning.
pub(in crate::py) fn explain_dict<'py>(py: Python<'py>, explain: &Explain) -> PyResult<Bound<'py, PyDict>> {
    let specs = PyDict::new(py);
    for (id, text) in &explain.specs {
        specs.set_item(id, text)?;
    }
    let deletes = PyDict::new(py);
    deletes.set_item("position", explain.deletes.position)?;
    deletes.set_item("equality", explain.deletes.equality)?;
    deletes.set_item("deletion_vector", explain.deletes.vectors)?;
    deletes.set_item("attached", explain.deletes.attached)?;
    deletes.set_item("attachments", explain.deletes.attachments)?;
    let out = PyDict::new(py);
    out.set_item("table", &explain.table)?;
    out.set_item("format", explain.format)?;
    out.set_item("format_version", explain.format_version)?;
    out.set_item("snapshot_id", explain.snapshot_id)?;
    out.set_item("snapshot_timestamp_ms", explain.snapshot_timestamp_ms)?;
    out.set_item("operation", &explain.operation)?;
    out.set_item("schema_id", explain.schema_id)?;
    out.set_item("partition_specs", specs)?;
    out.set_item("filter", &explain.filter)?;
    out.set_item("select", &explain.select)?;
    out.set_item("clauses", list(py, &explain.clauses, clause_dict)?)?;
    out.set_item("stages", list(py, &explain.stages, stage_dict)?)?;
    out.set_item("deletes", deletes)?;
    out.set_item("commits", list(py, &explain.commits, commit_dict)?)?;
    out.set_item("cache", explain.cache.as_ref().map(|cache| cache_dict(py, cache)).transpose()?)?;
    if let Some(plan) = &explain.server_plan {
        out.set_item("server_plan", plan)?;
    }
    out.set_item("rows", explain.rows)?;
    out.set_item("time_ms", explain.time_ms)?;
    Ok(out)
}

fn list<'py, T>(
    py: Python<'py>,
    items: &[T],
    item: impl Fn(Python<'py>, &T) -> PyResult<Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let out = PyList::empty(py);
    for each in items {
        out.append(item(py, each)?)?;
    }
    Ok(out)
}

fn cache_dict<'py>(py: Python<'py>, cache: &CacheFacts) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("folder", &cache.folder)?;
    out.set_item("served", cache.served)?;
    out.set_item("read", cache.read)?;
    out.set_item("trouble", &cache.trouble)?;
    Ok(out)
}

fn commit_dict<'py>(py: Python<'py>, commit: &CommitFacts) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("snapshot_id", commit.snapshot_id)?;
    out.set_item("timestamp_ms", commit.timestamp_ms)?;
    out.set_item("operation", &commit.operation)?;
    out.set_item("change_ordinal", commit.ordinal)?;
    out.set_item("inserts", commit.inserts)?;
    out.set_item("deletes", commit.deletes)?;
    Ok(out)
}

fn clause_dict<'py>(py: Python<'py>, clause: &Clause) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("clause", &clause.text)?;
    out.set_item("stages", &clause.stages)?;
    out.set_item("limits", &clause.limits)?;
    Ok(out)
}

fn stage_dict<'py>(py: Python<'py>, stage: &FunnelStage) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("name", stage.name)?;
    out.set_item("unit", stage.unit)?;
    out.set_item("considered", stage.considered)?;
    out.set_item("kept", stage.kept)?;
    out.set_item("considered_bytes", stage.considered_bytes)?;
    out.set_item("kept_bytes", stage.kept_bytes)?;
    out.set_item("reason", stage.reason)?;
    out.set_item("time_ms", stage.time_ms)?;
    Ok(out)
}

/// The expected cost of planning.
pub(in crate::py) fn estimate_dict<'py>(py: Python<'py>, estimate: &Estimate) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("bytes", estimate.bytes)?;
    out.set_item("data_manifests", estimate.data_manifests)?;
    out.set_item("delete_manifests", estimate.delete_manifests)?;
    out.set_item("total_bytes", estimate.total_bytes)?;
    out.set_item("total_manifests", estimate.total_manifests)?;
    out.set_item("data_files", estimate.data_files)?;
    out.set_item("delete_files", estimate.delete_files)?;
    out.set_item("rows", estimate.rows)?;
    out.set_item("streamed_memory_bytes", estimate.streamed_memory_bytes)?;
    out.set_item("table_memory_bytes", estimate.table_memory_bytes)?;
    out.set_item("cached_manifests", estimate.cached_manifests)?;
    out.set_item("cache_trouble", &estimate.cache_trouble)?;
    out.set_item("at_most", estimate.at_most)?;
    Ok(out)
}

/// Counts and bounds; each figure as `(value, exact)`.
pub(in crate::py) fn statistics_dict<'py>(py: Python<'py>, statistics: &Statistics) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("row_count", (statistics.row_count.value, statistics.row_count.exact))?;
    out.set_item("files", statistics.files)?;
    out.set_item("columns", list(py, &statistics.columns, column_dict)?)?;
    Ok(out)
}

fn column_dict<'py>(py: Python<'py>, column: &ColumnStatistics) -> PyResult<Bound<'py, PyDict>> {
    let count = |fact: &Fact<u64>| (fact.value, fact.exact);
    let out = PyDict::new(py);
    out.set_item("name", &column.name)?;
    out.set_item("field_id", column.field_id)?;
    out.set_item("type", column.ty.to_string())?;
    out.set_item("value_count", count(&column.value_count))?;
    out.set_item("null_count", count(&column.null_count))?;
    out.set_item("nan_count", count(&column.nan_count))?;
    out.set_item("min", value(py, &column.min, &column.ty)?)?;
    out.set_item("max", value(py, &column.max, &column.ty)?)?;
    Ok(out)
}

fn value<'py>(py: Python<'py>, fact: &Fact<Value>, ty: &PrimitiveType) -> PyResult<(Bound<'py, PyAny>, bool)> {
    Ok((to_python(py, fact.value.as_ref(), ty)?, fact.exact))
}
