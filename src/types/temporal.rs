//! Dates, times and timestamps as integers from the epoch, and their ISO text. Proleptic Gregorian, any year.
//!
//! Here is also the only clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 86_400_000_000;
/// Microseconds of an hour.
pub const MICROS_PER_HOUR: i64 = 3_600_000_000;

/// The time since the epoch by this machine's clock. Zero if the clock stands before it.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The time in milliseconds since the epoch.
pub(crate) fn now_ms() -> i64 {
    i64::try_from(now().as_millis()).unwrap_or(i64::MAX)
}

/// Year, month (1..=12) and day (1..=31) of a day counted from 1970-01-01.
///
/// Algorithm: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
pub fn civil_of_days(days: i64) -> (i64, u32, u32) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u32;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 } as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days from 1970-01-01 of a civil date; the inverse of [`civil_of_days`].
pub fn days_of_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted_month = (month as i64 + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day as i64 - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Years from 1970 of a day.
pub fn year_of_days(days: i64) -> i64 {
    civil_of_days(days).0 - 1970
}

/// Months from 1970-01 of a day.
pub fn month_of_days(days: i64) -> i64 {
    let (year, month, _) = civil_of_days(days);
    (year - 1970) * 12 + month as i64 - 1
}

/// The first day of a month counted from 1970-01.
pub fn first_day_of_month(months: i64) -> i64 {
    days_of_civil(1970 + months.div_euclid(12), months.rem_euclid(12) as u32 + 1, 1)
}

/// `2017-11-16`. Years above 9999 get a sign, as in ISO 8601 and Java.
pub fn format_date(days: i64) -> String {
    let (y, m, d) = civil_of_days(days);
    match y {
        0..=9999 => format!("{y:04}-{m:02}-{d:02}"),
        _ if y < 0 => format!("-{:04}-{m:02}-{d:02}", -y),
        _ => format!("+{y}-{m:02}-{d:02}"),
    }
}

/// `22:31:08` or `22:31:08.123456` (fraction only where it is not zero).
pub fn format_time(units: i64, units_per_second: i64) -> String {
    let (seconds, fraction) = (units.div_euclid(units_per_second), units.rem_euclid(units_per_second));
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut out = format!("{h:02}:{m:02}:{s:02}");
    if fraction != 0 {
        let width = if units_per_second == 1_000_000_000 { 9 } else { 6 };
        out.push_str(&format!(".{fraction:0width$}"));
    }
    out
}

/// `2017-11-16T22:31:08[.fraction]` of microseconds (1,000,000 units a second) or nanoseconds.
pub fn format_timestamp(units: i64, units_per_second: i64) -> String {
    let per_day = 86_400 * units_per_second;
    let (days, rest) = (units.div_euclid(per_day), units.rem_euclid(per_day));
    format!("{}T{}", format_date(days), format_time(rest, units_per_second))
}

/// `2017-11-16T22:31:08[.fraction]Z` of milliseconds since the epoch.
pub fn format_instant(millis: i64) -> String {
    // The value is formatted in seconds, because microseconds could overflow.
    let (seconds, rest) = (millis.div_euclid(1000), millis.rem_euclid(1000));
    let fraction = if rest == 0 { String::new() } else { format!(".{rest:03}") };
    format!("{}{fraction}Z", format_timestamp(seconds, 1))
}

/// Days of `2017-11-16` (also `+12345-01-01` and `-0001-01-01`); `None` if it is not a date.
pub fn parse_date(text: &str) -> Option<i64> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let mut parts = rest.split('-');
    let (y, m, d) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || y.len() < 4 || y.len() > 9 || m.len() != 2 || d.len() != 2 {
        return None;
    }
    let (y, m, d) = (sign * digits(y)?, digits(m)? as u32, digits(d)? as u32);
    let days = days_of_civil(y, m, d);
    ((1..=12).contains(&m) && civil_of_days(days) == (y, m, d)).then_some(days)
}

/// Units from midnight of `22:31`, `22:31:08` or `22:31:08.123456789`; digits beyond the unit must be zero.
pub fn parse_time(text: &str, units_per_second: i64) -> Option<i64> {
    let mut parts = text.split(':');
    let (h, m, s) = (parts.next()?, parts.next()?, parts.next().unwrap_or("00"));
    let (s, fraction) = s.split_once('.').unwrap_or((s, ""));
    if parts.next().is_some() || h.len() != 2 || m.len() != 2 || s.len() != 2 || fraction.len() > 18 {
        return None;
    }
    let (h, m, s) = (digits(h)?, digits(m)?, digits(s)?);
    if h > 23 || m > 59 || s > 59 {
        return None;
    }
    let fraction = if fraction.is_empty() {
        0
    } else {
        let scaled = digits(fraction)? as i128 * units_per_second as i128;
        let whole = 10i128.pow(fraction.len() as u32);
        if scaled % whole != 0 {
            return None;
        }
        (scaled / whole) as i64
    };
    Some((h * 3600 + m * 60 + s) * units_per_second + fraction)
}

/// Units from the epoch of `2017-11-16T22:31:08.123+01:00` and whether it had a zone.
///
/// The date and time may be separated by `T` or a space, and the time may be absent. The zone may be `Z`, `±hh:mm`,
/// `±hhmm`, `±hh` or ` UTC`.
pub fn parse_timestamp(text: &str, units_per_second: i64) -> Option<(i64, bool)> {
    let text = text.trim();
    let at = text.get(1..)?.find(['T', 't', ' ']).map(|i| i + 1);
    let (date, rest) = at.map_or((text, ""), |i| (&text[..i], &text[i + 1..]));
    let days = parse_date(date)?;
    let (time, offset) = split_zone(rest)?;
    let time =
        if time.is_empty() && offset.is_none() && at.is_none() { 0 } else { parse_time(time, units_per_second)? };
    let seconds = i128::from(days) * 86_400 - i128::from(offset.unwrap_or(0));
    let units = seconds * i128::from(units_per_second) + i128::from(time);
    Some((i64::try_from(units).ok()?, offset.is_some()))
}

fn split_zone(text: &str) -> Option<(&str, Option<i64>)> {
    if let Some(t) = text.strip_suffix(" UTC").or_else(|| text.strip_suffix(['Z', 'z'])) {
        return Some((t, Some(0)));
    }
    let Some(i) = text.rfind(['+', '-']) else { return Some((text, None)) };
    let (time, zone) = (&text[..i], &text[i + 1..]);
    let (h, m) = match zone.len() {
        2 => (zone, "00"),
        4 if zone.is_ascii() => zone.split_at(2),
        5 => zone.split_once(':')?,
        _ => return None,
    };
    let (h, m) = (digits(h)?, digits(m)?);
    if h > 18 || m > 59 {
        return None;
    }
    let seconds = h * 3600 + m * 60;
    Some((time.trim_end(), Some(if text.as_bytes()[i] == b'-' { -seconds } else { seconds })))
}

fn digits(text: &str) -> Option<i64> {
    (!text.is_empty() && text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_dates_agree_with_chrono() {
        use chrono::{Datelike, NaiveDate};
        let epoch = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();
        for days in (-1_000_000..1_000_000).step_by(37) {
            let d = epoch + chrono::Duration::days(days);
            assert_eq!(civil_of_days(days), (d.year() as i64, d.month(), d.day()));
            assert_eq!(days_of_civil(d.year() as i64, d.month(), d.day()), days);
        }
    }

    #[test]
    fn text_and_back() {
        for t in ["2017-11-16T22:31:08", "1969-12-31T23:59:59.999999", "0001-01-01T00:00:00", "+12345-06-07T01:02:03"] {
            let (v, zoned) = parse_timestamp(t, 1_000_000).unwrap();
            assert!(!zoned);
            assert_eq!(format_timestamp(v, 1_000_000), t);
        }
        let utc = parse_timestamp("2017-11-16 22:31:08Z", 1_000_000).unwrap();
        assert_eq!(parse_timestamp("2017-11-16T14:31:08-08:00", 1_000_000).unwrap(), utc);
        assert_eq!(parse_timestamp("2017-11-16", 1_000_000).map(|x| x.1), Some(false));
        for bad in
            ["2017-02-30", "2017-13-01", "x", "", "é", "2017-01-01T", "2017-01-01T25:00", "2017-01-01T00:00+ab:cd"]
        {
            assert_eq!(parse_timestamp(bad, 1_000_000), None, "{bad}");
        }
        assert_eq!(parse_time("22:31:08.123456", 1_000_000), Some(81_068_123_456));
    }
}
