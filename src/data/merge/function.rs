//! Aggregate functions of single columns: how a stored value and the next value are combined, and how a value is
//! retracted.
//!
//! Source: Paimon documentation, "Aggregation"; where it is silent, Java's classes `Field*Agg`.

use std::cmp::Ordering;
use std::collections::HashSet;

use arrow::datatypes::i256;

use super::column::MergedColumn;
use super::nested::Nested;
use super::picks::MergedValue;
use super::sketches::{unite_hll, unite_theta};
use crate::codec::bitmap::unite_bitmaps;
use crate::codec::long_bitmap::unite_long_bitmaps;
use crate::error::{Error, Result};
use crate::types::java::compare_doubles;
use crate::types::options::{Options, split_names};
use crate::types::{Field, PrimitiveType, Type, Value, ValueRef};

/// An aggregate function of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Function {
    kind: FunctionKind,
    name: String,
    /// Whether rows that are taken back are ignored.
    ignore_retract: bool,
    /// Bits of an integer column.
    bits: u32,
    ty: Type,
}

/// The names of the functions, as [`FunctionKind::new`] knows them.
pub(crate) const FUNCTIONS: [&str; 22] = [
    "bool_and",
    "bool_or",
    "collect",
    "first_non_null_value",
    "first_not_null_value",
    "first_value",
    "hll_sketch",
    "last_non_null_value",
    "last_value",
    "listagg",
    "max",
    "merge_map",
    "merge_map_with_keytime",
    "min",
    "nested_partial_update",
    "nested_update",
    "primary-key",
    "product",
    "rbm32",
    "rbm64",
    "sum",
    "theta_sketch",
];

/// The error for an unknown function.
pub(crate) fn no_function(name: &str) -> Error {
    Error::invalid(format!("there is no aggregate function '{name}'"))
        .hint(format!("The functions are {}", FUNCTIONS.join(", ")))
}

#[derive(Clone, Debug, PartialEq)]
enum FunctionKind {
    /// The last value, null or not, also of rows that are taken back.
    Key,
    Last,
    LastNonNull,
    First,
    FirstNonNull,
    Max,
    Min,
    Sum,
    Product,
    And,
    Or,
    Text {
        delimiter: String,
        distinct: bool,
    },
    Bitmap,
    LongBitmap,
    Theta,
    Hll,
    Nested(Nested),
}

impl FunctionKind {
    fn new(name: &str, field: &Field, options: &Options<'_>) -> Result<FunctionKind> {
        let distinct = options.boolean_of_column(&field.name, "distinct")?;
        Ok(match name {
            "primary-key" => FunctionKind::Key,
            "last_value" => FunctionKind::Last,
            "last_non_null_value" => FunctionKind::LastNonNull,
            "first_value" => FunctionKind::First,
            "first_non_null_value" | "first_not_null_value" => FunctionKind::FirstNonNull,
            "max" => FunctionKind::Max,
            "min" => FunctionKind::Min,
            "sum" => FunctionKind::Sum,
            "product" => FunctionKind::Product,
            "bool_and" => FunctionKind::And,
            "bool_or" => FunctionKind::Or,
            "listagg" => {
                let delimiter = options.of_column(&field.name, "list-agg-delimiter").unwrap_or(",").to_owned();
                FunctionKind::Text { delimiter, distinct }
            }
            "rbm32" => FunctionKind::Bitmap,
            "rbm64" => FunctionKind::LongBitmap,
            "theta_sketch" => FunctionKind::Theta,
            "hll_sketch" => FunctionKind::Hll,
            "collect" => FunctionKind::Nested(Nested::Collect { distinct }),
            "merge_map" => FunctionKind::Nested(Nested::MergeMap),
            "merge_map_with_keytime" => FunctionKind::Nested(Nested::latest_entries(field, options)?),
            "nested_update" | "nested_partial_update" => {
                let keys = options.of_column(&field.name, "nested-key").map_or(Vec::new(), split_names);
                let limit = match options.of_column(&field.name, "count-limit") {
                    None => usize::MAX,
                    Some(n) => {
                        n.trim().parse().map_err(|e| Error::invalid("'count-limit' is not a number").because(e))?
                    }
                };
                FunctionKind::Nested(Nested::update(field, &keys, limit, name == "nested_partial_update")?)
            }
            _ => return Err(no_function(name)),
        })
    }

    /// Whether it takes values of this type.
    fn takes(&self, ty: &Type) -> bool {
        use PrimitiveType as P;
        let primitive = ty.as_primitive();
        match self {
            FunctionKind::Sum | FunctionKind::Product => {
                matches!(primitive, Some(P::Int | P::Long | P::Float | P::Double | P::Decimal { .. }))
            }
            FunctionKind::Max | FunctionKind::Min => !matches!(primitive, None | Some(P::Boolean | P::Variant)),
            FunctionKind::And | FunctionKind::Or => matches!(primitive, Some(P::Boolean)),
            FunctionKind::Text { .. } => matches!(primitive, Some(P::String)),
            FunctionKind::Bitmap | FunctionKind::LongBitmap | FunctionKind::Theta | FunctionKind::Hll => {
                matches!(primitive, Some(P::Binary))
            }
            FunctionKind::Nested(Nested::Collect { .. }) => matches!(ty, Type::List(_)),
            FunctionKind::Nested(Nested::MergeMap) => matches!(ty, Type::Map(..)),
            _ => true,
        }
    }
}

/// The state of a function between the rows of one key.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// Whether the first value was found.
    found: bool,
}

/// Compares as Java does: floats by their total order with one NaN; null first.
pub(crate) fn compare(a: Option<ValueRef<'_>>, b: Option<ValueRef<'_>>) -> Ordering {
    use ValueRef as V;
    match (a, b) {
        (Some(V::Boolean(a)), Some(V::Boolean(b))) => a.cmp(&b),
        (Some(V::Int(a)), Some(V::Int(b))) => a.cmp(&b),
        (Some(V::Long(a)), Some(V::Long(b))) => a.cmp(&b),
        (Some(V::Float(a)), Some(V::Float(b))) => compare_doubles(f64::from(a), f64::from(b)),
        (Some(V::Double(a)), Some(V::Double(b))) => compare_doubles(a, b),
        (Some(V::Decimal(a)), Some(V::Decimal(b))) => a.cmp(&b),
        (Some(V::String(a)), Some(V::String(b))) => a.as_bytes().cmp(b.as_bytes()),
        (Some(V::Bytes(a)), Some(V::Bytes(b))) => a.cmp(b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

impl Function {
    /// The function that options name.
    ///
    /// # Errors
    /// `InvalidInput` if the function does not exist or does not take the column's type.
    pub(crate) fn new(name: &str, field: &Field, options: &Options<'_>) -> Result<Function> {
        let kind = FunctionKind::new(name, field, options)?;
        if !kind.takes(&field.ty) {
            return Err(Error::invalid(format!(
                "the aggregate function '{name}' does not take values of type {}",
                field.ty
            )));
        }
        let bits = if field.ty.as_primitive() == Some(&PrimitiveType::Long) { 64 } else { 32 };
        let ignore_retract = options.boolean_of_column(&field.name, "ignore-retract")?;
        Ok(Function { kind, name: name.to_owned(), ignore_retract, bits, ty: field.ty.clone() })
    }

    /// The same function for integers of `bits` bits.
    pub(crate) fn with_bits(self, bits: Option<u32>) -> Function {
        Function { bits: bits.unwrap_or(self.bits), ..self }
    }

    /// The name that options use for it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it looks into the column's values. Then it needs all their members.
    pub(crate) fn needs_members(&self) -> bool {
        matches!(self.kind, FunctionKind::Nested(_))
    }

    /// Adds the value `next` to `kept`.
    ///
    /// # Errors
    /// `CorruptTable` for values that are not in the form that the function takes.
    pub(crate) fn add(
        &self,
        column: MergedColumn<'_>,
        memory: &mut Memory,
        kept: MergedValue,
        next: MergedValue,
    ) -> Result<MergedValue> {
        match &self.kind {
            FunctionKind::Key | FunctionKind::Last => return Ok(next),
            FunctionKind::First => return Ok(if std::mem::replace(&mut memory.found, true) { kept } else { next }),
            FunctionKind::FirstNonNull if !memory.found && !next.is_null() => {
                memory.found = true;
                return Ok(next);
            }
            FunctionKind::FirstNonNull => return Ok(kept),
            FunctionKind::LastNonNull => return Ok(if next.is_null() { kept } else { next }),
            FunctionKind::Nested(nested) if nested.takes_null() => return nested.add(column, kept, next),
            _ => {}
        }
        if kept.is_null() || next.is_null() {
            return Ok(if kept.is_null() { next } else { kept });
        }
        let (a, b) = (column.value(&kept), column.value(&next));
        Ok(match &self.kind {
            FunctionKind::Max => {
                if compare(a, b).is_lt() {
                    next
                } else {
                    kept
                }
            }
            FunctionKind::Min => {
                if compare(a, b).is_lt() {
                    kept
                } else {
                    next
                }
            }
            FunctionKind::Nested(nested) => nested.add(column, kept, next)?,
            _ => MergedValue::computed(self.combined(a, b)?),
        })
    }

    fn combined(&self, a: Option<ValueRef<'_>>, b: Option<ValueRef<'_>>) -> Result<Option<Value>> {
        use ValueRef as V;
        let wrong = || Error::internal("an aggregate function was given values of another type");
        let (a, b) = a.zip(b).ok_or_else(wrong)?;
        Ok(match (&self.kind, a, b) {
            (FunctionKind::Sum | FunctionKind::Product, a, b) => {
                self.arithmetic(a, b, matches!(self.kind, FunctionKind::Product))?
            }
            (FunctionKind::And, V::Boolean(a), V::Boolean(b)) => Some(Value::Boolean(a && b)),
            (FunctionKind::Or, V::Boolean(a), V::Boolean(b)) => Some(Value::Boolean(a || b)),
            (FunctionKind::Text { delimiter, distinct }, V::String(a), V::String(b)) => {
                Some(Value::String(joined(a, b, delimiter, *distinct)))
            }
            (FunctionKind::Bitmap, V::Bytes(a), V::Bytes(b)) => Some(Value::Bytes(unite_bitmaps(a, b)?)),
            (FunctionKind::LongBitmap, V::Bytes(a), V::Bytes(b)) => Some(Value::Bytes(unite_long_bitmaps(a, b)?)),
            (FunctionKind::Theta, V::Bytes(a), V::Bytes(b)) => Some(Value::Bytes(unite_theta(a, b)?)),
            (FunctionKind::Hll, V::Bytes(a), V::Bytes(b)) => Some(Value::Bytes(unite_hll(a, b)?)),
            _ => return Err(wrong()),
        })
    }

    fn arithmetic(&self, a: ValueRef<'_>, b: ValueRef<'_>, product: bool) -> Result<Option<Value>> {
        use ValueRef as V;
        let times = |a: i64, b: i64| if product { a.wrapping_mul(b) } else { a.wrapping_add(b) };
        Ok(Some(match (a, b) {
            (V::Int(a), V::Int(b)) => self.int(times(i64::from(a), i64::from(b))),
            (V::Long(a), V::Long(b)) => Value::Long(times(a, b)),
            (V::Float(a), V::Float(b)) => Value::Float(if product { a * b } else { a + b }),
            (V::Double(a), V::Double(b)) => Value::Double(if product { a * b } else { a + b }),
            (V::Decimal(a), V::Decimal(b)) if product => {
                let (_, scale) = self.digits();
                return Ok(i256::from_i128(a)
                    .checked_mul(i256::from_i128(b))
                    .and_then(|p| self.rounded(p, power(scale)?)));
            }
            (V::Decimal(a), V::Decimal(b)) => return Ok(self.decimal(a.checked_add(b))),
            _ => return Err(Error::internal("an aggregate function was given values of another type")),
        }))
    }

    fn int(&self, v: i64) -> Value {
        Value::Int(match self.bits {
            8 => i32::from(v as i8),
            16 => i32::from(v as i16),
            _ => v as i32,
        })
    }

    fn digits(&self) -> (u8, u8) {
        match self.ty.as_primitive() {
            Some(PrimitiveType::Decimal { precision, scale }) => (*precision, *scale),
            _ => (38, 0),
        }
    }

    /// A sum of decimals. A sum of more than 18 digits becomes null if it does not fit.
    fn decimal(&self, v: Option<i128>) -> Option<Value> {
        let (precision, _) = self.digits();
        let most = 10u128.pow(u32::from(precision.min(38)));
        v.filter(|v| (precision <= 18 && i64::try_from(*v).is_ok()) || v.unsigned_abs() < most).map(Value::Decimal)
    }

    /// A quotient, half rounded away from zero; null if it does not fit.
    fn rounded(&self, v: i256, divisor: i256) -> Option<Value> {
        let (whole, rest) = (v.checked_div(divisor)?, v.checked_rem(divisor)?);
        let twice = rest.wrapping_abs().checked_add(rest.wrapping_abs())?;
        let sign = if v.is_negative() == divisor.is_negative() { i256::ONE } else { i256::MINUS_ONE };
        let out = if twice >= divisor.wrapping_abs() { whole.checked_add(sign)? } else { whole };
        let (precision, _) = self.digits();
        let out = out.to_i128().filter(|v| v.unsigned_abs() < 10u128.pow(u32::from(precision.min(38))));
        out.map(Value::Decimal)
    }

    /// Adds a value that is older than `kept` and comes after it.
    ///
    /// # Errors
    /// The errors of [`Function::add`].
    pub(crate) fn add_older(
        &self,
        column: MergedColumn<'_>,
        memory: &mut Memory,
        kept: MergedValue,
        older: MergedValue,
    ) -> Result<MergedValue> {
        match &self.kind {
            // The order in which they are collected does not matter.
            FunctionKind::Nested(Nested::Collect { .. }) => self.add(column, memory, kept, older),
            _ => self.add(column, memory, older, kept),
        }
    }

    /// Takes the value `taken` back from `kept`.
    ///
    /// # Errors
    /// `InvalidInput` if the function cannot do that, or divides by zero.
    pub(crate) fn retract(
        &self,
        column: MergedColumn<'_>,
        kept: MergedValue,
        taken: MergedValue,
    ) -> Result<MergedValue> {
        if self.ignore_retract {
            return Ok(kept);
        }
        match &self.kind {
            FunctionKind::Key => Ok(taken),
            FunctionKind::Last => Ok(MergedValue::Null),
            FunctionKind::LastNonNull => Ok(if taken.is_null() { kept } else { MergedValue::Null }),
            FunctionKind::Sum if kept.is_null() => Ok(MergedValue::computed(self.less(None, column.value(&taken))?)),
            FunctionKind::Sum | FunctionKind::Product if kept.is_null() || taken.is_null() => Ok(kept),
            FunctionKind::Sum => Ok(MergedValue::computed(self.less(column.value(&kept), column.value(&taken))?)),
            FunctionKind::Product => {
                Ok(MergedValue::computed(self.divided(column.value(&kept), column.value(&taken))?))
            }
            FunctionKind::Nested(nested) if nested.can_retract() => nested.retract(column, kept, taken),
            _ => Err(Error::invalid(format!("the aggregate function '{}' cannot retract deleted values", self.name))
                .hint("Set 'fields.<column>.ignore-retract' to 'true' for the table")),
        }
    }

    fn less(&self, a: Option<ValueRef<'_>>, b: Option<ValueRef<'_>>) -> Result<Option<Value>> {
        use ValueRef as V;
        Ok(match (a, b) {
            (_, None) => None,
            (None, Some(V::Int(b))) => Some(self.int(-i64::from(b))),
            (None, Some(V::Long(b))) => Some(Value::Long(b.wrapping_neg())),
            (None, Some(V::Float(b))) => Some(Value::Float(-b)),
            (None, Some(V::Double(b))) => Some(Value::Double(-b)),
            (None, Some(V::Decimal(b))) => self.decimal(b.checked_neg()),
            (Some(V::Int(a)), Some(V::Int(b))) => Some(self.int(i64::from(a) - i64::from(b))),
            (Some(V::Long(a)), Some(V::Long(b))) => Some(Value::Long(a.wrapping_sub(b))),
            (Some(V::Float(a)), Some(V::Float(b))) => Some(Value::Float(a - b)),
            (Some(V::Double(a)), Some(V::Double(b))) => Some(Value::Double(a - b)),
            (Some(V::Decimal(a)), Some(V::Decimal(b))) => self.decimal(a.checked_sub(b)),
            _ => return Err(Error::internal("an aggregate function was given values of another type")),
        })
    }

    fn divided(&self, a: Option<ValueRef<'_>>, b: Option<ValueRef<'_>>) -> Result<Option<Value>> {
        use ValueRef as V;
        let by_zero = || Error::invalid("a product cannot retract a zero");
        Ok(match (a, b) {
            (Some(V::Int(a)), Some(V::Int(b))) => {
                Some(self.int(i64::from(a).checked_div(i64::from(b)).ok_or_else(by_zero)?))
            }
            (Some(V::Long(_)), Some(V::Long(0))) => return Err(by_zero()),
            (Some(V::Long(a)), Some(V::Long(b))) => Some(Value::Long(a.wrapping_div(b))),
            (Some(V::Float(a)), Some(V::Float(b))) => Some(Value::Float(a / b)),
            (Some(V::Double(a)), Some(V::Double(b))) => Some(Value::Double(a / b)),
            (Some(V::Decimal(_)), Some(V::Decimal(0))) => return Err(by_zero()),
            (Some(V::Decimal(a)), Some(V::Decimal(b))) => {
                let scaled = power(self.digits().1).and_then(|p| i256::from_i128(a).checked_mul(p));
                scaled.and_then(|a| self.rounded(a, i256::from_i128(b)))
            }
            _ => return Err(Error::internal("an aggregate function was given values of another type")),
        })
    }
}

fn power(digits: u8) -> Option<i256> {
    i256::from_i128(10).checked_pow(u32::from(digits))
}

/// Two texts with the delimiter between them. With `distinct`, the second text adds only parts that the first does not
/// have.
fn joined(a: &str, b: &str, delimiter: &str, distinct: bool) -> String {
    if a.is_empty() || b.is_empty() {
        return if a.is_empty() { b } else { a }.to_owned();
    }
    if !distinct {
        return format!("{a}{delimiter}{b}");
    }
    let separator = if delimiter.is_empty() { " " } else { delimiter };
    let mut known: HashSet<&str> = a.split(separator).collect();
    let mut out = a.to_owned();
    for part in b.split(separator) {
        if !part.is_empty() && known.insert(part) {
            out.push_str(delimiter);
            out.push_str(part);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn functions_are_known_by_their_names() {
        let (none, text) = (BTreeMap::new(), Field::new(1, "c", false, Type::Primitive(PrimitiveType::String)));
        let unknown = |name: &str| {
            let wrong = FunctionKind::new(name, &text, &Options(&none)).err();
            wrong.is_some_and(|e| e.message().starts_with("there is no aggregate function"))
        };
        assert!(unknown("summ") && !FUNCTIONS.into_iter().any(unknown));
    }
}
