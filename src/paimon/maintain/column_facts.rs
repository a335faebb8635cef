//! What the rows of a table say about one column.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{SortOptions, concat, sort_to_indices, take};
use arrow::datatypes::DataType as ArrowType;
use serde_json::{Map, Value as Json};

use crate::codec::theta::ThetaSketch;
use crate::data::arrow::array_value::value_at;
use crate::data::write::distinct::DistinctCounter;
use crate::error::{Error, Result};
use crate::paimon::spec::data_type::{DataField, TypeKind};
use crate::paimon::spec::partition::value_text;
use crate::types::{PrimitiveType, Schema};

/// Whether a column can have statistics: its values have no members.
pub(super) fn is_analyzed(field: &DataField) -> bool {
    field.ty.to_primitive().is_some()
        && !matches!(field.ty.kind, TypeKind::Variant | TypeKind::Blob | TypeKind::Time(_))
}

/// The facts about a column, in progress.
pub(super) struct ColumnFacts {
    /// The place of the column in the batches.
    at: usize,
    counter: Option<DistinctCounter>,
    sketch: ThetaSketch,
    nulls: i64,
    /// Texts and binaries without content, which sketches leave out.
    empty: i64,
    /// The sum of lengths, and the greatest length, of texts and binaries.
    lengths: (i64, i64),
    /// The least and the greatest value, each in an array of one row.
    ends: Option<(ArrayRef, ArrayRef)>,
}

impl ColumnFacts {
    /// Nothing is known about a column of batches of a schema.
    ///
    /// # Errors
    /// `Internal` if the batches lack it; as [`DistinctCounter::new`].
    pub(super) fn new(schema: &Schema, field: &DataField) -> Result<ColumnFacts> {
        let lacking = || Error::internal("a column to describe is not read");
        Ok(ColumnFacts {
            at: schema.fields.iter().position(|f| f.id == field.id).ok_or_else(lacking)?,
            counter: Some(DistinctCounter::new(schema, &[field.id])?),
            sketch: ThetaSketch::default(),
            nulls: 0,
            empty: 0,
            lengths: (0, 0),
            ends: None,
        })
    }

    /// Takes the rows of a batch.
    ///
    /// # Errors
    /// `Unsupported` for types that can't be counted; `Internal` for another schema.
    pub(super) fn take(&mut self, rows: &RecordBatch) -> Result<()> {
        let column = rows.columns().get(self.at).ok_or_else(|| Error::internal("a batch lacks a column"))?;
        self.counter.iter_mut().try_for_each(|counter| counter.take(rows))?;
        self.nulls = self.nulls.saturating_add(count(column.null_count()));
        match column.data_type() {
            ArrowType::Utf8 => self.see_lengths(column.as_string::<i32>().iter().flatten().map(|v| v.chars().count())),
            ArrowType::Binary => self.see_lengths(column.as_binary::<i32>().iter().flatten().map(<[u8]>::len)),
            ArrowType::FixedSizeBinary(_) => {
                self.see_lengths(column.as_fixed_size_binary().iter().flatten().map(<[u8]>::len));
            }
            _ => self.see_ends(column, column)?,
        }
        Ok(())
    }

    fn see_lengths(&mut self, lengths: impl Iterator<Item = usize>) {
        for length in lengths {
            self.empty += i64::from(length == 0);
            self.lengths = (self.lengths.0.saturating_add(count(length)), self.lengths.1.max(count(length)));
        }
    }

    /// Extends the bounds by the least value of one array and the greatest value of another. NaN is above all numbers.
    fn see_ends(&mut self, least: &ArrayRef, greatest: &ArrayRef) -> Result<()> {
        let (least, greatest) = match &self.ends {
            None => (least.clone(), greatest.clone()),
            Some((low, high)) => (joined(low, least)?, joined(high, greatest)?),
        };
        if let (Some(low), Some(high)) = (end(&least, false)?, end(&greatest, true)?) {
            self.ends = Some((low, high));
        }
        Ok(())
    }

    /// The facts about these rows and others.
    ///
    /// # Errors
    /// `Internal` if values can't be compared.
    pub(super) fn and(mut self, mut other: ColumnFacts) -> Result<ColumnFacts> {
        let other_ends = other.ends.take();
        for facts in [&mut self, &mut other] {
            for sketch in facts.counter.take().into_iter().flat_map(DistinctCounter::finish) {
                facts.sketch = std::mem::take(&mut facts.sketch).union(sketch);
            }
        }
        if let Some((low, high)) = other_ends {
            self.see_ends(&low, &high)?;
        }
        Ok(ColumnFacts {
            sketch: self.sketch.union(other.sketch),
            nulls: self.nulls.saturating_add(other.nulls),
            empty: self.empty.saturating_add(other.empty),
            lengths: (self.lengths.0.saturating_add(other.lengths.0), self.lengths.1.max(other.lengths.1)),
            ..self
        })
    }

    /// The members of the column's statistics among `rows` rows, and the number of distinct values.
    ///
    /// # Errors
    /// `Internal` for a column without a simple type.
    pub(super) fn describe(self, field: &DataField, rows: i64) -> Result<(Json, i64)> {
        let ty = field.ty.to_primitive().ok_or_else(|| Error::internal("a column has members"))?;
        let values = rows.saturating_sub(self.nulls);
        let distinct = (self.sketch.estimate() as i64).saturating_add(i64::from(self.empty > 0)).min(values);
        let mut out = Map::new();
        out.insert("colId".to_owned(), field.id.into());
        out.insert("distinctCount".to_owned(), distinct.into());
        if let Some((low, high)) = &self.ends {
            for (key, end) in [("min", low), ("max", high)] {
                let text = value_at(end, 0, &ty)
                    .map(|value| value_text(&value.to_owned(), &field.ty, field.ty.kind == TypeKind::Date));
                out.extend(text.map(|text| (key.to_owned(), Json::from(text))));
            }
        }
        out.insert("nullCount".to_owned(), self.nulls.into());
        let (average, longest) = match default_length(&ty) {
            (length, true) if values > 0 => {
                let (sum, longest) = self.lengths;
                debug_assert!(length > 0);
                (sum.saturating_add(values - 1) / values, longest)
            }
            (length, _) => (length, length),
        };
        out.insert("avgLen".to_owned(), average.into());
        out.insert("maxLen".to_owned(), longest.into());
        Ok((Json::Object(out), distinct))
    }
}

/// The length of values that Spark assumes, and whether values have lengths of their own.
fn default_length(ty: &PrimitiveType) -> (i64, bool) {
    match ty {
        PrimitiveType::Boolean => (1, false),
        PrimitiveType::Int | PrimitiveType::Float | PrimitiveType::Date => (4, false),
        PrimitiveType::Decimal { precision, .. } if *precision > 18 => (16, false),
        PrimitiveType::String => (20, true),
        PrimitiveType::Binary | PrimitiveType::Fixed(_) => (100, true),
        _ => (8, false),
    }
}

/// The least or the greatest value of an array, in an array of one row; `None` if all are null.
fn end(array: &ArrayRef, greatest: bool) -> Result<Option<ArrayRef>> {
    let failed = |e| Error::internal("values can't be compared").because(e);
    let order = SortOptions { descending: greatest, nulls_first: false };
    if array.null_count() == array.len() {
        return Ok(None);
    }
    let first = sort_to_indices(array, Some(order), Some(1)).map_err(failed)?;
    take(array, &first, None).map(Some).map_err(failed)
}

fn joined(a: &ArrayRef, b: &ArrayRef) -> Result<ArrayRef> {
    let arrays: [&dyn Array; 2] = [Arc::as_ref(a), Arc::as_ref(b)];
    concat(&arrays).map_err(|e| Error::internal("values can't be compared").because(e))
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
