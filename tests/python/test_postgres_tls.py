"""Catalogs in PostgreSQL servers that want TLS: a server of this test's own, where its programs are installed."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import frazil as fz

CONFIG = shutil.which("pg_config")
FOLDER = subprocess.run([CONFIG, "--bindir"], capture_output=True, text=True).stdout.strip() if CONFIG else "/none"
pytestmark = pytest.mark.skipif(
    not os.path.exists(f"{FOLDER}/postgres") or shutil.which("openssl") is None or shutil.which("setpriv") is None,
    reason="needs the programs of PostgreSQL and openssl",
)


class Server(NamedTuple):
    """A server that takes no connections but those with TLS."""

    port: int
    folder: pathlib.Path

    def uri(self, **parameters: object) -> str:
        given = "&".join(f"{name}={value}" for name, value in parameters.items())
        return f"postgresql://frazil@localhost:{self.port}/postgres?connect_timeout=10&{given}"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def certificates(folder: pathlib.Path) -> None:
    """An authority, a server's certificate for `localhost` by it, one for another host, and one signed by itself."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "rsa:2048", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-days", "2")
    openssl("req", "-x509", *key, "-keyout", "other.key", "-out", "other.pem", "-subj", "/CN=other", "-days", "2")
    for name, host in [("server", "localhost"), ("elsewhere", "db.example")]:
        (folder / f"{name}.ext").write_text(f"subjectAltName=DNS:{host}\nbasicConstraints=CA:FALSE\n")
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={host}")
        by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext")
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *by)
    openssl(
        *("req", "-x509", *key, "-keyout", "self.key", "-out", "self.pem", "-subj", "/CN=localhost", "-days", "2"),
        *("-addext", "subjectAltName=DNS:localhost"),
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("postgres")
    certificates(folder)
    data, user = folder / "data", []
    data.mkdir()
    if os.getuid() == 0:
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        for above in (*folder.parents, folder):
            if above.stat().st_uid == 0 and str(above) not in ("/", "/tmp"):
                above.chmod(0o755)
        shutil.chown(data, "postgres")
    made = [f"{FOLDER}/initdb", "-D", str(data), "-U", "frazil", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
    subprocess.run([*user, *made], check=True, capture_output=True)
    for name in ("server", "elsewhere", "self"):
        for ending in ("key", "pem"):
            copy = data / f"{name}.{ending}"
            shutil.copy(folder / f"{name}.{ending}", copy)
            copy.chmod(0o600)
            if user:
                shutil.chown(copy, "postgres")
    (data / "pg_hba.conf").write_text("hostssl all all all trust\n")
    port = free_port()
    options = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "ssl=on"]
    files = ["-c", "ssl_cert_file=server.pem", "-c", "ssl_key_file=server.key"]
    log = (folder / "log").open("w")
    run = subprocess.Popen(
        [*user, f"{FOLDER}/postgres", "-D", str(data), "-p", str(port), *options, *files], stdout=log, stderr=log
    )
    try:
        ready = [f"{FOLDER}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
        for _ in range(300):
            if subprocess.run(ready).returncode == 0:
                break
            time.sleep(0.1)
        yield Server(port, folder)
    finally:
        run.terminate()
        run.wait(20)
        log.close()


def namespaces(uri: str, folder: pathlib.Path) -> list[str]:
    return fz.catalog("c", type="sql", uri=uri, warehouse=folder).list_namespaces()


def serve(server: Server, name: str) -> None:
    """Lets the server show another certificate."""
    data = server.folder / "data"
    for ending in ("key", "pem"):
        (data / f"server.{ending}").write_bytes((server.folder / f"{name}.{ending}").read_bytes())
    pid = int((data / "postmaster.pid").read_text().split()[0])
    os.kill(pid, 1)  # SIGHUP: read the files again
    time.sleep(1)


def test_modes(server: Server, tmp_path: pathlib.Path) -> None:
    ca, other = server.folder / "ca.pem", server.folder / "other.pem"
    # By default what the server wants.
    fz.catalog("c", type="sql", uri=server.uri(), warehouse=tmp_path).create_namespace("db")
    for good in (
        {"sslmode": "prefer"},
        {"sslmode": "require"},
        {"sslmode": "require", "sslrootcert": ca},
        {"sslmode": "verify-ca", "sslrootcert": ca},
        {"sslmode": "verify-full", "sslrootcert": str(ca).replace("/", "%2F")},
    ):
        assert namespaces(server.uri(**good), tmp_path) == ["db"], good
    with pytest.raises(fz.FrazilError, match="sslmode=require"):
        namespaces(server.uri(sslmode="disable"), tmp_path)
    for bad in (
        {"sslmode": "require", "sslrootcert": other},
        {"sslmode": "verify-ca", "sslrootcert": other},
        {"sslmode": "verify-full", "sslrootcert": other},
        {"sslmode": "verify-full", "sslrootcert": "system"},
        {"sslmode": "verify-full"},
    ):
        with pytest.raises(fz.StoreError, match="certificate"):
            namespaces(server.uri(**bad), tmp_path)


def test_names_and_certificates_that_sign_themselves(server: Server, tmp_path: pathlib.Path) -> None:
    ca = server.folder / "ca.pem"
    try:
        serve(server, "elsewhere")
        assert namespaces(server.uri(sslmode="verify-ca", sslrootcert=ca), tmp_path) is not None
        with pytest.raises(fz.StoreError, match="not valid for name"):
            namespaces(server.uri(sslmode="verify-full", sslrootcert=ca), tmp_path)
        serve(server, "self")
        own = server.folder / "self.pem"
        for mode in ("verify-ca", "verify-full"):
            assert namespaces(server.uri(sslmode=mode, sslrootcert=own), tmp_path) is not None
        by_number = server.uri(sslmode="verify-full", sslrootcert=own).replace("localhost", "127.0.0.1")
        with pytest.raises(fz.StoreError, match="not valid for name"):
            namespaces(by_number, tmp_path)
        assert namespaces(by_number.replace("verify-full", "verify-ca"), tmp_path) is not None
    finally:
        serve(server, "server")


def test_what_is_asked_wrongly(tmp_path: pathlib.Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    for parameters, kind, said in (
        ("sslmode=maybe", fz.InvalidInputError, "verify-full"),
        ("sslmode=verify-ca&sslrootcert=/no/such.pem", fz.InvalidInputError, "can't be read"),
        (f"sslmode=verify-ca&sslrootcert={tmp_path}/empty.pem", fz.InvalidInputError, "no certificate"),
        ("sslcert=me.pem", fz.UnsupportedError, "certificates of clients"),
    ):
        with pytest.raises(kind, match=said):
            fz.catalog("c", type="sql", uri=f"postgresql://u@h/d?{parameters}", warehouse=tmp_path)
