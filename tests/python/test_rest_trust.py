"""A server's configuration can't send the user's secrets to hosts that the user did not name."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

import frazil as fz
from rest_cases import OWN, SCHEMA, asked, ids, new_bucket, one, opened
from rest_fixtures import port
from rest_server import Auth, RestServer, Vending, serving

__all__ = ["port"]

SECRET = "frazil:sesame-of-the-user"
TRUST = "frazil.trusted-hosts"


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[RestServer]:
    with serving(tmp_path / "wh") as server:
        server.switches.auth = Auth(secret=SECRET)
        yield server


@pytest.fixture
def other(tmp_path: pathlib.Path) -> Iterator[RestServer]:
    """A server on another host, as far as names tell."""
    with serving(tmp_path / "other") as other:
        yield other


def elsewhere(other: RestServer) -> str:
    assert "127.0.0.1" in other.url
    return other.url.replace("127.0.0.1", "localhost")


def secrets_at(other: RestServer) -> list[str]:
    """Whatever of the user arrived at the other host."""
    texts = [f"{request.headers} {request}" for request in other.service.asked]
    return [text for text in texts if "authorization" in text.lower() or "sesame" in text]


# ---------------------------------------------------------------- who asks


def test_another_token_server_gets_no_credential(server: RestServer, other: RestServer) -> None:
    server.switches.overrides = {"oauth2-server-uri": f"{elsewhere(other)}/token"}
    auth = server.switches.auth
    assert auth is not None
    auth.seconds = 1.0
    catalog = opened(server, credential=SECRET, **{"oauth2-server-uri": f"{server.url}/token"})
    catalog.create_namespace("db")
    import time

    time.sleep(1.2)
    # The token is renewed where the user said.
    assert catalog.list_namespaces() == ["db"]
    assert len(server.service.guard.grants) >= 2
    assert other.service.asked == []
    assert other.service.guard.grants == []


def test_another_token_server_that_is_trusted(server: RestServer, other: RestServer) -> None:
    other.switches.auth = Auth(secret=SECRET)
    other.service.guard.tokens = server.service.guard.tokens
    server.switches.overrides = {"oauth2-server-uri": f"{elsewhere(other)}/token"}
    own = {"oauth2-server-uri": f"{server.url}/token", TRUST: "localhost"}
    catalog = opened(server, credential=SECRET, **own)
    catalog.create_namespace("db")
    assert catalog.list_namespaces() == ["db"]
    assert other.service.guard.grants == ["client_credentials"]


def test_a_refusal_names_the_token_server_that_was_not_asked(server: RestServer, other: RestServer) -> None:
    server.switches.defaults = {"oauth2-server-uri": f"{elsewhere(other)}/token"}
    catalog = opened(server, credential=SECRET)
    catalog.create_namespace("db")
    server.switches.auth = Auth(secret="frazil:another")
    server.service.guard.tokens.clear()
    with pytest.raises(fz.PermissionDeniedError) as raised:
        catalog.list_namespaces()
    assert f"{TRUST}='localhost'" in str(raised.value)
    assert "oauth2-server-uri" in str(raised.value)
    assert other.service.asked == []


@pytest.mark.parametrize("login", [{"credential": SECRET}, {"header.X-Key": "sesame-key"}])
def test_the_catalog_does_not_move_to_another_host(
    server: RestServer, other: RestServer, login: dict[str, str]
) -> None:
    if "credential" not in login:
        server.switches.auth = None
    server.switches.overrides = {"uri": elsewhere(other)}
    with pytest.raises(fz.PermissionDeniedError, match=TRUST) as raised:
        opened(server, **login).list_namespaces()
    assert "localhost" in str(raised.value)
    assert "sesame" not in str(raised.value)
    assert other.service.asked == []
    # The user may allow it.
    server.switches.auth = None
    moved = opened(server, **{TRUST: "localhost", "header.X-Key": "sesame-key"})
    assert moved.list_namespaces() == []
    assert asked(other, "listNamespaces")


def test_without_a_login_the_catalog_may_move(server: RestServer, other: RestServer) -> None:
    server.switches.auth = None
    server.switches.overrides = {"uri": elsewhere(other)}
    assert opened(server).list_namespaces() == []
    assert asked(other, "listNamespaces")


# ---------------------------------------------------------------- files


@pytest.fixture
def stored(port: int) -> Iterator[RestServer]:
    """Tables in a bucket, whose endpoint the server names on another host."""
    bucket, store = new_bucket(port)
    with serving(f"s3://{bucket}/wh", store, defaults={"s3.endpoint": f"http://localhost:{port}"}) as server:
        yield server


def own_keys(**more: str) -> dict[str, str]:
    keys = {"s3.access-key-id": OWN["key"], "s3.secret-access-key": OWN["secret"], "s3.region": "us-east-1"}
    return {**keys, **{name.replace("_", "-"): value for name, value in more.items()}}


def test_an_endpoint_of_the_server_gets_no_session_token(stored: RestServer) -> None:
    catalog = opened(stored, **own_keys(), **{"s3.session-token": "sesame-session"})
    catalog.create_namespace("db")
    catalog.create_table("db.t", SCHEMA)
    with pytest.raises(fz.PermissionDeniedError, match=TRUST) as raised:
        catalog.load_table("db.t").append(one(1))
    assert "s3.endpoint" in str(raised.value)
    assert "sesame" not in str(raised.value)
    # Keys that only sign are never sent.
    assert ids(opened(stored, **own_keys()).load_table("db.t").append(one(1))) == [1]
    trusting = opened(stored, **own_keys(), **{"s3.session-token": "sesame-session", TRUST: "localhost"})
    assert ids(trusting.load_table("db.t")) == [1]


def test_the_server_s_own_keys_go_to_its_endpoint(stored: RestServer) -> None:
    stored.switches.vending = Vending(key=OWN["key"], secret=OWN["secret"])
    catalog = opened(stored, **own_keys(), **{"s3.session-token": "sesame-session"})
    catalog.create_namespace("db")
    assert ids(catalog.create_table("db.t", SCHEMA).append(one(1))) == [1]


def test_a_signer_on_another_host_is_refused(stored: RestServer, other: RestServer) -> None:
    stored.switches.auth = Auth(secret=SECRET)
    stored.switches.table_config = {"s3.remote-signing-enabled": "true", "s3.signer.uri": elsewhere(other)}
    catalog = opened(stored, credential=SECRET)
    catalog.create_namespace("db")
    with pytest.raises(fz.PermissionDeniedError, match=TRUST) as raised:
        catalog.create_table("db.t", SCHEMA).append(one(1))
    assert "s3.signer.uri" in str(raised.value)
    assert other.service.asked == []


def test_credentials_are_not_renewed_on_another_host(stored: RestServer, other: RestServer) -> None:
    stored.switches.auth = Auth(secret=SECRET)
    stored.switches.vending = Vending(key=OWN["key"], secret=OWN["secret"], seconds=2)
    stored.switches.table_config = {"client.refresh-credentials-endpoint": f"{elsewhere(other)}/credentials"}
    catalog = opened(stored, credential=SECRET)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA).append(one(1))
    import time

    time.sleep(2.2)
    assert ids(table) == [1]
    assert other.service.asked == []
    assert asked(stored, "loadCredentials")
