//! Which columns of an ORC file have Bloom filters, and the filter of a column that is being written.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};

use super::arrays::{each, each_bytes};
use super::parts::GROUP_ROWS;
use super::types::{OrcType, per_second};
use crate::codec::orc::encode::{BloomFilter, TypeOut, bloom_filters};
use crate::error::Result;
use crate::types::{PrimitiveType, Type};

/// The columns that get filters, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct FilteredColumns {
    numbers: HashMap<usize, f64>,
}

impl FilteredColumns {
    /// The columns of a list of names with commas between them, and all columns below them. `*` stands for all. Members
    /// of structs are named with dots, upper and lower case are the same, and unknown names are ignored, as in Java's
    /// ORC.
    pub(crate) fn named(names: &str, columns: &[OrcType], types: &[TypeOut], fpp: f64) -> FilteredColumns {
        let mut out = FilteredColumns::default();
        let of_struct = |number: usize| types.get(number).map_or(&[][..], |ty| ty.names.as_slice());
        for name in names.split(',') {
            if name.trim() == "*" {
                columns.iter().for_each(|column| out.include(column, fpp));
                continue;
            }
            let (mut within, mut members, mut found) = (columns, of_struct(0), None);
            for part in name.trim().split('.') {
                let place = members.iter().position(|member| member.eq_ignore_ascii_case(part));
                found = place.and_then(|place| within.get(place));
                let Some(column) = found else { break };
                (within, members) = (&column.children, of_struct(column.number));
            }
            found.into_iter().for_each(|column| out.include(column, fpp));
        }
        out
    }

    fn include(&mut self, column: &OrcType, fpp: f64) {
        self.numbers.insert(column.number, fpp);
        column.children.iter().for_each(|child| self.include(child, fpp));
    }
}

/// The filter of a column in a stripe.
pub(crate) struct Filter {
    group: BloomFilter,
    groups: Vec<BloomFilter>,
    /// The scale of decimals.
    scale: u8,
    /// Units of timestamps in a millisecond.
    per_milli: i64,
}

impl Filter {
    /// An empty filter; `None` for columns without one. Booleans, lists, maps and structs have none, because no reader
    /// could use it.
    pub(crate) fn new(column: &OrcType, filtered: &FilteredColumns) -> Option<Filter> {
        let fpp = filtered.numbers.get(&column.number)?;
        let (scale, per_milli) = match &column.ty {
            Type::Primitive(PrimitiveType::Boolean) => return None,
            Type::Primitive(PrimitiveType::Decimal { scale, .. }) => (*scale, 1),
            Type::Primitive(p) => (0, per_second(p) / 1000),
            _ => return None,
        };
        Some(Filter { group: BloomFilter::new(GROUP_ROWS, *fpp), groups: Vec::new(), scale, per_milli })
    }

    /// Adds the values of an array that are not null.
    ///
    /// # Errors
    /// `Internal` for an array that does not fit the column.
    pub(crate) fn add(&mut self, array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<()> {
        let Filter { group, scale, per_milli, .. } = self;
        let milli = |v: i64| v.div_euclid(*per_milli);
        match array.data_type() {
            DataType::Int32 => each::<Int32Type>(array, nulls, |v| group.add_long(i64::from(v))),
            DataType::Date32 => each::<Date32Type>(array, nulls, |v| group.add_long(i64::from(v))),
            DataType::Int64 => each::<Int64Type>(array, nulls, |v| group.add_long(v)),
            DataType::Time64(_) => each::<Time64MicrosecondType>(array, nulls, |v| group.add_long(v)),
            DataType::Float32 => each::<Float32Type>(array, nulls, |v| group.add_double(f64::from(v))),
            DataType::Float64 => each::<Float64Type>(array, nulls, |v| group.add_double(v)),
            DataType::Decimal128(_, _) => each::<Decimal128Type>(array, nulls, |v| group.add_decimal(v, *scale)),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                each::<TimestampNanosecondType>(array, nulls, |v| group.add_long(milli(v)))
            }
            DataType::Timestamp(_, _) => each::<TimestampMicrosecondType>(array, nulls, |v| group.add_long(milli(v))),
            _ => each_bytes(array, nulls, |v| group.add_bytes(v)),
        }
    }

    /// Ends a group of rows.
    pub(crate) fn end_group(&mut self) {
        self.groups.push(self.group.take());
    }

    /// Bytes held.
    pub(crate) fn held(&self) -> usize {
        self.group.held() * self.groups.len()
    }

    /// Removes and encodes the filters of all groups.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        bloom_filters(&std::mem::take(&mut self.groups))
    }
}
