//! Finds the columns of a Parquet file that an engine's own reader reads correctly by name.
//!
//! Engines read by name and by place, where this reader uses field ids. They know no defaults, and a column that the
//! file lacks is null. So a column is plain only if that gives the same rows. No other column may have its name in
//! upper or lower case. Engines must know its stored type. Nothing inside it may be renamed or missing.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use parquet::basic::Type as PhysicalType;
use parquet::schema::types::SchemaDescriptor;

use super::file::ParquetFile;
use crate::data::read::constants::Constants;
use crate::data::read::file_columns::{FileColumn, FileColumns, find};
use crate::error::{ErrorKind, Result, ResultExt};
use crate::format::task::{DataFile, FileFormat, ReadContext};
use crate::store::Store;
use crate::types::{Field, PrimitiveType, Type};

/// Names that engines give columns of their own.
const TAKEN_NAMES: [&str; 2] = ["_metadata", "_tmp_metadata_row_index"];

/// How the rows of a file can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    /// By names: the file's name of each wanted column, `None` for a column that is null in every row.
    Columns(Vec<Option<String>>),
    /// Only by our reader, for this reason.
    Not(String),
}

/// Reads the file's footer and says how its columns `wanted` can be read. A file that can't be opened is not plain: its
/// reader will report the error.
///
/// # Errors
/// The store's errors, except that the file does not exist.
pub(crate) fn plain_columns(
    store: &Arc<dyn Store>,
    context: &ReadContext,
    file: &Arc<DataFile>,
    wanted: &[Field],
) -> Result<Plain> {
    if file.format != FileFormat::Parquet {
        return Ok(Plain::Not(format!("the file is {}", file.format.as_str())));
    }
    if file.key_metadata.is_some() {
        return Ok(Plain::Not("the file is encrypted".into()));
    }
    let path = context.location.resolve(&file.path)?;
    let found = ParquetFile::open(store, &path).and_then(|open| columns_of(&open, context, file, wanted));
    match found {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::CorruptTable | ErrorKind::Unsupported) => {
            Ok(Plain::Not(format!("the file's footer can't be used: {e}")))
        }
        found => found.with("path", &path),
    }
}

fn columns_of(open: &ParquetFile, context: &ReadContext, file: &Arc<DataFile>, wanted: &[Field]) -> Result<Plain> {
    let groups = open.footer().row_groups().iter();
    let rows = groups.map(|g| g.num_rows().max(0) as u64).fold(0, u64::saturating_add);
    if rows < u64::try_from(file.record_count).unwrap_or(0) {
        return Ok(Plain::Not("the file has fewer rows than the table says".into()));
    }
    let mut columns = FileColumns::new(open.metadata.schema());
    columns.identify(context, file)?;
    let looker = Looker { schema: open.parquet_schema() };
    let constants = Constants::of(file);
    let mut names = Vec::with_capacity(wanted.len());
    for field in wanted {
        let why = match find(&columns.0, field.id)? {
            Some((place, column)) => match looker.misfit(field, column, 0).or_else(|| odd_name(&columns.0, place)) {
                None => {
                    names.push(Some(column.field.name().clone()));
                    continue;
                }
                why => why,
            },
            None if constants.get(field.id).is_some() => Some("its values are those of the partition".to_owned()),
            None if field.initial_default.is_some() => Some("it has a default value in this file".to_owned()),
            None if field.required => Some("the file lacks it, though it is required".to_owned()),
            None => {
                names.push(None);
                continue;
            }
        };
        let why = why.unwrap_or_default();
        return Ok(Plain::Not(format!("column '{}': {why}", field.name)));
    }
    Ok(Plain::Columns(names))
}

/// The reason why the column at `place` of the top level can't be read by name.
fn odd_name(columns: &[FileColumn], place: usize) -> Option<String> {
    let name = columns.get(place)?.field.name();
    if TAKEN_NAMES.iter().any(|taken| taken.eq_ignore_ascii_case(name)) {
        return Some(format!("engines have a column '{name}' of their own"));
    }
    if name.is_empty() || name.chars().any(|c| matches!(c, '.' | '`' | '"' | '\\') || c.is_control()) {
        return Some(format!("its name in the file, {name:?}, is unsafe"));
    }
    ambiguous(columns, place)
}

/// The reason why the name of the column at `place` is not unique among its siblings.
fn ambiguous(columns: &[FileColumn], place: usize) -> Option<String> {
    let name = columns.get(place)?.field.name().to_lowercase();
    let is_same = |(i, other): (usize, &FileColumn)| i != place && other.field.name().to_lowercase() == name;
    columns.iter().enumerate().any(is_same).then(|| format!("the file has several columns '{name}' but for the case"))
}

struct Looker<'a> {
    schema: &'a SchemaDescriptor,
}

impl Looker<'_> {
    /// The reason why engines can't read a column as `wanted`. Its name stands at `depth` of its path. `None` if they
    /// can.
    fn misfit(&self, wanted: &Field, column: &FileColumn, depth: usize) -> Option<String> {
        match (&wanted.ty, column.field.data_type(), column.children.as_slice()) {
            (Type::Primitive(ty), stored, []) => self.leaf_misfit(ty, stored, column),
            (Type::Struct(members), DataType::Struct(_), stored) => {
                members.iter().find_map(|m| self.member_misfit(m, stored, depth + 1))
            }
            (Type::List(element), DataType::List(_), [stored]) if self.is_at(column, depth + 1, &["list"]) => {
                self.misfit(element, stored, depth + 2)
            }
            (Type::Map(key, value), DataType::Map(..), [stored_key, stored_value])
                if self.is_at(column, depth + 1, &["key_value", "map", "entries"]) =>
            {
                self.misfit(key, stored_key, depth + 2).or_else(|| self.misfit(value, stored_value, depth + 2))
            }
            (_, stored, _) => Some(format!("it is stored as {stored} in an unusual form")),
        }
    }

    fn member_misfit(&self, wanted: &Field, among: &[FileColumn], depth: usize) -> Option<String> {
        let found = match find(among, wanted.id) {
            Ok(Some((place, column))) => Some((place, column)),
            _ => None,
        };
        match found {
            None => Some(format!("the file lacks its member '{}'", wanted.name)),
            Some((_, column)) if *column.field.name() != wanted.name => {
                Some(format!("its member '{}' is called '{}' in the file", wanted.name, column.field.name()))
            }
            Some((place, column)) => ambiguous(among, place).or_else(|| self.misfit(wanted, column, depth)),
        }
    }

    /// Whether the path of the column has one of these names there.
    fn is_at(&self, column: &FileColumn, depth: usize, names: &[&str]) -> bool {
        let path = (column.leaves.start < self.schema.num_columns()).then(|| self.schema.column(column.leaves.start));
        path.is_some_and(|leaf| leaf.path().parts().get(depth).is_some_and(|part| names.contains(&part.as_str())))
    }

    fn leaf_misfit(&self, wanted: &PrimitiveType, stored: &DataType, column: &FileColumn) -> Option<String> {
        use PrimitiveType as P;
        let utc = |zone: &Option<Arc<str>>| zone.as_ref().is_some_and(|z| &**z == "UTC" || &**z == "+00:00");
        let same = match (wanted, stored) {
            (P::Boolean, DataType::Boolean)
            | (P::Int, DataType::Int32)
            | (P::Long, DataType::Int64 | DataType::Int32)
            | (P::Float, DataType::Float32)
            | (P::Double, DataType::Float64 | DataType::Float32)
            | (P::Date, DataType::Date32)
            | (P::String, DataType::Utf8)
            | (P::Binary, DataType::Binary)
            | (P::Timestamp, DataType::Timestamp(TimeUnit::Microsecond, None)) => true,
            (P::Timestamptz, DataType::Timestamp(TimeUnit::Microsecond, zone)) => utc(zone),
            (P::Fixed(n), DataType::FixedSizeBinary(stored)) => i32::try_from(*n) == Ok(*stored),
            (P::Decimal { precision, scale }, DataType::Decimal128(p, s)) => p <= precision && *s == *scale as i8,
            _ => false,
        };
        let at = column.leaves.start;
        let is_int96 = at >= self.schema.num_columns() || self.schema.column(at).physical_type() == PhysicalType::INT96;
        match same && !is_int96 {
            true => None,
            false if is_int96 => Some("it is stored as 96-bit timestamps".into()),
            false => Some(format!("type {wanted} stored as {stored} is read by Frazil only")),
        }
    }
}

#[cfg(test)]
#[path = "plain_columns_tests.rs"]
mod tests;
