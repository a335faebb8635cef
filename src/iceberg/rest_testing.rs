//! A small REST catalog for tests. It keeps tables in memory, writes their metadata files, and can misbehave.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::iceberg::commit::apply_updates::apply;
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::commit::requirement::MetadataRequirement;
use crate::iceberg::commit::update::MetadataUpdate;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::metadata_build::new_table;
use crate::iceberg::spec::metadata_encode::encode_metadata;
use crate::iceberg::spec::metadata_json::parse_metadata;
use crate::iceberg::spec::partition::spec_from_json;
use crate::iceberg::spec::sort_order::sort_order_from_json;
use crate::store::http::testing::{SeenRequest, TestAnswer, TestServer};
use crate::types::schema_json::schema_from_json;
use crate::types::temporal::now_ms;

/// The fault of the next change.
#[derive(Clone, Debug)]
pub(crate) struct RestFault {
    /// Whether the server makes the change before the fault.
    pub(crate) is_made: bool,
    pub(crate) answer: TestAnswer,
}

#[derive(Default)]
pub(crate) struct FakeState {
    folder: String,
    tables: BTreeMap<String, (TableMetadata, String)>,
    pub(crate) namespaces: BTreeMap<String, BTreeMap<String, String>>,
    files: u64,
    /// The answer to `GET /v1/config`.
    pub(crate) config: Json,
    /// The fault of the next request whose verb and path contain the text.
    pub(crate) fault: Option<(String, RestFault)>,
    /// Members of each loaded table.
    pub(crate) loaded: Json,
    /// Whether loaded tables have the current snapshot only.
    pub(crate) hides_history: bool,
    pub(crate) has_etags: bool,
    pub(crate) needs_location: bool,
    pub(crate) page_size: usize,
    /// Names of views. No table can be created under them.
    pub(crate) views: Vec<String>,
    /// Answers to changes with a key.
    answered: HashMap<String, TestAnswer>,
}

pub(crate) struct FakeCatalog {
    pub(crate) server: TestServer,
    pub(crate) state: Arc<Mutex<FakeState>>,
    pub(crate) folder: tempfile::TempDir,
}

impl FakeCatalog {
    pub(crate) fn start() -> FakeCatalog {
        let folder = tempfile::tempdir().unwrap();
        let state = FakeState {
            folder: folder.path().to_str().unwrap().to_owned(),
            config: json!({"defaults": {}, "overrides": {}}),
            loaded: json!({}),
            page_size: usize::MAX,
            ..FakeState::default()
        };
        let state = Arc::new(Mutex::new(state));
        let served = state.clone();
        let server = TestServer::start(move |request| served.lock().unwrap().answer(request));
        FakeCatalog { server, state, folder }
    }

    pub(crate) fn properties(&self) -> BTreeMap<String, String> {
        let given = [
            ("type", "rest".to_owned()),
            ("uri", self.server.url()),
            ("rest.client.max-retries", "1".to_owned()),
            // Tests count requests.
            ("rest-metrics-reporting-enabled", "false".to_owned()),
        ];
        given.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
    }

    /// Makes the next request that contains `part` go wrong.
    pub(crate) fn fail(&self, part: &str, is_made: bool, answer: TestAnswer) {
        self.state.lock().unwrap().fault = Some((part.to_owned(), RestFault { is_made, answer }));
    }

    /// The metadata of a table.
    pub(crate) fn metadata(&self, name: &str) -> TableMetadata {
        self.state.lock().unwrap().tables[name].0.clone()
    }
}

fn not_found(kind: &str) -> TestAnswer {
    TestAnswer::error(404, kind, "it does not exist")
}

impl FakeState {
    fn answer(&mut self, request: &SeenRequest) -> TestAnswer {
        let line = request.line();
        let Some((_, fault)) = self.fault.take_if(|(part, _)| line.contains(part.as_str())) else {
            return self.keyed(request);
        };
        if fault.is_made {
            self.keyed(request);
        }
        fault.answer
    }

    /// Answers a change of a known key as before.
    fn keyed(&mut self, request: &SeenRequest) -> TestAnswer {
        let Some(key) = request.headers.get("idempotency-key").cloned() else { return self.act(request) };
        if let Some(answer) = self.answered.get(&key) {
            return answer.clone();
        }
        let answer = self.act(request);
        self.answered.insert(key, answer.clone());
        answer
    }

    fn act(&mut self, request: &SeenRequest) -> TestAnswer {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let parts: Vec<String> = path.trim_start_matches("/v1/").split('/').map(|p| p.replace("%1F", ".")).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match (request.verb.as_str(), parts.as_slice()) {
            ("GET", ["config"]) => TestAnswer::json(200, self.config.clone()),
            ("GET", ["namespaces"]) => self.list(query, "namespaces", |s| {
                s.namespaces.keys().map(|n| json!(n.split('.').collect::<Vec<_>>())).collect()
            }),
            ("POST", ["namespaces"]) => self.create_namespace(&request.json()),
            ("GET" | "HEAD" | "DELETE", ["namespaces", name]) => self.namespace(&request.verb, name),
            ("POST", ["namespaces", name, "properties"]) => self.update_namespace(name, &request.json()),
            ("GET", ["namespaces", name, "tables"]) => {
                let start = format!("{name}.");
                let ident = move |n: &String| {
                    Some(
                        json!({"namespace": start.trim_end_matches('.').split('.').collect::<Vec<_>>(), "name": n.strip_prefix(&start)?}),
                    )
                };
                self.list(query, "identifiers", move |s| s.tables.keys().filter_map(&ident).collect())
            }
            ("POST", ["namespaces", name, "tables"]) => self.create(name, &request.json()),
            ("POST", ["namespaces", name, "register"]) => self.register(name, &request.json()),
            ("GET" | "HEAD", ["namespaces", name, "tables", table]) => self.load(&format!("{name}.{table}"), request),
            ("POST", ["namespaces", name, "tables", table]) => self.commit(&format!("{name}.{table}"), &request.json()),
            ("DELETE", ["namespaces", name, "tables", table]) => match self.tables.remove(&format!("{name}.{table}")) {
                Some(_) => TestAnswer::empty(204),
                None => not_found("NoSuchTableException"),
            },
            ("HEAD" | "GET", ["namespaces", name, "views", view]) => {
                match self.views.contains(&format!("{name}.{view}")) {
                    true => TestAnswer::empty(204),
                    false => not_found("NoSuchViewException"),
                }
            }
            ("POST", ["tables", "rename"]) => self.rename(&request.json()),
            _ => TestAnswer::error(400, "BadRequestException", "no such route"),
        }
    }

    fn list(&self, query: &str, key: &str, all: impl Fn(&FakeState) -> Vec<Json>) -> TestAnswer {
        let start = query.split('&').find_map(|p| p.strip_prefix("pageToken=")?.parse().ok()).unwrap_or(0usize);
        let all = all(self);
        let page: Vec<Json> = all.iter().skip(start).take(self.page_size).cloned().collect();
        let next = start.saturating_add(self.page_size);
        let token = (next < all.len()).then(|| next.to_string());
        TestAnswer::json(200, json!({key: page, "next-page-token": token}))
    }

    fn create_namespace(&mut self, body: &Json) -> TestAnswer {
        let levels: Vec<&str> = body["namespace"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
        let name = levels.join(".");
        if self.namespaces.contains_key(&name) {
            return TestAnswer::error(409, "AlreadyExistsException", "the namespace exists");
        }
        let properties = serde_json::from_value(body["properties"].clone()).unwrap();
        self.namespaces.insert(name, properties);
        TestAnswer::json(200, body.clone())
    }

    fn namespace(&mut self, verb: &str, name: &str) -> TestAnswer {
        let Some(properties) = self.namespaces.get(name) else { return not_found("NoSuchNamespaceException") };
        match verb {
            "HEAD" => TestAnswer::empty(204),
            "GET" => TestAnswer::json(200, json!({"namespace": [name], "properties": properties})),
            _ if self.tables.keys().any(|t| t.starts_with(&format!("{name}."))) => {
                TestAnswer::error(409, "NamespaceNotEmptyException", "it is not empty")
            }
            _ => {
                self.namespaces.remove(name);
                TestAnswer::empty(204)
            }
        }
    }

    fn update_namespace(&mut self, name: &str, body: &Json) -> TestAnswer {
        let Some(properties) = self.namespaces.get_mut(name) else { return not_found("NoSuchNamespaceException") };
        let set: BTreeMap<String, String> = serde_json::from_value(body["updates"].clone()).unwrap();
        let removed: Vec<String> = serde_json::from_value(body["removals"].clone()).unwrap();
        properties.retain(|name, _| !removed.contains(name));
        properties.extend(set);
        TestAnswer::json(200, json!({"updated": [], "removed": removed, "missing": null}))
    }

    fn create(&mut self, namespace: &str, body: &Json) -> TestAnswer {
        let name = format!("{namespace}.{}", body["name"].as_str().unwrap());
        if !self.namespaces.contains_key(namespace) {
            return not_found("NoSuchNamespaceException");
        }
        if self.tables.contains_key(&name) {
            return TestAnswer::error(409, "AlreadyExistsException", "the table exists");
        }
        let location = match body["location"].as_str() {
            None if self.needs_location => {
                return TestAnswer::error(400, "BadRequestException", "a table needs a Location");
            }
            location => location.map_or_else(|| format!("{}/{name}", self.folder), str::to_owned),
        };
        let properties: BTreeMap<String, String> = serde_json::from_value(body["properties"].clone()).unwrap();
        let schema = schema_from_json(&body["schema"]).unwrap();
        let spec = spec_from_json(&body["partition-spec"], 0).unwrap();
        let order = sort_order_from_json(&body["write-order"]).unwrap();
        let table = new_table(&schema, &spec, &order, &location, &properties, 2, now_ms()).unwrap();
        let table = MetadataCommit::creating(&table).unwrap().next;
        self.publish(&name, table)
    }

    /// Makes a version the newest one, with a metadata file.
    fn publish(&mut self, name: &str, table: TableMetadata) -> TestAnswer {
        self.files += 1;
        let folder = format!("{}/metadata", table.location);
        std::fs::create_dir_all(&folder).unwrap();
        let path = format!("{folder}/{:05}-{}.metadata.json", self.files, uuid::Uuid::new_v4());
        std::fs::write(&path, encode_metadata(&table)).unwrap();
        self.tables.insert(name.to_owned(), (table, path));
        self.shown(name)
    }

    fn shown(&self, name: &str) -> TestAnswer {
        let (table, path) = &self.tables[name];
        let mut metadata: Json = serde_json::from_slice(&encode_metadata(table)).unwrap();
        if self.hides_history
            && let Some(current) = table.current_snapshot_id
        {
            metadata["snapshots"].as_array_mut().unwrap().retain(|s| s["snapshot-id"] == json!(current));
            metadata["snapshot-log"] = json!([]);
            metadata["metadata-log"] = json!([]);
        }
        let mut out = json!({"metadata-location": path, "metadata": metadata});
        for (key, value) in self.loaded.as_object().unwrap() {
            out[key] = value.clone();
        }
        match self.has_etags {
            true => TestAnswer::json(200, out).with("etag", &format!("W/\"{}\"", path.rsplit('/').next().unwrap())),
            false => TestAnswer::json(200, out),
        }
    }

    fn load(&self, name: &str, request: &SeenRequest) -> TestAnswer {
        let Some((_, path)) = self.tables.get(name) else { return not_found("NoSuchTableException") };
        let asked = request.headers.get("if-none-match");
        match asked {
            _ if request.verb == "HEAD" => TestAnswer::empty(204),
            Some(etag) if etag.contains(path.rsplit('/').next().unwrap()) => TestAnswer::empty(304),
            _ => self.shown(name),
        }
    }

    fn register(&mut self, namespace: &str, body: &Json) -> TestAnswer {
        let name = format!("{namespace}.{}", body["name"].as_str().unwrap());
        if self.tables.contains_key(&name) {
            return TestAnswer::error(409, "AlreadyExistsException", "the table exists");
        }
        let path = body["metadata-location"].as_str().unwrap().to_owned();
        let Ok(bytes) = std::fs::read(&path) else { return not_found("NotFoundException") };
        self.tables.insert(name.clone(), (parse_metadata(&bytes).unwrap(), path));
        self.shown(&name)
    }

    fn rename(&mut self, body: &Json) -> TestAnswer {
        let name = |end: &str| {
            let levels: Vec<&str> =
                body[end]["namespace"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
            format!("{}.{}", levels.join("."), body[end]["name"].as_str().unwrap())
        };
        let (from, to) = (name("source"), name("destination"));
        if self.tables.contains_key(&to) {
            return TestAnswer::error(409, "AlreadyExistsException", "the name is taken");
        }
        let Some(table) = self.tables.remove(&from) else { return not_found("NoSuchTableException") };
        self.tables.insert(to, table);
        TestAnswer::empty(204)
    }

    fn commit(&mut self, name: &str, body: &Json) -> TestAnswer {
        if self.views.iter().any(|view| view == name) {
            return TestAnswer::error(409, "AlreadyExistsException", "a view has this name");
        }
        let Some((table, path)) = self.tables.get(name).cloned() else { return not_found("NoSuchTableException") };
        for requirement in body["requirements"].as_array().unwrap() {
            if let Err(e) = MetadataRequirement::from_json(requirement.clone()).unwrap().check(Some(&table)) {
                return TestAnswer::error(409, "CommitFailedException", &e.to_string());
            }
        }
        let updates = body["updates"].as_array().unwrap().iter();
        let updates: Vec<_> =
            updates.map(|u| MetadataUpdate::from_json(u.clone(), table.format_version).unwrap()).collect();
        match apply(&table, &updates, now_ms()) {
            Ok(next) => {
                let next = next.with_metadata_log(&path, table.last_updated_ms).unwrap();
                self.publish(name, next)
            }
            Err(e) => TestAnswer::error(400, "BadRequestException", &e.to_string()),
        }
    }
}

/// The answers after which a client does not know what happened.
pub(crate) fn doubtful_answers() -> Vec<(&'static str, TestAnswer)> {
    let cut = TestAnswer::Cut { status: 200, body: b"{\"metadata\": {".to_vec() };
    let torn = TestAnswer::Full { status: 200, headers: Vec::new(), body: b"{\"metadata\": {".to_vec() };
    let page = TestAnswer::Full { status: 502, headers: Vec::new(), body: b"<html>bad gateway</html>".to_vec() };
    vec![
        ("400", TestAnswer::error(400, "CommitStateUnknownException", "unknown")),
        ("500", TestAnswer::error(500, "InternalServerError", "broken")),
        ("502", page),
        ("503", TestAnswer::error(503, "ServiceUnavailableException", "busy")),
        ("504", TestAnswer::error(504, "CommitStateUnknownException", "late")),
        ("reset", TestAnswer::Reset),
        ("timeout", TestAnswer::Silent(Duration::from_millis(400))),
        ("cut", cut),
        ("torn", torn),
    ]
}
