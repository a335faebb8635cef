//! Casts leaf values from the type that a file stores to the type that the table has now, and makes arrays of single
//! values.
//!
//! It does the promotions of schema evolution (specification, "Schema Evolution"). It also reads types of writers other
//! than Java's: narrow and unsigned integers, times and timestamps in other units, text without its annotation.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray,
    Int64Array, PrimitiveArray, StringArray, new_null_array,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow::error::ArrowError;

use crate::data::arrow::schema::{arrow_primitive, per_second};
use crate::data::declared_types::declared_cast::DeclaredCast;
use crate::error::{Error, Result};
use crate::types::{PrimitiveType, Value, temporal};

/// How an array of one leaf column is converted.
#[derive(Clone, Debug)]
pub(crate) struct Cast {
    step: CastStep,
    target: DataType,
    /// The cast of the values after that.
    then: Option<DeclaredCast>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum CastStep {
    /// The array has the type already.
    None,
    /// The column is always null.
    Nulls,
    /// The same numbers in another zone.
    Zone,
    /// The same unscaled numbers with more digits.
    Precision,
    /// Arrow's cast, which fails on values that do not fit.
    Checked,
    /// A finer unit of time.
    Multiply(i64),
    /// A coarser unit of time, rounded down.
    Divide(i64),
    /// Byte strings that must all have this length.
    Fixed(i32),
}

impl Cast {
    /// The conversion from the type in the file to the table's type; `None` if the types do not convert.
    ///
    /// # Errors
    /// `Unsupported` for table types that Arrow columns are not read into.
    pub(crate) fn plan(from: &DataType, to: &PrimitiveType) -> Result<Option<Cast>> {
        let target = arrow_primitive(to)?;
        if *from == target {
            return Ok(Some(Cast { step: CastStep::None, target, then: None }));
        }
        Ok(step(from, to, &target).map(|step| Cast { step, target, then: None }))
    }

    /// This cast, and another cast after it.
    pub(crate) fn then(self, next: DeclaredCast) -> Cast {
        Cast { then: Some(next), ..self }
    }

    /// Converts.
    ///
    /// # Errors
    /// `CorruptTable` if a value does not fit the table's type; the errors of [`DeclaredCast::apply`].
    pub(crate) fn apply(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let converted = self.convert(array).map_err(|e| {
            Error::corrupt(format!("a stored value does not fit the column's type {}", self.target)).because(e)
        })?;
        match &self.then {
            Some(next) => next.apply(&converted),
            None => Ok(converted),
        }
    }

    fn convert(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let checked =
            |to: &DataType| cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() });
        match self.step {
            CastStep::None => Ok(array.clone()),
            CastStep::Nulls => Ok(new_null_array(&self.target, array.len())),
            CastStep::Checked => checked(&self.target),
            CastStep::Zone => retype(checked(&DataType::Int64)?.as_primitive(), &self.target),
            CastStep::Precision => match (&self.target, array.as_primitive_opt::<Decimal128Type>()) {
                (DataType::Decimal128(p, s), Some(a)) => Ok(Arc::new(a.clone().with_precision_and_scale(*p, *s)?)),
                _ => checked(&self.target),
            },
            CastStep::Multiply(factor) => {
                // Days are 32-bit; Arrow casts them to 64 bits only through the integer.
                let units = match array.data_type() {
                    DataType::Date32 | DataType::Time32(_) => {
                        let narrow = checked(&DataType::Int32)?;
                        cast_with_options(&narrow, &DataType::Int64, &CastOptions::default())?
                    }
                    _ => checked(&DataType::Int64)?,
                };
                let scaled: Int64Array = units.as_primitive::<Int64Type>().try_unary(|v| {
                    v.checked_mul(factor)
                        .ok_or_else(|| ArrowError::ComputeError(format!("{v} times {factor} overflows")))
                })?;
                retype(&scaled, &self.target)
            }
            CastStep::Divide(factor) => {
                let scaled: Int64Array =
                    checked(&DataType::Int64)?.as_primitive::<Int64Type>().unary(|v| v.div_euclid(factor));
                retype(&scaled, &self.target)
            }
            CastStep::Fixed(length) => {
                let bytes = array.as_binary_opt::<i32>().ok_or_else(|| ArrowError::CastError("no bytes".into()))?;
                if let Some(odd) = bytes.iter().flatten().find(|b| b.len() != length as usize) {
                    return Err(ArrowError::CastError(format!("{} bytes instead of {length}", odd.len())));
                }
                Ok(Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes.iter(), length)?))
            }
        }
    }
}

/// The same 64-bit numbers as times or timestamps.
fn retype(units: &Int64Array, target: &DataType) -> Result<ArrayRef, ArrowError> {
    Ok(match target {
        DataType::Time64(TimeUnit::Microsecond) => Arc::new(units.reinterpret_cast::<Time64MicrosecondType>()),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            Arc::new(units.reinterpret_cast::<TimestampMicrosecondType>().with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            Arc::new(units.reinterpret_cast::<TimestampNanosecondType>().with_timezone_opt(zone.clone()))
        }
        other => return Err(ArrowError::CastError(format!("{other} does not count units of time"))),
    })
}

fn step(from: &DataType, to: &PrimitiveType, target: &DataType) -> Option<CastStep> {
    use DataType as D;
    use PrimitiveType as P;
    Some(match (from, to) {
        (D::Null, _) | (_, P::Unknown) => CastStep::Nulls,
        (D::Int8 | D::Int16 | D::UInt8 | D::UInt16 | D::UInt32, P::Int | P::Long) => CastStep::Checked,
        (D::Int32 | D::UInt64, P::Long) => CastStep::Checked,
        (D::Float16, P::Float | P::Double) | (D::Float32, P::Double) => CastStep::Checked,
        (D::Decimal128(p, s), P::Decimal { precision, scale }) if *s == *scale as i8 => {
            if p <= precision {
                CastStep::Precision
            } else {
                CastStep::Checked
            }
        }
        (D::Decimal256(_, s), P::Decimal { scale, .. }) if *s == *scale as i8 => CastStep::Checked,
        (D::Date32, P::Timestamp) => CastStep::Multiply(temporal::MICROS_PER_DAY),
        (D::Date32, P::TimestampNs) => CastStep::Multiply(temporal::MICROS_PER_DAY * 1000),
        (D::Time32(TimeUnit::Millisecond), P::Time) => CastStep::Multiply(1000),
        (D::Time64(TimeUnit::Nanosecond), P::Time) => CastStep::Divide(1000),
        // ORC has no type for times of day: Iceberg stores microseconds, Paimon milliseconds.
        (D::Int64, P::Time) => CastStep::Zone,
        (D::Int32, P::Time) => CastStep::Multiply(1000),
        (D::Timestamp(stored, _), P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs) => {
            let D::Timestamp(wanted, _) = target else { return None };
            let (stored, wanted) = (per_second(stored), per_second(wanted));
            match stored.cmp(&wanted) {
                std::cmp::Ordering::Equal => CastStep::Zone,
                std::cmp::Ordering::Less => CastStep::Multiply(wanted / stored),
                std::cmp::Ordering::Greater => CastStep::Divide(stored / wanted),
            }
        }
        (D::Binary, P::String) | (D::Utf8 | D::FixedSizeBinary(_), P::Binary) => CastStep::Checked,
        (D::FixedSizeBinary(_), P::Geometry { .. } | P::Geography { .. }) => CastStep::Checked,
        (D::Binary, P::Uuid) => CastStep::Fixed(16),
        (D::Binary, P::Fixed(n)) => CastStep::Fixed(i32::try_from(*n).ok()?),
        _ => return None,
    })
}

/// `rows` times one value, as the Arrow type of `ty`. A value of a type that promotes to `ty` is promoted.
///
/// # Errors
/// `CorruptTable` if the value is of another type; `Unsupported` for types without Arrow columns.
pub(crate) fn constant(value: Option<&Value>, ty: &PrimitiveType, rows: usize) -> Result<ArrayRef> {
    use PrimitiveType as P;
    let target = arrow_primitive(ty)?;
    let Some(value) = value else { return Ok(new_null_array(&target, rows)) };
    fn numbers<T: ArrowPrimitiveType>(v: T::Native, rows: usize) -> PrimitiveArray<T> {
        PrimitiveArray::from_value(v, rows)
    }
    let bad = || Error::corrupt(format!("a partition value {value:?} is not of the column's type {ty}"));
    let repeat = std::iter::repeat_n::<&[u8]>;
    Ok(match (ty, promote(value, ty).as_ref().unwrap_or(value)) {
        (P::Boolean, Value::Boolean(v)) => Arc::new(BooleanArray::from(vec![*v; rows])),
        (P::Int, Value::Int(v)) => Arc::new(numbers::<Int32Type>(*v, rows)),
        (P::Date, Value::Int(v)) => Arc::new(numbers::<Date32Type>(*v, rows)),
        (P::Long, Value::Long(v)) => Arc::new(numbers::<Int64Type>(*v, rows)),
        (P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs, Value::Long(v)) => {
            retype(&numbers::<Int64Type>(*v, rows), &target).map_err(|e| bad().because(e))?
        }
        (P::Float, Value::Float(v)) => Arc::new(numbers::<Float32Type>(*v, rows)),
        (P::Double, Value::Double(v)) => Arc::new(numbers::<Float64Type>(*v, rows)),
        (P::Decimal { precision, scale }, Value::Decimal(v)) => {
            let array: Decimal128Array = numbers::<Decimal128Type>(*v, rows);
            Arc::new(array.with_precision_and_scale(*precision, *scale as i8).map_err(|e| bad().because(e))?)
        }
        (P::String, Value::String(v)) => Arc::new(StringArray::from_iter_values(std::iter::repeat_n(v, rows))),
        (P::Binary, Value::Bytes(v)) => Arc::new(BinaryArray::from_iter_values(repeat(v, rows))),
        (P::Fixed(n), Value::Bytes(v)) if v.len() == *n as usize => fixed(repeat(v, rows), *n as i32)?,
        (P::Uuid, Value::Uuid(v)) => fixed(repeat(&v.to_be_bytes(), rows), 16)?,
        _ => return Err(bad()),
    })
}

fn fixed<'a>(values: impl Iterator<Item = &'a [u8]>, length: i32) -> Result<ArrayRef> {
    let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.map(Some), length)
        .map_err(|e| Error::internal("byte strings of one length were expected").because(e))?;
    Ok(Arc::new(array))
}

/// Converts a value of an older, narrower type to `ty`. `None` if it needs no change or can't be converted.
fn promote(value: &Value, ty: &PrimitiveType) -> Option<Value> {
    use PrimitiveType as P;
    Some(match (value, ty) {
        (Value::Int(v), P::Long) => Value::Long(i64::from(*v)),
        (Value::Int(v), P::Timestamp) => Value::Long(i64::from(*v).checked_mul(temporal::MICROS_PER_DAY)?),
        (Value::Int(v), P::TimestampNs) => Value::Long(i64::from(*v).checked_mul(temporal::MICROS_PER_DAY * 1000)?),
        (Value::Float(v), P::Double) => Value::Double(f64::from(*v)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::arrow::array_value::value_at;
    use crate::types::ValueRef;
    use arrow::array::{
        Date32Array, Int32Array, Time32MillisecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
        UInt32Array,
    };

    fn convert(array: impl Array + 'static, ty: PrimitiveType) -> Vec<Option<Value>> {
        let array: ArrayRef = Arc::new(array);
        let cast = Cast::plan(array.data_type(), &ty).unwrap().unwrap();
        let out = cast.apply(&array).unwrap();
        assert_eq!(out.data_type(), &arrow_primitive(&ty).unwrap());
        (0..out.len()).map(|i| value_at(&out, i, &ty).map(ValueRef::to_owned)).collect()
    }

    #[test]
    fn promotions_and_foreign_units() {
        use PrimitiveType::*;
        let long = |v| Some(Value::Long(v));
        assert_eq!(convert(Int32Array::from(vec![Some(-7), None]), Long), [long(-7), None]);
        assert_eq!(convert(UInt32Array::from(vec![u32::MAX]), Long), [long(4_294_967_295)]);
        assert_eq!(convert(Date32Array::from(vec![-1]), Timestamp), [long(-86_400_000_000)]);
        assert_eq!(convert(Date32Array::from(vec![1]), TimestampNs), [long(86_400_000_000_000)]);
        assert_eq!(convert(TimestampMillisecondArray::from(vec![-5]), Timestamptz), [long(-5000)]);
        assert_eq!(convert(TimestampNanosecondArray::from(vec![-1, 1999]), Timestamp), [long(-1), long(1)]);
        assert_eq!(convert(Time32MillisecondArray::from(vec![5]), Time), [long(5000)]);
        let wide = Decimal { precision: 20, scale: 2 };
        let narrow = Decimal128Array::from(vec![Some(1420), None]).with_precision_and_scale(9, 2).unwrap();
        assert_eq!(convert(narrow, wide), [Some(Value::Decimal(1420)), None]);
        assert_eq!(convert(BinaryArray::from_vec(vec![b"\xc5\xbc"]), String), [Some(Value::String("ż".into()))]);
        assert_eq!(convert(BinaryArray::from_vec(vec![&1u128.to_be_bytes()]), Uuid), [Some(Value::Uuid(1))]);
    }

    #[test]
    fn values_that_do_not_fit_are_errors() {
        let fails = |array: ArrayRef, ty: PrimitiveType| {
            let cast = Cast::plan(array.data_type(), &ty).unwrap().unwrap();
            assert_eq!(cast.apply(&array).unwrap_err().kind(), crate::error::ErrorKind::CorruptTable);
        };
        fails(Arc::new(UInt32Array::from(vec![u32::MAX])), PrimitiveType::Int);
        fails(Arc::new(BinaryArray::from_vec(vec![b"\xff"])), PrimitiveType::String);
        fails(Arc::new(BinaryArray::from_vec(vec![b"abc"])), PrimitiveType::Fixed(4));
        fails(Arc::new(TimestampMillisecondArray::from(vec![i64::MAX])), PrimitiveType::Timestamp);
        assert!(Cast::plan(&DataType::Utf8, &PrimitiveType::Int).unwrap().is_none());
        assert!(
            Cast::plan(&DataType::Decimal128(9, 3), &PrimitiveType::Decimal { precision: 9, scale: 2 })
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn constants_are_promoted() {
        let a = constant(Some(&Value::Int(3)), &PrimitiveType::Long, 2).unwrap();
        assert_eq!(value_at(&a, 1, &PrimitiveType::Long), Some(ValueRef::Long(3)));
        let a = constant(Some(&Value::Uuid(9)), &PrimitiveType::Uuid, 1).unwrap();
        assert_eq!(value_at(&a, 0, &PrimitiveType::Uuid), Some(ValueRef::Uuid(9)));
        assert!(constant(Some(&Value::Boolean(true)), &PrimitiveType::Long, 2).is_err());
        assert_eq!(constant(None, &PrimitiveType::Long, 2).unwrap().null_count(), 2);
    }
}
