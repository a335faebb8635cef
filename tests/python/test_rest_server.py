"""The tests' own REST server: PyIceberg works with it, and it keeps to the protocol."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import threading
import uuid

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.types import LongType, StringType

from rest_cases import SCHEMA, ids, one
from rest_fixtures import pyiceberg_catalog as catalog
from rest_fixtures import server
from rest_requests import PLAIN, Json, commit, made, on_main, set_property, snapshot
from rest_server import OPERATIONS, RestServer
from rest_server.asking import ask

__all__ = ["catalog", "server"]


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
