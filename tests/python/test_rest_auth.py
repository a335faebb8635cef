"""Who asks a REST server: tokens that end, ways to be known, private certificates."""

from __future__ import annotations

import pathlib
import ssl
import threading
import time

import pytest

import frazil as fz
from rest_cases import SCHEMA, ids, one, opened
from rest_fixtures import catalog, certificates, server
from rest_server import Auth, RestServer, serving

__all__ = ["catalog", "certificates", "server"]


# ---------------------------------------------------------------- who asks


@pytest.mark.parametrize("ended", [401, 419])
def test_tokens_that_end(server: RestServer, ended: int) -> None:
    server.switches.auth = Auth(seconds=1.0, ended=ended)
    catalog = opened(server, credential="frazil:sesame", **{"oauth2-server-uri": f"{server.url}/token"})
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    end, turn = time.monotonic() + 3, 0
    while time.monotonic() < end:
        table = table.append(one(turn))
        turn += 1
        time.sleep(0.2)
    assert ids(table) == list(range(turn))
    assert 2 <= len(server.service.guard.grants) <= 8


def test_one_refresh_at_a_time(server: RestServer) -> None:
    server.switches.auth = Auth(seconds=1.0, delay=0.3)
    catalog = opened(server, credential="frazil:sesame", **{"oauth2-server-uri": f"{server.url}/token"})
    catalog.list_namespaces()
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            end = time.monotonic() + 3
            while time.monotonic() < end:
                catalog.list_namespaces()
                time.sleep(0.05)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert server.service.guard.most_token_requests_at_once == 1
    assert len(server.service.guard.grants) <= 8


@pytest.mark.parametrize(
    ("auth", "good", "bad"),
    [
        (Auth("token", "t-1"), {"token": "t-1"}, {"token": "t-2"}),
        (
            Auth("basic", "me:pw"),
            {"rest.auth.type": "basic", "rest.auth.basic.username": "me", "rest.auth.basic.password": "pw"},
            {},
        ),
        (Auth(), {"credential": "frazil:sesame"}, {"credential": "frazil:wrong"}),
        (
            Auth(wants={"scope": "PRINCIPAL_ROLE:ALL", "audience": "a", "resource": "r"}),
            {"credential": "frazil:sesame", "scope": "PRINCIPAL_ROLE:ALL", "audience": "a", "resource": "r"},
            {"credential": "frazil:sesame"},
        ),
        (
            Auth("sigv4", "AKID:hush-hush", service="s3tables", region="eu-west-1"),
            {
                "rest.sigv4-enabled": "true",
                "rest.signing-name": "s3tables",
                "rest.signing-region": "eu-west-1",
                "rest.access-key-id": "AKID",
                "rest.secret-access-key": "hush-hush",
            },
            {},
        ),
    ],
    ids=["token", "basic", "oauth2", "oauth2-scope", "sigv4"],
)
def test_ways_to_be_known(server: RestServer, auth: Auth, good: dict[str, str], bad: dict[str, str]) -> None:
    server.switches.auth = auth
    catalog = opened(server, **good)
    catalog.create_namespace("db")
    catalog.create_namespace("db.inner")
    assert ids(catalog.create_table("db.inner.t", SCHEMA).append(one(1))) == [1]
    with pytest.raises(fz.PermissionDeniedError) as raised:
        opened(server, **bad).list_namespaces()
    for secret in (*good.values(), *bad.values()):
        if secret in ("t-1", "t-2", "pw", "hush-hush", "frazil:sesame", "frazil:wrong"):
            for text in (str(raised.value), repr(catalog), repr(catalog.properties)):
                assert secret not in text


def test_headers_from_a_callable(server: RestServer) -> None:
    server.switches.wanted_headers = {"X-Goog-User-Project": "p-1"}
    calls: list[int] = []

    def headers() -> dict[str, str]:
        calls.append(1)
        return {"X-Goog-User-Project": "p-1"}

    catalog = opened(server, headers=headers)
    catalog.create_namespace("db")
    assert calls


# ---------------------------------------------------------------- TLS


def test_private_authorities_and_client_certificates(tmp_path: pathlib.Path, certificates: pathlib.Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    ca = {"ssl.cabundle": str(certificates / "ca.pem")}
    with serving(tmp_path / "wh", tls=context) as server:
        assert opened(server, **ca).list_namespaces() == []
        with pytest.raises(fz.StoreError, match="certificate"):
            opened(server).list_namespaces()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    context.load_verify_locations(certificates / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with serving(tmp_path / "wh", tls=context) as server:
        own = {"ssl.client.cert": str(certificates / "client.pem"), "ssl.client.key": str(certificates / "client.key")}
        assert opened(server, **ca, **own).list_namespaces() == []
        with pytest.raises(fz.StoreError):
            opened(server, **ca).list_namespaces()
