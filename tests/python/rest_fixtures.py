"""What the tests of REST catalogs start. A test file imports the fixtures that it uses, some by a shorter name."""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Iterator

import pytest
from pyiceberg.catalog.rest import RestCatalog

import frazil as fz
from object_server import s3_server
from rest_cases import new_bucket, opened
from rest_server import Gate, RestServer, gated, serving


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[RestServer]:
    """A server whose tables are in a folder."""
    with serving(tmp_path / "wh") as server:
        yield server


@pytest.fixture
def catalog(server: RestServer) -> fz.Catalog:
    """The server's catalog with the namespace `db`."""
    found = opened(server)
    found.create_namespace("db")
    return found


@pytest.fixture
def pyiceberg_catalog(server: RestServer) -> RestCatalog:
    """The same by PyIceberg."""
    found = RestCatalog("c", uri=server.url)
    found.create_namespace("db")
    return found


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of an S3 server."""
    with s3_server() as port:
        yield port


@pytest.fixture
def gate(port: int) -> Iterator[Gate]:
    """Before the S3 server: only keys and signatures of the REST server get through."""
    with gated(port) as gate:
        yield gate


@pytest.fixture
def lending_server(port: int, gate: Gate) -> Iterator[RestServer]:
    """A server whose tables are in a bucket behind the gate."""
    bucket, store = new_bucket(port)
    with serving(f"s3://{bucket}/wh", store, defaults={"s3.endpoint": gate.url}) as server:
        gate.service = server.service
        yield server


@pytest.fixture
def certificates(tmp_path: pathlib.Path) -> pathlib.Path:
    """An authority, a server's certificate and a client's, by it."""
    folder = tmp_path / "certificates"
    folder.mkdir()

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "rsa:2048", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-days", "2")
    (folder / "names").write_text("subjectAltName=DNS:localhost,DNS:accounts.google.com\nbasicConstraints=CA:FALSE\n")
    for name in ("server", "client"):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *by)
    both = (folder / "client.pem").read_text() + (folder / "client.key").read_text()
    (folder / "both.pem").write_text(both)
    return folder
