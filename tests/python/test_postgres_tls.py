"""Catalogs in PostgreSQL servers that want TLS: a server of this test's own, where its programs are installed."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
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
    """An authority, a server's certificate for `localhost` by it, one for another host, one signed by itself, one of
    X.509 version 1."""

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
    openssl("req", *key, "-keyout", "old.key", "-out", "old.csr", "-subj", "/CN=localhost")
    (folder / "old.cnf").write_text(
        "[ca]\ndefault_ca=me\n[me]\ndatabase=index.txt\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\npolicy=any\n"
        "unique_subject=no\n[any]\ncommonName=supplied\n"
    )
    (folder / "index.txt").write_text("")
    (folder / "serial").write_text("77\n")
    by = ("-cert", "ca.pem", "-keyfile", "ca.key", "-days", "2", "-batch")
    openssl("ca", "-config", "old.cnf", "-in", "old.csr", "-out", "old.pem", "-notext", *by)


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
    for name in ("server", "elsewhere", "self", "old"):
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


def shown(server: Server) -> bytes:
    """The certificate that the server shows."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", server.port), 10) as plain:
        plain.sendall(bytes.fromhex("00000008 04d2162f"))  # SSLRequest
        assert plain.recv(1) == b"S"
        with context.wrap_socket(plain) as encrypted:
            return encrypted.getpeercert(binary_form=True) or b""


def reload(server: Server) -> None:
    pid = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGHUP)


def until(is_so: Callable[[], bool]) -> None:
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.05)
    raise AssertionError("the server does not read its files again")


def serve(server: Server, name: str) -> None:
    """Lets the server show another certificate."""
    data = server.folder / "data"
    for ending in ("key", "pem"):
        (data / f"server.{ending}").write_bytes((server.folder / f"{name}.{ending}").read_bytes())
    reload(server)
    wanted = ssl.PEM_cert_to_DER_cert((server.folder / f"{name}.pem").read_text())
    until(lambda: shown(server) == wanted)


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
        {"sslrootcert": "system"},
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


def test_certificates_that_are_not_looked_at(server: Server, tmp_path: pathlib.Path) -> None:
    """Of X.509 version 1, and for whatever name."""
    text = subprocess.run(
        ["openssl", "x509", "-in", "old.pem", "-noout", "-text"], cwd=server.folder, capture_output=True, text=True
    )
    assert "Version: 1 " in text.stdout
    try:
        serve(server, "old")
        for mode in ("prefer", "require"):
            assert namespaces(server.uri(sslmode=mode), tmp_path) is not None
        for mode in ("require", "verify-ca", "verify-full"):
            with pytest.raises(fz.StoreError, match="version 3"):
                namespaces(server.uri(sslmode=mode, sslrootcert=server.folder / "ca.pem"), tmp_path)
    finally:
        serve(server, "server")


def test_names_that_are_none_of_dns(server: Server, tmp_path: pathlib.Path) -> None:
    ca = server.folder / "ca.pem"
    for host in ("db-", "x" * 70, "my%20db"):
        for asked in ({"sslmode": "require"}, {"sslmode": "verify-ca", "sslrootcert": ca}):
            uri = server.uri(hostaddr="127.0.0.1", **asked).replace("localhost", host)
            assert namespaces(uri, tmp_path) is not None, (host, asked)
        uri = server.uri(hostaddr="127.0.0.1", sslmode="verify-full", sslrootcert=ca).replace("localhost", host)
        with pytest.raises(fz.StoreError, match="reached"):
            namespaces(uri, tmp_path)
    # The name is what is verified, wherever the connection goes.
    assert namespaces(server.uri(hostaddr="127.0.0.1", sslmode="verify-full", sslrootcert=ca), tmp_path) is not None
    # Without a name the address is one.
    uri = server.uri(hostaddr="127.0.0.1", port=server.port, sslrootcert=ca).replace(f"localhost:{server.port}", "")
    for mode in ("require", "verify-ca"):
        assert namespaces(f"{uri}&sslmode={mode}", tmp_path) is not None
    with pytest.raises(fz.StoreError, match="not valid for name"):
        namespaces(f"{uri}&sslmode=verify-full", tmp_path)


def test_who_prefers_tls_does_without(server: Server, tmp_path: pathlib.Path) -> None:
    """A server whose version of TLS is unknown here."""
    data = server.folder / "data"
    before = (data / "pg_hba.conf").read_text(), (data / "postgresql.auto.conf").read_text()

    def has_tls() -> bool:
        try:
            return shown(server) != b""
        except OSError:
            return False

    try:
        (data / "pg_hba.conf").write_text("host all all all trust\n")
        with (data / "postgresql.auto.conf").open("a") as conf:
            conf.write("ssl_min_protocol_version='TLSv1'\nssl_max_protocol_version='TLSv1.1'\n")
        reload(server)
        until(lambda: not has_tls())
        for asked in ({}, {"sslmode": "prefer"}, {"sslmode": "disable"}):
            assert namespaces(server.uri(**asked), tmp_path) is not None, asked
        with pytest.raises(fz.StoreError, match="It must offer TLS"):
            namespaces(server.uri(sslmode="require"), tmp_path)
    finally:
        (data / "pg_hba.conf").write_text(before[0])
        (data / "postgresql.auto.conf").write_text(before[1])
        reload(server)
        until(has_tls)


def test_what_is_asked_wrongly(tmp_path: pathlib.Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    for parameters, kind, said in (
        ("sslmode=maybe", fz.InvalidInputError, "verify-full"),
        ("sslmode=verify-ca&sslrootcert=/no/such.pem", fz.InvalidInputError, "can't be read"),
        (f"sslmode=verify-ca&sslrootcert={tmp_path}/empty.pem", fz.InvalidInputError, "no certificate"),
        ("sslcert=me.pem", fz.UnsupportedError, "client certificates"),
        ("sslmode=require&sslrootcert=system", fz.InvalidInputError, "too weak"),
        ("sslmode=prefer&sslrootcert=system", fz.InvalidInputError, "too weak"),
        ("sslmode=verify-ca&sslrootcert=system", fz.InvalidInputError, "too weak"),
        ("sslrootcert=%+5", fz.InvalidInputError, "not encoded"),
        ("sslrootcert=a%2", fz.InvalidInputError, "not encoded"),
        ("sslrootcert=%", fz.InvalidInputError, "not encoded"),
        ("sslmode=%00", fz.InvalidInputError, "not encoded"),
        ("sslmode=%ff", fz.InvalidInputError, "not encoded"),
        ("sslmode=%e2%9c%93", fz.InvalidInputError, "not an sslmode"),
    ):
        with pytest.raises(kind, match=said):
            fz.catalog("c", type="sql", uri=f"postgresql://u@h/d?{parameters}", warehouse=tmp_path)
