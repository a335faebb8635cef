"""Out of PySpark into tables: overwrites, branches, distribution, jobs that run again."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz
from frazil.spark.writing.job import WriteJob
from frazil.spark.writing.writer import FrazilWriter

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("country", pa.string())])


def path_of(table: fz.Table) -> str:
    return table.location.removeprefix("file://")


def rows(start: int, end: int, countries: tuple[str, ...] = ("NO", "SE", "DE")) -> pa.Table:
    return pa.table({"id": range(start, end), "country": [countries[i % len(countries)] for i in range(start, end)]})


def frame(spark, start: int, end: int, countries: tuple[str, ...] = ("NO", "SE", "DE")):
    return spark.createDataFrame(rows(start, end, countries).to_pandas())


def ids(table: fz.Table, filter_: str | None = None) -> list[int]:
    return sorted(table.refresh().scan(filter_).to_arrow()["id"].to_pylist())


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    return catalog.create_table("db.written", SCHEMA, partition_by=["country"]).append(rows(0, 30))


def test_overwrite(spark, table: fz.Table) -> None:
    fz.spark.overwrite(frame(spark, 100, 103), table, "country = 'NO'")
    assert ids(table, "country = 'NO'") == [102]
    assert ids(table) == sorted([i for i in range(30) if i % 3] + [100, 101, 102])
    assert table.snapshot.operation == "overwrite"
    fz.spark.overwrite(frame(spark, 200, 203), table, fz.col("id") < 15, snapshot_properties={"why": "test"})
    assert ids(table) == sorted([i for i in range(15, 30) if i % 3] + [100, 101, 102, 200, 201, 202])
    assert table.snapshot.summary["why"] == "test"
    # What is written is read from the table itself.
    fz.spark.overwrite(fz.spark.read(spark, table).where("id >= 200"), path_of(table))
    assert ids(table) == [200, 201, 202]
    fz.spark.overwrite(frame(spark, 0, 1).where("id > 5"), table)
    assert ids(table) == []


@pytest.mark.parametrize("key", [[], ["country", "id"]], ids=["append", "keyed"])
def test_overwrites_of_paimon(spark, catalog: fz.Catalog, key: list[str]) -> None:
    schema = pa.schema([field.with_nullable(field.name not in key) for field in SCHEMA])
    table = catalog.create_table(
        "db.paimon", schema, partition_by=["country"], format="paimon", identifier_fields=key
    ).append(rows(0, 30).cast(schema))
    fz.spark.overwrite(frame(spark, 100, 140).where("country = 'NO'").repartition(3), table, "country = 'NO'")
    norwegians = [i for i in range(100, 140) if i % 3 == 0]
    assert ids(table, "country = 'NO'") == norwegians
    assert ids(table) == sorted([i for i in range(30) if i % 3] + norwegians)
    fz.spark.overwrite_partitions(frame(spark, 200, 204, ("SE", "DK")), table, job_id="monday")
    fz.spark.overwrite_partitions(frame(spark, 200, 204, ("SE", "DK")), table, job_id="monday")
    left = sorted([i for i in range(30) if i % 3 == 2] + norwegians + [200, 201, 202, 203])
    assert ids(table) == left
    assert table.snapshot.summary["frazil.job-id"] == "monday"
    fz.spark.append(frame(spark, 203, 206, ("DK",)), table)
    assert ids(table) == sorted(left + ([203] if not key else []) + [204, 205])
    files = set(Path(path_of(table)).rglob("*.parquet"))
    with pytest.raises(fz.UnsupportedError, match="whole partitions"):
        fz.spark.overwrite(frame(spark, 0, 9), table, "id < 5")
    with pytest.raises(fz.NotFoundError, match="audit"):
        fz.spark.overwrite(frame(spark, 0, 9), table, branch="audit")
    assert set(Path(path_of(table)).rglob("*.parquet")) == files
    frame(spark, 0, 5).write.format("frazil").mode("overwrite").save(path_of(table))
    assert ids(table) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("key", [[], ["country", "id"]], ids=["append", "keyed"])
def test_branches_of_paimon(spark, executors: None, catalog: fz.Catalog, key: list[str]) -> None:
    schema = pa.schema([field.with_nullable(field.name not in key) for field in SCHEMA])
    options = {"bucket": 2} if key else {}
    table = catalog.create_table(
        "db.paimon", schema, ["country"], format="paimon", identifier_fields=key, properties=options
    ).append(rows(0, 9).cast(schema))
    table.refs.create_tag("then")
    table.refs.create_branch("side", "then")

    def on_side() -> list[int]:
        return sorted(table.refresh().scan(at="side").to_arrow()["id"].to_pylist())

    for _ in range(2):
        fz.spark.append(frame(spark, 20, 24), table, branch="side", job_id="once")
    assert on_side() == [*range(9), *range(20, 24)]
    frame(spark, 30, 32).write.format("frazil").mode("append").option("branch", "side").save(path_of(table))
    assert on_side() == [*range(9), *range(20, 24), 30, 31]
    fz.spark.overwrite(frame(spark, 50, 53).where("country = 'NO'"), table, "country = 'NO'", branch="side")
    left = [i for i in on_side() if i < 50]
    assert on_side() == sorted([*left, *(i for i in range(50, 53) if i % 3 == 0)])
    assert not [i for i in left if i % 3 == 0]
    fz.spark.upsert(frame(spark, 1, 2), table, ["country", "id"], branch="side")
    assert on_side().count(1) == 1
    for name in ("then", "nowhere"):
        with pytest.raises(fz.FrazilError, match=name):
            fz.spark.append(frame(spark, 0, 2), table, branch=name)
    assert ids(table.refresh()) == list(range(9))


@pytest.mark.parametrize("partitioned", [True, False])
@pytest.mark.parametrize("properties", [{"merge-engine": "first-row"}, {"deletion-vectors.enabled": "true"}])
def test_overwrites_of_paimon_are_seen_at_once(
    spark, catalog: fz.Catalog, properties: dict[str, str], partitioned: bool
) -> None:
    key = ["country", "id"]
    schema = pa.schema([field.with_nullable(field.name not in key) for field in SCHEMA])
    table = catalog.create_table(
        "db.paimon",
        schema,
        partition_by=["country"] if partitioned else [],
        properties={"bucket": 2, **properties},
        format="paimon",
        identifier_fields=key,
    )
    fz.spark.overwrite(frame(spark, 0, 90).repartition(3), table)
    assert ids(table) == list(range(90))
    # Spark's own writer puts the rows where they come.
    frame(spark, 100, 190).repartition(3).write.format("frazil").mode("overwrite").save(path_of(table))
    assert ids(table) == list(range(100, 190))


def test_a_filter_that_does_not_fit_is_refused_at_once(spark, table: fz.Table) -> None:
    # The rows can't be computed.
    with pytest.raises(fz.InvalidInputError, match="nobody"):
        fz.spark.overwrite(spark.sql("select raise_error('computed') as country"), table, "nobody = 1")


def test_overwrite_partitions(spark, table: fz.Table) -> None:
    fz.spark.overwrite_partitions(frame(spark, 100, 104, ("SE", "DK")), table)
    assert ids(table) == sorted([i for i in range(30) if i % 3 != 1] + [100, 101, 102, 103])
    assert table.snapshot.summary["replace-partitions"] == "true"
    fz.spark.overwrite_partitions(frame(spark, 0, 1).where("id > 5"), table)
    assert len(ids(table)) == 24


def test_sparks_own_words(spark, table: fz.Table) -> None:
    writer = frame(spark, 100, 104, ("SE", "DK")).write.format("frazil")
    writer.mode("overwrite").option("overwrite-mode", "dynamic").save(path_of(table))
    assert len(ids(table)) == 24
    writer = frame(spark, 300, 301).write.format("frazil").option("replace-where", "country = 'DK'")
    writer.option("snapshot-property.why", "test").mode("overwrite").save(path_of(table))
    assert ids(table, "id >= 100") == [100, 102, 300]
    assert table.snapshot.summary["why"] == "test"
    frame(spark, 400, 401).write.format("frazil").mode("overwrite").save(path_of(table))
    assert ids(table) == [400]


@pytest.mark.parametrize(
    ("options", "mode", "says"),
    [
        ({"overwrite-mode": "both"}, "overwrite", "static or dynamic"),
        ({"overwrite-mode": "static"}, "append", "mode\\('overwrite'\\)"),
        ({"overwrite-mode": "dynamic", "replace-where": "id = 1"}, "overwrite", "partitions and a filter"),
        ({"filter": "id = 1"}, "overwrite", "there is no option 'filter'"),
        ({"replace-where": "nobody = 1"}, "overwrite", "nobody"),
    ],
)
def test_wrong_options(spark, table: fz.Table, options: dict[str, str], mode: str, says: str) -> None:
    writer = frame(spark, 0, 1).write.format("frazil").mode(mode).options(**options)
    with pytest.raises(Exception, match=says):
        writer.save(path_of(table))
    assert ids(table) == list(range(30))


@pytest.mark.parametrize("engine", ["auto", "arrow"])
@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (["*", "1 as z"], "no such column"),
        (["cast(id as string) id", "country"], "a string can't be written into a column of type bigint"),
    ],
)
def test_columns_that_do_not_fit_are_refused_by_the_driver(
    spark, table: fz.Table, engine: str, columns: list[str], says: str
) -> None:
    rows = frame(spark, 50, 60).selectExpr(*columns).where("raise_error('a task was started') is null")
    for write in (fz.spark.append, fz.spark.overwrite, fz.spark.overwrite_partitions):
        with pytest.raises(fz.InvalidInputError, match=says):
            write(rows, table, engine=engine)  # type: ignore[arg-type]
    assert ids(table) == list(range(30))


def test_branches(spark, table: fz.Table) -> None:
    table.refs.create_branch("audit")
    fz.spark.append(frame(spark, 50, 60), table, branch="audit")
    fz.spark.overwrite(frame(spark, 70, 71), table, "id < 10", branch="audit")
    frame(spark, 80, 81).write.format("frazil").option("branch", "audit").mode("append").save(path_of(table))
    assert ids(table) == list(range(30))
    on_branch = table.scan(at="audit").to_arrow()["id"].to_pylist()
    assert sorted(on_branch) == [*range(10, 30), *range(50, 60), 70, 80]


def test_an_overwrite_that_was_done_asks_no_more(spark, table: fz.Table) -> None:
    for _ in range(2):
        fz.spark.overwrite(frame(spark, 70, 71), table, "id < 10", job_id="monday")
        assert ids(table) == [*range(10, 30), 70]
    with table.update_schema() as update:
        update.rename_column("id", "number")
    fz.spark.overwrite(frame(spark, 80, 81), table, "id < 10", job_id="monday")
    assert sorted(table.refresh().scan().to_arrow()["number"].to_pylist()) == [*range(10, 30), 70]


def test_a_job_that_runs_again_adds_its_rows_once(spark, table: fz.Table) -> None:
    for _ in range(2):
        fz.spark.append(frame(spark, 50, 60), table, job_id="monday")
    assert len(ids(table)) == 40
    fz.spark.append(frame(spark, 60, 61), table, job_id="tuesday")
    assert len(ids(table)) == 41
    for _ in range(2):
        fz.spark.overwrite(frame(spark, 99, 100), table, job_id="wednesday")
    assert ids(table) == [99]


def test_two_drivers_with_one_job(table: fz.Table) -> None:
    """The second was started before the first committed; its files go."""
    job = WriteJob(id="monday")
    writers = [pickle.dumps(FrazilWriter(table, job)) for _ in range(2)]
    written = [pickle.loads(w).write(iter(rows(50, 60).to_batches())) for w in writers]
    files = len(list(Path(path_of(table)).rglob("*.parquet")))
    for writer, message in zip(writers, written, strict=True):
        pickle.loads(writer).commit([message, None])
    assert len(ids(table)) == 40
    assert len(list(Path(path_of(table)).rglob("*.parquet"))) == files - 3


@pytest.mark.parametrize("mode", ["auto", "hash", "range", "none"])
def test_distribution(spark, catalog: fz.Catalog, mode: str) -> None:
    schema = pa.schema([("id", pa.int64()), ("s", pa.struct([("t", pa.string())])), ("d", pa.date32())])
    by = ["bucket(4, id)", "truncate(1, s.t)", "year(d)"]
    table = catalog.create_table("db.dealt", schema, partition_by=by, sort_by=["id desc"])
    query = "select id, named_struct('t', string(id % 3)) as s, date_add(date'2020-01-01', int(id % 2) * 400) as d"
    df = spark.sql(f"{query} from range(0, 400, 1, 8)")
    fz.spark.append(df, table, distribution=mode)
    table.refresh()
    assert table.scan().count() == 400
    partitions = table.inspect.partitions().num_rows
    files = table.snapshot.summary["added-data-files"]
    if mode == "none":
        assert int(files) > partitions
    if mode == "hash":
        assert int(files) == partitions
    table.set_properties({"write.distribution-mode": "hash"})
    fz.spark.overwrite(df, table)
    assert int(table.refresh().snapshot.summary["added-data-files"]) == partitions
    assert table.scan().count() == 400


def test_no_such_distribution(spark, table: fz.Table) -> None:
    with pytest.raises(fz.InvalidInputError, match="'some' is not a distribution"):
        fz.spark.append(frame(spark, 0, 1), table, distribution="some")


def test_commit_overwrite_comes_once(table: fz.Table) -> None:
    message = table.writer().write(rows(100, 110))
    table.commit_overwrite([message], "country = 'NO'")
    assert len(ids(table)) == 30
    before = table.metadata_location
    table.commit_overwrite([message], "country = 'NO'")
    assert table.metadata_location == before
    with pytest.raises(fz.InvalidInputError, match="committed before"):
        table.append(rows(110, 111)).commit([message, table.writer(1).write(rows(111, 112))])
    with pytest.raises(fz.InvalidInputError, match="partitions and a filter"):
        table.commit_overwrite([], "id = 1", partitions=True)


def test_a_failed_overwrite_leaves_the_files_of_its_messages(table: fz.Table) -> None:
    message = table.writer().write(rows(100, 110))
    with pytest.raises(fz.InvalidInputError, match="nobody"):
        table.commit_overwrite([message], "nobody = 1")
    assert len(table.commit_overwrite([message], partitions=True).scan().to_arrow()) == 10


@pytest.mark.parametrize("version", [2, 3])
def test_merge(spark, catalog: fz.Catalog, version: int) -> None:
    properties = {"format-version": str(version), "write.merge.mode": "merge-on-read"}
    table = catalog.create_table("db.merged", SCHEMA, properties=properties).append(rows(0, 30))
    changes = spark.sql("select id, 'FI' as country, if(id % 2 = 0, 'D', 'U') as op from range(25, 35)")
    for _ in range(2):
        fz.spark.merge(
            changes,
            table,
            ["id"],
            when_matched_update={"country": "country"},
            when_matched_delete="op = 'D'",
            when_not_matched_insert={"id": "id", "country": "country"},
            job_id="monday",
        )
    assert ids(table) == [*range(25), 25, 27, 29, 31, 33]
    assert ids(table, "country = 'FI'") == [25, 27, 29, 31, 33]
    assert table.snapshot.summary["frazil.rows-inserted"] == "2"
    fz.spark.upsert(changes.drop("op"), path_of(table), ["id"], snapshot_properties={"why": "test"})
    assert ids(table, "country = 'FI'") == [*range(25, 35)]
    assert table.snapshot.summary["why"] == "test"
    with pytest.raises(fz.InvalidInputError, match="several rows of the source"):
        fz.spark.upsert(changes.drop("op").union(changes.drop("op")), table, ["id"])


def test_a_job_counts_on_its_branch(spark, table: fz.Table) -> None:
    table.refs.create_branch("audit")
    fz.spark.append(frame(spark, 50, 51), table, branch="audit", job_id="monday")
    fz.spark.append(frame(spark, 50, 51), table, job_id="monday")
    assert len(ids(table)) == 31
    table.rollback(table.snapshots[0].id)
    fz.spark.append(frame(spark, 50, 51), table, job_id="monday", snapshot_properties={"Why": "a", "why": "b"})
    assert len(ids(table)) == 31
    assert (table.snapshot.summary["Why"], table.snapshot.summary["why"]) == ("a", "b")


def test_columns_that_the_rows_lack(spark, table: fz.Table) -> None:
    fz.spark.append(spark.range(50, 52), table)
    assert ids(table, "country is null") == [50, 51]


def test_files_go_if_the_commit_certainly_failed(table: fz.Table) -> None:
    writer = FrazilWriter(table, WriteJob(operation="overwrite", where="nobody = 1", id="x"))
    before = set(Path(path_of(table)).rglob("*.parquet"))
    written = writer.write(iter(rows(50, 60).to_batches()))
    with pytest.raises(fz.InvalidInputError, match="nobody"):
        writer.commit([written])
    assert set(Path(path_of(table)).rglob("*.parquet")) == before


def test_files_stay_if_nobody_knows(table: fz.Table) -> None:
    writer = FrazilWriter(table, WriteJob(id="x"))
    before = len(list(Path(path_of(table)).rglob("*.parquet")))
    written = writer.write(iter(rows(50, 53).to_batches()))
    writer.abort([written])
    assert len(list(Path(path_of(table)).rglob("*.parquet"))) == before + 3


def test_distribution_without_adaptive_execution(spark, table: fz.Table) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        fz.spark.append(frame(spark, 50, 80).repartition(4), table)
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    assert table.refresh().snapshot.summary["added-data-files"] == "3"


def test_partitions_of_another_spec_are_not_replaced(table: fz.Table) -> None:
    message = table.writer().write(rows(100, 110))
    table.update_partition_spec().remove_field("country").commit()
    with pytest.raises(fz.InvalidInputError, match="another partition spec"):
        table.commit_overwrite([message], partitions=True)
    assert ids(table) == list(range(30))


def test_an_empty_name_of_a_job_is_refused(spark, table: fz.Table) -> None:
    """As of an environment variable that is missing."""
    new, before = frame(spark, 100, 102), ids(table)
    for empty in ("", " "):
        with pytest.raises(fz.InvalidInputError, match="job_id is empty"):
            fz.spark.append(new, table, job_id=empty)
        with pytest.raises(Exception, match="job_id is empty"):
            new.write.format("frazil").option("job-id", empty).mode("append").save(path_of(table))
        with pytest.raises(fz.InvalidInputError, match="job_id is empty"):
            fz.spark.delete(spark, table, "id = 1", job_id=empty)
    assert ids(table) == before


def test_the_property_of_the_jobs_name_is_reserved(spark, table: fz.Table) -> None:
    new, reserved, before = frame(spark, 100, 102), {"frazil.job-id": "mine"}, ids(table)
    with pytest.raises(fz.InvalidInputError, match=r"'frazil\.job-id' is reserved.*job_id="):
        fz.spark.append(new, table, snapshot_properties=reserved)
    with pytest.raises(Exception, match=r"'frazil\.job-id' is reserved"):
        new.write.format("frazil").option("snapshot-property.frazil.job-id", "mine").mode("append").save(path_of(table))
    assert ids(table) == before
