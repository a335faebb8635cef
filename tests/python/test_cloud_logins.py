"""Logins of Google and Microsoft for a REST catalog and for Google's storage, from servers of this machine."""

from __future__ import annotations

import base64
import json
import pathlib
import ssl
import time
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

import frazil as fz
from forward_proxy import forwarding
from rest_cases import SCHEMA, ids, one, opened
from rest_fixtures import certificates, server
from rest_server import Auth, RestServer
from server_fixtures import google_server
from servers import Server
from token_server import TokenServer, giving_tokens

__all__ = ["certificates", "google_server", "server"]
EMAIL = "frazil@project.iam.gserviceaccount.com"
OTHERS = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "GOOGLE_APPLICATION_CREDENTIALS")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> pytest.MonkeyPatch:
    """A user without files of gcloud, and without variables."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in OTHERS:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


@pytest.fixture
def tokens() -> Iterator[TokenServer]:
    with giving_tokens() as tokens:
        yield tokens


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def account(key: rsa.RSAPrivateKey, tmp_path: pathlib.Path) -> pathlib.Path:
    """The file of a service account."""
    kind = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    content = {
        "type": "service_account",
        "project_id": "project",
        "private_key_id": "key-1",
        "private_key": key.private_bytes(*kind).decode(),
        "client_email": EMAIL,
        "client_id": "1",
        "token_uri": "http://127.0.0.1:1/token",
    }
    path = tmp_path / "account.json"
    path.write_text(json.dumps(content))
    return path


def claims(header: str | None, key: rsa.RSAPrivateKey) -> dict[str, Any]:
    """What a token says that the account's own key has signed."""
    assert header is not None
    assert header.startswith("Bearer ")
    signed, _, signature = header.removeprefix("Bearer ").rpartition(".")
    key.public_key().verify(decoded(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    first, _, second = signed.partition(".")
    assert json.loads(decoded(first)) == {"typ": "JWT", "alg": "RS256", "kid": "key-1"}
    found: dict[str, Any] = json.loads(decoded(second))
    return found


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def rest(server: RestServer, kind: str, **properties: str) -> fz.Catalog:
    return opened(server, **{"rest.auth.type": kind, "rest-metrics-reporting-enabled": "false", **properties})


# ---------------------------------------------------------------- Google


@pytest.mark.parametrize("way", ["property", "variable", "gcloud"])
def test_a_service_account_signs_its_own_tokens(
    server: RestServer,
    key: rsa.RSAPrivateKey,
    account: pathlib.Path,
    environment: pytest.MonkeyPatch,
    tmp_path: pathlib.Path,
    way: str,
) -> None:
    given = {"gcp.auth.credentials-path": str(account)} if way == "property" else {}
    if way == "variable":
        environment.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(account))
    if way == "gcloud":
        folder = tmp_path / "home" / ".config" / "gcloud"
        folder.mkdir(parents=True)
        (folder / "application_default_credentials.json").write_text(account.read_text())
    catalog = rest(server, "google", **given)
    catalog.create_namespace("db")
    assert ids(catalog.create_table("db.t", SCHEMA).append(one(1))) == [1]
    headers = {request.headers.get("authorization") for request in server.service.asked}
    assert len(headers) == 1
    said = claims(headers.pop(), key)
    assert (said["iss"], said["sub"]) == (EMAIL, EMAIL)
    assert said["scope"] == "https://www.googleapis.com/auth/cloud-platform"
    assert said["iat"] <= time.time() < said["exp"] == said["iat"] + 3600


def test_the_account_of_a_machine(server: RestServer, tokens: TokenServer, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("GCE_METADATA_HOST", tokens.host)
    server.switches.auth = Auth("token", "token-1")
    catalog = rest(server, "google")
    catalog.create_namespace("db")
    assert catalog.list_namespaces() == ["db"]
    assert [path for path, _ in tokens.asked] == ["/computeMetadata/v1/instance/service-accounts/default/token"]


def test_a_user_of_gcloud(
    server: RestServer,
    certificates: pathlib.Path,
    environment: pytest.MonkeyPatch,
    tmp_path: pathlib.Path,
) -> None:
    """Google's own server is asked, whatever the file says. Here a proxy leads to another one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    login = {"client_id": "id-1", "client_secret": "secret-1", "refresh_token": "refresh-1"}
    path = tmp_path / "user.json"
    path.write_text(json.dumps({"type": "authorized_user", "token_uri": "http://127.0.0.1:1/", **login}))
    environment.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    environment.setenv("SSL_CERT_FILE", str(certificates / "ca.pem"))
    server.switches.auth = Auth("token", "token-1")
    with giving_tokens(context) as tokens, forwarding() as proxy:
        environment.setenv("HTTPS_PROXY", proxy.url)
        proxy.ports["accounts.google.com:443"] = tokens.port
        catalog = rest(server, "google")
        catalog.create_namespace("db")
        assert catalog.list_namespaces() == ["db"]
        assert tokens.asked == [("/o/oauth2/token", {"grant_type": "refresh_token", **login})]
        tokens.refuses = True
        with pytest.raises(fz.PermissionDeniedError, match="Google gives no token") as raised:
            rest(server, "google")
    assert "401" in str(raised.value)
    for text in (str(raised.value), repr(catalog)):
        assert "secret-1" not in text
        assert "refresh-1" not in text


def test_files_that_are_no_accounts(server: RestServer, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "wrong.json"
    for text in ("{", '{"type": "external_account"}', '{"type": "service_account"}'):
        path.write_text(text)
        with pytest.raises(fz.PermissionDeniedError, match="Google gives no token") as raised:
            rest(server, "google", **{"gcp.auth.credentials-path": str(path)})
        assert "gcp.auth.credentials-path" in str(raised.value)
    path.unlink()
    with pytest.raises(fz.PermissionDeniedError, match="No such file"):
        rest(server, "google", **{"gcp.auth.credentials-path": str(path)})
    assert server.service.asked == []


@pytest.mark.parametrize("way", ["file", "json", "variable"])
def test_google_s_storage_with_an_account(
    google_server: Server,
    key: rsa.RSAPrivateKey,
    account: pathlib.Path,
    environment: pytest.MonkeyPatch,
    way: str,
) -> None:
    given = {"file": {"gcs.credentials.file": str(account)}, "json": {"gcs.credentials.json": account.read_text()}}
    if way == "variable":
        environment.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(account))
    options = {"gcs.service.host": google_server["endpoint"], **given.get(way, {})}
    with forwarding() as proxy:
        environment.setenv("HTTP_PROXY", proxy.url)
        catalog = fz.catalog("g", warehouse=f"gs://{google_server['bucket']}/logins-{way}", **options)
        catalog.create_namespace("db")
        table = catalog.create_table("db.t", SCHEMA).append(one(1, 2))
        assert ids(table) == [1, 2]
        assert len(proxy.proofs) > 5
        assert {claims(header, key)["iss"] for header in proxy.proofs} == {EMAIL}
    for text in (repr(catalog), repr(catalog.properties), repr(table)):
        assert "PRIVATE KEY" not in text


# ---------------------------------------------------------------- Microsoft Entra


@pytest.mark.parametrize("way", ["properties", "variables"])
def test_a_client_of_entra(server: RestServer, tokens: TokenServer, environment: pytest.MonkeyPatch, way: str) -> None:
    environment.setenv("AZURE_AUTHORITY_HOST", f"http://{tokens.host}")
    environment.setenv("AZURE_ALLOW_HTTP", "true")
    client = {"tenant_id": "tenant-1", "client_id": "id-1", "client_secret": "secret-1"}
    given = {f"auth.entra.{name}": value for name, value in client.items()} if way == "properties" else {}
    if way == "variables":
        for name, value in client.items():
            environment.setenv(f"AZURE_{name.upper()}", value)
    server.switches.auth = Auth("token", "token-1")
    catalog = rest(server, "entra", **given)
    catalog.create_namespace("db")
    assert ids(catalog.create_table("db.t", SCHEMA).append(one(1))) == [1]
    path, fields = tokens.asked[0]
    assert len(tokens.asked) == 1
    assert path == "/tenant-1/oauth2/v2.0/token"
    assert (fields["client_id"], fields["client_secret"]) == ("id-1", "secret-1")
    assert (fields["grant_type"], fields["scope"]) == ("client_credentials", "https://storage.azure.com/.default")
    tokens.refuses = True
    with pytest.raises(fz.PermissionDeniedError, match="Microsoft Entra gives no token") as raised:
        rest(server, "entra", **given)
    for text in (str(raised.value), repr(catalog), repr(catalog.properties)):
        assert "secret-1" not in text


def test_the_identity_of_a_machine(server: RestServer, tokens: TokenServer, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("AZURE_MSI_ENDPOINT", f"http://{tokens.host}/metadata/identity/oauth2/token")
    server.switches.auth = Auth("token", "token-1")
    catalog = rest(server, "entra")
    catalog.create_namespace("db")
    assert catalog.list_namespaces() == ["db"]
    assert [path for path, _ in tokens.asked] == ["/metadata/identity/oauth2/token"]
    assert tokens.asked[0][1]["resource"] == "https://storage.azure.com"
