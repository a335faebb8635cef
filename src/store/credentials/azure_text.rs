//! Connection strings of Azure Storage.

use reqwest::Url;

use crate::error::{Error, Result};

/// The option with a connection string.
pub(crate) const OPTION: &str = "adls.connection-string";

/// The account and the key of Azurite and the older emulator. Microsoft documents them; they are no secret.
const EMULATOR: (&str, &str) =
    ("devstoreaccount1", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==");

/// The members of a connection string. Names have any case.
fn members(text: &str) -> Result<Vec<(String, String)>> {
    let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
    let member = |part: &str| {
        let (name, value) = part.split_once('=')?;
        Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
    };
    let members: Option<Vec<_>> = parts.map(member).collect();
    members.ok_or_else(|| {
        Error::invalid(format!("{OPTION} has a part without '='"))
            .hint("Copy the whole text: DefaultEndpointsProtocol=…;AccountName=…;AccountKey=…;EndpointSuffix=…")
    })
}

/// The settings of a connection string.
///
/// # Errors
/// `InvalidInput` for another text, without its value.
pub(crate) fn settings(text: &str) -> Result<Vec<(String, String)>> {
    let members = members(text)?;
    let member = |name: &str| members.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let mut out = Vec::new();
    let mut set = |name: &str, value: &str| out.push((name.to_owned(), value.to_owned()));
    if member("usedevelopmentstorage").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        let (account, key) = EMULATOR;
        let proxy = member("developmentstorageproxyuri").unwrap_or("http://127.0.0.1");
        set("azure_storage_account_name", account);
        set("azure_storage_account_key", key);
        set("azure_storage_endpoint", &format!("{}:10000/{account}", proxy.trim_end_matches('/')));
        return Ok(out);
    }
    let endpoint = member("blobendpoint").map(|endpoint| endpoint.trim_end_matches('/').to_owned());
    let from_host = endpoint.as_deref().and_then(|endpoint| {
        let url = Url::parse(endpoint).ok()?;
        url.host_str()?.split_once(".blob.").map(|(account, _)| account.to_owned())
    });
    let account = member("accountname").map(str::to_owned).or(from_host).ok_or_else(|| {
        Error::invalid(format!("{OPTION} names no account"))
            .hint("It needs AccountName=…, or BlobEndpoint=… with its name")
    })?;
    set("azure_storage_account_name", &account);
    match (member("sharedaccesssignature"), member("accountkey")) {
        // A signature is given for an account whose key stays with its owner.
        (Some(sas), _) => set("azure_storage_sas_token", sas.trim_start_matches('?')),
        (None, Some(key)) => set("azure_storage_account_key", key),
        (None, None) => {}
    }
    let protocol = member("defaultendpointsprotocol").unwrap_or("https");
    match (endpoint, member("endpointsuffix")) {
        (Some(endpoint), _) => set("azure_storage_endpoint", &endpoint),
        (None, Some(suffix)) if suffix != "core.windows.net" || protocol != "https" => {
            set("azure_storage_endpoint", &format!("{protocol}://{account}.blob.{suffix}"));
        }
        _ => {}
    }
    Ok(out)
}

/// The secrets of a connection string.
pub(crate) fn secrets(text: &str) -> Vec<String> {
    let secret = |(name, value): (String, String)| {
        matches!(name.as_str(), "accountkey" | "sharedaccesssignature").then_some(value)
    };
    members(text).unwrap_or_default().into_iter().filter_map(secret).filter(|value| value.len() > 3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(connection: &str) -> Vec<String> {
        settings(connection).unwrap().into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn the_forms_that_azure_documents() {
        let key = "DefaultEndpointsProtocol=https;AccountName=storagesample;AccountKey=YWJj==;EndpointSuffix=core.windows.net";
        assert_eq!(text(key), ["azure_storage_account_name=storagesample", "azure_storage_account_key=YWJj=="]);
        let china = "defaultendpointsprotocol=https;accountname=a;accountkey=k;endpointsuffix=core.chinacloudapi.cn;";
        assert_eq!(text(china)[2], "azure_storage_endpoint=https://a.blob.core.chinacloudapi.cn");
        let sas =
            "BlobEndpoint=https://storagesample.blob.core.windows.net/;SharedAccessSignature=sv=2015-07-08&sig=iCvQ%3D";
        let expected = [
            "azure_storage_account_name=storagesample",
            "azure_storage_sas_token=sv=2015-07-08&sig=iCvQ%3D",
            "azure_storage_endpoint=https://storagesample.blob.core.windows.net",
        ];
        assert_eq!(text(sas), expected);
        let near = "AccountName=devstoreaccount1;AccountKey=k;BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;";
        assert_eq!(text(near)[2], "azure_storage_endpoint=http://127.0.0.1:10000/devstoreaccount1");
        assert_eq!(
            text("UseDevelopmentStorage=true")[2],
            "azure_storage_endpoint=http://127.0.0.1:10000/devstoreaccount1"
        );
    }

    #[test]
    fn other_texts_are_refused_without_their_value() {
        for bad in ["hush-hush", "AccountKey=hush-hush"] {
            let e = settings(bad).unwrap_err();
            assert!(!format!("{e} {:?}", e.hint_text()).contains("hush"), "{e}");
        }
        assert_eq!(secrets("AccountName=a;AccountKey=hush==;SharedAccessSignature=sig=x"), ["hush==", "sig=x"]);
    }
}
