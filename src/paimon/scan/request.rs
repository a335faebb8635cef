//! From a scan request to a scan: versions, branches, options.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::handle::{PaimonScan, Selection, check_places};
use crate::error::{Error, ErrorKind, Result};
use crate::expr::{BoundLeaf, BoundPredicate, BoundTerm, Op};
use crate::format::request::{At, ScanRequest};
use crate::format::task::{BucketContext, ReadContext};
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::plan::changes::earliest_told;
use crate::paimon::plan::travel::{Between, ChangeMode, End, between, change_mode, place};
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::state::PaimonTable;
use crate::rows::change_columns::{with_columns, with_fields};
use crate::rows::scan_options::ScanOptions;
use crate::rows::shape::ScanShape;
use crate::store::Location;
use crate::store::credentials::current_options;
use crate::types::metadata_columns::{CHANGE_COLUMNS, CHANGE_TYPE, FILE, LINEAGE_COLUMNS, POS, metadata_column};
use crate::types::options::Options;
use crate::types::{Schema, Value};

/// Options of Frazil's own.
const OWN_OPTIONS: [&str; 2] = ["batch-rows", "case-sensitive"];

/// The options of Paimon that a scan may override: the version that is read, and how it is planned. A misspelt option
/// must not be ignored.
const SCAN_OPTIONS: [&str; 27] = [
    "scan.mode",
    "scan.snapshot-id",
    "scan.tag-name",
    "scan.version",
    "scan.timestamp",
    "scan.timestamp-millis",
    "scan.watermark",
    "scan.creation-time-millis",
    "scan.file-creation-time-millis",
    "scan.bounded.watermark",
    "scan.fallback-branch",
    "scan.fallback-delta-branch",
    "scan.fallback-snapshot-branch",
    "scan.primary-branch",
    "scan.ignore-corrupt-files",
    "scan.ignore-lost-files",
    "scan.manifest.parallelism",
    "scan.max-splits-per-task",
    "scan.plan-sort-partition",
    "incremental-between",
    "incremental-between-scan-mode",
    "incremental-between-tag-to-snapshot",
    "incremental-between-timestamp",
    "source.split.target-size",
    "source.split.open-file-cost",
    "file-index.read.enabled",
    "blob-as-descriptor",
];

/// The prefixes of options that name a version, or a start that implies one.
const PLACES: [&str; 2] = ["scan.", "incremental-between"];

/// Options of tables that are more than their own files: rows come from several branches, or by other rules.
const COMPOSED: [&str; 3] = ["scan.fallback-branch", "scan.primary-branch", "chain-table.enabled"];

/// Refuses tables that would be read wrongly.
fn check_plain(options: &BTreeMap<String, String>) -> Result<()> {
    let is_set = |key: &&&str| options.get(**key).is_some_and(|value| !value.eq_ignore_ascii_case("false"));
    let kind = options.get("type").map_or("table", String::as_str);
    match COMPOSED.iter().find(is_set) {
        Some(option) => Err(Error::unsupported(format!("tables with the option '{option}' cannot be read yet"))
            .hint("Read one branch: scan(at=\"branch\") of a table without that option")),
        None if !kind.eq_ignore_ascii_case("table") => {
            Err(Error::unsupported(format!("tables of type '{kind}' cannot be read yet")))
        }
        None => Ok(()),
    }
}

impl PaimonTable {
    /// A lazy scan.
    ///
    /// # Errors
    /// `NotFound` for a version that does not exist; `InvalidInput` for a wrong filter, column or option.
    pub fn scan(&self, request: ScanRequest) -> Result<PaimonScan> {
        scan(self, request)
    }

    /// As [`PaimonTable::scan`], for rows to be changed. Reads the newest version. Ignores the table's options that
    /// name a version for readers (`scan.mode`, `scan.snapshot-id` and others).
    ///
    /// # Errors
    /// As [`PaimonTable::scan`].
    pub(crate) fn scan_newest(&self, request: ScanRequest) -> Result<PaimonScan> {
        let mut options = plain_options(self, &request.options)?;
        options.retain(|key, _| !names_version(key));
        version(self, request, options)
    }
}

/// The scan that a request asks for.
fn scan(table: &PaimonTable, request: ScanRequest) -> Result<PaimonScan> {
    // A branch has options of its own.
    let branch = match &request.at {
        Some(At::Ref(name)) if !request.changes && !table.folder().tag_names()?.contains(name) => {
            Some(table.branch(name)?)
        }
        _ => None,
    };
    let table = branch.as_ref().unwrap_or(table);
    let request = if branch.is_some() { ScanRequest { at: None, ..request } } else { request };
    let options = plain_options(table, &request.options)?;
    let names_changes = |key: &String| matches!(key.as_str(), "incremental-between" | "incremental-between-timestamp");
    // The table's own options choose a version only if the scan chooses none.
    let says_nothing = request.at.is_none() && request.since.is_none() && !request.changes;
    if request.options.keys().any(names_changes) || (says_nothing && options.keys().any(names_changes)) {
        return Err(
            Error::invalid("options can't ask for a scan of changes").hint("Use table.changes(since=..., at=...)")
        );
    }
    if request.changes { changes(table, request, options) } else { version(table, request, options) }
}

fn names_version(key: &str) -> bool {
    PLACES.iter().any(|start| key.starts_with(start))
}

/// The table's options, overridden by those of the scan. Refuses tables that consist of more than their own files.
fn plain_options(table: &PaimonTable, given: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    let options = merged(table, given)?;
    check_plain(&options)?;
    Ok(options)
}

/// The table's options, overridden by those of the scan.
fn merged(table: &PaimonTable, given: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    let known = |key: &str| OWN_OPTIONS.contains(&key) || SCAN_OPTIONS.contains(&key);
    if let Some(odd) = given.keys().find(|key| !known(key)) {
        return Err(Error::invalid(format!("there is no scan option '{odd}'")).hint(format!(
            "There are {}, and of Paimon {}",
            OWN_OPTIONS.join(", "),
            SCAN_OPTIONS.join(", ")
        )));
    }
    let mut options = table.table_schema().options.clone();
    options.extend(given.iter().map(|(k, v)| (k.clone(), v.clone())));
    Ok(options)
}

/// A scan of a version.
fn version(table: &PaimonTable, request: ScanRequest, mut options: BTreeMap<String, String>) -> Result<PaimonScan> {
    if request.since.is_some() {
        return appended(table, request, options);
    }
    let at = match &request.at {
        Some(At::Snapshot(id)) => Some(("scan.snapshot-id", id.to_string())),
        Some(At::TimestampMs(ms)) => Some(("scan.timestamp-millis", ms.to_string())),
        Some(At::Ref(name)) => Some(("scan.tag-name", name.clone())),
        None => None,
    };
    if let (Some(_), Some(other)) = (&at, request.options.keys().find(|key| key.starts_with("scan."))) {
        return Err(Error::invalid(format!("both at= and the option '{other}' say which version to read"))
            .hint("Leave out one of them"));
    }
    if let Some((key, value)) = at {
        options.retain(|key, _| !names_version(key));
        options.insert(key.to_owned(), value);
    }
    if options.keys().any(|key| names_version(key)) {
        table.metadata().check_same_table()?;
    }
    let place = place(table.folder(), table.metadata().snapshot.clone(), &options)?;
    let schema = match &place.snapshot {
        Some(snapshot) if place.own_schema => table.metadata().schema_by_id(snapshot.schema_id)?,
        _ => table.table_schema(),
    };
    let columns = schema.columns();
    let more = more_columns(schema)?;
    let all = with_fields(columns, more.iter().filter_map(|id| metadata_column(*id)));
    new_scan(table, schema.clone(), Selection::Version(place), columns.clone(), all, request, options)
}

/// A scan of the rows added between two versions: Java's `incremental-between`. Append tables use `delta`. Tables with
/// a primary key use their changelog if there is one, without rows that were retracted or deleted.
fn appended(table: &PaimonTable, request: ScanRequest, mut options: BTreeMap<String, String>) -> Result<PaimonScan> {
    let schema = table.table_schema();
    if Options(&options).data_evolution()? {
        return Err(Error::unsupported(
            "tables of Apache Paimon with columns in several files have no scan of appended rows",
        )
        .hint("table.changes(since=...) gives the rows that changed"));
    }
    if let Some(other) = request.options.keys().find(|key| key.starts_with("scan.")) {
        return Err(Error::invalid(format!("both since= and the option '{other}' say which version to read"))
            .hint("Leave out one of them"));
    }
    if !schema.has_primary_key() {
        // Between two tags, Java would compare their states.
        for (key, value) in
            [("incremental-between-scan-mode", "delta"), ("incremental-between-tag-to-snapshot", "true")]
        {
            options.insert(key.to_owned(), value.to_owned());
        }
    }
    let between = ends(table, &request, &options)?;
    let columns = schema.columns();
    let all = with_fields(columns, more_columns(schema)?.into_iter().filter_map(metadata_column));
    new_scan(table, schema.clone(), Selection::Appended(between), columns.clone(), all, request, options)
}

/// Rows as a change left them.
fn left_by_changes() -> Result<BoundPredicate> {
    let column = metadata_column(CHANGE_TYPE);
    let term = column.as_ref().and_then(|column| BoundTerm::of_column(&[column]));
    let term = term.ok_or_else(|| Error::internal("the type of a change is not a column"))?;
    let values = ["insert", "update_after"].map(|kind| Value::String(kind.into()));
    Ok(BoundPredicate::Leaf(BoundLeaf { term, op: Op::In, values: values.into() }))
}

/// The two versions around the changes; `None` if they are the same.
fn ends(table: &PaimonTable, request: &ScanRequest, options: &BTreeMap<String, String>) -> Result<Option<Between>> {
    let folder = table.folder();
    table.metadata().check_same_table()?;
    let mode = change_mode(Options(options))?;
    let latest = table.metadata().snapshot.as_ref().map(|s| End::Snapshot(s.id));
    let Some(end) = request.at.as_ref().map(|at| end_of(folder, at)).transpose()?.or(latest) else { return Ok(None) };
    let start = match &request.since {
        None => before_all(folder, mode, &end)?,
        Some(since) => match end_of(folder, since) {
            Err(e) if e.kind() == ErrorKind::NotFound && matches!(since, At::TimestampMs(_)) => {
                match before_all(folder, mode, &end)? {
                    // The start of the table. If it has expired, Java silently begins later.
                    start @ End::Snapshot(0) => start,
                    first => {
                        let left = "changes without since= are all changes that are kept";
                        return Err(e.advise(format!("Commits up to snapshot {first} have expired; {left}")));
                    }
                }
            }
            start => start?,
        },
    };
    between(folder, options, &start, &end)
}

/// A scan of the changes between two versions.
fn changes(table: &PaimonTable, request: ScanRequest, options: BTreeMap<String, String>) -> Result<PaimonScan> {
    let between = ends(table, &request, &options)?;
    let columns = table.schema();
    if let Some(taken) =
        CHANGE_COLUMNS.into_iter().filter_map(metadata_column).find(|c| columns.fields.iter().any(|f| f.name == c.name))
    {
        return Err(Error::unsupported("the table has a column with the name of one of a change log")
            .with("column", taken.name)
            .hint("Rename the column"));
    }
    let all = with_columns(columns, &CHANGE_COLUMNS);
    new_scan(table, table.table_schema().clone(), Selection::Changes(between), all.clone(), all, request, options)
}

/// The end of changes that a time, tag or number names.
fn end_of(folder: &TableFolder, at: &At) -> Result<End> {
    match at {
        At::Snapshot(id) => Ok(End::Snapshot(*id)),
        At::Ref(name) => match name.parse() {
            // As in Java's options: a tag comes first.
            Ok(id) if !folder.tag_names()?.contains(name) => Ok(End::Snapshot(id)),
            _ => Ok(End::Tag(name.clone())),
        },
        At::TimestampMs(ms) => match folder.commit_at_time(*ms)? {
            Some(id) => Ok(End::Snapshot(id)),
            None => Err(Error::not_found("the table has no snapshot from that time or before")
                .with("at", at)
                .with("path", folder.root())),
        },
    }
}

/// The state before the earliest commit from which all changes up to `end` are known.
fn before_all(folder: &TableFolder, mode: ChangeMode, end: &End) -> Result<End> {
    let end = match end {
        End::Snapshot(id) => *id,
        End::Tag(name) => folder.tag(name)?.snapshot.id,
    };
    Ok(End::Snapshot(earliest_told(folder, mode, end)?.unwrap_or(end).saturating_sub(1)))
}

/// The columns that rows have in addition to those of their table. A merged row is not in a single file.
fn more_columns(schema: &TableSchema) -> Result<Vec<i32>> {
    let options = Options(&schema.options);
    let mut more = if schema.has_primary_key() { vec![] } else { vec![FILE, POS] };
    if options.row_tracking()? {
        more.extend(LINEAGE_COLUMNS);
    }
    Ok(more)
}

/// The scan of a selection: rows have `columns` unless others are selected from `all`.
fn new_scan(
    table: &PaimonTable,
    schema: Arc<TableSchema>,
    selection: Selection,
    columns: Arc<Schema>,
    all: Arc<Schema>,
    request: ScanRequest,
    options: BTreeMap<String, String>,
) -> Result<PaimonScan> {
    let own = request.options.iter().filter(|(key, _)| OWN_OPTIONS.contains(&key.as_str()));
    let own = ScanOptions::parse(&own.map(|(k, v)| (k.clone(), v.clone())).collect())?;
    let schemas = &table.metadata().schemas;
    let buckets = BucketContext {
        schemas: schemas.iter().map(|(id, schema)| (*id, schema.columns().clone())).collect(),
        declared: schemas.iter().map(|(id, schema)| (*id, schema.declared().clone())).collect(),
        key: schema.key_fields().map(|f| f.id).collect(),
        options: options.clone(),
    };
    let context = ReadContext {
        schema: schema.columns().clone(),
        projection: columns,
        dropped: [].into(),
        change_filter: Arc::new(match selection {
            Selection::Appended(_) if schema.has_primary_key() => left_by_changes()?,
            _ => BoundPredicate::True,
        }),
        snapshot_id: selection.snapshot().map(|s| s.id),
        location: Location::recorded(),
        storage_options: current_options(table.storage_options(), table.location()),
        name_mapping: None,
        keep_deleted: false,
        batch_rows: own.batch_rows,
        buckets: Some(Arc::new(buckets)),
    };
    let shape = ScanShape::new(context, all, own.case_sensitive, matches!(selection, Selection::Changes(_)));
    let shape = shape.with(request.filter, request.select)?;
    check_places(&schema, &shape)?;
    Ok(PaimonScan { table: table.clone(), schema, selection, shape, options: Arc::new(options), every_level: false })
}
