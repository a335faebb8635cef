"""UPDATE, DELETE and MERGE by Spark's expressions of Paimon tables without a primary key: tasks do them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import frazil as fz
from frazil.spark.changes import job, merging

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("n", pa.int32()), ("s", pa.string())])
ROWS = [(1, "a", 10, "x"), (2, "a", None, "y"), (3, "b", 30, None), (None, None, 40, "z"), (5, "b", 50, "x")]
MODES = {
    "plain": {},
    "partitions": {"partition_by": ["p"]},
    "vectors": {"properties": {"deletion-vectors.enabled": "true"}},
    "buckets": {"properties": {"bucket": "2", "bucket-key": "id"}},
    "tracked": {"properties": {"row-tracking.enabled": "true"}},
}
EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}


@pytest.fixture
def lake(tmp_path: Path) -> fz.Catalog:
    catalog = fz.catalog("lake", warehouse=tmp_path / "lake")
    catalog.create_namespace("db")
    return catalog


@pytest.fixture(autouse=True)
def nothing_on_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise AssertionError("the driver would get the rows")

    monkeypatch.setattr(merging, "_on_driver", refused)


def created(lake: fz.Catalog, mode: str = "plain", rows: list[Any] = ROWS, schema: pa.Schema = SCHEMA) -> fz.Table:
    table = lake.create_table("db.t", schema, format="paimon", **MODES[mode])
    for some in (rows[::2], rows[1::2]):
        if some:
            table.append(pa.table([list(column) for column in zip(*some, strict=True)], schema=schema))
    return table.refresh()


def content(table: fz.Table, at: str | None = None) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.refresh().scan(at=at).to_arrow().to_pylist()), key=repr)


def in_order(*rows: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


@pytest.mark.parametrize("mode", MODES)
def test_updates_and_deletes_by_expressions(spark: Any, lake: fz.Catalog, mode: str) -> None:
    table = created(lake, mode)
    done = fz.spark.update(spark, table, f.expr("n * 2 < 70"), {"n": f.expr("n + id"), "s": f.expr("concat(s, '!')")})
    assert (done.rows_updated, done.rows_added, done.rows_deleted) == (2, 0, 0)
    after = [(1, "a", 11, "x!"), ROWS[1], (3, "b", 33, None), ROWS[3], ROWS[4]]
    assert content(table) == in_order(*after)
    done = fz.spark.delete(spark, table, "length(concat(p, s)) = 2 and id % 2 = 0", snapshot_properties={"why": "test"})
    assert (done.rows_updated, done.rows_added, done.rows_deleted) == (0, 0, 1)
    assert content(table) == in_order(after[0], *after[2:])
    assert table.refresh().snapshot.summary["why"] == "test"
    before = len(table.snapshots)
    fz.spark.delete(spark, table, f.expr("id + n < 0"))
    assert len(table.refresh().snapshots) == before
    fz.spark.update(spark, table, f.expr("p is null and abs(n) = 40"), {"p": f.lit("c"), "id": f.lit(4)})
    assert content(table) == in_order(after[0], after[2], (4, "c", 40, "z"), after[4])
    fz.spark.delete(spark, table, f.expr("length(coalesce(s, '')) >= 0"))
    assert content(table) == []


@pytest.mark.parametrize("mode", MODES)
def test_merges_with_all_clauses(spark: Any, lake: fz.Catalog, mode: str) -> None:
    table = created(lake, mode)
    given = [(1, 5, "u"), (2, 7, "d"), (5, 1, "-"), (9, 9, "i"), (10, 10, "-")]
    rows = spark.createDataFrame(given, "id long, n int, op string")
    done = (
        fz.spark.merge_into(rows, table, "t.id = s.id")
        .whenMatched("s.op = 'u'")
        .update({"n": "t.n + s.n", "s": "concat(t.s, s.op)"})
        .whenMatched("t.n is null")
        .delete()
        .whenNotMatched("s.op = 'i'")
        .insert({"id": "s.id", "p": "'new'", "n": "s.n"})
        .whenNotMatchedBySource("t.id is null")
        .update({"n": "t.n + 1"})
        .whenNotMatchedBySource("t.p = 'b'")
        .delete()
        .merge()
    )
    assert content(table) == in_order((1, "a", 15, "xu"), (9, "new", 9, None), (None, None, 41, "z"), ROWS[4])
    assert (done.rows_updated, done.rows_added, done.rows_deleted) == (2, 1, 2)
    assert len(table.refresh().snapshots) == 3


def test_a_row_that_matches_twice(spark: Any, lake: fz.Catalog) -> None:
    table = created(lake)
    twice = spark.createDataFrame([(1, 5), (1, 6), (4, 4)], "id long, n int")
    with pytest.raises(fz.InvalidInputError, match="MERGE_CARDINALITY_VIOLATION"):
        fz.spark.merge_into(twice, table, "t.id = s.id").whenMatched("s.n = 5").update({"n": "s.n"}).merge()
    assert content(table) == in_order(*ROWS)
    merge = fz.spark.merge_into(twice, table, "t.id = s.id").whenMatched().delete()
    done = merge.whenNotMatched().insert({"id": f.col("id") * 10}).merge()
    assert content(table) == in_order(*ROWS[1:], (40, None, None, None))
    assert (done.rows_updated, done.rows_added, done.rows_deleted) == (0, 1, 1)


@pytest.mark.parametrize("mode", ["partitions", "vectors"])
def test_random_changes_have_the_rows_of_a_model(spark: Any, lake: fz.Catalog, mode: str) -> None:
    random_ = random.Random(7)
    few = [None, "a", "b", "c"]
    rows = [
        (random_.randrange(20), random_.choice(few), random_.randrange(100), random_.choice(few)) for _ in range(40)
    ]
    table = created(lake, mode, rows)
    for _ in range(3):
        factor, rest, limit = random_.randrange(2, 9), random_.randrange(2), random_.randrange(20)
        fz.spark.update(
            spark,
            table,
            f.expr(f"(n * {factor}) % 2 = {rest} and id < {limit}"),
            {"n": f.expr("n + 1"), "s": f.expr("p")},
        )
        rows = [(i, p, n + 1, p) if (n * factor) % 2 == rest and i < limit else (i, p, n, s) for i, p, n, s in rows]
        assert content(table) == in_order(*rows)
        fz.spark.delete(spark, table, f.expr(f"hash(id) % 2 = 0 and length(s) = 1 and id + 0 = {limit}"))
        even = spark.sql(f"select hash({limit}L) % 2 = 0 as even").first()["even"]
        rows = [row for row in rows if not (even and row[3] is not None and row[0] == limit)]
        assert content(table) == in_order(*rows)


def test_tasks_merge_many_rows_by_a_key(spark: Any, executors: None, lake: fz.Catalog) -> None:
    table = created(lake)
    rows = spark.createDataFrame(
        [(1, "one"), (2, "drop"), (9, "nine"), (10, "drop"), (None, "none")], "id long, s string"
    )
    done = fz.spark.merge(
        rows,
        table,
        on=["id"],
        when_matched_delete="s = 'drop'",
        when_matched_update={"s": "s"},
        when_not_matched_insert=True,
        when_not_matched_by_source_delete="n = 30",
    )
    # A null key matches nothing. Rows that would be deleted are not inserted.
    after = [(1, "a", 10, "one"), ROWS[3], ROWS[4], (9, None, None, "nine"), (None, None, None, "none")]
    assert content(table) == in_order(*after)
    assert (done.rows_updated, done.rows_added, done.rows_deleted) == (1, 2, 2)
    fz.spark.upsert(spark.createDataFrame([(9, 90), (11, 110)], "id long, n int"), table, on="id", job_id="once")
    fz.spark.upsert(spark.createDataFrame([(9, 91), (11, 111)], "id long, n int"), table, on="id", job_id="once")
    assert content(table) == in_order(*after[:3], (9, None, 90, "nine"), after[4], (11, None, 110, None))


def test_a_branch_is_changed(spark: Any, lake: fz.Catalog) -> None:
    table = created(lake)
    table.refs.create_tag("then")
    table.refs.create_branch("side", "then")
    for _ in range(2):
        fz.spark.update(
            spark, table, f.expr("id = length(s)"), {"n": f.expr("n + 1")}, branch="side", job_id="on the branch"
        )
    source = spark.createDataFrame([(9,)], "id long")
    merge = fz.spark.merge_into(source, table, "t.id = s.id", branch="side")
    merge.whenNotMatched().insert({"id": "s.id"}).merge()
    assert content(table, "side") == in_order((1, "a", 11, "x"), *ROWS[1:], (9, None, None, None))
    assert content(table) == in_order(*ROWS)
    for wrong, error in (("nowhere", fz.NotFoundError), ("then", fz.FrazilError)):
        with pytest.raises(error, match=wrong):
            fz.spark.delete(spark, table, f.expr("id + 0 = 1"), branch=wrong)
    assert content(table) == in_order(*ROWS)


def test_values_that_spark_does_not_change_stay_as_they_are(spark: Any, lake: fz.Catalog) -> None:
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("l", pa.list_(pa.int32())),
            ("m", pa.map_(pa.string(), pa.float64())),
            ("st", pa.struct([("x", pa.int64()), ("y", pa.string())])),
            ("d", pa.decimal128(9, 3)),
            ("f", pa.float64()),
            ("ts", pa.timestamp("us", tz="UTC")),
            ("raw", pa.binary()),
        ]
    )
    rows = [(i, [i, None], [("k", -0.0)], {"x": i, "y": None}, None, float(i), i * 10**15, bytes([i])) for i in (1, 2)]
    nothing = (3, None, None, None, None, None, None, None)
    given = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in [*rows, nothing]], schema=schema)
    table = lake.create_table("db.types", schema, format="paimon").append(given)
    new = {"st.y": f.expr("concat('y', id)"), "l": f.expr("array(id)"), "m": f.expr("map('z', f)")}
    fz.spark.update(spark, table, f.expr("id % 2 = 1"), new)
    after = table.refresh().scan().to_arrow().sort_by("id")
    assert after["st"].to_pylist() == [{"x": 1, "y": "y1"}, {"x": 2, "y": None}, {"x": None, "y": "y3"}]
    assert after["l"].to_pylist() == [[1], [2, None], [3]]
    assert after["m"].to_pylist() == [[("z", 1.0)], [("k", -0.0)], [("z", None)]]
    others = ["id", "d", "f", "ts", "raw"]
    assert after.select(others).equals(given.select(others))


def test_rows_that_are_tracked_keep_their_ids(spark: Any, executors: None, lake: fz.Catalog) -> None:
    table = created(lake, "tracked")

    def ids() -> dict[int, tuple[int, int]]:
        columns = ["id", "_row_id", "_last_updated_sequence_number"]
        found = table.refresh().scan("id is not null", columns).to_arrow().to_pylist()
        return {row["id"]: (row["_row_id"], row["_last_updated_sequence_number"]) for row in found}

    before = ids()
    fz.spark.update(spark, table, f.expr("n * 2 < 70"), {"n": f.expr("n + id")})
    fz.spark.delete(spark, table, f.expr("concat(p, s) = 'ay'"))
    third = (before[3][0], 3)
    assert ids() == {1: (before[1][0], 3), 3: third, 5: before[5]}
    rows = spark.createDataFrame([(5, 1), (9, 9)], "id long, n int")
    fz.spark.upsert(rows, table, "id")
    assert ids() == {1: (before[1][0], 3), 3: third, 5: (before[5][0], 5), 9: (5, 5)}


def test_columns_of_evolving_tables_change_alone(spark: Any, executors: None, lake: fz.Catalog) -> None:
    table = lake.create_table("db.e", SCHEMA, format="paimon", properties=EVOLVING)
    table.append(pa.table([list(column) for column in zip(*ROWS, strict=True)], schema=SCHEMA))
    ids = table.refresh().scan(None, ["n", "_row_id"]).to_arrow().to_pylist()
    done = fz.spark.update(spark, table, f.expr("id % 2 = 1"), {"s": f.expr("concat(p, id)")})
    assert done.rows_updated == 3
    after = [(1, "a", 10, "a1"), ROWS[1], (3, "b", 30, "b3"), ROWS[3], (5, "b", 50, "b5")]
    assert content(table) == in_order(*after)
    assert table.refresh().scan(None, ["n", "_row_id"]).to_arrow().to_pylist() == ids
    columns = [file["write_cols"] for file in table.refresh().inspect.data_files().to_pylist()]
    assert sorted(columns, key=str) == [None, ["s"]]
    rows = spark.createDataFrame([(3, "three"), (9, "nine")], "id long, s string")
    fz.spark.upsert(rows, table, "id")
    after[2] = (3, "b", 30, "three")
    assert content(table) == in_order(*after, (9, None, None, "nine"))
    done = fz.spark.delete(spark, table, f.expr("length(s) > 2"))
    assert done.rows_deleted == 2
    assert content(table) == in_order(*after[:2], *after[3:])
    merge = fz.spark.merge_into(rows, table, "t.id = s.id + 2").whenMatched().update({"n": "t.n + s.id"})
    merge.whenNotMatched().insert({"id": "s.id", "s": "s.s"}).merge()
    assert content(table) == in_order(*after[:2], after[3], (5, "b", 53, "b5"), (9, None, None, "nine"))


def test_rows_without_a_column_that_can_be_compared(spark: Any, lake: fz.Catalog) -> None:
    schema = pa.schema([("m", pa.map_(pa.string(), pa.int32())), ("b", pa.bool_())])
    for properties in ({}, {"deletion-vectors.enabled": "true"}):
        table = lake.create_table(f"db.b{len(properties)}", schema, format="paimon", properties=properties)
        table.append(pa.Table.from_pylist([{"m": [("x", i)], "b": i > 1} for i in range(4)], schema=schema))
        fz.spark.delete(spark, table, f.expr("not b and m['x'] = 1"))
        fz.spark.update(spark, table, f.expr("m['x'] > 2"), {"m": f.expr("map_concat(m, map('y', 7))")})
        found = table.refresh().scan().to_arrow().to_pylist()
        assert sorted(found, key=str) == [
            {"m": [("x", 0)], "b": False},
            {"m": [("x", 2)], "b": True},
            {"m": [("x", 3), ("y", 7)], "b": True},
        ]


def test_rows_with_null_in_a_column_with_a_default_keep_it(spark: Any, lake: fz.Catalog) -> None:
    table = created(lake)
    with table.update_schema() as update:
        update.add_column("late", "int", write_default=5)
    table = table.refresh()
    table.append(pa.table({"id": [7, 8], "n": pa.array([70, 80], pa.int32())}))
    fz.spark.update(spark, table, f.expr("length(s) = 1"), {"n": f.lit(0)})
    fz.spark.update(spark, table, f.expr("id + 0 > 6"), {"n": f.expr("n + late")})
    old = [(*row[:2], row[2] if row[3] is None else 0, row[3], None) for row in ROWS]
    assert content(table) == in_order(*old, (7, None, 75, None, 5), (8, None, 85, None, 5))


# ---------------------------------------------------------------- other commits


def test_other_commits_while_spark_computes(spark: Any, lake: fz.Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that changes the same files is a conflict. Rows that others append stay, unless rows are inserted."""
    table = created(lake)
    change_rows = job.change_rows

    def after(other: Any) -> None:
        def late(*given: Any) -> None:
            other()
            change_rows(*given)

        monkeypatch.setattr("frazil.spark.changes.placed_changes.change_rows", late)

    more = pa.table([[9], ["a"], [5], ["new"]], schema=SCHEMA)
    after(lambda: table.append(more))
    fz.spark.update(spark, table, f.expr("id + 0 = 1"), {"n": f.lit(0)})
    expected = in_order((1, "a", 0, "x"), *ROWS[1:], (9, "a", 5, "new"))
    assert content(table) == expected
    source = spark.createDataFrame([(10, 9)], "id long, n int")
    merge = fz.spark.merge_into(source, table, "t.id = s.id").whenNotMatched().insert({"id": "s.id"})
    with pytest.raises(fz.CommitConflictError):
        merge.merge()
    expected = in_order(*expected, (9, "a", 5, "new"))
    assert content(table) == expected
    before = data_files(table)
    after(lambda: table.refresh().delete("id = 3"))
    with pytest.raises(fz.CommitConflictError):
        fz.spark.update(spark, table, f.expr("id + 0 = 3"), {"n": f.lit(0)})
    assert content(table) == [row for row in expected if row[0] != 3]
    # The delete wrote its files, and those of the update are gone.
    assert len(data_files(table) - before) == 1


def data_files(table: fz.Table) -> set[Path]:
    return set(Path(table.location.removeprefix("file://")).rglob("data-*"))


def test_a_job_runs_once(spark: Any, lake: fz.Catalog) -> None:
    table = created(lake)
    for _ in range(2):
        fz.spark.update(spark, table, f.expr("id + 0 = 1"), {"n": f.expr("n + 1")}, job_id="once")
    assert content(table) == in_order((1, "a", 11, "x"), *ROWS[1:])
    assert len(table.refresh().snapshots) == 3


# ---------------------------------------------------------------- SQL


def test_statements_of_sql_change_plain_tables(spark: Any, lake: fz.Catalog) -> None:
    pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")

    def run(statement: str) -> list[Any]:
        return fz.spark.sql(spark, statement, catalogs={"lake": lake}).collect()

    run("CREATE TABLE lake.db.target (a INT, b DOUBLE, c STRING) PARTITIONED BY (c)")
    run("INSERT INTO lake.db.target VALUES (1, 10.0, 'c1'), (2, 20.0, 'c2'), (5, 40.0, 'c1'), (NULL, 1.0, NULL)")
    run("CREATE TABLE lake.db.source (a INT, b DOUBLE, c STRING)")
    run("INSERT INTO lake.db.source VALUES (1, 11.0, 'c1'), (2, 22.0, 'c9'), (5, 50.0, 'c3'), (8, 80.0, 'c99')")
    # The statement of Paimon's page "SQL Write", with a table without a primary key.
    run(
        "MERGE INTO lake.db.target USING lake.db.source ON target.a = source.a "
        "WHEN MATCHED AND target.a = 5 THEN UPDATE SET b = source.b + target.b "
        "WHEN MATCHED AND source.c > 'c2' THEN UPDATE SET * "
        "WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED AND c > 'c9' THEN INSERT (a, b, c) VALUES (a, b * 1.1, c) "
        "WHEN NOT MATCHED THEN INSERT *"
    )
    table = lake.load_table("db.target")
    assert content(table) == in_order((5, 90.0, "c1"), (2, 22.0, "c9"), (8, 88.0, "c99"), (None, 1.0, None))
    run("UPDATE lake.db.target SET b = b + length(c), c = concat(c, '!') WHERE a IN (SELECT a FROM lake.db.source)")
    assert content(table) == in_order((5, 92.0, "c1!"), (2, 24.0, "c9!"), (8, 91.0, "c99!"), (None, 1.0, None))
    (done,) = run(
        "DELETE FROM lake.db.target AS t WHERE NOT EXISTS (SELECT 1 FROM lake.db.source s WHERE s.a = t.a + 3)"
    )
    assert content(table) == in_order((5, 92.0, "c1!"), (2, 24.0, "c9!"))
    assert done["rows_deleted"] == 2
