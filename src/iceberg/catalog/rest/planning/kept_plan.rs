//! A plan that the server keeps.

use std::time::Duration;

use super::super::endpoints::Endpoint;
use super::super::names::RouteTarget;
use super::super::session::SharedSession;
use crate::format::ident::TableIdent;

/// How long the end of a scan waits for the server to hear that a plan is not needed.
const LAST_WAIT: Duration = Duration::from_millis(250);

/// A plan that the server keeps. Unless it is finished, dropping it cancels the plan. A forked process also drops it,
/// but the plan is that of its parent.
pub(super) struct KeptPlan {
    pub(super) session: SharedSession,
    pub(super) ident: TableIdent,
    pub(super) plan_id: Option<String>,
    pub(super) is_finished: bool,
    process: u32,
}

impl KeptPlan {
    /// A plan of this process that is not finished.
    pub(super) fn new(session: SharedSession, ident: TableIdent, plan_id: Option<String>) -> KeptPlan {
        KeptPlan { session, ident, plan_id, is_finished: false, process: std::process::id() }
    }

    fn is_over(&self) -> bool {
        self.is_finished || self.process != std::process::id()
    }
}

impl Drop for KeptPlan {
    fn drop(&mut self) {
        let Some(plan_id) = self.plan_id.as_deref().filter(|_| !self.is_over()) else { return };
        let Ok(server) = self.session.server() else { return };
        let target = RouteTarget::Plan(&self.ident, plan_id);
        // Servers forget plans that nobody cancels.
        if let Ok(request) = server.request(Endpoint::CancelPlan, target, &[]) {
            server.send_later(request).wait_at_most(LAST_WAIT);
        }
    }
}
