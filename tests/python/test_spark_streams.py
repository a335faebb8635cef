"""Streams out of tables and into them."""

from __future__ import annotations

import datetime as dt
import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import frazil as fz
from frazil.spark.datasource import FrazilDataSource
from frazil.spark.streams import reader as reader_of_streams
from frazil.spark.streams import writer as writer_of_streams
from frazil.spark.streams.reader import _Reader
from frazil.spark.writing.job import WriteJob

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("country", pa.string())])
# PySpark 4.0 hands streams over row by row.
needs_arrow = pytest.mark.skipif(writer_of_streams.DataSourceStreamArrowWriter is None, reason="PySpark 4.0")
LIMITS = reader_of_streams.limits is not None


def path_of(table: fz.Table) -> str:
    return table.location.removeprefix("file://")


def rows(start: int, end: int) -> pa.Table:
    return pa.table({"id": range(start, end), "country": [("NO", "SE")[i % 2] for i in range(start, end)]})


def ids(table: fz.Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


@pytest.fixture
def source(catalog: fz.Catalog) -> fz.Table:
    return catalog.create_table("db.source", SCHEMA).append(rows(0, 10)).append(rows(10, 20))


@pytest.fixture
def sink(catalog: fz.Catalog) -> fz.Table:
    return catalog.create_table("db.sink", SCHEMA, partition_by=["country"])


def run(spark, source: fz.Table, sink: fz.Table, checkpoint: Path, mode: str = "append", **options: str) -> None:
    """Copies what has come since the last time."""
    stream = spark.readStream.format("frazil").options(**options).load(path_of(source))
    if mode == "complete":
        stream = stream.groupBy("country").count().selectExpr("count as id", "country")
    writer = stream.writeStream.format("frazil").option("checkpointLocation", str(checkpoint)).outputMode(mode)
    writer.trigger(availableNow=True).start(path_of(sink)).awaitTermination()


@needs_arrow
def test_from_table_to_table(spark, source: fz.Table, sink: fz.Table, tmp_path: Path) -> None:
    run(spark, source, sink, tmp_path)
    assert ids(sink) == list(range(20))
    source.append(rows(20, 25)).append(rows(25, 30))
    source.maintain.compact()
    source.append(rows(30, 35))
    run(spark, source, sink, tmp_path)
    assert ids(sink) == list(range(35))
    before = sink.metadata_location
    run(spark, source, sink, tmp_path)
    assert sink.refresh().metadata_location == before
    summary = sink.snapshot.summary
    assert summary["spark.sql.streaming.epochId"] == "1"
    assert len(summary["spark.sql.streaming.queryId"]) == 36


@needs_arrow
def test_a_batch_that_runs_again_is_recognised(spark, source: fz.Table, sink: fz.Table, tmp_path: Path) -> None:
    """As after a driver that died between the commit and Spark's own note of it."""
    run(spark, source, sink, tmp_path)
    (tmp_path / "commits" / "0").unlink()
    (tmp_path / "commits" / ".0.crc").unlink(missing_ok=True)
    files = set(Path(path_of(sink)).rglob("*.parquet"))
    run(spark, source, sink, tmp_path)
    assert ids(sink) == list(range(20))
    assert set(Path(path_of(sink)).rglob("*.parquet")) == files


@needs_arrow
@pytest.mark.parametrize("format_", ["iceberg", "paimon"])
def test_complete_mode_overwrites(
    spark, source: fz.Table, sink: fz.Table, paimon: fz.Catalog, tmp_path: Path, format_: str
) -> None:
    if format_ == "paimon":
        sink = paimon.create_table("db.sink", SCHEMA, partition_by=["country"], format="paimon")
    run(spark, source, sink, tmp_path / "done", "complete")
    assert ids(sink) == [10, 10]
    source.append(rows(20, 25))
    run(spark, source, sink, tmp_path / "done", "complete")
    assert ids(sink) == [12, 13]


@needs_arrow
def test_columns_filters_and_times(spark, source: fz.Table, sink: fz.Table, tmp_path: Path) -> None:
    at = str(int(source.snapshots[1].timestamp.timestamp() * 1000))
    run(spark, source, sink, tmp_path, **{"stream-from-timestamp": at, "filter": "country = 'NO'"})
    assert ids(sink) == [i for i in range(10, 20) if i % 2 == 0]


@needs_arrow
def test_columns_that_come_later_are_left_out(spark, source: fz.Table, sink: fz.Table, tmp_path: Path) -> None:
    run(spark, source, sink, tmp_path)
    reader = FrazilDataSource({"path": path_of(source)})
    started = reader.streamReader(reader.schema())
    start = started.newest()
    source.update_schema().add_column("more", "int").commit()
    source.append(rows(20, 22).append_column("more", pa.array([1, 2], pa.int32())))
    end = started.newest()
    (part,) = started.partitions(start, end)
    (batch,) = started.read(part)
    assert batch.to_pylist() == rows(20, 22).to_pylist()


def test_what_is_no_append(source: fz.Table) -> None:
    def parts(**options: str) -> int:
        data_source = FrazilDataSource({"path": path_of(source), **options})
        reader = data_source.streamReader(data_source.schema())
        found = reader.partitions({"snapshot-id": str(start)}, {"snapshot-id": str(source.snapshot.id)})
        return sum(batch.num_rows for part in found for batch in reader.read(part))

    start = source.snapshot.id
    source.append(rows(20, 25)).delete("id < 3")
    with pytest.raises(fz.UnsupportedError, match=r"has operation 'overwrite'.*streaming-skip-overwrite-snapshots"):
        parts()
    assert parts(**{"streaming-skip-overwrite-snapshots": "true"}) == 5
    start = 12345
    with pytest.raises(fz.NotFoundError, match=r"12345.*start a new query"):
        parts()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"snapshot-id": "1"}, "does not read a single version"),
        ({"tag": "v"}, "does not read a single version"),
        ({"start-snapshot-id": "1"}, "does not read a single version"),
        ({"stream-from-timestamp": "yesterday"}, "stream-from-timestamp"),
        ({"nothing": "1"}, "there is no option 'nothing'"),
    ],
)
def test_wrong_options(source: fz.Table, options: dict[str, str], says: str) -> None:
    data_source = FrazilDataSource({"path": path_of(source), **options})
    with pytest.raises(fz.InvalidInputError, match=says):
        data_source.streamReader(fz.spark.spark_schema(source.schema))


def test_limits(source: fz.Table) -> None:
    source.append(rows(20, 25)).append(rows(25, 30)).append(rows(30, 90))
    options = {"path": path_of(source), "streaming-max-rows-per-micro-batch": "11"}
    data_source = FrazilDataSource(options)
    if not LIMITS:
        with pytest.raises(fz.UnsupportedError, match=r"needs PySpark 4\.2"):
            data_source.streamReader(data_source.schema())
        return
    reader = data_source.streamReader(data_source.schema())
    reader.prepareForTriggerAvailableNow()
    source.append(rows(90, 91))
    ends = [{"snapshot-id": str(source.snapshots[0].id)}]
    while (end := reader.latestOffset(ends[-1], reader.getDefaultReadLimit())) != ends[-1]:
        ends.append(end)
    assert [int(e["snapshot-id"]) for e in ends] == [source.snapshots[i].id for i in (0, 1, 3, 4)]


def test_for_each_batch(spark, source: fz.Table, sink: fz.Table, tmp_path: Path) -> None:
    place = path_of(sink)

    def copy(df, number: int) -> None:
        fz.spark.append(df, place, job_id=f"copy/{number}")
        fz.spark.append(df, place, job_id=f"copy/{number}")

    stream = spark.readStream.format("frazil").load(path_of(source)).writeStream.foreachBatch(copy)
    stream.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()
    assert ids(sink) == list(range(20))


@needs_arrow
def test_an_abort_after_the_commit_deletes_nothing(sink: fz.Table) -> None:
    writer = writer_of_streams.stream_writer(sink, {}, WriteJob())
    written = writer.write(iter(rows(0, 10).to_batches()))
    written.query = "q"
    writer.commit([written, None], 3)
    writer.abort([written, None], 3)
    again = writer.write(iter(rows(0, 10).to_batches()))
    again.query = "q"
    writer.commit([again], 2)
    other = writer.write(iter(rows(10, 12).to_batches()))
    other.query = "another"
    # Nobody knows why all of a job's tasks succeeded and it was given up: perhaps the commit is under way.
    writer.abort([other], 0)
    assert len(list(Path(path_of(sink)).rglob("*.parquet"))) == 4
    writer.abort([other, None], 0)
    assert ids(sink) == list(range(10))
    assert len(list(Path(path_of(sink)).rglob("*.parquet"))) == 2
    with pytest.raises(fz.InternalError, match="do not know the id of their query"):
        writer.commit([writer.write(iter(rows(0, 1).to_batches()))], 4)


def batches(source: fz.Table, start: int | str, **options: str) -> list[dict[str, object]]:
    """What a query that has read up to `start` gets next."""
    data_source = FrazilDataSource({"path": path_of(source), **options})
    reader = data_source.streamReader(data_source.schema())
    parts = reader.partitions({"snapshot-id": str(start)}, reader.newest())
    return [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]


def test_columns_are_known_by_their_ids(source: fz.Table) -> None:
    """Rows that were written under another schema than the one that the query begins with."""
    start = source.snapshots[0].id
    source.update_schema().rename_column("country", "land").add_column("more", "int").commit()
    assert batches(source, start)[0] == {"id": 10, "land": "NO", "more": None}
    assert batches(source, -1)[0] == {"id": 0, "land": "NO", "more": None}
    source.update_schema().drop_column("land").add_column("land", "string").commit()
    assert batches(source, start)[0] == {"id": 10, "more": None, "land": None}


def test_times_that_tell_nothing(source: fz.Table) -> None:
    def begin(**options: str) -> object:
        data_source = FrazilDataSource({"path": path_of(source), **options})
        return data_source.streamReader(data_source.schema()).initialOffset()

    assert begin(**{"stream-from-timestamp": "0"}) == {"snapshot-id": "0"}
    assert [row["id"] for row in batches(source, 0)] == list(range(20))
    source.delete("id < 3")
    with pytest.raises(fz.UnsupportedError, match="can only show appends"):
        batches(source, 0)
    with pytest.raises(fz.InvalidInputError, match="in the future"):
        begin(**{"stream-from-timestamp": "99999999999999"})
    source.maintain.expire_snapshots(older_than=source.snapshots[-1].timestamp, retain_last=1)
    assert len(source.refresh().snapshots) == 1
    with pytest.raises(fz.NotFoundError, match="have expired"):
        begin(**{"stream-from-timestamp": "1"})


def test_schemas_of_users_are_checked(source: fz.Table) -> None:
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    swapped = StructType([StructField("country", StringType()), StructField("id", LongType())])
    with pytest.raises(fz.InvalidInputError, match="does not fit"):
        FrazilDataSource({"path": path_of(source), "columns": "id,country"}).streamReader(swapped)
    assert FrazilDataSource({"path": path_of(source)}).streamReader(swapped).newest()


@needs_arrow
def test_complete_mode_heeds_what_is_replaced(sink: fz.Table) -> None:
    sink.append(rows(0, 10))
    job = WriteJob(operation="overwrite", where="country = 'NO'")
    writer = writer_of_streams.stream_writer(sink, {}, job)
    written = writer.write(iter(rows(100, 101).to_batches()))
    written.query = "q"
    writer.commit([written], 0)
    assert ids(sink) == [1, 3, 5, 7, 9, 100]
    with pytest.raises(fz.InvalidInputError, match="their own names"):
        writer_of_streams.stream_writer(sink, {"job-id": "x"}, job)


@needs_arrow
def test_a_batch_that_was_rolled_back_comes_again(sink: fz.Table) -> None:
    sink.append(rows(0, 1))
    before = sink.snapshot.id
    writer = writer_of_streams.stream_writer(sink, {}, WriteJob())
    for _ in range(2):
        written = writer.write(iter(rows(10, 12).to_batches()))
        written.query = "q"
        writer.commit([written], 0)
        assert ids(sink) == [0, 10, 11]
        sink.rollback(before)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"streaming-skip-delete-snapshots": "yes"}, "true or false"),
        ({"streaming-max-rows-per-micro-batch": "0"}, "1 at least"),
    ],
)
def test_wrong_values(source: fz.Table, options: dict[str, str], says: str) -> None:
    if not LIMITS and "max" in next(iter(options)):
        pytest.skip("PySpark 4.1 has no limits")
    data_source = FrazilDataSource({"path": path_of(source), **options})
    with pytest.raises(fz.InvalidInputError, match=says):
        data_source.streamReader(fz.spark.spark_schema(source.schema))


@pytest.fixture
def paimon(tmp_path: Path) -> fz.Catalog:
    catalog = fz.catalog("p", type="filesystem", warehouse=tmp_path / "paimon")
    catalog.create_namespace("db")
    return catalog


KEYED = pa.schema([pa.field("id", pa.int64(), nullable=False), ("country", pa.string())])
AGE = dt.timedelta(milliseconds=1)


def reader_of(table: fz.Table, **options: str) -> _Reader:
    data_source = FrazilDataSource({"path": path_of(table), **options})
    reader = data_source.streamReader(data_source.schema())
    assert isinstance(reader, _Reader)
    return reader


def came(reader: _Reader, start: int | dict[str, str], end: int | dict[str, str]) -> list[tuple[int, str]]:
    first, last = (place if isinstance(place, dict) else {"snapshot-id": str(place)} for place in (start, end))
    parts = reader.partitions(first, last)
    # Executors don't open the table.
    sent = pickle.loads(cloudpickle.dumps(reader))
    assert not any(isinstance(value, fz.Table) for value in vars(sent).values())
    found = [
        row for part in parts for batch in sent.read(pickle.loads(pickle.dumps(part))) for row in batch.to_pylist()
    ]
    return sorted((row["id"], row["country"]) for row in found)


@needs_arrow
def test_from_paimon_to_both_formats(spark, paimon: fz.Catalog, sink: fz.Table, tmp_path: Path) -> None:
    source = paimon.create_table("db.source", SCHEMA, format="paimon").append(rows(0, 10)).append(rows(10, 20))
    keyed = paimon.create_table("db.sink", KEYED, format="paimon", identifier_fields=["id"])
    for target in (sink, keyed):
        run(spark, source, target, tmp_path / target.format)
        assert ids(target) == list(range(20))
    source.append(rows(20, 25)).maintain.compact(options={"compaction.min.file-num": 2})
    source.append(rows(25, 30))
    source.maintain.expire_snapshots(retain_last=3, older_than=AGE)
    for target in (sink, keyed):
        run(spark, source, target, tmp_path / target.format, filter="id <> 22")
        assert ids(target) == [*range(22), *range(23, 30)]
        run(spark, source, target, tmp_path / target.format)
        assert ids(target) == [*range(22), *range(23, 30)]


@pytest.mark.parametrize("producer", ["none", "input"])
def test_keys_of_paimon(paimon: fz.Catalog, producer: str) -> None:
    """Rows that are inserted or updated come, with Paimon's change log or without it; rows that go do not."""
    options = {"bucket": "2", "changelog-producer": producer}
    table = paimon.create_table("db.t", KEYED, properties=options, format="paimon", identifier_fields=["id"])
    assert reader_of(table).newest() == {"snapshot-id": "-1"}
    for step in (rows(0, 3), rows(2, 4).set_column(1, "country", [["FI", "FI"]])):
        table.upsert(step)
    table.delete_keys(pa.table({"id": pa.array([0], pa.int64())}))
    table.maintain.compact()
    table.upsert(rows(9, 10))
    last = table.snapshot.id
    reader = reader_of(table)
    assert reader.initialOffset() == {"snapshot-id": "-1"}
    assert reader.newest()["snapshot-id"] == str(last)
    assert came(reader, -1, last) == [(1, "SE"), (2, "FI"), (3, "FI"), (9, "SE")]
    assert came(reader, 0, last) == [(0, "NO"), (1, "SE"), (2, "FI"), (2, "NO"), (3, "FI"), (9, "SE")]
    assert came(reader, 1, 2) == [(2, "FI"), (3, "FI")]
    assert came(reader, 2, last) == [(9, "SE")]
    began = reader_of(table, **{"stream-from-timestamp": str(round(table.snapshots[1].timestamp.timestamp() * 1000))})
    assert int(began.initialOffset()["snapshot-id"]) in (0, 1)
    table.maintain.expire_snapshots(retain_last=1, older_than=AGE)
    assert came(reader, last - 1, last) == [(9, "SE")]
    for gone in (1, last + 1):
        with pytest.raises(fz.NotFoundError, match=f"snapshot {gone}.*start a new query"):
            came(reader, gone, last)


def test_what_is_no_append_to_paimon(paimon: fz.Catalog) -> None:
    table = paimon.create_table("db.t", SCHEMA, format="paimon").append(rows(0, 2)).append(rows(2, 4))
    table.overwrite(rows(7, 8)).append(rows(8, 9))
    with pytest.raises(fz.UnsupportedError, match=r"snapshot 3 has operation.*streaming-skip-overwrite-snapshots"):
        came(reader_of(table), 1, 4)
    skipping = reader_of(table, **{"streaming-skip-overwrite-snapshots": "true"})
    assert came(skipping, 1, 4) == [(2, "NO"), (3, "SE"), (8, "NO")]
    for option, value in (("branch", "main"), ("streaming-max-files-per-micro-batch", "1")):
        with pytest.raises(fz.UnsupportedError, match=option):
            reader_of(table, **{option: value})
    if LIMITS:
        limited = reader_of(table, **{"streaming-max-rows-per-micro-batch": "3"})
        ends: list[dict[str, str]] = []
        end = {"snapshot-id": "0"}
        while (after := limited.latestOffset(end, limited.getDefaultReadLimit())) != end:  # type: ignore[attr-defined]
            ends.append(end := after)
        assert [int(end["snapshot-id"]) for end in ends] == [1, 4]
    for overwrites in (False, True):
        with pytest.raises(fz.NotFoundError, match="branch"):
            FrazilDataSource({"path": path_of(table), "branch": "b"}).writer(
                fz.spark.spark_schema(table.schema), overwrites
            )


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"deletion-vectors.enabled": "true"}, "hidden until they are compacted"),
        ({"merge-engine": "first-row"}, "hidden until they are compacted"),
        ({"bucket": "-2"}, "hidden until they are compacted"),
        ({"merge-engine": "partial-update"}, "parts of rows"),
        ({"merge-engine": "aggregation", "changelog-producer": "input"}, "parts of rows"),
        ({"changelog-producer": "lookup"}, "repeat rows.*stream-from-timestamp"),
        ({"changelog-producer": "full-compaction"}, "repeat rows"),
        ({"changelog-producer": "lookup", "deletion-vectors.enabled": "true"}, None),
    ],
)
def test_keys_that_a_stream_would_tell_wrongly(
    paimon: fz.Catalog, properties: dict[str, str], says: str | None
) -> None:
    options = {"bucket": "1", **properties}
    table = paimon.create_table("db.t", KEYED, properties=options, format="paimon", identifier_fields=["id"])
    if says is None:
        assert reader_of(table).newest() == {"snapshot-id": "-1"}
        return
    with pytest.raises(fz.UnsupportedError, match=says):
        reader_of(table)
    if "repeat rows" in says:
        reader = reader_of(table, **{"stream-from-timestamp": "0"})
        assert reader.initialOffset() == reader.newest() == {"snapshot-id": "0"}
        table.upsert(rows(0, 1))
        table.maintain.compact()
        assert came(reader, 0, table.snapshot.id) == [(0, "NO")]


def test_rows_with_columns_in_several_files(paimon: fz.Catalog) -> None:
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    table = paimon.create_table("db.t", SCHEMA, properties=options, format="paimon")
    with pytest.raises(fz.UnsupportedError, match="are in several files"):
        reader_of(table)


def test_numbers_that_come_again(paimon: fz.Catalog) -> None:
    """After a rollback, and in a table that was made again, snapshots have numbers that a stream has read before."""
    table = paimon.create_table("db.t", SCHEMA, format="paimon")
    for i in range(4):
        table.append(rows(i, i + 1))
    read = reader_of(table).newest()
    table.rollback(to=2)
    with pytest.raises(fz.NotFoundError, match=r"snapshot 4.*start a new query"):
        came(reader_of(table), read, 2)
    for i in range(20, 23):
        table.append(rows(i, i + 1))
    with pytest.raises(fz.NotFoundError, match=r"snapshot 4.*start a new query"):
        came(reader_of(table), read, 5)
    with pytest.raises(fz.NotFoundError, match=r"snapshot 4.*start a new query"):
        came(reader_of(table), -1, read)
    again = reader_of(table).newest()
    table.append(rows(23, 24))
    assert came(reader_of(table), again, 6) == [(23, "SE")]


def test_options_that_change_meanwhile(paimon: fz.Catalog) -> None:
    options = {"bucket": "1"}
    table = paimon.create_table("db.t", KEYED, properties=options, format="paimon", identifier_fields=["id"])
    table.upsert(rows(1, 2))
    read = reader_of(table).newest()
    table.upsert(rows(2, 3))
    table.set_properties({"snapshot.num-retained.max": "100"})
    table.upsert(rows(3, 4))
    assert came(reader_of(table), read, 3) == [(2, "NO"), (3, "SE")]
    table.set_properties({"changelog-producer": "input"})
    table.upsert(rows(4, 5))
    with pytest.raises(fz.UnsupportedError, match="snapshot 2 was written with other options"):
        came(reader_of(table), read, 4)
    assert came(reader_of(table), 3, 4) == [(4, "NO")]
    with pytest.raises(fz.UnsupportedError, match="snapshot 1 was written with other options"):
        came(reader_of(table, **{"stream-from-timestamp": "0"}), 0, 4)


def test_catalogs_in_databases(spark, tmp_path: Path) -> None:
    """Their tables are not found by their location."""
    sql_catalog = fz.catalog("sql", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path / "w"))
    sql_catalog.create_namespace("db")
    source = sql_catalog.create_table("db.source", pa.schema([("id", pa.int64())])).append(pa.table({"id": range(5)}))
    target = sql_catalog.create_table("db.target", source.schema)
    if writer_of_streams.DataSourceStreamArrowWriter is None:
        with pytest.raises(fz.UnsupportedError, match="row by row"):
            fz.spark.write_stream(spark.readStream.format("rate").load(), target)
        return
    for rows in (5, 8):
        stream = spark.readStream.format("frazil").load(source.location)
        writer = fz.spark.write_stream(stream, target, snapshot_properties={"Why": "test"})
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        writer.start().awaitTermination()
        found = sql_catalog.load_table("db.target")
        assert found.scan().count() == rows
        assert found.snapshot.summary["Why"] == "test"
        source.append(pa.table({"id": range(5, 8)}))
    with pytest.raises(fz.InvalidInputError, match="not a stream"):
        fz.spark.write_stream(spark.range(3), target)
