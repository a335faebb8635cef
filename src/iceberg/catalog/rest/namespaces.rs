//! Requests about namespaces.

use std::collections::BTreeMap;

use serde_json::json;

use super::answers::members;
use super::endpoints::Endpoint;
use super::names::RouteTarget;
use super::server::RestServer;
use super::verdict::ChangeVerdict;
use crate::error::{Error, ErrorKind, Result, ResultExt};

impl RestServer {
    /// The properties of a namespace.
    ///
    /// # Errors
    /// `NotFound`; as [`RestServer::read`].
    pub(super) fn namespace_properties(&self, namespace: &[String]) -> Result<BTreeMap<String, String>> {
        let endpoint = Endpoint::LoadNamespace;
        let request = self.request(endpoint, RouteTarget::Namespace(namespace), &[])?;
        let answer = self.read("load the namespace", endpoint, &request)?;
        self.parsed(endpoint, &request, || {
            let mut m = members(&answer)?;
            m.list("namespace")?.ok_or_else(|| m.error("namespace", "is missing"))?;
            m.texts("properties")
        })
    }

    /// Whether a namespace exists.
    ///
    /// # Errors
    /// As [`RestServer::read`].
    pub(super) fn has_namespace(&self, namespace: &[String]) -> Result<bool> {
        let endpoint = match self.has(Endpoint::NamespaceExists) {
            true => Endpoint::NamespaceExists,
            false => Endpoint::LoadNamespace,
        };
        let request = self.request(endpoint, RouteTarget::Namespace(namespace), &[])?;
        self.exists("look for the namespace", endpoint, &request)
    }

    /// Creates a namespace.
    ///
    /// # Errors
    /// `AlreadyExists`; `CommitStateUnknown`; the server's refusal.
    pub(super) fn create_namespace(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()> {
        let endpoint = Endpoint::CreateNamespace;
        let body = json!({"namespace": namespace, "properties": properties});
        let request = self.request(endpoint, RouteTarget::Catalog, &[])?.json(&body);
        let verdict = self.change("create the namespace", endpoint, &request);
        let is_done = || {
            let there = self.namespace_properties(namespace).if_found()?;
            Ok(there.is_some_and(|there| properties.iter().all(|(name, value)| there.get(name) == Some(value))))
        };
        verdict.settled(is_done).map(drop)
    }

    /// Removes a namespace.
    ///
    /// # Errors
    /// `NotFound`; `InvalidInput` if it is not empty; `CommitStateUnknown`; the server's refusal.
    pub(super) fn drop_namespace(&self, namespace: &[String]) -> Result<()> {
        let endpoint = Endpoint::DropNamespace;
        let request = self.request(endpoint, RouteTarget::Namespace(namespace), &[])?;
        match self.change("drop the namespace", endpoint, &request) {
            ChangeVerdict::InTheWay(e) if e.kind() != ErrorKind::CommitConflict => Err(not_empty(namespace, e)),
            ChangeVerdict::Refused(said, e) if said.is("namespacenotempty") => Err(not_empty(namespace, e)),
            verdict => verdict.settled(|| Ok(!self.has_namespace(namespace)?)).map(drop),
        }
    }

    /// Removes and sets properties of a namespace.
    ///
    /// # Errors
    /// `NotFound`; `InvalidInput`; `CommitStateUnknown`; the server's refusal.
    pub(super) fn update_namespace(
        &self,
        namespace: &[String],
        removed: &[String],
        set: &BTreeMap<String, String>,
    ) -> Result<()> {
        let endpoint = Endpoint::UpdateNamespace;
        let body = json!({"removals": removed, "updates": set});
        let request = self.request(endpoint, RouteTarget::Namespace(namespace), &[])?.json(&body);
        let verdict = self.change("change the namespace's properties", endpoint, &request);
        let is_done = || {
            let now = self.namespace_properties(namespace)?;
            Ok(removed.iter().all(|name| !now.contains_key(name)) && set.iter().all(|(k, v)| now.get(k) == Some(v)))
        };
        verdict.settled(is_done).map(drop)
    }
}

fn not_empty(namespace: &[String], e: Error) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("the namespace '{}' is not empty", namespace.join(".")))
        .hint("Drop its tables and namespaces first")
        .because(e)
}
