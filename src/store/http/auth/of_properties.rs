//! Which proof of identity the properties of a catalog ask for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::super::settings::HttpSettings;
use super::aws::{AwsKeys, AwsSignatures};
use super::azure::EntraTokens;
use super::basic::BasicLogin;
use super::google::GoogleTokens;
use super::oauth2::{OAuth2Settings, OAuth2Tokens};
use super::provided::{ProvidedHeaders, TokenOfTheMoment};
use super::traits::Authorizer;
use crate::error::{Error, Result, is_secret_option};
use crate::store::foreign;
use crate::types::options::truth;
use crate::types::temporal::now_ms;

/// Properties that decide about the proof, by their beginnings.
const DECIDING: [&str; 14] = [
    "rest.auth.",
    "auth.",
    "rest.sig",
    "rest.access-key-id",
    "rest.secret-access-key",
    "rest.session-token",
    "client.",
    "token",
    "credential",
    "oauth2-server-uri",
    "scope",
    "audience",
    "resource",
    "gcp.auth.",
];

/// Properties that only the user gives, by their beginnings: which login of this machine proves who asks, which code
/// runs, and through which connection the server is reached.
const OF_USER: [&str; 7] = ["rest.auth.", "auth.", "gcp.auth.", "rest.client.proxy.", "ssl.", "py-", "frazil."];

/// Properties that decide how the server is reached.
const CONNECTING: [&str; 2] = ["rest.client.", "ssl."];

/// Properties whose names sound like secrets, but whose values are open.
const OPEN: [&str; 8] = [
    "token-expires-in-ms",
    "token-refresh-enabled",
    "token-exchange-enabled",
    "auth.oauth2.token_url",
    "oauth2-server-uri",
    "ssl.client.key",
    "gcp.auth.credentials-path",
    "auth.google.credentials_path",
];

/// The beginning of properties of the user's own class for authorization.
const CUSTOM: &str = "auth.custom.";

/// The properties of a catalog, as far as they say who asks.
#[derive(Clone, Copy)]
struct Given<'a>(&'a BTreeMap<String, String>);

impl<'a> Given<'a> {
    fn text(self, key: &str) -> Option<&'a str> {
        self.0.get(key).map(String::as_str).filter(|v| !v.is_empty())
    }

    /// The first of several properties that is given.
    fn first(self, keys: &[&str]) -> Option<&'a str> {
        keys.iter().find_map(|key| self.text(key))
    }

    fn required(self, keys: &[&str], why: &str) -> Result<&'a str> {
        self.first(keys).ok_or_else(|| Error::invalid(format!("the catalog needs {}: {why}", keys[0])))
    }

    fn flag(self, key: &str, default: bool) -> Result<bool> {
        let Some(value) = self.text(key) else { return Ok(default) };
        truth(value).ok_or_else(|| Error::invalid(format!("the property {key} must be true or false")))
    }
}

/// Whether only the user may give a property. A server that could give it could run code in this process, or get a
/// login of this machine. Java also decides about the type of authorization before it asks the server.
pub(crate) fn is_of_user(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    OF_USER.iter().any(|start| name.starts_with(start))
}

/// Whether two sets of properties ask for the same proof.
pub(crate) fn is_same(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> bool {
    let decides = |(name, _): &(&String, &String)| DECIDING.iter().any(|start| name.starts_with(start));
    a.iter().filter(decides).eq(b.iter().filter(decides))
}

/// The values of properties that no error may show.
pub(crate) fn secrets(properties: &BTreeMap<String, String>) -> Vec<String> {
    let is_secret = |name: &str| is_secret_option(name) || name.starts_with("header.") || name.starts_with(CUSTOM);
    let values = properties.iter().filter(|(name, value)| is_secret(name) && value.len() > 3);
    values.map(|(_, value)| value.clone()).collect()
}

/// The proof that the properties ask for. `uri` is that of the catalog.
///
/// # Errors
/// `InvalidInput` if something is missing; `Unsupported` for other types.
pub(crate) fn authorizer(
    properties: &BTreeMap<String, String>,
    uri: &str,
    http: &HttpSettings,
) -> Result<Option<Arc<dyn Authorizer>>> {
    let given = Given(properties);
    let kind = kind(given)?;
    if !is_signed(&kind) {
        return of_kind(&kind, given, uri, http);
    }
    let delegate = match given.text("rest.auth.sigv4.delegate-auth-type") {
        Some(kind) => of_kind(&kind.to_ascii_lowercase(), given, uri, http)?,
        None if has_token(given) => of_kind("oauth2", given, uri, http)?,
        None => None,
    };
    signatures(given, delegate).map(Some)
}

fn has_token(given: Given<'_>) -> bool {
    given.first(&["token", "credential"]).is_some()
}

/// The kind of proof.
fn kind(given: Given<'_>) -> Result<String> {
    let by_keys = given.flag("rest.sigv4-enabled", false)?;
    let kind = match given.first(&["rest.auth.type", "auth.type"]) {
        Some(kind) => kind.to_ascii_lowercase(),
        None if by_keys => "sigv4".to_owned(),
        None if has_token(given) => "oauth2".to_owned(),
        None => "none".to_owned(),
    };
    match given.text("auth.impl").is_some() && kind != "custom" {
        true => Err(Error::invalid("auth.impl names a class, but auth.type is not 'custom'")
            .with("auth.type", kind)
            .hint("Give auth.type='custom', or leave out auth.impl")),
        false => Ok(kind),
    }
}

fn is_signed(kind: &str) -> bool {
    matches!(kind, "sigv4" | "org.apache.iceberg.aws.restsigv4authmanager")
}

fn is_oauth2(kind: &str) -> bool {
    matches!(kind, "oauth2" | "legacyoauth2" | "org.apache.iceberg.rest.auth.oauth2manager")
}

/// The properties about the connection, and about the proof if the catalog has one. `uri` is that of the catalog.
pub(crate) fn deciding(properties: &BTreeMap<String, String>, uri: &str) -> BTreeMap<String, String> {
    let begins = |name: &str, all: &[&str]| all.iter().any(|start| name.starts_with(start));
    let kind = kind(Given(properties)).unwrap_or_default();
    let proves = !matches!(kind.as_str(), "none" | "noop" | "org.apache.iceberg.rest.auth.noopauthmanager");
    let is_kept = |name: &str| begins(name, &CONNECTING) || (proves && begins(name, &DECIDING));
    let kept = properties.iter().filter(|(name, value)| is_kept(name) && !value.is_empty());
    let mut kept: BTreeMap<String, String> = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    // A path of the catalog's server means nothing to others. The token of the moment takes the place of the given one.
    if proves && (has_token(Given(properties)) || is_oauth2(&kind)) {
        kept.insert("oauth2-server-uri".to_owned(), token_server(Given(properties), uri));
        kept.remove("token");
        kept.entry("rest.auth.type".to_owned()).or_insert(kind);
    }
    kept
}

/// Whether a property of [`deciding`] has a credential as its value.
pub(crate) fn is_credential(name: &str) -> bool {
    !OPEN.contains(&name) && (name.starts_with(CUSTOM) || is_secret_option(name))
}

/// The proof of another process than that of the catalog. `properties` are some of [`deciding`], and `token` is the
/// catalog's token of the moment.
///
/// # Errors
/// As [`authorizer`].
pub(crate) fn of_others(
    properties: &BTreeMap<String, String>,
    token: Option<&str>,
    expires_at_ms: Option<i64>,
    http: &HttpSettings,
) -> Result<Option<Arc<dyn Authorizer>>> {
    let Some(token) = token else { return authorizer(properties, "", http) };
    let kind = kind(Given(properties))?;
    if is_oauth2(&kind) {
        let mut all = properties.clone();
        all.insert("token".to_owned(), token.to_owned());
        if let Some(at) = expires_at_ms {
            let left = at.saturating_sub(now_ms());
            all.insert("token-expires-in-ms".to_owned(), left.max(1).to_string());
        }
        return authorizer(&all, "", http);
    }
    // What is missing is said when the token is refused.
    let next = authorizer(properties, "", http).ok().flatten();
    Ok(Some(Arc::new(TokenOfTheMoment::new(token, next))))
}

/// The proof of a kind, by the names of Java and PyIceberg.
fn of_kind(kind: &str, given: Given<'_>, uri: &str, http: &HttpSettings) -> Result<Option<Arc<dyn Authorizer>>> {
    Ok(match kind {
        "none" | "noop" | "org.apache.iceberg.rest.auth.noopauthmanager" => None,
        "basic" | "org.apache.iceberg.rest.auth.basicauthmanager" => {
            let why = "auth type basic sends a name and a password";
            let user = given.required(&["rest.auth.basic.username", "auth.basic.username"], why)?;
            let password = given.required(&["rest.auth.basic.password", "auth.basic.password"], why)?;
            Some(Arc::new(BasicLogin::new(user, password)))
        }
        "oauth2" | "legacyoauth2" | "org.apache.iceberg.rest.auth.oauth2manager" => {
            Some(Arc::new(OAuth2Tokens::new(oauth2(given, uri)?, http.clone())))
        }
        "google" | "org.apache.iceberg.gcp.auth.googleauthmanager" => {
            let path = given.first(&["gcp.auth.credentials-path", "auth.google.credentials_path"]);
            Some(Arc::new(GoogleTokens::new(path.map(str::to_owned))))
        }
        "custom" => Some(custom(given)?),
        "entra" => {
            let part = |name: &str| given.text(&format!("auth.entra.{name}")).map(str::to_owned);
            let client = match (part("tenant_id"), part("client_id"), part("client_secret")) {
                (Some(tenant), Some(id), Some(secret)) => Some([tenant, id, secret]),
                _ => None,
            };
            Some(Arc::new(EntraTokens::new(client)))
        }
        other => {
            return Err(Error::unsupported(format!("the authorization type '{other}' is not supported"))
                .hint("Supported types: none, basic, oauth2, sigv4, google, entra, custom"));
        }
    })
}

/// Headers of the user's own class, as PyIceberg's configuration names it.
fn custom(given: Given<'_>) -> Result<Arc<dyn Authorizer>> {
    let class =
        given.required(&["auth.impl"], "auth.type custom needs the path of a class, such as package.module.Class")?;
    let own = given.0.iter().filter_map(|(name, value)| Some((name.strip_prefix(CUSTOM)?.to_owned(), value.clone())));
    Ok(Arc::new(ProvidedHeaders(foreign::makers()?.headers(class, &own.collect())?)))
}

/// The URL that gives tokens.
fn token_server(given: Given<'_>, uri: &str) -> String {
    match given.first(&["oauth2-server-uri", "auth.oauth2.token_url"]) {
        Some(url) if url.contains("://") => url.to_owned(),
        Some(path) => format!("{uri}/{}", path.trim_start_matches('/')),
        None => format!("{uri}/v1/oauth/tokens"),
    }
}

fn oauth2(given: Given<'_>, uri: &str) -> Result<OAuth2Settings> {
    let server = token_server(given, uri);
    let pair = given.text("credential").map(|text| match text.split_once(':') {
        Some((id, secret)) => (Some(id.to_owned()), secret.to_owned()),
        None => (None, text.to_owned()),
    });
    // PyIceberg's newer properties name the parts.
    let parts = given.text("auth.oauth2.client_secret");
    let parts = parts.map(|secret| (given.text("auth.oauth2.client_id").map(str::to_owned), secret.to_owned()));
    let in_header = pair.is_none() && parts.is_some();
    let token = given.text("token").map(str::to_owned);
    let credential = pair.or(parts);
    if token.is_none() && credential.is_none() {
        return Err(Error::invalid("the authorization type oauth2 needs a token or a credential")
            .hint("Give token='…' or credential='id:secret'"));
    }
    let further = ["audience", "resource"].into_iter();
    let fields = further.filter_map(|name| Some((name.to_owned(), given.text(name)?.to_owned()))).collect();
    let number = |text: &str| {
        text.parse().map_err(|_| Error::invalid("the life of a token must be a whole number").with("found", text))
    };
    let life = match (given.text("token-expires-in-ms"), given.text("auth.oauth2.expires_in")) {
        (Some(ms), _) => Some(Duration::from_millis(number(ms)?)),
        (None, Some(seconds)) => Some(Duration::from_secs(number(seconds)?)),
        (None, None) => None,
    };
    let scope = given.first(&["scope", "auth.oauth2.scope"]).map(str::to_owned);
    Ok(OAuth2Settings {
        server,
        token,
        credential,
        credential_in_header: in_header,
        scope: scope.or_else(|| (!in_header).then(|| "catalog".to_owned())),
        fields,
        life,
        renewed: given.flag("token-refresh-enabled", true)?,
        exchanged: given.flag("token-exchange-enabled", true)?,
    })
}

fn signatures(given: Given<'_>, delegate: Option<Arc<dyn Authorizer>>) -> Result<Arc<dyn Authorizer>> {
    let environment = || ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().find_map(|name| std::env::var(name).ok());
    let region = given.first(&["rest.signing-region", "client.region", "s3.region"]).map(str::to_owned);
    let region = region.or_else(environment).ok_or_else(|| {
        Error::invalid("requests can't be signed without a region").hint("Give rest.signing-region='…'")
    })?;
    let keys_of = |start: &str| {
        let part = |name: &str| given.text(&format!("{start}.{name}")).map(str::to_owned);
        let token = part("session-token");
        Some(AwsKeys { id: part("access-key-id")?, secret: part("secret-access-key")?, token })
    };
    let service = given.text("rest.signing-name").unwrap_or("execute-api");
    let keys = keys_of("rest").or_else(|| keys_of("client"));
    Ok(Arc::new(AwsSignatures::new(service, &region, keys, delegate)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(given: &[(&str, &str)]) -> BTreeMap<String, String> {
        given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
    }

    fn chosen(given: &[(&str, &str)]) -> Result<String> {
        let proof = authorizer(&properties(given), "http://h/api", &HttpSettings::default())?;
        Ok(proof.map_or("none".to_owned(), |proof| format!("{proof:?}").split([' ', '(']).next().unwrap().to_owned()))
    }

    #[test]
    fn the_names_of_others_choose_the_proof() {
        for (given, expected) in [
            (vec![], "none"),
            (vec![("token", "t")], "OAuth2Tokens"),
            (vec![("credential", "a:b")], "OAuth2Tokens"),
            (vec![("rest.auth.type", "none"), ("token", "t")], "none"),
            (vec![("auth.type", "noop")], "none"),
            (
                vec![("rest.auth.type", "Basic"), ("rest.auth.basic.username", "u"), ("rest.auth.basic.password", "p")],
                "BasicLogin",
            ),
            (vec![("auth.type", "basic"), ("auth.basic.username", "u"), ("auth.basic.password", "p")], "BasicLogin"),
            (vec![("rest.auth.type", "org.apache.iceberg.rest.auth.OAuth2Manager"), ("token", "t")], "OAuth2Tokens"),
            (vec![("rest.sigv4-enabled", "true"), ("rest.signing-region", "r")], "AwsSignatures"),
            (vec![("rest.auth.type", "sigv4"), ("client.region", "r"), ("token", "t")], "AwsSignatures"),
            (vec![("rest.auth.type", "google")], "GoogleTokens"),
            (vec![("auth.type", "entra")], "EntraTokens"),
        ] {
            assert_eq!(chosen(&given).unwrap(), expected, "{given:?}");
        }
        assert!(chosen(&[("auth.type", "kerberos")]).unwrap_err().to_string().contains("'kerberos'"));
        assert!(chosen(&[("auth.type", "custom")]).unwrap_err().to_string().contains("auth.impl"));
        let both = chosen(&[("auth.impl", "m.C"), ("token", "t")]).unwrap_err();
        assert!(both.to_string().contains("is not 'custom'"), "{both}");
        assert!(chosen(&[("auth.type", "oauth2")]).unwrap_err().to_string().contains("credential"));
        assert!(chosen(&[("rest.auth.type", "basic")]).unwrap_err().to_string().contains("rest.auth.basic.username"));
    }

    #[test]
    fn the_user_alone_chooses_the_login() {
        for name in ["auth.impl", "Auth.Type", "rest.auth.type", "gcp.auth.scopes", "ssl.cabundle", "py-catalog-impl"] {
            assert!(is_of_user(name), "{name}");
        }
        for name in ["uri", "prefix", "token", "header.X-A", "rest.sigv4-enabled", "rest.signing-name"] {
            assert!(!is_of_user(name), "{name}");
        }
    }

    #[test]
    fn settings_of_oauth2() {
        let read = |given: &[(&str, &str)]| oauth2(Given(&properties(given)), "http://h/api").unwrap();
        let given = read(&[("credential", "id:se:cret"), ("audience", "a"), ("token-expires-in-ms", "5")]);
        assert_eq!(given.server, "http://h/api/v1/oauth/tokens");
        assert_eq!(given.credential, Some((Some("id".to_owned()), "se:cret".to_owned())));
        assert_eq!((given.scope.as_deref(), given.fields["audience"].as_str()), (Some("catalog"), "a"));
        assert_eq!(given.life, Some(Duration::from_millis(5)));
        let given = read(&[("credential", "only"), ("oauth2-server-uri", "/idp"), ("scope", "s")]);
        assert_eq!((given.credential.unwrap().0, given.server.as_str()), (None, "http://h/api/idp"));
        let given = read(&[
            ("auth.oauth2.client_id", "i"),
            ("auth.oauth2.client_secret", "s"),
            ("auth.oauth2.token_url", "http://idp/t"),
        ]);
        assert!(given.credential_in_header && given.scope.is_none() && given.server == "http://idp/t");
    }

    /// What others make of what they carry.
    fn of_another(given: &[(&str, &str)], token: Option<&str>) -> String {
        let proof = of_others(&properties(given), token, None, &HttpSettings::default()).unwrap();
        format!("{proof:?}").split(['(', ' ', ')']).find(|w| !w.is_empty() && *w != "Some").unwrap().to_owned()
    }

    #[test]
    fn others_carry_what_they_need() {
        let given = properties(&[
            ("uri", "http://h/api"),
            ("credential", "id:hush"),
            ("token", "given"),
            ("scope", "s"),
            ("token-expires-in-ms", "9"),
            ("ssl.cabundle", "/ca.pem"),
            ("rest.client.proxy.password", "hush"),
            ("s3.access-key-id", "hush"),
        ]);
        let carried = deciding(&given, "http://h/api");
        let open: Vec<&str> = carried.keys().map(String::as_str).filter(|name| !is_credential(name)).collect();
        let expected = ["oauth2-server-uri", "rest.auth.type", "scope", "ssl.cabundle", "token-expires-in-ms"];
        assert_eq!(open, expected);
        assert_eq!(carried["oauth2-server-uri"], "http://h/api/v1/oauth/tokens");
        let secret: Vec<&str> = carried.keys().map(String::as_str).filter(|name| is_credential(name)).collect();
        assert_eq!(secret, ["credential", "rest.client.proxy.password"]);
        // A server without a proof needs the connection only.
        let plain = properties(&[("scope", "s"), ("ssl.cabundle", "/ca.pem"), ("rest.auth.type", "none")]);
        assert_eq!(deciding(&plain, "http://h").keys().collect::<Vec<_>>(), ["ssl.cabundle"]);
        assert!(is_credential("auth.custom.realm") && !is_credential("auth.impl"));
    }

    #[test]
    fn others_begin_with_the_token_of_the_moment() {
        assert_eq!(
            of_another(&[("rest.auth.type", "oauth2"), ("oauth2-server-uri", "http://h/t")], Some("t")),
            "OAuth2Tokens"
        );
        assert_eq!(of_another(&[("rest.auth.type", "google")], Some("t")), "TokenOfTheMoment");
        assert_eq!(of_another(&[], Some("t")), "TokenOfTheMoment");
        assert_eq!(of_another(&[("rest.auth.type", "sigv4"), ("client.region", "r")], None), "AwsSignatures");
        assert_eq!(of_another(&[], None), "None");
    }

    #[test]
    fn secrets_are_known() {
        let given = properties(&[("credential", "id:secret"), ("uri", "http://h"), ("header.X", "value")]);
        assert_eq!(secrets(&given), ["id:secret", "value"]);
        assert_eq!(secrets(&properties(&[("auth.custom.phrase", "open sesame")])), ["open sesame"]);
        assert!(is_same(&given, &properties(&[("credential", "id:secret"), ("prefix", "p")])));
        assert!(!is_same(&given, &properties(&[("credential", "other")])));
    }
}
