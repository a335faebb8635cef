//! How long snapshots and changelogs are kept, by the table's options or by the caller's.
//!
//! Source: Java's `CoreOptions.expireConfig`, `ExpireConfig`, `ExpireSnapshotsImpl.expire` and
//! `ExpireChangelogImpl.expire`.

use crate::error::{Error, Result};
use crate::format::deletion::OutsideLocations;
use crate::types::options::Options;

/// An hour, in milliseconds: the default of `snapshot.time-retained`.
const HOUR_MS: i64 = 3_600_000;

/// The snapshots to remove. Unset values are taken from the table's options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpiryRequest {
    /// The least number of latest snapshots to keep (`snapshot.num-retained.min`, 10).
    pub retain_min: Option<i64>,
    /// The greatest number of snapshots to keep (`snapshot.num-retained.max`, all).
    pub retain_max: Option<i64>,
    /// Only snapshots made before this time are removed, milliseconds since the epoch (now less
    /// `snapshot.time-retained`, an hour).
    pub older_than_ms: Option<i64>,
    /// The most snapshots to remove at once (`snapshot.expire.limit`, 50).
    pub limit: Option<i64>,
    /// Whether changelogs stay no longer than snapshots, whatever the table's options say.
    pub changelogs_as_snapshots: bool,
    /// Folders outside of the table's own in which files are removed too.
    pub outside: OutsideLocations,
}

/// How many stay, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RetentionLimits {
    least: i64,
    most: i64,
    at_once: i64,
    older_than_ms: i64,
}

/// How long snapshots and changelogs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RetentionRules {
    pub(crate) snapshots: RetentionLimits,
    pub(crate) changelogs: RetentionLimits,
    /// Whether changelogs outlast their snapshots.
    pub(crate) decoupled: bool,
    /// Whether snapshots that consumers still have to read stay; else only their changelogs do.
    pub(crate) consumers_hold_snapshots: bool,
}

impl RetentionRules {
    /// The options, and the arguments that override them.
    ///
    /// # Errors
    /// `InvalidInput` for values that contradict each other or are not numbers.
    pub(crate) fn of(options: Options<'_>, expiry: &ExpiryRequest, now_ms: i64) -> Result<RetentionRules> {
        let or =
            |given: Option<i64>, key, default| Ok::<i64, Error>(given.or(options.integer(key)?).unwrap_or(default));
        let retained = options.duration_ms("snapshot.time-retained")?.unwrap_or(HOUR_MS);
        let snapshots = RetentionLimits {
            least: or(expiry.retain_min, "snapshot.num-retained.min", 10)?,
            most: or(expiry.retain_max, "snapshot.num-retained.max", i64::MAX)?.max(1),
            at_once: or(expiry.limit, "snapshot.expire.limit", 50)?.max(0),
            older_than_ms: expiry.older_than_ms.unwrap_or_else(|| now_ms.saturating_sub(retained)),
        };
        snapshots.check("snapshots")?;
        if expiry.changelogs_as_snapshots {
            return Ok(RetentionRules {
                snapshots,
                changelogs: snapshots,
                decoupled: false,
                consumers_hold_snapshots: true,
            });
        }
        let most = or(None, "changelog.num-retained.max", snapshots.most)?;
        let changelogs = RetentionLimits {
            least: or(None, "changelog.num-retained.min", snapshots.least.min(most))?,
            most,
            at_once: snapshots.at_once,
            older_than_ms: options
                .duration_ms("changelog.time-retained")?
                .map_or(snapshots.older_than_ms, |retained| now_ms.saturating_sub(retained)),
        };
        changelogs.check("changelogs")?;
        let decoupled = changelogs.most > snapshots.most
            || changelogs.least > snapshots.least
            || changelogs.older_than_ms < snapshots.older_than_ms;
        let only = decoupled && options.boolean("consumer.changelog-only", false)?;
        Ok(RetentionRules { snapshots, changelogs, decoupled, consumers_hold_snapshots: !only })
    }
}

impl RetentionLimits {
    fn check(&self, what: &str) -> Result<()> {
        let RetentionLimits { least, most, .. } = self;
        let wrong = match (*least < 1, most < least) {
            (true, _) => format!("at least 1 of the {what} must stay: {least} is too few"),
            (false, true) => format!("at least {least} and at most {most} {what} can't be kept"),
            (false, false) => return Ok(()),
        };
        let options = "'snapshot.num-retained.min' and '.max', 'changelog.num-retained.min' and '.max'";
        Err(Error::invalid(wrong).hint(format!("Change retain_last= or the table's options {options}")))
    }

    /// The first of the ascending `ids` that stays; `None` if all are removed. Ids are counted back from the `latest`
    /// snapshot. Ids from `cap` on always stay, and so do those without a time in `time_of`.
    pub(crate) fn first_kept(
        &self,
        ids: &[i64],
        latest: i64,
        cap: i64,
        time_of: &dyn Fn(i64) -> Result<Option<i64>>,
    ) -> Result<Option<i64>> {
        let Some(earliest) = ids.first().copied() else { return Ok(None) };
        let end = latest.saturating_sub(self.least).saturating_add(1);
        let end = end.min(earliest.saturating_add(self.at_once)).min(cap);
        let start = latest.saturating_sub(self.most).saturating_add(1).max(earliest);
        for id in ids.iter().copied().filter(|id| (start..end).contains(id)) {
            if time_of(id)?.is_some_and(|time| time >= self.older_than_ms) {
                return Ok(Some(id));
            }
        }
        // The first existing one: there may be gaps.
        Ok(ids.iter().copied().find(|id| *id >= end))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn of(options: &[(&str, &str)], expiry: &ExpiryRequest) -> Result<RetentionRules> {
        let options: BTreeMap<String, String> = options.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        RetentionRules::of(Options(&options), expiry, 100_000_000)
    }

    #[test]
    fn changelogs_are_kept_as_snapshots_are_if_nothing_is_said() {
        let plain = of(&[], &ExpiryRequest::default()).unwrap();
        assert_eq!((plain.snapshots, plain.decoupled), (plain.changelogs, false));
        assert_eq!((plain.snapshots.least, plain.snapshots.older_than_ms), (10, 100_000_000 - HOUR_MS));
        // Arguments apply to both.
        let asked = ExpiryRequest { retain_min: Some(2), older_than_ms: Some(5), ..ExpiryRequest::default() };
        assert!(!of(&[], &asked).unwrap().decoupled);
        let longer = of(&[("changelog.num-retained.min", "10")], &asked).unwrap();
        assert_eq!((longer.decoupled, longer.changelogs.least, longer.changelogs.older_than_ms), (true, 10, 5));
        for (key, value, decoupled) in [
            ("changelog.time-retained", "2 h", true),
            ("changelog.time-retained", "59 min", false),
            ("changelog.num-retained.min", "11", true),
            ("changelog.num-retained.max", "20", false),
        ] {
            assert_eq!(of(&[(key, value)], &ExpiryRequest::default()).unwrap().decoupled, decoupled, "{key} {value}");
        }
        let most = [("snapshot.num-retained.max", "15"), ("changelog.num-retained.max", "16")];
        let most = of(&most, &ExpiryRequest::default()).unwrap();
        assert_eq!((most.decoupled, most.consumers_hold_snapshots), (true, true));
    }

    #[test]
    fn consumers_hold_changelogs_alone_only_where_these_last() {
        let only = ("consumer.changelog-only", "true");
        assert!(of(&[only], &ExpiryRequest::default()).unwrap().consumers_hold_snapshots);
        let both = [only, ("changelog.time-retained", "1 d")];
        assert!(!of(&both, &ExpiryRequest::default()).unwrap().consumers_hold_snapshots);
    }

    #[test]
    fn numbers_that_contradict_each_other_are_refused() {
        for (least, most) in [("0", "3"), ("4", "3")] {
            for what in ["snapshot", "changelog"] {
                let keys = [format!("{what}.num-retained.min"), format!("{what}.num-retained.max")];
                assert!(
                    of(&[(&keys[0], least), (&keys[1], most)], &ExpiryRequest::default()).is_err(),
                    "{what} {least}"
                );
            }
        }
    }

    #[test]
    fn times_numbers_and_caps_hold() {
        let limits = RetentionLimits { least: 2, most: 5, at_once: 100, older_than_ms: 50 };
        let ids: Vec<i64> = (1..=10).collect();
        let first =
            |limits: RetentionLimits, cap, time: i64| limits.first_kept(&ids, 10, cap, &|_| Ok(Some(time))).unwrap();
        assert_eq!(first(limits, i64::MAX, 10), Some(9));
        assert_eq!(first(limits, i64::MAX, 50), Some(6));
        assert_eq!(first(limits, 3, 10), Some(3));
        assert_eq!(first(RetentionLimits { at_once: 1, ..limits }, i64::MAX, 10), Some(2));
        assert_eq!(
            RetentionLimits { least: 20, most: 30, ..limits }.first_kept(&ids, 10, 9, &|_| Ok(None)).unwrap(),
            Some(1)
        );
        assert_eq!(limits.first_kept(&[], 10, 9, &|_| Ok(None)).unwrap(), None);
        assert_eq!(limits.first_kept(&[1, 2, 7], 10, 5, &|_| Ok(None)).unwrap(), Some(7));
    }
}
