"""Merges by clauses, and updates and deletes by Spark's expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import frazil as fz
from frazil.expr import col
from frazil.spark.changes import ways

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string()), ("ts", pa.int64()), ("n", pa.int32())])
ROWS = [(1, "new", 10, 1), (2, "old", 10, 2), (3, "c", 10, 3), (None, "x", 1, 4)]
SOURCE = "id long, v string, ts long, n long"


def created(catalog: fz.Catalog, schema: pa.Schema = SCHEMA, rows: list[Any] = ROWS, **more: Any) -> fz.Table:
    columns = [list(column) for column in zip(*rows, strict=True)]
    return catalog.create_table("db.t", schema, **more).append(pa.table(columns, schema=schema))


def content(table: fz.Table, at: str | None = None) -> list[tuple[Any, ...]]:
    found = table.refresh().scan(at=at).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def source(spark, *rows: tuple[Any, ...], schema: str = SOURCE):
    return spark.createDataFrame(list(rows), schema)


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_the_first_clause_that_is_true_decides(spark, catalog: fz.Catalog, mode: str) -> None:
    table = created(catalog, rows=[*ROWS, (5, "k", 1, 5)], properties={"write.merge.mode": mode})
    rows = source(spark, (1, "late", 5, 7), (2, "later", 15, 7), (8, "no", 9, 7), (9, "x", 1, 7))
    (
        fz.spark.merge_into(rows, table, "t.id = s.id", snapshot_properties={"why": "test"})
        .whenMatched("s.ts > t.ts")
        .update({"v": "s.v", "n": "t.n + s.n"})
        .whenMatched(f.col("t.ts") == f.col("s.ts") * 2)
        .delete()
        .whenMatched()
        .update({"v": "'never'"})
        # Here, a name without a qualifier means the source's column.
        .whenNotMatched("ts < 5")
        .insert({"id": "id", "v": "concat(v, '!')", "n": "n"})
        .whenNotMatchedBySource("id is null")
        .update({"v": "concat(v, '?')"})
        .whenNotMatchedBySource("n = 3")
        .delete()
        .merge()
    )
    assert content(table) == [(2, "later", 10, 9), (5, "k", 1, 5), (9, "x!", None, 7), (None, "x?", 1, 4)]
    summary = table.snapshot.summary
    assert [summary[f"frazil.rows-{what}"] for what in ("updated", "inserted", "deleted")] == ["2", "1", "2"]
    assert summary["why"] == "test"
    assert ("added-delete-files" in summary) == (mode == "merge-on-read")


def test_all_columns_and_a_row_that_no_clause_takes(spark, catalog: fz.Catalog) -> None:
    table = created(catalog, partition_by=["bucket(2, id)"], properties={"format-version": 3})
    rows = source(spark, (1, "late", 5, 7), (2, "later", 15, 7), (9, "x", 1, 7)).withColumn("more", f.lit(1))
    merge = fz.spark.merge_into(rows, table, ["id"])
    merge.whenMatched("s.ts > t.ts").updateAll().whenNotMatched().insertAll().merge()
    assert content(table) == [ROWS[0], (2, "later", 15, 7), ROWS[2], (9, "x", 1, 7), ROWS[3]]


def test_a_row_that_matches_twice(spark, catalog: fz.Catalog) -> None:
    table = created(catalog)
    twice = source(spark, (1, "a", 5, 7), (1, "b", 6, 7), (4, "c", 1, 1))
    with pytest.raises(fz.InvalidInputError, match="MERGE_CARDINALITY_VIOLATION"):
        fz.spark.merge_into(twice, table, "t.id = s.id").whenMatched("s.ts = 5").delete().merge()
    assert content(table) == ROWS
    merge = fz.spark.merge_into(twice, table, "t.id = s.id").whenMatched().delete()
    merge.whenNotMatched().insert({"id": f.col("id") * 10}).merge()
    assert content(table) == [*ROWS[1:3], (40, None, None, None), ROWS[3]]


def test_null_matches_null_if_that_is_wanted(spark, catalog: fz.Catalog) -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.string()), ("v", pa.int64())])
    table = created(catalog, schema, [(1, None, 0), (2, "y", 5)])
    rows = source(spark, (1, None, 1), (1, "x", 2), schema="a long, b string, v long")
    for _ in range(2):
        fz.spark.upsert(rows, table, ["a", "b"], null_safe=True)
        assert content(table) == [(1, "x", 2), (1, None, 1), (2, "y", 5)]
    merge = fz.spark.merge_into(rows, table, "t.a = s.a and t.b <=> s.b and t.b is null")
    merge.whenMatched().delete().merge()
    assert content(table) == [(1, "x", 2), (2, "y", 5)]


def test_expressions_in_keywords(spark, catalog: fz.Catalog) -> None:
    table = created(catalog)
    rows = source(spark, (1, "a", 5, 7), (2, "D", 50, 7), (3, "b", 50, 7), (7, "c", 1, 7), (8, "D", 1, 7))
    fz.spark.merge(
        rows,
        table,
        ["id"],
        when_matched_update={"n": "t.n + s.n", "v": f.upper("s.v")},
        when_matched_update_where="s.ts > t.ts",
        when_matched_delete="v = 'D'",
        when_not_matched_insert={"id": "id", "ts": "ts + 1"},
        when_not_matched_by_source_delete=col("id").is_null(),
    )
    assert content(table) == [ROWS[0], (3, "B", 10, 10), (7, None, 2, None)]
    with pytest.raises(fz.InvalidInputError, match="needs when_matched_update"):
        fz.spark.merge(rows, table, ["id"], when_not_matched_insert=True, when_matched_update_where="s.n > 1")


def test_what_is_read_is_pruned(spark, catalog: fz.Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = pa.schema([("g", pa.string()), ("id", pa.int64()), ("v", pa.string()), ("w", pa.int64())])
    table = catalog.create_table("db.t", schema, partition_by=["g"])
    table.append(pa.table([["a", "a", "b"], [1, 2, 3], ["x", "y", "z"], [1, 2, 3]], schema=schema))
    read: list[tuple[str, list[str]]] = []
    placed = ways.read_placed

    def spy(spark, table, where, columns, at):
        read.append((where, sorted(columns)))
        return placed(spark, table, where, columns, at)

    monkeypatch.setattr(ways, "read_placed", spy)
    rows = source(spark, (2, "new"), (3, "lost"), schema="id long, v string")
    merge = fz.spark.merge_into(rows, table, "t.id = s.id and t.g = 'a'")
    merge.whenMatched().update({"v": "concat(t.v, s.v)"}).merge()
    fz.spark.update(spark, table, f.expr("length(v) > 1 and id < 9"), {"w": f.col("w") + 1})
    assert [columns for _, columns in read] == [["g", "id", "v"], ["id", "v", "w"]]
    for where, parts in ((read[0][0], ["id in (2, 3)", "g = 'a'"]), (read[1][0], ["id < 9"])):
        assert all(part in where for part in parts), where
    assert content(table) == [("a", 1, "x", 1), ("a", 2, "ynew", 3), ("b", 3, "z", 3)]


def test_wrong_merges_are_refused_before_anything_is_done(spark, catalog: fz.Catalog) -> None:
    table = created(catalog)
    rows = source(spark, (1, "a", 5, 7))
    merge = fz.spark.merge_into(rows, table, "t.id = s.id")
    wrong: list[tuple[Callable[[], Any], str]] = [
        (merge.merge, "does nothing"),
        (merge.whenMatched().delete().whenMatched("s.n = 1").delete().merge, "only the last clause"),
        (merge.whenMatched().update({"zz": "1"}).merge, "no column 'zz'"),
        (merge.whenMatched().update({"n": "s.v"}).merge, "can't be written into a column of type int"),
        (lambda: merge.whenMatched().update({"n": 5}), "must be a text of SQL or a Column"),  # type: ignore[dict-item]
        (lambda: merge.whenMatched(5), "must be a text of SQL or a Column"),  # type: ignore[arg-type]
        (lambda: merge.whenMatched().update({}), "must be a dictionary"),
        (fz.spark.merge_into(rows.drop("v"), table, "id").whenMatched().updateAll().merge, "lacks column 'v'"),
        (fz.spark.merge_into(rows, table).whenMatched().delete().merge, "no identifier fields"),
        (fz.spark.merge_into(rows, table, ["k"]).whenMatched().delete().merge, "no column 'k'"),
        (fz.spark.merge_into(rows.drop("id"), table, "id").whenMatched().delete().merge, "lacks the key column"),
    ]
    for do, says in wrong:
        with pytest.raises(fz.InvalidInputError, match=says):
            do()
    assert len(table.refresh().snapshots) == 1


def test_updates_and_deletes_by_expressions(spark, catalog: fz.Catalog) -> None:
    modes = {"write.update.mode": "merge-on-read", "write.delete.mode": "copy-on-write"}
    table = created(catalog, properties={**modes, "format-version": 3})
    spark.createDataFrame([(1,), (3,)], "id long").createOrReplaceTempView("doomed")
    fz.spark.update(spark, table, "id = 2", {"n": f.col("n") + 1, "v": "abc", "ts": col("id")})
    assert content(table)[1] == (2, "abc", 2, 3)
    assert "added-dvs" in table.snapshot.summary
    exists = f.expr("exists (select 1 from doomed d where d.id = old.id)")
    fz.spark.update(spark, table, exists, {"v": f.expr("upper(old.v)")}, alias="old")
    assert [row[1] for row in content(table)] == ["NEW", "abc", "C", "x"]
    fz.spark.delete(spark, table, "id in (select id from doomed where doomed.id < 2)", job_id="once")
    assert content(table) == [(2, "abc", 2, 3), (3, "C", 10, 3), ROWS[3]]
    assert "added-dvs" not in table.snapshot.summary
    snapshots = len(table.snapshots)
    fz.spark.delete(spark, table, "id in (select id from doomed)", job_id="once")
    assert len(table.refresh().snapshots) == snapshots
    with pytest.raises(fz.InvalidInputError, match="does not fit into int"):
        fz.spark.update(spark, table, "id = 2", {"n": f.lit(5_000_000_000)})
    with pytest.raises(fz.InvalidInputError, match="no column `idd`"):
        fz.spark.delete(spark, table, "idd = 2")


def test_members_of_structs_and_branches(spark, catalog: fz.Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.struct([("x", pa.int64()), ("y", pa.string())]))])
    table = created(catalog, schema, [(1, {"x": 1, "y": "a"}), (2, None)])
    table.refs.create_branch("audit")
    fz.spark.update(spark, table, "true", {"p.x": f.expr("coalesce(p.x, 0) + id")}, branch="audit")
    assert content(table, "audit") == [(1, {"x": 2, "y": "a"}), (2, {"x": 2, "y": None})]
    assert content(table) == [(1, {"x": 1, "y": "a"}), (2, None)]
    with pytest.raises(fz.InvalidInputError, match="two values"):
        fz.spark.update(spark, table, "true", {"p.x": f.lit(1), "p": f.col("p")})


def test_a_table_with_a_primary_key(spark, catalog: fz.Catalog) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string()), ("n", pa.int64())])
    more = {"format": "paimon", "identifier_fields": ["id"], "properties": {"bucket": "2"}}
    table = created(catalog, schema, [(1, "a", 1), (2, "b", 2), (3, "c", 3)], **more)
    rows = source(spark, (1, "x", 5), (2, "y", 0), (7, "z", 7), schema="id long, v string, n long")
    (
        fz.spark.merge_into(rows, table, "t.id = s.id")
        .whenMatched("s.n > t.n")
        .update({"n": "t.n + s.n"})
        .whenMatched()
        .delete()
        .whenNotMatched()
        .insertAll()
        .whenNotMatchedBySource("t.n = 3")
        .update({"v": "concat(t.v, '!')"})
        .merge()
    )
    assert content(table) == [(1, "a", 6), (3, "c!", 3), (7, "z", 7)]
    fz.spark.update(spark, table, "id = 7", {"n": f.col("n") * 2})
    fz.spark.delete(spark, table, f.expr("length(v) > 1"))
    assert content(table) == [(1, "a", 6), (7, "z", 14)]
    with pytest.raises(fz.InvalidInputError, match="primary key can't be updated"):
        fz.spark.update(spark, table, "id = 7", {"id": f.lit(8)})


def test_new_columns_come_with_a_merge(spark, catalog: fz.Catalog) -> None:
    table = created(catalog)
    rows = source(spark, (1, "a", 5, 7, "note"), (9, "b", 6, 7, "more"), schema=f"{SOURCE}, extra string")
    merge = fz.spark.merge_into(rows, table, "id").whenMatched().updateAll().whenNotMatched().insertAll()
    merge.withSchemaEvolution().merge()
    assert table.refresh().schema.field("n").type == "long"
    assert content(table)[0] == (1, "a", 5, 7, "note")
    assert content(table)[3] == (9, "b", 6, 7, "more")
