//! Variants as Python objects and as JSON text.

use arrow::array::Array;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::arrow::{Input, PyBatches};
use super::call::run_attached;
use super::results::value::{civil, to_python};
use crate::codec::variant::{Metadata, VariantValue, members};
use crate::data::arrow::variant;
use crate::error::Error;
use crate::types::temporal::MICROS_PER_DAY;
use crate::types::{self, PrimitiveType};

/// Rows between two checks for Ctrl-C.
const ROWS_A_LOOK: usize = 1024;

/// The variants of the first column of `data` as JSON text.
#[pyfunction]
pub(super) fn variant_json(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<PyBatches> {
    let (schema, batches) = Input::new(data)?.run(py, variant::to_json)?;
    Ok(PyBatches::new(schema, batches))
}

/// The variants of the first column of `data` as objects. `scalar(type, number)` makes values that Python has no object
/// for: dates, times and timestamps outside of its range or precision.
#[pyfunction]
pub(super) fn variant_objects<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    scalar: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let columns = Input::new(data)?.run(py, |rows| {
        let column = |batch: Result<arrow::array::RecordBatch, arrow::error::ArrowError>| {
            let batch = batch.map_err(|e| Error::invalid("the Arrow data can't be used").because(e))?;
            let array = batch.columns().first().ok_or_else(|| Error::invalid("the data has no columns"))?;
            Ok((array.clone(), variant::parts(array)?))
        };
        rows.map(column).collect::<crate::error::Result<Vec<_>>>()
    })?;
    let out = PyList::empty(py);
    for (array, (metadata, value)) in &columns {
        for row in 0..array.len() {
            if row % ROWS_A_LOOK == 0 {
                py.check_signals()?;
            }
            if array.is_null(row) {
                out.append(py.None())?;
                continue;
            }
            let metadata = run_attached(py, || Metadata::parse(metadata.value(row)))?;
            out.append(object(py, &metadata, value.value(row), scalar)?)?;
        }
    }
    Ok(out)
}

/// The object for a checked value.
fn object<'py>(
    py: Python<'py>,
    metadata: &Metadata<'_>,
    bytes: &[u8],
    scalar: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match run_attached(py, || VariantValue::parse(bytes))?.0 {
        VariantValue::Object(object_) => {
            let out = PyDict::new(py);
            for member in members(metadata, &object_) {
                let (name, bytes) = run_attached(py, || member)?;
                out.set_item(name, object(py, metadata, bytes, scalar)?)?;
            }
            out.into_any()
        }
        VariantValue::Array(array) => {
            let out = PyList::empty(py);
            for i in 0..array.len() {
                let bytes = run_attached(py, || array.bytes(i))?;
                out.append(object(py, metadata, bytes, scalar)?)?;
            }
            out.into_any()
        }
        VariantValue::Null => py.None().into_bound(py),
        VariantValue::Boolean(v) => v.into_pyobject(py)?.to_owned().into_any(),
        VariantValue::Int8(v) => v.into_pyobject(py)?.into_any(),
        VariantValue::Int16(v) => v.into_pyobject(py)?.into_any(),
        VariantValue::Int32(v) => v.into_pyobject(py)?.into_any(),
        VariantValue::Int64(v) => v.into_pyobject(py)?.into_any(),
        VariantValue::Float(v) => v.into_pyobject(py)?.into_any(),
        VariantValue::Double(v) => v.into_pyobject(py)?.into_any(),
        VariantValue::String(v) => v.into_pyobject(py)?.into_any(),
        VariantValue::Binary(v) => PyBytes::new(py, v).into_any(),
        VariantValue::Uuid(v) => to_python(py, Some(&types::Value::Uuid(v)), &PrimitiveType::Uuid)?,
        VariantValue::Decimal(d) => {
            let ty = PrimitiveType::Decimal { precision: 38, scale: d.scale };
            to_python(py, Some(&types::Value::Decimal(d.unscaled)), &ty)?
        }
        moment => temporal(py, &moment, scalar)?,
    })
}

/// The object for a date, time or timestamp.
fn temporal<'py>(py: Python<'py>, value: &VariantValue<'_>, scalar: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    use PrimitiveType as P;
    let (ty, number, name) = match *value {
        VariantValue::Date(days) => (P::Date, i64::from(days), "date"),
        VariantValue::Time(micros) => (P::Time, micros, "time"),
        VariantValue::Timestamp(micros) => (P::Timestamp, micros, "timestamp"),
        VariantValue::Timestamptz(micros) => (P::Timestamptz, micros, "timestamptz"),
        VariantValue::TimestampNs(nanos) => return scalar.call1(("timestamp_ns", nanos)),
        VariantValue::TimestamptzNs(nanos) => return scalar.call1(("timestamptz_ns", nanos)),
        _ => return Ok(py.None().into_bound(py)),
    };
    let fits = match ty {
        P::Date => civil(number).is_some(),
        P::Time => (0..MICROS_PER_DAY).contains(&number),
        _ => civil(number.div_euclid(MICROS_PER_DAY)).is_some(),
    };
    match (fits, *value) {
        (false, _) => scalar.call1((name, number)),
        (true, VariantValue::Date(days)) => to_python(py, Some(&types::Value::Int(days)), &ty),
        (true, _) => to_python(py, Some(&types::Value::Long(number)), &ty),
    }
}
