"""Lines that users of PyIceberg, Spark, Polars, pandas and delta-rs type from habit.

Each line is right here, or the error names Frazil's word.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import inspect
import pathlib
import pickle
import re
import sys
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.names import Snapshots, others
from frazil.names.words import NAMES
from habit_fixtures import catalog

__all__ = ["catalog"]

ROOT = pathlib.Path(__file__).parents[2]
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "city": ["Oslo", "Bergen", "Oslo"]})


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    return catalog.create_table("db.t", data=ROWS)


BUCKETS = "[id_bucket: bucket(16, id)]"

RIGHT: list[tuple[str, Any]] = [
    # Catalogs.
    ("catalog.create_namespace('db', if_not_exists=True)", None),
    ("catalog.create_table('db.t', ROWS.schema, if_not_exists=True).scan().count()", 3),
    ("catalog.create_table('db.n', data=ROWS).scan().count()", 3),
    ("catalog.create_table('db.n', data=pl.DataFrame({'a': [1]})).schema.names", ["a"]),
    ("catalog.create_table('db.n', data=pd.DataFrame({'a': [1]})).schema.names", ["a"]),
    ("catalog.create_table('db.n', data=duckdb.sql('select 1::bigint as a')).schema.names", ["a"]),
    ("fz.write_table('db.n', ROWS, catalog=catalog).name", "db.n"),
    ("fz.write_table('db.t', ROWS, mode='append', catalog=catalog).scan().count()", 6),
    ("fz.write_table('db.t', ROWS.slice(1), mode='overwrite', catalog=catalog).scan().count()", 2),
    ("fz.write_table('db.t', ROWS, mode='ignore', catalog=catalog).scan().count()", 3),
    ("catalog.drop_table('db.none', if_exists=True)", None),
    ("catalog.drop_namespace('none', if_exists=True)", None),
    ("catalog.list_tables()", ["db.t"]),
    ("catalog.list_tables('db')", ["db.t"]),
    ("catalog.load_table('db.t').name", "db.t"),
    ("catalog.table_exists('db.t')", True),
    (
        "[f.name for f in catalog.create_table('db.n', ROWS.schema, partition_by='city').partition_spec.fields]",
        ["city"],
    ),
    ("str(catalog.create_table('db.n', ROWS.schema, partition_by=[fz.bucket(16, 'id')]).partition_spec)", BUCKETS),
    ("catalog.create_table('db.n', ROWS.schema, partition_by=fz.col('city')).partition_spec.fields[0].name", "city"),
    ("catalog.create_table('db.n', ROWS.schema, sort_by='id desc').sort_order.fields[0].descending", True),
    # Tables.
    ("table.name", "db.t"),
    ("table.snapshot_by_id(table.snapshot.id) == table.snapshot", True),
    ("table.snapshot_by_id(1)", None),
    ("table.head(2).num_rows", 2),
    ("table.scan(limit=2).count()", 2),
    ("table.scan(select='id').to_arrow().column_names", ["id"]),
    ("table.scan(select=[fz.col('city')]).to_arrow().column_names", ["city"]),
    ("table.scan().select(['id']).schema.names", ["id"]),
    ("table.scan().select('city', 'id').schema.names", ["city", "id"]),
    ("table.scan().select({'id'}).schema.names", ["id"]),
    ("table.scan().select(name for name in ('city', 'id')).schema.names", ["city", "id"]),
    ("table.schema.identifier_fields", []),
    ("table.commit(table.writer().write(ROWS)).scan().count()", 6),
    ("table.scan().head(1).num_rows", 1),
    ("sum(batch.num_rows for batch in table.scan())", 3),
    ("pl.DataFrame(table.scan()).height", 3),
    ("len(pd.DataFrame.from_arrow(table.scan()))", 3),
    ("table.schema['id'].type", "long"),
    ("'id' in table.schema, 'none' in table.schema", (True, False)),
    ("table.upsert(ROWS.slice(0, 1), on='id').scan().count()", 3),
    ("table.merge(ROWS, on='id', when_matched_delete=True).scan().count()", 0),
    ("table.delete('true').scan().count()", 0),
    ("table.append(table.scan()).scan().count()", 6),
    ("table.append(pl.LazyFrame({'id': [4], 'city': ['Oslo']})).scan().count()", 4),
    ("table.append(ds.dataset(ROWS)).scan().count()", 6),
    ("table.append(ds.dataset(ROWS).scanner(filter=ds.field('id') > 2)).scan().count()", 4),
    ("table.append(ROWS.to_batches()).scan().count()", 6),
    ("table.append(batch for batch in ROWS.to_batches(max_chunksize=1)).scan().count()", 6),
    ("table.append([pl.from_arrow(ROWS), ROWS.to_pandas()]).scan().count()", 9),
    ("table.append(ROWS.to_reader()).scan().count()", 6),
    ("table.append(ROWS).last_commit.rows_added", 3),
    ("table.refs['main'].snapshot_id == table.snapshot.id", True),
    ("table.transaction().append(ROWS).commit().last_commit.rows_added", 3),
    ("hasattr(table, 'current_snapshot'), hasattr(fz, 'load_catalog'), hasattr(fz.col('a'), 'isin')", (False,) * 3),
]


@pytest.mark.parametrize(("line", "value"), RIGHT, ids=[line for line, _ in RIGHT])
def test_a_habit_is_right(line: str, value: Any, catalog: fz.Catalog, table: fz.Table) -> None:
    assert eval(line, known(catalog, table)) == value


def known(catalog: fz.Catalog, table: fz.Table) -> dict[str, Any]:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow.dataset as ds

    names = {"fz": fz, "pa": pa, "pl": pl, "pd": pd, "ds": ds, "duckdb": duckdb, "ROWS": ROWS}
    return {**names, "catalog": catalog, "table": table}


ANSWERED: list[tuple[str, str]] = [
    # PyIceberg.
    ("next(iter(table.scan().plan_files())).file", "PyIceberg's `file` is `data_file` here"),
    ("next(iter(table.scan().plan_files())).data_file.file_path", "PyIceberg's `file_path` is `path` here"),
    ("table.schema.identifier_field_ids", "PyIceberg's `identifier_field_ids` is `identifier_fields` here"),
    ("table.incremental_append_scan()", "scan(since=…)"),
    ("table.scan().withColumn('a', 1)", "Spark's `withColumn` is `to_spark(spark).withColumn` here"),
    ("table.scan().with_row_index()", "Polars' `with_row_index` is `to_polars(lazy=True).with_row_index` here"),
    ("table.partitionedBy('id')", "catalog.create_table(name, schema, partition_by=…, sort_by=…)"),
    ("fz.load_catalog('x')", "PyIceberg's `load_catalog` is `frazil.catalog('name')` here"),
    ("exec('from frazil import load_catalog')", "PyIceberg's `load_catalog` is `frazil.catalog('name')` here"),
    ("exec('from frazil import EqualTo')", "col('x') == value"),
    ("fz.StaticTable.from_metadata('x')", "frazil.open_table(path)"),
    ("fz.In('id', [1])", "col('x').is_in(values)"),
    ("fz.AlwaysTrue()", "'true'"),
    ("fz.NoSuchTableError", "frazil.NotFoundError"),
    ("fz.DayTransform()", "day('x')"),
    ("catalog.create_table_if_not_exists('db.t', ROWS.schema)", "if_not_exists=True"),
    ("catalog.create_namespace_if_not_exists('db')", "if_not_exists=True"),
    ("catalog.purge_table('db.t')", "drop_table(…, purge=True)"),
    ("catalog.create_table('db.n', ROWS.schema, partition_spec=None)", "`partition_spec` is `partition_by` here"),
    ("catalog.create_table('db.n', ROWS.schema, sort_order=None)", "`sort_order` is `sort_by` here"),
    ("catalog.create_table('db.n', schema=pl.DataFrame({'a': [1]}))", "data=rows"),
    ("table.scan(row_filter='id > 1')", "PyIceberg's `row_filter` is `filter` here"),
    ("table.scan(selected_fields=('id',))", "PyIceberg's `selected_fields` is `select` here"),
    ("table.scan(snapshot_id=1)", "PyIceberg's `snapshot_id` is `at` here"),
    ("table.scan(case_sensitive=False)", "options={'case-sensitive': …}"),
    ("table.current_snapshot()", "PyIceberg's `current_snapshot` is `snapshot` here"),
    ("table.history()", "inspect.history()"),
    ("table.snapshot_by_name('main')", "refs[name]"),
    ("table.spec()", "partition_spec"),
    ("table.specs()", "partition_spec"),
    ("table.metadata.current_schema_id", "inspect"),
    ("table.schema()", "`schema` is a property here: write it without ()"),
    ("table.sort_order()", "`sort_order` is a property here"),
    ("table.partition_spec()", "`partition_spec` is a property here"),
    ("table.snapshots()", "`snapshots` is a property here"),
    ("table.snapshot()", "`snapshot` is a property here"),
    ("table.refs()", "`refs` is a property here"),
    ("table.inspect()", "`inspect` is a property here"),
    ("table.update_spec()", "update_partition_spec()"),
    ("table.manage_snapshots()", "refs"),
    ("table.maintenance.expire_snapshots()", "maintain"),
    ("table.expire_snapshots()", "maintain.expire_snapshots()"),
    ("table.dynamic_partition_overwrite(ROWS)", "overwrite_partitions(data)"),
    ("table.append(df=ROWS)", "PyIceberg's `df` is `data` here"),
    ("table.overwrite(ROWS, overwrite_filter='id = 1')", "PyIceberg's `overwrite_filter` is `where` here"),
    ("table.delete(delete_filter='id = 1')", "Table.delete() got an unexpected keyword argument 'delete_filter'"),
    ("table.delete(delete_filter='id = 1')", "PyIceberg's `delete_filter` is `where` here"),
    ("table.upsert(ROWS, join_cols=['id'])", "PyIceberg's `join_cols` is `on` here"),
    ("table.delete('id = 1', case_sensitive=True)", "not needed: names are case-sensitive"),
    ("table.inspect.files(snapshot_id=1)", "PyIceberg's `snapshot_id` is `at` here"),
    ("table.update_sort_order().asc('id', null_order=None)", "PyIceberg's `null_order` is `nulls` here"),
    ("catalog.list_namespaces(namespace='a')", "PyIceberg's `namespace` is `parent` here"),
    ("table.to_arrow()", "scan().to_arrow()"),
    ("table.scan().projection()", "schema"),
    ("table.schema.find_field('id')", "field(name)"),
    ("table.schema.column_names", "names"),
    ("table.schema.as_arrow()", "to_arrow()"),
    ("table.snapshot.snapshot_id", "PyIceberg's `snapshot_id` is `id` here"),
    ("table.snapshot.timestamp_ms", "timestamp"),
    ("table.schema['id'].field_id", "PyIceberg's `field_id` is `id` here"),
    ("table.partition_spec.spec_id", "PyIceberg's `spec_id` is `id` here"),
    ("table.transaction().commit_transaction()", "commit()"),
    ("table.transaction().update_spec()", "update_partition_spec()"),
    ("table.refs.remove_tag('v')", "drop(name)"),
    # Spark.
    ("catalog.listTables('db')", "list_tables()"),
    ("catalog.tableExists('db.t')", "table_exists(…)"),
    ("fz.read_table('db.t')", "frazil.load_table(name)"),
    ("fz.days('ts')", "day('x')"),
    ("fz.col('id').isin([1, 2])", "Spark's `isin` is `is_in(values)` here"),
    ("fz.col('id').isNull()", "is_null()"),
    ("fz.col('city').startswith('O')", "starts_with(prefix)"),
    ("table.show()", "head()"),
    ("table.toPandas()", "scan().to_pandas()"),
    ("table.columns", "schema.names"),
    ("table.writeTo('x')", "append(data)"),
    ("table.insert_into(ROWS)", "append(data)"),
    ("table.rewrite_data_files()", "maintain.compact()"),
    ("table.maintain.rewrite_data_files()", "compact()"),
    ("table.maintain.rollback_to_snapshot(1)", "table.rollback(to=id)"),
    ("table.rollback_to_snapshot(1)", "rollback(to=id)"),
    ("table.scan().orderBy('id')", "to_spark(spark).orderBy(…)"),
    ("table.scan().take(3)", "head(n)"),
    # Polars, pandas, pyarrow, DuckDB.
    ("table.filter('id = 1')", "scan(filter)"),
    ("table.select('id')", "scan(select=[…])"),
    ("table.scan().filter('id = 1')", "scan.where(...)"),
    ("table.scan().collect()", "to_polars()"),
    ("table.scan().with_columns()", "to_polars().with_columns(…)"),
    ("table.scan().group_by('city')", "to_polars().group_by(…)"),
    ("table.scan().limit(n=3)", "Polars' `n` is `rows` here"),
    ("table.scan().columns", "schema.names"),
    ("table.scan().num_rows", "count()"),
    ("table.scan().to_table()", "to_arrow()"),
    ("table.scan().fetchall()", "to_arrow().to_pylist()"),
    ("fz.col('id').is_between(1, 2)", "Polars' `is_between` is `between(low, high)` here"),
    ("fz.col('id').eq(1)", "== value"),
    ("fz.col('id').notna()", "is_not_null()"),
    ("fz.lit(1)", "a Python value"),
    ("pd.DataFrame(table.scan())", "scan.to_pandas()"),
    # delta-rs.
    ("fz.DeltaTable('x')", "frazil.open_table(path)"),
    ("fz.write_deltalake('x', ROWS)", "frazil.write_table(name, data)"),
    ("fz.Table('lake/db/events')", "frazil.open_table(path)"),
    ("fz.Catalog('prod')", "frazil.catalog('name')"),
    ("fz.Scan('x')", "table.scan(...)"),
    ("table.vacuum()", "maintain.expire_snapshots()"),
    ("table.optimize.compact()", "maintain.compact()"),
    ("table.version()", "snapshot.id"),
    ("table.to_pyarrow_table()", "scan().to_arrow()"),
    ("table.load_cdf(starting_version=0)", "changes(since=…)"),
    ("table.update(predicate='id = 1', updates={'city': 'x'})", "`predicate` is `where` here"),
    ("table.merge(source=ROWS, predicate='id')", "delta-rs' `source` is `data` here"),
    ("table.restore(1)", "rollback(to=id)"),
    ("table.lazy()", "Polars' `lazy` is `scan().to_polars(lazy=True)` here"),
    ("table.scan().lazy()", "Polars' `lazy` is `to_polars(lazy=True)` here"),
    ("table.explain('id = 1')", "scan(filter).explain()"),
    ("table.cherrypick(1)", "cherry_pick(id)"),
    ("table.report('x.html', where='id = 1')", "`where` is `filter` here"),
    ("table.maintain.compact(filter='id = 1')", "`filter` is `where` here"),
    ("table.maintain.compact('sort', sort_order='id')", "`sort_order` is `sort_by` here"),
    ("table.maintain.expire_snapshots(by_id=1)", "`by_id` is `snapshot_ids` here"),
    ("table.inspect.audit_log()", "table.changes(since=…)"),
    # Mistyped.
    ("fz.catlog('x')", "Did you mean 'catalog'?"),
    ("table.scan(fliter='id = 1')", "Did you mean 'filter'?"),
    ("table.delete()", "Table.delete(): missing a required argument: 'where'"),
    ("table.delete(None)", "where='true' for all rows"),
    ("table.update(True, {'city': 'x'})", "where='true' for all rows"),
    ("catalog.create_table('db.n')", "Give schema=, or rows by data="),
]

REFUSED = [
    ("catalog.create_table('db.t', ROWS.schema)", fz.AlreadyExistsError, "Give if_not_exists=True to get it as it is"),
    ("fz.write_table('db.t', ROWS, catalog=catalog)", fz.AlreadyExistsError, "Give mode='append', 'overwrite'"),
    ("catalog.drop_table('db.none')", fz.NotFoundError, "Give if_exists=True"),
    ("fz.write_table(ROWS, 'db.t')", fz.InvalidInputError, "must be text, not pyarrow.Table id: int64 city: string"),
]


@pytest.mark.parametrize(("line", "kind", "answer"), REFUSED, ids=[line for line, _, _ in REFUSED])
def test_errors_name_the_argument_that_helps(
    line: str, kind: type[Exception], answer: str, catalog: fz.Catalog, table: fz.Table
) -> None:
    with pytest.raises(kind) as raised:
        eval(line, known(catalog, table))
    assert answer in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("line", "answer"), ANSWERED, ids=[line for line, _ in ANSWERED])
def test_a_habit_is_answered(line: str, answer: str, catalog: fz.Catalog, table: fz.Table) -> None:
    before = table.snapshot
    with pytest.raises((AttributeError, TypeError, ImportError, fz.InvalidInputError)) as raised:
        eval(line, known(catalog, table))
    assert answer in str(raised.value)
    assert table.refresh().snapshot == before


def test_there_are_enough_habits() -> None:
    assert len(RIGHT) + len(ANSWERED) >= 88


CLASSES: dict[str, Any] = {
    "frazil": fz,
    "Catalog": fz.Catalog,
    "Table": fz.Table,
    "Scan": fz.Scan,
    "Schema": fz.Schema,
    "Field": fz.Field,
    "Snapshot": fz.Snapshot,
    "SortField": fz.SortField,
    "ScanTask": fz.ScanTask,
    "DataFile": fz.DataFile,
    "DeleteFile": fz.DeleteFile,
    "PartitionSpec": fz.PartitionSpec,
    "SortOrder": fz.SortOrder,
    "Ref": fz.Ref,
    "Refs": fz.Refs,
    "ExpiredSnapshots": fz.maintain.ExpiredSnapshots,
    "LastCommit": fz.LastCommit,
    "Term": fz.Term,
    "Predicate": fz.Predicate,
    "Transaction": fz.Transaction,
    "CatalogTransaction": fz.CatalogTransaction,
    "Maintain": fz.maintain.Maintain,
    "UpdateSchema": fz.UpdateSchema,
    "UpdatePartitionSpec": fz.UpdatePartitionSpec,
    "UpdateSortOrder": fz.UpdateSortOrder,
    "Inspect": fz.Inspect,
    "Split": fz.Split,
    "Writer": fz.Writer,
    "Compacted": fz.maintain.Compacted,
    "OrphanFiles": fz.maintain.OrphanFiles,
    "RewrittenManifests": fz.maintain.RewrittenManifests,
    "Snapshots": Snapshots,
    "frazil.catalog": sys.modules["frazil.catalog"],
    "frazil.table": fz.table,
    "frazil.schema": fz.schema,
    "frazil.cli": fz.cli,
    "frazil.spark": fz.spark,
    "frazil.variant": fz.variant,
    "frazil.doctor": fz.doctor,
}


# What other libraries call only by themselves.
INTERNAL = {
    "PyIceberg": """accessor_for_field check_format_version_compatibility check_schema convert_field_type
        handle_primitive_type minimum_format_version serialize_model check_compatible map_source_ids_onto_source_id
        set_null_order check_max_snapshot_age_ms check_min_snapshots_to_keep assign_new_column_id case_sensitive
        from_rest_response from_args""",
    # Columns that an engine computes. A filter has no place for them.
    "Spark": """asc_nulls_first asc_nulls_last bitwiseAND bitwiseOR bitwiseXOR desc_nulls_first desc_nulls_last
        dropFields name otherwise outer over transform when withField""",
    "Polars": "",
}


def _public(cls: Any) -> set[str]:
    """The public names of a class of another library, without those of pydantic."""
    import pydantic

    return {*dir(cls), *getattr(cls, "model_fields", ())} - set(dir(pydantic.BaseModel))


def _classes_of_others() -> list[tuple[str, Any, str]]:
    import polars as pl
    import pyiceberg.catalog
    import pyiceberg.manifest
    import pyiceberg.table.inspect
    import pyiceberg.table.maintenance
    import pyiceberg.table.refs
    import pyiceberg.table.sorting
    import pyspark.sql.catalog
    from pyiceberg.table.update import schema, snapshot, sorting, spec
    from pyspark.sql import Column, DataFrame, DataFrameReader, DataFrameWriter, DataFrameWriterV2

    table = pyiceberg.table
    return [
        ("PyIceberg", pyiceberg.catalog.Catalog, "Catalog"),
        ("PyIceberg", table.Table, "Table"),
        ("PyIceberg", table.DataScan, "Scan"),
        ("PyIceberg", table.FileScanTask, "ScanTask"),
        ("PyIceberg", pyiceberg.manifest.DataFile, "DataFile"),
        ("PyIceberg", pyiceberg.schema.Schema, "Schema"),
        ("PyIceberg", pyiceberg.types.NestedField, "Field"),
        ("PyIceberg", table.snapshots.Snapshot, "Snapshot"),
        ("PyIceberg", pyiceberg.partitioning.PartitionSpec, "PartitionSpec"),
        ("PyIceberg", table.sorting.SortOrder, "SortOrder"),
        ("PyIceberg", table.sorting.SortField, "SortField"),
        ("PyIceberg", table.refs.SnapshotRef, "Ref"),
        ("PyIceberg", table.inspect.InspectTable, "Inspect"),
        ("PyIceberg", table.maintenance.MaintenanceTable, "Maintain"),
        ("PyIceberg", table.Transaction, "Transaction"),
        ("PyIceberg", schema.UpdateSchema, "UpdateSchema"),
        ("PyIceberg", spec.UpdateSpec, "UpdatePartitionSpec"),
        ("PyIceberg", sorting.UpdateSortOrder, "UpdateSortOrder"),
        ("PyIceberg", snapshot.ManageSnapshots, "Refs"),
        ("PyIceberg", snapshot.ExpireSnapshots, "Maintain"),
        ("Spark", DataFrameReader, "Table"),
        ("Spark", DataFrameWriter, "Table"),
        ("Spark", DataFrameWriterV2, "Table"),
        ("Spark", DataFrame, "Scan"),
        ("Spark", Column, "Term"),
        ("Spark", pyspark.sql.catalog.Catalog, "Catalog"),
        ("Polars", pl.LazyFrame, "Scan"),
    ]


def test_every_name_of_others_is_right_or_answered(table: fz.Table) -> None:
    scan = table.scan()
    task = next(iter(scan.plan_files()))
    table.refs.create_tag("v1")
    ours = {
        "Catalog": fz.catalog(type="memory"),
        "Table": table,
        "Scan": scan,
        "Schema": table.schema,
        "Field": table.schema["id"],
        "Snapshot": table.snapshot,
        "PartitionSpec": table.partition_spec,
        "SortOrder": table.sort_order,
        "SortField": fz.SortField(1, "identity", True, True),
        "Ref": table.refs["v1"],
        "Refs": table.refs,
        "Inspect": table.inspect,
        "Maintain": table.maintain,
        "Transaction": table.transaction(),
        "UpdateSchema": table.update_schema(),
        "Term": fz.col("x"),
        "UpdatePartitionSpec": table.update_partition_spec(),
        "UpdateSortOrder": table.update_sort_order(),
        "ScanTask": task,
        "DataFile": task.data_file,
    }
    bare, asked = [], 0
    for library, cls, name in _classes_of_others():
        for word in sorted(_public(cls) - set(INTERNAL[library].split())):
            if word.startswith("_"):
                continue
            asked += 1
            try:
                getattr(ours[name], word)
            except AttributeError as error:
                if " here" not in str(error):
                    bare.append(f"{library} {name}.{word}")
    assert bare == []
    assert asked > 400


# Base classes, and what PyIceberg makes for itself. The last two are of a database that only PyIceberg reads.
INTERNAL_CLASSES = """TimeResolution TimeTransform Transform UnknownTransform PrimitiveType IcebergType
    ConditionalCheckFailedException DynamoDbError GenericDynamoDbError GeographyType GeometryType"""


@pytest.mark.parametrize("module", ["expressions", "types", "transforms", "exceptions"])
def test_every_class_of_pyiceberg_is_right_or_answered(module: str) -> None:
    """What scripts import by name."""
    theirs = importlib.import_module(f"pyiceberg.{module}")
    names = [
        name
        for name, value in vars(theirs).items()
        if isinstance(value, type) and value.__module__ == theirs.__name__ and name.isidentifier()
    ]
    names = [n for n in names if not re.match(r"_|Bound|Unbound[^P]|Literal|Set|Unary|Unbound", n)]
    bare = []
    for name in sorted(set(names) - set(INTERNAL_CLASSES.split())):
        try:
            getattr(fz, name)
        except AttributeError as error:
            if " here" not in str(error):
                bare.append(name)
    assert bare == []
    assert len(names) > 5


IMPORTS = {
    "from frazil.exceptions import NoSuchTableError": "frazil.NotFoundError",
    "from frazil.exceptions import NamespaceAlreadyExistsError": "frazil.AlreadyExistsError",
    "from frazil.catalog import load_catalog": "frazil.catalog('name')",
    "from frazil.transforms import DayTransform": "day('x')",
}


@pytest.mark.parametrize("statement", IMPORTS)
def test_imports_from_modules_of_another_library_are_answered(statement: str) -> None:
    """Many begin by writing `frazil` for `pyiceberg` in the imports."""
    with pytest.raises(ImportError, match=re.escape(f"is `{IMPORTS[statement]}` here")):
        exec(statement)
    with pytest.raises(AttributeError, match="has no attribute 'CommitFailedException': PyIceberg's"):
        fz.exceptions.CommitFailedException  # noqa: B018
    assert not hasattr(fz.exceptions, "nothing_of_this_name")


@pytest.mark.parametrize("word", ["schema", "snapshots", "sort_order", "snapshot"])
def test_properties_that_others_call(word: str, table: fz.Table) -> None:
    """`table.schema()` is a method of PyIceberg, and a property here."""
    with pytest.raises(TypeError, match=f"`{word}` is a property here: write it without"):
        getattr(table, word)()


def test_texts_of_properties_are_plain(table: fz.Table) -> None:
    """PySpark and others take `str` alone, and no class below it."""
    assert table.name == "db.t"
    assert type(table.name) is str
    assert type(table.location) is str


@pytest.mark.parametrize("owner", others.ATTRIBUTES)
def test_no_name_of_the_table_exists_here(owner: str) -> None:
    """A name that comes to exist must leave the table."""
    assert [name for name in others.ATTRIBUTES[owner] if hasattr(CLASSES[owner], name)] == []


@pytest.mark.parametrize("owner", NAMES)
def test_each_name_is_answered_once(owner: str) -> None:
    listed = [name for _, _, names in NAMES[owner] for name in names.split()]
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("owner", [owner for owner in NAMES if not owner.startswith("frazil")])
def test_every_class_of_the_table_answers(owner: str) -> None:
    # The core's classes answer by the same method, under another name.
    method = "__getattribute__" if CLASSES[owner].__module__ == "frazil._core" else "__getattr__"
    assert any(method in vars(c) for c in CLASSES[owner].__mro__ if c is not object)


PHRASES = {
    *("a field of a pyarrow.schema", "a Python value", "a setting of .pyiceberg.yaml, which Frazil reads"),
    *("a recipe: docs/howto/versions/undo-one.md", "a slice of it", "a DeleteFile has deletes", "maps"),
    "spark.{name}, of your own session",
    *("a comparison of the column: filters can't look into lists", "bloom filters of files", "ImportError"),
    *("branch=name of each change,", "filters are taken: frazil.catalog(catalog)", "texts for options"),
    *("for batch in scan", "frazil, the command,", "left & right", "left | right", "list(refs)", "refs['main']"),
    *(
        "max(f.id for f in fields)",
        "max(f.field_id for f in fields)",
        "str(schema)",
        "str(column)",
        "to_polars().rename(…)",
    ),
    *("pyiceberg itself, whose catalogs", "partition_by=['x']", "partition_by=['day(ts)']", "sort_by=['ts desc']"),
    *("sort_by=['x asc'] or sort_by=['x desc']", "sort_by=['x desc']", "sort_by=['x asc']"),
    "create_table(name, schema, identifier_fields=…, partition_by=…), with a schema of pyarrow,",
}
"""Answers whose first word is no name of the class, nor of the package."""

HOLDERS = {"table": fz.Table, "frazil": fz, "scan": fz.Scan, "catalog": fz.Catalog, "task": fz.ScanTask}
MODULES = ("pyarrow", "pyspark", "polars", "duckdb", "datetime", "decimal", "logging")


def exists(owner: str, part: str) -> bool:
    """Whether the first name of an answer is something that its class, the package or another library has."""
    if part in PHRASES or part.startswith(("not needed: ", "not there: ", "pyarrow's types")):
        return True
    found = re.match(
        rf"(?:not |len\()?(?:({'|'.join([*HOLDERS, *MODULES])})\.)?([A-Za-z_][A-Za-z_0-9]*|{{name}})", part
    )
    if found is None:
        return not part[0].isalpha()
    holder, word = found.groups()
    if word == "{name}" and holder is not None:
        return True
    if holder is None:
        return word in fz.__all__ or hasattr(CLASSES[owner], word)
    if holder == "pyspark":
        return importlib.util.find_spec(f"pyspark.{word}") is not None
    return hasattr(HOLDERS.get(holder) or importlib.import_module(holder), word)


@pytest.mark.parametrize(("owner", "here"), [(owner, here) for owner, rows in NAMES.items() for _, here, _ in rows])
def test_the_words_of_the_table_exist(owner: str, here: str) -> None:
    assert [part for part in here.split(" and ") if not exists(owner, part)] == []


@pytest.mark.parametrize(
    "here",
    [
        *("the scan", "a scan", "not here", "for each in scan", "or scan", "list(scans)", "name", "name(x)", "len(x)"),
        *("pyarrow.int46()", "catalog.remove_table(name)", "scan.to_spark_frame()", "table.where()", "pyspark.sqls.x"),
    ],
)
def test_words_that_do_not_exist_are_found(here: str) -> None:
    assert not exists("Refs", here)


def functions() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    classes = [holder for name, holder in CLASSES.items() if not name.startswith("frazil.")]
    for holder in [*classes, fz.row_changes.RowChanges, fz.refs.RefChanges]:
        for name in dir(holder):
            if not name.startswith("_") and name != "spark" and callable(getattr(holder, name)):
                found.setdefault(name, []).append(getattr(holder, name))
    return found


@pytest.mark.parametrize("function", [name for name in others.ARGUMENTS if name != "read"])
def test_arguments_of_the_table_are_others_here(function: str) -> None:
    known = functions()[function]
    for one in known:
        names = set(inspect.signature(one).parameters)
        assert not names & set(others.ARGUMENTS[function]), one
    for name, (_, here) in others.ARGUMENTS[function].items():
        takes_all = any(p.kind is p.VAR_KEYWORD for one in known for p in inspect.signature(one).parameters.values())
        if re.fullmatch(r"[a-z_]+", here) and not takes_all:
            assert any(here in inspect.signature(one).parameters for one in known), (name, here)


# What PyIceberg passes to itself, and arguments by position.
OTHER_ARGUMENTS = {
    "self",
    "args",
    "kwargs",
    "fields",
    "field_names",
    "removals",
    "format_version",
    "_isolation_operation",
}


def test_every_argument_of_pyiceberg_is_right_or_answered() -> None:
    missing = []
    for library, theirs, name in _classes_of_others():
        ours = CLASSES[name]
        shared = set(dir(theirs)) & set(dir(ours)) if library == "PyIceberg" else set()
        for method in sorted(one for one in shared if not one.startswith("_")):
            if not inspect.isfunction(getattr(theirs, method)) or not inspect.isfunction(getattr(ours, method)):
                continue
            answered = {*inspect.signature(getattr(ours, method)).parameters, *others.ARGUMENTS.get(method, {})}
            asked = set(inspect.signature(getattr(theirs, method)).parameters) - OTHER_ARGUMENTS - answered
            missing += [f"{name}.{method}({argument})" for argument in sorted(asked)]
    # A transaction has one branch, and metadata tables are filtered by pyarrow.
    of_transactions = [f"Transaction.{name}(branch)" for name in ("add_files", "append")]
    assert missing == ["Inspect.partitions(case_sensitive)", "Inspect.partitions(row_filter)", *of_transactions]


def test_type_checkers_see_no_getattr() -> None:
    """Every attribute would exist for them."""
    for path in (ROOT / "python" / "frazil").rglob("*.py"):
        if path.name != "__init__.py":
            text = path.read_text("utf-8").replace("if not TYPE_CHECKING:\n\n    def __getattr__", "")
            assert "def __getattr__" not in text, path


def test_an_error_inside_of_a_property_stays(table: fz.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any) -> Any:
        raise AttributeError("broken inside")

    monkeypatch.setattr(fz.Table, "format", property(broken))
    with pytest.raises(AttributeError, match="broken inside"):
        table.format  # noqa: B018


def test_a_type_error_of_a_method_itself_stays(table: fz.Table) -> None:
    def rows() -> Any:
        raise TypeError("the user's own")
        yield

    with pytest.raises(TypeError, match="the user's own"):
        table.append(rows())


def test_lists_and_copies_are_plain(table: fz.Table) -> None:
    snapshots = table.snapshots
    assert isinstance(snapshots, list)
    assert type(pickle.loads(pickle.dumps(snapshots))) is list
    assert copy.copy(snapshots) == snapshots == [table.snapshot]


def test_the_page_shows_the_table() -> None:
    page = (ROOT / "docs" / "guide" / "names.md").read_text("utf-8")
    assert others.page() in page, "write it again: python -c 'from frazil.names import others; print(others.page())'"
