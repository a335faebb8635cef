//! Which proxy a request goes through. Errors name it.

use super::settings::HttpSettings;
use crate::store::credentials::host_of;

/// Host and port of the proxy for a URL: that of the settings, or else that of the environment.
pub(super) fn proxy_of(settings: &HttpSettings, url: &str) -> Option<String> {
    match &settings.proxy {
        Some(proxy) => authority(&proxy.url),
        None => proxy_of_environment(url),
    }
}

/// Host and port of the proxy that the environment names for a URL.
pub(in crate::store) fn proxy_of_environment(url: &str) -> Option<String> {
    chosen(url, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// The proxy by variables. A range of addresses in `NO_PROXY` is not looked into.
fn chosen(url: &str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let either = |name: &str| variable(name).or_else(|| variable(&name.to_ascii_lowercase()));
    let own = if url.starts_with("https://") { "HTTPS_PROXY" } else { "HTTP_PROXY" };
    let proxy = either(own).or_else(|| either("ALL_PROXY"))?;
    let host = host_of(url);
    let is_direct = |entry: &str| {
        let entry = entry.trim().trim_start_matches('.');
        entry == "*" || (!entry.is_empty() && (host == entry || host.ends_with(&format!(".{entry}"))))
    };
    match either("NO_PROXY").is_some_and(|list| list.split(',').any(is_direct)) {
        true => None,
        false => authority(&proxy),
    }
}

/// `host:port` of a URL, without a login.
fn authority(url: &str) -> Option<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = rest.rsplit_once('@').map_or(rest, |(_, authority)| authority);
    (!authority.is_empty()).then(|| authority.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::settings::ProxySettings;
    use super::*;

    fn of(url: &str, variables: &[(&str, &str)]) -> Option<String> {
        chosen(url, |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_proxy_is_named_without_its_login() {
        let named = [("HTTPS_PROXY", "http://me:pw@proxy.example:3128/"), ("http_proxy", "other.example:80")];
        assert_eq!(of("https://c.example/v1", &named).as_deref(), Some("proxy.example:3128"));
        assert_eq!(of("http://c.example:8080", &named).as_deref(), Some("other.example:80"));
        assert_eq!(of("http://c.example", &[("ALL_PROXY", "http://[::1]:99")]).as_deref(), Some("[::1]:99"));
        assert_eq!(of("http://c.example", &[("HTTPS_PROXY", "http://p:1")]), None);
        let url = "http://u:p@given.example:1".to_owned();
        let settings = HttpSettings { proxy: Some(ProxySettings { url, login: None }), ..HttpSettings::default() };
        assert_eq!(proxy_of(&settings, "http://c.example").as_deref(), Some("given.example:1"));
    }

    #[test]
    fn hosts_without_a_proxy() {
        for list in ["c.example", ".example", "x, example", "*"] {
            assert_eq!(of("http://c.example:80/", &[("HTTP_PROXY", "http://p:1"), ("NO_PROXY", list)]), None, "{list}");
        }
        for list in ["ample", "d.example", "", ","] {
            let found = of("http://c.example:80/", &[("HTTP_PROXY", "http://p:1"), ("no_proxy", list)]);
            assert_eq!(found.as_deref(), Some("p:1"), "{list}");
        }
    }
}
