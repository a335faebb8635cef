"""The lanes by which Spark gets a table's rows: each gives the rows that Frazil's own reader gives."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import io
import math
import pickle
import shutil
import subprocess
import sys
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as st

import frazil as fz
from conftest import event_rows
from frazil import _core
from frazil.spark.lanes import arrow as lanes
from frazil.spark.lanes import assignment, native, spark_paths
from frazil.spark.planning.executors import PlanOnExecutors
from frazil.spark.workers import remote

pytestmark = pytest.mark.spark

MERGE_ON_READ = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}


def plain(value: object) -> object:
    """A value that equals itself and can be sorted: NaN too, structs however they come, zeros told apart."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value)
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, dict):
        return tuple((k, plain(v)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(plain(v) for v in value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    return value


def bag(rows: list[dict[str, object]]) -> list[str]:
    return sorted(repr(plain(row)) for row in rows)


def bag_of(df) -> list[str]:
    return bag(df.toArrow().to_pylist())


def explained(df, mode: str = "simple") -> str:
    """What the DataFrame's `explain` prints."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        df.explain(mode)
    return text.getvalue()


def same(spark, scan: fz.Scan, lanes_wanted: str | None = None, where: str | None = None) -> None:
    """Spark gets the rows of the scan, filtered by it too; the lanes are these, in letters."""
    if lanes_wanted is not None:
        found = fz.spark.explain(spark, scan)
        lanes = "".join(sorted(set(found.files["lane"].to_pylist())))
        assert lanes in (lanes_wanted, "" if scan.filter != fz.expr.Predicate("true") else None), found
    expected = bag((scan if where is None else scan.where(where)).to_arrow().to_pylist())
    df = fz.spark.read_scan(spark, scan)
    df = df if where is None else df.where(where)
    assert bag_of(df) == expected, where


def lane_of(spark, table: fz.Table, **options: object) -> list[tuple[str, str | None]]:
    files = fz.spark.explain(spark, table, **options).files
    return sorted(set(zip(files["lane"].to_pylist(), files["reason"].to_pylist(), strict=True)))


def make(catalog: fz.Catalog, name: str, rows: pa.Table, version: int = 2, **options: object) -> fz.Table:
    properties = {"format-version": str(version), **MERGE_ON_READ}
    return catalog.create_table(f"db.{name}", rows.schema, properties=properties, **options)


# ---------------------------------------------------------------- names


def test_reused_and_swapped_names(spark, catalog: fz.Catalog) -> None:
    rows = pa.table({"id": [1, 2, 3], "y": ["s", "t", None], "a": [1, 2, 3], "b": [10, 20, 30], "c": [1.5, 2.5, None]})
    t = make(catalog, "names", rows).append(rows)
    with t.update_schema() as u:
        u.rename_column("y", "yy")
    with t.update_schema() as u:
        u.add_column("y", "string")
    with t.update_schema() as u:
        u.rename_column("a", "tmp")
    with t.update_schema() as u:
        u.rename_column("b", "a")
    with t.update_schema() as u:
        u.rename_column("tmp", "b")
    with t.update_schema() as u:
        u.drop_column("c")
    with t.update_schema() as u:
        u.add_column("c", "double")
    t = t.refresh()
    new = pa.table({"id": [4, 5], "yy": ["s", "u"], "b": [4, 5], "a": [40, 50], "y": ["s", None], "c": [9.5, None]})
    t.append(new)
    for where in (
        *(None, "y = 's'", "y is null", "yy = 's'", "yy is null", "y is not null", "a = 10", "a < 3", "b = 1", "b > 5"),
        *("a > b", "c is null", "c > 2", "yy = y", "y = 's' or a = 20", "id = 1 and y is null"),
    ):
        if where is None or where not in ("a > b", "yy = y"):
            same(spark, t.scan(), "N", where)
            same(spark, t.scan(where), "N")
    assert fz.spark.read(spark, t).where("a > b").count() == 5
    assert [r.id for r in fz.spark.read(spark, t).where("yy = y").collect()] == [4]
    for select in (["y"], ["c", "id"], ["a"]):
        same(spark, t.scan(select=select), "N")
    assert fz.spark.read(spark, t, select=["y"], engine="native").columns == ["y"]


def test_row_groups_are_skipped_under_another_name(spark, catalog: fz.Catalog) -> None:
    rows = pa.table({"old": pa.array(range(10_000), pa.int64())})
    t = make(catalog, "groups", rows).append(rows)
    with t.update_schema() as u:
        u.rename_column("old", "new")
    text = explained(fz.spark.read(spark, t.refresh()).where("new >= 9990"))
    assert "PushedFilters: [IsNotNull(old), GreaterThanOrEqual(old,9990)]" in text


def test_names_that_are_spelt_like_settings(spark, catalog: fz.Catalog) -> None:
    """Spark's SQL would put the setting's value there."""
    name = "${spark.app.name}"
    assert spark.sql(f"select '{name}'").collect()[0][0] == spark.conf.get("spark.app.name")
    rows = pa.table({"id": [1, 2, 3], name: [1.5, None, float("nan")], "${env:HOME}": ["a", "b", None]})
    t = make(catalog, "settings", rows).append(rows)
    t.delete("id = 2")
    for select in (None, [name]):
        rows = t.scan(select=select).to_arrow().to_pylist()
        assert len(rows) == 2
        assert bag_of(fz.spark.read(spark, t, select=select, engine="native")) == bag(rows)
    assert spark.conf.get("spark.sql.variable.substitute") == "true"


def test_names_in_structs(spark, catalog: fz.Catalog) -> None:
    rows = pa.table({"s": pa.array([{"x": 1, "d": 1.5}, None], pa.struct([("x", pa.int32()), ("d", pa.float64())]))})
    t = make(catalog, "structs", rows).append(rows)
    same(spark, t.scan(), "N")
    with t.update_schema() as u:
        u.add_column("s.z", "int")
    assert "lacks its member 'z'" in str(lane_of(spark, t.refresh()))
    same(spark, t.scan(), "A")
    same(spark, t.scan(select=["s.x"]), "N")
    with t.update_schema() as u:
        u.rename_column("s.x", "w")
    assert "'w' is called 'x' in the file" in str(lane_of(spark, t.refresh(), select=["s.w"]))
    same(spark, t.scan(select=["s.w"]), "A")


def test_names_that_differ_in_case(spark, catalog: fz.Catalog) -> None:
    rows = pa.table({"a": [1, 2], "A": [3, 4]})
    t = make(catalog, "cases", rows).append(rows)
    assert "differ in case" in str(lane_of(spark, t))
    assert "but for the case" in str(lane_of(spark, t, select=["a"]))
    assert fz.spark.read(spark, t).toArrow().to_pylist() == rows.to_pylist()


def test_odd_names_and_comments(spark, catalog: fz.Catalog) -> None:
    rows = pa.table({"a b": [1, 2], "x.y": [3, 4], "żółw-1": ["u", None], "`": [True, False]})
    t = make(catalog, "odd", rows).append(rows)
    same(spark, t.scan(), "N")
    df = fz.spark.read(spark, t, filter='"a b" = 1')
    assert df.toArrow().to_pylist() == rows.slice(0, 1).to_pylist()
    assert df.where("`żółw-1` = 'u'").count() == 1
    hidden = pa.table({"_metadata": [1, 2], "id": [1, 2]})
    t = make(catalog, "hidden_column", hidden).append(hidden)
    same(spark, t.scan(), "A")
    same(spark, t.scan(select=["id"]), "N")
    with t.update_schema() as u:
        u.update_column("id", doc="the id")
    t = t.refresh()
    assert fz.spark.read(spark, t, select=["id"]).schema == fz.spark.spark_schema(t.scan(select=["id"]).schema)


# ---------------------------------------------------------------- files


@pytest.fixture
def plain_files(tmp_path: Path) -> Path:
    """Files that no table format wrote: without field ids, some with odd names, two of the same name."""
    folder = tmp_path / "plain"
    for i, name in enumerate(["a/part-0.parquet", "b/part-0.parquet", "_c.parquet", ".d.parquet", "e{1}.parquet"]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": pa.array([i, i + 10], pa.int64()), "name": [name, None]}), folder / name)
    return folder


def test_files_without_ids_and_hidden_names(spark, catalog: fz.Catalog, plain_files: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    t = make(catalog, "imported", schema.empty_table())
    paths = sorted(map(str, plain_files.rglob("*.parquet")))
    t.add_files(paths)
    files = fz.spark.explain(spark, t).files.to_pylist()
    by_name = {Path(file["file_path"]).name: (file["lane"], file["reason"]) for file in files}
    assert by_name.pop("part-0.parquet") == ("N", None)
    assert {name: lane for name, (lane, _) in by_name.items()} == dict.fromkeys(by_name, "A")
    assert "hidden" in by_name["_c.parquet"][1]
    assert "hidden" in by_name[".d.parquet"][1]
    assert "patterns" in by_name["e{1}.parquet"][1]
    same(spark, t.scan(), "AN")
    with t.update_schema() as u:
        u.rename_column("name", "id2")
    with t.update_schema() as u:
        u.add_column("name", "string")
    t = t.refresh()
    for where in (None, "name is null", "id2 is null", "id2 = 'a/part-0.parquet'", "name = 'a/part-0.parquet'"):
        same(spark, t.scan(), None, where)
    with pytest.raises(fz.UnsupportedError, match=r"hidden|patterns"):
        fz.spark.read(spark, t, engine="native")


def test_a_file_that_was_cut_off_is_an_error(spark, events: fz.Table) -> None:
    task = next(iter(events.scan().plan_files()))
    path = Path(task.data_file.path.removeprefix("file://"))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(Exception, match=path.name):
        fz.spark.read(spark, events).collect()
    path.unlink()
    with pytest.raises(Exception, match=path.name):
        fz.spark.read(spark, events).collect()


def test_many_files_in_one_folder(spark, catalog: fz.Catalog, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    one = pa.table({"id": pa.array([1], pa.int64())})
    first = folder / "f-0000.parquet"
    pq.write_table(one, first)
    for i in range(1, 1500):
        (folder / f"f-{i:04}.parquet").hardlink_to(first)
    t = make(catalog, "many", one)
    # Not all of them, so that listing the folder finds more.
    t.add_files([str(folder / f"f-{i:04}.parquet") for i in range(0, 1500, 2)])
    df = fz.spark.read(spark, t, engine="native")
    assert df.count() == 750
    assert "InMemoryFileIndex(1 paths)" in explained(df)
    assert len(df.inputFiles()) == 750


def test_many_folders_and_files_of_the_same_name(spark, catalog: fz.Catalog, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.int64())])
    t = make(catalog, "folders", schema.empty_table())
    before = spark.conf.get(native._MANY_PATHS)
    for i in range(40):
        path = tmp_path / "same" / f"p={i % 35}" / ("part-0.parquet" if i < 35 else "part-1.parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": pa.array([i], pa.int64()), "p": pa.array([-i], pa.int64())}), path)
    t.add_files(sorted(map(str, (tmp_path / "same").rglob("*.parquet"))))
    same(spark, t.scan(), "N")  # folders are no columns: p is what the files say
    assert spark.conf.get(native._MANY_PATHS) == before


def test_other_files_of_the_same_name_in_a_folder_below(spark, catalog: fz.Catalog, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    t = make(catalog, "below", schema.empty_table())
    for i in range(40):
        for path in (tmp_path / "x" / f"{i}.parquet", tmp_path / "x" / "y" / f"{i}.parquet"):
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"id": pa.array([i], pa.int64())}), path)
    t.add_files([str(tmp_path / "x" / f"{i}.parquet") for i in range(40)])
    assert fz.spark.read(spark, t, engine="native").count() == 40


def test_a_table_that_moved(spark, events: fz.Table, tmp_path: Path) -> None:
    shutil.copytree(events.location.removeprefix("file://"), tmp_path / "else" / "where")
    shutil.rmtree(events.location.removeprefix("file://"))
    t = fz.open_table(tmp_path / "else" / "where", moved=True)
    same(spark, t.scan(), "N", "id > 50")


def test_places_that_spark_is_not_said_to_read(spark, events: fz.Table) -> None:
    spark.conf.set(spark_paths.SCHEMES, "hdfs, s3=s3a")
    try:
        assert "'file:'" in str(lane_of(spark, events))
        assert fz.spark.read(spark, events).count() == 200
        assert spark_paths.for_spark(spark_paths.schemes_of(spark), "s3://b/k") == "s3a://b/k"
    finally:
        spark.conf.unset(spark_paths.SCHEMES)
    assert spark_paths.for_spark({}, "/a/b c") == "file:/a/b c"
    assert spark_paths.for_spark({}, "file:///a") == "file:/a"


# ---------------------------------------------------------------- values


def test_floats_are_filtered_as_spark_compares_them(spark, catalog: fz.Catalog) -> None:
    """Spark itself loses these rows: statistics know no NaN, dictionaries tell zeros apart."""
    nan = float("nan")
    inner = pa.struct([("d", pa.float64())])
    rows = pa.table(
        {
            "i": [1, 2, 3, 4],
            "d": [1.0, nan, 2.0, -0.0],
            "f": pa.array([1.0, nan, 2.0, -0.0], pa.float32()),
            "s": pa.array([{"d": 1.0}, {"d": nan}, {"d": 2.0}, {"d": -0.0}], inner),
        }
    )
    t = make(catalog, "floats", rows).append(rows)
    df = fz.spark.read(spark, t, engine="native")
    for column in ("d", "f", "s.d"):
        asked = {f"{column} > 5": [2], f"{column} = 0": [4], f"{column} in (0, 7)": [4], f"{column} >= 2": [2, 3]}
        for where, ids in asked.items():
            assert sorted(r.i for r in df.where(where).collect()) == ids, where
            got = fz.spark.read(spark, t, filter=where, select=["i"], engine="native")
            assert sorted(r.i for r in got.collect()) == ids, where
        assert [r.i for r in df.where(f"isnan({column})").collect()] == [2]
    assert "PushedFilters: [IsNotNull(i), EqualTo(i,1)]" in explained(df.where("i = 1"))


def test_promoted_types(spark, catalog: fz.Catalog) -> None:
    rows = pa.table(
        {
            "i": pa.array([1, -1, None], pa.int32()),
            "f": pa.array([1.5, float("nan"), 0.1], pa.float32()),
            "d": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("-9.99")], pa.decimal128(5, 2)),
        }
    )
    t = make(catalog, "promoted", rows).append(rows)
    with t.update_schema() as u:
        u.update_column("i", "long")
        u.update_column("f", "double")
        u.update_column("d", "decimal(20, 2)")
    t = t.refresh()
    large = pa.table(
        {"i": [2**40], "f": [1e300], "d": pa.array([decimal.Decimal("123456789012.5")], pa.decimal128(20, 2))}
    )
    t.append(large)
    for where in (
        None,
        "i > 0",
        "i = 1099511627776",
        "i < 4294967297",
        "f > 1",
        "d = 1.25",
        "d > 10",
        "d < 1000000000.00",
    ):
        same(spark, t.scan(), "N", where)
        if where is not None:
            same(spark, t.scan(where), "N")


def test_every_type_by_both_lanes(spark, every_type: fz.Table) -> None:
    columns = [field.name for field in every_type.schema.fields if field.name != "u"]
    assert "uuid" in str(lane_of(spark, every_type))
    same(spark, every_type.scan(select=columns), "N")
    for select in (columns, [*columns, "u"]):
        by_auto, by_arrow = (fz.spark.read(spark, every_type, select=select, engine=e) for e in ("auto", "arrow"))
        assert by_auto.schema == by_arrow.schema
        assert sorted(map(str, by_auto.collect())) == sorted(map(str, by_arrow.collect()))


def test_old_dates(spark, catalog: fz.Catalog, tmp_path: Path) -> None:
    """Spark must not take the file for one in the Julian calendar, whatever its setting."""
    rows = pa.table({"d": [dt.date(1000, 1, 1)], "t": pa.array([dt.datetime(1000, 1, 1)], pa.timestamp("us", "UTC"))})
    t = make(catalog, "old", rows).append(rows)
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY")
    try:
        same(spark, t.scan(), "N")
    finally:
        spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInRead")
    pq.write_table(rows, tmp_path / "int96.parquet", use_deprecated_int96_timestamps=True)
    t.add_files([str(tmp_path / "int96.parquet")])
    assert "96-bit" in str(lane_of(spark, t, select=["t"]))
    same(spark, t.scan(), "AN")


def test_values_of_filters(spark, catalog: fz.Catalog) -> None:
    """Lists go to Spark as SQL where that is safe; either way they keep the same rows."""
    days = [dt.date(1582, 10, 10), dt.date(1582, 10, 20), dt.date(2020, 1, 1), dt.date(1, 1, 1), None]
    rows = pa.table(
        {
            "i": pa.array([-(2**31), 2**31 - 1, 0, 7, None], pa.int32()),
            "l": pa.array([-(2**63), 2**63 - 1, 0, 7, None], pa.int64()),
            "s": ["it's", "${x}", "b\\", "NO-1 a/b:c", None],
            "d": days,
        }
    )
    t = make(catalog, "values", rows).append(rows)
    for filter in (
        *("i in (-2147483648, 7)", "i not in (2147483647, 7)", "l in (-9223372036854775808, 7)", "l not in (0, 7)"),
        *(
            "s in ('it''s', 'NO-1 a/b:c')",
            "s in ('NO-1 a/b:c', 'x')",
            "s not in ('NO-1 a/b:c', '')",
            "s in ('${x}', 'y')",
        ),
        *("s not in ('b\\', 'it''s')", "d in ('1582-10-10', '2020-01-01')", "d not in ('1582-10-20', '0001-01-01')"),
        *(
            "d = '1582-10-10'",
            "d > '1582-10-10'",
            "d < '1582-10-15'",
            "i in (7, 8) or s in ('b\\', 'z')",
        ),
    ):
        same(spark, t.scan(filter), "N")
        assert fz.spark.read(spark, t, filter, engine="native").count() == t.scan(filter).to_arrow().num_rows, filter


FILTERS = (
    *("id = 7", "id != 7", "id in (1, 2, 300)", "id not in (1, 2)", "id between 10 and 20", "not (id < 190)"),
    *("country = 'NO'", "country is null", "country != 'NO'", "country not in ('NO', 'SE')", "country like 'D%'"),
    *("not starts_with(country, 'N')", "ts < '2023-01-02T12:00:00+01:00'", "day = '2023-01-05'", "day >= '2023-01-08'"),
    *(
        "amount = 1.25",
        "amount in (1.25, 2.50)",
        "score is nan",
        "score is not nan",
        "score > 95",
        "score in (1.0, 2.5)",
    ),
    *(
        "score not in (1.0)",
        "payload.a > 150",
        "payload.a is null",
        "payload is null",
        "payload.b = 'b7'",
        "ok",
        "not ok",
    ),
    *("raw = x'07'", "raw in (x'07', x'08')", "country = 'NO' or (id < 5 and ok)", "score != 'NaN'", "true", "false"),
)


def test_filters_mean_the_same(spark, events: fz.Table) -> None:
    frames = [
        fz.spark.read(spark, events, text, ["id"], engine="native").withColumn("filter", f.lit(i))
        for i, text in enumerate(FILTERS)
    ]
    found: dict[int, list[int]] = {i: [] for i in range(len(FILTERS))}
    for row in reduce(DataFrame.unionAll, frames).collect():
        found[row.filter].append(row.id)
    for i, text in enumerate(FILTERS):
        assert sorted(found[i]) == sorted(events.scan(text, ["id"]).to_arrow()["id"].to_pylist()), text


def test_filters_that_spark_has_no_words_for(spark, events: fz.Table) -> None:
    for text in ("bucket(4, id) = 1", "day(ts) = '2023-01-02' and hour(ts) > 24", "starts_with(raw, x'07')"):
        same(spark, events.scan(text), None)
    assert "in a way of Frazil's own" in str(lane_of(spark, events, filter="bucket(4, id) = 1"))
    # Where partitions answer it, there is nothing to say.
    assert lane_of(spark, events, filter="day(ts) = '2023-01-02'") == [("N", None)]
    same(spark, events.scan("day(ts) = '2023-01-02'"), "N")


# ---------------------------------------------------------------- deletes


@pytest.mark.parametrize("version", [2, 3])
def test_deleted_rows_are_left_out_by_a_join(spark, catalog: fz.Catalog, version: int, monkeypatch) -> None:
    rows = event_rows(0, 300)
    t = make(catalog, "deleted", rows, version, partition_by=["country", "bucket(3, id)"]).append(rows)
    t.append(event_rows(300, 20))
    t.delete("id in (0, 1, 5, 77, 200, 299)")
    t.delete("id between 100 and 120")
    assert lane_of(spark, t) == [("A", "it has deletes"), ("N", None)]
    same(spark, t.scan(), "AN")
    monkeypatch.setattr(assignment, "_MOST_DELETES", {"auto": 4_000_000, "native": 4_000_000})
    assert {lane for lane, _ in lane_of(spark, t)} == {"N", "ND"}
    for where in (None, "id < 110", "country = 'NO'", "score > 140", "payload.a = 101", "id = 5"):
        same(spark, t.scan(), None, where)
        if where is not None:
            same(spark, t.scan(where), None)
    df = fz.spark.read(spark, t, engine="native")
    text = explained(df.select("id").where("id > 3"))
    assert "BroadcastHashJoin" in text
    assert "LeftOuter" in text
    assert "PushedFilters: [IsNotNull(id), GreaterThan(id,3)]" in text
    assert "country" not in text.split("ReadSchema")[1]
    monkeypatch.setattr(assignment, "_FILES_PER_SCAN", 2)
    same(spark, t.scan(), None)
    assert explained(fz.spark.read(spark, t)).count("LeftOuter") > 2
    monkeypatch.setattr(assignment, "_MOST_BRANCHES", 3)
    same(spark, t.scan(), None)
    assert explained(fz.spark.read(spark, t)).count("LeftOuter") <= 3
    assert "too many" in str(lane_of(spark, t))


def test_deletes_that_are_too_many_or_by_key(spark, catalog: fz.Catalog) -> None:
    rows = event_rows(0, 100)
    t = make(catalog, "keys", rows).append(rows)
    t.delete("id < 50")
    spark.conf.set(assignment.MAX_DELETES, "49")
    try:
        assert lane_of(spark, t) == [("A", "there are more than 49 deleted rows")]
        same(spark, t.scan(), "A")
        spark.conf.set(assignment.MAX_DELETES, "50")
        same(spark, t.scan(), "ND")
    finally:
        spark.conf.unset(assignment.MAX_DELETES)
    same(spark, t.scan(), "A")
    assert lane_of(spark, t, engine="native") == [("ND", None)]
    message = t.writer().delete_keys(pa.table({"id": pa.array([60, 61], pa.int64())}), on=["id"])
    t.commit([message])
    assert lane_of(spark, t.refresh()) == [("A", "it has equality deletes")]
    same(spark, t.scan(), "A")


def test_paths_with_odd_characters_and_deletes(spark, catalog: fz.Catalog, monkeypatch) -> None:
    """Spark gives paths in another spelling than it takes them: deleted rows must not come back by that."""
    names = ["a b", "ä/ö", "100%", "x=y&z", "q'\"", "^|`", "+", None]
    rows = pa.table({"k": [n for n in names for _ in range(4)], "id": pa.array(range(32), pa.int64())})
    t = make(catalog, "odd_paths", rows, partition_by=["k"]).append(rows)
    t.delete("id in (1, 5, 9, 13, 17, 21, 25, 29)")
    monkeypatch.setattr(assignment, "_MOST_DELETES", {"auto": 100, "native": 100})
    same(spark, t.scan(), "ND")
    assert fz.spark.read(spark, t, engine="native").count() == 24


def test_a_file_without_number_stops_the_query(spark, catalog: fz.Catalog, monkeypatch) -> None:
    rows = event_rows(0, 10)
    t = make(catalog, "lost", rows).append(rows)
    t.delete("id = 3")
    # Spark opens this, and spells it with one slash.
    spelt = spark_paths.for_spark
    monkeypatch.setattr(assignment, "spellings", lambda *args: [spelt(*args).replace("file:/", "file:///", 1)])
    with pytest.raises(Exception, match="this file has no number"):
        fz.spark.read(spark, t, engine="native").collect()


# ---------------------------------------------------------------- lanes


def test_what_only_frazil_reads(spark, catalog: fz.Catalog, events: fz.Table) -> None:
    rows = pa.table({"id": pa.array([1, 2], pa.int64())})
    t = make(catalog, "defaults", rows, 3).append(rows)
    with t.update_schema() as u:
        u.add_column("n", "int", default=7)
    t = t.refresh()
    assert lane_of(spark, t) == [("A", "column 'n': it has a default value in this file")]
    same(spark, t.scan(), "A", "n = 7")
    same(spark, t.scan(select=["id"]), "N")
    t.append(pa.table({"id": pa.array([3], pa.int64()), "n": pa.array([8], pa.int32())}))
    same(spark, t.scan(), "AN", "n > 6")
    t.set_properties({"write.format.default": "avro"}).append(pa.table({"id": pa.array([4], pa.int64())}))
    same(spark, t.scan(select=["id"]), "AN")
    same(spark, events.scan(select=["id", "_file", "_pos"]), "A")
    same(spark, events.scan("_pos < 3", select=["id"]), "A")
    same(spark, events.scan(since=events.snapshots[0].id), "N")
    changes = events.changes()
    assert "changelogs" in str(fz.spark.explain(spark, changes))
    assert changes.to_spark(spark).count() == 200


def test_engines(spark, events: fz.Table) -> None:
    assert "FileScan parquet" in explained(fz.spark.read(spark, events))
    assert "MapInArrow frazil arrow lane: 1 splits" in explained(fz.spark.read(spark, events, engine="arrow"))
    assert "frazil native plain lane: 10 files" in explained(fz.spark.read(spark, events), "extended")
    assert "PlanOnExecutors" in explained(fz.spark.read(spark, events, planning="executors"))
    with pytest.raises(fz.InvalidInputError, match="engine must be"):
        fz.spark.read(spark, events, engine="fast")  # type: ignore[arg-type]
    with pytest.raises(fz.InvalidInputError, match="needs planning='driver'"):
        fz.spark.read(spark, events, planning="executors", engine="native")
    with pytest.raises(fz.UnsupportedError, match="can't read 10 of the scan's files"):
        fz.spark.read(spark, events, select=["_pos"], engine="native")
    assert str(fz.spark.explain(spark, events)).startswith("N       10 files: Spark's Parquet reader")
    assert "executors plan it" in str(fz.spark.explain(spark, events, planning="executors"))
    assert "engine='arrow' was given" in str(fz.spark.explain(spark, events, engine="arrow"))
    assert str(fz.spark.explain(spark, events, filter="id < 0")) == "no files"
    assert events.scan().limit(7).to_spark(spark, engine="native").count() == 7
    spark.conf.set(assignment.MAX_FILES, "9")
    try:
        assert lane_of(spark, events) == [("A", "there are 10 files, more than 9")]
        same(spark, events.scan(), "A", "id < 7")
        with pytest.raises(
            fz.UnsupportedError, match="can't read 10 of the scan's files in the same way as Frazil: there are 10"
        ):
            fz.spark.read(spark, events, engine="native")
    finally:
        spark.conf.unset(assignment.MAX_FILES)


def test_sizes_are_not_underestimated(spark, catalog: fz.Catalog, events: fz.Table) -> None:
    def size(df) -> int:
        return int(str(df._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))

    on_disk = sum(task.data_file.size_bytes for task in events.scan().plan_files())
    assert size(fz.spark.read(spark, events)) >= on_disk // 2
    mixed = fz.spark.read(spark, events.set_properties({"write.format.default": "avro"}).append(event_rows(200, 9)))
    assert size(mixed) > 1 << 40  # what Frazil reads has no size that Spark could know
    assert "BroadcastHashJoin" not in explained(mixed.alias("a").join(mixed.alias("b"), "id"))
    t = make(catalog, "sized", event_rows(0, 1)).append(event_rows(0, 1000))
    t.delete("id < 10")
    assert size(fz.spark.read(spark, t, engine="native")) >= t.scan().plan()[0].tasks[0].length // 2


# ---------------------------------------------------------------- workers


def run_elsewhere(function: remote.OnBatches, code: str) -> str:
    """What a Python process says that calls the function as a Spark worker does, after `code`."""
    from pyspark import cloudpickle

    script = (
        "import sys, pickle\n"
        f"{code}\n"
        "from pyspark import cloudpickle\n"
        "function = pickle.loads(sys.stdin.buffer.read())\n"
        "try:\n"
        "    print(sum(batch.num_rows for batch in function(iter([]))))\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        input=cloudpickle.dumps(function),
        capture_output=True,
        timeout=60,
    )
    return done.stdout.decode() + done.stderr.decode()


def test_workers_without_frazil_say_so() -> None:
    function = remote.on_executors(PlanOnExecutors(), "PlanOnExecutors")
    assert run_elsewhere(function, "").strip() == "0"
    said = run_elsewhere(function, "sys.modules['frazil'] = None")
    assert "Frazil can't be imported by Spark's Python workers" in said
    assert f"frazil=={fz.__version__}" in said
    said = run_elsewhere(function, "import frazil; frazil.__version__ = '0.0.0'")
    assert "have Frazil 0.0.0" in said


def test_dealing_out_pickles_and_is_safe_in_threads(events: fz.Table) -> None:
    scan = pickle.loads(pickle.dumps(events.scan("id > 3")))
    found = scan._core.native_read(["file"], {}, 100, 100)
    assert fz.Schema._wrap(found.schema).fields[0].name == "id"
    assert isinstance(found.filter, _core.NativeFilter.Leaf)
    assert (found.filter.op, found.filter.path, found.filter.values) == ("gt", ["id"], [3])
    assert not isinstance(found.refused, str)
    assert found.deleted.num_rows == found.refused.num_rows == 0
    assert found.rest == []


@pytest.mark.parametrize(
    ("fields", "known"),
    [
        ("id bigint not null comment 'key', x struct<a: int not null, b: array<string>>, m map<string, date>", True),
        ("v variant, n void, t timestamp_ntz, z timestamp, d decimal(38, 9), b binary", True),
        ("i interval", False),
        ("", True),
    ],
)
def test_spark_sees_that_there_are_no_rows(spark, fields: str, known: bool) -> None:
    schema = st._parse_datatype_string(fields) if fields else st.StructType([])
    nothing = lanes.no_rows(spark, schema)
    assert nothing.schema == schema
    assert nothing.count() == 0
    assert ("LocalTableScan <empty>" in explained(nothing)) == known
    assert nothing.unionAll(spark.createDataFrame([], schema)).schema == schema
