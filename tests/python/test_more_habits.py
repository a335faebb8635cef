"""More lines from habit: modules, operators, values of other types, and names of results."""

from __future__ import annotations

import datetime as dt
import importlib
import pickle
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import frazil as fz
from frazil import col
from habit_fixtures import catalog

__all__ = ["catalog"]

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "city": ["Oslo", "Bergen", "Oslo"], "x": [0.5, None, 1.5]})


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    return catalog.create_table("db.t", data=ROWS)


def known(catalog: fz.Catalog, table: fz.Table) -> dict[str, Any]:
    names = {"fz": fz, "pa": pa, "pc": pc, "pl": pl, "pd": pd, "np": np, "dt": dt, "col": col, "ROWS": ROWS}
    return {**names, "catalog": catalog, "table": table, "scan": table.scan(), "first": table.snapshot.id}


ANSWERED = [
    # The package and its modules.
    ("fz.scan_delta('x')", "frazil.open_table(path).scan().to_polars(lazy=True)"),
    ("fz.read_parquet('x')", "Polars' `read_parquet` is `polars.read_parquet(…), whose frame `table.append` takes`"),
    ("fz.iceberg_scan('x')", "frazil.open_table(path)"),
    ("fz.DataFrame({})", "polars.DataFrame"),
    ("fz.int64()", "pyarrow.int64"),
    ("fz.date(2026, 1, 1)", "datetime.date"),
    ("fz.and_(1, 2)", "left & right"),
    ("fz.F.col('x')", "pyspark.sql.functions"),
    ("fz.show_versions()", "frazil.__version__"),
    ("fz.set_log_level('debug')", "logging.getLogger('frazil')"),
    ("fz.CatalogFactory.create({})", "frazil.catalog(warehouse=…)"),
    ("fz.TableNotExistException", "frazil.NotFoundError"),
    ("fz.DeltaError", "frazil.FrazilError"),
    ("fz.table('db.t')", "'frazil.table' is a module, not a function: write `frazil.load_table(name)"),
    ("fz.schema([('id', pa.int64())])", "write `pyarrow.schema("),
    ("fz.expr('id > 1')", "write `scan('x > 5')"),
    ("exec('from frazil.catalog import load_catalog')", "cannot import name 'load_catalog' from 'frazil.catalog'"),
    ("exec('from frazil.catalog import load_catalog')", "PyIceberg's `load_catalog` is `frazil.catalog('name')` here"),
    ("exec('from frazil.schema import NestedField')", "a field of a pyarrow.schema"),
    ("exec('from frazil.exceptions import NoSuchTableError')", "frazil.NotFoundError"),
    ("exec('from frazil.expr import lit')", "a Python value"),
    ("exec('from frazil.transforms import days')", "day('x')"),
    ("exec('from frazil.scan import load_table')", "write `frazil.load_table`"),
    ("exec('from frazil import types')", "pyarrow's types, as in pyarrow.int64()"),
    ("fz.exceptions.CommitFailedException", "frazil.CommitConflictError"),
    ("fz.variant.parse_json('{}')", "frazil.variant.from_json(texts)"),
    # Operators.
    ("table['id']", "rows and columns come from a scan"),
    ("list(table)", "rows and columns come from a scan"),
    ("[row for row in table]", "rows and columns come from a scan"),
    ("len(table)", "`table.scan().count()`"),
    ("exec('with table as t: pass')", "a table needs no `with`"),
    ("pl.DataFrame(table)", "a table is not its rows: write `table.scan()`"),
    ("pa.table(table)", "a table is not its rows: write `table.scan()`"),
    ("scan['id']", "The first rows are `scan.head(n)`"),
    ("len(scan)", "`scan.count()`"),
    ("next(scan)", "is not an iterator"),
    ("catalog['db.t']", "`catalog.load_table('namespace.table')`"),
    ("list(catalog)", "`catalog.list_tables()`"),
    ("'db.t' in catalog", "`catalog.table_exists(name)`"),
    ("exec('with catalog as c: pass')", "a catalog needs no `with`"),
    ("table.inspect['files']", "`table.inspect.files()`"),
    ("table.snapshot['id']", "'Snapshot' object is not a dictionary: write `.id`"),
    ("table.last_commit['rows']", "its attributes are snapshot_id, operation, rows_added"),
    ("col('p')['a']", "`frazil.col('struct.member')`"),
    ("'O' in col('city')", "`col('x').contains(text)`"),
    ("~col('flag')", "`~col('x').is_true()`"),
    ("col('id') == 1 & col('id') == 2", "put parentheses around each comparison"),
    ("col('id') ** 2", "`col('x') * col('x')`"),
    ("col('id') // 2", "a filter divides by `/`"),
    ("(col('id') == 1) ^ (col('id') == 2)", "`(a & ~b) | (~a & b)`"),
    # Names of neighbours.
    ("table.to_duckdb()", "write `scan().to_duckdb(…)`"),
    ("table.data_files()", "write `inspect.data_files(…)`"),
    ("table.fetchall()", "DuckDB's `fetchall` is `scan().to_arrow().to_pylist()` here"),
    ("table.sample(2)", "Spark's `sample` is `scan().to_spark(spark).sample` here"),
    ("table.drop_columns(['a'])", "update_schema().drop_column(…) for each"),
    ("table.city", "`city` is a column: write `scan(select='city')`"),
    ("table.appnd(ROWS)", "did you mean `append`?"),
    ("catalog.append('db.t', ROWS)", "write `load_table(name).append(…)`"),
    ("scan.plan()[0].to_pandas()", "write `to_arrow().to_pandas(…)`"),
    ("next(iter(scan.plan_files())).record_count", "data_file.record_count"),
    # Names of pypaimon, delta-rs and others.
    ("table.new_read_builder()", "pypaimon's `new_read_builder` is `scan(…)` here"),
    ("table.new_batch_write_builder()", "append(data), or writer() and commit(messages)"),
    ("table.writer().write_arrow(ROWS)", "write(data)"),
    ("scan.with_projection(['id'])", "select(…)"),
    ("table.restoreToVersion(1)", "rollback(to=id)"),
    ("table.alias('t')", "merge(data, on=…)"),
    ("table.checkout(1)", "scan(at=…)"),
    ("table.append(ROWS).last_commit.rows_inserted", "PyIceberg's `rows_inserted` is `rows_added` here"),
    ("table.maintain.compact().rewritten_data_files_count", "rewritten_files"),
    ("table.maintain.expire_snapshots(dry_run=True).deleted_data_files_count", "len(data_files)"),
    ("table.refs.delete('b')", "drop(name)"),
    ("table.schema.items()", "fields"),
    ("table.schema['id'].dtype", "type"),
    ("table.schema[0]", "schema.fields[0]"),
    ("col('city').str.lower()", "without `str`,"),
    ("col('ts').dt.year()", "frazil.year('x')"),
    ("col('id').fill_null(0)", "(col('x') == value) | col('x').is_null()"),
    ("col('id').in_([1])", "is_in(values)"),
    # Arguments.
    ("table.scan(timestamp_as_of='2026')", "Spark's `timestamp_as_of` is `at` here"),
    ("table.scan(batch_size=10)", "options={'batch-rows': …}"),
    ("catalog.create_table('db.n', ROWS.schema, format_version=3)", "properties={'format-version': '3'}"),
    ("catalog.drop_namespace('db', cascade=True)", "drop_table(…) for each of list_tables(namespace)"),
    ("table.append(ROWS, schema_mode='merge')", "update_schema().union_by_name(schema)"),
    ("table.overwrite(ROWS, mode='dynamic')", "overwrite_partitions(data)"),
    ("table.update(updates={'city': \"'X'\"}, where='id = 1')", "with Python values and no SQL"),
    ("table.maintain.expire_snapshots(retention_hours=1)", "`retention_hours` is `older_than` here"),
    ("scan.where(col('id') == 1, col('x') > 0)", "combine conditions by &"),
    ("scan.to_polars(True)", "to_polars(lazy=True)"),
    ("col('id').is_in(1, 2)", "Term.is_in(): too many positional arguments: write the values as one list"),
    ("col('id').between(1)", "Term.between(): missing a required argument: 'high'"),
    ("col('id').between(1, 2, inclusive='left')", "pandas' `inclusive` is"),
    ("fz.bucket(num_buckets=16, column='id')", "PyIceberg's `num_buckets` is `buckets` here"),
    # Values.
    ("table.scan([('id', '=', 1)])", "Write each as a comparison"),
    ("table.scan([col('id') == 1, col('x') > 0])", "Combine them by & or |"),
    ("table.scan(['id'])", "Columns are given by select=[…]"),
    ("table.scan({'id': 1})", "Write comparisons, combined by &"),
    ("table.scan(ROWS.to_pandas()['id'] > 1)", "A filter is a condition, not a value for each row"),
    ("table.scan(lambda row: True)", "A filter is a condition, not a function"),
    ("table.scan(col('id'))", "Compare it with a value"),
    ("table.scan(select='*')", "Leave select out to read all columns"),
    ("table.scan(select='id, city')", "Give a list of names: ['id', 'city']"),
    ("table.scan(select='id as a')", "Columns keep their names here"),
    ("table.scan(select=pl.col('id'))", "Give names: select=['x', 'y']"),
    ("table.scan(select=[pc.field('id')])", "Give names: select=['x', 'y']"),
    ("table.scan(select=[col('id') + 1])", "select takes columns"),
    ("table.scan(select=table.schema)", "Give names: select=schema.names"),
    ("table.scan(at=str(first))", "The id of a snapshot is an integer: write "),
    ("table.scan(at=1704067200000)", "datetime.fromtimestamp(1704067200000 / 1000, timezone.utc)"),
    ("table.scan(at=table.refs['main'])", "at=ref.name or at=ref.snapshot_id"),
    ("table.scan(at=float(first))", "a float does not have all of their digits"),
    ("table.maintain.expire_snapshots(older_than='7 days')", "datetime.timedelta(days=7)"),
    ("table.maintain.expire_snapshots(older_than=dt.date(2024, 1, 2))", "datetime(2024, 1, 2, tzinfo=timezone.utc)"),
    ("scan.to_pandas(dtype_backend='pyarrow')", "types_mapper=pandas.ArrowDtype"),
    ("scan.to_pandas(chunksize=1)", "for batch in scan: batch.to_pandas()"),
    ("catalog.create_table('db.n', ROWS.schema, partition_by=None)", "Leave partition_by out"),
    ("catalog.create_table('db.n', ROWS.schema, sort_by=[('id', 'desc')])", "Write 'x desc'"),
    ("table.append(ROWS, sort_by=[('id', 'desc')])", "Write sort_by=['x desc', 'y asc nulls last']"),
    ("catalog.create_table('db.n', ROWS.schema, sort_by=fz.SortOrder(0, ()))", "Write sort_by=[]"),
    ("fz.write_table('db.n', ROWS, catalog='lake')", "Give the result of frazil.catalog('name')"),
    ("fz.catalog(properties={'warehouse': 'x'})", "Write catalog(name, **properties)"),
    ("fz.catalog('x', type='nessie', uri='http://127.0.0.1:1')", "catalog(name, type='rest', uri=…)"),
    ("fz.open_table('db.t')", "frazil.load_table('db.t')"),
    ("table.update('id = 1', {'id': col('id') + 1})", "Compute the rows, for example with Polars"),
    ("col('id') == np.array([1])", "Write is_in(values)"),
    ("col('id') == pl.lit(1)", "Give a Python value or frazil.col"),
    ("(col('id') == 1) & 'x > 0'", "Write frazil.Predicate('x > 0')"),
    ("(col('id') == 1) & (pl.col('x') > 0)", "Write both with frazil.col"),
    ("col('id').cast('int64')", "Write cast('long')"),
    ("col('id').cast(pa.int32())", "Write cast('int')"),
    ("col('id').cast(float)", "Write cast('double')"),
    ("fz.bucket('id', 16)", "Write the number first, as in bucket(16, 'id')"),
    ("col('id') == pd.NA", "Use is_null() or is_not_null()"),
]


@pytest.mark.parametrize(("line", "answer"), ANSWERED, ids=[line for line, _ in ANSWERED])
def test_a_habit_is_answered(line: str, answer: str, catalog: fz.Catalog, table: fz.Table) -> None:
    before = table.snapshot
    with pytest.raises((AttributeError, TypeError, ImportError, fz.FrazilError)) as raised:
        eval(line, known(catalog, table))
    assert answer in str(raised.value)
    assert not isinstance(raised.value, fz.InternalError)
    if "append(ROWS)" not in line:
        assert table.refresh().snapshot == before


RIGHT: list[tuple[str, Any]] = [
    ("table.refs.get('none'), table.refs.get('none', 1)", (None, 1)),
    ("table.refs.get('main').snapshot_id == first", True),
    ("'none' in table.refs", False),
    ("bool(table), bool(scan), bool(catalog)", (True, True, True)),
    ("table.snapshot[0] == first", True),
    ("table.snapshot[:1] == (first,)", True),
    ("table.scan(select=pa.array(['id'])).schema.names", ["id"]),
    ("table.scan(at=np.datetime64('2200-01-01')).count()", 3),
    ("table.maintain.expire_snapshots(older_than=np.timedelta64(7, 'D')).snapshots", []),
    ("table.maintain.expire_snapshots(older_than=np.datetime64('2024-01-01')).snapshots", []),
    ("str(scan.statistics(['id', 'x'])) == str(scan.statistics('id', 'x'))", True),
    ("str(col('d') + np.timedelta64(86_400_000_000_000, 'ns') > 1)", "(d + interval '1 days') > 1"),
    ("str(np.int64(1) < col('id')), str(np.float64(0.5) == col('x'))", ("id > 1", "x = 0.5")),
    ("str(np.int64(2) * col('id') > 4)", "(2 * id) > 4"),
    ("table.update('id = 1', {'x': pd.NA}).scan('x is null').count()", 2),
    ("table.update('id = 1', {'x': pd.NaT}).scan('x is null').count()", 2),
]


@pytest.mark.parametrize(("line", "value"), RIGHT, ids=[line for line, _ in RIGHT])
def test_a_habit_is_right(line: str, value: Any, catalog: fz.Catalog, table: fz.Table) -> None:
    assert eval(line, known(catalog, table)) == value


def test_a_table_is_one_value_to_other_libraries(table: fz.Table) -> None:
    array = np.array([table, table], dtype=object)
    assert array.shape == (2,)
    assert array[0] is table
    frame = pd.DataFrame({"t": table}, index=[0])
    assert frame["t"][0] is table
    assert pd.isna(table) is False
    assert pd.Series([table, None]).isna().tolist() == [False, True]
    assert not isinstance(table, Iterable)
    assert not hasattr(table, "__array__")
    assert bool(table)


def test_a_scan_is_iterable_but_no_iterator(table: fz.Table) -> None:
    scan = table.scan()
    assert isinstance(scan, Iterable)
    assert not isinstance(scan, Iterator)
    assert [batch.num_rows for batch in scan] == [3]


def test_a_column_named_like_all_columns_is_read(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.odd", data=pa.table({"*": [1], "a, b": [2]}))
    assert table.scan(select="*").to_arrow().to_pylist() == [{"*": 1}]
    assert table.scan(select="a, b").to_arrow().to_pylist() == [{"a, b": 2}]


def test_modules_stay_modules() -> None:
    for name in ("table", "schema", "expr", "exceptions", "maintain", "transforms"):
        module = importlib.import_module(f"frazil.{name}")
        assert module is sys.modules[f"frazil.{name}"]
        assert not hasattr(module, "no_such_name")
        assert not hasattr(module, "__no_such_name__")
        copy = module.__reduce__()
        assert copy[0](*copy[1]) is module
    with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
        exec("from frazil.table import no_such_name")


def test_a_module_of_a_test_in_place_of_one_stays_as_it_is() -> None:
    fake = types.ModuleType("x")
    with mock.patch.object(fz, "doctor", fake):
        assert fz.doctor is fake
        assert type(fake) is types.ModuleType
    assert fz.doctor.__name__ == "frazil.doctor"
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        fz.doctor.nope  # noqa: B018


def test_a_name_of_a_split_is_answered_without_pyarrow(table: fz.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    split = table.scan().plan()[0]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert not hasattr(split, "no_such_name")
    with pytest.raises(AttributeError, match=r"write `the scan\.filter`"):
        split.filter  # noqa: B018


def test_what_a_commit_did_is_a_value_for_pandas(table: fz.Table) -> None:
    done = table.append(ROWS).last_commit
    frame = pd.DataFrame({"n": range(len(done))}).assign(x=done)
    assert frame["x"].tolist() == list(done)
    for call in (table.last_commit, table.snapshot):
        with pytest.raises(TypeError, match="is a property here"):
            call(1)


def test_a_missing_time_of_pandas_is_refused(table: fz.Table) -> None:
    for call in (table.maintain.expire_snapshots, table.maintain.remove_orphan_files):
        with pytest.raises(fz.InvalidInputError, match=r"must be a datetime or an age as timedelta, not NaT\. Write"):
            call(older_than=pd.NaT)
    with pytest.raises(fz.InvalidInputError, match=r"at= must be .*, or a datetime, not NaT"):
        table.scan(at=pd.NaT)


def test_objects_that_are_not_complete_answer(table: fz.Table) -> None:
    """As while a pickle is read."""
    with pytest.raises(AttributeError, match=r"'Table' object has no attribute 'city': rows are read by"):
        fz.Table.__new__(fz.Table).city  # noqa: B018
    again = pickle.loads(pickle.dumps(table.last_commit))
    assert again == table.last_commit
    assert type(again) is fz.LastCommit


def test_a_path_is_no_name_of_a_catalog(tmp_path: Path) -> None:
    with pytest.raises(fz.InvalidInputError, match=r"Write catalog\(warehouse="):
        fz.catalog(tmp_path)
