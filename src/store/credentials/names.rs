//! The options that say how credentials are renewed. Only Frazil writes them; a server can't.

/// Names the source of this process that gives the credentials.
pub(crate) const SOURCE: &str = "frazil.credentials.source";

/// A list of prefixes with credentials of their own, as JSON.
pub(crate) const PREFIXES: &str = "frazil.credentials.prefixes";

/// When the credentials expire, in milliseconds since the epoch.
pub(crate) const EXPIRES_AT: &str = "frazil.credentials.expires-at-ms";

/// The URL that renews the credentials.
pub(crate) const RENEW_URL: &str = "frazil.credentials.renew-url";

/// The token for requests to [`RENEW_URL`] and [`SIGN_URL`]. Present only if the user asked for it.
pub(crate) const RENEW_TOKEN: &str = "frazil.credentials.renew-token";

/// What else a process needs for these requests, as JSON: headers, and properties of the catalog.
pub(crate) const RENEW_SETTINGS: &str = "frazil.credentials.renew-settings";

/// The user's own callable that gives credentials, as text.
pub(crate) const PROVIDER: &str = "frazil.credentials.provider";

/// Names the signer of this process that signs requests.
pub(crate) const SIGNER: &str = "frazil.signer";

/// The URL that signs requests.
pub(crate) const SIGN_URL: &str = "frazil.signer.url";

/// The user's own file system, as text.
pub const FILES: &str = "frazil.credentials.filesystem";

/// The names of options with endpoints that only the catalog's server named, with commas between them. No secret goes
/// there.
pub(crate) const ENDPOINTS_OF_SERVER: &str = "frazil.endpoints-of-server";

/// All of them.
pub(crate) const ALL: [&str; 11] = [
    SOURCE,
    PREFIXES,
    EXPIRES_AT,
    RENEW_URL,
    RENEW_TOKEN,
    RENEW_SETTINGS,
    PROVIDER,
    SIGNER,
    SIGN_URL,
    FILES,
    ENDPOINTS_OF_SERVER,
];

/// A catalog's property: hosts that get the user's secrets although only the catalog's server names them.
pub(crate) const TRUSTED_HOSTS: &str = "frazil.trusted-hosts";

/// A catalog's property. With `true`, tasks carry the catalog's token, and renew credentials themselves. With
/// `with-credential`, they also carry its credential.
pub(crate) const EXECUTORS_MAY_RENEW: &str = "frazil.executors-may-renew";

/// Options with the time in milliseconds when a credential expires. The account follows the last one.
pub(crate) const EXPIRIES: [&str; 4] =
    ["s3.session-token-expires-at-ms", "gcs.oauth2.token-expires-at", EXPIRES_AT, "adls.sas-token-expires-at-ms."];

/// Whether an option tells when a credential expires.
pub(crate) fn is_expiry(name: &str) -> bool {
    let [s3, gcs, own, azure] = EXPIRIES;
    name == s3 || name == gcs || name == own || name.strip_prefix(azure).is_some_and(|account| !account.is_empty())
}
