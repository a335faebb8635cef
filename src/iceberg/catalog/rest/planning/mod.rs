//! Scans that the server plans.
//!
//! A plan is asked for by one request. The server answers with the files, or with a name by which the client asks again
//! until the plan is ready. Large plans come in parts, which are fetched as they are needed.
//!
//! Source: `planTableScan`, `fetchPlanningResult`, `cancelPlanning` and `fetchScanTasks` in
//! `open-api/rest-catalog-open-api.yaml` of apache/iceberg. Names of properties are those of Java.
//!
//! - `answer`: the answers of the server
//! - `kept_plan`: a plan that the server keeps
//! - `mode`: whether the server plans
//! - `parts`: fetches the parts of a plan
//! - `plan_store`: the options of the store of a plan's files
//! - `request`: what the server is asked
//! - `wait`: asks for a plan and waits until it is ready

mod answer;
mod kept_plan;
pub(super) mod mode;
mod parts;
mod plan_store;
mod request;
mod wait;

pub(super) use answer::read_any_plan;
pub(super) use wait::RestPlanner;
