"""Kinds of lines from habit: imports of modules, calls of properties, names of loaded libraries, arguments by place."""

from __future__ import annotations

import _thread
import abc
import importlib
import importlib.util
import json
import operator
import pickle
import pkgutil
import sys
import threading
import types
import weakref
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import frazil as fz
from frazil import col
from frazil.names.called import refuse_calls
from habit_fixtures import catalog

__all__ = ["catalog"]

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "city": ["Oslo", "Bergen", "Oslo"]})


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    return catalog.create_table("db.t", data=ROWS)


def names_of(catalog: fz.Catalog, table: fz.Table) -> dict[str, Any]:
    return {"fz": fz, "pd": pd, "pl": pl, "col": col, "ROWS": ROWS, "catalog": catalog, "table": table}


IMPORTS = {
    "import frazil.types": "No module named 'frazil.types': PyIceberg's `types` is `pyarrow's types, as in",
    "from frazil.types import LongType": "PyIceberg's `LongType` is `pyarrow.int64()` here",
    "from frazil.expressions import EqualTo, In": "PyIceberg's `In` is `col('x').is_in(values)` here",
    "import frazil.expressions.parser": "PyIceberg's `expressions` is `frazil.col` here",
    "import frazil.io.pyarrow": "frazil.catalog(name, filesystem=…)",
    "from frazil.partitioning import PartitionSpec": "partition_by=['day(ts)']",
    "import frazil.table.sorting": "No module named 'frazil.table.sorting': PyIceberg's `sorting` is",
    "from frazil.table.snapshots import Snapshot": "PyIceberg's `snapshots` is `frazil.Snapshot` here",
    "from frazil.catalog.sql import SqlCatalog": "PyIceberg's `SqlCatalog` is `frazil.catalog(type='sql', uri=…",
    "from frazil.catalog.rest import RestCatalog": "frazil.catalog(type='rest', uri=…)",
    "from frazil.schema.data_types import AtomicType": "pyarrow's types, as in pyarrow.int64()",
    "import frazil.Table": "write `frazil.Table`",
    "import frazil.catlog": "did you mean `frazil.catalog`?",
    "import frazil.pandas": "No module named 'frazil.pandas': write `import pandas`",
    "import frazil.serializers": "the names of Frazil are in `frazil` itself, such as `frazil.catalog`",
    "import frazil.table.upsert_util": "the names of Frazil are in `frazil` itself, such as `frazil.catalog`",
    "import frazil.dataset": "lancedb's `dataset` is `frazil.open_table(path)` here",
    "from frazil.sql.functions import lit": "Spark's `sql` is `frazil.spark.sql(spark, query)` here",
}


@pytest.mark.parametrize("statement", IMPORTS)
def test_an_import_of_a_module_is_answered(statement: str) -> None:
    with pytest.raises(ModuleNotFoundError) as raised:
        exec(statement)
    assert IMPORTS[statement] in str(raised.value)
    assert raised.value.name is not None
    assert raised.value.name.startswith("frazil.")


def test_modules_that_do_not_exist_stay_so() -> None:
    for name in ("frazil.types", "frazil.expressions", "frazil.nothing_like_it"):
        assert importlib.util.find_spec(name) is None
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'frazil\._nothing_like_it'$"):
        importlib.import_module("frazil._nothing_like_it")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'nothing_like_it'$"):
        importlib.import_module("nothing_like_it")
    assert not hasattr(fz.table, "__path__")
    assert [finder.__name__ for finder in sys.meta_path if getattr(finder, "__module__", "") == "frazil"] == [
        "_Imports"
    ]
    assert "types" not in {found.name for found in pkgutil.iter_modules(fz.__path__)}


PROPERTIES = {
    "table": "name format format_version location properties metadata_location uuid schema snapshot snapshots refs "
    "inspect maintain partition_spec sort_order last_commit",
    "table.scan()": "schema arrow_schema snapshot_id row_limit",
    "table.schema": "id fields names identifier_fields",
    "catalog": "name properties",
}


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, one) for owner, names in PROPERTIES.items() for one in names.split()]
)
def test_a_call_of_a_property_is_answered(owner: str, name: str, catalog: fz.Catalog, table: fz.Table) -> None:
    known = names_of(catalog, table)
    for call in ("()", "(1)", "(x=1)", "().x"):
        with pytest.raises(TypeError, match=rf"^`{name}` is a property here: write it without \(\)$"):
            eval(f"{owner}.{name}{call}", known)
    value = eval(f"{owner}.{name}", known)
    assert type(getattr(eval(owner, known), name)) is type(value)


def test_values_of_properties_are_plain(table: fz.Table) -> None:
    assert (type(table.name), type(table.location), type(table.properties)) == (str, str, dict)
    assert json.loads(json.dumps({"name": table.name})) == {"name": "db.t"}
    assert pickle.loads(pickle.dumps(table.snapshot)) == table.snapshot
    assert type(pickle.loads(pickle.dumps(table.snapshots))) is list


def test_a_property_may_be_read_where_something_else_is_called(table: fz.Table) -> None:
    """A call of the value's own method, and a call with the value, read the property like everything else."""
    assert table.name.upper() == "DB.T"
    assert table.snapshots.index(table.snapshot) == 0
    assert str(table.name) == "db.t"
    assert [one.name for one in [table]] == ["db.t"]
    assert (lambda read: read(table))(lambda given: given.name) == "db.t"
    assert table.snapshot._replace(id=7).id == 7


def test_a_property_of_a_long_function_is_read_and_its_call_answered(table: fz.Table) -> None:
    """Instructions have a longer form for the names of functions that have many."""
    many = "; ".join(f"t.x{number} = 0" for number in range(400))
    exec(f"class T: pass\nt = T()\n{many}\nassert table.format_version == 2", {"table": table})
    with pytest.raises(TypeError, match="`format_version` is a property here"):
        exec(f"class T: pass\nt = T()\n{many}\ntable.format_version()", {"table": table})


ANSWERED = {
    # Names of classes, and their construction.
    "fz.Schema.from_pyarrow_schema(ROWS.schema)": "pypaimon's `from_pyarrow_schema` is `create_table(",
    "fz.Table.from_metadata('x')": "write `frazil.load_table(name) or frazil.open_table(path)`",
    "fz.Catalog.load('x')": "type object 'Catalog' has no attribute 'load': write `frazil.catalog(name, …)`",
    "fz.Table()": "Table() does not take these arguments: write `frazil.load_table(name) or frazil.open_table(path)`",
    "fz.Snapshot()": "table.snapshot_by_id(id)",
    "fz.Field('id', 'long')": "pyarrow.field(name, type)",
    "fz.PartitionSpec()": "partition_by=['day(ts)']",
    "fz.SortOrder()": "sort_by=['x desc']",
    # Java's way to write names.
    "table.expireSnapshots()": "PyIceberg's `expireSnapshots` is `maintain.expire_snapshots()` here",
    "table.rewriteManifests()": "maintain.rewrite_manifests",
    "table.newRowDelta()": "delete(where), update(…), upsert(…) or merge(…)",
    "table.scan().planTasks()": "Java Iceberg's `planTasks` is `plan()` here",
    "table.schema.findField('id')": "field(name)",
    "catalog.loadTable('db.t')": "did you mean `load_table`?",
    "catalog.createOrReplace('db.t', ROWS)": "create_or_replace_table(…)",
    # Names of libraries that are loaded.
    "table.memory_usage()": "pandas' `memory_usage` is `scan().to_pandas().memory_usage(…)` here",
    "table.scan().set_column(0, 'x', [])": "pyarrow's `set_column` is `to_arrow().set_column(…)` here",
    "table.scan().hash_rows()": "Polars' `hash_rows` is `to_polars().hash_rows(…)` here",
    "table.schema.empty_table()": "pyarrow's `empty_table` is `to_arrow().empty_table(…)` here",
    "fz.enable_string_cache()": "Polars' `enable_string_cache` is `polars.enable_string_cache(…)` here",
    # Names that share a word, and names that nothing is known about.
    "table.append_rows(ROWS)": "'Table' object has no attribute 'append_rows': did you mean `append`?",
    "table.delete_where('id = 1')": "did you mean `delete`?",
    "table.row_count": "did you mean `scan().count`?",
    "table.maintain.expire_all()": "did you mean `expire_snapshots`?",
    "table.inspect.snapshot_list()": "did you mean `snapshots`?",
    "table.foobar()": "rows are read by `scan(…)`, and changed by `append`, `overwrite`, `update`, `delete`, `upsert`",
    "table.scan().foobar()": "rows are read by `to_arrow()`, `to_pandas()`, `to_polars()` or `to_duckdb()`",
    "table.schema['id'].foobar": "its names are children, doc, id, name, required, type",
    "table.scan().estimate().foobar": "'Estimate' object has no attribute 'foobar'",
    "table.scan().statistics().foobar": "'Statistics' object has no attribute 'foobar': its names are",
    "table.scan().statistics().max_value": "its names are",
    "catalog.duplicate_table('db.t')": "a table is `load_table('namespace.table')`",
    "catalog.modify_namespace('db')": "did you mean `update_namespace_properties`?",
    "catalog.alter_namespace('db')": "did you mean `update_namespace_properties`?",
    "table.update_rows('true', {})": "did you mean `update`?",
    "fz.open_catalog('x')": "did you mean `frazil.catalog`?",
    "table.scan().count('id')": "too many positional arguments. It takes no arguments",
    "fz.HadoopCatalog('x')": "frazil.catalog(warehouse=…)",
    "fz.foobar('x')": "start with `frazil.catalog(…)`, `frazil.load_table(name)` or `frazil.open_table(path)`",
    # Columns.
    "table.scan().city": "`city` is a column: write `select('city')`",
    "table.scan(id=1)": "`id` is a column: write a filter, col('id') == value",
    "table.update('id = 1', city='X')": "or a dictionary, {'city': value}",
    "col('address').zip": "a member of a struct is `frazil.col('struct.member')`",
    "catalog.db": "a table is `load_table('namespace.table')`",
    # Arguments by their place.
    "table.append(ROWS, {'a': 'b'})": "The arguments in this order are data, branch, snapshot_properties, sort_by",
    "table.refs.create_tag(1, 't')": "The arguments in this order are name, at",
    "fz.write_table(ROWS, 'db.n')": "The arguments in this order are identifier, data, mode",
    "catalog.drop_table('db.t', True)": "name the argument: purge=True deletes the files, if_exists=True",
    "catalog.load_table('db', 't')": "write one name: load_table('namespace.table')",
    "catalog.drop_table(table)": "Write identifier=table.name",
    "table.scan().to_pandas(table.scan().plan())": "or split.to_arrow() for one of its splits",
    "table.scan().to_duckdb('t', connection=None)": "to_duckdb(connection).create_view(name)",
    # Arguments by name.
    "table.scan().to_arrow(filter='id = 1')": "pyarrow's `filter` is `scan.where(filter), before it` here",
    "table.scan().to_polars(limit=1)": "PyIceberg's `limit` is `scan.limit(n), before it` here",
    "table.refs.create_tag('t', retain_days=1)": "max_ref_age_ms=timedelta(days=…)",
    "catalog.create_table('db.n', ROWS.schema, using='iceberg')": "Spark's `using` is `format` here",
    # Snapshots, operations, modules.
    "table.snapshots.to_pandas()": "table.inspect.snapshots()",
    "table.snapshots[5111699565659893031]": "write table.snapshot_by_id(5111699565659893031)",
    "table.iter_rows()": "Polars' `iter_rows` is `for batch in table.scan()` here",
    "table.refs['main'].id": "snapshot_id",
    "col('id').greater_than(1)": "pypaimon's `greater_than` is `> value` here",
    "exec('table[\"x\"] = 1')": "table.update(where, {'x': 1})",
    "exec('del table[\"id\"]')": "table.update_schema().drop_column(x)",
    "exec('from frazil import Tabel')": "cannot import name 'Tabel' from 'frazil'. Did you mean 'Table'?",
    "exec('from frazil.refs import Nothing')": "its names are listed by dir(frazil.refs)",
}


@pytest.mark.parametrize("line", ANSWERED)
def test_a_habit_is_answered(line: str, catalog: fz.Catalog, table: fz.Table) -> None:
    before = table.snapshot
    kinds = (AttributeError, TypeError, ImportError, IndexError, fz.InvalidInputError)
    with pytest.raises(kinds) as raised:
        eval(line, names_of(catalog, table))
    assert ANSWERED[line] in str(raised.value)
    assert table.refresh().snapshot == before


def test_modules_of_the_spark_part_are_answered() -> None:
    pytest.importorskip("pyspark")
    module = sys.modules[f"{fz.spark.__name__}.write"]
    with pytest.raises(TypeError, match=r"is a module, not a function: write `frazil\.spark\.append"):
        module()  # type: ignore[operator]
    with pytest.raises(ImportError, match="runs statements"):
        exec("from frazil.spark import FrazilSparkSessionExtensions")


def test_names_of_libraries_that_are_not_loaded_are_not_looked_up(
    table: fz.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "pandas")
    with pytest.raises(AttributeError, match=r"no attribute 'memory_usage': rows are read by `scan\(…\)`"):
        table.memory_usage  # noqa: B018
    assert "pandas" not in sys.modules
    assert not hasattr(table, "isnull")


def test_short_lists_and_places_of_snapshots(table: fz.Table) -> None:
    assert table.snapshots[0] == table.snapshots[-1] == table.snapshot
    assert table.snapshots[:1] == [table.snapshot]
    with pytest.raises(IndexError, match="list index out of range"):
        table.snapshots[1]


def test_properties_of_namespaces_without_removals(catalog: fz.Catalog) -> None:
    catalog.update_namespace_properties("db", removals=None, updates={"a": "b"})
    assert catalog.load_namespace_properties("db")["a"] == "b"
    catalog.update_namespace_properties("db", ["a"])
    assert "a" not in catalog.load_namespace_properties("db")


@refuse_calls
class _Named:
    @property
    def name(self) -> str:
        return "x"


def test_a_call_of_a_property_is_known_again_and_again() -> None:
    # Interpreters replace instructions that run often.
    one = _Named()
    for _ in range(100):
        assert one.name.upper() == "X"
        assert [each.name for each in [one]] == ["x"]
        assert getattr(one, "name") == operator.attrgetter("name")(one) == "x"  # noqa: B009
        with pytest.raises(TypeError, match="`name` is a property here: write it without"):
            one.name()  # type: ignore[operator]


def test_a_thread_without_frames_reads_properties(table: fz.Table) -> None:
    failed: list[object] = []
    done = threading.Event()

    class Read:
        """The attribute that is read last."""

        @property
        def last(self) -> None:
            done.set()

    Read.table = table  # type: ignore[attr-defined]
    before, threading.excepthook = threading.excepthook, failed.append
    unraisable, sys.unraisablehook = sys.unraisablehook, lambda found: (failed.append(found), done.set())
    try:
        _thread.start_new_thread(
            operator.attrgetter("table.name", "table.location", "table.snapshot", "last"), (Read(),)
        )
        assert done.wait(10)
    finally:
        threading.excepthook, sys.unraisablehook = before, unraisable
    assert failed == []


@pytest.mark.parametrize("other", [abc.ABC, Mapping])
@pytest.mark.parametrize("base", [fz.Table, fz.Catalog, fz.Schema])
def test_classes_can_be_abstract(base: type, other: type) -> None:
    made = types.new_class(
        "Made", (base, other), exec_body=lambda of: of.update(ask=abc.abstractmethod(lambda self: None))
    )
    assert "ask" in made.__abstractmethods__  # type: ignore[attr-defined]
    assert issubclass(made, base)
    with pytest.raises(AttributeError, match="has no attribute 'from_nothing'"):
        getattr(made, "from_nothing")  # noqa: B009


def test_places_of_reads_are_remembered_up_to_a_bound() -> None:
    """Code that is made again and again is let go."""
    one = _Named()
    kept = []
    for number in range(300):
        made = compile(f"# {number}\none.name", f"<made {number}>", "eval")
        assert eval(made, {"one": one}) == "x"
        kept.append(weakref.ref(made))
    del made
    assert sum(code() is not None for code in kept) <= 64


def test_places_of_other_code_are_not_taken_for_those_of_a_read() -> None:
    """Code takes the place of other code in memory."""
    one = _Named()
    for number in range(300):
        assert eval(compile("one.name", f"<read {number}>", "eval"), {"one": one}) == "x"
        with pytest.raises(TypeError, match="is a property here"):
            eval(compile("one.name()", f"<called {number}>", "eval"), {"one": one})


def test_threads_share_the_places_of_reads() -> None:
    one = _Named()
    codes = [compile("one.name", f"<thread {number}>", "eval") for number in range(200)]

    def read(_: int) -> set[str]:
        return {eval(code, {"one": one}) for code in codes}

    with ThreadPoolExecutor(4) as pool:
        assert set().union(*pool.map(read, range(8))) == {"x"}


def test_modules_without_a_description_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "made_by_hand", types.ModuleType("made_by_hand"))
    with pytest.raises(ModuleNotFoundError, match="write `import made_by_hand`"):
        importlib.import_module("frazil.made_by_hand")
    # Python refuses the import of such a module.
    monkeypatch.setitem(sys.modules, "made_by_hand", None)
    with pytest.raises(ModuleNotFoundError, match="the names of Frazil are in `frazil` itself"):
        importlib.import_module("frazil.made_by_hand")


def test_a_thread_without_frames_looks_for_modules() -> None:
    finder = next(one for one in sys.meta_path if getattr(one, "__name__", "") == "_Imports")
    failed: list[object] = []
    unraisable, sys.unraisablehook = sys.unraisablehook, failed.append
    try:
        made = threading.Event()
        _thread.start_new_thread(operator.methodcaller("find_spec", "frazil.no_such_module"), (finder,))
        _thread.start_new_thread(made.set, ())
        assert made.wait(10)
    finally:
        sys.unraisablehook = unraisable
    assert failed == []


@pytest.mark.parametrize("name", [None, b"frazil.types", "frazil.types"])
def test_a_function_of_the_name_of_pythons_search_gets_no_answer(name: object) -> None:
    def _find_and_load_unlocked(name: object) -> bool:
        finder = next(one for one in sys.meta_path if getattr(one, "__name__", "") == "_Imports")
        return (lambda: finder.find_spec("frazil.types"))() is None and not hasattr(fz.table, "__path__")

    assert _find_and_load_unlocked(name)


@pytest.mark.parametrize("name", [None, b"x", Path("x")])
def test_tools_that_look_for_modules_get_no_answer(name: object) -> None:
    """The local variable of a caller is not taken for the name of a module."""
    assert not hasattr(fz.table, "__path__")
    assert [finder.find_spec("frazil.no_such_module", None) for finder in sys.meta_path] == [None] * len(sys.meta_path)


GUESSES = {
    "table.remove_snapshots()": "is `maintain.expire_snapshots()` here",
    "table.remove()": "is `delete(where)` here",
    "table.clear()": "is `delete('true')` here",
    "table.delete_rows()": "did you mean `delete`?",
    "table.new_branch()": "did you mean `refs.create_branch`?",
    "fz.delete_table": "is `frazil.catalog(name, …).drop_table(…)` here",
    "fz.remove_column": "start with `frazil.catalog(",
    "catalog.drop_all()": "a table is `load_table('namespace.table')`",
    "catalog.delete()": "a table is `load_table('namespace.table')`",
    "catalog.remove_tables()": "did you mean `drop_table`?",
    "catalog.purge_namespace()": "did you mean `drop_namespace`?",
    "catalog.new_table()": "did you mean `create_table`?",
    "catalog.new_branch()": "a table is `load_table('namespace.table')`",
    "catalog.register()": "did you mean `register_table`?",
    "table.remove_all()": "rows are read by `scan(…)`, and changed by",
    "table.delete_tables()": "rows are read by `scan(…)`, and changed by",
    "table.remove_files()": "did you mean `inspect.delete_files`?",
    "table.register()": "rows are read by `scan(…)`, and changed by",
    "table.create_tag_of()": "did you mean `refs.create_tag`?",
}


@pytest.mark.parametrize("line", GUESSES)
def test_nothing_is_removed_by_a_guess(line: str, catalog: fz.Catalog, table: fz.Table) -> None:
    with pytest.raises(AttributeError) as raised:
        eval(line, names_of(catalog, table))
    assert GUESSES[line] in str(raised.value)
