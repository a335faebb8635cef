//! Requests about views.
//!
//! Source: the schemas `ViewMetadata`, `CreateViewRequest` and `CommitViewRequest` of the API; Iceberg's view
//! specification.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::answers::members;
use super::endpoints::Endpoint;
use super::names::RouteTarget;
use super::server::RestServer;
use super::tables::ident_json;
use super::verdict::ChangeVerdict;
use crate::error::{Error, Result, ResultExt};
use crate::format::ident::TableIdent;
use crate::format::view::{NewView, ViewInfo, ViewText};
use crate::iceberg::spec::schema::assign_fresh_ids;
use crate::store::http::HttpAnswer;
use crate::types::json_members::OwnedMembers;
use crate::types::schema_json::{schema_from_json, schema_to_json};
use crate::types::temporal::now_ms;

/// The id of what the same request added last.
const LAST_ADDED: i64 = -1;

impl RestServer {
    /// Loads a view.
    ///
    /// # Errors
    /// `NotFound`; as [`RestServer::read`].
    pub(super) fn load_view(&self, ident: &TableIdent) -> Result<ViewInfo> {
        let endpoint = Endpoint::LoadView;
        let request = self.request(endpoint, RouteTarget::View(ident), &[])?;
        let answer = self.read("load the view", endpoint, &request).with("view", ident)?;
        self.parsed(endpoint, &request, || view(&answer)).with("view", ident)
    }

    /// Whether a view exists.
    ///
    /// # Errors
    /// As [`RestServer::read`].
    pub(super) fn has_view(&self, ident: &TableIdent) -> Result<bool> {
        let endpoint = match self.has(Endpoint::ViewExists) {
            true => Endpoint::ViewExists,
            false => Endpoint::LoadView,
        };
        let request = self.request(endpoint, RouteTarget::View(ident), &[])?;
        self.exists("look for the view", endpoint, &request).with("view", ident)
    }

    /// Creates a view.
    ///
    /// # Errors
    /// `AlreadyExists`; `NotFound` without the namespace; `CommitStateUnknown`; the server's refusal.
    pub(super) fn create_view(&self, ident: &TableIdent, new: &NewView) -> Result<ViewInfo> {
        let endpoint = Endpoint::CreateView;
        let schema = assign_fresh_ids(&new.schema)?.schema;
        let body = json!({
            "name": ident.name,
            "schema": schema_to_json(&schema),
            "view-version": version_json(ident, new, 1, i64::from(schema.id)),
            "properties": new.properties,
        });
        let request = self.request(endpoint, RouteTarget::Namespace(&ident.namespace), &[])?.json(&body);
        let verdict = self.change("create the view", endpoint, &request);
        self.changed_view(endpoint, ident, new, 0, verdict)
    }

    /// Gives a view another version.
    ///
    /// # Errors
    /// `NotFound`; `CommitConflict`; `CommitStateUnknown`; the server's refusal.
    pub(super) fn replace_view(&self, ident: &TableIdent, new: &NewView) -> Result<ViewInfo> {
        let endpoint = Endpoint::ReplaceView;
        self.check(endpoint)?;
        let base = self.load_view(ident)?;
        let schema = assign_fresh_ids(&new.schema)?.schema;
        let mut updates = vec![
            json!({"action": "add-schema", "schema": schema_to_json(&schema), "last-column-id": schema.highest_field_id()}),
            json!({"action": "add-view-version", "view-version": version_json(ident, new, base.version + 1, LAST_ADDED)}),
            json!({"action": "set-current-view-version", "view-version-id": LAST_ADDED}),
        ];
        if !new.properties.is_empty() {
            updates.push(json!({"action": "set-properties", "updates": new.properties}));
        }
        let body = json!({
            "identifier": ident_json(ident),
            "requirements": [{"type": "assert-view-uuid", "uuid": base.uuid}],
            "updates": updates,
        });
        let request = self.request(endpoint, RouteTarget::View(ident), &[])?.json(&body);
        match self.change("replace the view", endpoint, &request) {
            ChangeVerdict::InTheWay(e) => {
                let e = Error::conflict("another client changed the view first").because(e);
                self.changed_view(endpoint, ident, new, base.version, ChangeVerdict::Later(e, None))
            }
            verdict => self.changed_view(endpoint, ident, new, base.version, verdict),
        }
    }

    /// The view after a change. After an unknown outcome, a later version with the same text counts as the change.
    fn changed_view(
        &self,
        endpoint: Endpoint,
        ident: &TableIdent,
        new: &NewView,
        before: i64,
        verdict: ChangeVerdict,
    ) -> Result<ViewInfo> {
        let mut found = None;
        let answered = verdict.settled(|| {
            found = self.load_view(ident).if_found()?.filter(|now| now.version > before && now.texts == new.texts);
            Ok(found.is_some())
        });
        match answered.with("view", ident)? {
            Some(answer) => view(&answer).with("endpoint", endpoint.text()).with("view", ident),
            None => found.ok_or_else(|| Error::internal("a changed view without a version")),
        }
    }

    /// Registers a view by its metadata file.
    ///
    /// # Errors
    /// `AlreadyExists`; `NotFound`; `CommitStateUnknown`; the server's refusal.
    pub(super) fn register_view(&self, ident: &TableIdent, metadata_location: &str) -> Result<ViewInfo> {
        let endpoint = Endpoint::RegisterView;
        let body = json!({"name": ident.name, "metadata-location": metadata_location});
        let request = self.request(endpoint, RouteTarget::Namespace(&ident.namespace), &[])?.json(&body);
        let answered = self.change("register the view", endpoint, &request).settled(|| self.has_view(ident));
        match answered.with("view", ident)? {
            Some(answer) => self.parsed(endpoint, &request, || view(&answer)).with("view", ident),
            None => self.load_view(ident),
        }
    }

    /// Renames a view.
    ///
    /// # Errors
    /// `NotFound`; `AlreadyExists`; `CommitStateUnknown`; the server's refusal.
    pub(super) fn rename_view(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        let endpoint = Endpoint::RenameView;
        let body = json!({"source": ident_json(from), "destination": ident_json(to)});
        let request = self.request(endpoint, RouteTarget::Catalog, &[])?.json(&body);
        let verdict = self.change("rename the view", endpoint, &request);
        let done = verdict.settled_twice(|| Ok(!self.has_view(from)? && self.has_view(to)?));
        done.map(drop).with("view", from).with("to", to)
    }

    /// Removes a view.
    ///
    /// # Errors
    /// `NotFound`; `CommitStateUnknown`; the server's refusal.
    pub(super) fn drop_view(&self, ident: &TableIdent) -> Result<()> {
        let endpoint = Endpoint::DropView;
        let request = self.request(endpoint, RouteTarget::View(ident), &[])?;
        let verdict = self.change("drop the view", endpoint, &request);
        verdict.settled_twice(|| Ok(!self.has_view(ident)?)).map(drop).with("view", ident)
    }
}

fn version_json(ident: &TableIdent, new: &NewView, version: i64, schema_id: i64) -> Json {
    let text = |text: &ViewText| json!({"type": "sql", "sql": text.sql, "dialect": text.dialect});
    let namespace = match new.default_namespace.is_empty() {
        true => &ident.namespace,
        false => &new.default_namespace,
    };
    let mut out = json!({
        "version-id": version,
        "timestamp-ms": now_ms(),
        "schema-id": schema_id,
        "summary": {"engine-name": "frazil", "engine-version": env!("CARGO_PKG_VERSION")},
        "representations": new.texts.iter().map(text).collect::<Vec<_>>(),
        "default-namespace": namespace,
    });
    if let Some(catalog) = &new.default_catalog {
        out["default-catalog"] = json!(catalog);
    }
    out
}

/// Reads the answer to a load or a change of a view.
pub(super) fn view(answer: &HttpAnswer) -> Result<ViewInfo> {
    let mut m = members(answer)?;
    let metadata_location = m.string("metadata-location")?;
    let mut m = OwnedMembers::of(m.required("metadata")?, "the view's metadata")?;
    let current = m.required_long("current-version-id")?;
    let schemas = m.list("schemas")?.unwrap_or_default();
    let mut version = None;
    for json in m.list("versions")?.unwrap_or_default() {
        let mut v = OwnedMembers::of(json, "a version of the view")?;
        if v.required_long("version-id")? == current {
            version = Some(v);
        }
    }
    let mut version = version.ok_or_else(|| m.error("versions", "does not have the current version"))?;
    let schema_id = version.required_int("schema-id")?;
    let schema = schemas.iter().find(|json| json.get("schema-id").and_then(Json::as_i64) == Some(schema_id.into()));
    let schema = schema.ok_or_else(|| m.error("schemas", "does not have the current version's schema"))?;
    let mut texts = Vec::new();
    for json in version.list("representations")?.unwrap_or_default() {
        let mut r = OwnedMembers::of(json, "a representation of the view")?;
        // There may be other kinds later.
        if r.required_string("type")? == "sql" {
            texts.push(ViewText { dialect: r.required_string("dialect")?, sql: r.required_string("sql")? });
        }
    }
    let namespace = version.list("default-namespace")?.unwrap_or_default();
    Ok(ViewInfo {
        uuid: m.required_string("view-uuid")?,
        location: m.string("location")?.unwrap_or_default(),
        metadata_location,
        version: current,
        schema: Arc::new(schema_from_json(schema)?),
        texts,
        default_namespace: namespace.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        default_catalog: version.string("default-catalog")?,
        properties: m.texts("properties")?,
    })
}
