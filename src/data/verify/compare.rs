//! Recorded counts and bounds against the facts of a footer, and against themselves.

use std::cmp::Ordering;

use super::footer::FooterFacts;
use crate::format::diagnosis::code::Code;
use crate::format::diagnosis::table_codes as codes;
use crate::format::task::{ColumnMetrics, DataFile, FieldMap};
use crate::types::value::{decode_bound, format_value};
use crate::types::{FieldId, PrimitiveType, Schema, ValueRef};

/// A difference between a file and its record.
#[derive(Debug)]
pub(crate) struct Difference {
    /// Its kind.
    pub code: &'static Code,
    /// The two values.
    pub evidence: String,
}

impl Difference {
    /// A difference of this kind.
    pub(crate) fn new(code: &'static Code, evidence: impl Into<String>) -> Difference {
        Difference { code, evidence: evidence.into() }
    }
}

/// The length at which writers cut texts in statistics. Longer ones may not be exact.
const CUT_LENGTH: usize = 64;

/// Compares a file's record with its footer.
pub(crate) fn against_footer(
    schema: &Schema,
    file: &DataFile,
    recorded: &ColumnMetrics,
    facts: &FooterFacts,
    out: &mut Vec<Difference>,
) {
    if let Some(rows) = facts.rows.filter(|rows| *rows != file.record_count) {
        let evidence = format!("{} rows are recorded, the file has {rows}", file.record_count);
        out.push(Difference::new(&codes::ROW_COUNT, evidence));
    }
    if let Some(reason) = &facts.misfit {
        out.push(Difference::new(&codes::COLUMN_TYPE, reason.clone()));
    }
    let found = &facts.metrics;
    for (id, count) in found.value_counts.iter().flatten() {
        let Some(known) = get(&recorded.value_counts, *id).filter(|known| known != count) else { continue };
        let evidence = format!("{}: {known} values are recorded, the file has {count}", name(schema, *id));
        out.push(Difference::new(&codes::VALUE_COUNT, evidence));
    }
    for (id, nulls) in found.null_value_counts.iter().flatten() {
        let Some(known) = get(&recorded.null_value_counts, *id).filter(|known| known != nulls) else { continue };
        let values = get(&found.value_counts, *id).unwrap_or(file.record_count);
        out.push(null_difference(&name(schema, *id), known, *nulls, values));
    }
    for (id, low) in found.lower_bounds.iter().flatten() {
        let high = found.upper_bounds.as_ref().and_then(|map| map.get(id));
        bounds(schema, *id, recorded, (Some(low), high), out);
    }
}

/// The difference between two null counts of a column with `values` values.
pub(crate) fn null_difference(column: &str, recorded: i64, found: i64, values: i64) -> Difference {
    let hides = (recorded == 0 && found > 0) || (recorded >= values && found < values);
    let code = if hides { &codes::NULL_COUNT_HIDES_ROWS } else { &codes::NULL_COUNT };
    Difference::new(code, format!("{column}: {recorded} nulls are recorded, the file has {found} in {values} values"))
}

/// Whether writers order the values of this type in two ways. Java compares the halves of a UUID as signed numbers, and
/// the specification as unsigned bytes. So bounds of either order are right.
pub(crate) fn has_two_orders(ty: &PrimitiveType) -> bool {
    *ty == PrimitiveType::Uuid
}

/// Compares recorded bounds of a column with values in the file.
fn bounds(
    schema: &Schema,
    id: FieldId,
    recorded: &ColumnMetrics,
    (low, high): (Option<&Vec<u8>>, Option<&Vec<u8>>),
    out: &mut Vec<Difference>,
) {
    let Some(ty) = schema.field(id).and_then(|f| f.ty.as_primitive()) else { return };
    let recorded_low = recorded.lower_bounds.as_ref().and_then(|map| map.get(&id));
    let recorded_high = recorded.upper_bounds.as_ref().and_then(|map| map.get(&id));
    if has_two_orders(ty) {
        return;
    }
    let is_text = matches!(ty, PrimitiveType::String | PrimitiveType::Binary);
    let differs = |bound: Option<&Vec<u8>>, value: Option<&Vec<u8>>, wrong: Ordering| {
        let (bound, value) = (bound?, value?);
        if is_text && (value.len() >= CUT_LENGTH || bound.starts_with(value)) {
            return None;
        }
        let (a, b) = (decode_bound(bound, ty).ok()??, decode_bound(value, ty).ok()??);
        let is_nan = a.is_nan() || b.is_nan();
        (!is_nan && a.sql_cmp(b) == Some(wrong)).then(|| (format_value(a, ty), format_value(b, ty)))
    };
    let column = name(schema, id);
    if let Some((bound, value)) = differs(recorded_low, low, Ordering::Greater) {
        let evidence = format!("{column}: the lower bound {bound} is recorded, the file has {value}");
        out.push(Difference::new(&codes::BOUNDS_EXCLUDE_ROWS, evidence));
    }
    if let Some((bound, value)) = differs(recorded_high, high, Ordering::Less) {
        let evidence = format!("{column}: the upper bound {bound} is recorded, the file has {value}");
        out.push(Difference::new(&codes::BOUNDS_EXCLUDE_ROWS, evidence));
    }
}

/// A column's recorded metrics.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordedColumn<'a> {
    /// Values, nulls included.
    pub values: Option<i64>,
    /// Nulls.
    pub nulls: Option<i64>,
    /// The lower bound.
    pub lower: Option<&'a [u8]>,
    /// The upper bound.
    pub upper: Option<&'a [u8]>,
}

/// Checks the recorded metrics of a column against themselves. `rows` is `None` for columns inside lists and maps.
pub(crate) fn against_itself(
    column: &dyn Fn() -> String,
    ty: &PrimitiveType,
    recorded: RecordedColumn<'_>,
    rows: Option<i64>,
    out: &mut Vec<Difference>,
) {
    let RecordedColumn { values, nulls, lower, upper } = recorded;
    if let Some((values, nulls)) = values.zip(nulls).filter(|(values, nulls)| nulls > values) {
        let evidence = format!("{}: {nulls} nulls are recorded among {values} values", column());
        out.push(Difference::new(&codes::NULL_COUNT_HIDES_ROWS, evidence));
    }
    if let Some((values, rows)) = values.zip(rows).filter(|(values, rows)| values > rows) {
        let evidence = format!("{}: {values} values are recorded in {rows} rows", column());
        out.push(Difference::new(&codes::VALUE_COUNT, evidence));
    }
    let mut decode = |bytes: Option<&'_ [u8]>, which: &str| match decode_bound(bytes?, ty) {
        Ok(value) => value.map(ValueRef::to_owned),
        Err(e) => {
            let evidence = format!("{}, {which} bound: {}", column(), e.message());
            out.push(Difference::new(&codes::BOUND_UNDECODABLE, evidence));
            None
        }
    };
    let (low, high) = (decode(lower, "lower"), decode(upper, "upper"));
    if let Some((low, high)) = low.zip(high)
        && !has_two_orders(ty)
        && !low.as_ref().is_nan()
        && !high.as_ref().is_nan()
        && low.sql_cmp(&high) == Some(Ordering::Greater)
    {
        let (low, high) = (format_value(low.as_ref(), ty), format_value(high.as_ref(), ty));
        let evidence = format!("{}: the lower bound {low} is above the upper bound {high}", column());
        out.push(Difference::new(&codes::BOUNDS_DISORDERED, evidence));
    }
}

fn get(map: &Option<FieldMap<i64>>, id: FieldId) -> Option<i64> {
    map.as_ref()?.get(&id).copied()
}

/// The dotted name of a column.
pub(crate) fn name(schema: &Schema, id: FieldId) -> String {
    schema.name_of(id).unwrap_or_else(|| format!("column {id}"))
}
