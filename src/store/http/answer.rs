//! An answer, with its status, headers and body.

use std::time::Duration;

use crate::types::temporal::{days_of_civil, now, parse_time};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// An answer that arrived as a whole.
#[derive(Clone, Debug)]
pub(crate) struct HttpAnswer {
    /// The status.
    pub(crate) status: u16,
    /// The headers, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Vec<u8>,
    /// Whether the request was sent before, and may have been carried out then.
    pub(crate) is_repetition: bool,
    /// The proxy that the answer came through, if it may be the proxy's own: a gateway's error.
    pub(crate) proxy: Option<String>,
}

impl HttpAnswer {
    /// A header's value. `name` is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether the status says that the request succeeded.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// How long to wait before another request, if the server says so: a number of seconds or a date.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let text = self.header("retry-after")?.trim();
        if let Ok(seconds) = text.parse::<u64>() {
            return Some(Duration::from_secs(seconds));
        }
        Some(Duration::from_secs(seconds_of_date(text)?).saturating_sub(now()))
    }
}

/// Seconds since the epoch of a date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
fn seconds_of_date(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = parts[..] else { return None };
    let month = MONTHS.iter().position(|known| *known == month)? as u32 + 1;
    let (day, year) = (day.parse().ok().filter(|day| (1..=31).contains(day))?, year.parse::<u16>().ok()?);
    let seconds = days_of_civil(year.into(), month, day) * 86_400 + parse_time(time, 1)?;
    u64::try_from(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_when_to_come_back() {
        let answer = |value: &str| {
            let headers = vec![("retry-after".to_owned(), value.to_owned())];
            HttpAnswer { status: 429, headers, body: Vec::new(), is_repetition: false, proxy: None }.retry_after()
        };
        assert_eq!(answer("7"), Some(Duration::from_secs(7)));
        assert_eq!(answer("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        assert!(answer("Sun, 06 Nov 2190 08:49:37 GMT").is_some_and(|wait| wait.as_secs() > 1_000_000));
        assert_eq!((answer("soon"), answer("-1"), answer("Sun, 99 Nov 1994 08:49:37 GMT")), (None, None, None));
        assert_eq!(seconds_of_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
    }
}
