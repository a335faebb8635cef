"""SQL statements of Paimon's pages in more detail than the pages show: COPY INTO, functions, exact types, replacing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from sql_fixtures import empty_lake as lake

pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")
pytestmark = pytest.mark.spark
__all__ = ["lake"]


@pytest.fixture
def run(spark: Any, lake: fz.Catalog) -> Any:
    """Runs a statement and returns its rows."""
    return lambda statement: fz.spark.sql(spark, statement, catalogs={"lake": lake}).collect()


SCHEMA = pa.schema([("id", pa.int32()), ("v", pa.string()), ("n", pa.int64())])


def table(lake: fz.Catalog) -> fz.Table:
    return lake.create_table("db.t", SCHEMA, format="paimon")


def values(lake: fz.Catalog) -> list[tuple[Any, ...]]:
    rows = lake.load_table("db.t").scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=str)


def test_files_are_loaded_once(run: Any, lake: fz.Catalog, tmp_path: Path) -> None:
    table(lake)
    files = tmp_path / "in"
    files.mkdir()
    (files / "a.csv").write_text("1,x,10\n2,y,20\n")
    (files / "skipped.txt").write_text("what is this\n")
    (files / "inner").mkdir()
    (files / "inner/c.csv").write_text("7,z,70\n")
    load = f"COPY INTO lake.db.t FROM '{files}' FILE_FORMAT = (TYPE = CSV) PATTERN = '.*\\\\.csv'"
    assert [tuple(row) for row in run(load)] == [("a.csv", "LOADED", 2, 2, 0, None)]
    assert values(lake) == [(1, "x", 10), (2, "y", 20)]
    assert [tuple(row) for row in run(load)] == [("a.csv", "SKIPPED", 0, 0, 0, None)]
    (record,) = (Path(lake.load_table("db.t").location) / "copy-into/history").iterdir()
    said = json.loads(record.read_text())
    # The name has the hash of the path, as Java's: sha256(path).substring(0, 16).
    assert said["filePath"] == f"file:{files}/a.csv"
    assert (said["fileSize"], said["rowsLoaded"], said["snapshotId"]) == (14, 2, 1)
    assert said["lastModified"] == os.stat(files / "a.csv").st_mtime_ns // 1_000_000
    (files / "b.csv").write_text("3,,\n")
    assert [(row.file_name, row.status) for row in run(load)] == [("b.csv", "LOADED"), ("a.csv", "SKIPPED")]
    assert (3, None, None) in values(lake)
    (files / "b.csv").write_text("4,,\n5,,\n")
    assert [(row.file_name, row.rows_loaded) for row in run(load)] == [("b.csv", 2), ("a.csv", 0)]
    assert [row.status for row in run(f"{load} FORCE = TRUE")] == ["LOADED", "LOADED"]
    assert len(values(lake)) == 9
    assert len(lake.load_table("db.t").inspect.loads()) >= 4


def test_options_of_files(run: Any, lake: fz.Catalog, tmp_path: Path) -> None:
    table(lake)
    (tmp_path / "a").write_text("id|v\n1|NULL\n2|none\n3|''\n")
    options = "TYPE = CSV, FIELD_DELIMITER = '|', SKIP_HEADER = 1, NULL_IF = ('NULL', 'none')"
    run(f"COPY INTO lake.db.t (n, v) FROM '{tmp_path}/a' FILE_FORMAT = ({options})")
    assert values(lake) == [(None, "''", 3), (None, None, 1), (None, None, 2)]
    (tmp_path / "b").write_text('[{"v": "x", "n": 7, "more": 1},\n {"id": 8}]')
    run(f"COPY INTO lake.db.t FROM '{tmp_path}/b' FILE_FORMAT = (TYPE = JSON, MULTI_LINE = TRUE)")
    assert (None, "x", 7) in values(lake)
    assert (8, None, None) in values(lake)
    run(f"COPY INTO '{tmp_path}/out' FROM (SELECT 9 AS N, 'p' AS other) FILE_FORMAT = (TYPE = PARQUET)")
    run(f"COPY INTO lake.db.t FROM '{tmp_path}/out' FILE_FORMAT = (TYPE = PARQUET)")
    assert (None, None, 9) in values(lake)
    before = values(lake)
    for text, error in [
        (f"FROM '{tmp_path}/a' FILE_FORMAT = (TYPE = CSV, FIELD_DELIMITER = '|', SKIP_HEADER = 2)", "SKIP_HEADER"),
        (f"FROM '{tmp_path}/a' FILE_FORMAT = (TYPE = CSV, HEADER = TRUE)", "no option 'HEADER'"),
        (f"FROM '{tmp_path}/a' FILE_FORMAT = (TYPE = ORC)", "type 'ORC'"),
        (f"FROM '{tmp_path}/a' FILE_FORMAT = (TYPE = CSV) ON_ERROR = CONTINUE", "ON_ERROR"),
        (f"(none) FROM '{tmp_path}/a' FILE_FORMAT = (TYPE = CSV)", "no column 'none'"),
        (f"FROM '{tmp_path}/a' (TYPE = CSV)", "FILE_FORMAT"),
    ]:
        with pytest.raises(fz.FrazilError, match=error):
            run(f"COPY INTO lake.db.t {text}")
    (tmp_path / "wrong").write_text("1,x,ten\n2,y,20\n")
    with pytest.raises(Exception, match="ten"):
        run(f"COPY INTO lake.db.t FROM '{tmp_path}/wrong' FILE_FORMAT = (TYPE = CSV)")
    assert values(lake) == before


def test_rows_are_copied_into_files(run: Any, lake: fz.Catalog, tmp_path: Path) -> None:
    table(lake).append(pa.Table.from_pylist([{"id": 1, "v": "x", "n": 5}], SCHEMA))
    out = f"COPY INTO '{tmp_path}/out' FROM lake.db.t FILE_FORMAT = (TYPE = CSV, HEADER = TRUE, FIELD_DELIMITER = ';')"
    assert [tuple(row) for row in run(out)] == [(f"{tmp_path}/out", 1, 1)]
    (file,) = (tmp_path / "out").glob("part-*")
    assert file.read_text() == "id;v;n\n1;x;5\n"
    with pytest.raises(Exception, match=r"(?i)exist"):
        run(out)
    run(f"{out} OVERWRITE = TRUE")


def test_the_greatest_partition(run: Any, lake: fz.Catalog) -> None:
    schema = pa.schema([("id", pa.int32()), ("day", pa.date32()), ("p", pa.string())])
    made = lake.create_table("db.d", schema, partition_by=["day", "p"], format="paimon")
    with pytest.raises(fz.InvalidInputError, match="no partition with rows"):
        run("SELECT sys.max_pt('lake.db.d')")
    rows = [{"id": 1, "day": None, "p": "z"}, {"id": 2, "day": 19000, "p": "b"}, {"id": 3, "day": 19001, "p": "a"}]
    made.append(
        pa.Table.from_pylist(rows, pa.schema([("id", pa.int32()), ("day", pa.int32()), ("p", pa.string())])).cast(
            schema
        )
    )
    assert run("SELECT sys.max_pt('lake.db.d')")[0][0] == "2022-01-09"
    assert [row.id for row in run("SELECT id FROM lake.db.d WHERE day = lake.sys.max_pt('db.d')")] == [3]
    table(lake)
    with pytest.raises(fz.InvalidInputError, match="has no partitions"):
        run("SELECT sys.max_pt('lake.db.t')")
    with pytest.raises(fz.InvalidInputError, match="as a text"):
        run("SELECT sys.max_pt(id) FROM lake.db.t")


def test_descriptors(spark: Any, run: Any) -> None:
    # Version 1 has no mark. The bytes are by hand, after the layout in Java's BlobDescriptor.
    first = b"\x01\x02\0\0\0ab" + (4).to_bytes(8, "little") + (9).to_bytes(8, "little")
    found = run(f"SELECT lake.sys.descriptor_to_string(X'{first.hex()}'), sys.descriptor_to_string(NULL)")
    assert tuple(found[0]) == ("BlobDescriptor{version=1, uri='ab', offset=4, length=9}", None)
    for wrong in ("", "03", "02" * 40, "01ff000000"):
        with pytest.raises(Exception, match="no descriptor"):
            run(f"SELECT sys.descriptor_to_string(X'{wrong}')")
    ff = fz.spark.functions
    frame = spark.createDataFrame([("x",), (None,)], "p string").select(ff.path_to_descriptor("p").alias("d"))
    texts = [row[0] for row in frame.select(ff.descriptor_to_string("d")).collect()]
    assert texts == ["BlobDescriptor{version=2, uri='x', offset=0, length=-1}", None]


def test_exact_types(run: Any, lake: fz.Catalog) -> None:
    run("CREATE TABLE lake.db.t (a VARCHAR(3), b CHAR(2), c TINYINT, d SMALLINT, e STRING) USING paimon")
    schema = json.loads((Path(lake.load_table("db.t").location) / "schema/schema-0").read_text())
    types = [field["type"] for field in schema["fields"]]
    assert types == ["VARCHAR(3)", "CHAR(2)", "TINYINT", "SMALLINT", "STRING"]
    run("INSERT INTO lake.db.t VALUES ('abc', 'de', 127, 32767, 'long text')")
    assert [tuple(row) for row in run("SELECT * FROM lake.db.t")] == [("abc", "de", 127, 32767, "long text")]
    for wrong in ("('abcd', 'de', 1, 1, '')", "('a', 'def', 1, 1, '')", "('a', 'd', 128, 1, '')"):
        with pytest.raises(Exception, match=r"(?i)not a value of the type|out of range|overflow"):
            run(f"INSERT INTO lake.db.t VALUES {wrong}")
    assert lake.load_table("db.t").scan().count() == 1
    for wrong in ("ADD COLUMN f VARCHAR(3)", "ALTER COLUMN e TYPE VARCHAR(3)"):
        with pytest.raises(fz.UnsupportedError, match="can't get the type"):
            run(f"ALTER TABLE lake.db.t {wrong}")
    with pytest.raises(fz.UnsupportedError, match="has a part of a type"):
        run("CREATE TABLE lake.db.n (a STRUCT<b: VARCHAR(3)>) USING paimon")


def test_deleted_rows_are_no_increment(run: Any, lake: fz.Catalog) -> None:
    run("CREATE TABLE lake.db.t (k INT, v STRING) USING paimon TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    for statement in ("INSERT INTO lake.db.t VALUES (1, 'a'), (2, 'b')", "DELETE FROM lake.db.t WHERE k = 1"):
        run(statement)
    run("INSERT INTO lake.db.t VALUES (3, 'c')")
    found = run("SELECT * FROM paimon_incremental_query('lake.db.t', 1, 3)")
    assert [tuple(row) for row in found] == [(3, "c")]


def test_automatic_tags_without_a_tag_before(run: Any, lake: fz.Catalog) -> None:
    table(lake).append(pa.Table.from_pylist([{"id": 1}], SCHEMA)).refs.create_tag("2024-12-04")
    found = "SELECT * FROM paimon_incremental_to_auto_tag('lake.db.t', '{}')"
    assert run(found.format("2024-12-04")) == run(found.format("2024-12-05")) == []
    with pytest.raises(fz.InvalidInputError, match="not the name of an automatic tag"):
        run(found.format("other"))


@pytest.fixture
def hive(spark: Any) -> Any:
    """A database of Spark's own catalog."""
    spark.sql("CREATE DATABASE spark_catalog.hive_types")
    yield "spark_catalog.hive_types"
    spark.sql("DROP DATABASE spark_catalog.hive_types CASCADE")


def test_migrated_tables_keep_their_types(run: Any, spark: Any, lake: fz.Catalog, hive: str) -> None:
    spark.sql(
        f"CREATE TABLE {hive}.t (a TINYINT, b VARCHAR(3), c CHAR(4), d SMALLINT COMMENT 'about d', e STRING) "
        "USING parquet COMMENT 'about it'"
    )
    spark.sql(f"INSERT INTO {hive}.t VALUES (1, 'abc', 'de', 2, 'long text')")
    run("CALL lake.sys.migrate_table(source_type => 'hive', table => 'hive_types.t', target_table => 'db.t')")
    made = lake.load_table("db.t")
    schema = json.loads((Path(made.location) / "schema/schema-0").read_text())
    assert [field["type"] for field in schema["fields"]] == ["TINYINT", "VARCHAR(3)", "CHAR(4)", "SMALLINT", "STRING"]
    assert (made.properties["comment"], schema["fields"][3]["description"]) == ("about it", "about d")
    # Spark fills CHAR with blanks.
    assert list(made.scan().to_arrow().to_pylist()[0].values()) == [1, "abc", "de  ", 2, "long text"]
    assert not spark.catalog.tableExists(f"{hive}.t")
    spark.sql(f"CREATE TABLE {hive}.n (a STRUCT<b: VARCHAR(3)>) USING parquet")
    with pytest.raises(fz.UnsupportedError, match="has a part of a type"):
        run("CALL lake.sys.migrate_table(source_type => 'hive', table => 'hive_types.n', target_table => 'db.n')")
    assert spark.catalog.tableExists(f"{hive}.n")
    assert not lake.table_exists("db.n")


def test_views_are_not_migrated(
    run: Any, spark: Any, lake: fz.Catalog, hive: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.sql(f"CREATE TABLE {hive}.t USING parquet AS SELECT 1 AS id")
    spark.sql(f"CREATE VIEW {hive}.v AS SELECT 2 AS id")
    with pytest.raises(fz.InvalidInputError, match="is a view"):
        run("CALL lake.sys.migrate_table(source_type => 'hive', table => 'hive_types.v')")
    call = "CALL lake.sys.migrate_table(source_type => 'hive', table => 'hive_types.t')"
    own = type(spark).sql

    def failing(self: Any, text: str, *args: Any, **more: Any) -> Any:
        if text.startswith("DROP TABLE"):
            raise PermissionError("not allowed")
        return own(self, text, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(type(spark), "sql", failing)
        with pytest.raises(PermissionError):
            run(call)
    assert not lake.table_exists("hive_types.t")
    assert spark.catalog.tableExists(f"{hive}.t")
    said = run("CALL lake.sys.migrate_database(source_type => 'hive', database => 'hive_types')")
    assert said[0][0] == "migrate database is finished, success cnt: 1 , failed cnt: 0"
    assert lake.list_tables("hive_types") == ["hive_types.t"]
    assert spark.catalog.tableExists(f"{hive}.v")


def test_only_missing_files_are_removed(run: Any, lake: fz.Catalog) -> None:
    made = table(lake)
    for i in range(3):
        made.append(pa.Table.from_pylist([{"id": i}], SCHEMA))
    paths = [Path(file.data_file.path.removeprefix("file:")) for file in made.scan().plan_files()]
    whole = paths[1].read_bytes()
    paths[0].unlink()
    paths[1].write_bytes(whole[:-1])
    for dry_run in ("true", "false"):
        with pytest.raises(fz.UnsupportedError, match=r"1 files that exist are damaged.*table\.repair"):
            run(f"CALL lake.sys.remove_unexisting_files(table => 'db.t', dry_run => {dry_run})")
    paths[1].write_bytes(whole)
    call = "CALL lake.sys.remove_unexisting_files(table => 'db.t'{})"
    for more in (", dry_run => true", ""):
        assert [Path(row[0]).name for row in run(call.format(more))] == [paths[0].name]
    assert lake.load_table("db.t").scan().count() == 2
    assert run(call.format("")) == []
