//! Answers of a server as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::snapshots::Snapshots;
use crate::error::{Error, Result, is_secret_option, public_text};
use crate::format::catalog::TableLabels;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::metadata_json::metadata_from_json;
use crate::store::StoreOptions;
use crate::store::credentials::PrefixConfig;
use crate::store::http::HttpAnswer;
use crate::types::json_members::OwnedMembers;
use crate::types::json_text;

/// The members of an answer.
///
/// # Errors
/// `CorruptTable` if the answer is not a JSON object.
pub(super) fn members(answer: &HttpAnswer) -> Result<OwnedMembers> {
    let json = json_text::parse(&answer.body).map_err(|e| {
        let (what, hint) = match looks_like_html(answer) {
            true => ("a web page (HTML)", "Check the catalog's uri: it may be that of a web page or a login"),
            false => ("not valid JSON", "Check that the catalog's uri is that of Iceberg's REST API"),
        };
        Error::corrupt(format!("the server's answer is {what}")).because(e).hint(hint)
    })?;
    OwnedMembers::of(json, "the server's answer")
}

/// Whether an answer is a page for people.
pub(super) fn looks_like_html(answer: &HttpAnswer) -> bool {
    let start = answer.body.iter().copied().find(|byte| !byte.is_ascii_whitespace());
    start == Some(b'<') || answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html"))
}

/// What a server wants with each request for a signature.
#[derive(Clone, Debug, Default)]
pub(super) struct SigningConfig {
    /// Members of the body.
    pub(super) properties: BTreeMap<String, String>,
    /// Headers by name.
    pub(super) headers: Vec<(String, String)>,
}

/// A table as a server describes it.
#[derive(Clone)]
pub(super) struct DescribedTable {
    pub(super) metadata_location: Option<String>,
    pub(super) metadata: Arc<TableMetadata>,
    pub(super) config: BTreeMap<String, String>,
    pub(super) credentials: Vec<PrefixConfig>,
    /// How requests for signatures are made.
    pub(super) signing: SigningConfig,
    /// The mark of this version, to ask later whether it changed.
    pub(super) etag: Option<String>,
    /// Labels of the table and its columns, and members that are not known here.
    pub(super) labels: TableLabels,
    /// The snapshots that the metadata has.
    pub(super) snapshots: Snapshots,
}

impl DescribedTable {
    /// Whether the server sent credentials, or may have.
    pub(super) fn has_credentials(&self) -> bool {
        !self.credentials.is_empty() || StoreOptions::of_server(&self.config).has_credentials()
    }

    /// Reads the answer to a load, a creation, a registration or a commit.
    ///
    /// # Errors
    /// `CorruptTable` for an answer without metadata, or with wrong members; errors of [`metadata_from_json`].
    pub(super) fn of(answer: &HttpAnswer) -> Result<DescribedTable> {
        let mut m = members(answer)?;
        let metadata = Arc::new(metadata_from_json(m.required("metadata")?)?);
        let mut credentials = Vec::new();
        for json in m.list("storage-credentials")?.unwrap_or_default() {
            let mut m = OwnedMembers::of(json, "an entry of 'storage-credentials'")?;
            credentials.push(PrefixConfig { prefix: m.required_string("prefix")?, config: m.texts("config")? });
        }
        let described = DescribedTable {
            metadata_location: m.string("metadata-location")?.filter(|location| !location.is_empty()),
            metadata,
            config: m.texts("config")?,
            credentials,
            signing: m.take("remote-signing-config").map(signing).unwrap_or_default(),
            etag: answer.header("etag").map(str::to_owned),
            labels: m.take("labels").map(labels).unwrap_or_default(),
            snapshots: Snapshots::All,
        };
        let others = m.rest().into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
            let shown = public_member(&name, &value).to_string();
            (name, shown)
        });
        let others = others.collect();
        Ok(DescribedTable { labels: TableLabels { others, ..described.labels }, ..described })
    }
}

/// Reads how requests for signatures are made. Members of another form are left out.
fn signing(json: Json) -> SigningConfig {
    let members = |key: &str| json.get(key).and_then(Json::as_object).into_iter().flatten();
    let texts = members("properties").filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let headers = members("headers").flat_map(|(name, values)| {
        let values = values.as_array().into_iter().flatten().filter_map(Json::as_str);
        values.map(move |value| (name.clone(), value.to_owned()))
    });
    SigningConfig { properties: texts.collect(), headers: headers.collect() }
}

/// A member of an answer as it may be shown. Everything under the name of a secret is hidden, and so are signatures and
/// passwords in texts.
fn public_member(name: &str, value: &Json) -> Json {
    match value {
        value if is_secret_option(name) => hidden(value),
        Json::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), public_member(name, value))).collect()
        }
        Json::Array(items) => items.iter().map(|item| public_member(name, item)).collect(),
        Json::String(text) => Json::from(public_text(text, usize::MAX)),
        plain => plain.clone(),
    }
}

/// A secret value as it may be shown: its form without texts and numbers.
fn hidden(value: &Json) -> Json {
    match value {
        Json::Object(members) => members.iter().map(|(name, value)| (name.clone(), hidden(value))).collect(),
        Json::Array(items) => items.iter().map(hidden).collect(),
        Json::String(_) | Json::Number(_) => Json::from("***"),
        plain => plain.clone(),
    }
}

/// Reads labels. Members of another form are left out, because nothing depends on them.
fn labels(json: Json) -> TableLabels {
    let texts = |json: Option<&Json>| -> BTreeMap<String, String> {
        let members = json.and_then(Json::as_object).into_iter().flatten();
        members.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    };
    let columns = json.get("fields").and_then(Json::as_array).into_iter().flatten().filter_map(|field| {
        let id = i32::try_from(field.get("field-id")?.as_i64()?).ok()?;
        Some((id, texts(field.get("labels"))))
    });
    TableLabels { table: texts(json.get("object-labels")), columns: columns.collect(), others: BTreeMap::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_hidden_in_any_form() {
        let shown = |name: &str, value: Json| public_member(name, &value);
        assert_eq!(shown("token", json!("sesame")), json!("***"));
        assert_eq!(shown("a", json!({"pin-token": 1234, "n": 1})), json!({"pin-token": "***", "n": 1}));
        let nested = json!({"value": "sesame", "parts": ["sesame", {"n": 5, "on": true, "by": null}]});
        let expected = json!({"value": "***", "parts": ["***", {"n": "***", "on": true, "by": null}]});
        assert_eq!(shown("credential", nested), expected);
        let signed = shown("links", json!(["https://h/f?X-Amz-Signature=sesame&part=1", "s3://user:sesame@h/b"]));
        assert!(!signed.to_string().contains("sesame") && signed.to_string().contains("part=1"), "{signed}");
        assert_eq!(shown("plain", json!([1, "blue", true, null])), json!([1, "blue", true, null]));
    }
}
