//! Reads values from text, as Java's Paimon does.
//!
//! Source: Java's `DateTimeUtils` and `BinaryStringUtils`.

use crate::types::temporal::{civil_of_days, days_of_civil};

/// The integer of `bits` bits in a text. A fraction is ignored.
pub(crate) fn parse_whole(text: &str, bits: u32) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = whole.strip_prefix(['+', '-']).unwrap_or(whole);
    let are_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if text.is_empty() || text == "-" || text == "+" || !are_digits(digits) || !are_digits(fraction) {
        return None;
    }
    let value: i64 = if digits.is_empty() { 0 } else { whole.parse().ok()? };
    let shift = 64 - bits.clamp(8, 64);
    ((value << shift) >> shift == value).then_some(value)
}

fn is_numeric(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a text is a number of days or seconds rather than a date: Java takes negative ones too.
fn is_signed(text: &str) -> bool {
    is_numeric(text.strip_prefix('-').unwrap_or(text))
}

fn digits(text: &str) -> Option<i64> {
    let text = text.trim();
    if is_numeric(text) { text.parse().ok() } else { None }
}

/// The days of a date, of the date before a blank, or of a number of days.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    if is_signed(text) {
        return parse_whole(text, 32).and_then(|days| i32::try_from(days).ok());
    }
    let date = match text.find(' ') {
        Some(at) if at > 0 => text.get(..at)?,
        _ => text,
    };
    let mut parts = date.splitn(3, '-');
    let year = digits(parts.next()?)?;
    let month = parts.next().map_or(Some(1), digits)?;
    let day = parts.next().map_or(Some(1), digits)?;
    days(year, month, day)
}

fn days(year: i64, month: i64, day: i64) -> Option<i32> {
    let fits = (0..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let days = fits.then(|| days_of_civil(year, month as u32, day as u32))?;
    (civil_of_days(days) == (year, month as u32, day as u32)).then_some(days as i32)
}

/// The milliseconds of a time of day, from `12` to `12:30:01.5+01:00`, or of a number of them.
pub(crate) fn parse_time(text: &str) -> Option<i32> {
    if is_numeric(text) {
        return parse_whole(text, 32).and_then(|millis| i32::try_from(millis).ok());
    }
    let (time, zone, sign) = match (text.split_once('-'), text.split_once('+')) {
        (Some((time, zone)), _) => (time, zone, -1),
        (None, Some((time, zone))) => (time, zone, 1),
        (None, None) => (text, "0", 1),
    };
    let (zone_hours, zone_minutes) = match zone.split_once(':') {
        Some((hours, minutes)) => (digits(hours)?, digits(minutes)?),
        None => (digits(zone)?, 0),
    };
    let mut parts = time.splitn(3, ':');
    let hours = digits(parts.next()?)?;
    let minutes = parts.next().map_or(Some(0), digits)?;
    let (seconds, millis) = match parts.next() {
        None => (0, 0),
        Some(rest) => match rest.split_once('.') {
            None => (digits(rest)?, 0),
            Some((seconds, fraction)) => (digits(seconds)?, milliseconds(fraction.trim())),
        },
    };
    let of = |h: i64, m: i64| h.checked_mul(60)?.checked_add(m)?.checked_mul(60_000);
    let zone = of(zone_hours, zone_minutes)?.checked_mul(sign)?;
    let clock = of(hours, minutes)?.checked_add(seconds.checked_mul(1000)?)?.checked_add(millis)?;
    i32::try_from(clock.checked_add(zone)?).ok()
}

/// The first three digits of a fraction, rounded by the fourth.
fn milliseconds(fraction: &str) -> i64 {
    let digit =
        |at: usize| fraction.as_bytes().get(at).map_or(0, |b| if b.is_ascii_digit() { i64::from(b - b'0') } else { 0 });
    let up = fraction.as_bytes().get(3).is_some_and(|b| *b >= b'5');
    digit(0) * 100 + digit(1) * 10 + digit(2) + i64::from(up)
}

/// A timestamp in text; a second has `per_second` units. The fraction keeps at most `places` digits. With
/// `takes_numbers`, the text may also be a number in the unit of `places`.
pub(crate) fn parse_timestamp(text: &str, per_second: i64, places: u32, takes_numbers: bool) -> Option<i64> {
    if takes_numbers && is_signed(text) {
        let unit = 10i64.checked_pow(places).filter(|_| matches!(places, 0 | 3 | 6 | 9))?;
        let number = parse_whole(text, 64)?;
        return match per_second >= unit {
            true => number.checked_mul(per_second / unit),
            false => Some(number.div_euclid(unit / per_second)),
        };
    }
    let (date, time) = text.split_once(' ').map_or((text, None), |(date, time)| (date, Some(time)));
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let short = |part: &str| if part.len() <= 2 { digits(part) } else { None };
    let fits = parts.next().is_none() && year.len() == 4 && !date.contains(char::is_whitespace);
    let days = fits.then(|| days(digits(year)?, short(month)?, short(day)?))??;
    let (mut seconds, mut nanos) = (i64::from(days) * 86_400, 0);
    if let Some(time) = time {
        let mut parts = time.split(':');
        let (hour, minute, second) = (short(parts.next()?)?, short(parts.next()?)?, parts.next()?);
        let (second, fraction) = second.split_once('.').unwrap_or((second, ""));
        let second = short(second)?;
        let fits = parts.next().is_none() && hour < 24 && minute < 60 && second < 60 && fraction.len() <= 9;
        if !fits || !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        nanos = format!("{fraction:0<9}").parse().ok()?;
        seconds += hour * 3600 + minute * 60 + second;
    }
    let step = 10i64.pow(9 - places.min(9));
    let fraction = (nanos / step * step) / (1_000_000_000 / per_second);
    seconds.checked_mul(per_second)?.checked_add(fraction)
}
