//! Fetches the parts of a plan.

use std::collections::{BTreeMap, HashSet, VecDeque};

use serde_json::json;

use super::super::endpoints::Endpoint;
use super::super::names::RouteTarget;
use super::super::server::RestServer;
use super::answer::PlannedTasks;
use super::kept_plan::KeptPlan;
use crate::error::{Error, Result, ResultExt};
use crate::iceberg::plan::served::planner::{ServedPages, TaskPage};
use crate::parallel::{check_cancelled, in_parallel_on};

/// The number of parts that are fetched at once.
const AT_ONCE: usize = 4;

/// The most parts of a plan.
const MOST_PARTS: usize = 10_000_000;

/// The most bytes of their names.
const MOST_BYTES: usize = 64 << 20;

/// A finished plan of the server.
pub(super) struct ServerPlan {
    kept: KeptPlan,
    options: Option<BTreeMap<String, String>>,
    ready: VecDeque<TaskPage>,
    /// Names of parts that were not fetched yet.
    parts: VecDeque<String>,
    /// Names of all parts.
    seen: HashSet<String>,
    /// The bytes of these names.
    seen_bytes: usize,
}

impl ServerPlan {
    /// The plan that begins with `first`.
    pub(super) fn new(kept: KeptPlan, first: PlannedTasks, options: Option<BTreeMap<String, String>>) -> ServerPlan {
        let (ready, parts) = (VecDeque::from([first.page]), first.parts.into());
        let mut plan = ServerPlan { kept, options, ready, parts, seen: HashSet::new(), seen_bytes: 0 };
        let seen = &mut plan.seen;
        plan.parts.retain(|name| seen.insert(name.clone()));
        plan.seen_bytes = plan.seen.iter().map(String::len).sum();
        plan.settle();
        plan
    }

    /// The server may forget a plan whose parts are all fetched.
    fn settle(&mut self) {
        self.kept.is_finished |= self.parts.is_empty();
    }

    /// Fetches the next parts.
    fn fetch(&mut self) -> Result<()> {
        let wave: Vec<String> = self.parts.iter().take(AT_ONCE).cloned().collect();
        let session = self.kept.session.clone();
        let server = session.server()?;
        let fetched = in_parallel_on(AT_ONCE, wave.len(), |i| {
            check_cancelled()?;
            self.part(server, wave.get(i).map_or("", String::as_str))
        });
        for part in fetched.with("table", &self.kept.ident)? {
            self.parts.pop_front();
            self.ready.push_back(part.page);
            for name in part.parts {
                // A part that was named before would never end.
                if !self.seen.insert(name.clone()) {
                    return Err(Error::corrupt("the server's plan names one of its parts (plan-tasks) twice"));
                }
                self.seen_bytes = self.seen_bytes.saturating_add(name.len());
                self.parts.push_back(name);
            }
        }
        if self.seen.len() > MOST_PARTS {
            return Err(Error::corrupt(format!("the server's plan has more than {MOST_PARTS} parts (plan-tasks)")));
        }
        if self.seen_bytes > MOST_BYTES {
            let message = format!("the names of the parts (plan-tasks) of the server's plan exceed {MOST_BYTES} bytes");
            return Err(Error::corrupt(message));
        }
        self.settle();
        Ok(())
    }

    fn part(&self, server: &RestServer, name: &str) -> Result<PlannedTasks> {
        let endpoint = Endpoint::FetchTasks;
        let request = server.request(endpoint, RouteTarget::Table(&self.kept.ident), &[])?;
        let mut request = request.json(&json!({"plan-task": name}));
        // It changes nothing.
        request.repeatable = true;
        let answer = server.read("tell the tasks of the plan", endpoint, &request)?;
        server.parsed(endpoint, &request, || PlannedTasks::of(&answer))
    }
}

impl ServedPages for ServerPlan {
    fn plan_id(&self) -> Option<&str> {
        self.kept.plan_id.as_deref()
    }

    fn storage_options(&self) -> Option<&BTreeMap<String, String>> {
        self.options.as_ref()
    }

    fn next_page(&mut self) -> Result<Option<TaskPage>> {
        while self.ready.is_empty() && !self.parts.is_empty() {
            self.fetch()?;
        }
        Ok(self.ready.pop_front())
    }
}
