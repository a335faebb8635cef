"""What processes other than the catalog's can do: renew credentials, and have requests signed."""

from __future__ import annotations

import itertools
import os
import pathlib
import pickle
import subprocess
import sys
import time

import pytest

import frazil as fz
from rest_cases import SCHEMA, asked, ids, one, opened
from rest_fixtures import gate, port
from rest_fixtures import lending_server as server
from rest_server import Auth, Gate, RestServer, Vending

__all__ = ["gate", "port", "server"]
MODULES = itertools.count()
SECRET = "me:catalog-sesame"
MAY = "frazil.executors-may-renew"

READER = """
import pickle, sys, time
splits = pickle.load(open(sys.argv[1], "rb"))
end = time.monotonic() + float(sys.argv[2])
while True:
    print(sum(split.to_arrow().num_rows for split in splits))
    if time.monotonic() > end:
        break
    time.sleep(0.5)
"""


WRITER = """
import pickle, sys
import pyarrow as pa
pickled = open(sys.argv[1], "rb").read()
messages = []
for value in range(5):
    writer = pickle.loads(pickled)
    messages.append(writer.write(pa.table({"id": pa.array([value], pa.int64())})))
open(sys.argv[2], "wb").write(pickle.dumps(messages))
"""


def login(server: RestServer, may: str | None) -> dict[str, object]:
    given = {"credential": SECRET, "oauth2-server-uri": f"{server.url}/token"}
    return given if may is None else {**given, MAY: may}


def prepared(catalog: fz.Catalog) -> fz.Table:
    catalog.create_namespace("db")
    return catalog.create_table("db.t", SCHEMA).append(one(1, 2)).refresh()


def sent(table: fz.Table, folder: pathlib.Path) -> pathlib.Path:
    path = folder / "tasks"
    path.write_bytes(pickle.dumps(list(table.scan().plan())))
    return path


def read(path: pathlib.Path, seconds: float = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Reads tasks in another process, again and again for some seconds."""
    command = [sys.executable, "-c", READER, str(path), str(seconds)]
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=env)


def rows(done: subprocess.CompletedProcess[str]) -> set[str]:
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


# ---------------------------------------------------------------- signatures


def test_others_have_requests_signed(server: RestServer, gate: Gate, tmp_path: pathlib.Path) -> None:
    server.switches.signing = True
    tasks = sent(prepared(opened(server)), tmp_path)
    server.reset()
    assert rows(read(tasks)) == {"2"}
    assert gate.refused == []
    [*signed] = asked(server, "signRequest")
    assert signed
    for request in signed:
        assert request.body["properties"]["secret-of-signer"] == "pass-me-through"
        assert request.headers["x-signer-tenant"] == "frazil"


@pytest.mark.parametrize("may", [None, "false", "true", "with-credential"])
def test_signatures_need_what_the_user_allows(
    server: RestServer, gate: Gate, tmp_path: pathlib.Path, may: str | None
) -> None:
    server.switches.change({"signing": True, "auth": Auth(secret=SECRET)})
    tasks = sent(prepared(opened(server, **login(server, may))), tmp_path)
    assert (b"catalog-sesame" in tasks.read_bytes()) == (may == "with-credential")
    done = read(tasks)
    if may in (None, "false"):
        assert "signs each request" in done.stderr
        assert f"{MAY}='true'" in done.stderr
    else:
        assert rows(done) == {"2"}
        assert gate.refused == []
    assert "catalog-sesame" not in done.stderr


def test_signatures_with_a_password(server: RestServer, tmp_path: pathlib.Path) -> None:
    server.switches.change({"signing": True, "auth": Auth("basic", "me:sesame-of-me")})
    given = {"rest.auth.type": "basic", "rest.auth.basic.username": "me", "rest.auth.basic.password": "sesame-of-me"}
    table = prepared(opened(server, **given, **{MAY: "true"}))
    done = read(sent(table, tmp_path))
    assert "with-credential" in done.stderr
    assert "sesame-of-me" not in done.stderr
    tasks = sent(opened(server, **given, **{MAY: "with-credential"}).load_table("db.t"), tmp_path)
    assert rows(read(tasks)) == {"2"}


# ---------------------------------------------------------------- credentials that are renewed


def test_others_exchange_the_token(server: RestServer, gate: Gate, tmp_path: pathlib.Path) -> None:
    server.switches.change({"vending": Vending(seconds=4), "auth": Auth(secret=SECRET, seconds=8)})
    tasks = sent(prepared(opened(server, **login(server, "true"))), tmp_path)
    assert b"catalog-sesame" not in tasks.read_bytes()
    server.service.guard.grants.clear()
    server.reset()
    assert rows(read(tasks, seconds=18)) == {"2"}
    assert gate.refused == []
    grants = server.service.guard.grants
    assert 2 <= len(grants) <= 5
    assert all(grant.endswith("token-exchange") for grant in grants)
    assert 3 <= len(asked(server, "loadCredentials")) <= 8


def test_tasks_of_a_process_share_the_connection_to_the_catalog(
    server: RestServer, gate: Gate, tmp_path: pathlib.Path
) -> None:
    """Each task that writes opens its table again, but the server is not asked again."""
    server.switches.change({"vending": Vending(seconds=600), "auth": Auth(secret=SECRET)})
    catalog = opened(server, **login(server, "true"))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    tasks, done = tmp_path / "writer", tmp_path / "done"
    tasks.write_bytes(pickle.dumps(table.writer()))
    server.reset()
    subprocess.run([sys.executable, "-c", WRITER, str(tasks), str(done)], check=True, timeout=120)
    assert server.counts() == {"getToken": 1, "getConfig": 1}
    assert ids(table.commit(pickle.loads(done.read_bytes()))) == list(range(5))
    assert gate.refused == []


def test_without_exchange_the_credential_is_needed(server: RestServer, gate: Gate, tmp_path: pathlib.Path) -> None:
    auth = Auth(secret=SECRET, seconds=2, exchanges=False)
    server.switches.change({"vending": Vending(seconds=3), "auth": auth})
    table = prepared(opened(server, **login(server, "true")))
    done = read(sent(table, tmp_path), seconds=6)
    assert "with-credential" in done.stderr
    assert "only the catalog's token" in done.stderr
    allowed = opened(server, **login(server, "with-credential")).load_table("db.t")
    tasks = sent(allowed, tmp_path)
    assert b"catalog-sesame" in tasks.read_bytes()
    assert rows(read(tasks, seconds=6)) == {"2"}
    for shown in (repr(allowed), repr(allowed.scan()), str(allowed.scan().explain()), done.stderr):
        assert "catalog-sesame" not in shown


def test_tasks_carry_the_newest_token(server: RestServer, tmp_path: pathlib.Path) -> None:
    server.switches.change({"vending": Vending(seconds=60), "auth": Auth(secret=SECRET, seconds=2)})
    catalog = opened(server, **login(server, "true"))
    table = prepared(catalog)

    def carried() -> str:
        text = sent(table, tmp_path).read_bytes()
        [token] = {name for name in server.service.guard.tokens if name.encode() in text}
        return token

    first = carried()
    time.sleep(2.1)
    second = carried()
    assert first != second
    assert server.service.guard.tokens[second] > time.monotonic()


def test_others_load_the_table_where_the_server_has_no_other_way(
    server: RestServer, gate: Gate, tmp_path: pathlib.Path
) -> None:
    server.switches.change({"vending": Vending(seconds=3), "without": ("loadCredentials",)})
    tasks = sent(prepared(opened(server)), tmp_path)
    server.reset()
    assert rows(read(tasks, seconds=5)) == {"2"}
    assert gate.refused == []
    loads = asked(server, "loadTable")
    assert 1 <= len(loads) <= 4
    assert all("vended-credentials" in load.headers["x-iceberg-access-delegation"] for load in loads)


def test_headers_of_the_catalog_are_carried_only_if_asked(server: RestServer, tmp_path: pathlib.Path) -> None:
    server.switches.change({"vending": Vending(seconds=3), "wanted_headers": {"X-Realm": "realm-of-mine"}})
    table = prepared(opened(server, **{"header.X-Realm": "realm-of-mine"}))
    tasks = sent(table, tmp_path)
    assert b"realm-of-mine" not in tasks.read_bytes()
    time.sleep(3)
    assert MAY in read(tasks).stderr
    table = opened(server, **{"header.X-Realm": "realm-of-mine", MAY: "true"}).load_table("db.t")
    assert rows(read(sent(table, tmp_path), seconds=4)) == {"2"}


@pytest.mark.parametrize("value", ["yes please", "credential", "1"])
def test_values_that_do_not_exist(server: RestServer, value: str) -> None:
    with pytest.raises(fz.InvalidInputError, match=MAY) as caught:
        opened(server, **{MAY: value})
    assert "with-credential" in str(caught.value.hint)


# ---------------------------------------------------------------- classes of the user

MODULE = """
from pathlib import Path


class Reading:
    def __init__(self, path, prefix="Bearer "):
        self.path, self.prefix = path, prefix

    def auth_header(self):
        return self.prefix + Path(self.path).read_text()


class Silent:
    def auth_header(self):
        return None


class Numbers:
    def auth_header(self):
        return 7


class Headless:
    pass


class Failing:
    def __init__(self):
        raise RuntimeError("hush-hush")


def lend():
    return {"s3.access-key-id": "AKIDOWNER", "s3.secret-access-key": "secret-of-the-owner"}


not_callable = 7
"""


@pytest.fixture
def module(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"of_the_user_{next(MODULES)}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def custom(module: str, kind: str, **settings: str) -> dict[str, object]:
    return {"auth": {"type": "custom", "impl": f"{module}.{kind}", "custom": settings}}


def test_a_class_that_authorizes(server: RestServer, tmp_path: pathlib.Path, module: str) -> None:
    token = tmp_path / "token"
    token.write_text("first-token")
    server.switches.auth = Auth("token", "first-token")
    catalog = opened(server, **custom(module, "Reading", path=str(token)))
    assert catalog.list_namespaces() == []
    token.write_text("second-token")
    server.switches.auth = Auth("token", "second-token")
    assert pickle.loads(pickle.dumps(catalog)).list_namespaces() == []
    # By dotted names, as in the environment.
    dotted = {"auth.type": "custom", "auth.impl": f"{module}:Reading", "auth.custom.path": str(token)}
    assert opened(server, **dotted).list_namespaces() == []
    with pytest.raises(fz.PermissionDeniedError):
        opened(server, **custom(module, "Silent")).list_namespaces()
    with pytest.raises(fz.PermissionDeniedError, match="headers") as caught:
        opened(server, **custom(module, "Numbers")).list_namespaces()
    assert "'int'" in str(caught.value)


def test_others_make_the_class_only_if_asked(
    server: RestServer, gate: Gate, tmp_path: pathlib.Path, module: str
) -> None:
    token = tmp_path / "token"
    token.write_text("first-token")
    server.switches.change({"vending": Vending(seconds=3), "auth": Auth("token", "first-token")})
    given = custom(module, "Reading", path=str(token))
    table = prepared(opened(server, **given, **{MAY: "true"}))
    # The token of the moment is enough as long as it lives.
    tasks = sent(table, tmp_path)
    assert str(token).encode() not in tasks.read_bytes()
    assert rows(read(tasks, seconds=4, PYTHONPATH=f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")) == {"2"}
    tasks = sent(opened(server, **given, **{MAY: "with-credential"}).load_table("db.t"), tmp_path)
    token.write_text("second-token")
    server.switches.auth = Auth("token", "second-token")
    assert rows(read(tasks, seconds=4, PYTHONPATH=f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")) == {"2"}
    assert gate.refused == []


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("Missing", {}, "can't be imported"),
        ("Headless", {}, "no method auth_header"),
        ("Reading", {}, "path"),
        ("Silent", {"more": "1"}, "takes no arguments"),
        ("Failing", {}, "RuntimeError"),
    ],
)
def test_classes_that_are_wrong(
    server: RestServer, module: str, kind: str, settings: dict[str, str], message: str
) -> None:
    with pytest.raises(fz.InvalidInputError, match=message) as caught:
        opened(server, **custom(module, kind, **settings))
    assert "hush" not in str(caught.value)
    assert server.service.asked == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"auth": {"type": "custom"}}, "auth.impl"),
        ({"auth": {"type": "custom", "impl": "Alone"}}, "not the import path"),
        ({"auth": {"type": "oauth2", "impl": "m.C"}, "token": "t"}, "not 'custom'"),
        ({"auth": {"type": "kerberos"}}, "'kerberos'"),
    ],
)
def test_wrong_words_about_classes(server: RestServer, given: dict[str, object], message: str) -> None:
    with pytest.raises(fz.FrazilError, match=message):
        opened(server, **given)


def test_pyicebergs_object_brings_its_class(server: RestServer, tmp_path: pathlib.Path, module: str) -> None:
    from pyiceberg.catalog import load_catalog

    (tmp_path / "token").write_text("first-token")
    server.switches.auth = Auth("token", "first-token")
    given = {"type": "rest", "uri": server.url, **custom(module, "Reading", path=str(tmp_path / "token"))}
    theirs = load_catalog("prod", **given)
    assert fz.catalog(theirs).list_namespaces() == theirs.list_namespaces() == []


# ---------------------------------------------------------------- providers by name


def test_a_provider_by_its_import_path(server: RestServer, gate: Gate, tmp_path: pathlib.Path, module: str) -> None:
    catalog = opened(server, **{"credential-provider": f"{module}:lend"})
    table = prepared(catalog)
    environment = {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    assert rows(read(sent(table, tmp_path), **environment)) == {"2"}
    options = {"s3.endpoint": gate.url, "s3.region": "us-east-1"}
    by_location = fz.open_table(table.metadata_location, options, credential_provider=f"{module}.lend")
    assert by_location.scan().count() == 2
    missing = read(sent(table, tmp_path), PYTHONPATH=os.environ.get("PYTHONPATH", ""))
    assert "can't be imported" in missing.stderr


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("{}:missing", "can't be imported"),
        ("no_such_module_of_anyone:lend", "can't be imported"),
        ("lend", "not the import path"),
        ("{}:not_callable", "must be callable"),
        ("", "not the import path"),
    ],
)
def test_import_paths_that_are_wrong(server: RestServer, module: str, path: str, message: str) -> None:
    with pytest.raises(fz.InvalidInputError, match=message):
        opened(server, **{"credential-provider": path.format(module)})
    with pytest.raises(fz.InvalidInputError, match=message):
        fz.open_table("s3://b/t", credential_provider=path.format(module))
