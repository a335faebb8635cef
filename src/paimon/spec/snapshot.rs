//! Snapshot files: the result of a commit. Tags are snapshots under a name, with a few more fields.
//!
//! Source: Paimon specification, "Snapshot"; Java's `Snapshot` and `Tag`.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::pretty_json::pretty;
use crate::error::{Error, Result};
use crate::types::json_members::JsonMembers;
use crate::types::json_text;

/// The latest version of the format.
pub const CURRENT_VERSION: i64 = 3;

/// The members that [`PaimonSnapshot`] knows.
const KEYS: [&str; 21] = [
    "version",
    "id",
    "schemaId",
    "baseManifestList",
    "baseManifestListSize",
    "deltaManifestList",
    "deltaManifestListSize",
    "changelogManifestList",
    "changelogManifestListSize",
    "indexManifest",
    "commitUser",
    "commitIdentifier",
    "commitKind",
    "timeMillis",
    "totalRecordCount",
    "deltaRecordCount",
    "changelogRecordCount",
    "watermark",
    "statistics",
    "properties",
    "nextRowId",
];

/// A snapshot file. Missing members are `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct PaimonSnapshot {
    /// The version of its format; 1 or 2 before Paimon 0.7.
    pub version: i64,
    /// Its number, from 1.
    pub id: i64,
    /// The schema of the table when it was made; time travel reads with it.
    pub schema_id: i64,
    /// The file that lists the manifests of all commits before.
    pub base_manifest_list: String,
    /// Its length.
    pub base_manifest_list_size: Option<i64>,
    /// The file that lists the manifests of this commit.
    pub delta_manifest_list: String,
    /// Its length.
    pub delta_manifest_list_size: Option<i64>,
    /// The file that lists the manifests of this commit's changelog.
    pub changelog_manifest_list: Option<String>,
    /// Its length.
    pub changelog_manifest_list_size: Option<i64>,
    /// The manifest of all index files.
    pub index_manifest: Option<String>,
    /// Who committed. It is part of the identity of a commit.
    pub commit_user: String,
    /// The user's number of the commit.
    pub commit_identifier: i64,
    /// `APPEND`, `COMPACT`, `OVERWRITE` or `ANALYZE`.
    pub commit_kind: String,
    /// When it was made, milliseconds since the epoch.
    pub time_ms: i64,
    /// Rows of the table, not merged.
    pub total_record_count: Option<i64>,
    /// Rows that this commit added, less those that it removed.
    pub delta_record_count: Option<i64>,
    /// Rows of this commit's changelog.
    pub changelog_record_count: Option<i64>,
    /// The event time up to which the data is complete, milliseconds since the epoch.
    pub watermark: Option<i64>,
    /// The file of the table's statistics.
    pub statistics: Option<String>,
    /// Further properties that the committer wrote.
    pub properties: BTreeMap<String, String>,
    /// The id of the next new row, if rows are tracked.
    pub next_row_id: Option<i64>,
    /// The file's content, including unknown members.
    pub raw: Map<String, Json>,
}

/// A tag: a snapshot that is kept under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// The snapshot.
    pub snapshot: PaimonSnapshot,
    /// When it was made, as recorded.
    pub create_time: Option<Json>,
    /// How long it is to be kept, as recorded.
    pub time_retained: Option<Json>,
}

impl PaimonSnapshot {
    /// Reads a snapshot file.
    ///
    /// # Errors
    /// `CorruptTable` if it is not a snapshot; `Unsupported` for a version that is not known.
    pub fn parse(bytes: &[u8]) -> Result<PaimonSnapshot> {
        let json = json_text::parse(bytes).map_err(|e| Error::corrupt("the snapshot is not JSON").because(e))?;
        let Json::Object(raw) = json else { return Err(Error::corrupt("the snapshot is not a JSON object")) };
        PaimonSnapshot::from_json(raw)
    }

    /// As [`PaimonSnapshot::parse`], from JSON.
    ///
    /// # Errors
    /// As [`PaimonSnapshot::parse`].
    pub fn from_json(raw: Map<String, Json>) -> Result<PaimonSnapshot> {
        let members = JsonMembers::of_map(&raw, |key| Error::corrupt(format!("the snapshot has no '{key}'")));
        let text = |key: &str| members.any_string(key).map(str::to_owned);
        let version = members.any_long("version").unwrap_or(1);
        if version > CURRENT_VERSION {
            return Err(Error::unsupported(format!("snapshots of version {version} can't be read")));
        }
        Ok(PaimonSnapshot {
            version,
            id: members.long("id")?,
            schema_id: members.long("schemaId")?,
            base_manifest_list: members.string("baseManifestList")?.to_owned(),
            base_manifest_list_size: members.any_long("baseManifestListSize"),
            delta_manifest_list: members.string("deltaManifestList")?.to_owned(),
            delta_manifest_list_size: members.any_long("deltaManifestListSize"),
            changelog_manifest_list: text("changelogManifestList"),
            changelog_manifest_list_size: members.any_long("changelogManifestListSize"),
            index_manifest: text("indexManifest"),
            commit_user: text("commitUser").unwrap_or_default(),
            commit_identifier: members.any_long("commitIdentifier").unwrap_or_default(),
            commit_kind: members.string("commitKind")?.to_owned(),
            time_ms: members.long("timeMillis")?,
            total_record_count: members.any_long("totalRecordCount"),
            delta_record_count: members.any_long("deltaRecordCount"),
            changelog_record_count: members.any_long("changelogRecordCount"),
            watermark: members.any_long("watermark"),
            statistics: text("statistics"),
            properties: members.texts("properties").unwrap_or_default(),
            next_row_id: members.any_long("nextRowId"),
            raw,
        })
    }

    /// The snapshot's file, as Java writes it. Unknown members are kept.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Map::new();
        let mut put = |key: &str, value: Option<Json>| out.extend(value.map(|v| (key.to_owned(), v)));
        put("version", Some(self.version.into()));
        put("id", Some(self.id.into()));
        put("schemaId", Some(self.schema_id.into()));
        put("baseManifestList", Some(self.base_manifest_list.as_str().into()));
        put("baseManifestListSize", self.base_manifest_list_size.map(Json::from));
        put("deltaManifestList", Some(self.delta_manifest_list.as_str().into()));
        put("deltaManifestListSize", self.delta_manifest_list_size.map(Json::from));
        put("changelogManifestList", self.changelog_manifest_list.as_deref().map(Json::from));
        put("changelogManifestListSize", self.changelog_manifest_list_size.map(Json::from));
        put("indexManifest", self.index_manifest.as_deref().map(Json::from));
        put("commitUser", Some(self.commit_user.as_str().into()));
        put("commitIdentifier", Some(self.commit_identifier.into()));
        put("commitKind", Some(self.commit_kind.as_str().into()));
        put("timeMillis", Some(self.time_ms.into()));
        put("totalRecordCount", self.total_record_count.map(Json::from));
        put("deltaRecordCount", self.delta_record_count.map(Json::from));
        put("changelogRecordCount", self.changelog_record_count.map(Json::from));
        put("watermark", self.watermark.map(Json::from));
        put("statistics", self.statistics.as_deref().map(Json::from));
        let properties: Map<String, Json> =
            self.properties.iter().map(|(k, v)| (k.clone(), v.as_str().into())).collect();
        put("properties", (!properties.is_empty()).then_some(Json::Object(properties)));
        put("nextRowId", self.next_row_id.map(Json::from));
        for (key, value) in self.raw.iter().filter(|(_, v)| !v.is_null()) {
            if !KEYS.contains(&key.as_str()) {
                out.insert(key.clone(), value.clone());
            }
        }
        pretty(&Json::Object(out))
    }
}

impl Tag {
    /// Reads a tag file.
    ///
    /// # Errors
    /// As [`PaimonSnapshot::parse`].
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Tag> {
        let snapshot = PaimonSnapshot::parse(bytes)?;
        let get = |key: &str| snapshot.raw.get(key).filter(|v| !v.is_null()).cloned();
        let (create_time, time_retained) = (get("tagCreateTime"), get("tagTimeRetained"));
        Ok(Tag { name: name.to_owned(), create_time, time_retained, snapshot })
    }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
