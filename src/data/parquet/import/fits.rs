//! Checks that an existing Parquet file fits a table. It checks the names and ids of the columns, and whether the
//! table's types can hold the values.
//!
//! Java Iceberg trusts the field ids of a file, and PyIceberg takes no file that has ids. Here ids count if the table
//! knows the columns by these names, now or in an earlier schema. Otherwise they belong to another table, and values
//! would be read as those of other columns.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::statistics::Statistics;

use crate::codec::parquet::ends;
use crate::data::parquet::schema::avro_name;
use crate::data::read::file_columns::{FileColumn, FileColumns};
use crate::error::{Error, Result};
use crate::types::{Field, FieldId, PrimitiveType, Schema};

/// Refuses ids that are another table's, and structs without any member that the table knows. `schemas` are all schemas
/// that the table has had, the current one first.
///
/// # Errors
/// `InvalidInput`, naming the column.
pub(crate) fn check_ids(columns: &FileColumns, own_ids: bool, schemas: &[Arc<Schema>]) -> Result<()> {
    let tops: Vec<Vec<&Field>> = schemas.iter().map(|s| s.fields.iter().collect()).collect();
    FitCheck { own_ids, schemas }.members(columns.iter().as_slice(), &tops, "")
}

struct FitCheck<'a> {
    /// Whether the ids are the file's own, not those that a name mapping gives to names.
    own_ids: bool,
    schemas: &'a [Arc<Schema>],
}

impl FitCheck<'_> {
    /// `known` are the fields that each schema has at this place.
    fn members(&self, columns: &[FileColumn], known: &[Vec<&Field>], around: &str) -> Result<()> {
        for column in columns {
            let full = format!("{around}{}", column.field.name());
            let Some(id) = column.id else { continue };
            if self.own_ids {
                self.id(id, column.field.name(), known, &full)?;
            }
            let of_id = known.iter().flatten().filter(|f| f.id == id);
            let inner: Vec<Vec<&Field>> = of_id.map(|f| f.ty.children()).collect();
            self.inside(column, &inner, &full)?;
        }
        Ok(())
    }

    fn id(&self, id: FieldId, name: &str, known: &[Vec<&Field>], full: &str) -> Result<()> {
        let mut of_id = known.iter().flatten().filter(|f| f.id == id).peekable();
        if of_id.peek().is_some() {
            return match of_id.any(|f| is_name(name, &f.name)) {
                true => Ok(()),
                false => Err(self.foreign(full, id)),
            };
        }
        // Columns that the table does not know are not read. A column with a known name was meant to be read.
        let is_known = known.iter().flatten().any(|f| is_name(name, &f.name));
        let is_elsewhere = self.schemas.iter().any(|s| s.field(id).is_some());
        if is_known || is_elsewhere { Err(self.foreign(full, id)) } else { Ok(()) }
    }

    fn foreign(&self, column: &str, id: FieldId) -> Error {
        let name = self.schemas.iter().find_map(|s| s.name_of(id));
        Error::invalid("the file's field ids are those of another table")
            .with("column", column)
            .with("field id", id)
            .with("of the table's column", name.unwrap_or_else(|| "none".to_owned()))
            .hint(
                "Values would be read as those of other columns. Append the rows with append(), or write the file again \
                 without field ids, so that columns are matched by name",
            )
    }

    fn inside(&self, column: &FileColumn, inner: &[Vec<&Field>], full: &str) -> Result<()> {
        if inner.iter().all(Vec::is_empty) {
            return Ok(());
        }
        if !matches!(column.field.data_type(), DataType::Struct(_)) {
            // Writers use different names for the entries of lists and maps.
            return column.children.iter().try_for_each(|child| {
                let of_id = inner.iter().flatten().filter(|f| Some(f.id) == child.id);
                self.inside(child, &of_id.map(|f| f.ty.children()).collect::<Vec<_>>(), full)
            });
        }
        self.members(&column.children, inner, &format!("{full}."))?;
        let is_known = |c: &FileColumn| inner.iter().flatten().any(|f| c.id == Some(f.id));
        match column.children.is_empty() || column.children.iter().any(is_known) {
            true => Ok(()),
            false => {
                let members: Vec<&str> = column.children.iter().map(|c| c.field.name().as_str()).collect();
                Err(Error::invalid("a struct of the file has none of the table's fields")
                    .with("column", full)
                    .with("members", members.join(", "))
                    .hint("All its fields would be null: rename them, or evolve the table's schema first"))
            }
        }
    }
}

/// Whether a name in the file is the name of a column: the same, as Java writes it, or in other case.
fn is_name(name: &str, column: &str) -> bool {
    name.eq_ignore_ascii_case(column) || name == avro_name(column)
}

/// The leaves with values that may not fit the table's types. Leaves are left out if the footer shows that their values
/// fit.
pub(crate) fn doubtful_leaves(columns: &FileColumns, schema: &Schema, footer: &ParquetMetaData) -> Vec<FieldId> {
    let mut out = Vec::new();
    let mut pending: Vec<&FileColumn> = columns.iter().collect();
    while let Some(column) = pending.pop() {
        pending.extend(&column.children);
        let Some(id) = column.id.filter(|_| column.children.is_empty()) else { continue };
        let Some(ty) = schema.field(id).and_then(|f| f.ty.as_primitive()) else { continue };
        let Some(limit) = Limit::of(column.field.data_type(), ty) else { continue };
        let leaf = column.leaves.start;
        let fits = footer.row_groups().iter().all(|group| {
            let chunk = group.columns().get(leaf);
            group.num_rows() == 0
                || chunk.and_then(|c| c.statistics()).is_some_and(|s| {
                    // Older fields of bounds have unsigned numbers and bytes in another order.
                    ends::are_believed(footer.file_metadata(), leaf, s) && limit.is_kept_by(s)
                })
        });
        if !fits {
            out.push(id);
        }
    }
    out.sort_unstable();
    out
}

/// The condition under which values fit.
enum Limit {
    /// Unsigned numbers that are at most this.
    Unsigned(u64),
    /// Unscaled numbers below this, and above it with a minus sign.
    Digits(i128),
    /// Numbers that are multiplied by this.
    Times(i64),
    /// Statistics don't show it: the values must be read.
    Read,
}

impl Limit {
    /// `None` if all values fit.
    fn of(stored: &DataType, ty: &PrimitiveType) -> Option<Limit> {
        use DataType as D;
        use PrimitiveType as P;
        Some(match (stored, ty) {
            (D::UInt32, P::Int) => Limit::Unsigned(i32::MAX as u64),
            (D::UInt64, P::Long) => Limit::Unsigned(i64::MAX as u64),
            (D::Decimal128(p, _), P::Decimal { precision, .. }) if p <= precision => return None,
            (D::Decimal128(_, _), P::Decimal { precision, .. }) => Limit::Digits(10i128.pow(u32::from(*precision))),
            (D::Decimal256(_, _), _) | (D::Binary, P::String | P::Uuid | P::Fixed(_)) => Limit::Read,
            (D::Date32, P::Timestamp) => Limit::Times(86_400_000_000),
            (D::Date32, P::TimestampNs) => Limit::Times(86_400_000_000_000),
            (D::Timestamp(TimeUnit::Millisecond, _), P::TimestampNs | P::TimestamptzNs) => Limit::Times(1_000_000),
            (D::Timestamp(TimeUnit::Microsecond, _), P::TimestampNs | P::TimestamptzNs)
            | (D::Timestamp(TimeUnit::Millisecond, _), P::Timestamp | P::Timestamptz) => Limit::Times(1_000),
            _ => return None,
        })
    }

    fn is_kept_by(&self, statistics: &Statistics) -> bool {
        let ends: Option<[i128; 2]> = match (self, statistics) {
            (Limit::Unsigned(_), Statistics::Int32(s)) => {
                s.min_opt().zip(s.max_opt()).map(|(a, b)| [*a as u32, *b as u32].map(i128::from))
            }
            (Limit::Unsigned(_), Statistics::Int64(s)) => {
                s.min_opt().zip(s.max_opt()).map(|(a, b)| [*a as u64, *b as u64].map(i128::from))
            }
            (_, Statistics::Int32(s)) => s.min_opt().zip(s.max_opt()).map(|(a, b)| [*a, *b].map(i128::from)),
            (_, Statistics::Int64(s)) => s.min_opt().zip(s.max_opt()).map(|(a, b)| [*a, *b].map(i128::from)),
            _ => statistics.min_bytes_opt().zip(statistics.max_bytes_opt()).and_then(|(a, b)| Some([big(a)?, big(b)?])),
        };
        let Some(ends) = ends else { return false };
        ends.into_iter().all(|v| match self {
            Limit::Unsigned(most) => v <= i128::from(*most),
            Limit::Digits(below) => v.abs() < *below,
            Limit::Times(factor) => v.checked_mul(i128::from(*factor)).is_some_and(|v| i64::try_from(v).is_ok()),
            Limit::Read => false,
        })
    }
}

/// A big-endian number of up to 16 bytes.
fn big(bytes: &[u8]) -> Option<i128> {
    let sign = if *bytes.first()? & 0x80 == 0 { 0 } else { -1i128 };
    (bytes.len() <= 16).then(|| bytes.iter().fold(sign, |v, b| v << 8 | i128::from(*b)))
}
