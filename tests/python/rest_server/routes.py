"""The operations of the specification: their paths, and what each does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from rest_server import answers
from rest_server.faults import Answer
from rest_server.refusal import Refusal, bad_request
from rest_server.register import Entry, as_written
from rest_server.switches import UNIT_SEPARATOR

if TYPE_CHECKING:
    from rest_server.service import Service

Json = dict[str, Any]

# By the specification's names of operations.
OPERATIONS: dict[str, str] = {
    "getConfig": "GET /v1/config",
    "getToken": "POST /v1/oauth/tokens",
    "listNamespaces": "GET /v1/{prefix}/namespaces",
    "createNamespace": "POST /v1/{prefix}/namespaces",
    "loadNamespaceMetadata": "GET /v1/{prefix}/namespaces/{namespace}",
    "namespaceExists": "HEAD /v1/{prefix}/namespaces/{namespace}",
    "dropNamespace": "DELETE /v1/{prefix}/namespaces/{namespace}",
    "updateProperties": "POST /v1/{prefix}/namespaces/{namespace}/properties",
    "listTables": "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "createTable": "POST /v1/{prefix}/namespaces/{namespace}/tables",
    "listFunctions": "GET /v1/{prefix}/namespaces/{namespace}/functions",
    "loadFunction": "GET /v1/{prefix}/namespaces/{namespace}/functions/{function}",
    "planTableScan": "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan",
    "fetchPlanningResult": "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan/{plan-id}",
    "cancelPlanning": "DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan/{plan-id}",
    "fetchScanTasks": "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/tasks",
    "registerTable": "POST /v1/{prefix}/namespaces/{namespace}/register",
    "loadTable": "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "updateTable": "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "dropTable": "DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "tableExists": "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "unregisterTable": "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/unregister",
    "loadCredentials": "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials",
    "signRequest": "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/sign",
    "renameTable": "POST /v1/{prefix}/tables/rename",
    "reportMetrics": "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics",
    "commitTransaction": "POST /v1/{prefix}/transactions/commit",
    "listViews": "GET /v1/{prefix}/namespaces/{namespace}/views",
    "createView": "POST /v1/{prefix}/namespaces/{namespace}/views",
    "loadView": "GET /v1/{prefix}/namespaces/{namespace}/views/{view}",
    "replaceView": "POST /v1/{prefix}/namespaces/{namespace}/views/{view}",
    "dropView": "DELETE /v1/{prefix}/namespaces/{namespace}/views/{view}",
    "viewExists": "HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}",
    "renameView": "POST /v1/{prefix}/views/rename",
    "registerView": "POST /v1/{prefix}/namespaces/{namespace}/register-view",
}
MUTATIONS = frozenset(
    (
        "createNamespace",
        "dropNamespace",
        "updateProperties",
        "createTable",
        "registerTable",
        "updateTable",
        "dropTable",
        "unregisterTable",
        "renameTable",
        "commitTransaction",
        "createView",
        "replaceView",
        "dropView",
        "renameView",
        "registerView",
    )
)
NOT_ADVERTISED = ("getConfig", "getToken")


@dataclass
class Call:
    """A request that was understood."""

    operation: str
    method: str
    path: str
    names: dict[str, str]
    query: dict[str, str]
    headers: dict[str, str]  # by small names
    content: bytes
    separator: str = UNIT_SEPARATOR
    parsed: Any = field(default=None)

    @property
    def body(self) -> Json:
        if self.parsed is None:
            try:
                self.parsed = json.loads(self.content)
            except ValueError as error:
                raise bad_request(f"Malformed request: {error}") from None
        if not isinstance(self.parsed, dict):
            raise bad_request("Malformed request: an object is needed")
        return self.parsed

    def levels(self, text: str) -> tuple[str, ...]:
        if UNIT_SEPARATOR not in text and self.separator != UNIT_SEPARATOR:
            return tuple(text.split(self.separator))
        return tuple(text.split(UNIT_SEPARATOR))

    @property
    def namespace(self) -> tuple[str, ...]:
        return self.levels(self.names["namespace"])

    def name(self, kind: str) -> tuple[str, ...]:
        return (*self.namespace, self.names[kind])

    @property
    def wants(self) -> set[str]:
        return {part.strip() for part in self.headers.get("x-iceberg-access-delegation", "").split(",")}


def understood(method: str, target: str, headers: dict[str, str], content: bytes, prefix: str, separator: str) -> Call:
    """The operation that a request asks for, or a refusal."""
    parts = urlsplit(target)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    path = parts.path
    if path in ("/v1/oauth/tokens", "/token") and method == "POST":
        return Call("getToken", method, path, {}, query, headers, content)
    if path == "/v1/config" and method == "GET":
        return Call("getConfig", method, path, {}, query, headers, content)
    before = f"/v1/{prefix}/" if prefix else "/v1/"
    if not path.startswith(before):
        raise Refusal(404, "NotFoundException", f"No route for request: {method} {path}")
    given = path[len(before) :].split("/")
    for operation, route in OPERATIONS.items():
        verb, _, pattern = route.partition(" /v1/{prefix}/")
        if verb == method and pattern:
            names = _match(pattern.split("/"), given)
            if names is not None:
                return Call(operation, method, path, names, query, headers, content, separator)
    raise Refusal(404, "NotFoundException", f"No route for request: {method} {path}")


def _match(pattern: list[str], given: list[str]) -> dict[str, str] | None:
    if len(pattern) != len(given):
        return None
    names = {}
    for wanted, found in zip(pattern, given, strict=True):
        if wanted.startswith("{"):
            names[wanted.strip("{}")] = unquote(found)
        elif wanted != found:
            return None
    return names if all(names.values()) else None


def endpoints(without: tuple[str, ...]) -> list[str]:
    """What the server says it offers."""
    return [route for name, route in OPERATIONS.items() if name not in (*without, *NOT_ADVERTISED)]


# ---------------------------------------------------------------- what each does


def get_config(service: Service, call: Call) -> Answer:
    known, wanted = service.switches.warehouses, call.query.get("warehouse")
    if known is not None and wanted not in known:
        raise Refusal(404, "NoSuchWarehouseException", f"Warehouse does not exist: {wanted}")
    return Answer(200, answers.configuration(service.switches, endpoints(service.switches.without), service.places.s3))


def get_token(service: Service, call: Call) -> Answer:
    return Answer(200, service.guard.token(call.content.decode(), call.headers))


def list_namespaces(service: Service, call: Call) -> Answer:
    parent = call.query.get("parent", "")
    names = service.register.list_namespaces(call.levels(parent) if parent else ())
    return Answer(200, answers.page("namespaces", [list(n) for n in names], service.switches.page_size, call.query))


def create_namespace(service: Service, call: Call) -> Answer:
    properties = service.register.create_namespace(tuple(call.body["namespace"]), call.body.get("properties") or {})
    return Answer(200, {"namespace": call.body["namespace"], "properties": properties})


def load_namespace(service: Service, call: Call) -> Answer:
    properties = service.register.namespace_properties(call.namespace)
    return Answer(200, {"namespace": list(call.namespace), "properties": properties})


def namespace_exists(service: Service, call: Call) -> Answer:
    service.register.need_namespace(call.namespace)
    return Answer(204)


def drop_namespace(service: Service, call: Call) -> Answer:
    service.register.drop_namespace(call.namespace)
    return _dropped(service)


def update_properties(service: Service, call: Call) -> Answer:
    removals, updates = call.body.get("removals") or [], call.body.get("updates") or {}
    return Answer(200, service.register.update_properties(call.namespace, removals, updates))


def list_tables(service: Service, call: Call) -> Answer:
    return _identifiers(service, call, service.register.list_tables(call.namespace))


def create_table(service: Service, call: Call) -> Answer:
    stage = bool(call.body.get("stage-create"))
    entry = service.register.create_table(call.namespace, call.body, stage)
    return _table(service, call, entry, (*call.namespace, call.body["name"]))


def register_table(service: Service, call: Call) -> Answer:
    entry = service.register.register(call.namespace, call.body)
    return _table(service, call, entry, (*call.namespace, call.body["name"]))


def load_table(service: Service, call: Call) -> Answer:
    name = call.name("table")
    entry = service.register.table(name)
    refs_only = call.query.get("snapshots") == "refs"
    if service.switches.etags and call.headers.get("if-none-match") == answers.etag(entry, refs_only):
        return Answer(304, headers={"ETag": answers.etag(entry, refs_only)})
    service.places.read(entry.location)  # a table whose file is lost is not loaded
    return answers.table(entry, name, service.switches, service.guard, call.wants, refs_only)


def table_exists(service: Service, call: Call) -> Answer:
    service.register.table(call.name("table"))
    return Answer(204)


def update_table(service: Service, call: Call) -> Answer:
    name = call.name("table")
    if _forgets(service):
        entry = service.register.table(name)
    else:
        entry = service.register.commit(name, call.body.get("requirements") or [], call.body["updates"])
    made = answers.table(entry, name, service.switches, service.guard, set())
    return Answer(200, {k: made.body[k] for k in ("metadata-location", "metadata")}, made.headers)


def commit_transaction(service: Service, call: Call) -> Answer:
    changes = [
        (_identifier(c["identifier"]), c.get("requirements") or [], c["updates"]) for c in call.body["table-changes"]
    ]
    if not _forgets(service):
        service.register.commit_all(changes)
    return Answer(204)


def drop_table(service: Service, call: Call) -> Answer:
    service.register.drop_table(call.name("table"), call.query.get("purgeRequested", "false").lower() == "true")
    return _dropped(service)


def unregister_table(service: Service, call: Call) -> Answer:
    entry = service.register.unregister(call.name("table"))
    return Answer(200, {"metadata-location": entry.location, "metadata": as_written(entry.metadata)})


def rename_table(service: Service, call: Call) -> Answer:
    source, to = _identifier(call.body["source"]), _identifier(call.body["destination"])
    service.register.rename(source, to, service.register.tables)
    return Answer(204)


def report_metrics(service: Service, call: Call) -> Answer:
    service.register.table(call.name("table"))
    service.reports.append(call.body)
    return Answer(204)


def load_credentials(service: Service, call: Call) -> Answer:
    entry = service.register.table(call.name("table"))
    if service.switches.vending is None:
        return Answer(200, {"storage-credentials": []})
    location = entry.metadata["location"]
    return Answer(200, {"storage-credentials": answers.storage_credentials(location, service.switches, service.guard)})


def sign_request(service: Service, call: Call) -> Answer:
    entry, store = service.register.table(call.name("table")), service.places.s3
    if store is None or not service.switches.signing:
        raise bad_request("Nothing is signed here", "SigningException")
    made = service.guard.sign(call.body, entry.metadata["location"], store["key"], store["secret"])
    lasting = call.body["method"] in ("GET", "HEAD")
    return Answer(200, made, {"Cache-Control": "private" if lasting else "no-cache"})


def plan_table_scan(service: Service, call: Call) -> Answer:
    entry, switches = service.register.table(call.name("table")), service.switches
    made = service.plans.submit(entry.metadata, call.body, switches.async_polls, switches.files_in_a_task)
    return Answer(200, _with_credentials(service, call, made, entry.metadata["location"]))


def fetch_planning_result(service: Service, call: Call) -> Answer:
    entry = service.register.table(call.name("table"))
    made = service.plans.fetch(call.names["plan-id"])
    return Answer(200, _with_credentials(service, call, made, entry.metadata["location"]))


def cancel_planning(service: Service, call: Call) -> Answer:
    service.plans.cancel(call.names["plan-id"])
    return Answer(204)


def fetch_scan_tasks(service: Service, call: Call) -> Answer:
    return Answer(200, service.plans.task(call.body["plan-task"]))


def list_views(service: Service, call: Call) -> Answer:
    return _identifiers(service, call, service.register.list_views(call.namespace))


def create_view(service: Service, call: Call) -> Answer:
    return answers.view(service.register.create_view(call.namespace, call.body))


def load_view(service: Service, call: Call) -> Answer:
    return answers.view(service.register.view(call.name("view")))


def replace_view(service: Service, call: Call) -> Answer:
    return answers.view(service.register.replace_view(call.name("view"), call.body))


def drop_view(service: Service, call: Call) -> Answer:
    service.register.drop_view(call.name("view"))
    return _dropped(service)


def view_exists(service: Service, call: Call) -> Answer:
    service.register.view(call.name("view"))
    return Answer(204)


def rename_view(service: Service, call: Call) -> Answer:
    source, to = _identifier(call.body["source"]), _identifier(call.body["destination"])
    service.register.rename(source, to, service.register.views)
    return Answer(204)


def register_view(service: Service, call: Call) -> Answer:
    return answers.view(service.register.register_view(call.namespace, call.body))


def list_functions(service: Service, call: Call) -> Answer:
    service.register.need_namespace(call.namespace)
    return Answer(200, {"identifiers": []})


def load_function(service: Service, call: Call) -> Answer:
    raise Refusal(404, "NoSuchFunctionException", f"Function does not exist: {'.'.join(call.name('function'))}")


HANDLERS: dict[str, Callable[[Service, Call], Answer]] = {
    "getConfig": get_config,
    "getToken": get_token,
    "listNamespaces": list_namespaces,
    "createNamespace": create_namespace,
    "loadNamespaceMetadata": load_namespace,
    "namespaceExists": namespace_exists,
    "dropNamespace": drop_namespace,
    "updateProperties": update_properties,
    "listTables": list_tables,
    "createTable": create_table,
    "listFunctions": list_functions,
    "loadFunction": load_function,
    "planTableScan": plan_table_scan,
    "fetchPlanningResult": fetch_planning_result,
    "cancelPlanning": cancel_planning,
    "fetchScanTasks": fetch_scan_tasks,
    "registerTable": register_table,
    "loadTable": load_table,
    "updateTable": update_table,
    "dropTable": drop_table,
    "tableExists": table_exists,
    "unregisterTable": unregister_table,
    "loadCredentials": load_credentials,
    "signRequest": sign_request,
    "renameTable": rename_table,
    "reportMetrics": report_metrics,
    "commitTransaction": commit_transaction,
    "listViews": list_views,
    "createView": create_view,
    "loadView": load_view,
    "replaceView": replace_view,
    "dropView": drop_view,
    "viewExists": view_exists,
    "renameView": rename_view,
    "registerView": register_view,
}


def _dropped(service: Service) -> Answer:
    return Answer(200, {}) if service.switches.drop_answers_200 else Answer(204)


def _forgets(service: Service) -> bool:
    with service.lock:
        service.switches.forgets_commits -= 1
        return service.switches.forgets_commits >= 0


def _identifier(given: Json) -> tuple[str, ...]:
    return (*given["namespace"], given["name"])


def _identifiers(service: Service, call: Call, names: list[tuple[str, ...]]) -> Answer:
    shown = [{"namespace": list(name[:-1]), "name": name[-1]} for name in names]
    return Answer(200, answers.page("identifiers", shown, service.switches.page_size, call.query))


def _table(service: Service, call: Call, entry: Entry, name: tuple[str, ...]) -> Answer:
    return answers.table(entry, name, service.switches, service.guard, call.wants)


def _with_credentials(service: Service, call: Call, made: Json, location: str) -> Json:
    vends = service.switches.vending is not None and "vended-credentials" in call.wants
    if not vends or made["status"] != "completed":
        return made
    return {**made, "storage-credentials": answers.storage_credentials(location, service.switches, service.guard)}
