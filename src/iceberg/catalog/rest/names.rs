//! Names of namespaces and tables in URLs.

use crate::format::ident::TableIdent;
use crate::store::http::{decoded, encoded};

/// The separator of a namespace's levels unless the server names another one, in its encoded form.
const DEFAULT_SEPARATOR: &str = "%1F";

/// What a URL names.
#[derive(Clone, Copy, Debug)]
pub(super) enum RouteTarget<'a> {
    /// The whole catalog.
    Catalog,
    /// A namespace.
    Namespace(&'a [String]),
    /// A table.
    Table(&'a TableIdent),
    /// A view.
    View(&'a TableIdent),
    /// A plan of a table's scan, by its name.
    Plan(&'a TableIdent, &'a str),
}

/// The separator that a server names, in its encoded form. Some servers name it without encoding it.
pub(super) fn separator(named: Option<&str>) -> String {
    match named.filter(|text| !text.is_empty()) {
        None => DEFAULT_SEPARATOR.to_owned(),
        Some(text) => encoded(&decoded(text).unwrap_or_else(|| text.to_owned())),
    }
}

/// The levels of a namespace as one encoded text.
pub(super) fn joined(namespace: &[String], separator: &str) -> String {
    namespace.iter().map(|level| encoded(level)).collect::<Vec<_>>().join(separator)
}

impl RouteTarget<'_> {
    /// The path of an endpoint, below the URL of the service. A server without a prefix has no part for it.
    pub(super) fn path(self, template: &str, prefix: Option<&str>, separator: &str) -> String {
        let path = match prefix {
            Some(prefix) => template.replace("{prefix}", prefix),
            None => template.replace("{prefix}/", ""),
        };
        match self {
            RouteTarget::Catalog => path,
            RouteTarget::Namespace(levels) => path.replace("{namespace}", &joined(levels, separator)),
            RouteTarget::Plan(ident, plan_id) => {
                RouteTarget::Table(ident).path(&path, prefix, separator).replace("{plan-id}", &encoded(plan_id))
            }
            RouteTarget::Table(ident) | RouteTarget::View(ident) => path
                .replace("{namespace}", &joined(&ident.namespace, separator))
                .replace("{table}", &encoded(&ident.name))
                .replace("{view}", &encoded(&ident.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded() {
        let ident = TableIdent { namespace: vec!["a b".to_owned(), "c/d".to_owned()], name: "t.ü".to_owned() };
        let template = "/v1/{prefix}/namespaces/{namespace}/tables/{table}";
        let path = |prefix, named| RouteTarget::Table(&ident).path(template, prefix, &separator(named));
        assert_eq!(path(None, None), "/v1/namespaces/a%20b%1Fc%2Fd/tables/t.%C3%BC");
        assert_eq!(path(Some("w/1"), Some(".")), "/v1/w/1/namespaces/a%20b.c%2Fd/tables/t.%C3%BC");
        for same in ["%1F", "\u{1f}", "%1f", ""] {
            assert_eq!(separator(Some(same)), "%1F");
        }
        assert_eq!(separator(Some("%2E")), ".");
        assert_eq!(RouteTarget::Catalog.path("/v1/{prefix}/tables/rename", None, "."), "/v1/tables/rename");
    }
}
