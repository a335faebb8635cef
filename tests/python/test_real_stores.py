"""Tables in the object stores of real servers: the same work in each, through a SQL catalog and at a path."""

from __future__ import annotations

import itertools
import pathlib
import threading
from dataclasses import dataclass

import pytest

import frazil as fz
from rest_cases import SCHEMA, ids, one
from server_fixtures import azurite_server, google_server, minio_server, moto_server, versitygw_server
from servers import Server

__all__ = ["azurite_server", "google_server", "minio_server", "moto_server", "versitygw_server"]
FOLDERS = itertools.count(1)
WRITERS, TURNS = 4, 3


def of_s3(server: Server) -> tuple[str, dict[str, str]]:
    keys = {"access-key-id": server["key"], "secret-access-key": server["secret"], "region": server["region"]}
    return f"s3://{server['bucket']}", {f"s3.{n}": v for n, v in {**keys, "endpoint": server["endpoint"]}.items()}


def of_azure(server: Server) -> tuple[str, dict[str, str]]:
    return "az://frazil", {
        "adls.account-name": server["account"],
        "adls.account-key": server["key"],
        "adls.account-host": server["endpoint"],
    }


def of_google(server: Server) -> tuple[str, dict[str, str]]:
    return f"gs://{server['bucket']}", {"gcs.service.host": server["endpoint"], "gcs.oauth2.token": "any"}


KINDS = {
    "moto": ("moto_server", of_s3),
    "minio": ("minio_server", of_s3),
    "versitygw": ("versitygw_server", of_s3),
    "azurite": ("azurite_server", of_azure),
    "google": ("google_server", of_google),
}


@dataclass
class Store:
    """A folder in a store, and how to connect to it."""

    folder: str
    properties: dict[str, str]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> Store:
    fixture, found = KINDS[request.param]
    bucket, properties = found(request.getfixturevalue(fixture))
    return Store(f"{bucket}/wh{next(FOLDERS)}", properties)


def opened(store: Store, tmp_path: pathlib.Path, kind: str) -> fz.Catalog:
    if kind == "sql":
        uri = f"sqlite:///{tmp_path}/catalog.db"
        return fz.catalog("c", type="sql", uri=uri, warehouse=store.folder, **store.properties)
    return fz.catalog("c", type="filesystem", warehouse=store.folder, **store.properties)


@pytest.mark.parametrize("kind", ["sql", "filesystem"])
def test_tables_live_and_go(store: Store, tmp_path: pathlib.Path, kind: str) -> None:
    catalog = opened(store, tmp_path, kind)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, partition_by=["bucket(4, id)"]).append(one(1, 2, 3))
    before = table.snapshot
    assert before is not None
    table.upsert(one(3, 4), on=["id"])
    table.refresh().delete("id = 1")
    table = catalog.load_table("db.t")
    assert ids(table) == [2, 3, 4]
    assert sorted(table.scan(at=before.id).to_arrow()["id"].to_pylist()) == [1, 2, 3]
    table.maintain.compact(rewrite_all=True)
    assert ids(table) == [2, 3, 4]
    catalog.drop_table("db.t", purge=True)
    assert not catalog.table_exists("db.t")


@pytest.mark.parametrize("kind", ["sql", "filesystem"])
def test_four_writers(store: Store, tmp_path: pathlib.Path, kind: str) -> None:
    catalog = opened(store, tmp_path, kind)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, properties={"commit.retry.num-retries": "100"})
    failed: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            own = opened(store, tmp_path, kind).load_table("db.t")
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
