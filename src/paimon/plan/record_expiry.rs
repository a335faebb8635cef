//! Rows of tables with a primary key that expire after some time: compactions drop them.
//!
//! The column `record-level.time-field` has the time of a row, and `record-level.expire-time` says how long it stays. A
//! row without a time stays.
//!
//! Source: Java's `RecordLevelExpire`.

use crate::error::{Error, Result};
use crate::expr::predicate::{BoundLeaf, BoundTerm, Op};
use crate::expr::{BoundPredicate, bounds::Bounds};
use crate::paimon::spec::data_type::TypeKind;
use crate::paimon::spec::schema::TableSchema;
use crate::types::options::Options;
use crate::types::{FieldId, PrimitiveType, Value, ValueRef};

/// Numbers from here on are milliseconds, below they are seconds.
const FIRST_MILLIS: i64 = 1_000_000_000_000;

/// Says which rows have expired at some time.
#[derive(Clone, Debug)]
pub struct RecordExpiry {
    term: BoundTerm,
    ty: PrimitiveType,
    /// Rows with an earlier time have expired, in seconds.
    cutoff: i64,
}

impl RecordExpiry {
    /// The setting from a table's options; `None` if rows don't expire.
    ///
    /// # Errors
    /// `InvalidInput` for options that can't be read, and for a column that does not exist or has no time.
    pub fn new(schema: &TableSchema, options: &Options<'_>, now_ms: i64) -> Result<Option<RecordExpiry>> {
        const TIME_FIELD: &str = "record-level.time-field";
        let Some(kept_ms) = options.duration_ms("record-level.expire-time")? else { return Ok(None) };
        let wrong = |what: String| Error::invalid(what).with("option", TIME_FIELD);
        let name = options.get(TIME_FIELD).map(str::trim);
        let name =
            name.ok_or_else(|| wrong("rows expire, but no option names the column with their time".to_owned()))?;
        let field = schema.field(name).ok_or_else(|| wrong(format!("the table has no column '{name}'")))?;
        let column = schema.columns().field(field.id).and_then(|column| BoundTerm::of_column(&[column]));
        let is_time = matches!(
            field.ty.kind,
            TypeKind::Int | TypeKind::BigInt | TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_)
        );
        match (column, field.ty.to_primitive()) {
            (Some(term), Some(ty)) if is_time => {
                let cutoff = now_ms.div_euclid(1000).saturating_sub(kept_ms / 1000);
                Ok(Some(RecordExpiry { term, ty, cutoff }))
            }
            _ => Err(wrong(format!("a column of type {} can't hold a time; use INT, BIGINT or TIMESTAMP", field.ty))),
        }
    }

    /// The column with the time.
    pub fn field_id(&self) -> FieldId {
        self.term.field_id
    }

    fn leaf(&self, op: Op, values: Vec<Value>) -> BoundPredicate {
        BoundPredicate::Leaf(BoundLeaf { term: self.term.clone(), op, values })
    }

    /// True for rows that stay.
    pub fn stays(&self) -> BoundPredicate {
        let long = |v: i64| vec![Value::Long(v)];
        let lasts = match self.ty {
            PrimitiveType::Int => match i32::try_from(self.cutoff) {
                Ok(cutoff) => self.leaf(Op::GtEq, vec![Value::Int(cutoff)]),
                Err(_) if self.cutoff < 0 => return BoundPredicate::True,
                Err(_) => BoundPredicate::False,
            },
            PrimitiveType::Long => BoundPredicate::any([
                BoundPredicate::all([
                    self.leaf(Op::GtEq, long(FIRST_MILLIS)),
                    self.leaf(Op::GtEq, long(self.cutoff.saturating_mul(1000))),
                ]),
                BoundPredicate::all([self.leaf(Op::Lt, long(FIRST_MILLIS)), self.leaf(Op::GtEq, long(self.cutoff))]),
            ]),
            _ => self.leaf(Op::GtEq, long(self.first_kept())),
        };
        if self.term.required { lasts } else { BoundPredicate::any([self.leaf(Op::IsNull, Vec::new()), lasts]) }
    }

    /// The first timestamp that stays, in its unit. Java cuts milliseconds to seconds towards 1970.
    fn first_kept(&self) -> i64 {
        let is_ns = matches!(self.ty, PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs);
        let unit: i64 = if is_ns { 1_000_000 } else { 1000 };
        let millis = match self.cutoff > 0 {
            true => self.cutoff.saturating_mul(1000),
            false => (self.cutoff - 1).saturating_mul(1000).saturating_add(1),
        };
        millis.saturating_mul(unit)
    }

    /// Whether the least time of a file's rows has expired.
    pub fn is_due(&self, bounds: &impl Bounds) -> bool {
        let seconds = match bounds.column(self.field_id(), &self.ty).lower {
            Some(ValueRef::Int(v)) => i64::from(v),
            Some(ValueRef::Long(v)) => match self.ty {
                PrimitiveType::Long if v >= FIRST_MILLIS => v / 1000,
                PrimitiveType::Long => v,
                PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => v.div_euclid(1_000_000) / 1000,
                _ => v.div_euclid(1000) / 1000,
            },
            _ => return false,
        };
        self.cutoff > seconds
    }
}
