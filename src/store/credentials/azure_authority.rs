//! Azure's `adls.blob-storage-authority` and `adls.blob-storage-scheme`, as PyIceberg passes them to PyArrow.

use std::collections::BTreeMap;

use super::trust::host_of;

/// The option with the host of the blob service.
pub(crate) const OPTION: &str = "adls.blob-storage-authority";

/// The option with the scheme of its address.
pub(crate) const SCHEME: &str = "adls.blob-storage-scheme";

/// The endpoint that the options describe; `None` if the account is unknown, or if the options give its whole address.
///
/// A host that begins with a dot follows the account's name. The account's name follows any other host, as a folder.
pub(crate) fn endpoint(options: &BTreeMap<String, String>, account: Option<&str>) -> Option<(String, String)> {
    let option = |name: &str| options.get(name).map(String::as_str).filter(|value| !value.is_empty());
    if option("adls.account-host").is_some() {
        return None;
    }
    let authority = option(OPTION)?.trim_end_matches('/');
    let account = account.or(option("adls.account-name")).or(option("azure_storage_account_name"))?;
    let scheme = option(SCHEME).unwrap_or("https");
    let address = match authority.split_once("://") {
        Some(_) => authority.to_owned(),
        None if authority.starts_with('.') => format!("{scheme}://{account}{authority}"),
        None => format!("{scheme}://{authority}/{account}"),
    };
    Some(("azure_storage_endpoint".to_owned(), address))
}

/// Whether a host is the one that the option's value names, with or without the account.
pub(crate) fn is_host(value: &str, host: &str) -> bool {
    let named = host_of(value);
    !named.is_empty() && (host == named || (named.starts_with('.') && host.ends_with(&named)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(given: &[(&str, &str)], account: Option<&str>) -> Option<String> {
        let options = given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        endpoint(&options, account).map(|(name, address)| {
            assert_eq!(name, "azure_storage_endpoint");
            address
        })
    }

    #[test]
    fn hosts_are_those_of_pyarrow() {
        let near = [(OPTION, "127.0.0.1:10000"), ("adls.blob-storage-scheme", "http")];
        assert_eq!(address(&near, Some("acct")).as_deref(), Some("http://127.0.0.1:10000/acct"));
        let china = [(OPTION, ".blob.core.chinacloudapi.cn"), ("adls.account-name", "acct")];
        assert_eq!(address(&china, None).as_deref(), Some("https://acct.blob.core.chinacloudapi.cn"));
        assert_eq!(address(&china, Some("of-url")).as_deref(), Some("https://of-url.blob.core.chinacloudapi.cn"));
        let whole = [(OPTION, "https://acct.blob.example/"), ("adls.account-name", "acct")];
        assert_eq!(address(&whole, None).as_deref(), Some("https://acct.blob.example"));
    }

    #[test]
    fn an_endpoint_needs_an_account_and_no_other_address() {
        assert_eq!(address(&[(OPTION, "127.0.0.1:10000")], None), None);
        assert_eq!(address(&[(OPTION, ""), ("adls.account-name", "acct")], None), None);
        assert_eq!(address(&[("adls.blob-storage-scheme", "http")], Some("acct")), None);
        assert_eq!(address(&[(OPTION, "h"), ("adls.account-host", "acct.blob.example")], Some("acct")), None);
    }

    #[test]
    fn a_host_is_known_by_its_value() {
        assert!(is_host("blob.example:10000", "blob.example"));
        assert!(is_host("https://blob.example/x", "blob.example"));
        assert!(is_host(".blob.example", "acct.blob.example"));
        assert!(!is_host("blob.example", "acct.blob.example"));
        assert!(!is_host("", "acct.blob.example"));
    }
}
