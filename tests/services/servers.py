"""The servers that tests start, each with the properties that a catalog or a store needs to reach it.

By hand: `python tests/services/servers.py NAME FOLDER` prints the properties, and serves until its input ends.
"""

from __future__ import annotations

import base64
import email.utils
import hmac
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starting import (
    HERE,
    CannotStart,
    Program,
    answers,
    classes,
    free_port,
    go,
    is_kept,
    jar,
    jars,
    java,
    launch,
    listens,
    need,
    newer_java,
    node,
)

KEY, SECRET, BUCKET, REGION = "frazil", "frazilsecret", "frazil", "us-east-1"
SMALL_JAVA = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
# Azurite's one account, which is in its documentation.
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
NIGHTLY = os.environ.get("FRAZIL_NIGHTLY", "") not in ("", "0")


@dataclass
class Server:
    """A server that runs here."""

    program: Program
    values: dict[str, str]

    def __getitem__(self, name: str) -> str:
        return self.values[name]

    def stop(self) -> None:
        self.program.stop()


def nightly(name: str) -> None:
    """A server that takes minutes to build is built at night, and used whenever it is there."""
    if not NIGHTLY and not is_kept(name):
        raise CannotStart(f"{name} is built by 'make test-nightly'")


# ---------------------------------------------------------------- catalogs


def rest(folder: Path, uri: str | None = None, **switches: str) -> Server:
    """Iceberg's own REST catalog, over SQLite or the database at `uri`."""
    libraries = jars("rest")
    compiled = classes("RestFixture.java", libraries)
    port, warehouse = free_port(), folder / "warehouse"
    folder.mkdir(parents=True, exist_ok=True)
    given = {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": uri or f"jdbc:sqlite:{folder}/rest.db",
        "jdbc.schema-version": "V1",
        "jdbc.strict-mode": "true",
        "warehouse": f"file://{warehouse}",
        **switches,
    }
    command = [java(), *SMALL_JAVA, "-cp", os.pathsep.join([str(compiled), libraries])]
    command += ["org.apache.iceberg.rest.RestFixture", str(port), *(f"{k}={v}" for k, v in given.items())]
    url = f"http://127.0.0.1:{port}"
    program = launch("rest", command, folder, answers(f"{url}/v1/config"))
    return Server(program, {"uri": url, "warehouse": str(warehouse)})


def rest_on_postgres(folder: Path) -> Server:
    """Iceberg's own REST catalog, over PostgreSQL."""
    database = postgres(folder / "postgres")
    try:
        server = rest(folder, f"jdbc:postgresql://127.0.0.1:{database['port']}/postgres", **{"jdbc.user": "frazil"})
    except CannotStart:
        database.stop()
        raise
    server.program.others.append(database.program)
    return Server(server.program, {**server.values, "database": database["uri"]})


def hive(folder: Path) -> Server:
    """Hive Metastore 3, with its database in memory."""
    libraries, port, warehouse = jars("hive3"), free_port(), folder / "warehouse"
    compiled = classes("HiveFixture.java", libraries)
    for name in ("warehouse", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    options = {
        "java.io.tmpdir": f"{folder}/tmp",
        "derby.stream.error.file": f"{folder}/derby.log",
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:hive;create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        "datanucleus.schema.autoCreateAll": "true",
        "metastore.schema.verification": "false",
        "metastore.event.db.notification.api.auth": "false",
        "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
        "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.events.EventCleanerTask",
        "metastore.warehouse.dir": f"file://{warehouse}",
    }
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.lang", "java.net")]
    command = [java(), *SMALL_JAVA, *opened, *(f"-D{name}={value}" for name, value in options.items())]
    command += ["-cp", os.pathsep.join([str(compiled), libraries]), "HiveFixture", str(port)]
    program = launch("hive", command, folder, listens(port))
    return Server(program, {"uri": f"thrift://127.0.0.1:{port}", "warehouse": f"file://{warehouse}"})


def nessie(folder: Path, store: Callable[[], Server]) -> Server:
    """Nessie's REST catalog, over an S3 server that gives keys by STS."""
    nightly("nessie-quarkus")
    program = newer_java(21)
    found, s3 = jar("org.projectnessie.nessie:nessie-quarkus:0.99.0:jar:runner"), store()
    port, management = free_port(), free_port()
    store = "nessie.catalog.service.s3.default-options"
    options = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": str(port),
        "quarkus.management.host": "127.0.0.1",
        "quarkus.management.port": str(management),
        "nessie.version.store.type": "IN_MEMORY",
        "nessie.catalog.default-warehouse": "wh",
        "nessie.catalog.warehouses.wh.location": f"s3://{s3['bucket']}/nessie",
        f"{store}.endpoint": s3["endpoint"],
        f"{store}.region": s3["region"],
        f"{store}.path-style-access": "true",
        f"{store}.access-key": "urn:nessie-secret:quarkus:frazil-key",
        "frazil-key.name": s3["key"],
        "frazil-key.secret": s3["secret"],
        f"{store}.request-signing-enabled": "true",
        f"{store}.client-iam.enabled": "true",
        f"{store}.client-iam.assume-role": "arn:aws:iam::123456789012:role/frazil",
        f"{store}.sts-endpoint": s3["endpoint"],
    }
    command = [program, *SMALL_JAVA, *(f"-D{name}={value}" for name, value in options.items()), "-jar", str(found)]
    url = f"http://127.0.0.1:{port}/iceberg"
    return Server(launch("nessie", command, folder, answers(f"{url}/v1/config")), {"uri": url})


def postgres(folder: Path) -> Server:
    """PostgreSQL, without passwords."""
    found = shutil.which("pg_config")
    if found is None:
        raise CannotStart("PostgreSQL is not installed: 'pg_config' is not on the path")
    binaries = subprocess.run([found, "--bindir"], capture_output=True, text=True).stdout.strip()
    if not Path(binaries, "postgres").exists():
        raise CannotStart(f"PostgreSQL's server is not installed: there is no {binaries}/postgres")
    data, user = folder / "data", list[str]()
    data.mkdir(parents=True, exist_ok=True)
    if os.getuid() == 0:
        # The server refuses to run as root.
        user = [need("setpriv"), "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        for above in (*folder.parents, folder):
            if above.stat().st_uid == 0 and str(above) not in ("/", "/tmp"):
                above.chmod(above.stat().st_mode | 0o755)
        try:
            shutil.chown(data, "postgres")
        except LookupError:
            raise CannotStart("PostgreSQL can't run as root, and there is no user 'postgres'") from None
    make = [
        f"{binaries}/initdb",
        "-D",
        str(data),
        "-U",
        "frazil",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
        "--no-sync",
    ]
    done = subprocess.run([*user, *make], capture_output=True, text=True)
    if done.returncode:
        raise CannotStart(f"PostgreSQL's initdb failed: {done.stderr.strip()[-300:]}")
    port = free_port()
    options = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off"]
    command = [*user, f"{binaries}/postgres", "-D", str(data), "-p", str(port), *options]
    ready = [f"{binaries}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
    program = launch("postgres", command, folder, lambda: subprocess.run(ready).returncode == 0)
    return Server(program, {"uri": f"postgresql://frazil@127.0.0.1:{port}/postgres", "port": str(port)})


# ---------------------------------------------------------------- stores


def moto(folder: Path) -> Server:
    """S3, STS, Glue and DynamoDB in memory. Any key is good."""
    try:
        import moto.server  # noqa: F401
    except ImportError as error:
        raise CannotStart(f"moto is not installed with its server: {error}") from None
    port = free_port()
    command = [sys.executable, str(HERE / "moto_server.py"), "-H", "127.0.0.1", "-p", str(port)]
    program = launch("moto", command, folder, answers(f"http://127.0.0.1:{port}/moto-api/"))
    return s3_of(program, port)


def minio(folder: Path) -> Server:
    """S3 and STS. Keys and signatures are looked at."""
    nightly("minio")
    program = go("minio", "github.com/minio/minio", "v0.0.0-20260212201848-7aac2a2c5b7c")
    port = free_port()
    command = [program, "server", str(folder / "data"), "--address", f"127.0.0.1:{port}", "--quiet"]
    environment = {"MINIO_ROOT_USER": KEY, "MINIO_ROOT_PASSWORD": SECRET, "MINIO_BROWSER": "off"}
    ready = answers(f"http://127.0.0.1:{port}/minio/health/ready")
    return s3_of(launch("minio", command, folder, ready, environment=environment), port)


def versitygw(folder: Path) -> Server:
    """S3 over a folder. Keys and signatures are looked at; there is no STS."""
    nightly("versitygw")
    program = go("versitygw", "github.com/versity/versitygw/cmd/versitygw", "v1.8.0")
    port, data = free_port(), folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    command = [
        program,
        "--access",
        KEY,
        "--secret",
        SECRET,
        "--port",
        f"127.0.0.1:{port}",
        "--quiet",
        "posix",
        str(data),
    ]
    return s3_of(launch("versitygw", command, folder, listens(port)), port)


def s3_of(program: Program, port: int) -> Server:
    """With a bucket."""
    import boto3

    endpoint = f"http://127.0.0.1:{port}"
    keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": REGION}
    boto3.client("s3", endpoint_url=endpoint, **keys).create_bucket(Bucket=BUCKET)
    values = {"endpoint": endpoint, "key": KEY, "secret": SECRET, "region": REGION, "bucket": BUCKET}
    return Server(program, {**values, "port": str(port)})


def azurite(folder: Path) -> Server:
    """Azure's blobs, without hierarchical namespaces."""
    command = node("azurite", "3.35.0", "dist/src/blob/main.js")
    port = free_port()
    command += ["--silent", "--skipApiVersionCheck", "--location", str(folder / "data")]
    command += ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
    program = launch("azurite", command, folder, answers(f"http://127.0.0.1:{port}/"))
    endpoint = f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}"
    make_container(endpoint)
    return Server(program, {"endpoint": endpoint, "account": AZURE_ACCOUNT, "key": AZURE_KEY, "port": str(port)})


def make_container(endpoint: str) -> None:
    """Azurite's `frazil`, asked for with the account's key."""
    date = email.utils.formatdate(usegmt=True)
    headers = {"x-ms-date": date, "x-ms-version": "2021-08-06"}
    signed = ["PUT", *[""] * 11, *(f"{name}:{value}" for name, value in sorted(headers.items()))]
    signed += [f"/{AZURE_ACCOUNT}/{AZURE_ACCOUNT}/{BUCKET}", "restype:container"]
    digest = hmac.new(base64.b64decode(AZURE_KEY), "\n".join(signed).encode(), "sha256").digest()
    headers["Authorization"] = f"SharedKey {AZURE_ACCOUNT}:{base64.b64encode(digest).decode()}"
    request = urllib.request.Request(f"{endpoint}/{BUCKET}?restype=container", b"", headers, method="PUT")
    request.add_header("Content-Type", "")
    urllib.request.urlopen(request, timeout=20).close()


def google(folder: Path) -> Server:
    """Google's storage. Nobody is asked who they are."""
    nightly("fake-gcs-server")
    program = go("fake-gcs-server", "github.com/fsouza/fake-gcs-server", "v1.56.1")
    port = free_port()
    command = [
        program,
        "-scheme",
        "http",
        "-host",
        "127.0.0.1",
        "-port",
        str(port),
        "-public-host",
        f"127.0.0.1:{port}",
    ]
    command += ["-backend", "filesystem", "-filesystem-root", str(folder / "data")]
    endpoint = f"http://127.0.0.1:{port}"
    started = launch("google", command, folder, answers(f"{endpoint}/storage/v1/b"))
    post(f"{endpoint}/storage/v1/b?project=frazil", {"name": BUCKET})
    front = free_port()
    command = [sys.executable, str(HERE / "google_front.py"), str(front), str(port)]
    started.others.append(launch("google_front", command, folder, listens(front)))
    return Server(started, {"endpoint": f"http://127.0.0.1:{front}", "bucket": BUCKET})


def toxiproxy(folder: Path) -> Server:
    """A proxy that slows and breaks connections. `proxied` puts it before a server."""
    nightly("toxiproxy")
    program = go("toxiproxy", "github.com/Shopify/toxiproxy/v2/cmd/server", "v2.5.0")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [program, "-host", "127.0.0.1", "-port", str(port)]
    return Server(launch("toxiproxy", command, folder, answers(f"{url}/version")), {"uri": url})


def proxied(toxic: Server, name: str, port: int) -> int:
    """The port of a proxy before the server at `port`."""
    listening = free_port()
    post(
        f"{toxic['uri']}/proxies",
        {"name": name, "listen": f"127.0.0.1:{listening}", "upstream": f"127.0.0.1:{port}"},
    )
    return listening


def poison(toxic: Server, name: str, kind: str, **attributes: Any) -> None:
    """Adds a fault to a proxy: `latency`, `timeout`, `reset_peer`, `limit_data` …"""
    post(f"{toxic['uri']}/proxies/{name}/toxics", {"type": kind, "attributes": attributes})


def post(url: str, body: dict[str, Any]) -> None:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=20).close()


SERVERS: dict[str, Callable[[Path], Server]] = {
    "rest": rest,
    "rest_on_postgres": rest_on_postgres,
    "hive": hive,
    "nessie": lambda folder: nessie(folder / "nessie", lambda: minio(folder / "minio")),
    "postgres": postgres,
    "moto": moto,
    "minio": minio,
    "versitygw": versitygw,
    "azurite": azurite,
    "google": google,
    "toxiproxy": toxiproxy,
}


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2]).absolute()
    try:
        server = SERVERS[name](folder)
    except CannotStart as reason:
        sys.exit(f"{name} can't start: {reason}")
    for key, value in server.values.items():
        print(f"{key}={value}", flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
