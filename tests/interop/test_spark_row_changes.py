"""Changes of rows by Spark's executors side by side with Java's connector: each goes on where the other stopped."""

from collections.abc import Iterator

import pytest
from java_side import Java, assert_same_rows
from test_row_level import COLUMNS, VALUES, Side, source

import frazil as fz

FORMS = [(2, "copy-on-write", ""), (2, "merge-on-read", "g"), (3, "copy-on-write", "g"), (3, "merge-on-read", "")]


class SparkSide(Side):
    """A table that Frazil changes through Spark."""

    def by_frazil(self, step: int) -> None:
        spark, table = self.java.spark, self.frazil
        match step:
            case 0:
                fz.spark.delete(spark, table, "id between 3 and 5")
            case 1:
                fz.spark.update(spark, table, "x > 7 or g is null", {"v": 100, "x": None})
            case 2:
                fz.spark.upsert(spark.createDataFrame(source(30, 15, 7)), table, on=["id"])
            case 3:
                rows = spark.createDataFrame(source(10, 20, 50)).selectExpr("id", "g", "if(id < 20, 50, -1) as v", "x")
                fz.spark.merge(
                    rows,
                    table,
                    on=["id"],
                    when_matched_delete="v < 0",
                    when_matched_update={"v": "v"},
                    when_not_matched_by_source_delete="id >= 40",
                )
            case 4:
                fz.spark.delete(spark, table, "g = 'a'")
            case 5:
                for what in ("id = 7", "id = 9", "id is null"):
                    fz.spark.delete(spark, table, what)


@pytest.fixture
def executors(java: Java) -> Iterator[None]:
    names = ("spark.frazil.changes.driver-max-rows", "spark.frazil.changes.driver-max-bytes")
    for name in names:
        java.spark.conf.set(name, "0")
    yield
    for name in names:
        java.spark.conf.unset(name)


@pytest.mark.parametrize(("version", "mode", "partitioned_by"), FORMS)
def test_the_same_changes_by_both(java: Java, executors: None, version: int, mode: str, partitioned_by: str) -> None:
    properties = {f"write.{command}.mode": mode for command in ("delete", "update", "merge")}
    names = [java.create("spark_rows", COLUMNS, partitioned_by, version, properties) for _ in range(2)]
    for name in names:
        java.insert(name, VALUES)
    ours, theirs = (SparkSide(java, name) for name in names)
    for step in range(6):
        swapped = step % 2 == 1 or step == 4
        before = ours.row_ids() if version >= 3 else {}
        (ours.by_java if swapped else ours.by_frazil)(step)
        (theirs.by_frazil if swapped else theirs.by_java)(step)
        what = f"v{version} {mode}, step {step}"
        assert_same_rows(ours.check(what), theirs.check(what), what)
        if version >= 3:
            after = ours.row_ids()
            kept = before.keys() & after.keys()
            assert {i: before[i] for i in kept} == {i: after[i] for i in kept}, what
            assert len(set(after.values())) == len(after), what


def test_twins_are_refused_as_by_java(java: Java, executors: None) -> None:
    name = java.create("spark_twins", COLUMNS, "", 2, {"write.merge.mode": "merge-on-read"})
    java.insert(name, VALUES)
    side = SparkSide(java, name)
    twins = java.spark.createDataFrame(source(3, 2, 7)).union(java.spark.createDataFrame(source(3, 2, 8)))
    twins.createOrReplaceTempView("twins")
    merging = f"merge into {side.full} t using twins s on t.id = s.id"
    with pytest.raises(Exception, match="MERGE_CARDINALITY_VIOLATION"):
        java.sql(f"{merging} when matched then update set *")
    with pytest.raises(fz.InvalidInputError, match="several rows of the source"):
        fz.spark.merge(twins, side.frazil, ["id"], when_matched_update=True)
    # Where all that matches goes, and where nothing matches, both let them be.
    java.sql(f"{merging} when matched then delete")
    fz.spark.merge(twins, side.frazil, ["id"], when_not_matched_insert=True)
    side.check("twins")
    assert side.frazil.scan("id in (3, 4)").count() == 4
