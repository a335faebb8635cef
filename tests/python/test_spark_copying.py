"""COPY INTO: values that do not fit, names of files and folders, and settings. Expected values are by hand."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz

pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")
pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int32()), ("v", pa.string()), ("n", pa.int64())])


@pytest.fixture
def lake(tmp_path: Path) -> fz.Catalog:
    catalog = fz.catalog("lake", warehouse=tmp_path / "lake")
    catalog.create_namespace("db")
    catalog.create_table("db.t", SCHEMA, format="paimon")
    return catalog


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


@pytest.fixture
def run(spark: Any, lake: fz.Catalog) -> Callable[[str], list[tuple[Any, ...]]]:
    """Runs a statement and returns its rows."""
    return lambda statement: [tuple(row) for row in fz.spark.sql(spark, statement, catalogs={"lake": lake}).collect()]


def load(folder: object, format_: str = "CSV", more: str = "", table: str = "t") -> str:
    return f"COPY INTO lake.db.{table} FROM '{folder}' FILE_FORMAT = (TYPE = {format_}) {more}"


def values(lake: fz.Catalog, table: str = "t") -> list[tuple[Any, ...]]:
    rows = lake.load_table(f"db.{table}").scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=str)


def test_parquet_files_with_different_columns(run: Any, lake: fz.Catalog, files: Path) -> None:
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), files / "a.parquet")
    pq.write_table(pa.table({"id": pa.array([2], pa.int32()), "v": ["x"], "N": [7]}), files / "b.parquet")
    run(load(files, "PARQUET"))
    assert values(lake) == [(1, None, None), (2, "x", 7)]


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (pa.array([1.0, 1.9]), "1.9"),
        (pa.array([2**31]), "2147483648"),
        (pa.array([Decimal("2.50")]), "2.50"),
        (pa.array(["1", "1.5"]), "1.5"),
        (pa.array([[1]]), "from array"),
    ],
)
def test_parquet_values_that_do_not_fit(run: Any, lake: fz.Catalog, files: Path, column: pa.Array, shown: str) -> None:
    pq.write_table(pa.table({"id": column}), files / "a.parquet")
    with pytest.raises(fz.FrazilError, match=f"column 'id'.*{shown}"):
        run(load(files, "PARQUET"))
    assert values(lake) == []


def test_parquet_values_that_fit(run: Any, lake: fz.Catalog, files: Path) -> None:
    column = pa.array([3.0, -0.0, None])
    pq.write_table(pa.table({"id": column, "v": [5, 6, 7], "n": ["8", None, "9"]}), files / "a.parquet")
    run(load(files, "PARQUET"))
    assert values(lake) == [(0, "6", None), (3, "5", 8), (None, "7", 9)]


TYPED = [
    (pa.decimal128(5, 2), "1.50", Decimal("1.50")),
    (pa.decimal128(5, 2), "1.500", Decimal("1.50")),
    (pa.decimal128(5, 2), "15e-1", Decimal("1.50")),
    (pa.decimal128(5, 2), "1.555", None),
    (pa.decimal128(5, 2), "1555e-3", None),
    (pa.date32(), "2024-01-02", "2024-01-02"),
    (pa.date32(), "2024-01-02 10:00:00", None),
    (pa.timestamp("us"), "2024-01-02 00:00:00.123456000", "2024-01-02 00:00:00.123456"),
    (pa.timestamp("us"), "2024-01-02 00:00:00.1234567", None),
    (pa.float64(), "0.1", 0.1),
    (pa.float64(), "-inf", float("-inf")),
    (pa.float64(), "1e999", None),
]


@pytest.mark.parametrize(("type_", "text", "value"), TYPED, ids=lambda one: str(one))
def test_texts_keep_their_value(
    run: Any, lake: fz.Catalog, files: Path, type_: pa.DataType, text: str, value: object
) -> None:
    lake.create_table("db.typed", pa.schema([("c", type_)]), format="paimon")
    (files / "a.csv").write_text(f"{text}\n")
    if value is None:
        with pytest.raises(fz.InvalidInputError, match=f"column 'c' can't have the value {text}"):
            run(load(files, table="typed"))
        return
    run(load(files, table="typed"))
    ((found,),) = values(lake, "typed")
    assert found == value or str(found) == value


def test_keys_of_json_in_any_case(run: Any, lake: fz.Catalog, files: Path) -> None:
    (files / "a.json").write_text('{"ID":1,"V":"x","more":[1]}\n\n{"Id":2,"v":{"q":1},"n":4}\n[{"id":3},{"iD":4}]\n')
    assert run(load(files, "JSON")) == [("a.json", "LOADED", 4, 4, 0, None)]
    assert values(lake) == [(1, "x", None), (2, '{"q":1}', 4), (3, None, None), (4, None, None)]
    (files / "a.json").write_text('{"id":5,"n":4.7}\n')
    with pytest.raises(fz.InvalidInputError, match=r"column 'n' can't have the value 4\.7"):
        run(load(files, "JSON"))
    for wrong in ('{"id":5,"ID":6}\n', '{"id":\n', "what\n"):
        (files / "a.json").write_text(wrong)
        with pytest.raises(fz.InvalidInputError, match="the files can't be loaded"):
            run(load(files, "JSON"))
    assert len(values(lake)) == 4


def test_names_of_files_and_folders(run: Any, lake: fz.Catalog, files: Path) -> None:
    odd = files / "a [b] %20é"
    for folder in (odd, files / "p=1", files / "in"):
        folder.mkdir()
    (odd / "c d%20[1].csv").write_text("1,x,1\n")
    (files / "plain.csv").write_text("2,x,1\n")
    (files / "p=1/part.csv").write_text("3,x,1\n")
    (files / "in/inner.csv").write_text("4,x,1\n")
    loaded = ("LOADED", 1, 1, 0, None)
    assert run(load(odd)) == [("c d%20[1].csv", *loaded)]
    assert run(load(odd)) == [("c d%20[1].csv", "SKIPPED", 0, 0, 0, None)]
    assert run(load(odd / "c d%20[1].csv", more="FORCE = TRUE")) == [("c d%20[1].csv", *loaded)]
    assert run(load(f"{files}//")) == [("plain.csv", *loaded)]
    assert run(load(f"file://{files}/p=1")) == [("part.csv", *loaded)]
    assert [row[0] for row in values(lake)] == [1, 1, 2, 3]
    for wrong, hint in [(files / "*.csv", "PATTERN"), (files / "none", "Name a folder or a file")]:
        with pytest.raises(fz.NotFoundError, match=hint):
            run(load(wrong))


def test_empty_files_are_loaded(run: Any, lake: fz.Catalog, files: Path) -> None:
    (files / "a.csv").write_text("")
    assert run(load(files)) == [("a.csv", "LOADED", 0, 0, 0, None)]
    assert lake.load_table("db.t").snapshot is None
    (files / "b.csv").write_text("1,x,2\n")
    assert run(load(files)) == [("a.csv", "LOADED", 0, 0, 0, None), ("b.csv", "LOADED", 1, 1, 0, None)]
    (record,) = lake.load_table("db.t").inspect.loads().to_pylist()
    assert record["file_path"] == f"file:{files}/b.csv"


def test_settings_and_rows_that_are_wrong(run: Any, lake: fz.Catalog, files: Path) -> None:
    (files / "a.csv").write_text("1,x,2\n")
    out = f"COPY INTO '{files}/out' FROM"
    for statement, error in [
        (load(files, more="PATTERN = '('"), "no regular expression"),
        (load(files, more="FORCE = maybe"), "FORCE must be TRUE or FALSE"),
        (load(files, "CSV, EMPTY_FIELD_AS_NULL = yes"), "EMPTY_FIELD_AS_NULL must be"),
        (load(files, "JSON, MULTI_LINE = 1"), "MULTI_LINE must be"),
        (f"{out} lake.db.t FILE_FORMAT = (TYPE = CSV) OVERWRITE = perhaps", "OVERWRITE must be"),
        (f"{out} lake.db.t FILE_FORMAT = (TYPE = CSV, HEADER = 1)", "HEADER must be"),
        (f"{out} (DELETE FROM lake.db.t WHERE true) FILE_FORMAT = (TYPE = CSV)", "takes a query"),
        (f"{out} (DROP TABLE lake.db.t) FILE_FORMAT = (TYPE = CSV)", "takes a query"),
    ]:
        with pytest.raises(fz.InvalidInputError, match=error):
            run(statement)
    for row in ("1,x", "1,x,2,3"):
        (files / "a.csv").write_text(f"{row}\n")
        with pytest.raises(fz.InvalidInputError, match=f"the files can't be loaded: .*{row}"):
            run(load(files))
    assert values(lake) == []
