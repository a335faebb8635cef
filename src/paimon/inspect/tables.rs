//! Metadata tables of Apache Paimon, with the columns of Java's system tables.
//!
//! Times are in UTC; Java shows them in the zone of its process. Creation times of files come from the clock of their
//! writer, in any zone.
//!
//! Source: Java's `SnapshotsTable`, `SchemasTable`, `OptionsTable`, `TagsTable`, `BranchesTable`, `ConsumersTable`.

use serde_json::{Value as Json, json};

use super::columns::{instants, local_times, longs, owned_texts, rows, texts};
use super::files;
use crate::error::{Error, Result, ResultExt};
use crate::format::request::At;
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::catalog::tag_times;
use crate::paimon::commit::expire::consumers;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::paimon::state::PaimonTable;
use crate::rows::metadata_rows::MetadataRows;

/// The names; as in Java, except for `refs`, `loads`, `data_files` and `entries`.
const NAMES: [&str; 15] = [
    "snapshots",
    "schemas",
    "options",
    "tags",
    "branches",
    "refs",
    "consumers",
    "loads",
    "files",
    "data_files",
    "entries",
    "manifests",
    "partitions",
    "buckets",
    "table_indexes",
];

/// The tables that show one version.
const OF_VERSIONS: [&str; 7] =
    ["files", "data_files", "entries", "manifests", "partitions", "buckets", "table_indexes"];

/// Reads a metadata table. `at` chooses the version of those that show one.
///
/// # Errors
/// `InvalidInput` for an unknown name, and for `at` with a table that does not show one version; `NotFound` for a
/// missing version, and if the table was dropped and created again; `CorruptTable` or the store's, naming the file.
pub(crate) fn inspect(table: &PaimonTable, name: &str, at: Option<&At>) -> Result<MetadataRows> {
    if !NAMES.contains(&name) {
        return Err(Error::invalid(format!("there is no metadata table '{name}' of tables of Apache Paimon"))
            .hint(format!("The tables are: {}", NAMES.join(", "))));
    }
    if at.is_some() && !OF_VERSIONS.contains(&name) {
        return Err(Error::invalid("this metadata table is about all versions of the table").hint("Leave out at="));
    }
    table.metadata().check_same_table()?;
    let folder = table.folder();
    match name {
        "snapshots" => snapshots(&folder.snapshots()?),
        "schemas" => schemas(folder),
        "options" => options(table),
        "tags" => tags(folder),
        "branches" => branches(folder),
        "refs" => refs(table),
        "consumers" => rows_of_consumers(folder),
        "loads" => loads(folder),
        _ => {
            let (table, snapshot) = table.version_at(at)?;
            files::of_version(&table, snapshot.as_deref(), name)
        }
    }
}

fn snapshots(all: &[PaimonSnapshot]) -> Result<MetadataRows> {
    let of = || all.iter();
    rows(vec![
        ("snapshot_id", false, longs(of().map(|s| Some(s.id)))),
        ("schema_id", false, longs(of().map(|s| Some(s.schema_id)))),
        ("commit_user", false, texts(of().map(|s| Some(s.commit_user.as_str())))),
        ("commit_identifier", false, longs(of().map(|s| Some(s.commit_identifier)))),
        ("commit_kind", false, texts(of().map(|s| Some(s.commit_kind.as_str())))),
        ("commit_time", false, instants(of().map(|s| Some(s.time_ms)))),
        ("base_manifest_list", false, texts(of().map(|s| Some(s.base_manifest_list.as_str())))),
        ("delta_manifest_list", false, texts(of().map(|s| Some(s.delta_manifest_list.as_str())))),
        ("changelog_manifest_list", true, texts(of().map(|s| s.changelog_manifest_list.as_deref()))),
        ("total_record_count", true, longs(of().map(|s| s.total_record_count))),
        ("delta_record_count", true, longs(of().map(|s| s.delta_record_count))),
        ("changelog_record_count", true, longs(of().map(|s| s.changelog_record_count))),
        ("watermark", true, longs(of().map(|s| s.watermark))),
        ("next_row_id", true, longs(of().map(|s| s.next_row_id))),
    ])
}

fn schemas(folder: &TableFolder) -> Result<MetadataRows> {
    let all = folder.schemas()?;
    let of = || all.values();
    let json = |value: Json| Some(value.to_string());
    rows(vec![
        ("schema_id", false, longs(of().map(|s| Some(s.id)))),
        (
            "fields",
            false,
            owned_texts(
                of().map(|s| json(s.fields.iter().map(crate::paimon::spec::data_type::DataField::to_json).collect())),
            ),
        ),
        ("partition_keys", false, owned_texts(of().map(|s| json(json!(s.partition_keys))))),
        ("primary_keys", false, owned_texts(of().map(|s| json(json!(s.primary_keys))))),
        ("options", false, owned_texts(of().map(|s| json(json!(s.options))))),
        ("comment", true, texts(of().map(|s| s.comment.as_deref()))),
        ("update_time", false, instants(of().map(|s| Some(s.time_ms)))),
    ])
}

fn options(table: &PaimonTable) -> Result<MetadataRows> {
    let options = &table.table_schema().options;
    rows(vec![
        ("key", false, texts(options.keys().map(|k| Some(k.as_str())))),
        ("value", false, texts(options.values().map(|v| Some(v.as_str())))),
    ])
}

fn tags(folder: &TableFolder) -> Result<MetadataRows> {
    let mut all = folder.tags()?;
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let of = || all.iter();
    let recorded = |value: &Option<Json>| value.as_ref().and_then(tag_times::duration_text);
    rows(vec![
        ("tag_name", false, texts(of().map(|t| Some(t.name.as_str())))),
        ("snapshot_id", false, longs(of().map(|t| Some(t.snapshot.id)))),
        ("schema_id", false, longs(of().map(|t| Some(t.snapshot.schema_id)))),
        ("commit_time", false, instants(of().map(|t| Some(t.snapshot.time_ms)))),
        ("record_count", true, longs(of().map(|t| t.snapshot.total_record_count))),
        ("create_time", true, local_times(of().map(|t| t.create_time.as_ref().and_then(tag_times::local_time)))),
        ("time_retained", true, owned_texts(of().map(|t| recorded(&t.time_retained)))),
    ])
}

fn branches(folder: &TableFolder) -> Result<MetadataRows> {
    let mut names = folder.branches()?;
    names.sort_unstable();
    // A branch was made when its oldest schema was made.
    let created = |name: String| -> Result<Option<(String, Option<i64>)>> {
        // One may be dropped just now.
        let Some(branch) = folder.branch(&name).if_found()? else { return Ok(None) };
        let files = folder.store().list(branch.schema_path(0).rsplit_once('/').map_or("", |(folder, _)| folder))?;
        Ok(Some((name, files.iter().map(|f| f.modified_ms).min())))
    };
    let found = names.into_iter().filter_map(|name| created(name).transpose()).collect::<Result<Vec<_>>>()?;
    rows(vec![
        ("branch_name", false, texts(found.iter().map(|(name, _)| Some(name.as_str())))),
        ("create_time", true, instants(found.iter().map(|(_, at)| *at))),
    ])
}

fn refs(table: &PaimonTable) -> Result<MetadataRows> {
    let all = table.refs()?;
    rows(vec![
        ("name", false, texts(all.iter().map(|r| Some(r.name.as_str())))),
        ("type", false, owned_texts(all.iter().map(|r| Some(r.kind.to_ascii_uppercase())))),
        ("snapshot_id", false, longs(all.iter().map(|r| Some(r.snapshot_id)))),
    ])
}

fn rows_of_consumers(folder: &TableFolder) -> Result<MetadataRows> {
    let all = consumers(folder)?;
    rows(vec![
        ("consumer_id", false, texts(all.iter().map(|(id, _)| Some(id.as_str())))),
        ("next_snapshot_id", false, longs(all.iter().map(|(_, next)| Some(*next)))),
    ])
}

fn loads(folder: &TableFolder) -> Result<MetadataRows> {
    let all = folder.loads()?;
    let of = || all.iter();
    rows(vec![
        ("file_path", false, texts(of().map(|l| Some(l.path.as_str())))),
        ("file_size_in_bytes", false, longs(of().map(|l| Some(l.size_bytes)))),
        ("last_modified", false, instants(of().map(|l| Some(l.modified_ms)))),
        ("loaded_at", false, instants(of().map(|l| Some(l.loaded_at_ms)))),
        ("snapshot_id", false, longs(of().map(|l| Some(l.snapshot_id)))),
        ("record_count", false, longs(of().map(|l| Some(l.rows)))),
    ])
}
