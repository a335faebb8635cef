"""The tests' own REST server: each of its switches and faults works as its name promises."""

from __future__ import annotations

import http.client
import threading
import time
import uuid
from urllib.parse import quote

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    CommitStateUnknownException,
    ForbiddenError,
)

from rest_cases import SCHEMA, ids, one
from rest_fixtures import pyiceberg_catalog as catalog
from rest_fixtures import server
from rest_requests import PLAIN, commit, made, on_main, set_property, snapshot
from rest_server import KINDS, MUTATIONS, WHOLE, Auth, RestServer, Vending, paths, with_value
from rest_server.asking import Answered, ask

__all__ = ["catalog", "server"]


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


def test_forgotten_commits(server: RestServer) -> None:
    made(server)
    server.switches.forgets_commits = 1
    assert commit(server, [set_property("a")]).status == 200
    answer = commit(server, [set_property("b")]).body
    assert answer["metadata"]["properties"] == {"b": "1"}


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
