//! How long tags are kept: creation times and retention times.
//!
//! Source: Java's `Tag` and `TagTimeExpire`. Java records local times without a zone; here they are in UTC.

use serde_json::{Map, Value as Json, json};

use crate::error::Result;
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::spec::snapshot::{PaimonSnapshot, Tag};
use crate::types::temporal::{civil_of_days, days_of_civil};

const CREATE_TIME: &str = "tagCreateTime";
const TIME_RETAINED: &str = "tagTimeRetained";

const DAY_MS: i64 = 86_400_000;

/// A local time that Java recorded as a list of its parts (year, month, day, hour, minute, second, nanoseconds), in
/// milliseconds.
pub fn local_time(recorded: &Json) -> Option<i64> {
    let parts: Vec<i64> = recorded.as_array()?.iter().map(Json::as_i64).collect::<Option<_>>()?;
    let part = |at: usize| parts.get(at).copied().unwrap_or(0);
    let small = |at: usize| u32::try_from(part(at).max(1)).ok();
    let days = days_of_civil(part(0), small(1)?, small(2)?);
    let of_day = part(3).checked_mul(3600)?.checked_add(part(4).checked_mul(60)?)?.checked_add(part(5))?;
    let seconds = days.checked_mul(86_400)?.checked_add(of_day)?;
    seconds.checked_mul(1000)?.checked_add(part(6) / 1_000_000)
}

/// The parts of a local time.
fn parts_of(time_ms: i64) -> Json {
    let (days, rest) = (time_ms.div_euclid(DAY_MS), time_ms.rem_euclid(DAY_MS));
    let (year, month, day) = civil_of_days(days);
    let (seconds, millis) = (rest / 1000, rest % 1000);
    json!([year, month, day, seconds / 3600, seconds / 60 % 60, seconds % 60, millis * 1_000_000])
}

/// A duration that Java recorded as seconds, in milliseconds.
pub fn duration_ms(recorded: &Json) -> Option<i64> {
    let ms = recorded.as_f64()? * 1000.0;
    ms.is_finite().then_some(ms.round() as i64)
}

/// A recorded duration as Java prints it: `PT24H`, `PT1M30.5S`.
pub fn duration_text(recorded: &Json) -> Option<String> {
    let ms = duration_ms(recorded)?;
    let (seconds, millis) = (ms / 1000, (ms % 1000).abs());
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut out = "PT".to_owned();
    for (n, unit) in [(hours, 'H'), (minutes, 'M')] {
        if n != 0 {
            out.push_str(&format!("{n}{unit}"));
        }
    }
    if millis != 0 {
        let sign = if ms < 0 && rest == 0 { "-" } else { "" };
        out.push_str(format!("{sign}{rest}.{millis:03}").trim_end_matches('0'));
        out.push('S');
    } else if rest != 0 || out.len() == 2 {
        out.push_str(&format!("{rest}S"));
    }
    Some(out)
}

/// The file of a tag that is kept for this many milliseconds from now on; forever if no time is given.
pub fn tag_file(snapshot: &PaimonSnapshot, retained_ms: Option<i64>, now_ms: i64) -> Vec<u8> {
    let mut tagged = trimmed(snapshot);
    if let Some(retained) = retained_ms {
        tagged.raw.insert(CREATE_TIME.to_owned(), parts_of(now_ms));
        tagged.raw.insert(TIME_RETAINED.to_owned(), json!(retained as f64 / 1000.0));
    }
    tagged.encode()
}

/// A snapshot without the fields that only tags have.
pub fn trimmed(snapshot: &PaimonSnapshot) -> PaimonSnapshot {
    let own = |(key, _): &(String, Json)| key != CREATE_TIME && key != TIME_RETAINED;
    let raw: Map<String, Json> = snapshot.raw.clone().into_iter().filter(own).collect();
    PaimonSnapshot { raw, ..snapshot.clone() }
}

/// Whether a tag has expired. Tags without a time are kept.
fn is_overdue(tag: &Tag, now_ms: i64) -> bool {
    let created = tag.create_time.as_ref().and_then(local_time);
    let retained = tag.time_retained.as_ref().and_then(duration_ms);
    created.zip(retained).is_some_and(|(created, retained)| now_ms > created.saturating_add(retained))
}

/// The names of the branch's expired tags; empty if the table's option `tag.time-expire-enabled` is false.
///
/// # Errors
/// Those of the store; `CorruptTable` for a tag that can't be read; `InvalidInput` for an invalid option.
pub fn overdue_tags(folder: &TableFolder, now_ms: i64) -> Result<Vec<String>> {
    if !folder.latest_schema()?.options().boolean("tag.time-expire-enabled", true)? {
        return Ok(Vec::new());
    }
    Ok(folder.tags()?.into_iter().filter(|tag| is_overdue(tag, now_ms)).map(|tag| tag.name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back() {
        for ms in [0, 1_732_262_400_123, -86_400_001, 951_782_399_999] {
            assert_eq!(local_time(&parts_of(ms)), Some(ms));
        }
        assert_eq!(parts_of(1_709_208_000_007), json!([2024, 2, 29, 12, 0, 0, 7_000_000]));
        assert_eq!(local_time(&json!("2024-01-01")), None);
    }

    #[test]
    fn durations_are_told_as_java_tells_them() {
        // `Duration.toString`, by its documentation.
        let cases =
            [(86_400.0, "PT24H"), (90.5, "PT1M30.5S"), (0.0, "PT0S"), (8.0, "PT8S"), (3661.001, "PT1H1M1.001S")];
        for (seconds, text) in cases {
            assert_eq!(duration_text(&json!(seconds)).as_deref(), Some(text));
        }
        assert_eq!(duration_ms(&json!(1.5)), Some(1500));
        assert_eq!(duration_ms(&json!("PT1S")), None);
    }
}
