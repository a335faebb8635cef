//! Statistics of the values of a column, in a file, a stripe or a group of rows.

use super::message::Message;
use crate::types::decimal;

/// Text is kept up to this number of bytes, as in Java.
const MAX_TEXT: usize = 1024;

/// Statistics of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct OrcColumnStatistics {
    /// Values that are not null.
    pub values: u64,
    /// Whether a value is null although its parent is not.
    pub has_null: bool,
    /// The statistics that depend on the column's type.
    pub kind: KindStatistics,
}

/// Text that may be cut. The order is that of the whole text, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Cut {
    fn new(text: &[u8]) -> Cut {
        Cut { bytes: text.get(..MAX_TEXT).unwrap_or(text).to_vec(), is_cut: text.len() > MAX_TEXT }
    }

    /// The text, if it was not cut.
    pub fn whole(&self) -> Option<&str> {
        if self.is_cut { None } else { std::str::from_utf8(&self.bytes).ok() }
    }
}

/// The least and the greatest value, if there are values.
pub(super) type Range<T> = Option<(T, T)>;

/// Statistics by type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum KindStatistics {
    None,
    Boolean {
        true_count: u64,
    },
    /// The sum is unknown once it overflows.
    Integer {
        range: Range<i64>,
        sum: Option<i64>,
    },
    /// The range is that of values other than NaN. -0.0 is less than 0.0.
    Double {
        range: Range<f64>,
        sum: f64,
        nans: u64,
    },
    Text {
        range: Range<Cut>,
        bytes: u64,
    },
    Decimal {
        range: Range<i128>,
        scale: u8,
    },
    Date {
        range: Range<i32>,
    },
    Binary {
        bytes: u64,
    },
    /// The range in units. A second has `per_second` units.
    Timestamp {
        range: Range<i64>,
        per_second: i64,
    },
    /// Lists and maps by the number of their entries.
    Collection {
        range: Range<u64>,
        total: u64,
    },
}

/// Extends a range to include a value.
#[inline]
fn widen<T: PartialOrd + Copy>(range: &mut Range<T>, v: T) {
    match range {
        None => *range = Some((v, v)),
        Some((low, high)) => {
            if v < *low {
                *low = v;
            }
            if v > *high {
                *high = v;
            }
        }
    }
}

fn widen_double(range: &mut Range<f64>, v: f64) {
    match range {
        None => *range = Some((v, v)),
        Some((low, high)) => {
            if v.total_cmp(low).is_lt() {
                *low = v;
            }
            if v.total_cmp(high).is_gt() {
                *high = v;
            }
        }
    }
}

fn merge_range<T: PartialOrd + Copy>(range: &mut Range<T>, other: &Range<T>) {
    if let Some((low, high)) = other {
        widen(range, *low);
        widen(range, *high);
    }
}

impl KindStatistics {
    /// The statistics of no values, of the same kind.
    fn emptied(&self) -> KindStatistics {
        use KindStatistics as K;
        match self {
            K::None => K::None,
            K::Boolean { .. } => K::Boolean { true_count: 0 },
            K::Integer { .. } => K::Integer { range: None, sum: Some(0) },
            K::Double { .. } => K::Double { range: None, sum: 0.0, nans: 0 },
            K::Text { .. } => K::Text { range: None, bytes: 0 },
            K::Decimal { scale, .. } => K::Decimal { range: None, scale: *scale },
            K::Date { .. } => K::Date { range: None },
            K::Binary { .. } => K::Binary { bytes: 0 },
            K::Timestamp { per_second, .. } => K::Timestamp { range: None, per_second: *per_second },
            K::Collection { .. } => K::Collection { range: None, total: 0 },
        }
    }

    /// Adds an integer, a number of days or a timestamp.
    #[inline]
    pub fn add_integer(&mut self, v: i64) {
        match self {
            KindStatistics::Integer { range, sum } => {
                widen(range, v);
                *sum = sum.and_then(|sum| sum.checked_add(v));
            }
            KindStatistics::Date { range } => widen(range, v as i32),
            KindStatistics::Timestamp { range, .. } => widen(range, v),
            _ => {}
        }
    }

    /// Adds a floating-point number.
    #[inline]
    pub fn add_double(&mut self, v: f64) {
        if let KindStatistics::Double { range, sum, nans } = self {
            if v.is_nan() {
                *nans += 1;
            } else {
                *sum += v;
                widen_double(range, v);
            }
        }
    }

    /// Adds text or bytes.
    pub fn add_bytes(&mut self, v: &[u8]) {
        match self {
            KindStatistics::Binary { bytes } => *bytes += v.len() as u64,
            KindStatistics::Text { range, bytes } => {
                *bytes += v.len() as u64;
                match range {
                    None => *range = Some((Cut::new(v), Cut::new(v))),
                    Some((low, high)) => {
                        let (head, is_cut) = (v.get(..MAX_TEXT).unwrap_or(v), v.len() > MAX_TEXT);
                        if (head, is_cut) < (low.bytes.as_slice(), low.is_cut) {
                            *low = Cut::new(v);
                        }
                        if (head, is_cut) > (high.bytes.as_slice(), high.is_cut) {
                            *high = Cut::new(v);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds an unscaled decimal.
    pub fn add_decimal(&mut self, v: i128) {
        if let KindStatistics::Decimal { range, .. } = self {
            widen(range, v);
        }
    }

    /// Adds a boolean.
    pub fn add_boolean(&mut self, v: bool) {
        if let KindStatistics::Boolean { true_count } = self {
            *true_count += u64::from(v);
        }
    }

    /// Adds the number of entries of a list or map.
    pub fn add_entries(&mut self, n: u64) {
        if let KindStatistics::Collection { range, total } = self {
            widen(range, n);
            *total += n;
        }
    }

    fn merge(&mut self, other: &KindStatistics) {
        use KindStatistics as K;
        match (self, other) {
            (K::Boolean { true_count }, K::Boolean { true_count: more }) => *true_count += more,
            (K::Integer { range, sum }, K::Integer { range: other, sum: more }) => {
                merge_range(range, other);
                *sum = sum.zip(*more).and_then(|(a, b)| a.checked_add(b));
            }
            (K::Double { range, sum, nans }, K::Double { range: other, sum: more, nans: more_nans }) => {
                if let Some((low, high)) = other {
                    widen_double(range, *low);
                    widen_double(range, *high);
                }
                *sum += more;
                *nans += more_nans;
            }
            (K::Text { range, bytes }, K::Text { range: other, bytes: more }) => {
                *bytes += more;
                *range = match (range.take(), other.clone()) {
                    (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                    (one, other) => one.or(other),
                };
            }
            (K::Decimal { range, .. }, K::Decimal { range: other, .. }) => merge_range(range, other),
            (K::Date { range }, K::Date { range: other }) => merge_range(range, other),
            (K::Binary { bytes }, K::Binary { bytes: more }) => *bytes += more,
            (K::Timestamp { range, .. }, K::Timestamp { range: other, .. }) => merge_range(range, other),
            (K::Collection { range, total }, K::Collection { range: other, total: more }) => {
                merge_range(range, other);
                *total += more;
            }
            _ => {}
        }
    }

    fn put(&self, out: &mut Message) {
        use KindStatistics as K;
        match self {
            K::None => {}
            K::Integer { range, sum } => out.message(2, |m| {
                if let Some((low, high)) = range {
                    m.signed(1, *low);
                    m.signed(2, *high);
                }
                if let Some(sum) = sum {
                    m.signed(3, *sum);
                }
            }),
            // Readers that compare values can't know that NaNs are outside the range.
            K::Double { range: Some((low, high)), sum, nans: 0 } => out.message(3, |m| {
                m.double(1, *low);
                m.double(2, *high);
                m.double(3, *sum);
            }),
            K::Double { .. } => {}
            K::Text { range, bytes } => {
                let ends = range.as_ref().map(|(low, high)| (low.whole(), high.whole()));
                // If one end is missing, Java assumes that there are no values and skips the rows. So nothing is
                // written then.
                if let Some((Some(low), Some(high))) = ends {
                    out.message(4, |m| {
                        m.text(1, low);
                        m.text(2, high);
                        m.signed(3, *bytes as i64);
                    });
                }
            }
            K::Boolean { true_count } => out.message(5, |m| m.packed(1, &[*true_count])),
            K::Decimal { range, scale } => out.message(6, |m| {
                if let Some((low, high)) = range {
                    m.text(1, &decimal::format_decimal(*low, *scale));
                    m.text(2, &decimal::format_decimal(*high, *scale));
                }
            }),
            K::Date { range } => out.message(7, |m| {
                if let Some((low, high)) = range {
                    m.signed(1, i64::from(*low));
                    m.signed(2, i64::from(*high));
                }
            }),
            K::Binary { bytes } => out.message(8, |m| m.signed(1, *bytes as i64)),
            K::Timestamp { range, per_second } => out.message(9, |m| {
                if let Some((low, high)) = range {
                    put_instants(m, millis(*low, *per_second), millis(*high, *per_second));
                }
            }),
            K::Collection { range, total } => out.message(12, |m| {
                if let Some((low, high)) = range {
                    m.number(1, *low);
                    m.number(2, *high);
                }
                m.number(3, *total);
            }),
        }
    }
}

/// Writes the least and the greatest instant, each in the form that [`millis`] returns.
fn put_instants(m: &mut Message, (low, low_nanos): (i64, u64), (high, high_nanos): (i64, u64)) {
    m.signed(3, low);
    m.signed(4, high);
    // An absent number means 0 for the least value, and 999,999 for the greatest.
    m.number(5, low_nanos + 1);
    m.number(6, high_nanos + 1);
}

/// Milliseconds, and nanoseconds of the next one.
fn millis(v: i64, per_second: i64) -> (i64, u64) {
    let per_milli = per_second / 1000;
    (v.div_euclid(per_milli), (v.rem_euclid(per_milli) * (1_000_000_000 / per_second)).unsigned_abs())
}

impl OrcColumnStatistics {
    /// Statistics of no values.
    pub fn new(kind: KindStatistics) -> Self {
        OrcColumnStatistics { values: 0, has_null: false, kind: kind.emptied() }
    }

    /// Adds the statistics of other rows.
    pub fn merge(&mut self, other: &OrcColumnStatistics) {
        self.values += other.values;
        self.has_null |= other.has_null;
        self.kind.merge(&other.kind);
    }

    /// Returns the statistics so far. Statistics of no values remain.
    pub fn take(&mut self) -> OrcColumnStatistics {
        let empty = OrcColumnStatistics::new(self.kind.emptied());
        std::mem::replace(self, empty)
    }

    /// The message of the statistics, with the bytes that the column takes in the file if they are known.
    pub(super) fn message(&self, bytes_on_disk: Option<u64>) -> Vec<u8> {
        let mut out = Message::default();
        out.number(1, self.values);
        self.kind.put(&mut out);
        out.number(10, u64::from(self.has_null));
        if let Some(bytes) = bytes_on_disk {
            out.number(11, bytes);
        }
        out.into_bytes()
    }
}
