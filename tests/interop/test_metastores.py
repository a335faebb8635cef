"""Java's HiveCatalog and GlueCatalog, and Frazil by PyIceberg's, over the same Hive Metastore and the same Glue."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from runtime_jar import aws_jar

import frazil as fz
from server_fixtures import hive_server, moto_server
from servers import Server

__all__ = ["hive_server", "moto_server"]
NUMBERS = itertools.count(1)
TURNS = 3
ROWS = pa.schema([("id", pa.int64()), ("name", pa.string())])


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"f{i}" for i in ids]})


def ids(table: fz.Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


@dataclass
class Shared:
    """One metastore by both libraries, and a namespace of the test's own."""

    spark: SparkSession
    name: str
    ours: fz.Catalog
    namespace: str

    def java(self, text: str) -> list[tuple[Any, ...]]:
        """A statement. In it, `DB` stands for the namespace with the catalog."""
        return [tuple(row) for row in self.spark.sql(text.replace("DB", f"{self.name}.{self.namespace}")).collect()]

    def by_java(self, table: str) -> list[int]:
        return [row[0] for row in self.java(f"select id from DB.{table} order by id")]


def hive(spark: SparkSession, server: Server) -> tuple[dict[str, str], dict[str, str]]:
    ours = {"type": "hive", "uri": server["uri"], "warehouse": server["warehouse"]}
    return {f".{key}": value for key, value in ours.items()}, ours


def glue(spark: SparkSession, server: Server) -> tuple[dict[str, str], dict[str, str]]:
    if not isinstance(jar := aws_jar(), Path):
        pytest.skip(jar)
    java = spark.sparkContext._jvm.java.lang.System  # type: ignore[union-attr]
    java.setProperty("aws.accessKeyId", server["key"])
    java.setProperty("aws.secretAccessKey", server["secret"])
    both = {"warehouse": f"s3://{server['bucket']}/glue"}
    both |= {f"{service}.endpoint": server["endpoint"] for service in ("glue", "s3")}
    theirs = {"catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog", "client.region": server["region"]}
    theirs |= {"s3.path-style-access": "true"}
    keys = {"access-key-id": server["key"], "secret-access-key": server["secret"], "region": server["region"]}
    ours = {f"{service}.{key}": value for service in ("glue", "s3") for key, value in keys.items()}
    return {f".{key}": value for key, value in {**theirs, **both}.items()}, {"type": "glue", **ours, **both}


@pytest.fixture(params=["hive", "glue"])
def shared(request: pytest.FixtureRequest, spark: SparkSession) -> Shared:
    reached = {"hive": hive, "glue": glue}[request.param]
    server = request.getfixturevalue({"hive": "hive_server", "glue": "moto_server"}[request.param])
    theirs, ours = reached(spark, server)
    name, namespace = f"{request.param}{next(NUMBERS)}", f"db{next(NUMBERS)}"
    theirs |= {"": "org.apache.iceberg.spark.SparkCatalog", ".cache-enabled": "false"}
    for key, value in theirs.items():
        spark.conf.set(f"spark.sql.catalog.{name}{key}", value)
    return Shared(spark, name, fz.catalog(name, **ours), namespace)


def test_a_table_of_java(shared: Shared) -> None:
    shared.java("create namespace DB")
    assert shared.namespace in shared.ours.list_namespaces()
    shared.java("create table DB.t (id bigint, name string) using iceberg partitioned by (bucket(4, id))")
    shared.java("insert into DB.t values (1, 'j1'), (2, 'j2')")
    assert shared.ours.list_tables(shared.namespace) == [f"{shared.namespace}.t"]
    table = shared.ours.load_table(f"{shared.namespace}.t")
    assert ids(table) == [1, 2]
    table = table.append(rows(3))
    with table.update_schema() as update:
        update.add_column("more", pa.int32())
    table.refresh().delete("id = 1")
    assert shared.java("select * from DB.t order by id") == [(2, "j2", None), (3, "f3", None)]
    # Java goes on with what Frazil committed.
    shared.java("insert into DB.t values (4, 'j4', 7)")
    shared.java("alter table DB.t rename column name to title")
    found = table.refresh().scan().to_arrow().sort_by("id").to_pylist()
    assert found == [
        {"id": 2, "title": "j2", "more": None},
        {"id": 3, "title": "f3", "more": None},
        {"id": 4, "title": "j4", "more": 7},
    ]
    assert len(shared.java("select * from DB.t.snapshots")) == len(table.snapshots) == 4
    shared.ours.rename_table(f"{shared.namespace}.t", f"{shared.namespace}.renamed")
    assert [name for _, name, _ in shared.java("show tables in DB")] == ["renamed"]
    shared.java("drop table DB.renamed")
    shared.java("drop namespace DB")
    assert shared.namespace not in shared.ours.list_namespaces()


def test_a_table_of_frazil(shared: Shared) -> None:
    shared.ours.create_namespace(shared.namespace)
    name = f"{shared.namespace}.t"
    properties = {"format-version": "2"}
    table = shared.ours.create_table(name, ROWS, partition_by=["bucket(4, id)"], properties=properties)
    table = table.append(rows(1, 2))
    assert [name for _, name, _ in shared.java("show tables in DB")] == ["t"]
    assert shared.java("select * from DB.t order by id") == [(1, "f1"), (2, "f2")]
    shared.java("insert into DB.t values (3, 'j3')")
    shared.java("alter table DB.t add column more int")
    shared.java("delete from DB.t where id = 1")
    assert ids(table) == [2, 3]
    assert table.schema.names == ["id", "name", "more"]
    # Frazil goes on with what Java committed.
    table.upsert(pa.table({"id": [3, 4], "name": ["f3", "f4"], "more": pa.array([1, 2], pa.int32())}), on=["id"])
    assert shared.java("select * from DB.t order by id") == [(2, "f2", None), (3, "f3", 1), (4, "f4", 2)]
    shared.java(f"alter table DB.t rename to {shared.namespace}.renamed")
    renamed = shared.ours.load_table(f"{shared.namespace}.renamed").append(
        pa.table({"id": [5], "name": ["f5"], "more": pa.array([3], pa.int32())})
    )
    assert ids(renamed) == shared.by_java("renamed") == [2, 3, 4, 5]
    shared.ours.drop_table(f"{shared.namespace}.renamed")
    assert shared.java("show tables in DB") == []
    shared.ours.drop_namespace(shared.namespace)
    assert (shared.namespace,) not in shared.java(f"show namespaces in {shared.name}")


def test_both_commit_at_once(shared: Shared) -> None:
    shared.ours.create_namespace(shared.namespace)
    often = {"format-version": "2", "commit.retry.num-retries": "100", "commit.retry.max-wait-ms": "1000"}
    table = shared.ours.create_table(f"{shared.namespace}.t", ROWS, properties=often)
    failed: list[BaseException] = []

    def insert() -> None:
        try:
            for turn in range(TURNS):
                shared.java(f"insert into DB.t values ({100 + turn}, 'j')")
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=insert)
    thread.start()
    for turn in range(2 * TURNS):
        table = table.append(rows(turn))
    thread.join()
    assert failed == []
    assert ids(table) == shared.by_java("t") == [*range(2 * TURNS), *range(100, 100 + TURNS)]
    assert len(table.snapshots) == 3 * TURNS
