//! `readable_metrics`: the metrics of files by column name, with bounds decoded into the columns' types.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::Field;

use super::schemas::{Leaf, bound_type};
use crate::data::arrow::schema::struct_members;
use crate::data::arrow::value_array::{structs, values};
use crate::error::Result;
use crate::format::task::{ColumnMetrics, FieldMap};
use crate::types::value::decode_bound;
use crate::types::{PrimitiveType as P, ValueRef};

/// One struct for each column. Missing metrics are null, as are bounds that can't be values of the column.
pub(crate) fn readable_metrics(field: &Field, leaves: &[Leaf], of: &[ColumnMetrics]) -> Result<ArrayRef> {
    let columns = leaves.iter().zip(struct_members(field)).map(|(leaf, column)| readable(column, leaf, of));
    structs(field, columns.collect::<Result<Vec<_>>>()?, of.len())
}

fn readable(field: &Field, leaf: &Leaf, of: &[ColumnMetrics]) -> Result<ArrayRef> {
    type Counts = Option<FieldMap<i64>>;
    type Bounds = Option<FieldMap<Vec<u8>>>;
    let counts = |map: fn(&ColumnMetrics) -> &Counts| -> ArrayRef {
        Arc::new(of.iter().map(|m| map(m).as_ref()?.get(&leaf.id).copied()).collect::<Int64Array>())
    };
    let shown = bound_type(&leaf.ty);
    let bounds = |map: fn(&ColumnMetrics) -> &Bounds| {
        let bound = |m| decode(map(m).as_ref()?.get(&leaf.id)?, &leaf.ty);
        values(&shown, &of.iter().map(bound).collect::<Vec<_>>())
    };
    let columns = vec![
        counts(|m| &m.column_sizes),
        counts(|m| &m.value_counts),
        counts(|m| &m.null_value_counts),
        counts(|m| &m.nan_value_counts),
        bounds(|m| &m.lower_bounds)?,
        bounds(|m| &m.upper_bounds)?,
    ];
    structs(field, columns, of.len())
}

fn decode<'a>(bytes: &'a [u8], ty: &P) -> Option<ValueRef<'a>> {
    match ty {
        P::Geometry { .. } | P::Geography { .. } => Some(ValueRef::Bytes(bytes)),
        ty => decode_bound(bytes, ty).ok().flatten(),
    }
}
