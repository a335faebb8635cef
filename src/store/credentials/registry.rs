//! The sources and signers of this process, by the names that options carry.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use super::super::foreign;
use super::super::options::StoreOptions;
use super::super::runtime::PerProcess;
use super::handover::{Handover, RemoteRenewal, drop_unused};
use super::names::{EXECUTORS_MAY_RENEW, PREFIXES, PROVIDER, RENEW_URL, SIGN_URL, SIGNER, SOURCE};
use super::renewal::Renewal;
use super::signing::RequestSigner;
use super::temporary::{CredentialSource, PrefixConfig, TemporaryCredentials, expiry, prefixes_of};
use super::trust::TrustedHosts;
use crate::error::{Error, Result};
use crate::parallel::lock_in_any_process;

static SOURCES: Registered<dyn CredentialSource> = Registered::new();
static SIGNERS: Registered<dyn RequestSigner> = Registered::new();
static HANDOVERS: Registered<dyn Handover> = Registered::new();

/// Renewals by the name of their source.
type SharedRenewals = Arc<Mutex<HashMap<String, Arc<Renewal>>>>;

/// The renewals of this process.
static RENEWALS: PerProcess<SharedRenewals> = PerProcess::new();

/// What is registered by name. A forked process inherits it.
struct Registered<T: ?Sized>(Mutex<BTreeMap<String, Arc<T>>>);

impl<T: ?Sized> Registered<T> {
    const fn new() -> Registered<T> {
        Registered(Mutex::new(BTreeMap::new()))
    }

    /// `None` if the lock is lost in a fork.
    fn with<R>(&self, work: impl FnOnce(&mut BTreeMap<String, Arc<T>>) -> R) -> Option<R> {
        lock_in_any_process(&self.0).map(|mut map| work(&mut map))
    }

    fn put(&self, name: &str, value: Arc<T>) {
        self.with(|map| map.insert(name.to_owned(), value));
    }

    fn get(&self, name: &str) -> Option<Arc<T>> {
        self.with(|map| map.get(name).cloned()).flatten()
    }
}

/// What a server gives for the files of a table.
pub struct CredentialGrant {
    /// Names the source. Tables with the same name share the credentials, so that it must name the catalog, the table
    /// and who asks.
    pub name: String,
    /// The first credentials.
    pub granted: TemporaryCredentials,
    /// Renews them in this process.
    pub source: Arc<dyn CredentialSource>,
    /// Renews them in other processes: a URL that answers with `storage-credentials`.
    pub elsewhere: Option<RemoteRenewal>,
    /// The hosts that may get the user's secrets.
    pub trusted: TrustedHosts,
}

/// The options of a table's store with granted credentials. `storage` has the catalog's options, `location` is the
/// table's.
///
/// Credentials of the longest prefix of a path come before the table's own options, and these before `storage`.
pub fn grant(storage: StoreOptions, location: &str, lending: CredentialGrant) -> StoreOptions {
    let CredentialGrant { name, granted, source, elsewhere, trusted } = lending;
    SOURCES.put(&name, source);
    let options = overlaid(storage, location, &granted, &trusted).with_own(SOURCE, name);
    match elsewhere {
        Some(elsewhere) => with_elsewhere(options, RENEW_URL, elsewhere),
        None => options,
    }
}

fn with_elsewhere(options: StoreOptions, url: &str, elsewhere: RemoteRenewal) -> StoreOptions {
    let options = options.with_own(url, elsewhere.url.clone());
    elsewhere.written(options)
}

/// Tasks of a table carry what this says at the time. `name` is that of [`CredentialGrant`] or [`sign_by`].
pub fn hand_over_by(name: &str, handover: Arc<dyn Handover>) {
    HANDOVERS.put(name, handover);
}

/// Options, replaced by granted ones.
fn overlaid(
    storage: StoreOptions,
    location: &str,
    granted: &TemporaryCredentials,
    trusted: &TrustedHosts,
) -> StoreOptions {
    let options = storage.replaced_by_server(StoreOptions::of_server(&granted.config), trusted);
    let fitting = super::temporary::longest_prefix(&granted.prefixes, location);
    let options = match fitting {
        Some(fitting) => options.replaced_by_server(StoreOptions::of_server(&fitting.config), trusted),
        None => options,
    };
    match granted.prefixes_text() {
        Some(text) => options.with_own(PREFIXES, text),
        None => options,
    }
}

/// Forgets a source and the credentials that it granted. Stores that are open go on renewing them.
pub fn forget(name: &str) {
    SOURCES.with(|map| map.remove(name));
    HANDOVERS.with(|map| map.remove(name));
    if let Some(mut all) = renewals().ok().as_ref().and_then(|all| lock_in_any_process(all)) {
        all.remove(name);
    }
}

/// The options of a table's store whose requests a server signs. `elsewhere` is as in [`CredentialGrant`].
pub fn sign_by(
    storage: StoreOptions,
    name: &str,
    signer: Arc<dyn RequestSigner>,
    elsewhere: Option<RemoteRenewal>,
) -> StoreOptions {
    SIGNERS.put(name, signer);
    let options = storage.with_own(SIGNER, name.to_owned());
    match elsewhere {
        Some(elsewhere) => with_elsewhere(options, SIGN_URL, elsewhere),
        None => options,
    }
}

/// The signer of the options, if a server signs the requests.
///
/// # Errors
/// `Unsupported` in a process that may not ask the server.
pub(crate) fn signer(options: &StoreOptions) -> Result<Option<Arc<dyn RequestSigner>>> {
    let Some(name) = options.own(SIGNER) else { return Ok(None) };
    if let Some(signer) = SIGNERS.get(name) {
        return Ok(Some(signer));
    }
    match options.own(SIGN_URL) {
        Some(url) => Ok(Some(RemoteRenewal::read(options, url)?.signer()?)),
        None => Err(Error::unsupported("the catalog's server signs each request, and this process may not ask it")
            .hint(format!(
                "Give the catalog the property {EXECUTORS_MAY_RENEW}='true'. Tasks then carry the catalog's token. A \
                 catalog without tokens needs 'with-credential'"
            ))),
    }
}

/// The credentials of the options, if they expire or come from a provider.
///
/// # Errors
/// `InvalidInput` for options that nobody wrote; errors of the user's provider.
pub(crate) fn live(options: &StoreOptions) -> Result<Option<Arc<Renewal>>> {
    let first = first(options)?;
    if let Some(text) = options.own(PROVIDER) {
        // What the options have is not the provider's.
        shared(text, None, || Ok(Arc::new(Renewal::new(first, Some(foreign::makers()?.source(text)?))))).map(Some)
    } else if let Some((name, source)) = options.own(SOURCE).and_then(|name| Some((name, SOURCES.get(name)?))) {
        shared(name, first.clone(), || Ok(Arc::new(Renewal::new(first, Some(source))))).map(Some)
    } else if let Some(url) = options.own(RENEW_URL) {
        let remote = RemoteRenewal::read(options, url)?;
        shared(&remote.name(), first.clone(), || Ok(Arc::new(Renewal::new(first, Some(Arc::new(remote.source()?))))))
            .map(Some)
    } else {
        let expires = first.as_ref().is_some_and(|first| first.expires_at_ms().is_some());
        Ok(expires.then(|| Arc::new(Renewal::new(first, None))))
    }
}

/// The renewal of this name in this process. `newer` are credentials that a known one may lack. `make` makes a new one.
pub(super) fn shared(
    name: &str,
    newer: Option<TemporaryCredentials>,
    make: impl FnOnce() -> Result<Arc<Renewal>>,
) -> Result<Arc<Renewal>> {
    let all = renewals()?;
    // Whoever asks a source or the user's code may wait, so the lock is free meanwhile.
    let known = all.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
    if let Some(known) = known {
        if let Some(newer) = newer {
            known.offer(newer);
        }
        return Ok(known);
    }
    let made = make()?;
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    drop_unused(&mut all);
    Ok(all.entry(name.to_owned()).or_insert(made).clone())
}

fn renewals() -> Result<SharedRenewals> {
    RENEWALS.get(|| Ok(Arc::default()))
}

/// The prefixes of the options that have credentials of their own.
///
/// # Errors
/// `InvalidInput` for an option that nobody wrote.
pub(crate) fn prefixes(options: &StoreOptions) -> Result<Vec<PrefixConfig>> {
    let Some(text) = options.own(PREFIXES) else { return Ok(Vec::new()) };
    let json =
        serde_json::from_str(text).map_err(|_| Error::invalid(format!("the value of {PREFIXES} is not JSON")))?;
    prefixes_of(&json)
}

/// The credentials that the options themselves have.
fn first(options: &StoreOptions) -> Result<Option<TemporaryCredentials>> {
    let prefixes = prefixes(options)?;
    let any = options.has_credentials() || !prefixes.is_empty();
    Ok(any.then(|| TemporaryCredentials { config: options.as_map().clone(), prefixes }))
}

/// Options for another process: with the newest credentials of this one, and the catalog's newest token if others may
/// have it. Others stay the same.
pub fn current_options(options: &BTreeMap<String, String>, location: &str) -> BTreeMap<String, String> {
    let options = handed_over(options);
    if !options.contains_key(SOURCE) || expiry(&options).is_none() {
        return options;
    }
    let newest = StoreOptions::new(&options).and_then(|options| {
        let Some(renewal) = live(&options)? else { return Ok(options) };
        // An endpoint that comes with newer credentials is trusted only if it was known before.
        Ok(overlaid(options, location, renewal.current_for_others()?.as_ref(), &TrustedHosts::default()))
    });
    // The receiver says what is wrong with expired ones.
    newest.map_or_else(|_| options.clone(), |newest| newest.as_map().clone())
}

/// Options with the catalog's newest token, if others may have it.
fn handed_over(options: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let named = [(SOURCE, RENEW_URL), (SIGNER, SIGN_URL)].into_iter();
    let mut known = named.filter_map(|(key, url)| Some((url, HANDOVERS.get(options.get(key)?)?)));
    let Some((url, handover)) = known.next() else { return options.clone() };
    match (handover.now(), StoreOptions::new(options)) {
        (Ok(Some(elsewhere)), Ok(options)) => with_elsewhere(options, url, elsewhere).as_map().clone(),
        // The receiver says what is wrong with an older token.
        _ => options.clone(),
    }
}

/// How often this process asked the source of a name, for tests.
pub fn renewals_of(name: &str) -> u64 {
    let all = renewals().unwrap_or_default();
    let all = all.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(name).map_or(0, |renewal| renewal.count())
}
