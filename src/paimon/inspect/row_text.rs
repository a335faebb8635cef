//! Values of binary rows as Java's system tables show them.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::expr::bounds::Bounds;
use crate::paimon::spec::binary_row::BinaryRow;
use crate::paimon::spec::data_type::{DataField, DataType};
use crate::paimon::spec::partition::value_text;
use crate::paimon::spec::stats::StatsBounds;

/// Java's text for null.
const NULL: &str = "null";

/// The values of a row: as SQL's cast makes texts of them, or as Java prints its objects.
fn values<'t>(row: &[u8], types: impl Iterator<Item = &'t DataType>, cast: bool) -> Result<Vec<Option<String>>> {
    let row = BinaryRow::from_prefixed(row)?;
    let value = |(i, ty): (usize, &DataType)| Ok(row.value(i, ty)?.map(|v| value_text(&v.to_owned(), ty, !cast)));
    types.enumerate().map(value).collect()
}

fn or_null(value: Option<String>) -> String {
    value.unwrap_or_else(|| NULL.to_owned())
}

/// `{2024-01-01, eu}`.
///
/// # Errors
/// `CorruptTable` if it is not a row of these types.
pub(crate) fn row_text<'t>(row: &[u8], types: impl Iterator<Item = &'t DataType>) -> Result<String> {
    let values = values(row, types, true)?;
    Ok(format!("{{{}}}", values.into_iter().map(or_null).collect::<Vec<_>>().join(", ")))
}

/// `[1, a]`; `None` for a row without fields.
///
/// # Errors
/// As [`row_text`].
pub(crate) fn key_text<'t>(row: &[u8], types: impl Iterator<Item = &'t DataType>) -> Result<Option<String>> {
    let values = values(row, types, false)?;
    let text = || format!("[{}]", values.iter().cloned().map(or_null).collect::<Vec<_>>().join(", "));
    Ok((!values.is_empty()).then(text))
}

/// `day=2024-01-01/region=eu`.
///
/// # Errors
/// As [`row_text`].
pub(crate) fn partition_spec_text(row: &[u8], fields: &[&DataField], default_name: &str) -> Result<String> {
    let values = values(row, fields.iter().map(|f| &f.ty), true)?;
    let named = fields.iter().zip(values).map(|(f, v)| format!("{}={}", f.name, v.as_deref().unwrap_or(default_name)));
    Ok(named.collect::<Vec<_>>().join("/"))
}

/// `{a=1, b=null}`, by name.
fn map_text(values: BTreeMap<&str, String>) -> String {
    let entries = values.into_iter().map(|(name, value)| format!("{name}={value}"));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
}

/// Numbers of nulls, least and greatest values of a file, by column.
pub(crate) fn stats_texts(bounds: &StatsBounds<'_>, fields: &[DataField]) -> [String; 3] {
    let (mut nulls, mut least, mut greatest) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for field in fields {
        let name = field.name.as_str();
        let column = field.ty.to_primitive().map(|ty| bounds.column(field.id, &ty)).unwrap_or_default();
        let text =
            |v: Option<crate::types::ValueRef<'_>>| or_null(v.map(|v| value_text(&v.to_owned(), &field.ty, true)));
        nulls.insert(name, or_null(bounds.null_count(field.id).map(|n| n.to_string())));
        least.insert(name, text(column.lower));
        greatest.insert(name, text(column.upper));
    }
    [map_text(nulls), map_text(least), map_text(greatest)]
}
