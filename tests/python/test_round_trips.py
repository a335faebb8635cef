"""Requests that depend on one another, where each answer of the object store takes its time."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

import frazil as fz
from object_fixtures import bucket, files, lake, options, port, proxy
from object_server import Proxy, Request

__all__ = ["bucket", "files", "lake", "options", "port", "proxy"]


def rows(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


@pytest.fixture
def table(lake: fz.Catalog) -> fz.Table:
    return lake.create_table("db.t", rows(0).schema)


@pytest.fixture
def far(proxy: Proxy) -> Iterator[Proxy]:
    yield proxy
    proxy.latency = 0.0


def asked(seen: list[Request]) -> list[tuple[int, str, str]]:
    """The turn, the verb and the last part of each request's path, sorted."""

    def name(path: str) -> str:
        listed = re.search(r"prefix=([^&]*)", path)
        return "list " + re.split("%2F|/", listed[1])[-2] if listed else path.rsplit("/", 1)[-1]

    return sorted((request.turn, request.method, name(request.path)) for request in seen)


def test_opening_by_root_by_file_and_by_catalog(
    table: fz.Table, lake: fz.Catalog, far: Proxy, bucket: str, options: dict[str, str]
) -> None:
    table.append(rows(1))
    root = f"s3://{bucket}/wh/db/t"
    hint, folder, newest = (1, "GET", "version-hint.text"), (1, "GET", "list metadata"), (2, "GET", "v2.metadata.json")
    far.latency = 0.3
    with far.watched() as seen:
        fz.open_table(root, storage_options=options)
    assert asked(seen) == sorted([(1, "GET", "list schema"), hint, folder, newest])
    with far.watched() as seen:
        lake.load_table("db.t")
    assert asked(seen) == sorted([hint, folder, newest])
    with far.watched() as seen:
        fz.open_table(f"{root}/metadata/v1.metadata.json", storage_options=options)
    assert asked(seen) == [(1, "GET", "v1.metadata.json")]
    with far.watched() as seen, pytest.raises(fz.NotFoundError, match="there is no metadata file"):
        fz.open_table(f"{root}/metadata/v9.metadata.json", storage_options=options)
    assert asked(seen) == [(1, "GET", "v9.metadata.json")]


def test_a_store_that_refuses_a_metadata_file_is_named(
    table: fz.Table, far: Proxy, bucket: str, options: dict[str, str]
) -> None:
    file = f"s3://{bucket}/wh/db/t/metadata/v1.metadata.json"
    for method in ("GET", "HEAD"):
        far.fault(method, ".", "forbidden", times=9)
    with pytest.raises(fz.PermissionDeniedError, match="InvalidAccessKeyId"):
        fz.open_table(file, storage_options=options)


def test_a_folder_with_a_dot_in_its_name_is_no_file(
    table: fz.Table, far: Proxy, bucket: str, options: dict[str, str], files: pafs.S3FileSystem
) -> None:
    root = f"{bucket}/wh/db/t"
    for info in files.get_file_info(pafs.FileSelector(f"{root}/metadata")):
        files.copy_file(info.path, info.path.replace(root, f"{bucket}/moved/t.x"))
    far.latency = 0.3
    with far.watched() as seen:
        fz.open_table(f"s3://{bucket}/moved/t.x", storage_options=options, moved=True)
    assert {request.method for request in seen} == {"GET"}
    assert max(request.turn for request in seen) == 2
    far.latency = 0.0
    with files.open_output_stream(f"{bucket}/file.parquet") as out:
        out.write(b"PAR1")
    with pytest.raises(fz.InvalidInputError, match="neither a table nor table metadata"):
        fz.open_table(f"s3://{bucket}/file.parquet", storage_options=options)


def test_a_table_of_paimon_takes_three_round_trips(
    far: Proxy, bucket: str, options: dict[str, str], lake: fz.Catalog
) -> None:
    made = lake.create_table("db.p", rows(0).schema, format="paimon")
    made.append(rows(1))
    table = fz.open_table(made.location, storage_options=options)
    far.latency = 0.3
    with far.watched() as seen:
        fz.open_table(table.location, storage_options=options)
    of_paimon = [request for request in asked(seen) if request[2] not in ("version-hint.text", "list metadata")]
    # A folder without Iceberg's metadata is not described, because it has a table.
    assert [request for request in of_paimon if request[2] != f"list {table.location.rsplit('/', 1)[-1]}"] == [
        (1, "GET", "list schema"),
        (2, "GET", "LATEST"),
        (3, "GET", "schema-0"),
        (3, "GET", "snapshot-1"),
        (3, "HEAD", "schema-1"),
        (3, "HEAD", "snapshot-2"),
    ]
    far.latency = 0.0
    with made.refresh().update_schema() as update:
        update.add_column("name", "string")
    made.refresh().append(pa.table({"id": pa.array([2], pa.int64()), "name": ["b"]}))
    newest = fz.open_table(table.location, storage_options=options)
    assert newest.scan().to_arrow().sort_by("id").to_pydict() == {"id": [1, 2], "name": [None, "b"]}


def test_small_files_are_requested_before_a_thread_reads_them(table: fz.Table, far: Proxy) -> None:
    for i in range(30):
        table.append(rows(i))
    scan = table.refresh().scan()
    scan.plan()
    far.latency = 0.5
    with far.watched() as seen:
        got = scan.to_arrow()
    assert sorted(got["id"].to_pylist()) == list(range(30))
    reads = [request for request in seen if request.path.endswith(".parquet")]
    # One request for each file. With a request for each waiting thread they took five turns.
    assert [(request.method, request.range) for request in reads] == [("GET", "bytes=-524288")] * 30
    first = min(request.turn for request in reads)
    assert max(request.turn for request in reads) - first <= 1


def test_the_first_rows_do_not_request_all_files(table: fz.Table, far: Proxy) -> None:
    for i in range(30):
        table.append(rows(i))
    scan = table.refresh().scan(limit=1)
    with far.watched() as seen:
        assert scan.to_arrow().num_rows == 1
    assert len([request for request in seen if request.path.endswith(".parquet")]) <= 8
