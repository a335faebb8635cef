"""Answers of a REST catalog that make no sense: an error says which request it was, and nothing else happens."""

from __future__ import annotations

import http.client
import json
import pathlib
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import frazil as fz
from rest_cases import SCHEMA, ids, one, opened
from rest_server import WHOLE, Answer, RestServer, paths, serving, with_value

UNBOUNDED = ("huge", "endless")
# Changes that a client may read over: the answer still says what it must.
HARMLESS = {"wrong-content-type", "deep-member"}
# A mutation that succeeded can be looked up. A configuration may be empty.
LOOKED_UP = ("updateTable", "createNamespace", "updateProperties", "createTable")
VALUES: tuple[Any, ...] = (None, 7, -1, 2**70, 1.5, True, "", "x", "\x00", "../..", [], [None], {}, {"a": 1})
WORDS = {
    "getConfig": "/v1/config",
    "listNamespaces": "/v1/namespaces",
    "createNamespace": "/v1/namespaces",
    "loadNamespaceMetadata": "/v1/namespaces/db",
    "updateProperties": "/v1/namespaces/db/properties",
    "listTables": "/v1/namespaces/db/tables",
    "createTable": "/v1/namespaces/db/tables",
    "loadTable": "/v1/namespaces/db/tables/t",
    "updateTable": "/v1/namespaces/db/tables/t",
    "registerTable": "/v1/namespaces/db/register",
}


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[RestServer]:
    with serving(tmp_path / "wh") as server:
        catalog = opened(server)
        catalog.create_namespace("db", properties={"owner": "me"})
        properties = {"write.metadata.previous-versions-max": "3"}
        catalog.create_table("db.t", SCHEMA, partition_by=["bucket(2, id)"], properties=properties).append(one(1))
        yield server


def called(operation: str) -> Callable[[fz.Catalog], Any]:
    """A call that needs the answer of this operation."""
    return {
        "getConfig": lambda c: c.list_namespaces(),
        "listNamespaces": lambda c: c.list_namespaces(),
        "createNamespace": lambda c: c.create_namespace("new"),
        "loadNamespaceMetadata": lambda c: c.load_namespace_properties("db"),
        "updateProperties": lambda c: c.update_namespace_properties("db", updates={"a": "b"}),
        "listTables": lambda c: c.list_tables("db"),
        "createTable": lambda c: c.create_table("db.new", SCHEMA),
        "loadTable": lambda c: c.load_table("db.t").scan().to_arrow(),
        "updateTable": lambda c: c.load_table("db.t").append(one(2)),
        "registerTable": lambda c: c.register_table("db.new", c.load_table("db.t").metadata_location),
    }[operation]


def checked(server: RestServer, operation: str, error: fz.FrazilError) -> None:
    """The error says where it comes from, is no bug of ours, and is of a length that one can read."""
    assert not isinstance(error, fz.InternalError), repr(error)
    said = f"{error} {error.context}"
    assert server.url in said, said
    assert WORDS[operation] in said, said
    assert len(str(error)) < 2_000


@pytest.mark.parametrize("kind", sorted(set(WHOLE) - set(UNBOUNDED)))
@pytest.mark.parametrize("operation", WORDS)
def test_answers_that_are_no_answers(server: RestServer, operation: str, kind: str) -> None:
    server.service.faults.change(operation, WHOLE[kind], times=100)
    act = called(operation)
    try:
        act(opened(server, "fresh"))
    except fz.FrazilError as error:
        assert kind != "wrong-content-type", repr(error)
        checked(server, operation, error)
        if kind == "html":
            assert "HTML" in str(error) or "text/html" in str(error)
    else:
        known = {"null", "list", "number", "text", "empty", "empty-object", "truncated", "html", "deep", "not-utf8"}
        # The outcome of some mutations is known by their status alone.
        may_pass = operation in LOOKED_UP or (operation, kind) == ("getConfig", "empty-object")
        assert kind in HARMLESS or (kind in known and may_pass), "nonsense was taken for an answer"
    server.service.faults.clear()
    rows = ids(opened(server, "other").load_table("db.t"))
    assert rows == ([1, 2] if operation == "updateTable" else [1])


def answer_of(server: RestServer, operation: str) -> Any:
    """A good answer of an operation."""
    kept: list[Any] = []

    def keep(answer: Answer) -> Answer:
        kept.append(json.loads(json.dumps(answer.body)))
        return answer

    server.service.faults.change(operation, keep)
    called(operation)(opened(server, "looking"))
    return kept[0]


@pytest.mark.parametrize("operation", [name for name in WORDS if name not in ("createNamespace", "createTable")])
def test_every_value_of_an_answer_may_be_wrong(server: RestServer, operation: str) -> None:
    """It works, or it is an error. It is no panic, and the table stays as it was."""
    if operation == "registerTable":
        opened(server).create_table("db.other", SCHEMA)
    good = answer_of(server, operation)
    act = called(operation)
    for path in paths(good):
        for value in VALUES:
            server.service.faults.change(operation, with_value(path, value))
            if operation == "registerTable":
                server.service.register.tables.pop(("db", "new"), None)
            try:
                act(opened(server, "fresh"))
            except fz.FrazilError as error:
                assert not isinstance(error, fz.InternalError), (path, value, error)
            server.service.faults.clear()
    assert 1 in ids(opened(server, "other").load_table("db.t"))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 406, 409, 419, 422, 429, 500, 501, 503, 505, 599])
@pytest.mark.parametrize("body", ["html", "empty", "truncated", "of-oauth", "text", "nulls", "long"])
def test_errors_that_are_no_errors(server: RestServer, status: int, body: str) -> None:
    """A proxy answers in the server's place."""
    contents = {
        "html": b"<html><body>" + b"x" * 5000 + b"</body></html>",
        "empty": b"",
        "truncated": b'{"error": {"mess',
        "of-oauth": b'{"error": "invalid_request", "error_description": "no"}',
        "text": b"upstream connect error",
        "nulls": b'{"error": {"message": null, "type": null, "code": null, "stack": null}}',
        "long": json.dumps({"error": {"message": "m" * 10**6, "type": "T" * 10**6, "code": status}}).encode(),
    }

    def changed(_: Answer) -> Answer:
        return Answer(status, None, {"Retry-After": "0"}, contents[body])

    server.service.faults.change("loadTable", changed, times=100)
    with pytest.raises(fz.FrazilError) as raised:
        opened(server, "fresh").load_table("db.t")
    checked(server, "loadTable", raised.value)
    assert str(status) in f"{raised.value} {raised.value.context}"


def test_an_address_that_is_no_catalog(server: RestServer) -> None:
    for uri in (f"{server.url}/elsewhere", server.url.replace("http:", "https:"), "http://127.0.0.1:9"):
        with pytest.raises(fz.FrazilError) as raised:
            fz.catalog("c", type="rest", uri=uri).list_namespaces()
        assert uri in f"{raised.value} {raised.value.context}"
    with pytest.raises(fz.InvalidInputError, match="uri"):
        fz.catalog("c", type="rest").list_namespaces()
    for wrong in ("nonsense", "ftp://127.0.0.1/", "http://", "http://:80"):
        with pytest.raises(fz.InvalidInputError, match="uri"):
            fz.catalog("c", type="rest", uri=wrong).list_namespaces()


def test_redirects_take_no_secrets_elsewhere(server: RestServer, tmp_path: pathlib.Path) -> None:
    with serving(tmp_path / "other") as other:

        def redirect(_: Answer) -> Answer:
            return Answer(307, None, {"Location": f"{other.url}/v1/namespaces"}, b"")

        server.service.faults.change("listNamespaces", redirect, times=5)
        try:
            opened(server, "fresh", token="sesame").list_namespaces()
        except fz.FrazilError as error:
            assert "sesame" not in str(error)
        assert all("authorization" not in request.headers for request in other.service.asked)


@pytest.mark.parametrize("kind", UNBOUNDED)
@pytest.mark.parametrize("operation", ["getConfig", "listTables", "loadTable"])
def test_memory_is_bounded(tmp_path: pathlib.Path, kind: str, operation: str) -> None:
    """2 GB in place of an answer. The server runs in another process, so that its memory does not count."""
    here = pathlib.Path(__file__).parent
    command = [sys.executable, "-m", "rest_server", str(tmp_path / "wh")]
    with subprocess.Popen(command, cwd=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        url = process.stdout.readline().strip()
        catalog = fz.catalog("c", type="rest", uri=url)
        catalog.create_namespace("db")
        catalog.create_table("db.t", SCHEMA)
        connection = http.client.HTTPConnection("127.0.0.1", int(url.rpartition(":")[2]))
        planted = {"operation": operation, "kind": kind, "times": 10}
        connection.request("POST", "/_control/changes", json.dumps(planted))
        assert connection.getresponse().status == 200
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(fz.FrazilError, match=r"large|long|bytes"):
            called(operation)(fz.catalog("d", type="rest", uri=url))
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000
        process.stdin.close()
