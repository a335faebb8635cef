//! New values of columns for an update, checked against the schema.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::buffer::BooleanBuffer;

use crate::data::read::cast::constant;
use crate::error::{Error, Result, ResultExt};
use crate::expr::{Literal, value_of};
use crate::format::row_change::Assigned;
use crate::rows::row_changes::patch::{Patch, Patched};
use crate::rows::row_changes::source::no_column;
use crate::types::{Field, PrimitiveType, Schema, Value};

/// The new value of every column of the table.
pub(crate) enum New {
    Same,
    Constant(Option<Value>),
    /// Another column, by position.
    Copy(usize),
}

/// New values of some columns, checked.
pub(crate) struct Assignments {
    fields: Arc<[Field]>,
    new: Vec<New>,
}

/// Numbers of rows as entries of a summary.
pub(crate) fn row_counts(updated: u64, inserted: u64, deleted: u64) -> [(String, String); 3] {
    [("updated", updated), ("inserted", inserted), ("deleted", deleted)]
        .map(|(what, n)| (format!("frazil.rows-{what}"), n.to_string()))
}

impl Assignments {
    /// Checks assignments to columns of a schema.
    ///
    /// # Errors
    /// `InvalidInput` if the list is empty, or if columns and values do not fit the schema; `Unsupported` for values of
    /// structs, lists and maps.
    pub(crate) fn new(schema: &Schema, assigned: &[(String, Assigned)]) -> Result<Assignments> {
        if assigned.is_empty() {
            return Err(Error::invalid("an update needs at least one column with a value"));
        }
        let mut new: Vec<New> = schema.fields.iter().map(|_| New::Same).collect();
        let find = |name: &str| {
            let at = schema.fields.iter().position(|f| f.name == name);
            at.ok_or_else(|| no_column(schema, name))
        };
        for (name, value) in assigned {
            let at = find(name)?;
            let (field, ty) = (&schema.fields[at], schema.fields[at].ty.as_primitive());
            let assignment = match (value, ty) {
                (Assigned::Value(None), _) if field.required => {
                    return Err(Error::invalid("a required column can't become null").with("column", name));
                }
                (Assigned::Value(None), Some(_)) => New::Constant(None),
                (Assigned::Value(Some(literal)), Some(ty)) => {
                    let value = value_of(literal, ty).map_err(|e| no_value(&e, literal, ty));
                    New::Constant(Some(value.with("column", name)?))
                }
                (Assigned::Value(_), None) => {
                    return Err(Error::unsupported("an update can't set columns that are structs, lists or maps")
                        .with("column", name)
                        .hint("Use upsert or merge with rows that have the new values"));
                }
                (Assigned::Column(other), _) => {
                    let from = find(other)?;
                    if schema.fields[from].ty != field.ty {
                        return Err(Error::invalid(format!("column '{other}' has another type")).with("column", name));
                    }
                    New::Copy(from)
                }
            };
            new[at] = assignment;
        }
        Ok(Assignments { fields: schema.fields.clone(), new })
    }

    /// The names of the columns that get new values.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        let assigned = self.fields.iter().zip(&self.new).filter(|(_, new)| !matches!(new, New::Same));
        assigned.map(|(field, _)| field.name.as_str())
    }

    /// The number of columns of the schema.
    pub(crate) fn width(&self) -> usize {
        self.new.len()
    }

    /// Whether a column gets the values of the column at this place.
    pub(crate) fn copies(&self, place: usize) -> bool {
        self.new.iter().any(|new| matches!(new, New::Copy(from) if *from == place))
    }

    /// Rows after the update. They have the columns of the schema first; others are left out.
    ///
    /// # Errors
    /// `InvalidInput` if a required column becomes null.
    pub(crate) fn apply(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let count = rows.num_rows();
        let columns = self.new.iter().zip(self.fields.iter()).enumerate().map(|(at, (new, field))| {
            let array: ArrayRef = match (new, field.ty.as_primitive()) {
                (New::Constant(value), Some(ty)) => constant(value.as_ref(), ty, count)?,
                (New::Copy(from), _) => rows.column(*from).clone(),
                _ => rows.column(at).clone(),
            };
            Ok(array)
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let all: Vec<usize> = (0..columns.len()).collect();
        let schema = rows.schema().project(&all).map_err(|e| Error::internal("columns").because(e))?;
        RecordBatch::try_new(schema.into(), columns)
            .map_err(|e| Error::invalid("a required column can't become null").because(e))
    }
}

/// The error, worded for a value that is assigned, not compared.
pub(crate) fn no_value(error: &Error, literal: &Literal, ty: &PrimitiveType) -> Error {
    let hint = match ty {
        PrimitiveType::Timestamp
        | PrimitiveType::Timestamptz
        | PrimitiveType::TimestampNs
        | PrimitiveType::TimestamptzNs
        | PrimitiveType::Date
        | PrimitiveType::Time
            if matches!(literal, Literal::String(_)) =>
        {
            error.hint_text().unwrap_or("Give a value of Python's datetime module").to_owned()
        }
        PrimitiveType::Date => "Give a datetime.date, or text such as '2023-01-31'".to_owned(),
        PrimitiveType::Time => "Give a datetime.time, or text such as '12:30:00'".to_owned(),
        PrimitiveType::Timestamp | PrimitiveType::TimestampNs => {
            "Give a datetime.datetime without a time zone, or text such as '2023-01-31T12:00:00'".to_owned()
        }
        PrimitiveType::Timestamptz | PrimitiveType::TimestamptzNs => {
            "Give a datetime.datetime with a time zone, or text such as '2023-01-31T12:00:00Z'".to_owned()
        }
        PrimitiveType::String => "Give text: str(value) makes it".to_owned(),
        PrimitiveType::Boolean => "Give True or False".to_owned(),
        PrimitiveType::Int | PrimitiveType::Long | PrimitiveType::Float | PrimitiveType::Double => {
            "Give a number in the range of the type".to_owned()
        }
        PrimitiveType::Decimal { .. } => "Give a decimal.Decimal with no more digits than the type has".to_owned(),
        _ => "Give bytes".to_owned(),
    };
    Error::invalid(format!("{literal} is not a value of the type {ty}")).hint(hint)
}

impl Patch for Assignments {
    fn patch(&self, rows: &RecordBatch, _: &[u32]) -> Result<Patched> {
        let count = rows.num_rows();
        let (same, replaced) = (BooleanBuffer::new_unset(count), BooleanBuffer::new_set(count));
        Ok(Patched { same, replaced, rows: Some(self.apply(rows)?) })
    }

    fn changes_all(&self) -> bool {
        true
    }
}
