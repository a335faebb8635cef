"""Merges, deletes and updates by Spark's executors."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import frazil as fz
from conftest import sequences
from frazil import _core
from frazil.spark import row_changes
from frazil.spark.changes import job as changes
from frazil.spark.changes import merging
from frazil.spark.changes.job import ChangeJob, ChangeWriter
from frazil.spark.jobs.job import Job
from frazil.spark.reading.places import read_placed

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string()), ("x", pa.float64())])
FORMS = [(2, "copy-on-write"), (2, "merge-on-read"), (3, "copy-on-write"), (3, "merge-on-read")]
COMMANDS = ("delete", "update", "merge")


def rows(start: int, end: int) -> pa.Table:
    ids = range(start, end)
    return pa.table([list(ids), ["abc"[i % 3] for i in ids], [float(i) for i in ids]], schema=SCHEMA)


def created(catalog: fz.Catalog, version: int, mode: str, by: list[str], **more: Any) -> fz.Table:
    properties = {"format-version": version, **{f"write.{command}.mode": mode for command in COMMANDS}}
    return catalog.create_table("db.changed", SCHEMA, partition_by=by, properties={**properties, **more})


def content(table: fz.Table, at: str | None = None) -> list[tuple[Any, ...]]:
    found = table.refresh().scan(at=at).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def data_files(table: fz.Table) -> set[Path]:
    return {p for p in Path(table.location.removeprefix("file://")).glob("data/**/*") if p.is_file()}


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    return created(catalog, 2, "merge-on-read", ["g"]).append(rows(0, 30))


class Model:
    """What the table must hold: rows by id, and rows without."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []

    def merge(self, source: list[tuple[Any, ...]], update: bool, delete: bool, insert: bool, missing: bool) -> None:
        by_id = {row[0]: row for row in source if row[0] is not None}
        known = {row[0] for row in self.rows}
        out = []
        for row in self.rows:
            new = by_id.get(row[0])
            if new is not None and delete and new[1] == "a":
                continue
            if new is None and missing and row[2] is not None and row[2] > 40:
                continue
            out.append(new if new is not None and update else row)
        if insert:
            new_rows = (row for row in source if row[0] is None or row[0] not in known)
            out += [row for row in new_rows if not (delete and row[1] == "a")]
        self.rows = out


@pytest.mark.parametrize(("version", "mode"), FORMS)
def test_any_sequence_comes_to_what_a_model_says(
    spark, executors, catalog: fz.Catalog, version: int, mode: str
) -> None:
    for number in range(sequences(1, len(FORMS))):
        rng = random.Random(f"{version} {mode} {number}")
        by = rng.choice([[], ["g"], ["bucket(3, id)", "g"]])
        table, model = created(catalog, version, mode, by), Model()
        for _ in range(2):
            picked = rng.sample(range(60), rng.randrange(5, 30))
            source: list[tuple[Any, ...]] = [(i, rng.choice("abc"), rng.choice([None, i * 1.5])) for i in picked]
            source += [(None, "b", 1.0)] * rng.randrange(2)
            update, delete, insert, missing = (rng.random() < p for p in (0.7, 0.3, 0.8, 0.3))
            update = update or not insert
            fz.spark.merge(
                spark.createDataFrame(source, "id long, g string, x double").repartition(3),
                table,
                ["id"],
                when_matched_update=update,
                when_matched_delete="g = 'a'" if delete else False,
                when_not_matched_insert=insert,
                when_not_matched_by_source_delete="x > 40" if missing else False,
            )
            model.merge(source, update, delete, insert, missing)
            assert content(table) == sorted(model.rows, key=repr), (update, delete, insert, missing)
        low = rng.randrange(50)
        fz.spark.update(spark, table, f"id >= {low}", {"x": -1.0})
        model.rows = [(*r[:2], -1.0) if r[0] is not None and r[0] >= low else r for r in model.rows]
        assert content(table) == sorted(model.rows, key=repr)
        fz.spark.delete(spark, table, "g = 'b' or id < 20")
        model.rows = [r for r in model.rows if not (r[1] == "b" or (r[0] is not None and r[0] < 20))]
        assert content(table) == sorted(model.rows, key=repr)
        catalog.drop_table("db.changed")


def test_what_the_executors_did(spark, executors, table: fz.Table) -> None:
    source = spark.createDataFrame([(28, "b", 28.0), (29, "c", 1.0), (30, "a", 2.0)], "id long, g string, x double")
    fz.spark.upsert(source, table, ["id"], snapshot_properties={"why": "test"})
    summary = table.refresh().snapshot.summary
    # 28 was there as it is.
    counts = [summary[f"frazil.rows-{what}"] for what in ("updated", "inserted", "deleted")]
    assert counts == ["1", "1", "0"]
    assert (summary["why"], summary["engine-name"]) == ("test", "spark")
    assert summary["added-position-deletes"] == "1"
    fz.spark.delete(spark, table, "g = 'a' or id = 1")
    assert len(content(table)) == 31 - 11 - 1
    # The partition goes by metadata alone.
    assert int(table.snapshot.summary["deleted-data-files"]) >= 1
    before = table.metadata_location
    fz.spark.delete(spark, table, "id = 1")
    fz.spark.update(spark, table, "id = 1", {"x": 5.0})
    fz.spark.merge(source.where("id < 0"), table, ["id"], when_matched_update=True)
    assert table.refresh().metadata_location == before


def test_keys_that_are_no_plain_numbers(spark, executors, catalog: fz.Catalog) -> None:
    nan = float("nan")
    key = pa.struct([("a", pa.int32()), ("f", pa.float64())])
    schema = pa.schema([("k", key), ("u", pa.string()), ("d", pa.date32()), ("n", pa.int64())])
    table = catalog.create_table("db.keys", schema, partition_by=["d"])
    day = [18000, 18001]
    at = [{"a": 1, "f": nan}, {"a": 2, "f": -0.0}, {"a": 3, "f": None}, None]
    table.append(pa.table([at, ["x"] * 4, pa.array([day[0]] * 4, pa.date32()), [1, 2, 3, 4]], schema=schema))
    source = spark.sql(
        "select named_struct('a', a, 'f', f) as k, 'y' as u, date'2019-04-14' + int(n - 11) as d, n from values "
        "(1, double('nan'), 11L), (2, 0.0D, 12L), (3, null, 13L), (null, null, 14L) t(a, f, n)"
    )
    on = ["k.a", "k.f"]
    fz.spark.merge(source, table, on, when_matched_update={"n": "n", "u": "u"}, when_not_matched_insert=True)
    found = {row["n"]: row["u"] for row in table.refresh().scan(select=["n", "u"]).to_arrow().to_pylist()}
    assert found == {11: "y", 12: "y", 3: "x", 4: "x", 13: "y", 14: "y"}
    fz.spark.merge(source.where("n > 11"), table, ["u", "d"], when_matched_delete=True)
    left = table.refresh().scan(select=["n"]).to_arrow()["n"].to_pylist()
    assert sorted(left) == [3, 4, 11, 12]


def test_identifier_fields_and_names_of_any_case(spark, executors, catalog: fz.Catalog) -> None:
    schema = pa.schema([pa.field("Id", pa.string(), nullable=False), ("id", pa.int64()), ("odd name", pa.int32())])
    table = catalog.create_table("db.cased", schema)
    with table.update_schema() as update:
        update.set_identifier_fields("Id")
    table.append(pa.table([["p", "q"], [1, 2], pa.array([1, 2], pa.int32())], schema=schema))
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        source = spark.createDataFrame(
            [("q", 20, 5), ("r", 30, 6)], "Id string, id long, `odd name` int"
        ).localCheckpoint()
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    fz.spark.upsert(source, table)
    assert content(table) == [("p", 1, 1), ("q", 20, 5), ("r", 30, 6)]


def test_rows_with_one_key(spark, executors, table: fz.Table) -> None:
    """Where they match nothing each is inserted, and where all that matches goes they do the same."""
    twins = spark.createDataFrame([(i, "a", 1.0) for i in (50, 50, 3, 3)], "id long, g string, x double")
    with pytest.raises(fz.InvalidInputError, match="matches several rows of the source"):
        fz.spark.upsert(twins, table, ["id"])
    before = content(table)
    files = data_files(table)
    fz.spark.merge(twins, table, ["id"], when_matched_delete=True)
    assert content(table) == [row for row in before if row[0] != 3]
    fz.spark.merge(twins.where("id = 50"), table, ["id"], when_not_matched_insert=True)
    assert len(table.refresh().scan("id = 50").to_arrow()) == 2
    assert files < data_files(table)


def test_the_driver_does_what_is_small(spark, monkeypatch: pytest.MonkeyPatch, table: fz.Table) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("executors were asked")

    for module in (merging, row_changes):
        monkeypatch.setattr(module, "change_rows", refuse)
    source = spark.createDataFrame([(29, "c", 1.0), (30, "a", 2.0)], "id long, g string, x double")
    fz.spark.upsert(source, table, ["id"])
    fz.spark.update(spark, table, "id = 5", {"x": 0.0})
    fz.spark.delete(spark, table, "id = 6")
    assert len(content(table)) == 30
    # Two rows of one key that match nothing are inserted, as by executors.
    twins = spark.createDataFrame([(40, "c", 1.0), (40, "a", 2.0)], "id long, g string, x double")
    with pytest.raises(AssertionError, match="executors were asked"):
        fz.spark.upsert(twins, table, ["id"])


def test_branches_and_jobs(spark, executors, table: fz.Table) -> None:
    table.refs.create_branch("audit")
    source = spark.createDataFrame([(29, "c", 1.0), (30, "a", 2.0)], "id long, g string, x double")
    for _ in range(2):
        fz.spark.upsert(source, table, ["id"], branch="audit", job_id="monday")
        fz.spark.delete(spark, table, "id < 5", branch="audit", job_id="tuesday")
        fz.spark.update(spark, table, "id > 28", {"x": 9.0}, branch="audit", job_id="wednesday")
    assert len(content(table)) == 30
    assert len(content(table, at="audit")) == 26
    assert len(table.snapshots) == 4
    assert sorted(r[2] for r in content(table, at="audit") if r[0] > 28) == [9.0, 9.0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda s, df, t: fz.spark.merge(df, t, ["id"]), "merge does nothing"),
        (lambda s, df, t: fz.spark.upsert(df, t, ["nobody"]), "no such column"),
        (lambda s, df, t: fz.spark.upsert(df, t), "identifier fields"),
        (lambda s, df, t: fz.spark.upsert(df.drop("id"), t, ["id"]), "no such column"),
        (lambda s, df, t: fz.spark.upsert(df.withColumn("x", df.g), t, ["id"]), "x"),
        (lambda s, df, t: fz.spark.upsert(df.withColumn("id", df.g), t, ["id"]), "id"),
        (lambda s, df, t: fz.spark.upsert(df.withColumn("y", df.x), t, ["id"]), "y"),
        (lambda s, df, t: fz.spark.merge(df, t, ["id"], when_matched_delete="nobody = 1"), "nobody"),
        (lambda s, df, t: fz.spark.merge(df, t, ["id"], when_not_matched_by_source_delete="nobody = 1"), "nobody"),
        (lambda s, df, t: fz.spark.merge(df, t, 5, when_matched_delete=True), "on"),
        (lambda s, df, t: fz.spark.delete(s, t, "nobody = 1"), "nobody"),
        (lambda s, df, t: fz.spark.update(s, t, "id = 1", {"nobody": 1}), "nobody"),
        (lambda s, df, t: fz.spark.update(s, t, "id = 1", {"x": "text"}), "text"),
        (lambda s, df, t: fz.spark.update(s, t, "id = 1", 5), "values"),
    ],
)
def test_what_does_not_fit(spark, executors, table: fz.Table, change: Callable[..., None], says: str) -> None:
    source = spark.createDataFrame([(29, "c", 1.0), (30, "a", 2.0)], "id long, g string, x double")
    files, version = data_files(table), table.metadata_location
    with pytest.raises(fz.InvalidInputError, match=says):
        change(spark, source, table)
    assert (data_files(table), table.refresh().metadata_location) == (files, version)


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Has somebody else commit after the change has read the table."""

    def later(frame: Any, job: ChangeJob) -> None:
        act()
        changes.change_rows(frame, job)

    for module in (merging, row_changes):
        monkeypatch.setattr(module, "change_rows", later)


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_commits_of_others(spark, executors, monkeypatch: pytest.MonkeyPatch, catalog: fz.Catalog, mode: str) -> None:
    table = created(catalog, 3, mode, ["g"]).append(rows(0, 30))
    other = fz.open_table(table.location)
    source = spark.createDataFrame([(28, "b", 1.0), (31, "b", 2.0)], "id long, g string, x double")

    meanwhile(monkeypatch, lambda: other.append(rows(31, 32)))
    files = data_files(table)
    with pytest.raises(fz.CommitConflictError):
        fz.spark.upsert(source, table, ["id"])
    assert len(data_files(table) - files) == 1  # that of the other
    with pytest.raises(fz.CommitConflictError):
        fz.spark.update(spark, table, "id > 25", {"x": 5.0})
    # What cannot match does no harm.
    meanwhile(monkeypatch, lambda: other.append(rows(100, 103)))
    fz.spark.upsert(source, table, ["id"])
    assert [row for row in content(table) if row[0] == 31] == [(31, "b", 2.0)] * 2

    table.set_properties({f"write.{command}.isolation-level": "snapshot" for command in COMMANDS})
    meanwhile(monkeypatch, lambda: other.append(rows(28, 29)))
    fz.spark.update(spark, table, "id > 27", {"x": 7.0})
    assert sorted(row[2] for row in content(table) if row[0] == 28) == [7.0, 28.0]
    # Rows that somebody else deleted must not come back.
    meanwhile(monkeypatch, lambda: other.delete("id = 31"))
    with pytest.raises(fz.CommitConflictError):
        fz.spark.upsert(source.withColumn("x", source.x + 5), table, ["id"])


def test_parts_are_committed_as_one_change(table: fz.Table) -> None:
    change = _core.RowChange.Delete("id < 20")
    core = table._core
    whole, files = core.change_files(change, None)
    assert (len(files), whole.files) == (3, [])
    job = ChangeJob(table, change, "id < 20", Job(id="x"), whole)
    payloads = [pa.record_batch({"split": [pickle.dumps([path])]}) for path, _ in files]
    parts = [pickle.loads(pickle.dumps(ChangeWriter(job).write(iter([p])))) for p in payloads]
    messages = [message for part in parts for message in part.messages]
    with pytest.raises(fz.InvalidInputError, match="parts of one change"):
        table.commit(messages)
    with pytest.raises(fz.InvalidInputError, match="two parts changed the same data file"):
        core.commit_parts(change, "id < 20", [*messages, job.write(iter(payloads[:1]), 7)[0]], {})
    with pytest.raises(fz.InvalidInputError, match="not a part of a change"):
        core.commit_parts(change, "id < 20", [table.writer().write(rows(0, 1))], {})
    # A job that failed leaves nothing.
    before = data_files(table)
    lost = ChangeWriter(job).write(iter(payloads[1:2]))
    ChangeWriter(job).abort([lost, None])
    assert data_files(table) == before
    ChangeWriter(job).commit(parts)
    assert len(content(table)) == 10
    # The same again is known by the job's name, and its files would not go: they are the table's.
    ChangeWriter(job).commit(parts)
    assert len(content(table)) == 10
    late = fz.open_table(table.location)
    with pytest.raises(fz.InvalidInputError, match="another version"):
        late._core.commit_parts(change, "id < 20", [late.append(rows(0, 1)) and messages[0]], {})


def test_a_source_that_changes_each_time(spark, executors, table: fz.Table) -> None:
    """Spark keeps the rows, so that what is looked for is what comes."""
    before = set(spark.sparkContext._jsc.getPersistentRDDs())
    df = spark.range(200).selectExpr("int(rand() * 1000000) as id", "'a' as g", "1.0D as x").dropDuplicates(["id"])
    fz.spark.upsert(df, table, ["id"])
    fz.spark.merge(df.where("false"), table, ["id"], when_matched_delete=True)
    assert len(content(table)) <= 230
    assert set(spark.sparkContext._jsc.getPersistentRDDs()) <= before


def test_rows_of_the_table_itself(spark, executors, table: fz.Table) -> None:
    again = fz.spark.read(spark, table, filter="id < 10").selectExpr("id + 25 as id", "g", "x")
    fz.spark.upsert(again, table, ["id"])
    assert len(content(table)) == 35
    empty = fz.spark.read(spark, table, filter="id < 0")
    fz.spark.merge(empty, table, ["id"], when_not_matched_by_source_delete="x < 5", when_not_matched_insert=True)
    assert min(row[2] for row in content(table)) == 5.0


SCRIPT = """
import sys
from pyspark.sql import SparkSession
import frazil as fz

spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect")
for name in ("driver-max-rows", "driver-max-bytes"):
    spark.conf.set("spark.frazil.changes." + name, "0")
for place in sys.argv[1:]:
    table = fz.open_table(place)
    source = spark.createDataFrame([(28, "b", 1.0), (31, "b", 2.0), (None, "b", 3.0)], "id long, g string, x double")
    fz.spark.upsert(source, place, ["id"])
    assert table.refresh().scan().count() == 32, table.scan().count()
    fz.spark.merge(source, place, ["id"], when_matched_delete="x > 1", when_not_matched_by_source_delete="g = 'c'")
    assert table.refresh().scan().count() == 21, table.scan().count()
    fz.spark.delete(spark, place, "id < 3")
    fz.spark.update(spark, place, "id >= 3", {"x": 0.0})
    assert table.refresh().scan("x = 0").count() == 18, table.scan("x = 0").count()
    try:
        fz.spark.upsert(source.union(source), place, ["id"])
        raise AssertionError("twins")
    except fz.InvalidInputError as error:
        assert "several rows of the source" in str(error)
    # Small enough for the driver.
    spark.conf.unset("spark.frazil.changes.driver-max-rows")
    spark.conf.unset("spark.frazil.changes.driver-max-bytes")
    fz.spark.upsert(source, place, ["id"])
    assert table.refresh().scan().count() == 21, table.scan().count()
spark.stop()
print("all right")
"""


def test_connect(catalog: fz.Catalog) -> None:
    pytest.importorskip("grpc", reason="Spark Connect is not installed (pip install 'pyspark[connect]')")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 (no 'java' on the PATH)")
    places = []
    for number, (version, mode) in enumerate([FORMS[0], FORMS[3]]):
        properties = {"format-version": version, **{f"write.{command}.mode": mode for command in COMMANDS}}
        table = catalog.create_table(f"db.connect{number}", SCHEMA, partition_by=["g"], properties=properties)
        places.append(table.append(rows(0, 30)).location.removeprefix("file://"))
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *places],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip().endswith("all right"), done.stdout + done.stderr[-3000:]


def test_places_by_every_lane(spark, catalog: fz.Catalog) -> None:
    """What Spark's reader says of files and positions is what Frazil's says, with deleted rows and odd paths too."""
    properties = {"format-version": 3, "write.delete.mode": "merge-on-read"}
    table = catalog.create_table("db.placed", SCHEMA, partition_by=["g"], properties=properties)
    odd = rows(30, 40).set_column(1, "g", pa.array(["a b%20ü"] * 10))
    table.append(rows(0, 30)).append(odd).delete("id in (3, 4, 33)")
    for form in ("avro", "parquet"):
        table.set_properties({"write.format.default": form}).append(rows(50, 53))
    placed = read_placed(spark, table, "id > 2", ["id"])
    assert "frazil native delete lane" in placed.rows._jdf.queryExecution().analyzed().toString()
    found = placed.rows.select("id", placed.path(f.col("_file")).alias("_file"), "_pos").toArrow().to_pylist()
    wanted = table.scan("id > 2", select=["id", "_file", "_pos"]).to_arrow().to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, wanted))


def test_keys_of_every_type(spark, executors, every_type: fz.Table) -> None:
    """Each prunes files by what Spark says of the source's values, or not at all."""
    on = ["b", "l", "f", "d", "dec", "date", "ts", "tstz", "s", "u", "fix", "bin"]
    source = (
        fz.spark.read(spark, every_type, select=on)
        .withColumn("i", f.lit(99))
        .selectExpr("* except (u, d)", "upper(u) as u", "0.0D as d")
    )
    fz.spark.merge(source, every_type, on, when_matched_update={"i": "i"}, when_not_matched_insert=True)
    found = every_type.refresh().scan(select=["b", "i"]).to_arrow().to_pylist()
    assert sorted(map(str, found)) == ["{'b': None, 'i': 99}", "{'b': None, 'i': None}", "{'b': True, 'i': 99}"]
    many = spark.range(1000).selectExpr("timestamp_micros(id * 1000000) as tstz", "int(id) as i")
    fz.spark.merge(many, every_type, ["tstz"], when_matched_update=True, when_not_matched_insert=True)
    fz.spark.merge(many.where("i < 500"), every_type, ["tstz"], when_matched_delete=True)
    assert every_type.refresh().scan().count() == 503


def test_keys_that_are_members_of_the_only_column(spark, executors, catalog: fz.Catalog) -> None:
    schema = pa.schema([("s", pa.struct([("id", pa.int64()), ("x", pa.string())]))])
    table = catalog.create_table("db.t", schema).append(pa.table([[{"id": 1, "x": "old"}]], schema=schema))
    fz.spark.upsert(spark.sql("select named_struct('id', id, 'x', 'new') s from range(3)"), table, ["s.id"])
    found = table.refresh().scan().to_arrow()["s"].to_pylist()
    assert sorted(map(str, found)) == [str({"id": i, "x": "new"}) for i in range(3)]


def test_times_that_python_does_not_know(spark, executors, catalog: fz.Catalog) -> None:
    schema = pa.schema([("until", pa.timestamp("us", tz="UTC")), ("v", pa.int64())])
    table = catalog.create_table("db.t", schema)
    # The end of all times as a session west of Greenwich says it.
    end = "timestamp'9999-12-31 23:59:59 America/New_York'"
    source = f"select {end} until, {{v}}L v union all select timestamp'2020-01-01', {{v}}"
    for v in (1, 2):
        fz.spark.upsert(spark.sql(source.format(v=v)), table, ["until"])
    assert table.refresh().scan(select=["v"]).to_arrow()["v"].to_pylist() == [2, 2]
