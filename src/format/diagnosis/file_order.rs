//! How much the bounds of a column overlap from file to file.

use super::code::Code;
use super::finding::{Findings, Gain};
use crate::types::value::decode_bound;
use crate::types::{PrimitiveType, ValueRef};

/// The most columns whose order of files is measured.
pub(crate) const MOST_ORDERS: usize = 4;
/// The least number of files whose order is judged.
const LEAST_ORDERED: usize = 16;
/// The least share of files that a value may be in, for a finding about the order of files.
const OVERLAP: f64 = 0.5;

/// Whether bounds of this type become numbers that keep their order.
pub(crate) fn has_order(ty: &PrimitiveType) -> bool {
    use PrimitiveType as P;
    matches!(
        ty,
        P::Int
            | P::Long
            | P::Date
            | P::Time
            | P::Timestamp
            | P::Timestamptz
            | P::TimestampNs
            | P::TimestamptzNs
            | P::Float
            | P::Double
            | P::String
    )
}

/// Bounds as numbers that keep the order of the values.
pub(crate) fn ordered(lower: Option<&[u8]>, upper: Option<&[u8]>, ty: &PrimitiveType) -> Option<(u64, u64)> {
    let number = |bytes: Option<&[u8]>| {
        let signed = |v: i64| (v as u64) ^ (1 << 63);
        Some(match decode_bound(bytes?, ty).ok()?? {
            ValueRef::Int(v) => signed(i64::from(v)),
            ValueRef::Long(v) => signed(v),
            ValueRef::Float(v) => float(f64::from(v))?,
            ValueRef::Double(v) => float(v)?,
            ValueRef::String(v) => {
                let mut first = [0; 8];
                first.iter_mut().zip(v.bytes()).for_each(|(to, from)| *to = from);
                u64::from_be_bytes(first)
            }
            _ => return None,
        })
    };
    let (low, high) = (number(lower)?, number(upper)?);
    (low <= high).then_some((low, high))
}

fn float(v: f64) -> Option<u64> {
    let bits = v.to_bits();
    (!v.is_nan()).then_some(if v.is_sign_negative() { !bits } else { bits ^ (1 << 63) })
}

/// Reports a column whose bounds overlap in most files: a value is in many files, on average. `bounds` has those of
/// each file, `data_bytes` are the bytes of all files.
pub(crate) fn check(
    findings: &Findings,
    code: &'static Code,
    column: String,
    mut bounds: Vec<(u64, u64)>,
    data_bytes: u64,
) {
    let count = bounds.len();
    if count < LEAST_ORDERED {
        return;
    }
    // For each file: the files that begin before its middle, without those that end before it.
    let middles: Vec<u64> = bounds.iter().map(|(low, high)| low + (high.saturating_sub(*low)) / 2).collect();
    let (mut starts, mut ends): (Vec<u64>, Vec<u64>) = bounds.drain(..).unzip();
    starts.sort_unstable();
    ends.sort_unstable();
    if starts.first() == ends.last() {
        return;
    }
    let depth = |at: &u64| starts.partition_point(|s| s <= at).saturating_sub(ends.partition_point(|e| e < at));
    let share = middles.iter().map(depth).sum::<usize>() as f64 / (count * count) as f64;
    if share <= OVERLAP {
        return;
    }
    let saved = ((share * count as f64) as u64).saturating_sub(1);
    let gain = Gain { bytes: data_bytes / count.max(1) as u64 * saved, files: saved, requests: saved * 2 };
    let evidence = format!("a value is in the bounds of {:.0} % of {count} files on average", share * 100.0);
    findings.gain(code, column, evidence, gain);
}
