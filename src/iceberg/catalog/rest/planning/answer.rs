//! The answers of the server.

use serde_json::Value as Json;

use super::super::answers::members;
use super::super::errors::ServerError;
use crate::error::{Error, Result};
use crate::iceberg::plan::served::planner::TaskPage;
use crate::store::credentials::PrefixConfig;
use crate::store::http::HttpAnswer;
use crate::types::json_members::OwnedMembers;

/// The most parts of a plan that one answer may name.
const MOST_PARTS: usize = 1_000_000;

/// Tasks, and the names of parts with further tasks.
#[derive(Debug, Default)]
pub(super) struct PlannedTasks {
    pub(super) page: TaskPage,
    pub(super) parts: Vec<String>,
}

/// The state of a plan.
#[derive(Debug)]
pub(super) enum PlanState {
    /// It is ready.
    Completed { plan_id: Option<String>, part: PlannedTasks, credentials: Vec<PrefixConfig> },
    /// The server works on it.
    Submitted { plan_id: Option<String> },
    /// The server could not make it.
    Failed(ServerError),
    /// Somebody cancelled it.
    Cancelled,
}

impl PlannedTasks {
    /// Reads the answer to `fetchScanTasks`.
    ///
    /// # Errors
    /// `CorruptTable` for an answer of another form.
    pub(super) fn of(answer: &HttpAnswer) -> Result<PlannedTasks> {
        PlannedTasks::members(&mut members(answer)?)
    }

    fn members(m: &mut OwnedMembers) -> Result<PlannedTasks> {
        let tasks = m.list("file-scan-tasks")?.unwrap_or_default();
        let deletes = m.list("delete-files")?.unwrap_or_default();
        let named = m.list("plan-tasks")?.unwrap_or_default();
        if named.len() > MOST_PARTS {
            return Err(m.error("plan-tasks", &format!("has more than {MOST_PARTS} entries")));
        }
        let parts = named.into_iter().map(|name| match name {
            Json::String(name) => Some(name),
            _ => None,
        });
        let parts = parts.collect::<Option<Vec<String>>>();
        let parts = parts.ok_or_else(|| m.error("plan-tasks", "has a value that is not a string"))?;
        Ok(PlannedTasks { page: TaskPage { tasks, deletes }, parts })
    }
}

impl PlanState {
    /// Reads the answer to a request for a plan, or for its state.
    ///
    /// # Errors
    /// `CorruptTable` for an answer of another form.
    pub(super) fn of(answer: &HttpAnswer) -> Result<PlanState> {
        let mut m = members(answer)?;
        let plan_id = m.string("plan-id")?.filter(|id| !id.is_empty());
        let status = m.required_string("status")?;
        match status.as_str() {
            "submitted" => Ok(PlanState::Submitted { plan_id }),
            "cancelled" => Ok(PlanState::Cancelled),
            "failed" => Ok(PlanState::Failed(ServerError::of(answer))),
            "completed" => {
                let mut credentials = Vec::new();
                for json in m.list("storage-credentials")?.unwrap_or_default() {
                    let mut m = OwnedMembers::of(json, "an entry of 'storage-credentials'")?;
                    credentials.push(PrefixConfig { prefix: m.required_string("prefix")?, config: m.texts("config")? });
                }
                Ok(PlanState::Completed { plan_id, part: PlannedTasks::members(&mut m)?, credentials })
            }
            _ => {
                let shown: String = status.chars().take(50).collect();
                Err(Error::corrupt(format!("the server's plan has the status '{shown}'")))
            }
        }
    }
}

/// Reads an answer as each kind of answer about a plan. Returns how many kinds could read it.
pub(in super::super) fn read_any_plan(answer: &HttpAnswer) -> usize {
    usize::from(PlanState::of(answer).is_ok()) + usize::from(PlannedTasks::of(answer).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(body: &str) -> Result<PlanState> {
        let body = body.as_bytes().to_vec();
        PlanState::of(&HttpAnswer { status: 200, headers: Vec::new(), body, is_repetition: false, proxy: None })
    }

    #[test]
    fn a_plan_has_a_state() {
        let found = state(r#"{"status": "submitted", "plan-id": "p", "other": [1]}"#).unwrap();
        assert!(matches!(found, PlanState::Submitted { plan_id: Some(id) } if id == "p"));
        let PlanState::Failed(said) =
            state(r#"{"status": "failed", "error": {"message": "m", "type": "T", "code": 500}}"#).unwrap()
        else {
            panic!("not failed")
        };
        assert_eq!((said.kind.as_str(), said.message.as_str()), ("T", "m"));
        let found = state(r#"{"status": "completed", "plan-tasks": ["a"], "file-scan-tasks": null}"#).unwrap();
        assert!(
            matches!(found, PlanState::Completed { part, .. } if part.parts == ["a"] && part.page.tasks.is_empty())
        );
        for wrong in [
            "[]",
            "{",
            r#"{"plan-id": "p"}"#,
            r#"{"status": "ready"}"#,
            r#"{"status": 1}"#,
            r#"{"status": "completed", "plan-tasks": [1]}"#,
            r#"{"status": "completed", "file-scan-tasks": {}}"#,
            r#"{"status": "completed", "storage-credentials": [1]}"#,
        ] {
            assert_eq!(state(wrong).unwrap_err().kind(), crate::error::ErrorKind::CorruptTable, "{wrong}");
        }
    }
}
