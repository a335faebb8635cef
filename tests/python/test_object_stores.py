"""Tables in an object store: moto's S3 server on this machine, with a proxy before it that counts and breaks."""

from __future__ import annotations

import contextlib
import datetime as dt
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable

import frazil as fz
from object_fixtures import KEY, SECRET, bucket, files, lake, options, port, proxy
from object_server import Proxy

__all__ = ["bucket", "files", "lake", "options", "port", "proxy"]

NOW = dt.timedelta(0)
FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def rows(*values: int, part: str = "a b") -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64()), "part": pa.array([part] * len(values))})


@pytest.fixture
def table(lake: fz.Catalog) -> fz.Table:
    return lake.create_table("db.t", rows(0).schema, partition_by=["part"])


def read(table: fz.Table) -> list[int]:
    ids: list[int] = table.scan().to_arrow()["id"].to_pylist()
    return sorted(ids)


def keys(files: pafs.S3FileSystem, folder: str) -> set[str]:
    listed = files.get_file_info(pafs.FileSelector(folder, recursive=True))
    return {f.path for f in listed if f.type == pafs.FileType.File}


# ---------------------------------------------------------------- what tables can go through


def test_a_life_of_a_table(lake: fz.Catalog, table: fz.Table, bucket: str, files: pafs.S3FileSystem) -> None:
    # Keys hold what URLs have to escape.
    odd = ["a b", "c+d", "50%", "k=v", "%2F", "ü&?#"]
    for i, part in enumerate(odd):
        table.append(rows(i, 10 + i, part=part))
    assert read(lake.load_table("db.t")) == [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15]
    assert table.scan("part = '50%'").to_arrow()["id"].to_pylist() == [2, 12]
    table.delete("id = 12")
    table.update("id = 3", {"id": 33})
    table.upsert(rows(33, 40, part="k=v"), on=["id"])
    table.overwrite(rows(7, part="c+d"), where="part = 'c+d'")
    assert read(table) == [0, 2, 4, 5, 7, 10, 13, 14, 15, 33, 40]
    assert lake.list_namespaces() == ["db"]
    assert lake.list_tables("db") == ["db.t"]
    before = keys(files, bucket)
    expired = table.maintain.expire_snapshots(older_than=NOW)
    assert before - keys(files, bucket) == {path.removeprefix("s3://") for path in expired.files}
    assert read(lake.load_table("db.t")) == [0, 2, 4, 5, 7, 10, 13, 14, 15, 33, 40]
    table.maintain.compact()
    assert read(lake.load_table("db.t")) == [0, 2, 4, 5, 7, 10, 13, 14, 15, 33, 40]
    lake.drop_table("db.t", purge=True)
    assert lake.list_tables("db") == []
    lake.drop_namespace("db")
    assert keys(files, bucket) == set()


def test_orphans_go_and_nothing_else(table: fz.Table, bucket: str, files: pafs.S3FileSystem) -> None:
    table.append(rows(1, 2)).append(rows(3, part="c+d%"))
    kept = keys(files, bucket)
    for name in ("data/left over.parquet", "metadata/lost-m0.avro"):
        with files.open_output_stream(f"{bucket}/wh/db/t/{name}") as out:
            out.write(b"x")
    time.sleep(1.1)  # the server tells times in seconds
    planned = table.maintain.remove_orphan_files(older_than=NOW, dry_run=True)
    assert sorted(planned.files) == [
        f"s3://{bucket}/wh/db/t/data/left over.parquet",
        f"s3://{bucket}/wh/db/t/metadata/lost-m0.avro",
    ]
    table.maintain.remove_orphan_files(older_than=NOW)
    assert keys(files, bucket) == kept
    assert read(table.refresh()) == [1, 2, 3]


def strays(bucket: str, files: pafs.S3FileSystem, count: int) -> list[str]:
    """New files that no snapshot names."""
    paths = [f"{bucket}/wh/db/t/data/stray-{number:02}.parquet" for number in range(count)]
    for path in paths:
        with files.open_output_stream(path) as out:
            out.write(b"x")
    time.sleep(1.1)  # the server tells times in seconds
    return [f"s3://{path}" for path in paths]


def test_files_are_deleted_together(
    lake: fz.Catalog, table: fz.Table, proxy: Proxy, bucket: str, files: pafs.S3FileSystem
) -> None:
    def deletes(seen: list[Any]) -> int:
        return len([one for one in seen if one.method == "DELETE" or "delete" in one.path.partition("?")[2]])

    made = strays(bucket, files, 30)
    with proxy.watched() as seen:
        removed = table.maintain.remove_orphan_files(older_than=NOW)
    assert sorted(removed.files) == made
    assert deletes(seen) == 1
    for number in range(8):
        table.append(rows(100 + number))
    before = read(table)
    with proxy.watched() as seen:
        table.maintain.expire_snapshots(older_than=NOW, retain_last=1)
    assert 0 < deletes(seen) <= 3
    assert read(table) == before
    there = len([key for key in keys(files, bucket) if "/t/" in key])
    with proxy.watched() as seen:
        lake.drop_table("db.t", purge=True)
    # Each folder has a request of its own.
    assert 0 < deletes(seen) <= 8 < there
    assert not [key for key in keys(files, bucket) if "/t/" in key]


def test_files_that_can_not_be_deleted_are_named(
    table: fz.Table, proxy: Proxy, bucket: str, files: pafs.S3FileSystem
) -> None:
    made = strays(bucket, files, 3)
    proxy.fault("POST", "delete", "forbidden", times=99)
    removed = table.maintain.remove_orphan_files(older_than=NOW)
    proxy.faults.clear()
    assert sorted(removed.failed) == made
    assert all("delete" in reason for reason in removed.failed.values())
    assert sorted(table.maintain.remove_orphan_files(older_than=NOW).files) == made


def test_a_copy_is_read_where_it_is(
    table: fz.Table, bucket: str, files: pafs.S3FileSystem, options: dict[str, str], tmp_path: Any
) -> None:
    table.append(rows(1, 2, part="x=y z"))
    pafs.copy_files(f"{bucket}/wh/db/t", f"{bucket}/copy", source_filesystem=files, destination_filesystem=files)
    files.delete_dir(f"{bucket}/wh")
    moved = fz.open_table(f"s3a://{bucket}/copy", storage_options=options, moved=True)
    assert read(moved) == [1, 2]
    pafs.copy_files(f"{bucket}/copy", str(tmp_path / "here"), source_filesystem=files)
    assert read(fz.open_table(tmp_path / "here", moved=True)) == [1, 2]


def test_sql_catalogs_keep_tables_there(bucket: str, options: dict[str, str], tmp_path: Any) -> None:
    catalog = fz.catalog("c", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"s3://{bucket}/wh", **options)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", rows(0).schema)
    table.append(rows(1, 2))
    assert read(pickle.loads(pickle.dumps(table))) == [1, 2]
    pickle.loads(pickle.dumps(table)).append(rows(3))
    assert read(catalog.load_table("db.t")) == [1, 2, 3]
    catalog.drop_table("db.t", purge=True)


def test_pyiceberg_reads_what_frazil_writes_and_the_other_way_round(
    table: fz.Table, bucket: str, options: dict[str, str], port: int, tmp_path: Any
) -> None:
    # It uploads in chunks, which the proxy does not know.
    theirs = {**options, "s3.endpoint": f"http://127.0.0.1:{port}"}
    table.append(rows(1, 2, part="a b+c%"))
    table.delete("id = 1")
    static = StaticTable.from_metadata(table.metadata_location, properties=theirs)
    assert static.scan().to_arrow()["id"].to_pylist() == [2]

    catalog = SqlCatalog("p", uri=f"sqlite:///{tmp_path}/p.db", warehouse=f"s3://{bucket}/pwh", **theirs)
    catalog.create_namespace("db")
    other = catalog.create_table("db.p", schema=rows(0).schema)
    other.append(rows(*range(100), part="q r"))
    ours = fz.open_table(other.metadata_location, storage_options=options)
    assert read(ours) == list(range(100))
    shared = fz.catalog("p", type="sql", uri=f"sqlite:///{tmp_path}/p.db", warehouse=f"s3://{bucket}/pwh", **options)
    shared.load_table("db.p").append(rows(100))
    assert catalog.load_table("db.p").scan().to_arrow().num_rows == 101


def test_large_files_go_up_in_parts(lake: fz.Catalog, proxy: Proxy, bucket: str, files: pafs.S3FileSystem) -> None:
    count = 400_000
    noise = pa.array([os.urandom(64) for _ in range(count)], pa.binary())
    data = pa.table({"id": pa.array(range(count), pa.int64()), "noise": noise})
    table = lake.create_table("db.large", data.schema)
    with proxy.watched() as seen:
        table.append(data)
    assert sum("partNumber" in r.path for r in seen) >= 3
    back = table.refresh().scan().to_arrow().sort_by("id")
    assert back["noise"].combine_chunks() == noise
    path = next(iter(table.refresh().scan().plan_files())).data_file.path
    assert pq.read_metadata(path.removeprefix("s3://"), filesystem=files).num_rows == count
    # One that fails in the middle leaves nothing.
    before = keys(files, bucket)
    proxy.fault("PUT", "partNumber", "forbidden", times=9)
    with proxy.watched() as seen, pytest.raises(fz.PermissionDeniedError):
        table.refresh().append(data)
    assert any(r.method == "DELETE" and "uploadId" in r.path for r in seen)
    assert keys(files, bucket) == before


# ---------------------------------------------------------------- commits


def append_all(table: fz.Table, first: int, count: int) -> None:
    for i in range(first, first + count):
        table.refresh().append(rows(i))


@FORKS
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_racing_processes_lose_nothing(table: fz.Table, method: str) -> None:
    with table.transaction() as tx:
        tx.set_properties({"commit.retry.num-retries": "100"})
    assert read(table) == []  # what this makes lazily must not hang a forked child
    context = multiprocessing.get_context(method)
    processes = [context.Process(target=append_all, args=(table, first, 10)) for first in (0, 100)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(240)
        assert process.exitcode == 0
    table = table.refresh()
    assert read(table) == [*range(10), *range(100, 110)]
    assert len(table.snapshots) == 20


def test_a_lost_answer_is_no_conflict(table: fz.Table, proxy: Proxy) -> None:
    """The request was carried out: tried again, it is refused because of itself."""
    proxy.fault("PUT", r"metadata/v2\.metadata\.json", "lost")
    with proxy.watched() as seen:
        table.append(rows(1))
    assert sum("v2.metadata.json" in r.path and r.method == "PUT" for r in seen) == 2
    assert read(table.refresh()) == [1]
    assert len(table.refresh().snapshots) == 1


def test_refused_requests_are_tried_again(table: fz.Table, proxy: Proxy) -> None:
    proxy.fault("PUT", r"\.metadata\.json", "503", times=2)
    proxy.fault("PUT", r"\.parquet", "503")
    proxy.fault("GET", r"\.parquet", "500")
    table.append(rows(1))
    assert read(table.refresh()) == [1]


def test_what_can_not_be_told_is_said_to_be_unknown(bucket: str, options: dict[str, str], proxy: Proxy) -> None:
    impatient = {**options, "max_retries": "1"}
    catalog = fz.catalog("lake", warehouse=f"s3://{bucket}/wh", **impatient)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", rows(0).schema).append(rows(1))
    proxy.fault("PUT", r"v3\.metadata\.json", "500", times=9)
    with pytest.raises(fz.CommitStateUnknownError):
        table.append(rows(2))
    proxy.faults.clear()
    assert read(table.refresh()) == [1]


def test_a_refusal_is_certain(table: fz.Table, proxy: Proxy, bucket: str, files: pafs.S3FileSystem) -> None:
    before = {key for key in keys(files, bucket) if key.endswith(".parquet")}
    proxy.fault("PUT", r"v2\.metadata\.json", "forbidden", times=9)
    with pytest.raises(fz.PermissionDeniedError):
        table.append(rows(2))
    assert {key for key in keys(files, bucket) if key.endswith(".parquet")} == before  # cleaned up
    proxy.faults.clear()
    table.refresh().append(rows(3))
    assert read(table.refresh()) == [3]


# ---------------------------------------------------------------- processes


def count_in_child(table: fz.Table) -> int:
    child = os.fork()
    if child == 0:
        try:
            os._exit(50 + table.refresh().scan().count())
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) - 50


@FORKS
def test_forks_make_connections_of_their_own(table: fz.Table) -> None:
    table.append(rows(1, 2, 3))
    assert table.refresh().scan().count() == 3
    assert count_in_child(table) == 3
    # The parent's connections still work, and so do those of a grandchild.
    assert table.refresh().scan().count() == 3
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            table.refresh().scan().to_arrow()

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert [count_in_child(table) for _ in range(6)] == [3] * 6
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert table.refresh().scan().count() == 3


def test_tasks_and_splits_take_what_opens_them_along(table: fz.Table) -> None:
    table.append(rows(1, 2, 3))
    splits = [pickle.dumps(split) for split in table.refresh().scan("id > 1").plan()]
    probe = "import pickle, sys; s = pickle.loads(sys.stdin.buffer.read()); print(s.to_arrow().num_rows)"
    plain = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    done = [
        subprocess.run([sys.executable, "-c", probe], input=s, capture_output=True, env=plain, check=True)
        for s in splits
    ]
    assert sum(int(d.stdout) for d in done) == 2


def test_environment_variables_are_the_default(
    table: fz.Table, proxy: Proxy, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.append(rows(1))
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert read(fz.open_table(f"s3://{bucket}/wh/db/t")) == [1]
    # Options go before them.
    with pytest.raises(fz.StoreError, match="connect"):
        fz.open_table(
            f"s3://{bucket}/wh/db/t", storage_options={"endpoint_url": "http://127.0.0.1:9", "max_retries": 0}
        )


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_ends_a_wait(table: fz.Table, proxy: Proxy) -> None:
    table.append(rows(1, 2))
    table = table.refresh()
    proxy.fault("GET", r"\.parquet", "slow", times=9, seconds=20)
    began = time.monotonic()
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        table.scan().to_arrow()
    assert time.monotonic() - began < 10
    proxy.fault("GET", r"metadata", "slow", times=9, seconds=20)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        table.refresh()
    assert time.monotonic() - began < 20


# ---------------------------------------------------------------- errors and options


def test_wrong_credentials(table: fz.Table, proxy: Proxy, bucket: str, options: dict[str, str]) -> None:
    proxy.fault("HEAD", ".", "forbidden", times=99)
    proxy.fault("GET", ".", "forbidden", times=99)
    with pytest.raises(fz.PermissionDeniedError, match="InvalidAccessKeyId") as caught:
        fz.open_table(f"s3://{bucket}/wh/db/t", storage_options=options)
    assert KEY not in str(caught.value)
    assert SECRET not in str(caught.value)
    assert "storage_options" in (caught.value.hint or "")


def test_nobody_answers(bucket: str, options: dict[str, str]) -> None:
    began = time.monotonic()
    with pytest.raises(fz.StoreError, match="cannot connect") as caught:
        fz.open_table(f"s3://{bucket}/t", storage_options={**options, "s3.endpoint": "http://127.0.0.1:9"})
    assert time.monotonic() - began < 30
    assert "endpoint" in (caught.value.hint or "")
    assert SECRET not in repr(caught.value)


def test_what_is_not_there(bucket: str, options: dict[str, str], lake: fz.Catalog) -> None:
    with pytest.raises(fz.NotFoundError, match="there is no table"):
        fz.open_table(f"s3://{bucket}/nothing", storage_options=options)
    with pytest.raises(fz.NotFoundError, match="no such bucket"):
        fz.open_table("s3://no-such-bucket/t", storage_options=options)
    with pytest.raises(fz.NotFoundError):
        lake.load_table("db.nothing")
    with pytest.raises(fz.NotFoundError):
        lake.create_table("none.t", rows(0).schema)


def test_an_object_vanishes_while_it_is_read(lake: fz.Catalog, proxy: Proxy, files: pafs.S3FileSystem) -> None:
    noise = pa.table(
        {"id": pa.array(range(60_000), pa.int64()), "part": [os.urandom(8).hex() * 2 for _ in range(60_000)]}
    )
    big = lake.create_table("db.big", noise.schema, properties={"write.parquet.row-group-size-bytes": "300000"})
    big.append(noise)
    big = big.refresh()
    path = next(iter(big.scan().plan_files())).data_file.path.removeprefix("s3://")
    reads = 0

    def vanish() -> None:
        nonlocal reads
        reads += 1
        if reads == 2:
            files.delete_file(path)

    proxy.fault("GET", r"db/big/data", "slow", times=99, seconds=0.01, also=vanish)
    with pytest.raises(fz.NotFoundError, match="big"):
        big.scan().to_arrow()


def test_options_are_checked(bucket: str, options: dict[str, str], tmp_path: Any) -> None:
    with pytest.raises(fz.InvalidInputError, match=r"s3\.acces-key-id.*'s3\.access-key-id'"):
        fz.open_table(f"s3://{bucket}/t", storage_options={"s3.acces-key-id": "x"})
    with pytest.raises(fz.InvalidInputError, match="there is no storage option 'colour'"):
        fz.open_table(tmp_path, storage_options={"colour": "red"})
    with pytest.raises(fz.InvalidInputError, match="region"):
        fz.catalog("c", warehouse=f"s3://{bucket}/wh", **{"s3.regionn": "x"})
    with pytest.raises(fz.InvalidInputError, match="not encrypted"):
        fz.open_table(f"s3://{bucket}/t", storage_options={**options, "s3.endpoint": "http://store.example:9000"})
    with pytest.raises(fz.UnsupportedError, match="signer"):
        fz.open_table(f"s3://{bucket}/t", storage_options={"s3.signer": "S3V4RestSigner"})
    with pytest.raises(fz.InvalidInputError, match="bucket"):
        fz.open_table("s3:///t", storage_options=options)


def test_secrets_are_not_shown(table: fz.Table, lake: fz.Catalog) -> None:
    table.append(rows(1))
    table = table.refresh()
    scan = table.scan("id = 1")
    shown = [repr(o) for o in (table, lake, scan, scan.plan(), scan.plan()[0], list(scan.plan_files()), scan.explain())]
    shown += [str(scan.explain()), next(iter(scan.plan_files())).to_json()]
    assert not any(SECRET in text or KEY in text for text in shown)
    assert SECRET.encode() in pickle.dumps(scan.plan()[0])  # but executors get them


# ---------------------------------------------------------------- the doctor


def test_a_store_that_refuses_proves_no_damage(table: fz.Table, proxy: Proxy) -> None:
    table.append(rows(1, 2))
    table = table.refresh()
    proxy.fault("GET", r"-m0\.avro", "forbidden", times=1000)
    codes = set(table.doctor().codes)
    assert "file-unreadable" in codes
    assert not codes & {"manifest-missing", "manifest-damaged", "manifest-truncated"}
    for repair in ("manifests", "lost-files"):
        with contextlib.suppress(fz.FrazilError):
            assert table.repair(repair, dry_run=False).steps == []
    proxy.faults.clear()
    assert read(table.refresh()) == [1, 2]


@pytest.mark.parametrize("path", [r"metadata\.json", "version-hint", "snap-"])
def test_a_store_that_refuses_is_no_reason_to_restore(
    table: fz.Table, proxy: Proxy, bucket: str, options: dict[str, str], files: pafs.S3FileSystem, path: str
) -> None:
    table.append(rows(1, 2))
    if path == "snap-":
        # Only what the lists say is left.
        for name in keys(files, f"{bucket}/wh/db/t/metadata"):
            if not name.endswith(".avro"):
                files.delete_file(name)
    before = keys(files, bucket)
    proxy.fault("GET", path, "forbidden", times=1000)
    with pytest.raises(fz.FrazilError):
        fz.doctor.restore(f"s3://{bucket}/wh/db/t", storage_options=options, dry_run=False)
    proxy.faults.clear()
    assert keys(files, bucket) == before


# ---------------------------------------------------------------- round trips


def test_opening_and_planning_ask_little(table: fz.Table, proxy: Proxy, bucket: str, options: dict[str, str]) -> None:
    for i in range(6):
        table.append(rows(i))
    with proxy.watched() as seen:
        opened = fz.open_table(f"s3://{bucket}/wh/db/t", storage_options=options)
    # A look for Paimon's schemas; the hint and the list of the metadata folder; the metadata.
    assert len(seen) == 1 + 2 + 1
    assert sum("list-type" in r.path for r in seen) == 2
    with proxy.watched() as seen:
        assert opened.scan().plan_table().num_rows == 6
    manifests = sum(r.path.endswith("-m0.avro") for r in seen)
    assert (len(seen), manifests) == (1 + 6, 6)
    assert {r.method for r in seen} == {"GET"}


def test_manifests_are_read_at_once(table: fz.Table, proxy: Proxy) -> None:
    for i in range(12):
        table.append(rows(i))
    table = table.refresh()
    proxy.latency = 0.2
    began = time.monotonic()
    table.scan().plan_table()
    took = time.monotonic() - began
    proxy.latency = 0.0
    assert took < 0.2 * 6  # the list, then all manifests: one after the other they would take 2.6 s


def test_opening_takes_two_round_trips(table: fz.Table, proxy: Proxy, bucket: str, options: dict[str, str]) -> None:
    table.append(rows(1))
    proxy.latency = 0.3
    with proxy.watched() as seen:
        fz.open_table(f"s3://{bucket}/wh/db/t", storage_options=options)
    proxy.latency = 0.0
    assert [r.turn for r in seen] == [1, 1, 1, 2]
    assert seen[-1].path.endswith(".metadata.json")


def test_few_rows_are_fetched_with_the_columns_that_decide(lake: fz.Catalog, proxy: Proxy) -> None:
    count = 200_000
    noise = pa.array([os.urandom(16) for _ in range(count)], pa.binary())
    data = pa.table({"id": pa.array(range(count), pa.int64()), "noise": noise})
    table = lake.create_table("db.few", data.schema)
    table.append(data)
    scan = table.refresh().scan("id between 50000 and 50009")
    scan.plan()
    proxy.latency = 0.3
    with proxy.watched() as seen:
        got = scan.to_arrow()
    proxy.latency = 0.0
    assert got.equals(data.slice(50_000, 10).cast(got.schema))
    reads = [r for r in seen if r.path.endswith(".parquet")]
    first = min(r.turn for r in reads)
    # The end of the file, then the pages of both columns.
    assert [r.turn - first for r in reads] == [0, 1, 1]


def test_a_small_file_is_one_request(table: fz.Table, proxy: Proxy) -> None:
    table.append(rows(*range(1000)))
    scan = table.refresh().scan("id between 10 and 20")
    with proxy.watched() as seen:
        assert scan.to_arrow().num_rows == 11
    data = [r for r in seen if r.path.endswith(".parquet")]
    assert [(r.method, r.range) for r in data] == [("GET", "bytes=-524288")]


def test_row_groups_are_one_request_each(lake: fz.Catalog, proxy: Proxy, files: pafs.S3FileSystem) -> None:
    count = 200_000
    data = pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "noise": pa.array([os.urandom(16) for _ in range(count)], pa.binary()),
            "other": pa.array([os.urandom(8) for _ in range(count)], pa.binary()),
        }
    )
    table = lake.create_table("db.groups", data.schema, properties={"write.parquet.row-group-size-bytes": "1500000"})
    table.append(data)
    table = table.refresh()
    [task] = table.scan().plan_files()
    groups = pq.read_metadata(task.data_file.path.removeprefix("s3://"), filesystem=files).num_row_groups
    with proxy.watched() as seen:
        got = table.scan().to_arrow()
    assert pc.sum(got["id"]).as_py() == count * (count - 1) // 2
    reads = [r for r in seen if r.path.endswith(".parquet")]
    assert {r.method for r in reads} == {"GET"}
    assert len(reads) <= 1 + groups
    with proxy.watched() as seen:
        assert table.scan(select=["id", "other"]).to_arrow().num_columns == 2
    assert len([r for r in seen if r.path.endswith(".parquet")]) <= len(reads) + 2
