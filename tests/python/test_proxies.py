"""A REST catalog and an S3 store behind a proxy, as in companies where no other way leads out.

Most hosts here are names that exist nowhere: only the proxy knows where they are.
"""

from __future__ import annotations

import pathlib
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import frazil as fz
from forward_proxy import ForwardProxy, forwarding
from rest_cases import SCHEMA, ids, new_bucket, one
from rest_fixtures import certificates, port, server
from rest_server import RestServer, serving

__all__ = ["certificates", "port", "server"]
LOGIN, WRONG = "me:pass-w0rd", "me:wrong-w0rd"
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Without proxies."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


@pytest.fixture
def proxy() -> Iterator[ForwardProxy]:
    with forwarding() as proxy:
        yield proxy


def url_of(proxy: ForwardProxy, login: str | None) -> str:
    return proxy.url.replace("//", f"//{login}@") if login else proxy.url


def refused(work: Callable[[], Any], kind: type[fz.FrazilError], says: str, proxy: ForwardProxy | None = None) -> None:
    """The error says what the proxy did, and which one it is. It shows no password."""
    with pytest.raises(kind, match=says) as raised:
        work()
    if proxy is not None:
        assert f"proxy: localhost:{proxy.port}" in str(raised.value)
    for text in (str(raised.value), repr(raised.value)):
        assert "w0rd" not in text


# ---------------------------------------------------------------- the REST catalog


def named(server: RestServer) -> str:
    """The server by a name that only the proxy can follow."""
    return server.url.replace("127.0.0.1", "catalog.example")


def by_properties(proxy: ForwardProxy, login: str | None = None) -> dict[str, str]:
    found = {"rest.client.proxy.hostname": "localhost", "rest.client.proxy.port": str(proxy.port)}
    if login:
        user, _, password = login.partition(":")
        found |= {"rest.client.proxy.username": user, "rest.client.proxy.password": password}
    return found


def rest(uri: str, **properties: str) -> fz.Catalog:
    """Without reports of scans, which a thread sends later."""
    given = {"rest.client.max-retries": "0", "rest-metrics-reporting-enabled": "false", **properties}
    return fz.catalog("c", type="rest", uri=uri, **given)


@pytest.mark.parametrize("way", ["properties", "environment"])
@pytest.mark.parametrize("login", [None, LOGIN], ids=["open", "login"])
def test_a_catalog_behind_a_proxy(
    server: RestServer, proxy: ForwardProxy, environment: pytest.MonkeyPatch, way: str, login: str | None
) -> None:
    proxy.login = login
    given = by_properties(proxy, login) if way == "properties" else {}
    if way == "environment":
        environment.setenv("HTTP_PROXY", url_of(proxy, login))
    catalog = rest(named(server), **given)
    catalog.create_namespace("db")
    assert ids(catalog.create_table("db.t", SCHEMA).append(one(1, 2))) == [1, 2]
    # Every request of the server came by the proxy.
    assert proxy.hosts() == {"catalog.example"}
    assert len(proxy.seen) == len(server.service.asked)
    assert "w0rd" not in f"{catalog!r} {catalog.properties!r}"


def test_no_way_around_the_proxy(server: RestServer) -> None:
    with pytest.raises(fz.StoreError, match="cannot connect to the server"):
        rest(named(server))


def test_hosts_without_the_proxy(server: RestServer, proxy: ForwardProxy, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("HTTP_PROXY", proxy.url)
    environment.setenv("NO_PROXY", "127.0.0.1,other.example")
    assert rest(server.url).list_namespaces() == []
    assert proxy.seen == []
    assert rest(named(server)).list_namespaces() == []
    assert proxy.hosts() == {"catalog.example"}
    environment.setenv("NO_PROXY", ".example")
    with pytest.raises(fz.StoreError, match="cannot connect to the server"):
        rest(named(server))
    # The property counts for all hosts.
    assert rest(named(server), **by_properties(proxy)).list_namespaces() == []


@pytest.mark.parametrize("way", ["properties", "environment"])
def test_a_tunnel_for_tls(
    proxy: ForwardProxy,
    environment: pytest.MonkeyPatch,
    tmp_path: pathlib.Path,
    certificates: pathlib.Path,
    way: str,
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    proxy.login = LOGIN

    def properties(login: str | None) -> dict[str, str]:
        if way == "properties":
            return {**by_properties(proxy, login), "ssl.cabundle": str(certificates / "ca.pem")}
        environment.setenv("HTTPS_PROXY", url_of(proxy, login))
        return {"ssl.cabundle": str(certificates / "ca.pem")}

    with serving(tmp_path / "wh", tls=context) as server:
        catalog = rest(server.url, **properties(LOGIN))
        catalog.create_namespace("db")
        assert ids(catalog.create_table("db.t", SCHEMA).append(one(1, 2))) == [1, 2]
        # The proxy sees where to, and nothing else.
        assert {method for method, _ in proxy.seen} == {"CONNECT"}
        assert len(proxy.seen) < len(server.service.asked)
        for login in (None, WRONG):
            refused(
                lambda given=login: rest(server.url, **properties(given)),
                fz.StoreError,
                "Give rest.client.proxy",
                proxy,
            )
        proxy.login, proxy.answer = None, 502
        refused(lambda: rest(server.url, **properties(WRONG)), fz.StoreError, "cannot connect .*tunnel", proxy)


@pytest.mark.parametrize("way", ["properties", "environment"])
def test_a_proxy_that_refuses(
    server: RestServer, proxy: ForwardProxy, environment: pytest.MonkeyPatch, way: str
) -> None:
    def opened(login: str | None) -> fz.Catalog:
        if way == "properties":
            return rest(named(server), **by_properties(proxy, login))
        environment.setenv("HTTP_PROXY", url_of(proxy, login))
        return rest(named(server))

    proxy.login = LOGIN
    for login in (None, WRONG):
        refused(lambda given=login: opened(given), fz.PermissionDeniedError, "the proxy asks for a login.*407", proxy)
    proxy.answer = 502
    refused(lambda: opened(LOGIN), fz.StoreError, "502.*may have answered for the server", proxy)
    assert server.service.asked == []


def test_a_login_in_the_address_stays_secret(server: RestServer, proxy: ForwardProxy) -> None:
    proxy.login = WRONG
    given = {**by_properties(proxy), "rest.client.proxy.hostname": f"http://{WRONG}@localhost"}
    catalog = rest(named(server), **given)
    assert "w0rd" not in f"{catalog!r} {catalog.properties!r}"
    proxy.login = LOGIN
    refused(catalog.list_namespaces, fz.PermissionDeniedError, "the proxy asks for a login", proxy)
    nowhere = {**given, "rest.client.proxy.port": "1"}
    refused(lambda: rest(named(server), **nowhere), fz.StoreError, "cannot connect.*proxy: localhost:1")
    no_host = {**given, "rest.client.proxy.hostname": f"http://{WRONG}@:"}
    refused(lambda: rest(named(server), **no_host), fz.InvalidInputError, "proxy's address is not a URL")


# ---------------------------------------------------------------- an S3 store


@pytest.fixture
def place(port: int) -> tuple[str, dict[str, str]]:
    """A warehouse in a bucket, and how to get there by the proxy."""
    bucket, store = new_bucket(port)
    keys = {"s3.access-key-id": store["key"], "s3.secret-access-key": store["secret"], "s3.region": "us-east-1"}
    # One word, so that the server takes no part of it for the bucket.
    found = {**keys, "s3.endpoint": f"http://nowhere:{port}", "allow_http": "true", "max_retries": "0"}
    return f"s3://{bucket}/wh", found


Place = tuple[str, dict[str, str]]


def stored(place: Place, **properties: str) -> fz.Catalog:
    return fz.catalog("s", warehouse=place[0], **{**place[1], **properties})


@pytest.mark.parametrize("way", ["properties", "environment"])
@pytest.mark.parametrize("login", [None, LOGIN], ids=["open", "login"])
def test_a_store_behind_a_proxy(
    place: Place, proxy: ForwardProxy, environment: pytest.MonkeyPatch, way: str, login: str | None
) -> None:
    proxy.login = login
    given = {"s3.proxy-uri": url_of(proxy, login)} if way == "properties" else {}
    if way == "environment":
        environment.setenv("HTTP_PROXY", url_of(proxy, login))
    catalog = stored(place, **given)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA).append(one(1, 2))
    table.delete("id = 1")
    assert ids(catalog.load_table("db.t")) == [2]
    opened = fz.open_table(f"{place[0]}/db/t", storage_options={**place[1], **given})
    assert ids(opened) == [2]
    assert proxy.hosts() == {"nowhere"}
    methods = [method for method, _ in proxy.seen]
    assert {"GET", "PUT"} <= set(methods)
    for text in (repr(catalog), repr(catalog.properties), repr(table), str(opened.scan().explain())):
        assert "w0rd" not in text


def test_a_store_without_the_proxy(
    place: Place, port: int, proxy: ForwardProxy, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("HTTP_PROXY", proxy.url)
    environment.setenv("NO_PROXY", "127.0.0.1")
    catalog = stored(place, **{"s3.endpoint": f"http://127.0.0.1:{port}"})
    catalog.create_namespace("db")
    assert ids(catalog.create_table("db.t", SCHEMA).append(one(1))) == [1]
    assert proxy.seen == []


@pytest.mark.parametrize("way", ["properties", "environment"])
def test_a_proxy_that_refuses_a_store(
    place: Place, proxy: ForwardProxy, environment: pytest.MonkeyPatch, way: str
) -> None:
    def table(url: str, **more: str) -> fz.Table:
        if way == "properties":
            return stored(place, **{"s3.proxy-uri": url, **more}).load_table("db.t")
        environment.setenv("HTTP_PROXY", url)
        environment.setenv("HTTPS_PROXY", url)
        return stored(place, **more).load_table("db.t")

    secure = {"s3.endpoint": place[1]["s3.endpoint"].replace("http:", "https:")}
    # The address of the option is the user's own. That of the environment is named.
    shown = proxy if way == "environment" else None
    proxy.login = LOGIN
    for login in (None, WRONG):
        url = url_of(proxy, login)
        says = "the proxy asks for a login.*Give the proxy's login"
        refused(lambda url=url: table(url), fz.PermissionDeniedError, says, shown)
        refused(lambda url=url: table(url, **secure), fz.StoreError, says, shown)
    proxy.login, proxy.answer = None, 502
    url = url_of(proxy, WRONG)
    refused(lambda: table(url), fz.StoreError, "502", shown)
    refused(lambda: table(url, **secure), fz.StoreError, "cannot connect .*tunnel", shown)
    nowhere = f"http://{WRONG}@localhost:1"
    refused(lambda: table(nowhere), fz.StoreError, "cannot connect")


def test_a_catalog_and_its_files_behind_one_proxy(
    port: int, proxy: ForwardProxy, environment: pytest.MonkeyPatch
) -> None:
    bucket, store = new_bucket(port)
    environment.setenv("HTTP_PROXY", url_of(proxy, LOGIN))
    # The catalog's server runs here too, and needs no proxy for its files.
    environment.setenv("NO_PROXY", "127.0.0.1")
    proxy.login = LOGIN
    keys = {"s3.access-key-id": store["key"], "s3.secret-access-key": store["secret"], "s3.region": "us-east-1"}
    keys |= {"s3.endpoint": f"http://nowhere:{port}", "allow_http": "true"}
    with serving(f"s3://{bucket}/wh", store) as server:
        catalog = rest(named(server), **keys)
        catalog.create_namespace("db")
        assert ids(catalog.create_table("db.t", SCHEMA).append(one(3))) == [3]
    assert proxy.hosts() == {"catalog.example", "nowhere"}
