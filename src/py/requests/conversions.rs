//! Dictionaries whose order counts, and pickles of classes that are enums in Rust.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

/// A dictionary's pairs in their order.
#[derive(Clone, PartialEq)]
pub(in crate::py) struct Pairs<T>(pub(in crate::py) Vec<(String, T)>);

impl<'py, T: FromPyObjectOwned<'py>> FromPyObject<'_, 'py> for Pairs<T> {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let one = |(key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
            Ok((key.extract()?, value.extract().map_err(Into::into)?))
        };
        obj.cast::<PyDict>()?.iter().map(one).collect::<PyResult<_>>().map(Pairs)
    }
}

impl<'py, T: IntoPyObject<'py>> IntoPyObject<'py> for Pairs<T> {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (key, value) in self.0 {
            dict.set_item(key, value)?;
        }
        Ok(dict)
    }
}

/// The result of `__reduce__`: a class's `unpickle`, and the kind and members of an object.
pub(super) type PickledVariant<'py> = (Bound<'py, PyAny>, (String, Bound<'py, PyTuple>));

/// Pickles an object of a class that is an enum in Rust. Its `unpickle` must be [`variant`].
pub(super) fn pickle_variant<'py, T: pyo3::PyTypeInfo>(object: &Bound<'py, T>) -> PyResult<PickledVariant<'py>> {
    let py = object.py();
    let (class, object) = (py.get_type::<T>(), object.as_any());
    let kind = object.get_type().name()?;
    // PyO3 names the class of a variant after both.
    let kind = kind.to_str()?.rsplit('_').next().unwrap_or_default().to_owned();
    let names = object.get_type().getattr("__match_args__")?.cast_into::<PyTuple>()?;
    let members = names.iter().map(|name| object.getattr(name.cast::<PyString>()?));
    let members = PyTuple::new(py, members.collect::<PyResult<Vec<_>>>()?)?;
    Ok((class.getattr("unpickle")?, (kind, members)))
}

/// Makes an object of a variant of a class.
pub(super) fn variant<'py>(
    class: &Bound<'py, PyType>,
    kind: &str,
    members: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    class.getattr(kind)?.call1(members)
}
