//! Numbers that SQL takes as a part of a date, and Iceberg as periods from 1970: `year(ts) = 2026`.
//!
//! Filter text can't have such a number. Spark means the calendar by it, and Iceberg the year 3996, so one of the two
//! would get no rows. The period as text has one meaning: `year(ts) = '2026'`.

use crate::error::{Error, Result};
use crate::expr::predicate::{Literal, Predicate, Term};
use crate::types::Transform;

/// Refuses numbers that are also a year, month, day or hour of the calendar.
///
/// # Errors
/// `InvalidInput` with the term and the period that the number would be.
pub(super) fn refuse_calendar_numbers(filter: &Predicate) -> Result<()> {
    match filter {
        Predicate::True | Predicate::False | Predicate::Test(_) => Ok(()),
        Predicate::Not(part) => refuse_calendar_numbers(part),
        Predicate::And(parts) | Predicate::Or(parts) => parts.iter().try_for_each(refuse_calendar_numbers),
        Predicate::Leaf(term, _, literals) => literals.iter().try_for_each(|literal| refuse(term, literal)),
    }
}

fn refuse(term: &Term, literal: &Literal) -> Result<()> {
    let Literal::Number(number) = literal else { return Ok(()) };
    let Some(period) = number.parse().ok().and_then(|n| calendar_text(&term.transform, n)) else { return Ok(()) };
    let unit = &term.transform;
    Err(Error::invalid(format!("{term} counts {unit}s from 1970, so {number} is {period}")).hint(
        "Write the period as text: year(ts) = '2026', month(ts) = '2026-12', day(ts) = '2026-12-31', \
         hour(ts) = '2026-12-31-23'",
    ))
}

/// The text of a period from 1970, if its number is also a year, month, day or hour of the calendar.
pub(super) fn calendar_text(transform: &Transform, number: i64) -> Option<String> {
    match (transform, number) {
        (Transform::Year, 1000..=8029) => Some((1970 + number).to_string()),
        (Transform::Month, 1..=12) => Some(format!("{}-{:02}", 1970 + number / 12, number % 12 + 1)),
        (Transform::Day, 1..=31) => {
            Some(if number == 31 { "1970-02-01".to_owned() } else { format!("1970-01-{:02}", number + 1) })
        }
        (Transform::Hour, 0..=23) => Some(format!("1970-01-01-{number:02}")),
        _ => None,
    }
}
