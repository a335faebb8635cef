//! What a server can do.

use std::collections::{BTreeMap, HashSet};

use crate::error::{Error, Result};
use crate::store::http::HttpVerb;

/// A request that a server may support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Endpoint {
    ListNamespaces,
    CreateNamespace,
    LoadNamespace,
    NamespaceExists,
    DropNamespace,
    UpdateNamespace,
    ListTables,
    CreateTable,
    LoadTable,
    LoadCredentials,
    TableExists,
    CommitTable,
    CommitTransaction,
    DropTable,
    RegisterTable,
    UnregisterTable,
    RenameTable,
    ListViews,
    CreateView,
    LoadView,
    ViewExists,
    ReplaceView,
    DropView,
    RenameView,
    RegisterView,
    PlanScan,
    FetchPlan,
    CancelPlan,
    FetchTasks,
    ReportMetrics,
}

const NAMESPACES: &str = "/v1/{prefix}/namespaces";
const NAMESPACE: &str = "/v1/{prefix}/namespaces/{namespace}";
const TABLES: &str = "/v1/{prefix}/namespaces/{namespace}/tables";
const VIEWS: &str = "/v1/{prefix}/namespaces/{namespace}/views";
const VIEW: &str = "/v1/{prefix}/namespaces/{namespace}/views/{view}";
const TABLE: &str = "/v1/{prefix}/namespaces/{namespace}/tables/{table}";
const PLAN: &str = "/v1/{prefix}/namespaces/{namespace}/tables/{table}/plan/{plan-id}";

impl Endpoint {
    /// All endpoints that are known here.
    const ALL: [Endpoint; 30] = [
        Endpoint::ListNamespaces,
        Endpoint::CreateNamespace,
        Endpoint::LoadNamespace,
        Endpoint::NamespaceExists,
        Endpoint::DropNamespace,
        Endpoint::UpdateNamespace,
        Endpoint::ListTables,
        Endpoint::CreateTable,
        Endpoint::LoadTable,
        Endpoint::LoadCredentials,
        Endpoint::TableExists,
        Endpoint::CommitTable,
        Endpoint::CommitTransaction,
        Endpoint::DropTable,
        Endpoint::RegisterTable,
        Endpoint::UnregisterTable,
        Endpoint::RenameTable,
        Endpoint::ListViews,
        Endpoint::CreateView,
        Endpoint::LoadView,
        Endpoint::ViewExists,
        Endpoint::ReplaceView,
        Endpoint::DropView,
        Endpoint::RenameView,
        Endpoint::RegisterView,
        Endpoint::PlanScan,
        Endpoint::FetchPlan,
        Endpoint::CancelPlan,
        Endpoint::FetchTasks,
        Endpoint::ReportMetrics,
    ];

    /// The verb and the path, as servers list them.
    pub(super) fn parts(self) -> (HttpVerb, &'static str) {
        use Endpoint as E;
        use HttpVerb::{Delete, Get, Head, Post};
        match self {
            E::ListNamespaces => (Get, NAMESPACES),
            E::CreateNamespace => (Post, NAMESPACES),
            E::LoadNamespace => (Get, NAMESPACE),
            E::NamespaceExists => (Head, NAMESPACE),
            E::DropNamespace => (Delete, NAMESPACE),
            E::UpdateNamespace => (Post, "/v1/{prefix}/namespaces/{namespace}/properties"),
            E::ListTables => (Get, TABLES),
            E::CreateTable => (Post, TABLES),
            E::LoadTable => (Get, TABLE),
            E::LoadCredentials => (Get, "/v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"),
            E::TableExists => (Head, TABLE),
            E::CommitTable => (Post, TABLE),
            E::CommitTransaction => (Post, "/v1/{prefix}/transactions/commit"),
            E::DropTable => (Delete, TABLE),
            E::RegisterTable => (Post, "/v1/{prefix}/namespaces/{namespace}/register"),
            E::UnregisterTable => (Post, "/v1/{prefix}/namespaces/{namespace}/tables/{table}/unregister"),
            E::RenameTable => (Post, "/v1/{prefix}/tables/rename"),
            E::ListViews => (Get, VIEWS),
            E::CreateView => (Post, VIEWS),
            E::LoadView => (Get, VIEW),
            E::ViewExists => (Head, VIEW),
            E::ReplaceView => (Post, VIEW),
            E::DropView => (Delete, VIEW),
            E::RenameView => (Post, "/v1/{prefix}/views/rename"),
            E::RegisterView => (Post, "/v1/{prefix}/namespaces/{namespace}/register-view"),
            E::PlanScan => (Post, "/v1/{prefix}/namespaces/{namespace}/tables/{table}/plan"),
            E::FetchPlan => (Get, PLAN),
            E::CancelPlan => (Delete, PLAN),
            E::FetchTasks => (Post, "/v1/{prefix}/namespaces/{namespace}/tables/{table}/tasks"),
            E::ReportMetrics => (Post, "/v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics"),
        }
    }

    /// As servers list it.
    pub(super) fn text(self) -> String {
        let (verb, path) = self.parts();
        format!("{} {path}", verb.as_str())
    }

    /// Whether a server that lists nothing has it. Such a server may have views, but then the properties say so.
    fn is_default(self, has_views: bool) -> bool {
        use Endpoint as E;
        match self {
            E::NamespaceExists | E::TableExists | E::ViewExists | E::RegisterView => false,
            E::LoadCredentials | E::UnregisterTable => false,
            E::PlanScan | E::FetchPlan | E::CancelPlan | E::FetchTasks => false,
            E::ListViews | E::CreateView | E::LoadView | E::ReplaceView | E::DropView | E::RenameView => has_views,
            _ => true,
        }
    }
}

/// Whether properties say that a server has views, although it does not list what it offers.
pub(super) fn has_views(properties: &BTreeMap<String, String>) -> bool {
    properties.get("view-endpoints-supported").is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// The endpoints of a server.
#[derive(Clone, Debug)]
pub(super) struct Endpoints(HashSet<Endpoint>);

impl Endpoints {
    /// The endpoints that a server lists. Without a list, those that every server has, and views if it has them.
    pub(super) fn of(listed: Option<&[String]>, has_views: bool) -> Endpoints {
        let is_known = |endpoint: &Endpoint| match listed {
            None => endpoint.is_default(has_views),
            Some(listed) => {
                let text = endpoint.text();
                listed.iter().any(|l| l.split_whitespace().eq(text.split(' ')))
            }
        };
        Endpoints(Endpoint::ALL.into_iter().filter(is_known).collect())
    }

    /// Whether the server has it.
    pub(super) fn has(&self, endpoint: Endpoint) -> bool {
        self.0.contains(&endpoint)
    }

    /// # Errors
    /// `Unsupported` if the server does not have it.
    pub(super) fn check(&self, endpoint: Endpoint) -> Result<()> {
        match self.has(endpoint) {
            true => Ok(()),
            false => Err(Error::unsupported("the catalog's server does not offer this request")
                .with("endpoint", endpoint.text())
                .hint("The server's configuration lists what it offers")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_lists_what_it_can_do() {
        let default = Endpoints::of(None, false);
        assert!(default.has(Endpoint::RegisterTable) && !default.has(Endpoint::TableExists));
        assert!(!default.has(Endpoint::ListViews) && Endpoints::of(None, true).has(Endpoint::ListViews));
        let listed = ["GET  /v1/{prefix}/namespaces".to_owned(), "HEAD /v1/{prefix}/namespaces/{namespace}".to_owned()];
        let listed = Endpoints::of(Some(&listed), true);
        assert!(listed.has(Endpoint::ListNamespaces) && listed.has(Endpoint::NamespaceExists));
        let e = listed.check(Endpoint::LoadTable).unwrap_err();
        assert!(e.to_string().contains("GET /v1/{prefix}/namespaces/{namespace}/tables/{table}"), "{e}");
    }
}
