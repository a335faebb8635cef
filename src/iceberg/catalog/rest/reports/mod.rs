//! Reports of scans and commits for the server.
//!
//! Source: `reportMetrics` in `open-api/rest-catalog-open-api.yaml` of apache/iceberg. Names of metrics are those of
//! Java, and literals of filters are hidden as Java hides them.
//!
//! - `send`: whether the server takes reports, and how they are sent
//! - `text`: reports as JSON

pub(super) mod send;
mod text;
