"""Odd arguments of every public method: an error of our own that names the argument, and nothing changed."""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.arguments.checked import CHECKS


class Odd:
    """Nothing that any method takes."""

    def __repr__(self) -> str:
        return "<odd>"


ODD: dict[str, Any] = {
    "object": Odd(),
    "none": None,
    "true": True,
    "int": 5,
    "negative": -1,
    "large": 10**30,
    "float": 1.5,
    "nan": float("nan"),
    "bytes": b"x",
    "text": "x",
    "empty text": "",
    "surrogate": "\udc00",
    "list": [None],
    "list of lists": [[]],
    "dict": {5: 5},
    "dict of odd": {"a": Odd()},
    "generator": (i for i in [None]),
    "type": int,
    "ages": dt.timedelta.max,
    "negative age": dt.timedelta.min,
    "last time": dt.datetime.max,
    "first time": dt.datetime.min,
    "date": dt.date(2026, 1, 1),
}

SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string())])
ROWS = pa.table([[1, 2], ["a", "b"]], schema=SCHEMA)


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    return catalog.create_table("db.t", SCHEMA, partition_by=["g"]).append(ROWS)


class Good:
    """Arguments that each method takes, by its name; those left out have defaults."""

    def __init__(self, catalog: fz.Catalog, table: fz.Table) -> None:
        self.catalog, self.table = catalog, table
        self.file = next(iter(table.scan().plan_files()))
        self.split = table.scan().plan()[0]

    def objects(self) -> dict[str, Callable[[], Any]]:
        """Something new of each class, by the class's name."""
        t = self.table.refresh()
        return {
            "Table": lambda: t,
            "Transaction": t.transaction,
            "Writer": t.writer,
            "Catalog": lambda: self.catalog,
            "Refs": lambda: t.refs,
            "RefChanges": lambda: t.transaction().refs,
            "Maintain": lambda: t.maintain,
            "Inspect": lambda: t.inspect,
            "Scan": t.scan,
            "Split": lambda: self.split,
            "Schema": lambda: t.schema,
            "UpdateSchema": t.update_schema,
            "UpdatePartitionSpec": t.update_partition_spec,
            "UpdateSortOrder": t.update_sort_order,
            "frazil": lambda: fz,
        }

    def arguments(self, cls: str, method: str) -> dict[str, Any]:
        t = self.table
        assert t.snapshot is not None
        rows = {"data": ROWS}
        where = {"where": "id = 1"}
        path = {"path": "id"}
        given: dict[str, dict[str, Any]] = {
            "append": rows,
            "overwrite": {**rows, **where},
            "overwrite_partitions": rows,
            "delete": where,
            "update": {**where, "values": {"g": "c"}},
            "upsert": {**rows, "on": ["id"]},
            "merge": {"name": "b"} if "Ref" in cls else {**rows, "on": ["id"], "when_matched_delete": True},
            "delete_keys": {**rows, "on": ["id", "g"]},
            "delete_positions": {"data": t.scan(select=["_file", "_pos"]).to_arrow()},
            "delete_files": where,
            "add_files": {"paths": [self.file.data_file.path], "check_duplicate_files": False},
            "cherry_pick": {"snapshot_id": 1},
            "set_properties": {"properties": {"a": "b"}},
            "remove_properties": {},
            "update_location": {"location": t.location},
            "upgrade": {"format_version": 2},
            "rollback": {"to": t.snapshot.id},
            "set_current_snapshot": {"to": t.snapshot.id},
            "commit": {} if cls != "Table" else {"messages": []},
            "commit_overwrite": {"messages": [], "where": "id = 1"},
            "commit_rewrite": {"replaced": [self.file], "messages": [], "at": t.snapshot.id},
            "abort": {} if cls != "Table" else {"messages": []},
            "write": rows,
            "rewrite": rows,
            "where": {"filter": "id = 1"},
            "limit": {"rows": 1},
            "create_namespace": {"namespace": "other", "if_not_exists": True},
            "namespace_exists": {"namespace": "db"},
            "load_namespace_properties": {"namespace": "db"},
            "update_namespace_properties": {"namespace": "db"},
            "drop_namespace": {"namespace": "none"},
            "list_tables": {"namespace": "db"},
            "table_exists": {"identifier": "db.t"},
            "load_table": {"identifier": "db.t"},
            "create_table": {"identifier": "db.t", "schema": SCHEMA},
            "drop_table": {"identifier": "db.none"},
            "register_table": {"identifier": "db.none", "metadata_location": t.metadata_location},
            "unregister_table": {"identifier": "db.none"},
            "create_table_transaction": {"identifier": "db.none", "schema": SCHEMA},
            "replace_table": {"identifier": "db.none", "schema": SCHEMA},
            "create_or_replace_table": {"identifier": "db.none", "schema": SCHEMA},
            "replace_table_transaction": {"identifier": "db.none", "schema": SCHEMA},
            "rename_table": {"identifier": "db.none", "to": "db.none2"},
            "create_view": {"identifier": "db.v", "sql": "select 1", "schema": ROWS.schema},
            "replace_view": {"identifier": "db.v", "sql": "select 1", "schema": ROWS.schema},
            "register_view": {"identifier": "db.v", "metadata_location": "x"},
            "drop_view": {"identifier": "db.v"},
            "snapshot_by_id": {"snapshot_id": 1},
            "diff": {"a": t.snapshot.id},
            "report": {"path": "page.html"},
            "rename_view": {"identifier": "db.v", "to": "db.w"},
            "open_table": {"location": t.location},
            "create_branch": {"name": "b"},
            "create_tag": {"name": "v"},
            "replace": {"name": "main", "at": t.snapshot.id},
            "drop": {"name": "none"},
            "rename": {"name": "none", "to": "none2"},
            "fast_forward": {"name": "main", "to": "main"},
            "set_retention": {"name": "main"},
            "add_column": {"path": "new", "type": "long"},
            "rename_column": {**path, "new_name": "other"},
            "move_before": {**path, "before_path": "g"},
            "move_after": {**path, "after_path": "g"},
            "union_by_name": {"new_schema": SCHEMA},
            "set_default_value": {**path, "default": 1},
            "add_field": {"source": "id"},
            "add_identity": {"source": "id"},
            "remove_field": {"field": "g"},
            "rename_field": {"name": "g", "new_name": "h"},
            "asc": {"source": "id"},
            "desc": {"source": "id"},
            "field": {"name": "id"},
            "from_json": {"text": t.schema.to_json() if cls == "Schema" else self.split.to_json()},
            "__init__": {"source": SCHEMA},
            "compact": {},
            "drop_global_index": {"columns": "id", "index_type": "btree"},
            "reset_consumer": {"consumer": "c"},
            "col": {},
            "bucket": {"buckets": 4, "column": "a"},
            "truncate": {"width": 4, "column": "a"},
        }
        for name in ("drop_column", "delete_column", "move_first", "make_column_optional", "require_column"):
            given[name] = path
        given["update_column"] = path
        for name in ("year", "month", "day", "hour"):
            given[name] = {"column": "a"}
        if cls == "Inspect":
            return {}
        return given.get(method, {})


CLASSES: dict[str, type | Any] = {
    "Table": fz.Table,
    "Transaction": fz.Transaction,
    "Writer": fz.Writer,
    "Catalog": fz.Catalog,
    "Refs": fz.Refs,
    "RefChanges": fz.refs.RefChanges,
    "Maintain": fz.maintain.Maintain,
    "Inspect": fz.Inspect,
    "Scan": fz.Scan,
    "Split": fz.Split,
    "Schema": fz.Schema,
    "UpdateSchema": fz.UpdateSchema,
    "UpdatePartitionSpec": fz.UpdatePartitionSpec,
    "UpdateSortOrder": fz.UpdateSortOrder,
    "frazil": fz,
}

# What goes to Spark, pandas or Arrow as it is.
ELSEWHERE = {"to_spark", "to_pandas", "catalog"}


# By what errors name some.
NAMES = {
    ("set_properties", "more"): "'odd'",
    ("col", "names"): "column's name",
    **{(name, "column"): "column's name" for name in ("bucket", "truncate", "year", "month", "day", "hour")},
}


def methods() -> Iterator[tuple[str, str, inspect.Parameter]]:
    for cls, holder in CLASSES.items():
        names = (
            ("open_table", "col", "bucket", "truncate", "year", "month", "day", "hour") if holder is fz else dir(holder)
        )
        for name in names:
            if (name.startswith("_") and name != "__init__") or name in ELSEWHERE:
                continue
            if name == "__init__" and cls != "Schema":
                continue
            method = getattr(holder, name)
            if not callable(method) or (holder is fz.Refs and hasattr(dict, name)):
                continue
            for parameter in inspect.signature(method).parameters.values():
                if parameter.name != "self":
                    yield cls, name, parameter


def allowed(parameter: inspect.Parameter, value: Any) -> bool:
    """Whether the annotation itself says that the value is fine."""
    said = str(parameter.annotation)
    return value is None and ("None" in said or said in ("Any", "typing.Any"))


CASES = [(cls, name, parameter) for cls, name, parameter in methods()]


@pytest.mark.parametrize(("cls", "name", "parameter"), CASES, ids=[f"{c}.{n}({p.name})" for c, n, p in CASES])
def test_odd_arguments(
    catalog: fz.Catalog,
    table: fz.Table,
    cls: str,
    name: str,
    parameter: inspect.Parameter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Some methods write files.
    monkeypatch.chdir(tmp_path)
    good = Good(catalog, table)
    for what, value in ODD.items():
        make = good.objects()[cls]
        arguments = dict(good.arguments(cls, name))
        arguments.pop(parameter.name, None)
        made = make() if name != "__init__" else None
        method = getattr(made, name) if made is not None else fz.Schema
        positional: list[Any] = []
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            positional = [value]
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            arguments["odd"] = value
        else:
            arguments[parameter.name] = value
        try:
            done = method(*positional, **arguments)
            if isinstance(done, (fz.UpdateSchema, fz.UpdatePartitionSpec, fz.UpdateSortOrder)):
                done.commit()
        except fz.FrazilError as error:
            assert not isinstance(error, fz.InternalError), (what, error)
            if what == "object":
                assert isinstance(error, fz.InvalidInputError), (what, error)
                assert NAMES.get((name, parameter.name), parameter.name) in str(error), (what, error)
            if allowed(parameter, value) and isinstance(error, fz.InvalidInputError):
                assert "must be" not in str(error), (what, error)
        except Exception as error:
            raise AssertionError(f"{cls}.{name}({parameter.name}={value!r}) raised {error!r}") from error
        else:
            assert what != "object", f"{cls}.{name}({parameter.name}=<odd>) took it"
    table.refresh().scan().to_arrow()


def test_all_annotations_are_known() -> None:
    """A new method is checked, or says why not."""
    elsewhere = {
        "str | Term",  # of `frazil.expr`
        "Sequence[tuple[str, int, dt.datetime, int]]",  # of `record_loads`, which checks each member
    }
    unknown = {str(p.annotation) for _, _, p in methods()} - set(CHECKS) - elsewhere
    assert not {text.replace('"', "'") for text in unknown} - set(CHECKS)


@pytest.mark.parametrize("cls", [fz.CommitMessage, fz.ScanTask])
def test_json_is_text(cls: Any) -> None:
    for odd in (5, None, b"{}", Odd(), "\udc00", "", "[]", "{}"):
        with pytest.raises(fz.InvalidInputError):
            cls.from_json(odd)
