//! Builds columns of rows of several batches, and of values that merging computed.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, MutableArrayData, make_array, new_null_array};
use arrow::compute::{concat, interleave};
use arrow::datatypes::DataType;

use crate::data::declared_types::declared_cast::array_of;
use crate::error::{Error, Result};
use crate::types::{Type, Value};

/// A row of one of the batches that are being merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowPlace {
    /// The number of the batch.
    pub slot: u32,
    /// The number of the row in it.
    pub row: u32,
}

/// The value of a column in a row that is being merged.
#[derive(Clone, Debug)]
pub(crate) enum MergedValue {
    Null,
    /// The same as another row.
    At(RowPlace),
    /// A value that no row has.
    Computed(Computed),
}

/// A value that no row has.
#[derive(Clone, Debug)]
pub(crate) enum Computed {
    /// A value of a primitive type.
    Value(Value),
    /// A list or map: an array of one row.
    Row(ArrayRef),
}

impl MergedValue {
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, MergedValue::Null)
    }

    /// A value, or null.
    pub(crate) fn computed(value: Option<Value>) -> MergedValue {
        value.map_or(MergedValue::Null, |v| MergedValue::Computed(Computed::Value(v)))
    }
}

const NULL: u32 = u32::MAX;
const COMPUTED: u32 = u32::MAX - 1;

/// Rows of one source that follow each other.
#[derive(Clone, Copy, Debug)]
struct RowPiece {
    source: u32,
    start: u32,
    rows: u32,
}

/// The rows of a column that is being built.
#[derive(Debug, Default)]
pub(crate) struct Picks {
    pieces: Vec<RowPiece>,
    computed: Vec<Computed>,
    rows: usize,
}

impl Picks {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds rows of a batch.
    pub(crate) fn push_rows(&mut self, slot: u32, start: u32, rows: u32) {
        self.rows += rows as usize;
        match self.pieces.last_mut() {
            Some(last) if last.source == slot && slot < COMPUTED && last.start + last.rows == start => {
                last.rows += rows
            }
            _ => self.pieces.push(RowPiece { source: slot, start, rows }),
        }
    }

    /// Adds one row.
    pub(crate) fn push(&mut self, held: MergedValue) {
        match held {
            MergedValue::At(place) => self.push_rows(place.slot, place.row, 1),
            MergedValue::Null => self.push_rows(NULL, 0, 1),
            MergedValue::Computed(computed) => {
                self.push_rows(COMPUTED, self.computed.len() as u32, 1);
                self.computed.push(computed);
            }
        }
    }

    /// The plan to build columns from these rows.
    pub(crate) fn gather(&self) -> Gather {
        let mut sources = Vec::new();
        // Places are by slot, then nulls and computed values.
        let slots =
            self.pieces.iter().filter(|p| p.source < COMPUTED).map(|p| p.source as usize + 1).max().unwrap_or(0);
        let mut places: Vec<Option<usize>> = vec![None; slots + 2];
        let mut dense = |source: u32| {
            let at = if source < COMPUTED { source as usize } else { slots + (source - COMPUTED) as usize };
            let mut add = || {
                sources.push(source);
                sources.len() - 1
            };
            match places.get_mut(at) {
                Some(place) => *place.get_or_insert_with(add),
                None => add(),
            }
        };
        let layout = match self.pieces.as_slice() {
            [one] if one.source < COMPUTED => {
                dense(one.source);
                PieceLayout::Slice(one.start as usize, one.rows as usize)
            }
            pieces if self.rows >= LONG_PIECES * pieces.len() => PieceLayout::Ranges(
                pieces.iter().map(|p| (dense(p.source), p.start as usize, (p.start + p.rows) as usize)).collect(),
            ),
            pieces => {
                let mut rows = Vec::with_capacity(self.rows);
                for piece in pieces {
                    let source = dense(piece.source);
                    rows.extend((piece.start..piece.start + piece.rows).map(|row| (source, row as usize)));
                }
                PieceLayout::Rows(rows)
            }
        };
        Gather { sources, layout, rows: self.rows }
    }

    /// The array of the values that merging computed.
    fn computed(&self, ty: &Type) -> Result<ArrayRef> {
        if let [Computed::Row(_), ..] = self.computed.as_slice() {
            let rows = self.computed.iter().map(|value| match value {
                Computed::Row(row) => Ok(row.as_ref()),
                Computed::Value(_) => Err(Error::internal("a merged column is both nested and not")),
            });
            return concat(&rows.collect::<Result<Vec<_>>>()?).map_err(|e| unmerged(&e));
        }
        let values = self.computed.iter().map(|value| match value {
            Computed::Value(value) => Some(value.clone()),
            Computed::Row(_) => None,
        });
        let ty = ty.as_primitive().ok_or_else(|| Error::internal("a nested value was made of a primitive one"))?;
        array_of(values.collect(), ty)
    }

    /// The column of type `ty` whose batches `column` gives.
    pub(crate) fn array<'a>(
        &self,
        gather: &Gather,
        ty: &Type,
        column: impl Fn(u32) -> Option<&'a ArrayRef>,
    ) -> Result<ArrayRef> {
        let absent = || Error::internal("a merged batch is missing");
        let computed = if gather.sources.contains(&COMPUTED) { Some(self.computed(ty)?) } else { None };
        let known =
            gather.sources.iter().find_map(|s| if *s < COMPUTED { column(*s) } else { None }).or(computed.as_ref());
        let data_type = match known {
            Some(array) => array.data_type().clone(),
            None => column(0).ok_or_else(absent)?.data_type().clone(),
        };
        let null = new_null_array(&data_type, 1);
        let source = |source: &u32| match *source {
            NULL => Ok(&null),
            COMPUTED => computed.as_ref().ok_or_else(absent),
            slot => column(slot).ok_or_else(absent),
        };
        let sources = gather.sources.iter().map(source).collect::<Result<Vec<_>>>()?;
        gather.array(&sources, &data_type)
    }
}

/// Pieces of at least this number of rows are copied whole.
const LONG_PIECES: usize = 8;

/// How a column is put together.
#[derive(Debug)]
pub(crate) struct Gather {
    sources: Vec<u32>,
    layout: PieceLayout,
    rows: usize,
}

#[derive(Debug)]
enum PieceLayout {
    Slice(usize, usize),
    Ranges(Vec<(usize, usize, usize)>),
    Rows(Vec<(usize, usize)>),
}

impl Gather {
    fn array(&self, sources: &[&ArrayRef], data_type: &DataType) -> Result<ArrayRef> {
        let Some(first) = sources.first() else { return Ok(new_null_array(data_type, 0)) };
        match &self.layout {
            PieceLayout::Slice(start, rows) => Ok(first.slice(*start, *rows)),
            PieceLayout::Ranges(ranges) => {
                let data: Vec<_> = sources.iter().map(|a| a.to_data()).collect();
                let mut out = MutableArrayData::new(data.iter().collect(), false, self.rows);
                for (source, start, end) in ranges {
                    out.try_extend(*source, *start, *end).map_err(|e| unmerged(&e))?;
                }
                Ok(make_array(out.freeze()))
            }
            PieceLayout::Rows(rows) => {
                let arrays: Vec<&dyn Array> = sources.iter().map(|a| a.as_ref() as &dyn Array).collect();
                interleave(&arrays, rows).map_err(|e| unmerged(&e))
            }
        }
    }
}

/// The kinds of `rows` rows that are all added.
pub(crate) fn added(rows: usize) -> ArrayRef {
    Arc::new(Int32Array::from_value(0, rows))
}

pub(crate) fn unmerged(e: &arrow::error::ArrowError) -> Error {
    Error::internal("merged rows are no Arrow column").because(e.to_string())
}
