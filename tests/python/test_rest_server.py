"""The tests' own REST server: PyIceberg works with it, and each of its switches does what it says."""

from __future__ import annotations

import http.client
import json
import pathlib
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    ForbiddenError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.types import LongType, StringType

from rest_server import KINDS, MUTATIONS, OPERATIONS, WHOLE, Auth, RestServer, Vending, paths, serving, with_value

SCHEMA = pa.schema([("id", pa.int64())])
PLAIN = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}
Json = dict[str, Any]


def one(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def ids(table: Any) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[RestServer]:
    with serving(tmp_path / "wh") as server:
        yield server


@pytest.fixture
def catalog(server: RestServer) -> RestCatalog:
    found = RestCatalog("c", uri=server.url)
    found.create_namespace("db")
    return found


class Answered:
    """What a plain request was answered."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self.content = answer.read()

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    @property
    def error(self) -> str:
        return str(self.body["error"]["type"])


def ask(server: RestServer, method: str, path: str, body: Any = None, **headers: str) -> Answered:
    connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=20)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, None if body is None else json.dumps(body), names)
    try:
        return Answered(connection.getresponse())
    finally:
        connection.close()


def made(server: RestServer, name: str = "t", **more: Any) -> Json:
    """A table in `db`, by plain requests."""
    ask(server, "POST", "/v1/namespaces", {"namespace": ["db"]})
    answer = ask(server, "POST", "/v1/namespaces/db/tables", {"name": name, "schema": PLAIN, **more})
    assert answer.status == 200, answer.content
    return dict(answer.body)


def commit(server: RestServer, updates: list[Json], requirements: list[Json] | None = None, **headers: str) -> Answered:
    body = {"requirements": requirements or [], "updates": updates}
    return ask(server, "POST", "/v1/namespaces/db/tables/t", body, **headers)


def snapshot(number: int, sequence: int, parent: int | None = None) -> Json:
    made: Json = {
        "snapshot-id": number,
        "sequence-number": sequence,
        "timestamp-ms": int(time.time() * 1000),
        "manifest-list": f"/nowhere/{number}.avro",
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    return made if parent is None else {**made, "parent-snapshot-id": parent}


def on_main(number: int) -> Json:
    return {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": number}


def set_property(name: str, value: str = "1") -> Json:
    return {"action": "set-properties", "updates": {name: value}}


# ---------------------------------------------------------------- PyIceberg


def test_pyiceberg_creates_appends_renames_and_drops(server: RestServer, catalog: RestCatalog) -> None:
    table = catalog.create_table("db.t", SCHEMA, properties={"owner": "me"})
    with pytest.raises(TableAlreadyExistsError):
        catalog.create_table("db.t", SCHEMA)
    with pytest.raises(NoSuchNamespaceError):
        catalog.create_table("no.t", SCHEMA)
    table.append(one(1, 2))
    table.append(one(3))
    assert ids(catalog.load_table("db.t")) == [1, 2, 3]
    with table.update_schema() as update:
        update.add_column("name", StringType())
    table.overwrite(pa.table({"id": [7], "name": ["seven"]}))
    assert ids(table) == [7]
    table.delete("id = 7")
    assert ids(table) == []
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace("db")
    catalog.rename_table("db.t", "db.u")
    with pytest.raises(NoSuchTableError):
        catalog.load_table("db.t")
    newest = catalog.load_table("db.u").metadata_location
    catalog.drop_table("db.u")
    again = catalog.register_table("db.v", newest)
    assert len(again.metadata.snapshots) == len(catalog.load_table("db.v").metadata.snapshots) == 5
    catalog.purge_table("db.v")
    assert catalog.list_tables("db") == []
    assert not pathlib.Path(newest).exists()
    catalog.drop_namespace("db")
    assert server.counts()["registerTable"] == 1


def test_pyiceberg_sees_conflicts(catalog: RestCatalog) -> None:
    catalog.create_table("db.t", SCHEMA)
    first, stale = catalog.load_table("db.t"), catalog.load_table("db.t")
    with first.update_schema() as update:
        update.add_column("a", LongType())
    change = stale.update_schema()
    change.add_column("b", LongType())
    with pytest.raises(CommitFailedException, match="Requirement failed"):
        change.commit()


def test_pyiceberg_takes_partitions_orders_and_branches(catalog: RestCatalog) -> None:
    from pyiceberg.transforms import BucketTransform, DayTransform

    schema = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us")), ("s", pa.struct([("x", pa.int32())]))])
    table = catalog.create_table("db.t", schema, properties={"format-version": "1"})
    with table.update_spec() as spec:
        spec.add_field("id", BucketTransform(4))
        spec.add_field("ts", DayTransform())
    with table.update_spec() as spec:
        spec.remove_field("ts_day")
    rows = pa.table({"id": [1], "ts": [1_700_000_000_000_000], "s": [{"x": 1}]}, schema=schema)
    table.append(rows)
    current = table.refresh().metadata.current_snapshot_id
    assert current is not None
    table.manage_snapshots().create_tag(current, "first").create_branch(current, "dev").commit()
    assert set(table.refresh().refs()) == {"main", "first", "dev"}
    table.maintenance.expire_snapshots()
    assert len(table.metadata.specs()) == 3
    with table.transaction() as tx:
        tx.set_properties({"a": "b"})
        tx.upgrade_table_version(2)
    assert catalog.load_table("db.t").format_version == 2


def test_pyiceberg_stages_a_table(server: RestServer, catalog: RestCatalog) -> None:
    with catalog.create_table_transaction("db.t", SCHEMA, properties={"k": "v"}) as tx:
        assert not catalog.table_exists("db.t")
        tx.append(one(1))
    assert ids(catalog.load_table("db.t")) == [1]
    assert catalog.load_table("db.t").properties == {"k": "v"}
    with pytest.raises(CommitFailedException, match="already exists"), catalog.create_table_transaction("db.x", SCHEMA):
        catalog.create_table("db.x", SCHEMA)


def test_four_writers_lose_no_row(server: RestServer, catalog: RestCatalog) -> None:
    catalog.create_table("db.t", SCHEMA, properties={"commit.retry.num-retries": "50"})
    failed: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            table = RestCatalog("c", uri=server.url).load_table("db.t")
            for turn in range(4):
                while True:
                    try:
                        table.refresh().append(one(writer * 10 + turn))
                        break
                    except CommitFailedException:
                        continue
        except BaseException as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(w,)) for w in range(4)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert failed == []
    table = catalog.load_table("db.t")
    assert ids(table) == sorted(w * 10 + t for w in range(4) for t in range(4))
    assert len(table.metadata.snapshots) == 16


def test_it_works_in_a_process_of_its_own(tmp_path: pathlib.Path) -> None:
    here = pathlib.Path(__file__).parent
    command = [sys.executable, "-m", "rest_server", str(tmp_path), "page_size=1", "etags"]
    with subprocess.Popen(command, cwd=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        other = RestServer(url, None)  # type: ignore[arg-type]
        assert ask(other, "GET", "/v1/config").status == 200
        assert ask(other, "POST", "/_control/faults", {"operation": "listNamespaces", "kind": "503"}).status == 200
        assert ask(other, "GET", "/v1/namespaces").status == 503
        assert ask(other, "GET", "/v1/namespaces").status == 200
        assert ask(other, "GET", "/_control/counts").body == {"getConfig": 1, "listNamespaces": 2}
        assert ask(other, "POST", "/_control/switches", {"no_such": 1}).status == 400
        assert ask(other, "POST", "/_control/reset").status == 200
        assert ask(other, "GET", "/_control/asked").body == []
        process.stdin.close()  # type: ignore[union-attr]
    assert process.returncode == 0


# ---------------------------------------------------------------- the protocol


def test_namespaces(server: RestServer) -> None:
    assert ask(server, "POST", "/v1/namespaces", {"namespace": ["a", "b"], "properties": {"k": "v"}}).status == 200
    assert ask(server, "POST", "/v1/namespaces", {"namespace": ["a", "b"]}).error == "AlreadyExistsException"
    assert ask(server, "GET", "/v1/namespaces").body == {"namespaces": [["a"]]}
    assert ask(server, "GET", "/v1/namespaces?parent=a").body == {"namespaces": [["a", "b"]]}
    assert ask(server, "GET", "/v1/namespaces?parent=x").status == 404
    assert ask(server, "GET", "/v1/namespaces/a%1Fb").body["properties"] == {"k": "v"}
    assert ask(server, "HEAD", "/v1/namespaces/a%1Fb").status == 204
    assert ask(server, "HEAD", "/v1/namespaces/x").status == 404
    changed = ask(server, "POST", "/v1/namespaces/a%1Fb/properties", {"removals": ["k", "z"], "updates": {"q": "1"}})
    assert changed.body == {"updated": ["q"], "removed": ["k"], "missing": ["z"]}
    both = ask(server, "POST", "/v1/namespaces/a%1Fb/properties", {"removals": ["k"], "updates": {"k": "1"}})
    assert (both.status, both.error) == (422, "UnprocessableEntityException")
    assert ask(server, "DELETE", "/v1/namespaces/a").error == "NamespaceNotEmptyException"
    assert ask(server, "DELETE", "/v1/namespaces/a%1Fb").status == 204
    assert ask(server, "GET", "/v1/nonsense").status == 404
    assert ask(server, "POST", "/v1/namespaces", ["no object"]).status == 400
    assert ask(server, "POST", "/v1/namespaces", {}).status == 400


def test_ids_of_created_tables_are_fresh(server: RestServer) -> None:
    inner = {"type": "list", "element-id": 70, "element": "int", "element-required": False}
    fields = [
        {"id": 50, "name": "l", "type": inner, "required": False, "doc": None},
        {"id": 60, "name": "k", "type": "long", "required": True},
    ]
    schema = {"type": "struct", "schema-id": 9, "fields": fields, "identifier-field-ids": [60]}
    spec = {"fields": [{"source-id": 60, "transform": "bucket[4]", "name": "k_bucket"}]}
    order = {"fields": [{"source-id": 60, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}]}
    ask(server, "POST", "/v1/namespaces", {"namespace": ["db"]})
    body = {"name": "t", "schema": schema, "partition-spec": spec, "write-order": order}
    metadata = ask(server, "POST", "/v1/namespaces/db/tables", body).body["metadata"]
    found = metadata["schemas"][0]
    assert [f["id"] for f in found["fields"]] == [1, 2]
    assert found["fields"][0]["type"]["element-id"] == 3
    assert found["identifier-field-ids"] == [2]
    assert metadata["partition-specs"][0]["fields"][0] == {
        "source-id": 2,
        "field-id": 1000,
        "transform": "bucket[4]",
        "name": "k_bucket",
    }
    assert (metadata["last-column-id"], metadata["last-partition-id"]) == (3, 1000)
    assert metadata["sort-orders"][0]["fields"][0]["source-id"] == 2
    spec["fields"][0]["source-id"] = 5
    assert ask(server, "POST", "/v1/namespaces/db/tables", {**body, "name": "u"}).status == 400


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_update_is_applied(server: RestServer, version: int) -> None:
    base = made(server, properties={"format-version": str(version)})["metadata"]
    extra = {"first-row-id": 0, "added-rows": 5} if version == 3 else {}
    wider = [*PLAIN["fields"], {"id": 2, "name": "n", "type": "string", "required": False}]  # type: ignore[misc]
    statistics = {
        "snapshot-id": 11,
        "statistics-path": "/s.puffin",
        "file-size-in-bytes": 1,
        "file-footer-size-in-bytes": 1,
        "blob-metadata": [],
    }
    updates: list[Json] = [
        {"action": "assign-uuid", "uuid": base["table-uuid"]},
        {"action": "add-schema", "schema": {"type": "struct", "fields": wider}, "last-column-id": 2},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"fields": [{"source-id": 1, "transform": "identity", "name": "id"}]}},
        {"action": "set-default-spec", "spec-id": -1},
        {
            "action": "add-sort-order",
            "sort-order": {
                "fields": [{"source-id": 2, "transform": "identity", "direction": "desc", "null-order": "nulls-last"}]
            },
        },
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "add-snapshot", "snapshot": {**snapshot(11, 1), **extra}},
        on_main(11),
        {"action": "set-snapshot-ref", "ref-name": "tag", "type": "tag", "snapshot-id": 11, "max-ref-age-ms": 5},
        {"action": "set-statistics", "snapshot-id": 11, "statistics": statistics},
        {
            "action": "set-partition-statistics",
            "partition-statistics": {"snapshot-id": 11, "statistics-path": "/p.parquet", "file-size-in-bytes": 1},
        },
        {"action": "add-encryption-key", "encryption-key": {"key-id": "k", "encrypted-key-metadata": "QQ=="}},
        set_property("a"),
        {"action": "remove-properties", "removals": ["a"]},
        {"action": "set-location", "location": base["location"] + "/elsewhere"},
        {"action": "upgrade-format-version", "format-version": version},
    ]
    answer = commit(server, updates)
    assert answer.status == 200, answer.content
    after = answer.body["metadata"]
    assert (after["current-schema-id"], after["default-spec-id"], after["default-sort-order-id"]) == (1, 1, 1)
    assert after["current-snapshot-id"] == 11
    assert set(after["refs"]) == {"main", "tag"}
    assert [len(after[m]) for m in ("statistics", "partition-statistics", "encryption-keys")] == [1, 1, 1]
    assert after.get("next-row-id") == (5 if version == 3 else None)
    assert answer.body["metadata-location"].startswith(base["location"] + "/elsewhere/metadata/00001-")
    removals: list[Json] = [
        {"action": "remove-statistics", "snapshot-id": 11},
        {"action": "remove-partition-statistics", "snapshot-id": 11},
        {"action": "remove-encryption-key", "key-id": "k"},
        {"action": "remove-snapshot-ref", "ref-name": "tag"},
        {"action": "remove-schemas", "schema-ids": [0]},
        {"action": "remove-partition-specs", "spec-ids": [0]},
    ]
    after = commit(server, removals).body["metadata"]
    assert [len(after[m]) for m in ("statistics", "partition-statistics", "encryption-keys", "schemas")] == [0, 0, 0, 1]
    after = commit(server, [{"action": "remove-snapshots", "snapshot-ids": [11]}]).body["metadata"]
    assert (after["snapshots"], after["refs"], after["snapshot-log"]) == ([], {}, [])
    assert len(after["metadata-log"]) == 3
    assert json.loads(pathlib.Path(after["metadata-log"][1]["metadata-file"]).read_text())["current-snapshot-id"] == 11


@pytest.mark.parametrize(
    "update",
    [
        {"action": "set-current-schema", "schema-id": 8},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "set-default-spec", "spec-id": 8},
        {"action": "set-default-sort-order", "sort-order-id": 8},
        {"action": "remove-schemas", "schema-ids": [0]},
        {"action": "remove-partition-specs", "spec-ids": [0]},
        {"action": "upgrade-format-version", "format-version": 1},
        {"action": "upgrade-format-version", "format-version": 4},
        {"action": "assign-uuid", "uuid": str(uuid.UUID(int=5))},
        on_main(99),
        {"action": "add-snapshot", "snapshot": snapshot(1, 1)},
        {"action": "add-snapshot", "snapshot": snapshot(2, 1, 1)},
        {"action": "set-properties"},
        {"action": "dance"},
    ],
)
def test_updates_that_make_no_sense_are_refused(server: RestServer, update: Json) -> None:
    made(server)
    assert commit(server, [{"action": "add-snapshot", "snapshot": snapshot(1, 1)}, on_main(1)]).status == 200
    before = ask(server, "GET", "/v1/namespaces/db/tables/t").body
    assert commit(server, [set_property("a"), update]).status == 400
    assert ask(server, "GET", "/v1/namespaces/db/tables/t").body == before


def test_requirements(server: RestServer) -> None:
    uuid_of = made(server)["metadata"]["table-uuid"]
    good: list[Json] = [
        {"type": "assert-table-uuid", "uuid": uuid_of},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 1},
        {"type": "assert-current-schema-id", "current-schema-id": 0},
        {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 999},
        {"type": "assert-default-spec-id", "default-spec-id": 0},
        {"type": "assert-default-sort-order-id", "default-sort-order-id": 0},
    ]
    added = {"action": "add-snapshot", "snapshot": snapshot(1, 1)}
    assert commit(server, [added, on_main(1)], good).status == 200
    bad: list[Json] = [{"type": "assert-create"}, {"type": "assert-table-uuid", "uuid": str(uuid.UUID(int=5))}]
    bad += [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": n} for n in (None, 2)]
    bad += [{"type": "assert-ref-snapshot-id", "ref": "dev", "snapshot-id": 1}]
    bad += [{name: value + 1 if isinstance(value, int) else value for name, value in r.items()} for r in good[2:]]
    for requirement in bad:
        answer = commit(server, [set_property("a")], [requirement])
        assert (answer.status, answer.error) == (409, "CommitFailedException"), requirement
    assert commit(server, [set_property("a")], [{"type": "assert-peace"}]).status == 400
    gone = ask(server, "POST", "/v1/namespaces/db/tables/no", {"requirements": good, "updates": []})
    assert (gone.status, gone.error) == (404, "NoSuchTableException")


def test_transactions_commit_all_or_nothing(server: RestServer) -> None:
    made(server)
    made(server, "u")

    def change(name: str, *requirements: Json) -> Json:
        identifier = {"namespace": ["db"], "name": name}
        return {"identifier": identifier, "requirements": list(requirements), "updates": [set_property("a")]}

    def has(name: str) -> bool:
        return "a" in ask(server, "GET", f"/v1/namespaces/db/tables/{name}").body["metadata"]["properties"]

    bad = [change("t"), change("u", {"type": "assert-current-schema-id", "current-schema-id": 7})]
    assert ask(server, "POST", "/v1/transactions/commit", {"table-changes": bad}).status == 409
    assert (has("t"), has("u")) == (False, False)
    good = [change("t"), change("u")]
    assert ask(server, "POST", "/v1/transactions/commit", {"table-changes": good}).status == 204
    assert (has("t"), has("u")) == (True, True)


def test_views(server: RestServer) -> None:
    made(server)
    version = {
        "version-id": 1,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {"engine": "x"},
        "default-namespace": ["db"],
        "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
    }
    body = {"name": "v", "schema": PLAIN, "view-version": version, "properties": {"a": "b"}}
    first = ask(server, "POST", "/v1/namespaces/db/views", body).body
    assert first["metadata"]["current-version-id"] == 1
    assert ask(server, "POST", "/v1/namespaces/db/views", body).status == 409
    assert ask(server, "POST", "/v1/namespaces/db/views", {**body, "name": "t"}).status == 409
    assert ask(server, "POST", "/v1/namespaces/db/tables", {"name": "v", "schema": PLAIN}).status == 409
    other = {**version, "representations": [{"type": "sql", "sql": "select 2", "dialect": "spark"}]}
    updates = [
        {"action": "add-view-version", "view-version": other},
        {"action": "set-current-view-version", "view-version-id": -1},
    ]
    right = [{"type": "assert-view-uuid", "uuid": first["metadata"]["view-uuid"]}]
    after = ask(server, "POST", "/v1/namespaces/db/views/v", {"requirements": right, "updates": updates}).body
    assert (after["metadata"]["current-version-id"], len(after["metadata"]["version-log"])) == (2, 2)
    wrong = [{"type": "assert-view-uuid", "uuid": str(uuid.UUID(int=5))}]
    assert ask(server, "POST", "/v1/namespaces/db/views/v", {"requirements": wrong, "updates": []}).status == 409
    assert ask(server, "GET", "/v1/namespaces/db/views").body["identifiers"] == [{"namespace": ["db"], "name": "v"}]
    names = {"source": {"namespace": ["db"], "name": "v"}, "destination": {"namespace": ["db"], "name": "w"}}
    assert ask(server, "POST", "/v1/views/rename", names).status == 204
    assert ask(server, "HEAD", "/v1/namespaces/db/views/w").status == 204
    assert ask(server, "GET", "/v1/namespaces/db/views/v").error == "NoSuchViewException"
    assert ask(server, "DELETE", "/v1/namespaces/db/views/w").status == 204
    again = {"name": "z", "metadata-location": after["metadata-location"]}
    assert ask(server, "POST", "/v1/namespaces/db/register-view", again).body["metadata"] == after["metadata"]


def test_tables_are_registered_and_unregistered(server: RestServer) -> None:
    made(server)
    older = ask(server, "GET", "/v1/namespaces/db/tables/t").body["metadata-location"]
    assert commit(server, [set_property("a")]).status == 200
    body = {"name": "t", "metadata-location": older}
    assert ask(server, "POST", "/v1/namespaces/db/register", body).status == 409
    assert ask(server, "POST", "/v1/namespaces/db/register", {**body, "overwrite": True}).status == 200
    assert ask(server, "GET", "/v1/namespaces/db/tables/t").body["metadata-location"] == older
    gone = ask(server, "POST", "/v1/namespaces/db/tables/t/unregister")
    assert (gone.status, gone.body["metadata-location"]) == (200, older)
    assert commit(server, [set_property("a")]).status == 404
    assert pathlib.Path(older).exists()
    lost = {"name": "z", "metadata-location": "/no/where.metadata.json"}
    assert ask(server, "POST", "/v1/namespaces/db/register", lost).error == "NotFoundException"


def test_plans(server: RestServer, catalog: RestCatalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    for value in range(3):
        table.append(one(value))
    path = "/v1/namespaces/db/tables/t/plan"
    at_once = ask(server, "POST", path, {}).body
    assert at_once["status"] == "completed"
    files = {task["data-file"]["file-path"] for task in at_once["file-scan-tasks"]}
    assert files == {str(f) for f in table.inspect.files()["file_path"].to_pylist()}
    first, _, third = (s.snapshot_id for s in table.metadata.snapshots)
    assert len(ask(server, "POST", path, {"snapshot-id": first}).body["file-scan-tasks"]) == 1
    since = ask(server, "POST", path, {"start-snapshot-id": first, "end-snapshot-id": third}).body
    assert len(since["file-scan-tasks"]) == 2
    assert ask(server, "POST", path, {"snapshot-id": 5}).status == 400
    server.switches.async_polls, server.switches.files_in_a_task = 2, 1
    submitted = ask(server, "POST", path, {}).body
    assert set(submitted) == {"status", "plan-id"}
    where = f"{path}/{submitted['plan-id']}"
    assert ask(server, "GET", where).body["status"] == "submitted"
    ready = ask(server, "GET", where).body
    assert (ready["status"], len(ready["file-scan-tasks"]), len(ready["plan-tasks"])) == ("completed", 1, 2)
    rest = ask(server, "POST", "/v1/namespaces/db/tables/t/tasks", {"plan-task": ready["plan-tasks"][0]}).body
    assert len(rest["file-scan-tasks"]) == 1
    assert ask(server, "DELETE", where).status == 204
    assert ask(server, "GET", where).body == {"status": "cancelled"}
    assert ask(server, "GET", f"{path}/no").error == "NoSuchPlanIdException"
    assert ask(server, "POST", "/v1/namespaces/db/tables/t/tasks", {"plan-task": "no"}).status == 404


def test_every_operation_of_the_specification_is_served(server: RestServer) -> None:
    for route in OPERATIONS.values():
        method, _, pattern = route.partition(" ")
        path = pattern.replace("/{prefix}", "").replace("{", "").replace("}", "")
        ask(server, method, path, {} if method == "POST" else None)
    assert set(server.counts()) == set(OPERATIONS)
    config = ask(server, "GET", "/v1/config").body
    assert set(config["endpoints"]) == set(OPERATIONS.values()) - {OPERATIONS["getConfig"], OPERATIONS["getToken"]}


# ---------------------------------------------------------------- switches


def test_locations(server: RestServer) -> None:
    server.switches.needs_location = True
    ask(server, "POST", "/v1/namespaces", {"namespace": ["db"]})
    assert ask(server, "POST", "/v1/namespaces/db/tables", {"name": "t", "schema": PLAIN}).status == 400
    location = ask(server, "GET", "/v1/namespaces/db").body["properties"]["location"]
    assert made(server, location=f"{location}/t/")["metadata"]["location"] == f"{location}/t"
    server.switches.change({"needs_location": False, "refuses_location": True})
    asked = {"name": "u", "schema": PLAIN, "location": f"{location}/u"}
    assert ask(server, "POST", "/v1/namespaces/db/tables", asked).status == 400
    assert made(server, "u")["metadata"]["location"] == f"{location}/u"


def test_drops(server: RestServer) -> None:
    made(server)
    path = "/v1/namespaces/db/tables/t"
    server.switches.purge_must = True
    assert ask(server, "DELETE", path).status == 400
    assert ask(server, "DELETE", f"{path}?purgeRequested=false").status == 400
    server.switches.change({"purge_must": False, "purge_never": True, "drop_answers_200": True})
    assert ask(server, "DELETE", f"{path}?purgeRequested=true").status == 400
    assert ask(server, "DELETE", f"{path}?purgeRequested=false").status == 200
    assert ask(server, "DELETE", path).status == 404


def test_pages(server: RestServer) -> None:
    for name in "abc":
        made(server, name)
    asked = ask(server, "GET", "/v1/namespaces/db/tables?pageToken=&pageSize=2").body
    assert len(asked["identifiers"]) == 2
    server.switches.page_size = 2
    first = ask(server, "GET", "/v1/namespaces/db/tables").body
    second = ask(server, "GET", f"/v1/namespaces/db/tables?pageToken={first['next-page-token']}").body
    assert [i["name"] for i in first["identifiers"] + second["identifiers"]] == ["a", "b", "c"]
    assert "next-page-token" not in second


def test_snapshots_that_are_shown(server: RestServer) -> None:
    made(server)
    added = [{"action": "add-snapshot", "snapshot": snapshot(n, n)} for n in (1, 2)]
    server.switches.one_snapshot = True
    assert commit(server, [*added, on_main(2)]).status == 400
    server.switches.one_snapshot = False
    assert commit(server, [*added, on_main(2)]).status == 200
    path = "/v1/namespaces/db/tables/t"
    assert len(ask(server, "GET", path).body["metadata"]["snapshots"]) == 2
    refs = ask(server, "GET", f"{path}?snapshots=refs").body["metadata"]
    assert [s["snapshot-id"] for s in refs["snapshots"]] == [2]
    server.switches.last_snapshot_only = True
    newest = commit(server, [set_property("a")]).body["metadata"]
    assert [s["snapshot-id"] for s in newest["snapshots"]] == [2]
    assert newest["metadata-log"] == []
    server.switches.last_snapshot_only = False
    assert len(ask(server, "GET", path).body["metadata"]["snapshots"]) == 2


def test_configurations(server: RestServer) -> None:
    assert "idempotency-key-lifetime" not in ask(server, "GET", "/v1/config").body
    server.switches.change(
        {
            "no_endpoints": True,
            "prefix": "catalogs/7",
            "separator": ".",
            "idempotency": True,
            "unknown_config_keys": True,
            "decoy_signer": True,
            "warehouses": ["wh"],
            "labels": {"object-labels": {"team": "data"}},
            "planning_mode": "server",
        }
    )
    assert ask(server, "GET", "/v1/config").error == "NoSuchWarehouseException"
    config = ask(server, "GET", "/v1/config?warehouse=wh").body
    assert config["idempotency-key-lifetime"] == "PT30M"
    assert config["overrides"] == {"prefix": "catalogs/7", "namespace-separator": "%2E", "acme.color": "blue"}
    assert "endpoints" not in config
    assert ask(server, "GET", "/v1/namespaces").status == 404
    assert ask(server, "POST", "/v1/catalogs/7/namespaces", {"namespace": ["a", "b"]}).status == 200
    for name in ("a.b", "a%2Eb", "a%1Fb"):
        assert ask(server, "GET", f"/v1/catalogs/7/namespaces/{name}").body["namespace"] == ["a", "b"]
    body = {"name": "t", "schema": PLAIN}
    made = ask(server, "POST", "/v1/catalogs/7/namespaces/a.b/tables", body).body
    assert made["labels"] == {"object-labels": {"team": "data"}}
    assert made["config"]["scan-planning-mode"] == "server"
    assert made["config"]["s3.remote-signing-enabled"] == "false"
    server.switches.without = ("loadTable",)
    assert ask(server, "GET", "/v1/catalogs/7/namespaces/a.b/tables/t").status == 404


def test_heads_nulls_and_etags(server: RestServer) -> None:
    server.switches.change({"head_with_body": True, "explicit_nulls": True, "etags": True})
    made(server)
    path = "/v1/namespaces/db/tables/t"
    assert ask(server, "HEAD", path).status == 200
    assert ask(server, "HEAD", "/v1/namespaces/db/tables/no").status == 404
    loaded = ask(server, "GET", path)
    metadata = loaded.body["metadata"]
    for member in ("refs", "snapshots", "properties", "statistics", "current-snapshot-id"):
        assert metadata[member] is None
    assert metadata["schemas"][0]["identifier-field-ids"] is None
    assert metadata["schemas"][0]["fields"][0]["doc"] is None
    assert loaded.body["storage-credentials"] is None
    assert ask(server, "GET", "/v1/namespaces/db/tables").body["next-page-token"] is None
    same = ask(server, "GET", path, If_None_Match=loaded.headers["ETag"])
    assert (same.status, same.content) == (304, b"")
    assert ask(server, "GET", f"{path}?snapshots=refs", If_None_Match=loaded.headers["ETag"]).status == 200
    commit(server, [set_property("a")])
    assert ask(server, "GET", path, If_None_Match=loaded.headers["ETag"]).status == 200


def test_idempotency(server: RestServer) -> None:
    server.switches.idempotency = True
    made(server)
    key, path = str(uuid.uuid4()), "/v1/namespaces/db/tables"
    body = {"name": "u", "schema": PLAIN}
    first = ask(server, "POST", path, body, Idempotency_Key=key)
    again = ask(server, "POST", path, body, Idempotency_Key=key)
    assert (first.status, first.body) == (again.status, again.body)
    assert ask(server, "POST", path, body).status == 409
    assert ask(server, "POST", path, {**body, "name": "w"}, Idempotency_Key=key).status == 400
    key = str(uuid.uuid4())
    server.fault("dropTable", "502", "after")
    assert ask(server, "DELETE", f"{path}/u", Idempotency_Key=key).status == 502
    assert ask(server, "DELETE", f"{path}/u", Idempotency_Key=key).status == 204
    assert ask(server, "DELETE", f"{path}/u").status == 404
    assert server.service.replayed == 3


def test_slow_and_throttled(server: RestServer) -> None:
    made(server)
    server.switches.slow_after_commit = 0.5
    start = time.monotonic()
    thread = threading.Thread(target=commit, args=(server, [set_property("a")]))
    thread.start()
    while "a" not in ask(server, "GET", "/v1/namespaces/db/tables/t").body["metadata"]["properties"]:
        time.sleep(0.01)
    assert time.monotonic() - start < 0.45
    thread.join()
    assert time.monotonic() - start >= 0.5
    server.switches.throttle_every = 2
    statuses = [ask(server, "GET", "/v1/config") for _ in range(4)]
    assert sorted(a.status for a in statuses) == [200, 200, 429, 429]
    assert next(a for a in statuses if a.status == 429).headers["Retry-After"] == "1"


def form(server: RestServer, body: str, **headers: str) -> Answered:
    connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=20)
    given = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    connection.request("POST", "/v1/oauth/tokens", body, given)
    try:
        return Answered(connection.getresponse())
    finally:
        connection.close()


@pytest.mark.parametrize("ended", [401, 419])
def test_tokens_end(server: RestServer, ended: int) -> None:
    server.switches.auth = Auth(seconds=0.3, ended=ended, wants={"scope": "catalog"})
    assert ask(server, "GET", "/v1/config").status == 401
    wrong = form(server, "grant_type=client_credentials&client_id=frazil&client_secret=no&scope=catalog")
    assert (wrong.status, wrong.body["error"]) == (401, "invalid_client")
    asked = "grant_type=client_credentials&client_id=frazil&client_secret=sesame"
    assert form(server, asked).body["error"] == "invalid_scope"
    token = form(server, f"{asked}&scope=catalog").body
    bearer = f"Bearer {token['access_token']}"
    assert ask(server, "GET", "/v1/config", Authorization=bearer).status == 200
    exchange = f"grant_type={quote('urn:ietf:params:oauth:grant-type:token-exchange')}&scope=catalog"
    other = form(server, f"{exchange}&subject_token={token['access_token']}").body["access_token"]
    time.sleep(0.4)
    assert ask(server, "GET", "/v1/config", Authorization=bearer).status == ended
    assert form(server, f"{exchange}&subject_token={other}").body["error"] == "invalid_grant"
    assert len(server.service.guard.grants) == 5


def test_pyiceberg_gets_tokens(server: RestServer) -> None:
    server.switches.auth = Auth()
    with pytest.warns(DeprecationWarning, match="oauth"):
        catalog = RestCatalog("c", uri=server.url, credential="frazil:sesame", scope="catalog")
    catalog.create_namespace("db")
    assert catalog.list_namespaces() == [("db",)]


def test_other_ways_to_be_known(server: RestServer) -> None:
    server.switches.change({"auth": Auth("basic", "me:pw"), "wanted_headers": {"Polaris-Realm": "r"}})
    assert ask(server, "GET", "/v1/config", Authorization="Basic bWU6cHc=").error == "ForbiddenException"
    assert ask(server, "GET", "/v1/config", Authorization="Basic bWU6cHc=", Polaris_Realm="r").status == 200
    server.switches.change({"auth": Auth("token", "t"), "wanted_headers": {}})
    assert ask(server, "GET", "/v1/config", Authorization="Bearer t").status == 200
    assert ask(server, "GET", "/v1/config", Authorization="Bearer u").status == 401


def test_pyiceberg_signs_its_requests(server: RestServer) -> None:
    server.switches.auth = Auth("sigv4", "AKID:secret", service="glue", region="eu-west-1")
    keys = {"client.access-key-id": "AKID", "client.region": "eu-west-1"}
    sigv4 = {"rest.sigv4-enabled": "true", "rest.signing-region": "eu-west-1", "rest.signing-name": "glue"}
    good = RestCatalog("c", uri=server.url, **keys, **sigv4, **{"client.secret-access-key": "secret"})
    good.create_namespace("db")
    assert good.list_namespaces("db") == []
    assert ask(server, "GET", "/v1/config").status == 401


def test_keys_for_the_store(server: RestServer) -> None:
    server.switches.vending = Vending(seconds=0.2)
    location = "s3://bucket/db/t"
    assert "storage-credentials" not in made(server)
    path = "/v1/namespaces/db/tables/t"
    loaded = ask(server, "GET", path, X_Iceberg_Access_Delegation="remote-signing, vended-credentials").body
    token = loaded["config"]["s3.session-token"]
    assert loaded["config"]["client.refresh-credentials-endpoint"] == "v1/namespaces/db/tables/t/credentials"
    fresh = ask(server, "GET", f"{path}/credentials").body["storage-credentials"][-1]
    assert fresh["prefix"] == loaded["metadata"]["location"]
    guard = server.service.guard
    assert guard.store_allows({"x-amz-security-token": token}) is None
    assert guard.store_allows({}) == "InvalidToken"
    time.sleep(0.3)
    assert guard.store_allows({"x-amz-security-token": token}) == "ExpiredToken"
    server.switches.change({"vending": None, "signing": True})
    server.service.places.s3 = {"endpoint": "http://s3", "key": "k", "secret": "s"}
    server.service.register.tables["db", "t"].metadata["location"] = location
    wanted = {"method": "GET", "region": "us-east-1", "uri": "http://s3/bucket/db/t/a", "headers": {"Host": ["s3"]}}
    signed = ask(server, "POST", f"{path}/sign", wanted)
    assert signed.headers["Cache-Control"] == "private"
    authorization = signed.body["headers"]["Authorization"][0]
    assert guard.store_allows({"authorization": authorization}) is None
    assert guard.store_allows({"authorization": "AWS4-HMAC-SHA256 mine"}) == "AccessDenied"
    assert ask(server, "POST", f"{path}/sign", {**wanted, "uri": "http://s3/bucket/db/u/a"}).status == 403
    listing = {**wanted, "uri": "http://s3/bucket?list-type=2&prefix=db%2Ft%2F"}
    assert ask(server, "POST", f"{path}/sign", listing).status == 200
    server.switches.signer_refuses_lists = True
    assert ask(server, "POST", f"{path}/sign", listing).status == 400
    assert ask(server, "GET", path).body["remote-signing-config"]["headers"] == {"X-Signer-Tenant": ["frazil"]}


# ---------------------------------------------------------------- faults


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", KINDS)
def test_faults_come_before_or_after_the_work(server: RestServer, kind: str, when: str) -> None:
    made(server)
    fault = server.fault("updateTable", kind, when, nth=2, seconds=0.2)
    assert commit(server, [set_property("a")]).status == 200
    try:
        status = commit(server, [set_property("b")]).status
        assert status == int(kind.partition("-")[0])
    except (http.client.HTTPException, OSError):
        assert kind in ("reset", "timeout", "cut")
    assert commit(server, [set_property("c")]).status == 200
    found = ask(server, "GET", "/v1/namespaces/db/tables/t").body["metadata"]["properties"]
    assert set(found) == ({"a", "c"} if when == "before" else {"a", "b", "c"})
    assert (fault.seen, fault.done) == (3, 1)


@pytest.mark.parametrize("kind", ["500", "502", "504"])
def test_pyiceberg_is_told_that_a_commit_is_unknown(server: RestServer, catalog: RestCatalog, kind: str) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    server.fault("updateTable", kind, "after")
    with pytest.raises(CommitStateUnknownException):
        table.append(one(1))
    assert ids(catalog.load_table("db.t")) == [1]


def test_unknown_as_400(server: RestServer) -> None:
    made(server)
    server.switches.unknown_as_400 = True
    server.fault("*", "503", "after")
    answer = commit(server, [set_property("a")])
    assert (answer.status, answer.error) == (400, "CommitStateUnknownException")
    assert {"updateTable", "commitTransaction", "dropTable"} < MUTATIONS


@pytest.mark.parametrize("kind", sorted(set(WHOLE) - {"huge", "endless"}))
def test_answers_are_changed(server: RestServer, kind: str) -> None:
    made(server)
    path = "/v1/namespaces/db/tables/t"
    good = ask(server, "GET", path)
    server.service.faults.change("loadTable", WHOLE[kind])
    changed = ask(server, "GET", path)
    assert changed.status == 200
    assert (changed.content, changed.headers["Content-Type"]) != (good.content, good.headers["Content-Type"])
    assert ask(server, "GET", path).content == good.content


def test_values_of_answers_are_changed(server: RestServer) -> None:
    made(server)
    good = ask(server, "GET", "/v1/namespaces/db/tables/t").body
    found = paths(good)
    assert ("metadata", "schemas", 0, "fields", 0, "type") in found
    server.service.faults.change("loadTable", with_value(("metadata", "location"), 7))
    assert ask(server, "GET", "/v1/namespaces/db/tables/t").body["metadata"]["location"] == 7


def test_forbidden_is_forbidden(server: RestServer) -> None:
    server.switches.wanted_headers = {"X-Wanted": "1"}
    with pytest.raises(ForbiddenError):
        RestCatalog("c", uri=server.url)
