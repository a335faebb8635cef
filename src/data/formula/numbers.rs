//! Sums, differences and products of whole columns.
//!
//! A result that a type lacks is left to the computation by value, which says which value it is.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::compute::kernels::cast::cast;
use arrow::compute::kernels::numeric::{add, mul, sub};
use arrow::datatypes::{DataType, Float64Type, Int64Type};

use crate::expr::formula::bound::BoundFunction;
use crate::types::PrimitiveType;

/// The function's values, if whole columns can be computed and no value is beyond the type.
pub(super) fn whole_columns(function: BoundFunction, columns: &[ArrayRef], ty: &PrimitiveType) -> Option<ArrayRef> {
    match (function, columns, ty) {
        (BoundFunction::Cast(_), [x], PrimitiveType::Long) if *x.data_type() == DataType::Int32 => {
            cast(x, &DataType::Int64).ok()
        }
        (BoundFunction::Cast(_), [x], PrimitiveType::Double)
            if matches!(x.data_type(), DataType::Int32 | DataType::Int64 | DataType::Float32) =>
        {
            cast(x, &DataType::Float64).ok()
        }
        (_, [a, b], PrimitiveType::Long) => computed::<Int64Type>(function, a, b),
        (_, [a, b], PrimitiveType::Double) => computed::<Float64Type>(function, a, b),
        _ => None,
    }
}

fn computed<T: ArrowPrimitiveType>(function: BoundFunction, a: &ArrayRef, b: &ArrayRef) -> Option<ArrayRef> {
    let (a, b): (&PrimitiveArray<T>, &PrimitiveArray<T>) = (a.as_primitive_opt()?, b.as_primitive_opt()?);
    let kernel = match function {
        BoundFunction::Add => add,
        BoundFunction::Subtract => sub,
        BoundFunction::Multiply => mul,
        _ => return None,
    };
    kernel(a, b).ok()
}

/// Floats with one NaN, and with zeros that are equal. Other columns stay as they are.
pub(super) fn with_equal_zeros(column: &ArrayRef) -> ArrayRef {
    fn mapped<T: ArrowPrimitiveType>(column: &ArrayRef, f: impl Fn(T::Native) -> T::Native) -> ArrayRef {
        match column.as_primitive_opt::<T>() {
            Some(array) => Arc::new(array.unary::<_, T>(f)),
            None => column.clone(),
        }
    }
    match column.data_type() {
        // Adding 0.0 turns -0.0 into 0.0.
        DataType::Float32 => {
            mapped::<arrow::datatypes::Float32Type>(column, |v| if v.is_nan() { f32::NAN } else { v + 0.0 })
        }
        DataType::Float64 => mapped::<Float64Type>(column, |v| if v.is_nan() { f64::NAN } else { v + 0.0 }),
        _ => column.clone(),
    }
}
