//! Views: named queries of a catalog. Their text is kept and shown, and never executed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::types::Schema;

/// A query in one dialect of SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewText {
    /// The dialect, such as `spark` or `trino`.
    pub dialect: String,
    /// The query.
    pub sql: String,
}

/// The definition of a new view, or of a view's new version.
#[derive(Clone, Debug)]
pub struct NewView {
    /// The columns of the query's result.
    pub schema: Arc<Schema>,
    /// The query, in one dialect or more.
    pub texts: Vec<ViewText>,
    /// Properties to set.
    pub properties: BTreeMap<String, String>,
    /// The namespace of names without one in the query.
    pub default_namespace: Vec<String>,
    /// The catalog of names without one in the query.
    pub default_catalog: Option<String>,
}

/// A view at one version.
#[derive(Clone, Debug)]
pub struct ViewInfo {
    /// Its identity.
    pub uuid: String,
    /// Its location.
    pub location: String,
    /// The metadata file, if the catalog reports it.
    pub metadata_location: Option<String>,
    /// The number of the version.
    pub version: i64,
    /// The columns of the query's result.
    pub schema: Arc<Schema>,
    /// The query in its dialects.
    pub texts: Vec<ViewText>,
    /// The namespace of names without one in the query.
    pub default_namespace: Vec<String>,
    /// The catalog of names without one in the query.
    pub default_catalog: Option<String>,
    /// Properties.
    pub properties: BTreeMap<String, String>,
}
