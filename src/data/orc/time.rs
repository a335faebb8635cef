//! Timestamps in ORC files, and the time zone of their writer: seconds from the beginning of 2015, and nanoseconds.
//!
//! Timestamps without a zone count from the beginning of 2015 in the zone of their writer. The stripe names this zone.
//! A time of 12:00 there is read as 12:00 (ORC specification, "Timestamp Columns"). Java Iceberg writes all files in
//! UTC.

use arrow::array::timezone::Tz;
use arrow::datatypes::TimestampSecondType;
use arrow::temporal_conversions::as_datetime_with_timezone;

use crate::error::{Error, Result};
use crate::types::temporal::{days_of_civil, year_of_days};

/// 2015-01-01T00:00:00Z.
const BASE: i64 = 1_420_070_400;

/// 1900-01-01T00:00:00Z.
const YEAR_1900: i64 = -2_208_988_800;

const DAY: i64 = 86_400;

/// The last year for which tables of zones are used. The rules of that year also hold for later years.
const LAST_YEAR: i64 = 2037;

/// The zone of a writer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Zone {
    Utc,
    /// Another zone, with its offset from UTC before 1900. Java's time zones use today's standard time for those years.
    Other {
        zone: Tz,
        early: i64,
    },
}

impl Zone {
    /// The zone of a stripe; UTC if it names no zone.
    ///
    /// # Errors
    /// `Unsupported` for zones that are not known.
    pub(crate) fn parse(name: Option<&str>) -> Result<Zone> {
        let Some(name) = name.filter(|n| !matches!(*n, "UTC" | "GMT" | "Etc/UTC" | "Etc/GMT" | "UCT" | "Z")) else {
            return Ok(Zone::Utc);
        };
        let zone: Tz = java_offset(name).as_deref().unwrap_or(name).parse().map_err(|e| {
            Error::unsupported(format!("the ORC file has timestamps of the unknown zone '{name}'")).because(e)
        })?;
        // The standard time is the lesser of the two offsets of a year.
        let (winter, summer) = (offset_at(zone, BASE)?, offset_at(zone, BASE + 182 * DAY)?);
        Ok(Zone::Other { zone, early: winter.min(summer) })
    }

    /// Seconds to add to an instant to get the local time in the zone.
    fn offset(self, instant: i64) -> Result<i64> {
        match self {
            Zone::Utc => Ok(0),
            Zone::Other { early, .. } if instant < YEAR_1900 => Ok(early),
            Zone::Other { zone, .. } => offset_at(zone, within_tables(instant)),
        }
    }

    /// The instant when 2015 began in the zone.
    pub(crate) fn base(self) -> Result<i64> {
        let estimate = BASE - self.offset(BASE)?;
        Ok(BASE - self.offset(estimate)?)
    }

    /// The timestamp for a pair of stored numbers. A second has `per_second` units. The writer rounded times before
    /// 1970 towards 1970 if at least `rounded` nanoseconds are left.
    ///
    /// # Errors
    /// `CorruptTable` if it does not fit 64 bits, or if the nanoseconds are not part of a second.
    pub(crate) fn timestamp(
        self,
        base: i64,
        (seconds, nanos): (i64, i64),
        rounded: i64,
        per_second: i64,
    ) -> Result<i64> {
        let nanos = nanoseconds(nanos)?;
        let wrong = || Error::corrupt("a timestamp in the ORC file is outside the range of its type");
        let mut seconds = seconds.checked_add(base).ok_or_else(wrong)?;
        if seconds < 0 && nanos >= rounded {
            seconds = seconds.checked_sub(1).ok_or_else(wrong)?;
        }
        let local = seconds.checked_add(self.offset(seconds)?).ok_or_else(wrong)?;
        let whole = i128::from(local) * i128::from(per_second);
        i64::try_from(whole + i128::from(nanos.div_euclid(1_000_000_000 / per_second))).map_err(|_| wrong())
    }
}

/// The stored form of a timestamp in UTC: seconds, and nanoseconds without their zeros. A second has `per_second` units
/// of the timestamp. `None` for times in the last second before 1970, except its first millisecond. Writers round
/// seconds towards the epoch, so readers would see such a time one second later.
pub(crate) fn stored_timestamp(v: i64, per_second: i64) -> Option<(i64, i64)> {
    let (second, rest) = (v.div_euclid(per_second), v.rem_euclid(per_second));
    let nanos = rest * (1_000_000_000 / per_second);
    let second = match (second, nanos > 999_999) {
        (-1, true) => return None,
        (second, true) if second < 0 => second + 1,
        (second, _) => second,
    };
    let zeros = (1..9).take_while(|zeros| nanos % 10i64.pow(*zeros) == 0).last().unwrap_or(0);
    let stored = match zeros {
        _ if nanos == 0 => 0,
        0 | 1 => nanos << 3,
        zeros => ((nanos / 10i64.pow(zeros)) << 3) | i64::from(zeros - 1),
    };
    Some((second - BASE, stored))
}

/// The same second of an earlier year that begins on the same day of the week and has the same length.
fn within_tables(instant: i64) -> i64 {
    let year = 1970 + year_of_days(instant.div_euclid(DAY));
    if year <= LAST_YEAR {
        return instant;
    }
    let shape = |year| {
        let first = days_of_civil(year, 1, 1);
        (first.rem_euclid(7), days_of_civil(year + 1, 1, 1) - first)
    };
    // Any 28 years without a century year contain all fourteen forms of a year.
    let like = (LAST_YEAR - 27..=LAST_YEAR).find(|like| shape(*like) == shape(year)).unwrap_or(LAST_YEAR);
    instant - (days_of_civil(year, 1, 1) - days_of_civil(like, 1, 1)) * DAY
}

fn offset_at(zone: Tz, instant: i64) -> Result<i64> {
    let there = as_datetime_with_timezone::<TimestampSecondType>(instant, zone);
    let there = there.ok_or_else(|| Error::corrupt("a timestamp in the ORC file is of an impossible year"))?;
    Ok(there.naive_local().and_utc().timestamp() - instant)
}

/// Java's names of zones by their offset (`GMT+8`, `GMT-03:30`) as an offset.
fn java_offset(name: &str) -> Option<String> {
    let rest = name.strip_prefix("GMT").or_else(|| name.strip_prefix("UTC"))?;
    let (sign, digits) = rest.split_at_checked(1).filter(|(sign, _)| matches!(*sign, "+" | "-"))?;
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "00"));
    let hours = hours.parse::<u8>().ok()?;
    Some(format!("{sign}{hours:02}:{minutes}"))
}

/// The lowest three bits are the number of removed zeros, minus one. Arrow stores times before 1970 with negative
/// nanoseconds, which count back from the second.
fn nanoseconds(stored: i64) -> Result<i64> {
    let zeros = match stored & 7 {
        0 => 0,
        n => n as u32 + 1,
    };
    (stored >> 3)
        .checked_mul(10i64.pow(zeros))
        .filter(|n| n.unsigned_abs() < 1_000_000_000)
        .ok_or_else(|| Error::corrupt("a timestamp in the ORC file has more nanoseconds than a second"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::orc::{OrcFooter, ROUNDED_BY_JAVA};

    fn micros(zone: &str, seconds: i64, nanos: i64) -> i64 {
        let zone = Zone::parse(Some(zone)).unwrap();
        zone.timestamp(zone.base().unwrap(), (seconds, nanos), ROUNDED_BY_JAVA, 1_000_000).unwrap()
    }

    #[test]
    fn nanoseconds_without_their_zeros() {
        // The examples of the specification: 1000 and 100,000 nanoseconds.
        assert_eq!((nanoseconds(0x0a).unwrap(), nanoseconds(0x0c).unwrap()), (1000, 100_000));
        assert_eq!(nanoseconds(999_999_999 << 3).unwrap(), 999_999_999);
        assert!(nanoseconds(1_000_000_000 << 3).is_err() && nanoseconds(i64::MAX).is_err());
        assert_eq!((nanoseconds(-1 << 3).unwrap(), nanoseconds(-5 << 3 | 7).unwrap()), (-1, -500_000_000));
        assert!(nanoseconds(-1_000_000_000 << 3).is_err() && nanoseconds(i64::MIN).is_err());
    }

    /// pyarrow stores -1.5 seconds as -1 second and -500,000,000 nanoseconds.
    #[test]
    fn negative_nanoseconds_count_back() {
        let read = |stored, per_second| Zone::Utc.timestamp(BASE, stored, ROUNDED_BY_JAVA, per_second).unwrap();
        assert_eq!(read((-1 - BASE, -5 << 3 | 7), 1_000_000), -1_500_000);
        assert_eq!(read((-BASE, -1 << 3), 1_000_000_000), -1);
        assert_eq!(read((-BASE, -1 << 3), 1_000_000), -1);
    }

    /// A time of 1969, half a millisecond after a second. Trino stores the next second, Java the same one.
    #[test]
    fn writers_round_times_before_1970_in_their_own_way() {
        let (seconds, nanos) = (-10_i64, 500_000_i64);
        let stored = |second: i64| (second - BASE, 5 << 3 | 4);
        let read = |stored, rounded| Zone::Utc.timestamp(BASE, stored, rounded, 1_000_000).unwrap();
        let expected = seconds * 1_000_000 + nanos / 1000;
        assert_eq!(read(stored(seconds), ROUNDED_BY_JAVA), expected);
        assert_eq!(read(stored(seconds + 1), 1), expected);
        let footer = |writer, software_version: &str| OrcFooter {
            stripes: Vec::new(),
            types: Vec::new(),
            rows: 0,
            text_bytes: Vec::new(),
            values: Vec::new(),
            writer,
            software_version: software_version.to_owned(),
        };
        let rounded = |writer, version| footer(writer, version).least_rounded_nanos();
        // Java, Presto, Trino; C++ before and after ORC-763.
        assert_eq!([rounded(0, ""), rounded(2, ""), rounded(4, "430")], [ROUNDED_BY_JAVA, 1, 1]);
        assert_eq!([rounded(1, ""), rounded(1, "1.6.6"), rounded(1, "1.6.8")], [1, 1, ROUNDED_BY_JAVA]);
        assert_eq!([rounded(1, "1.7.0-SNAPSHOT"), rounded(1, "2.0.1")], [ROUNDED_BY_JAVA; 2]);
    }

    #[test]
    fn what_is_stored_is_read_as_it_was() {
        let utc = Zone::Utc;
        assert_eq!(
            (stored_timestamp(1, 1_000_000).unwrap().1, stored_timestamp(100, 1_000_000).unwrap().1),
            (0x0a, 0x0c)
        );
        for per_second in [1_000_000, 1_000_000_000] {
            let parts = [0, 1, 10, 999, 1000, 5000, 123_456, 500_000, 999_999, 999_999_999, 1_000_000, 120_000_000];
            for second in [-9_000_000_000, -1000, -3, -2, -1, 0, 1, 2, 1_700_000_000, 9_000_000_000] {
                for part in parts.iter().filter(|part| **part < per_second) {
                    let v = second * per_second + part;
                    let lost = second == -1 && part * (1_000_000_000 / per_second) > 999_999;
                    assert_eq!(stored_timestamp(v, per_second).is_none(), lost);
                    if let Some((seconds, nanos)) = stored_timestamp(v, per_second) {
                        assert_eq!(
                            utc.timestamp(BASE, (seconds, nanos), ROUNDED_BY_JAVA, per_second).unwrap(),
                            v,
                            "{second} {part}"
                        );
                    }
                }
            }
        }
        for v in [i64::MIN, i64::MAX] {
            let (seconds, nanos) = stored_timestamp(v, 1_000_000).unwrap();
            assert_eq!(utc.timestamp(BASE, (seconds, nanos), ROUNDED_BY_JAVA, 1_000_000).unwrap(), v);
        }
    }

    #[test]
    fn times_of_day_stay_what_they_were() {
        let noon = |days: i64| (days * 86_400 + 43_200) * 1_000_000;
        assert_eq!(micros("UTC", 43_200, 0), noon(16_436));
        // Half a year later the clocks of Los Angeles are an hour ahead.
        assert_eq!(micros("America/Los_Angeles", 43_200, 0), noon(16_436));
        assert_eq!(micros("America/Los_Angeles", 182 * 86_400 + 43_200 - 3600, 0), noon(16_436 + 182));
        assert_eq!(micros("GMT+8", 43_200, 0), noon(16_436));
        assert_eq!(micros("GMT-03:30", 43_200, 0), noon(16_436));
        // 1890 has standard time, but the tables of zones have local solar time.
        assert_eq!(micros("America/New_York", (-29_219 - 16_436) * 86_400 + 43_200, 0), noon(-29_219));
        // The summer of 2150 has the same offset as the summers of today.
        let summer = days_of_civil(2150, 7, 1);
        assert_eq!(micros("Europe/Oslo", (summer - 16_436) * DAY + 43_200 - 3600, 0), noon(summer));
        assert!(Zone::parse(Some("Mars/Olympus")).is_err());
    }

    #[test]
    fn before_the_epoch_seconds_were_rounded_up() {
        let second = -BASE - 5;
        assert_eq!(micros("UTC", second, 0), -5_000_000);
        assert_eq!(micros("UTC", second, 500 << 3), -5_000_000);
        assert_eq!(micros("UTC", second, 5 << 3 | 7), -5_500_000);
        let utc = Zone::Utc;
        assert!(utc.timestamp(BASE, (i64::MAX, 0), ROUNDED_BY_JAVA, 1).is_err());
        assert!(utc.timestamp(BASE, (i64::MAX / 1_000_000, 0), ROUNDED_BY_JAVA, 1_000_000_000).is_err());
    }
}
