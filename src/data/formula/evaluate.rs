//! The column of a formula's values.
//!
//! Every function has one meaning, that of [`scalar::apply`](apply). Numbers are computed in whole columns, with the
//! same operations. All else is computed value by value.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};

use super::numbers::whole_columns;
use crate::data::arrow::array_value::value_at;
use crate::data::declared_types::declared_cast::array_of;
use crate::data::read::defaults::repeat;
use crate::error::{Error, Result};
use crate::expr::BoundTerm;
use crate::expr::formula::bound::{BoundFormula, BoundFunction};
use crate::expr::formula::scalar::apply;
use crate::types::{PrimitiveType, Transform};

/// The values of a formula for `rows` rows, in the Arrow type of the formula's type. `column` gives the values of a
/// term's column.
///
/// # Errors
/// `InvalidInput` if a value can't be computed; the errors of `column`.
pub(crate) fn evaluate(
    formula: &BoundFormula,
    rows: usize,
    column: &dyn Fn(&BoundTerm) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
    match formula {
        BoundFormula::Column(term, ty) => of_term(term, ty, column(term)?),
        BoundFormula::Constant(value, ty) => repeat(&array_of(vec![Some(value.clone())], ty)?, rows),
        BoundFormula::Call { function, arguments, ty } => {
            let columns = arguments.iter().map(|a| evaluate(a, rows, column)).collect::<Result<Vec<_>>>()?;
            let types: Vec<&PrimitiveType> = arguments.iter().map(BoundFormula::ty).collect();
            let named = |e: Error| match e.context().iter().any(|(key, _)| *key == "expression") {
                true => e,
                false => e.with("expression", formula),
            };
            of_call(*function, &columns, &types, ty).map_err(named)
        }
    }
}

fn of_term(term: &BoundTerm, ty: &PrimitiveType, column: ArrayRef) -> Result<ArrayRef> {
    if term.transform == Transform::Identity {
        return Ok(column);
    }
    let source = term.source_primitive().ok_or_else(|| Error::internal("a transform of a nested column"))?;
    let value = |row| value_at(&column, row, source).and_then(|v| term.transform.apply(v, source));
    array_of((0..column.len()).map(value).collect(), ty)
}

fn of_call(
    function: BoundFunction,
    columns: &[ArrayRef],
    types: &[&PrimitiveType],
    ty: &PrimitiveType,
) -> Result<ArrayRef> {
    if let Some(computed) = whole_columns(function, columns, ty) {
        return Ok(computed);
    }
    if let (BoundFunction::Lower | BoundFunction::Upper, [column]) = (function, columns) {
        let texts = column.as_string_opt::<i32>().ok_or_else(|| Error::internal("letters of a column without text"))?;
        let changed = |text: &str| match function {
            BoundFunction::Lower => text.to_lowercase(),
            _ => text.to_uppercase(),
        };
        return Ok(Arc::new(texts.iter().map(|text| text.map(changed)).collect::<StringArray>()));
    }
    let rows = columns.first().map_or(0, |c| c.len());
    let mut out = Vec::with_capacity(rows);
    let mut values = Vec::with_capacity(columns.len());
    for row in 0..rows {
        values.clear();
        values.extend(columns.iter().zip(types).map_while(|(c, ty)| Some((value_at(c, row, ty)?, *ty))));
        out.push(match values.len() == columns.len() {
            true => apply(function, &values, ty)?,
            false => None,
        });
    }
    array_of(out, ty)
}

#[cfg(test)]
#[path = "evaluate_tests.rs"]
mod tests;
