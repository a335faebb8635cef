"""Real servers of catalogs and stores: the same work on each, and PyIceberg goes on with the same tables.

Catalogs: Iceberg's REST fixture on SQLite and PostgreSQL, PostgreSQL itself, Nessie, and by PyIceberg's own catalogs
Hive and Glue. Stores: moto, MinIO (also with keys of its STS), versitygw, Azurite and Google's, each with a SQL
catalog. One more REST catalog is behind a slow network.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from rest_cases import SCHEMA, ids, one
from server_fixtures import (
    azurite_server,
    google_server,
    hive_server,
    minio_server,
    moto_server,
    nessie_server,
    rest_on_postgres_server,
    rest_server,
    toxiproxy_server,
    versitygw_server,
)
from servers import Server, poison, proxied

__all__ = [
    "azurite_server",
    "google_server",
    "hive_server",
    "minio_server",
    "moto_server",
    "nessie_server",
    "rest_on_postgres_server",
    "rest_server",
    "toxiproxy_server",
    "versitygw_server",
]
NAMESPACES, PROXIES = itertools.count(1), itertools.count(1)
WRITERS, TURNS = 4, 4


@dataclass
class Reached:
    """How Frazil and PyIceberg open a catalog. PyIceberg takes the same properties unless it has its own."""

    properties: dict[str, str]
    of_pyiceberg: dict[str, str] | None = None
    name: str = "real"


@dataclass
class Real:
    """A catalog that runs here, and a namespace of the test's own."""

    kind: str
    reached: Reached
    namespace: str

    def ours(self) -> fz.Catalog:
        return fz.catalog(self.reached.name, **self.reached.properties)

    def theirs(self) -> Any:
        from pyiceberg.catalog import load_catalog

        return load_catalog(self.reached.name, **(self.reached.of_pyiceberg or self.reached.properties))


# ---------------------------------------------------------------- how each server is reached

Asking = pytest.FixtureRequest
Reaching = Callable[[Asking, Path], Reached]


def served(request: Asking, name: str) -> Server:
    server = request.getfixturevalue(f"{name}_server")
    assert isinstance(server, Server)
    return server


def rest(name: str) -> Reaching:
    return lambda request, _: Reached({"type": "rest", "uri": served(request, name)["uri"]})


def slow_rest(request: Asking, _: Path) -> Reached:
    """Each answer takes 20 to 40 ms, and comes in pieces."""
    server, toxic = served(request, "rest"), served(request, "toxiproxy")
    name = f"slow{next(PROXIES)}"
    port = proxied(toxic, name, int(server["uri"].rpartition(":")[2]))
    poison(toxic, name, "latency", latency=30, jitter=10)
    poison(toxic, name, "slicer", average_size=1000, size_variation=500, delay=100)
    return Reached({"type": "rest", "uri": f"http://127.0.0.1:{port}"})


def hive(request: Asking, _: Path) -> Reached:
    pytest.importorskip("thrift", reason="PyIceberg's Hive catalog needs the package 'thrift'")
    server = served(request, "hive")
    return Reached({"type": "hive", "uri": server["uri"], "warehouse": server["warehouse"]})


def glue(request: Asking, _: Path) -> Reached:
    server = served(request, "moto")
    keys = {"access-key-id": server["key"], "secret-access-key": server["secret"], "region": server["region"]}
    found = {"type": "glue", "warehouse": f"s3://{server['bucket']}/glue", "glue.endpoint": server["endpoint"]}
    found |= {f"glue.{name}": value for name, value in keys.items()}
    found |= {f"s3.{name}": value for name, value in keys.items()}
    return Reached({**found, "s3.endpoint": server["endpoint"]})


def sql(folder: Path, warehouse: str, **properties: str) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": warehouse, **properties}


def postgres(request: Asking, _: Path) -> Reached:
    """Frazil works in the database, and PyIceberg with Java's catalog in the same database."""
    server = served(request, "rest_on_postgres")
    own = {"type": "sql", "uri": server["database"], "warehouse": server["warehouse"]}
    return Reached(own, {"type": "rest", "uri": server["uri"]}, "fixture")


def s3(name: str) -> Reaching:
    def given(request: Asking, folder: Path) -> Reached:
        server = served(request, name)
        keys = {"access-key-id": server["key"], "secret-access-key": server["secret"], "region": server["region"]}
        access = {f"s3.{key}": value for key, value in {**keys, "endpoint": server["endpoint"]}.items()}
        return Reached(sql(folder, f"s3://{server['bucket']}/{folder.name}", **access))

    return given


def of_a_role(request: Asking, folder: Path) -> Reached:
    """MinIO's STS gives keys with a session."""
    import boto3

    server = served(request, "minio")
    keys = {"aws_access_key_id": server["key"], "aws_secret_access_key": server["secret"]}
    sts = boto3.client("sts", endpoint_url=server["endpoint"], region_name=server["region"], **keys)
    role = sts.assume_role(RoleArn="arn:aws:iam::123456789012:role/frazil", RoleSessionName="tests")["Credentials"]
    own = s3("minio")(request, folder).properties
    own["s3.access-key-id"], own["s3.secret-access-key"] = role["AccessKeyId"], role["SecretAccessKey"]
    return Reached({**own, "s3.session-token": role["SessionToken"]})


def azure(request: Asking, folder: Path) -> Reached:
    """Frazil is given the whole address, and PyIceberg its parts, for PyArrow."""
    server = served(request, "azurite")
    own = sql(folder, f"abfs://frazil/{folder.name}")
    own |= {"adls.account-name": server["account"], "adls.account-key": server["key"]}
    parts = {f"adls.{kind}-storage-authority": f"127.0.0.1:{server['port']}" for kind in ("blob", "dfs")}
    parts |= {f"adls.{kind}-storage-scheme": "http" for kind in ("blob", "dfs")}
    io = {"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"}
    return Reached({**own, "adls.account-host": server["endpoint"]}, {**own, **parts, **io})


def google(request: Asking, folder: Path) -> Reached:
    server = served(request, "google")
    access = {"gcs.service.host": server["endpoint"], "gcs.oauth2.token": "any"}
    # PyArrow takes a token only with the time of its end.
    end = {"gcs.oauth2.token-expires-at": "4102444800000"}
    own = sql(folder, f"gs://{server['bucket']}/{folder.name}", **access)
    return Reached(own, {**own, **end})


KINDS: dict[str, Reaching] = {
    "rest": rest("rest"),
    "rest-postgres": rest("rest_on_postgres"),
    "rest-slow": slow_rest,
    "nessie": rest("nessie"),
    "hive": hive,
    "glue": glue,
    "postgres": postgres,
    "moto": s3("moto"),
    "minio": s3("minio"),
    "minio-sts": of_a_role,
    "versitygw": s3("versitygw"),
    "azurite": azure,
    "google": google,
}


@pytest.fixture(params=KINDS)
def real(request: Asking, tmp_path: Path) -> Real:
    number = next(NAMESPACES)
    folder = tmp_path / f"wh{number}"
    folder.mkdir()
    real = Real(request.param, KINDS[request.param](request, folder), f"ns{number}")
    real.ours().create_namespace(real.namespace)
    return real


# ---------------------------------------------------------------- the work


def test_tables_live_and_go(real: Real) -> None:
    catalog, name = real.ours(), f"{real.namespace}.t"
    table = catalog.create_table(name, SCHEMA, partition_by=["bucket(4, id)"], properties={"owner": "me"})
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_table(name, SCHEMA)
    table = table.append(one(1, 2, 3))
    before = table.snapshot
    assert before is not None
    table.upsert(one(3, 4), on=["id"])
    table.refresh().delete("id = 1")
    assert ids(catalog.load_table(name)) == [2, 3, 4]
    if real.kind != "nessie":
        travelled = catalog.load_table(name).scan(at=before.id).to_arrow()
        assert sorted(travelled["id"].to_pylist()) == [1, 2, 3]
    with table.refresh().update_schema() as update:
        update.add_column("name", pa.string())
    assert catalog.list_tables(real.namespace) == [name]
    catalog.rename_table(name, f"{real.namespace}.u")
    assert not catalog.table_exists(name)
    renamed = catalog.load_table(f"{real.namespace}.u")
    assert ids(renamed) == [2, 3, 4]
    assert renamed.schema.names == ["id", "name"]
    with pytest.raises(fz.InvalidInputError, match="not empty"):
        catalog.drop_namespace(real.namespace)
    catalog.drop_table(f"{real.namespace}.u")
    with pytest.raises(fz.NotFoundError):
        catalog.load_table(f"{real.namespace}.u")
    catalog.drop_namespace(real.namespace)
    assert not catalog.namespace_exists(real.namespace)


def test_conflicts(real: Real) -> None:
    catalog, name = real.ours(), f"{real.namespace}.t"
    table = catalog.create_table(name, SCHEMA).append(one(1, 2))
    late = catalog.load_table(name).transaction()
    late.delete("id = 1")
    table.delete("id = 2")
    with pytest.raises(fz.CommitConflictError):
        late.commit()
    stale = catalog.load_table(name)
    table.refresh().append(one(3))
    stale.append(one(4))
    assert ids(table) == [1, 3, 4]


def test_several_tables(real: Real) -> None:
    catalog = real.ours()
    names = [f"{real.namespace}.{name}" for name in ("a", "b")]
    tables = [catalog.create_table(name, SCHEMA).append(one(1, 2)) for name in names]
    if real.kind in ("hive", "glue"):
        with pytest.raises(fz.UnsupportedError, match="several tables at once"):
            catalog.transaction()
        return
    with catalog.transaction() as tx:
        tx.table(names[0]).append(one(3))
        tx.table(names[1]).delete("id = 1")
    assert [ids(table) for table in tables] == [[1, 2, 3], [2]]
    late = catalog.transaction()
    late.table(names[0]).append(one(4))
    late.table(names[1]).append(one(4))
    tables[1].refresh().append(one(5))
    made = late.commit()
    assert list(made) == names
    assert [ids(table) for table in tables] == [[1, 2, 3, 4], [2, 4, 5]]
    theirs = [real.theirs().load_table(name).scan().to_arrow()["id"].to_pylist() for name in names]
    assert [sorted(rows) for rows in theirs] == [[1, 2, 3, 4], [2, 4, 5]]
    catalog.load_table(names[1]).append(one(8, 9))
    late = catalog.transaction()
    late.table(names[0]).append(one(6))
    late.table(names[1]).delete("id = 8")
    catalog.load_table(names[1]).delete("id = 9")
    with pytest.raises(fz.CommitConflictError):
        late.commit()
    assert [ids(table) for table in tables] == [[1, 2, 3, 4], [2, 4, 5, 8]]


def test_four_writers(real: Real) -> None:
    catalog, name = real.ours(), f"{real.namespace}.t"
    table = catalog.create_table(name, SCHEMA, properties={"commit.retry.num-retries": "100"})
    if real.kind == "nessie":
        # It ignores that a commit requires a table without snapshots.
        table = table.append(one(0))
        table.delete("id = 0")
    failed: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            own = real.ours().load_table(name)
            for turn in range(TURNS):
                own = own.append(one(writer * 10 + turn))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(w,)) for w in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert ids(table) == sorted(w * 10 + t for w in range(WRITERS) for t in range(TURNS))


def test_pyiceberg_goes_on(real: Real) -> None:
    catalog, other = real.ours(), real.theirs()
    names = [f"{real.namespace}.{name}" for name in ("ours", "theirs")]
    ours = catalog.create_table(names[0], SCHEMA, properties={"format-version": "2"}).append(one(1))
    theirs = other.create_table(names[1], SCHEMA)
    theirs.append(one(10))
    mine, same = catalog.load_table(names[1]), other.load_table(names[0])
    for turn in range(2):
        same.refresh().append(one(100 + turn))
        ours.append(one(200 + turn))
        mine.append(one(300 + turn))
        theirs.refresh().append(one(400 + turn))
    assert ids(ours) == [1, 100, 101, 200, 201]
    assert ids(mine) == [10, 300, 301, 400, 401]
    for ended, table in ((same, ours), (theirs, mine)):
        assert sorted(ended.refresh().scan().to_arrow()["id"].to_pylist()) == ids(table)
    ours.refresh().delete("id = 1")
    assert 1 not in same.refresh().scan().to_arrow()["id"].to_pylist()


def test_any_catalog_of_pyiceberg(real: Real) -> None:
    """The object in place of a configuration."""
    catalog = fz.catalog(real.theirs())
    name = f"{real.namespace}.t"
    assert ids(catalog.create_table(name, SCHEMA).append(one(1))) == [1]
    assert catalog.list_tables(real.namespace) == [name]
    assert ids(real.ours().load_table(name)) == [1]
