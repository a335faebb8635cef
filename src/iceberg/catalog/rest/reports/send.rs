//! Whether the server takes reports, and how they are sent.

use std::collections::BTreeMap;

use super::super::endpoints::Endpoint;
use super::super::names::RouteTarget;
use super::super::session::RestSession;
use super::text::{is_too_long, report_json};
use crate::format::ident::TableIdent;
use crate::iceberg::catalog::reports::MetricsReport;
use crate::types::temporal::now_ms;

/// The property that switches reports off.
const ENABLED: &str = "rest-metrics-reporting-enabled";

fn is_enabled(properties: &BTreeMap<String, String>) -> bool {
    properties.get(ENABLED).is_none_or(|value| !value.eq_ignore_ascii_case("false"))
}

/// Whether the server takes reports and the user wants them.
pub(in super::super) fn takes_reports(session: &RestSession) -> bool {
    session.server().is_ok_and(|server| server.has(Endpoint::ReportMetrics) && is_enabled(&server.properties))
}

/// Sends a report, unless it is too long. Nobody waits for it, and failures are ignored.
pub(in super::super) fn send(session: &RestSession, ident: &TableIdent, report: &MetricsReport) {
    if is_too_long(report) {
        return;
    }
    let Ok(server) = session.server() else { return };
    let Ok(request) = server.request(Endpoint::ReportMetrics, RouteTarget::Table(ident), &[]) else { return };
    let name = format!("{}.{ident}", session.name);
    drop(server.send_later(request.json(&report_json(report, &name, now_ms().saturating_mul(1_000)))));
}
