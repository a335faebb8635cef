//! Lists that come in pages.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::answers::members;
use super::endpoints::Endpoint;
use super::names::RouteTarget;
use super::server::RestServer;
use crate::error::{Error, Result};
use crate::format::ident::TableIdent;
use crate::store::http::HttpAnswer;
use crate::types::json_members::OwnedMembers;

/// The most entries of a list.
const MOST_ENTRIES: usize = 10_000_000;

impl RestServer {
    /// All entries of a list. The first request asks for pages, and pages are followed whether asked for or not.
    ///
    /// # Errors
    /// The server's refusal; `CorruptTable` for an answer that is not a list, and for pages without end.
    fn entries(
        &self,
        doing: &str,
        endpoint: Endpoint,
        named: RouteTarget<'_>,
        parent: &str,
        key: &str,
    ) -> Result<Vec<Json>> {
        let mut out = Vec::new();
        let (mut token, mut seen) = (String::new(), HashSet::new());
        let size = self.properties.get("rest-page-size").filter(|size| !size.is_empty());
        loop {
            let mut query = vec![("pageToken", token.as_str())];
            query.extend(size.map(|size| ("pageSize", size.as_str())));
            let mut request = self.request(endpoint, named, &query)?;
            // The levels of the parent are encoded already.
            request.url += parent;
            let answer = self.read(doing, endpoint, &request)?;
            let (entries, next) = self.parsed(endpoint, &request, || page_of(&answer, key))?;
            out.extend(entries);
            let Some(next) = next else { return Ok(out) };
            if !seen.insert(next.clone()) || out.len() > MOST_ENTRIES {
                return self
                    .parsed(endpoint, &request, || Err(Error::corrupt("the server's list has pages without end")));
            }
            token = next;
        }
    }

    /// The namespaces directly in another one.
    ///
    /// # Errors
    /// `NotFound`; as [`RestServer::read`].
    pub(super) fn namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        let query = match parent.is_empty() {
            true => String::new(),
            false => format!("&parent={}", super::names::joined(parent, self.separator())),
        };
        let doing = "list namespaces";
        let entries = self.entries(doing, Endpoint::ListNamespaces, RouteTarget::Catalog, &query, "namespaces")?;
        namespaces(&entries)
    }

    /// The tables directly in a namespace.
    ///
    /// # Errors
    /// `NotFound`; as [`RestServer::read`].
    pub(super) fn tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        let entries =
            self.entries("list tables", Endpoint::ListTables, RouteTarget::Namespace(namespace), "", "identifiers")?;
        idents(entries)
    }
}

impl RestServer {
    /// The views directly in a namespace.
    ///
    /// # Errors
    /// `NotFound`; as [`RestServer::read`].
    pub(super) fn views(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        let entries =
            self.entries("list views", Endpoint::ListViews, RouteTarget::Namespace(namespace), "", "identifiers")?;
        idents(entries)
    }
}

/// Reads a page: its entries, and the name of the next page.
pub(super) fn page_of(answer: &HttpAnswer, key: &str) -> Result<(Vec<Json>, Option<String>)> {
    let mut m = members(answer)?;
    let entries = m.list(key)?.ok_or_else(|| m.error(key, "is missing"))?;
    Ok((entries, m.string("next-page-token")?.filter(|next| !next.is_empty())))
}

/// Reads entries that are namespaces.
pub(super) fn namespaces(entries: &[Json]) -> Result<Vec<Vec<String>>> {
    entries.iter().map(levels).collect()
}

/// Reads entries that are tables or views.
pub(super) fn idents(entries: Vec<Json>) -> Result<Vec<TableIdent>> {
    entries.into_iter().map(ident).collect()
}

fn ident(json: Json) -> Result<TableIdent> {
    let mut m = OwnedMembers::of(json, "an identifier in the server's answer")?;
    Ok(TableIdent { namespace: levels(&m.required("namespace")?)?, name: m.required_string("name")? })
}

fn levels(json: &Json) -> Result<Vec<String>> {
    let levels = json.as_array().map(|levels| levels.iter().map(|l| l.as_str().map(str::to_owned)).collect());
    levels.flatten().ok_or_else(|| Error::corrupt("a namespace in the server's answer is not a list of texts"))
}
