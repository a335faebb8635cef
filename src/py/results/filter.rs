//! Filters for reports, as nested dictionaries.
//!
//! Source: `Expression` in `open-api/rest-catalog-open-api.yaml` of apache/iceberg.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use crate::expr::{BoundLeaf, BoundPredicate, Op};
use crate::types::{Transform, Value};

/// A filter whose literals are texts. Conjunctions and disjunctions become balanced trees of pairs.
pub(in crate::py) fn filter_members<'py>(py: Python<'py>, filter: &BoundPredicate) -> PyResult<Bound<'py, PyAny>> {
    match filter {
        BoundPredicate::And(parts) => pairs(py, "and", parts),
        BoundPredicate::Or(parts) => pairs(py, "or", parts),
        BoundPredicate::Leaf(leaf) => Ok(question(py, leaf)?.into_any()),
        filter => Ok(PyBool::new(py, *filter != BoundPredicate::False).to_owned().into_any()),
    }
}

fn pairs<'py>(py: Python<'py>, word: &str, parts: &[BoundPredicate]) -> PyResult<Bound<'py, PyAny>> {
    match parts {
        [] => Ok(PyBool::new(py, word == "and").to_owned().into_any()),
        [part] => filter_members(py, part),
        _ => {
            let (left, right) = parts.split_at(parts.len() / 2);
            let out = PyDict::new(py);
            out.set_item("type", word)?;
            out.set_item("left", pairs(py, word, left)?)?;
            out.set_item("right", pairs(py, word, right)?)?;
            Ok(out.into_any())
        }
    }
}

fn question<'py>(py: Python<'py>, leaf: &BoundLeaf) -> PyResult<Bound<'py, PyDict>> {
    let name = leaf.term.path.join(".");
    let out = PyDict::new(py);
    out.set_item("type", leaf.op.spec_name())?;
    match &leaf.term.transform {
        Transform::Identity => out.set_item("term", name)?,
        transform => {
            let term = PyDict::new(py);
            term.set_item("type", "transform")?;
            term.set_item("transform", transform.to_string())?;
            term.set_item("term", name)?;
            out.set_item("term", term)?;
        }
    }
    let texts: Vec<&str> = leaf
        .values
        .iter()
        .filter_map(|v| if let Value::String(text) = v { Some(text.as_ref()) } else { None })
        .collect();
    match (leaf.op, texts.first()) {
        (Op::In | Op::NotIn, _) => out.set_item("values", texts)?,
        (_, Some(text)) => out.set_item("value", text)?,
        (_, None) => {}
    }
    Ok(out)
}
