//! Asks for a plan and waits until it is ready.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::endpoints::Endpoint;
use super::super::errors::ServerError;
use super::super::names::RouteTarget;
use super::super::server::RestServer;
use super::super::session::SharedSession;
use super::answer::{PlanState, PlannedTasks};
use super::kept_plan::KeptPlan;
use super::mode::{plans_appends, time_limit};
use super::parts::ServerPlan;
use super::plan_store::plan_options;
use super::request::body;
use crate::error::{Error, Result, ResultExt};
use crate::format::ident::TableIdent;
use crate::iceberg::plan::served::planner::{ScanPlanner, ServedPages, ServedScan};
use crate::store::credentials::PrefixConfig;
use crate::store::http::wait;

/// The pauses between two questions for a plan. They double.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Plans scans of a table by its server.
#[derive(Debug)]
pub(in super::super) struct RestPlanner {
    pub(in super::super) session: SharedSession,
    pub(in super::super) ident: TableIdent,
    /// Where the table is.
    pub(in super::super) location: String,
    /// What the server says about the table.
    pub(in super::super) config: Arc<BTreeMap<String, String>>,
}

impl ScanPlanner for RestPlanner {
    fn plans_appends(&self) -> bool {
        self.session.server().is_ok_and(|server| plans_appends(&server.properties))
    }

    fn plan(&self, scan: &ServedScan) -> Result<Box<dyn ServedPages>> {
        let server = self.session.server()?;
        self.asked(server, scan).with("table", &self.ident)
    }
}

impl RestPlanner {
    fn asked(&self, server: &RestServer, scan: &ServedScan) -> Result<Box<dyn ServedPages>> {
        let endpoint = Endpoint::PlanScan;
        let request = server.request(endpoint, RouteTarget::Table(&self.ident), &[])?;
        let mut request = server.with_delegation(request).json(&body(scan));
        // A plan changes nothing, so it may be asked for again.
        request.repeatable = true;
        let answer = server.read("plan the scan", endpoint, &request)?;
        let state = server.parsed(endpoint, &request, || PlanState::of(&answer))?;
        let plan_id = match &state {
            PlanState::Submitted { plan_id } | PlanState::Completed { plan_id, .. } => plan_id.clone(),
            PlanState::Failed(_) | PlanState::Cancelled => None,
        };
        let (session, ident) = (self.session.clone(), self.ident.clone());
        let mut kept = KeptPlan::new(session, ident, plan_id);
        let (part, credentials) = match state {
            PlanState::Submitted { .. } => self.waited(server, &mut kept)?,
            PlanState::Completed { part, credentials, .. } => (part, credentials),
            PlanState::Failed(said) => return Err(failed(server, &said)),
            PlanState::Cancelled => return Err(cancelled()),
        };
        let options = match credentials.is_empty() {
            true => None,
            false => {
                let plan_id = kept.plan_id.as_deref();
                Some(plan_options(&self.session, &self.ident, &self.location, &self.config, plan_id, credentials)?)
            }
        };
        Ok(Box::new(ServerPlan::new(kept, part, options)))
    }

    /// The finished plan. Asks for it with growing pauses.
    fn waited(&self, server: &RestServer, kept: &mut KeptPlan) -> Result<(PlannedTasks, Vec<PrefixConfig>)> {
        let endpoint = Endpoint::FetchPlan;
        let no_name = || Error::corrupt("the server works on a plan without a name (plan-id)");
        let plan_id = kept.plan_id.clone().ok_or_else(no_name)?;
        let target = RouteTarget::Plan(&self.ident, &plan_id);
        let limit = time_limit(&server.properties)?;
        let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            let left = limit.saturating_sub(began.elapsed());
            wait(pause.min(left))?;
            let request = server.with_delegation(server.request(endpoint, target, &[])?);
            let answer = server.read("tell the state of the plan", endpoint, &request)?;
            match server.parsed(endpoint, &request, || PlanState::of(&answer))? {
                PlanState::Completed { part, credentials, .. } => return Ok((part, credentials)),
                PlanState::Submitted { .. } if began.elapsed() >= limit => {
                    return Err(Error::store("the catalog's server did not finish the plan in time")
                        .with("plan", &plan_id)
                        .with("milliseconds", limit.as_millis())
                        .hint("rest-scan-planning.poll-timeout-ms of the catalog is the longest wait"));
                }
                PlanState::Submitted { .. } => pause = (pause * 2).min(LONGEST_PAUSE),
                PlanState::Failed(said) => {
                    kept.is_finished = true;
                    return Err(failed(server, &said).with("plan", &plan_id));
                }
                PlanState::Cancelled => {
                    kept.is_finished = true;
                    return Err(cancelled().with("plan", &plan_id));
                }
            }
        }
    }
}

/// The error for a plan that the server could not make. The status of the answer says nothing about it.
fn failed(server: &RestServer, said: &ServerError) -> Error {
    let words = [said.kind.as_str(), said.message.as_str()];
    let text = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
    let text = if text.is_empty() { "it gives no reason".to_owned() } else { server.public(text) };
    Error::store(format!("the catalog's server could not plan the scan: {text}"))
}

fn cancelled() -> Error {
    Error::store("the plan of the scan was cancelled on the catalog's server").hint("Scan again")
}
