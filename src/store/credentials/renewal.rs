//! Keeps credentials and renews them in time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

use super::super::options::StoreOptions;
use super::super::place::Service;
use super::names::{EXECUTORS_MAY_RENEW, is_expiry};
use super::temporary::{CredentialSource, TemporaryCredentials};
use crate::error::{Error, Result, is_secret_option};
use crate::parallel::{locked, locked_unless_cancelled};
use crate::types::temporal::now_ms;

/// Credentials are renewed this long before they expire.
const EARLY_MS: i64 = 5 * 60 * 1000;

/// Or by this part of their life, if that is shorter.
const EARLY_PART: i64 = 10;

/// Credentials for other processes have at least this part of their life left. One renewal before the tasks are sent
/// saves one in each process, and some may not renew them.
const PART_FOR_OTHERS: i64 = 2;

/// The longest pause after a failed renewal, while the old credentials are still valid.
const PAUSE_MS: i64 = 10_000;

/// New credentials are used at least for this time, whatever clock the server has.
const LEAST_MS: i64 = 100;

/// Credentials that are renewed in time. All stores of a process share one for each source.
pub(crate) struct Renewal {
    source: Option<Arc<dyn CredentialSource>>,
    held: Mutex<Option<Held>>,
    /// Locked while the source is asked.
    asking: Mutex<()>,
    count: AtomicU64,
}

/// Credentials, and when they are next renewed.
struct Held {
    granted: Arc<TemporaryCredentials>,
    renew_at_ms: i64,
    /// When others no longer get them.
    old_for_others_at_ms: i64,
    expires_at_ms: i64,
}

/// Who gets credentials.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Receiver {
    /// A request of this process.
    ThisProcess,
    /// A process that gets them together with its work.
    Other,
}

impl Held {
    fn new(granted: TemporaryCredentials) -> Held {
        let (now, expires) = (now_ms(), granted.expires_at_ms());
        let life = expires.map(|expires| expires.saturating_sub(now).max(0));
        let before_end =
            |early: Option<i64>| expires.zip(early).map_or(i64::MAX, |(end, early)| end.saturating_sub(early));
        Held {
            granted: Arc::new(granted),
            renew_at_ms: before_end(life.map(|life| EARLY_MS.min(life / EARLY_PART))),
            old_for_others_at_ms: before_end(life.map(|life| life / PART_FOR_OTHERS)),
            expires_at_ms: expires.unwrap_or(i64::MAX),
        }
    }

    /// Whether they need no renewal yet.
    fn is_ready_for(&self, receiver: Receiver) -> bool {
        let now = now_ms();
        now < self.renew_at_ms && (receiver == Receiver::ThisProcess || now < self.old_for_others_at_ms)
    }

    /// Renewed early enough for the source, too. May wait for the source's token, so nothing must be locked.
    fn in_time_for(self, source: Option<&Arc<dyn CredentialSource>>) -> Held {
        match wait_of(source) {
            Some(wait) => Held { renew_at_ms: self.renew_at_ms.min(now_ms().saturating_add(wait)), ..self },
            None => self,
        }
    }

    /// Credentials that the source gave just now. A source whose token is still old did not get another one. It is not
    /// asked again until the credentials need it.
    fn renewed(granted: TemporaryCredentials, source: &Arc<dyn CredentialSource>) -> Held {
        let (held, wait) = (Held::new(granted), wait_of(Some(source)).filter(|wait| *wait > 0));
        let asked_at = wait.map_or(i64::MAX, |wait| now_ms().saturating_add(wait));
        let least = now_ms() + LEAST_MS;
        Held {
            renew_at_ms: held.renew_at_ms.min(asked_at).max(least),
            old_for_others_at_ms: held.old_for_others_at_ms.max(least),
            ..held
        }
    }
}

/// In how many milliseconds a source must be asked again.
fn wait_of(source: Option<&Arc<dyn CredentialSource>>) -> Option<i64> {
    let wait = source?.must_be_asked_in()?;
    Some(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}

impl std::fmt::Debug for Renewal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renewal").field("source", &self.source).finish_non_exhaustive()
    }
}

impl Renewal {
    /// Credentials that a source renews. Without a source they are used until they expire.
    pub(crate) fn new(first: Option<TemporaryCredentials>, source: Option<Arc<dyn CredentialSource>>) -> Renewal {
        let held = first.map(|granted| Held::new(granted).in_time_for(source.as_ref()));
        Renewal { source, held: Mutex::new(held), asking: Mutex::new(()), count: AtomicU64::new(0) }
    }

    /// Takes over credentials that somebody else renewed, if they are valid for longer.
    pub(super) fn offer(&self, others: TemporaryCredentials) {
        let offered = Held::new(others).in_time_for(self.source.as_ref());
        let mut held = locked(&self.held);
        if held.as_ref().is_none_or(|held| held.expires_at_ms < offered.expires_at_ms) {
            *held = Some(offered);
        }
    }

    /// How often the source was asked.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The credentials, if they need no renewal yet.
    pub(crate) fn ready(&self) -> Option<Arc<TemporaryCredentials>> {
        self.ready_for(Receiver::ThisProcess)
    }

    fn ready_for(&self, receiver: Receiver) -> Option<Arc<TemporaryCredentials>> {
        let held = locked(&self.held);
        held.as_ref().filter(|held| held.is_ready_for(receiver)).map(|held| held.granted.clone())
    }

    /// The credentials. Renews them first if it is time. One thread asks the source. While the old credentials are
    /// valid, the others use those.
    ///
    /// # Errors
    /// `PermissionDenied` if the credentials have expired and can't be renewed. The error of a cancellation, which ends
    /// the wait for another thread.
    pub(crate) fn current(&self) -> Result<Arc<TemporaryCredentials>> {
        self.current_for(Receiver::ThisProcess)
    }

    /// The credentials for another process. Renews them first if too little of their life is left.
    ///
    /// # Errors
    /// As [`Renewal::current`].
    pub(super) fn current_for_others(&self) -> Result<Arc<TemporaryCredentials>> {
        self.current_for(Receiver::Other)
    }

    fn current_for(&self, receiver: Receiver) -> Result<Arc<TemporaryCredentials>> {
        if let Some(ready) = self.ready_for(receiver) {
            return Ok(ready);
        }
        let valid = || locked(&self.held).as_ref().filter(|h| now_ms() < h.expires_at_ms).map(|h| h.granted.clone());
        let Some(source) = &self.source else { return valid().ok_or_else(expired) };
        let _asking = match (self.asking.try_lock(), valid()) {
            (Ok(guard), _) => guard,
            (Err(TryLockError::WouldBlock), Some(granted)) => return Ok(granted),
            (Err(_), _) => locked_unless_cancelled(&self.asking)?,
        };
        // Another thread may have renewed them meanwhile.
        if let Some(ready) = self.ready_for(receiver) {
            return Ok(ready);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        match (source.load(), valid()) {
            (Ok(granted), _) => {
                let held = Held::renewed(granted, source);
                let granted = held.granted.clone();
                *locked(&self.held) = Some(held);
                Ok(granted)
            }
            (Err(_), Some(granted)) => {
                if let Some(held) = &mut *locked(&self.held) {
                    let left = held.expires_at_ms.saturating_sub(now_ms()).max(0);
                    let again_at = now_ms() + PAUSE_MS.min(left / EARLY_PART).max(LEAST_MS);
                    held.old_for_others_at_ms = again_at;
                    if receiver == Receiver::ThisProcess {
                        held.renew_at_ms = again_at;
                    }
                }
                Ok(granted)
            }
            (Err(e), None) => Err(unrenewed(e)),
        }
    }

    /// Whether there may be credentials of a service for a path. Those of a source that was not asked yet are unknown.
    pub(crate) fn serves(&self, service: Service, path: &str) -> bool {
        let held = locked(&self.held);
        held.as_ref().is_none_or(|held| StoreOptions::of_grant(&held.granted.at(path)).has_credentials_of(service))
    }

    /// Values that no error may show.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let held = locked(&self.held);
        let all = held.iter().flat_map(|held| held.granted.values());
        let secret = all.filter(|(name, value)| value.len() > 3 && is_secret_option(name) && !is_expiry(name));
        secret.map(|(_, value)| value.clone()).collect()
    }
}

fn expired() -> Error {
    Error::denied("the credentials of the table's files have expired, and this process can't renew them").hint(format!(
        "Plan the scan again, or let tasks renew credentials: give the catalog the property {EXECUTORS_MAY_RENEW}='true'. \
         Tasks then carry the catalog's token. A catalog without tokens needs 'with-credential'"
    ))
}

fn unrenewed(e: Error) -> Error {
    let hint = e.hint_text().map(str::to_owned);
    let error = Error::new(e.kind(), "the credentials of the store can't be had").because(e);
    error.hint(
        hint.unwrap_or_else(|| "Check who gives the credentials: the catalog's server, or the provider".to_owned()),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::error::ErrorKind;

    #[derive(Debug, Default)]
    struct TestSource {
        asked: AtomicU64,
        life_ms: i64,
        fails: std::sync::atomic::AtomicBool,
        slow_ms: u64,
        token_ms: Option<u64>,
    }

    fn granted(token: &str, life_ms: i64) -> TemporaryCredentials {
        let config = [
            ("s3.session-token", token.to_owned()),
            ("s3.session-token-expires-at-ms", (now_ms() + life_ms).to_string()),
        ];
        TemporaryCredentials { config: config.map(|(k, v)| (k.to_owned(), v)).into(), prefixes: Vec::new() }
    }

    impl CredentialSource for TestSource {
        fn load(&self) -> Result<TemporaryCredentials> {
            let n = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
            std::thread::sleep(std::time::Duration::from_millis(self.slow_ms));
            match self.fails.load(Ordering::Relaxed) {
                true => Err(Error::denied("no more").hint("Ask again")),
                false => Ok(granted(&format!("token-{n}"), self.life_ms)),
            }
        }

        fn must_be_asked_in(&self) -> Option<std::time::Duration> {
            self.token_ms.map(std::time::Duration::from_millis)
        }
    }

    fn token(renewal: &Renewal) -> String {
        renewal.current().unwrap().config["s3.session-token"].clone()
    }

    fn pause(ms: u64) {
        std::thread::sleep(std::time::Duration::from_millis(ms));
    }

    /// As after a time in which the credentials must be renewed.
    fn age(renewal: &Renewal) {
        locked(&renewal.held).as_mut().unwrap().renew_at_ms = 0;
    }

    /// As after the life of the credentials.
    fn expire(renewal: &Renewal) {
        age(renewal);
        locked(&renewal.held).as_mut().unwrap().expires_at_ms = 0;
    }

    #[test]
    fn credentials_are_renewed_before_they_expire() {
        // Five minutes early, or a tenth of their life.
        for (life, early) in [(3_600_000, 300_000), (600_000, 60_000), (20_000, 2_000)] {
            let held = Held::new(granted("t", life));
            assert!((held.expires_at_ms - held.renew_at_ms - early).abs() <= 5, "{life}");
        }
        let source = Arc::new(TestSource { life_ms: 60_000, ..TestSource::default() });
        let renewal = Renewal::new(Some(granted("first", 60_000)), Some(source.clone()));
        assert_eq!(token(&renewal), "first");
        age(&renewal);
        assert_eq!(token(&renewal), "token-1");
        assert_eq!(token(&renewal), "token-1");
        assert_eq!((renewal.count(), source.asked.load(Ordering::Relaxed)), (1, 1));
        assert_eq!(renewal.secrets(), ["token-1"]);
    }

    #[test]
    fn others_get_credentials_that_live_long() {
        let source = Arc::new(TestSource { life_ms: 60_000, ..TestSource::default() });
        let renewal = Renewal::new(Some(granted("first", 60_000)), Some(source.clone()));
        let for_others = || renewal.current_for_others().unwrap().config["s3.session-token"].clone();
        let left = |held: &Held| held.expires_at_ms - held.old_for_others_at_ms;
        assert!((left(locked(&renewal.held).as_ref().unwrap()) - 30_000).abs() <= 5);
        assert_eq!(for_others(), "first");
        locked(&renewal.held).as_mut().unwrap().old_for_others_at_ms = 0;
        // They are still good for this process.
        assert_eq!(token(&renewal), "first");
        assert_eq!([for_others(), for_others(), token(&renewal)], ["token-1", "token-1", "token-1"]);
        // A server that fails is not asked again at once.
        locked(&renewal.held).as_mut().unwrap().old_for_others_at_ms = 0;
        source.fails.store(true, Ordering::Relaxed);
        assert_eq!([for_others(), for_others(), token(&renewal)], ["token-1", "token-1", "token-1"]);
        assert_eq!(renewal.count(), 2);
        // Without a source, and without an end.
        let renewal = Renewal::new(Some(granted("old", 60_000)), None);
        locked(&renewal.held).as_mut().unwrap().old_for_others_at_ms = 0;
        assert_eq!(renewal.current_for_others().unwrap().config["s3.session-token"], "old");
        let endless = TemporaryCredentials { config: BTreeMap::new(), prefixes: Vec::new() };
        assert_eq!(Held::new(endless).old_for_others_at_ms, i64::MAX);
    }

    #[test]
    fn an_old_token_makes_no_storm() {
        let asked = |token_ms| {
            let source = Arc::new(TestSource { life_ms: 60_000, token_ms: Some(token_ms), ..TestSource::default() });
            let renewal = Renewal::new(Some(granted("first", 60_000)), Some(source));
            for _ in 0..3 {
                pause(150);
                token(&renewal);
            }
            renewal.count()
        };
        // The source is asked once, in case that its token can be renewed.
        assert_eq!([asked(0), asked(50), asked(120), asked(10_000)], [1, 3, 3, 0]);
    }

    #[test]
    fn one_thread_asks() {
        let source = Arc::new(TestSource { life_ms: 60_000, slow_ms: 100, ..TestSource::default() });
        let renewal = Renewal::new(None, Some(source.clone()));
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| assert_eq!(token(&renewal), "token-1"));
            }
        });
        assert_eq!(renewal.count(), 1);
        // While the old ones are valid, nobody waits for the new ones.
        let source = Arc::new(TestSource { life_ms: 60_000, slow_ms: 1000, ..TestSource::default() });
        let renewal = Renewal::new(Some(granted("old", 60_000)), Some(source.clone()));
        age(&renewal);
        std::thread::scope(|s| {
            let asking = s.spawn(|| token(&renewal));
            while source.asked.load(Ordering::Relaxed) == 0 {
                pause(1);
            }
            assert_eq!(token(&renewal), "old");
            assert_eq!(asking.join().unwrap(), "token-1");
        });
    }

    #[test]
    fn a_wait_for_another_thread_can_be_cancelled() {
        let source = Arc::new(TestSource { life_ms: 60_000, slow_ms: 2000, ..TestSource::default() });
        let renewal = Renewal::new(None, Some(source.clone()));
        std::thread::scope(|s| {
            let asking = s.spawn(|| token(&renewal));
            while source.asked.load(Ordering::Relaxed) == 0 {
                pause(1);
            }
            let began = std::time::Instant::now();
            let stopped = crate::parallel::Cancellation::after(2).scope(|| renewal.current());
            assert_eq!(stopped.unwrap_err().message(), "stopped");
            assert!(began.elapsed() < std::time::Duration::from_millis(500), "{:?}", began.elapsed());
            assert_eq!(asking.join().unwrap(), "token-1");
        });
    }

    #[test]
    fn a_failed_renewal_keeps_what_is_valid() {
        let source = Arc::new(TestSource { life_ms: 60_000, fails: true.into(), ..TestSource::default() });
        let renewal = Renewal::new(Some(granted("old", 60_000)), Some(source.clone()));
        age(&renewal);
        assert_eq!(token(&renewal), "old");
        assert_eq!(token(&renewal), "old");
        // A server that fails is not asked again at once.
        assert_eq!(renewal.count(), 1);
        expire(&renewal);
        let e = renewal.current().unwrap_err();
        assert_eq!((e.kind(), e.hint_text()), (ErrorKind::PermissionDenied, Some("Ask again")));
        source.fails.store(false, Ordering::Relaxed);
        assert!(token(&renewal).starts_with("token-"));
    }

    #[test]
    fn without_a_source_they_expire() {
        let renewal = Renewal::new(Some(granted("old", 60_000)), None);
        assert_eq!(token(&renewal), "old");
        renewal.offer(granted("shorter", 30_000));
        assert_eq!(token(&renewal), "old");
        expire(&renewal);
        let e = renewal.current().unwrap_err();
        assert!(e.message().contains("expired") && e.hint_text().unwrap().contains(EXECUTORS_MAY_RENEW));
        renewal.offer(granted("new", 5000));
        assert_eq!(token(&renewal), "new");
    }
}
