//! Reports as JSON.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::expr::json::predicate_to_json;
use crate::expr::sanitized::{self, sanitized};
use crate::iceberg::catalog::reports::{CommitReport, MetricsReport, ScanReport};
use crate::iceberg::plan::planned::PlanCounters;

/// Counts of a commit by their names in snapshot summaries.
const COUNTS: [(&str, &str); 25] = [
    ("added-data-files", "added-data-files"),
    ("removed-data-files", "deleted-data-files"),
    ("total-data-files", "total-data-files"),
    ("added-delete-files", "added-delete-files"),
    ("added-equality-delete-files", "added-equality-delete-files"),
    ("added-positional-delete-files", "added-position-delete-files"),
    ("added-dvs", "added-dvs"),
    ("removed-positional-delete-files", "removed-position-delete-files"),
    ("removed-dvs", "removed-dvs"),
    ("removed-equality-delete-files", "removed-equality-delete-files"),
    ("removed-delete-files", "removed-delete-files"),
    ("total-delete-files", "total-delete-files"),
    ("added-records", "added-records"),
    ("removed-records", "deleted-records"),
    ("total-records", "total-records"),
    ("added-positional-deletes", "added-position-deletes"),
    ("removed-positional-deletes", "removed-position-deletes"),
    ("total-positional-deletes", "total-position-deletes"),
    ("added-equality-deletes", "added-equality-deletes"),
    ("removed-equality-deletes", "removed-equality-deletes"),
    ("total-equality-deletes", "total-equality-deletes"),
    ("manifests-kept", "manifests-kept"),
    ("manifests-created", "manifests-created"),
    ("manifests-replaced", "manifests-replaced"),
    ("manifest-entries-processed", "entries-processed"),
];

/// Sizes of a commit by their names in snapshot summaries.
const SIZES: [(&str, &str); 3] = [
    ("added-files-size-bytes", "added-files-size"),
    ("removed-files-size-bytes", "removed-files-size"),
    ("total-files-size-bytes", "total-files-size"),
];

/// Whether a report is too long to be sent.
pub(super) fn is_too_long(report: &MetricsReport) -> bool {
    matches!(report, MetricsReport::Scan(scan) if sanitized::is_too_long(&scan.filter))
}

/// The body of a request with a report. `now_micros` is the time, in microseconds since the epoch.
pub(super) fn report_json(report: &MetricsReport, table: &str, now_micros: i64) -> Json {
    let mut out = match report {
        MetricsReport::Scan(scan) => of_scan(scan, now_micros),
        MetricsReport::Commit(commit) => of_commit(commit),
    };
    out["table-name"] = json!(table);
    out["metadata"] = json!({"engine-name": "frazil", "engine-version": env!("CARGO_PKG_VERSION")});
    out
}

fn of_scan(report: &ScanReport, now_micros: i64) -> Json {
    json!({
        "report-type": "scan-report",
        "snapshot-id": report.snapshot_id,
        "filter": predicate_to_json(&sanitized(&report.filter, now_micros)),
        "schema-id": report.schema_id,
        "projected-field-ids": report.columns.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
        "projected-field-names": report.columns.iter().map(|(_, name)| name).collect::<Vec<_>>(),
        "metrics": scan_metrics(&report.counters),
    })
}

fn scan_metrics(c: &PlanCounters) -> Json {
    let milliseconds = c.read_ms + c.list_ms + c.deletes_ms + c.entries_ms;
    let unit = |name: &str| if name.ends_with("-in-bytes") { "bytes" } else { "count" };
    let counts = c.metrics().into_iter().map(|(name, value)| (name.to_owned(), counter(unit(name), value)));
    let mut out: Map<String, Json> = counts.collect();
    out.insert("total-planning-duration".to_owned(), timer((milliseconds * 1e6) as u64));
    Json::Object(out)
}

fn of_commit(report: &CommitReport) -> Json {
    let mut metrics = Map::new();
    metrics.insert("total-duration".to_owned(), timer(u64::try_from(report.duration.as_nanos()).unwrap_or(u64::MAX)));
    metrics.insert("attempts".to_owned(), counter("count", u64::from(report.attempts)));
    add(&mut metrics, &report.summary, "count", &COUNTS);
    add(&mut metrics, &report.summary, "bytes", &SIZES);
    json!({
        "report-type": "commit-report",
        "snapshot-id": report.snapshot_id,
        "sequence-number": report.sequence_number,
        "operation": report.summary.get("operation").map_or("append", String::as_str),
        "metrics": metrics,
    })
}

/// Adds the values that a summary has.
fn add(out: &mut Map<String, Json>, summary: &BTreeMap<String, String>, unit: &str, names: &[(&str, &str)]) {
    for (name, of_summary) in names {
        if let Some(value) = summary.get(*of_summary).and_then(|text| text.parse().ok()) {
            out.insert((*name).to_owned(), counter(unit, value));
        }
    }
}

fn counter(unit: &str, value: u64) -> Json {
    json!({"unit": unit, "value": value})
}

fn timer(nanoseconds: u64) -> Json {
    json!({"count": 1, "time-unit": "nanoseconds", "total-duration": nanoseconds})
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::expr::{BoundPredicate, bind, parse};
    use crate::format::manifest_count::ManifestCount;
    use crate::types::{Field, PrimitiveType, Schema};

    #[test]
    fn a_scan_is_reported() {
        let mut counters =
            PlanCounters { files: 10, files_kept: 4, bytes_kept: 900, entries_ms: 1.5, ..Default::default() };
        counters.data_manifests = ManifestCount { manifests: 3, bytes: 30 };
        counters.matching_manifests = ManifestCount { manifests: 2, bytes: 20 };
        let report = MetricsReport::Scan(Box::new(ScanReport {
            snapshot_id: 7,
            schema_id: 2,
            filter: Arc::new(BoundPredicate::True),
            columns: vec![(1, "id".to_owned()), (4, "at.x".to_owned())],
            counters,
        }));
        let json = report_json(&report, "prod.db.t", 0);
        assert_eq!(json["report-type"], "scan-report");
        assert_eq!(
            (&json["table-name"], &json["snapshot-id"], &json["schema-id"]),
            (&json!("prod.db.t"), &json!(7), &json!(2))
        );
        assert_eq!(json["filter"], json!(true));
        assert_eq!(json["projected-field-ids"], json!([1, 4]));
        assert_eq!(json["projected-field-names"], json!(["id", "at.x"]));
        let value = |name: &str| json["metrics"][name]["value"].as_u64().unwrap();
        assert_eq!(
            (value("total-data-manifests"), value("scanned-data-manifests"), value("skipped-data-manifests")),
            (3, 2, 1)
        );
        assert_eq!((value("result-data-files"), value("skipped-data-files")), (4, 6));
        assert_eq!(json["metrics"]["total-file-size-in-bytes"], json!({"unit": "bytes", "value": 900}));
        let duration = json!({"count": 1, "time-unit": "nanoseconds", "total-duration": 1_500_000});
        assert_eq!(json["metrics"]["total-planning-duration"], duration);
    }

    #[test]
    fn a_long_filter_is_not_reported() {
        let schema = Schema::new(0, vec![Field::new(1, "id", false, PrimitiveType::Long)], Vec::new());
        let is_too_long = |count: usize| {
            let values = (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
            let filter = bind(&parse(&format!("id in ({values})")).unwrap(), &schema, true).unwrap();
            is_too_long(&MetricsReport::Scan(Box::new(ScanReport {
                snapshot_id: 7,
                schema_id: 0,
                filter: Arc::new(filter),
                columns: Vec::new(),
                counters: PlanCounters::default(),
            })))
        };
        assert!(!is_too_long(1000) && is_too_long(1001));
    }

    #[test]
    fn a_commit_is_reported() {
        let summary = [
            ("operation", "overwrite"),
            ("added-data-files", "2"),
            ("deleted-records", "5"),
            ("added-files-size", "77"),
            ("total-records", "many"),
        ];
        let summary = summary.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let report = MetricsReport::Commit(Box::new(CommitReport {
            snapshot_id: 7,
            sequence_number: 3,
            summary,
            attempts: 2,
            duration: Duration::from_micros(3),
        }));
        let json = report_json(&report, "prod.db.t", 0);
        assert_eq!(
            (&json["report-type"], &json["operation"], &json["sequence-number"]),
            (&json!("commit-report"), &json!("overwrite"), &json!(3))
        );
        let expected = json!({
            "total-duration": {"count": 1, "time-unit": "nanoseconds", "total-duration": 3000},
            "attempts": {"unit": "count", "value": 2},
            "added-data-files": {"unit": "count", "value": 2},
            "removed-records": {"unit": "count", "value": 5},
            "added-files-size-bytes": {"unit": "bytes", "value": 77},
        });
        assert_eq!(json["metrics"], expected);
    }
}
