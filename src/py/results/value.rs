//! Single values as Python objects.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDate, PyDateTime, PyTime, PyType, PyTzInfo};

use crate::types::temporal::{MICROS_PER_DAY, civil_of_days};
use crate::types::value::format_value;
use crate::types::{PrimitiveType, Value};

static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static UUID: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The object for a value: `date`, `time`, `datetime` (aware if the type has a zone), `Decimal`, `UUID`, `bytes` or a
/// plain number, string or boolean. Nanosecond timestamps are integers, and points in time that Python has no object
/// for are ISO text.
pub(in crate::py) fn to_python<'py>(
    py: Python<'py>,
    value: Option<&Value>,
    ty: &PrimitiveType,
) -> PyResult<Bound<'py, PyAny>> {
    use PrimitiveType as P;
    let Some(value) = value else { return Ok(py.None().into_bound(py)) };
    let text = || format_value(value.as_ref(), ty);
    Ok(match (value, ty) {
        (Value::Int(d), P::Date) => match civil(i64::from(*d)) {
            Some((year, month, day)) => PyDate::new(py, year, month, day)?.into_any(),
            None => text().into_pyobject(py)?.into_any(),
        },
        (Value::Long(t), P::Time) => {
            let (hour, minute, second, micro) = clock(*t);
            PyTime::new(py, hour, minute, second, micro, None)?.into_any()
        }
        (Value::Long(t), P::Timestamp | P::Timestamptz) => match civil(t.div_euclid(MICROS_PER_DAY)) {
            Some((year, month, day)) => {
                let (hour, minute, second, micro) = clock(*t);
                let utc = if *ty == P::Timestamptz { Some(PyTzInfo::utc(py)?.to_owned()) } else { None };
                PyDateTime::new(py, year, month, day, hour, minute, second, micro, utc.as_ref())?.into_any()
            }
            None => text().into_pyobject(py)?.into_any(),
        },
        (Value::Decimal(_), _) => DECIMAL.import(py, "decimal", "Decimal")?.call1((text(),))?,
        (Value::Uuid(_), _) => UUID.import(py, "uuid", "UUID")?.call1((text(),))?,
        (Value::Boolean(b), _) => b.into_pyobject(py)?.to_owned().into_any(),
        (Value::Int(i), _) => i.into_pyobject(py)?.into_any(),
        (Value::Long(i), _) => i.into_pyobject(py)?.into_any(),
        (Value::Float(f), _) => f.into_pyobject(py)?.into_any(),
        (Value::Double(f), _) => f.into_pyobject(py)?.into_any(),
        (Value::String(s), _) => s.into_pyobject(py)?.into_any(),
        (Value::Bytes(b), _) => pyo3::types::PyBytes::new(py, b).into_any(),
    })
}

/// The civil date of a day, if Python's `date` can hold it.
pub(in crate::py) fn civil(days: i64) -> Option<(i32, u8, u8)> {
    let (year, month, day) = civil_of_days(days);
    (1..=9999).contains(&year).then_some((year as i32, month as u8, day as u8))
}

/// Hour, minute, second and microsecond of a time or timestamp in microseconds.
fn clock(micros: i64) -> (u8, u8, u8, u32) {
    let of_day = micros.rem_euclid(MICROS_PER_DAY);
    let seconds = of_day / 1_000_000;
    ((seconds / 3600) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8, (of_day % 1_000_000) as u32)
}
