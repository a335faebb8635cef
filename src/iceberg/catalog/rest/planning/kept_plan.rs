//! A plan that the server keeps.

use std::time::Duration;

use super::super::endpoints::Endpoint;
use super::super::names::RouteTarget;
use super::super::session::SharedSession;
use crate::format::ident::TableIdent;

/// How long the end of a scan waits for the server to hear that a plan is not needed.
const LAST_WAIT: Duration = Duration::from_millis(250);

/// A plan that the server keeps. Unless it is finished, dropping it cancels the plan.
pub(super) struct KeptPlan {
    pub(super) session: SharedSession,
    pub(super) ident: TableIdent,
    pub(super) plan_id: Option<String>,
    pub(super) is_finished: bool,
}

impl Drop for KeptPlan {
    fn drop(&mut self) {
        let Some(plan_id) = self.plan_id.as_deref().filter(|_| !self.is_finished) else { return };
        let Ok(server) = self.session.server() else { return };
        let target = RouteTarget::Plan(&self.ident, plan_id);
        // Servers forget plans that nobody cancels.
        if let Ok(request) = server.request(Endpoint::CancelPlan, target, &[]) {
            server.send_later(request).wait_at_most(LAST_WAIT);
        }
    }
}
