"""Tables of Apache Paimon through the public API: two small ones that Java wrote (tests/interop/paimon_fixtures.py)."""

from __future__ import annotations

import copy
import datetime as dt
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import frazil as fz

DATA = Path(__file__).parent.parent / "data" / "paimon"


def told(name: str) -> dict[str, Any]:
    """What Java says of a table."""
    found: dict[str, Any] = json.loads((DATA / name / "java.json").read_text())
    return found


def ids(scan: fz.Scan) -> list[int]:
    return sorted(scan.to_arrow().column("id").to_pylist())


@pytest.fixture
def orders() -> fz.Table:
    return fz.open_table(DATA / "orders")


@pytest.fixture
def accounts() -> fz.Table:
    return fz.open_table(DATA / "accounts")


def test_what_a_table_says(orders: fz.Table, accounts: fz.Table) -> None:
    assert (orders.format, orders.format_version, orders.uuid) == ("paimon", 3, "")
    assert orders.location.endswith("paimon/orders")
    assert orders.metadata_location.endswith("schema/schema-0")
    assert orders.properties["deletion-vectors.enabled"] == "true"
    types = {field.name: str(field.type) for field in orders.schema}
    assert types["pieces"] == "int"
    assert types["at"] == "timestamptz"
    assert [field.name for field in orders.partition_spec.fields] == ["country"]
    assert [snapshot.id for snapshot in orders.snapshots] == [1, 2, 3, 4]
    assert [snapshot.operation for snapshot in orders.snapshots] == ["append"] * 3 + ["overwrite"]
    assert orders.snapshots[1].summary["watermark"] == "1700000000010"
    assert orders.snapshots[0].timestamp.tzinfo == dt.timezone.utc
    assert (orders.snapshot.id, orders.snapshot.parent_id) == (4, 3)
    assert {name: ref.snapshot_id for name, ref in orders.refs.items()} == {"main": 4, "side": 3, "two": 2}
    assert orders.refresh().snapshot.id == 4
    assert "paimon v3" in repr(orders)
    required = {field.name: field.required for field in accounts.schema}
    assert required == {"id": True, "name": False, "balance": False}


def test_rows_are_those_of_java(orders: fz.Table, accounts: fz.Table) -> None:
    for table, name in ((orders, "orders"), (accounts, "accounts")):
        java = told(name)
        assert ids(table.scan()) == java["now"]
        for snapshot in (1, 2, 3):
            assert ids(table.scan(at=snapshot)) == java[f"at {snapshot}"]
    merged = {row["id"]: row for row in accounts.scan().to_arrow().to_pylist()}
    for row in told("accounts")["rows"]:
        found = merged[row["id"]]
        assert (found["name"], str(found["balance"])) == (row["name"], str(row["balance"]))
    assert merged[5] == {"id": 5, "name": "c5", "balance": Decimal("0.00")}
    places = {row["id"]: row for row in orders.scan().to_arrow().to_pylist()}
    for row in told("orders")["rows"]:
        found = places[row["id"]]
        assert (found["pieces"], found["note"], found["country"]) == (row["pieces"], row["note"], row["country"])
        assert (found["place"], str(found["at"])) == (row["place"], row["at"])


def test_versions(orders: fz.Table) -> None:
    java = told("orders")
    assert ids(orders.scan(at="two")) == java["at 2"]
    assert ids(orders.scan(options={"scan.tag-name": "two"})) == java["at 2"]
    assert ids(orders.scan(options={"scan.watermark": 1_700_000_000_005})) == java["at 2"]
    assert ids(orders.scan(options={"scan.version": "two"})) == java["at 2"]
    assert ids(orders.scan(at=orders.snapshots[2].timestamp)) == java["at 3"]
    assert ids(orders.scan(at="side")) == sorted([*java["at 2"], 100])
    with pytest.raises(fz.NotFoundError):
        orders.scan(at=99).to_arrow()
    with pytest.raises(fz.NotFoundError, match="nothing_like_it"):
        orders.scan(at="nothing_like_it")
    with pytest.raises(fz.NotFoundError):
        orders.scan(at=dt.datetime(2001, 1, 1, tzinfo=dt.timezone.utc)).to_arrow()
    with pytest.raises(fz.InvalidInputError):
        orders.scan(options={"scan.snapshot-id": "1", "scan.tag-name": "two"})


def test_filters_columns_limits_and_counts(orders: fz.Table, accounts: fz.Table) -> None:
    whole = orders.scan().to_arrow()
    of_country = ("country = 'no'", "country is null and pieces < 3")
    for text in ("id >= 15", *of_country, "place.x in (3, 16)", "starts_with(note, 'note 2')"):
        scan = orders.scan(text)
        rows = scan.to_arrow()
        assert 0 < rows.num_rows < whole.num_rows
        assert scan.count() == rows.num_rows
        assert scan.limit(2).to_arrow().num_rows == scan.limit(2).count() == min(2, rows.num_rows)
    assert orders.scan().count() == whole.num_rows == len(told("orders")["now"])
    nested = orders.scan("id = 8", ["place.street", "id"]).to_arrow()
    assert nested.to_pylist() == [{"place": {"street": "street 8"}, "id": 8}]
    assert orders.scan("country = 'no'").where(fz.col("id") > 20).select("id").to_arrow().num_rows > 0
    rich = accounts.scan("balance > 100", ["name"]).to_arrow().column("name").to_pylist()
    assert sorted(rich) == ["b10", "b11", "b4", "b6", "b7", "b8", "b9"]
    assert accounts.scan("id = 2").count() == 0
    assert orders.scan("country = 'nowhere'").to_arrow().num_rows == 0
    everywhere = orders.scan(select=["id", "_file", "_pos"]).to_arrow()
    assert {Path(path).suffix for path in everywhere.column("_file").to_pylist()} == {".parquet"}


def test_plans(orders: fz.Table, accounts: fz.Table) -> None:
    tasks = list(orders.scan("country = 'se'").plan_files())
    assert tasks
    assert all("country=se" in task.data_file.path and task.data_file.partition == {"country": "se"} for task in tasks)
    assert any(task.deletes for task in tasks)
    table = orders.scan("country = 'se'").plan_table()
    assert isinstance(table, pa.Table)
    assert table.num_rows == len(tasks)
    (split,) = accounts.scan().plan()
    assert split.to_arrow().num_rows == accounts.scan().count()
    assert len(list(accounts.scan().plan_files())) == 3
    small = orders.scan().plan(split_size_bytes=1, open_file_cost_bytes=1)
    assert len(small) == len(list(orders.scan().plan_files())) > len(orders.scan().plan())
    with pytest.raises(fz.InvalidInputError):
        orders.scan().plan(split_size_bytes=0)
    explained = orders.scan("country = 'se' and id > 12").explain()
    assert "country" in str(explained)
    assert str(len(list(orders.scan("country = 'se' and id > 12").plan_files()))) in str(explained)


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_objects_pickle(orders: fz.Table, accounts: fz.Table, copied: Callable[[Any], Any]) -> None:
    for table in (orders, accounts):
        assert copied(table).snapshot == table.snapshot
        scan = table.scan("id > 3", ["id"]).limit(100)
        assert copied(scan).to_arrow() == scan.to_arrow()
        assert copied(table.scan(at=1)).snapshot_id == 1
        for split in scan.plan():
            assert copied(split) == split
            assert copied(split).to_arrow() == split.to_arrow()
            assert fz.Split.from_json(split.to_json()).to_arrow() == split.to_arrow()
        for task in scan.plan_files():
            assert copied(task).data_file.path == task.data_file.path
    changes = accounts.changes(since=1)
    assert copied(changes).to_arrow() == changes.to_arrow()
    side = orders.scan(at="side")
    assert copied(side).to_arrow() == side.to_arrow()


def test_splits_are_read_by_other_processes(orders: fz.Table, accounts: fz.Table, tmp_path: Path) -> None:
    scans = [orders.scan("id > 4"), accounts.scan("id > 4"), orders.scan(at="side"), accounts.changes()]
    work = [split for scan in scans for split in scan.plan()]
    (tmp_path / "work").write_bytes(pickle.dumps(work))
    code = "import pickle, sys; print([s.to_arrow().num_rows for s in pickle.load(open(sys.argv[1], 'rb'))])"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "work"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [split.to_arrow().num_rows for split in work]
    assert sum(json.loads(done.stdout)) == sum(scan.to_arrow().num_rows for scan in scans)


def test_streams(orders: fz.Table, accounts: fz.Table) -> None:
    for table in (orders, accounts):
        scan = table.scan(options={"batch-rows": 3})
        whole = scan.to_arrow()
        with scan.to_arrow_batch_reader(ordered=True) as stream:
            batches = list(stream)
        assert pa.Table.from_batches(batches) == whole
        assert max(batch.num_rows for batch in batches) <= 3
        assert whole.schema == scan.arrow_schema
        assert pl.DataFrame(scan).height == scan.to_polars().height == whole.num_rows
        assert len(scan.to_pandas()) == whole.num_rows
        stream = scan.to_arrow_batch_reader()
        assert duckdb.sql("select count(*), max(id) from stream").fetchall() == [
            (whole.num_rows, max(whole.column("id").to_pylist()))
        ]
    assert accounts.scan().to_arrow().column("id").to_pylist() == ids(accounts.scan())


def test_changes(orders: fz.Table, accounts: fz.Table) -> None:
    log = accounts.changes().to_arrow().to_pylist()
    assert [row["_change_type"] for row in log].count("delete") == 1
    assert {row["_commit_snapshot_id"] for row in log} == {1, 2, 3}
    third = accounts.changes(since=2, select=["id", "_change_type"]).to_arrow().to_pylist()
    assert sorted((row["id"], row["_change_type"]) for row in third) == [(2, "delete"), (5, "update_after")]
    assert accounts.changes("_change_type = 'delete'").count() == 1
    between = accounts.changes(since=1, at=3, options={"incremental-between-scan-mode": "diff"}).to_arrow().to_pylist()
    assert sorted(row["id"] for row in between) == list(range(4, 12))
    assert ids(orders.changes(since=1, at="two")) == list(range(10, 20))
    assert orders.changes(since=2, at=2).count() == 0
    with pytest.raises(fz.FrazilError):
        orders.changes(since=99).to_arrow()


def test_appended_rows(orders: fz.Table, accounts: fz.Table) -> None:
    """As many as `changes` tells, with the columns of the table; commits that overwrite and deletes do not count."""
    for since, at in ((1, 3), (0, 2), (2, None), ("two", None), (1, "two"), (2, 2)):
        scan, changes = orders.scan(since=since, at=at), orders.changes(since=since, at=at)
        assert scan.to_arrow().schema == orders.scan().to_arrow().schema
        assert ids(scan) == ids(changes)
        assert scan.count() == changes.count()
        assert [task.data_file.path for task in scan.plan_files()] == [t.data_file.path for t in changes.plan_files()]
        assert pickle.loads(pickle.dumps(scan)).to_arrow() == scan.to_arrow()
        assert sum(split.to_arrow().num_rows for split in scan.plan()) == scan.count()
    assert ids(orders.scan("id > 14", since=1, at=2)) == [15, 16, 17, 18, 19]
    placed = orders.scan(select=["_pos", "id"], since=1, at=2).to_arrow()
    assert placed.num_rows == 10
    assert orders.scan(since=1, at=2).plan_table().num_rows == len(list(orders.scan(since=1, at=2).plan_files()))
    for refused in (
        lambda: orders.scan(since=1).statistics(),
        lambda: orders.scan(since=1).estimate(),
        lambda: orders.scan(since=1).explain(files=True),
    ):
        with pytest.raises(fz.UnsupportedError, match=r"Paimon|this table's format"):
            refused()


def test_rows_that_came_by_key(accounts: fz.Table) -> None:
    """What `changes` tells as inserted or updated, with the columns of the table."""
    for since, at, options in (
        (0, None, {}),
        (1, 3, {}),
        (2, None, {}),
        (2, 2, {}),
        (1, 3, {"incremental-between-scan-mode": "diff"}),
    ):
        scan = accounts.scan(since=since, at=at, options=options)
        changes = accounts.changes("_change_type in ('insert', 'update_after')", since=since, at=at, options=options)
        assert scan.to_arrow().schema == accounts.scan().to_arrow().schema
        assert scan.to_arrow() == changes.to_arrow().select(scan.arrow_schema.names)
        assert scan.count() == changes.count() == scan.to_arrow().num_rows
        assert scan.limit(1).to_arrow().num_rows == min(1, scan.count())
        assert pickle.loads(pickle.dumps(scan)).to_arrow() == scan.to_arrow()
        assert sum(split.to_arrow().num_rows for split in scan.plan()) == scan.count()
        assert scan.plan_table().num_rows == len(list(scan.plan_files()))
        assert scan.plan_table().schema == accounts.scan().plan_table().schema
    gone = accounts.changes("_change_type = 'delete'", since=2).to_arrow().column("id").to_pylist()
    assert gone == [2]
    assert ids(accounts.scan(since=2)) == ids(accounts.scan("id >= 5", since=2)) == [5]
    assert accounts.scan("id = 2", since=2).count() == 0
    for mode in ("latest-full", "compacted-full", "incremental"):
        with pytest.raises(fz.InvalidInputError, match=mode):
            accounts.scan(options={"scan.mode": mode, "scan.snapshot-id": 1})
    with pytest.raises(fz.InvalidInputError, match="_change_type"):
        accounts.scan("_change_type = 'delete'", since=2)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda t: t.scan("nothing = 1"), fz.InvalidInputError, "nothing"),
        (lambda t: t.scan(select=["nothing"]), fz.InvalidInputError, "nothing"),
        (lambda t: t.scan("id = 'a'"), fz.InvalidInputError, "id"),
        (lambda t: t.scan(options={"nothing": 1}), fz.InvalidInputError, "nothing"),
        (lambda t: t.scan(options={"merge-engine": "first-row"}), fz.InvalidInputError, "merge-engine"),
        (lambda t: t.scan(options={"scan.snapshot-id": "x"}), fz.InvalidInputError, "snapshot-id"),
        (lambda t: t.scan(options={"incremental-between": "1,2"}), fz.InvalidInputError, "changes"),
        (lambda t: t.scan(since=1, options={"scan.snapshot-id": 2}), fz.InvalidInputError, "since="),
        (lambda t: t.scan(since=3, at=1), fz.InvalidInputError, "begin"),
        (
            lambda t: t.changes(options={"incremental-between-scan-mode": "odd"}).to_arrow(),
            fz.InvalidInputError,
            "mode",
        ),
    ],
)
def test_wrong_requests(
    orders: fz.Table, wrong: Callable[[fz.Table], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        wrong(orders)


ROWS = pa.table({"id": [1]})


@pytest.mark.parametrize(
    "refused",
    [
        lambda t: t.append(ROWS, sort_by=["id"]),
        lambda t: t.update_partition_spec().add_field("id").commit(),
        lambda t: t.update_sort_order().asc("id").commit(),
        lambda t: t.refs.set_retention("main", min_snapshots_to_keep=1),
        lambda t: t.changes(since=1).statistics(),
        lambda t: t.changes(since=1).estimate(),
        lambda t: t.add_files(["/x.parquet"]),
        lambda t: t.transaction().__enter__().append(ROWS),
        lambda t: t.writer().delete_positions(ROWS),
        lambda t: t.maintain.rewrite_manifests(spec_id=0),
        lambda t: t.scan().plan_parts(),
        lambda t: t.cherry_pick(1),
        lambda t: t.upgrade(3),
    ],
)
def test_what_only_iceberg_can_do(orders: fz.Table, refused: Callable[[fz.Table], Any]) -> None:
    before = sorted(p.name for p in DATA.joinpath("orders").rglob("*"))
    with pytest.raises(fz.UnsupportedError, match=r"Paimon|this table's format"):
        refused(orders)
    assert sorted(p.name for p in DATA.joinpath("orders").rglob("*")) == before


def narrow(**columns: list[Any]) -> pa.Table:
    """Rows with integers of 32 bits."""
    return pa.table({n: pa.array(v, pa.int32() if isinstance(v[0], int) else None) for n, v in columns.items()})


def test_tables_are_written(tmp_path: Path) -> None:
    for name in ("orders", "accounts"):
        shutil.copytree(DATA / name, tmp_path / name)
    orders, accounts = (fz.open_table(tmp_path / name) for name in ("orders", "accounts"))
    before = ids(orders.scan())
    orders.append(pa.table({"id": pa.array([500, 501], pa.int32()), "country": ["fi", None]}))
    assert ids(orders.scan()) == sorted([*before, 500, 501])
    assert ids(orders.scan("country = 'fi'")) == [500]
    message = pickle.loads(pickle.dumps(orders.writer().write(narrow(id=[502], pieces=[127]))))
    assert [f.record_count for f in message.files] == [1]
    last = orders.commit([message]).snapshot
    assert orders.commit([message]).snapshot == last
    orders.abort([orders.writer().write(narrow(id=[503]))])
    assert ids(orders.scan("pieces = 127")) == [502]
    orders.overwrite(narrow(id=[600], country=["fi"]), "country = 'fi'")
    assert ids(orders.scan("country = 'fi'")) == [600]
    with pytest.raises(fz.InvalidInputError, match="TINYINT"):
        orders.append(narrow(id=[1], pieces=[128]))
    with pytest.raises(fz.InvalidInputError, match="no key columns are named"):
        orders.upsert(narrow(id=[1]))
    # The change log has every row as it came.
    accounts.append(narrow(id=[1]))
    assert accounts.changes(since=3).to_arrow()["_change_type"].to_pylist() == ["insert"]


def test_commits_of_messages_read_no_snapshots_from_before(tmp_path: Path) -> None:
    shutil.copytree(DATA / "orders", tmp_path / "orders")
    orders = fz.open_table(tmp_path / "orders")
    for i in range(3):
        orders.append(narrow(id=[700 + i]))
    assert orders.snapshot is not None
    message = orders.writer().write(narrow(id=[710]))
    last = orders.snapshot.id
    for i in range(2):
        orders.append(narrow(id=[720 + i]))
    # What was there before the message was written can't have it: the snapshot before the last is not even looked at.
    (tmp_path / f"orders/snapshot/snapshot-{last - 1}").write_text("torn")
    committed = orders.commit([message]).snapshot
    assert committed is not None
    assert committed.id == last + 3
    # A replay is still seen, with others in between.
    orders.append(narrow(id=[730]))
    again = orders.commit([message]).snapshot
    assert again is not None
    assert again.id == last + 4
    assert ids(orders.scan("id >= 700")) == [700, 701, 702, 710, 720, 721, 730]


def test_tables_with_a_key_are_made_and_written(tmp_path: Path) -> None:
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("name", pa.string()), pa.field("n", pa.int64())])
    table = catalog.create_table("db.t", schema, properties={"bucket": 2}, format="paimon", identifier_fields=["id"])
    assert (tmp_path / "db.db" / "t" / "schema" / "schema-0").exists()
    assert (catalog.list_tables("db"), catalog.list_namespaces()) == (["db.t"], ["db"])
    table.append(pa.table({"id": [1, 2, 1], "name": ["a", "b", "c"], "n": [1, 2, 3]}))
    assert table.scan("id = 1").to_arrow().to_pylist() == [{"id": 1, "name": "c", "n": 3}]
    table.upsert(pa.table({"id": [2, 3], "name": ["d", "e"], "n": [4, None]}))
    table.delete_keys(pa.table({"id": [1]}))
    assert sorted(map(tuple, (row.values() for row in table.scan().to_arrow().to_pylist()))) == [
        (2, "d", 4),
        (3, "e", None),
    ]
    with pytest.raises(fz.UnsupportedError, match="some of the columns"):
        table.upsert(pa.table({"id": [2], "n": [5]}))
    with pytest.raises(fz.InvalidInputError, match="id"):
        table.append(pa.table({"id": pa.array([None], pa.int64())}))
    assert catalog.load_table("db.t").scan().count() == 2
    catalog.drop_table("db.t")
    assert catalog.list_tables("db") == []
    catalog.drop_namespace("db")
    assert catalog.list_namespaces() == []


def test_explain_says_of_each_file_why(orders: fz.Table, accounts: fz.Table) -> None:
    """What is kept is what is planned, and what was dropped has a stage and a reason."""
    for table, text in ((orders, "country = 'no' and id > 1"), (accounts, "id = 5"), (orders, "id > 1000000")):
        scan = table.scan(text)
        files = scan.explain(files=True).files
        planned = sorted(task.data_file.path for task in scan.plan_files())
        assert sorted(files.filter(files["kept"])["file_path"].to_pylist()) == planned
        dropped = files.filter(pc.invert(files["kept"])).to_pylist()
        assert all(file["stage"] != "kept" and file["reason"] for file in dropped)
        assert len(planned) + len(dropped) == len(list(table.scan().plan_files()))
    with pytest.raises(fz.UnsupportedError, match="file by file"):
        accounts.changes(since=1).explain(files=True)


def test_a_folder_that_is_both(tmp_path: Path) -> None:
    """Paimon can keep metadata of Iceberg next to its own; the table is then Paimon's."""
    both = fz.catalog("memory", type="filesystem", warehouse=tmp_path)
    both.create_namespace("db")
    table = both.create_table("db.t", schema=pa.schema([("x", pa.int32())]))
    root = Path(table.location.removeprefix("file://"))
    assert fz.open_table(root).format == "iceberg"
    shutil.copytree(DATA / "accounts", root, dirs_exist_ok=True)
    opened = fz.open_table(root)
    assert opened.format == "paimon"
    assert ids(opened.scan()) == told("accounts")["now"]
    newest = max((root / "metadata").glob("*.metadata.json"))
    assert fz.open_table(newest).format == "iceberg"


def test_no_table(tmp_path: Path) -> None:
    with pytest.raises(fz.NotFoundError):
        fz.open_table(tmp_path)
    (tmp_path / "schema").mkdir()
    with pytest.raises(fz.FrazilError):
        fz.open_table(tmp_path)
    (tmp_path / "schema" / "schema-0").write_text("{}")
    with pytest.raises(fz.CorruptTableError, match="schema-0"):
        fz.open_table(tmp_path)
    shutil.copy(DATA / "accounts" / "schema" / "schema-0", tmp_path / "schema" / "schema-0")
    empty = fz.open_table(tmp_path)
    assert (empty.snapshot, empty.snapshots, len(empty.refs)) == (None, [], 0)
    assert empty.scan().to_arrow().num_rows == empty.scan().count() == empty.changes().count() == 0
    assert empty.scan().plan() == []


def test_refresh_sees_new_snapshots(tmp_path: Path) -> None:
    root = tmp_path / "t"
    shutil.copytree(DATA / "accounts", root)
    newest = root / "snapshot" / "snapshot-3"
    kept = newest.read_text()
    newest.unlink()
    with pytest.raises(fz.CorruptTableError, match="the latest snapshot, 3, is missing"):
        fz.open_table(root)
    (root / "snapshot" / "LATEST").write_text("2")
    table = fz.open_table(root)
    assert table.snapshot.id == 2
    scan = table.scan()
    newest.write_text(kept)
    assert ids(scan) == told("accounts")["at 2"]
    assert ids(table.scan()) == told("accounts")["at 2"]
    assert table.refresh().snapshot.id == 3
    assert ids(table.scan()) == told("accounts")["now"]


def test_times_do_not_depend_on_the_zone(orders: fz.Table) -> None:
    code = f"import frazil as fz; print(fz.open_table({str(DATA / 'orders')!r}).scan('id = 8').to_arrow()['at'][0])"
    zones = [{**os.environ, "TZ": zone} for zone in ("UTC", "Asia/Tokyo")]
    told = {subprocess.run([sys.executable, "-c", code], env=z, capture_output=True, check=True).stdout for z in zones}
    assert len(told) == 1


@pytest.mark.spark
def test_spark_reads_them(spark: Any, orders: fz.Table, accounts: fz.Table) -> None:
    for table, name in ((orders, "orders"), (accounts, "accounts")):
        loaded = spark.read.format("frazil").load(str(DATA / name))
        assert sorted(row.id for row in loaded.select("id").collect()) == told(name)["now"]
        direct = table.scan("id > 5").to_spark(spark)
        assert sorted(row.id for row in direct.collect()) == ids(table.scan("id > 5"))
    side = spark.read.format("frazil").option("branch", "side").load(str(DATA / "orders"))
    assert side.count() == orders.scan(at="side").count()


@pytest.mark.spark
def test_spark_says_what_it_does_not_do(spark: Any, orders: fz.Table, tmp_path: Path) -> None:
    with pytest.raises(fz.UnsupportedError, match="only plan scans of Apache Iceberg's tables"):
        fz.spark.read(spark, orders, planning="executors")
    with pytest.raises(Exception, match="has no option 'scan"):
        spark.read.format("frazil").option("scan.snapshot-id", 1).load(str(DATA / "orders"))
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.string())])
    t = catalog.create_table("db.t", schema, format="paimon", identifier_fields=["id"], partition_by=["p"])
    # Before any task runs.
    with pytest.raises(fz.UnsupportedError, match="lacks partition columns"):
        fz.spark.append(spark.createDataFrame([(1, "a")], "id long not null, p string"), t)
    assert list(t.refresh().snapshots) == []
