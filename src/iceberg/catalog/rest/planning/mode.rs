//! Whether the server plans.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::{Error, Result};

/// The property of a catalog, and of a table's configuration by the server.
const MODE: &str = "scan-planning-mode";

/// How long the server may work on a plan, in milliseconds.
const TIME_LIMIT: &str = "rest-scan-planning.poll-timeout-ms";
const DEFAULT_LIMIT: Duration = Duration::from_secs(300);

/// Whether the server plans scans of appended files, too.
const APPENDS: &str = "rest-scan-planning.appends";

/// Who plans the scans of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum PlanningMode {
    /// The client reads manifests.
    Client,
    /// The server plans.
    Server,
}

impl PlanningMode {
    /// The mode that properties ask for.
    ///
    /// # Errors
    /// `InvalidInput` for another word.
    pub(in super::super) fn of(properties: &BTreeMap<String, String>) -> Result<Option<PlanningMode>> {
        let Some(text) = properties.get(MODE).filter(|text| !text.is_empty()) else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "client" => Ok(Some(PlanningMode::Client)),
            "server" => Ok(Some(PlanningMode::Server)),
            _ => {
                Err(Error::invalid(format!("the property {MODE} is '{text}'")).hint("The values are client and server"))
            }
        }
    }

    /// The mode of a table. What the server says about it comes before the catalog's property.
    ///
    /// # Errors
    /// As [`PlanningMode::of`].
    pub(in super::super) fn of_table(
        config: &BTreeMap<String, String>,
        catalog: &BTreeMap<String, String>,
    ) -> Result<PlanningMode> {
        let said = match PlanningMode::of(config)? {
            None => PlanningMode::of(catalog)?,
            said => said,
        };
        Ok(said.unwrap_or(PlanningMode::Client))
    }
}

/// Whether the server plans scans of appended files. By default it does not: Java's server, other than the
/// specification says, takes the first snapshot for one of those that appended.
pub(super) fn plans_appends(properties: &BTreeMap<String, String>) -> bool {
    properties.get(APPENDS).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// How long the server may work on a plan.
///
/// # Errors
/// `InvalidInput` for a value that is not a whole number above 0.
pub(in super::super) fn time_limit(properties: &BTreeMap<String, String>) -> Result<Duration> {
    let Some(text) = properties.get(TIME_LIMIT).filter(|text| !text.is_empty()) else { return Ok(DEFAULT_LIMIT) };
    match text.trim().parse() {
        Ok(limit @ 1..) => Ok(Duration::from_millis(limit)),
        _ => Err(Error::invalid(format!("the property {TIME_LIMIT} is '{text}', not a whole number above 0"))
            .hint("Give milliseconds")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(mode: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(MODE.to_owned(), mode.to_owned())])
    }

    #[test]
    fn the_server_comes_before_the_catalog() {
        let (none, mode) = (BTreeMap::new(), PlanningMode::of_table);
        assert_eq!(mode(&none, &none).unwrap(), PlanningMode::Client);
        assert_eq!(mode(&none, &said("SERVER")).unwrap(), PlanningMode::Server);
        assert_eq!(mode(&said("server"), &said("client")).unwrap(), PlanningMode::Server);
        assert_eq!(mode(&said("client"), &said("server")).unwrap(), PlanningMode::Client);
        assert!(mode(&said("both"), &none).unwrap_err().to_string().contains("client and server"));
        assert_eq!(time_limit(&none).unwrap(), DEFAULT_LIMIT);
        for wrong in ["0", "-1", "soon"] {
            assert!(time_limit(&BTreeMap::from([(TIME_LIMIT.to_owned(), wrong.to_owned())])).is_err(), "{wrong}");
        }
    }
}
