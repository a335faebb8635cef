"""What users write, for type checkers alone: nothing runs it. Each line that ends with `# refused` is a mistake."""

import datetime as dt
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import BooleanExpression

import frazil as fz
from frazil import col
from frazil.expr import Columns

settings = {"type": "filesystem", "warehouse": "/warehouse"}
catalog = fz.catalog("prod", **settings)
catalog.create_table("db.t", pa.schema([("id", pa.int64())]), partition_by=fz.bucket(16, "id"), sort_by="id desc")
catalog.create_table("db.t", data=pa.table({"id": [1]}), partition_by=["id", fz.day("ts")], identifier_fields="id")
catalog.drop_table("db.t", purge=True, outside_locations=Path("/elsewhere"))
table = fz.load_table("prod.db.t")

# Filters.
recent = col("id") > 5
for one in ("id > 5", recent, recent & (col("x") == "y"), col("ts") < dt.date(2026, 1, 1)):
    table.scan(one)
table.scan(pl.col("id") > 5).where(pc.field("id") < 9)
table.update(pc.field("id") > 5, {"x": "new", "y": col("x"), "z": None})


def erase(gone: BooleanExpression) -> None:
    """PyIceberg's own signatures refuse `EqualTo("id", 5)`, so the filter is an argument."""
    table.delete(gone)
    table.overwrite(pl.DataFrame(), where=gone & ~gone)


table.merge(pa.table({"id": [1]}), on="id", when_matched_delete=pl.col("op") == "D", when_not_matched_insert=True)
table.scan(5)  # refused
table.scan(["id > 5"])  # refused
table.delete(None)  # refused
table.scan(where="id > 5")  # refused

# Columns.
names: Columns = ["id", col("x")]
table.scan(select="id").select("id", "x").select(["id", col("x")]).limit(3).head().to_pydict()
table.scan(select=names)
table.scan(select={"id"})
table.upsert(pa.table({"id": [1]}), on=("id", "x"), branch="audit")
table.append(pa.table({"id": [1]}), sort_by="id desc")
table.scan(select=5)  # refused

# Versions and results.
table.scan(at=table.snapshot.id, since=table.snapshot.parent_id)
print(table.scan(at="main").count() + 1)
table.scan(at=dt.datetime(2026, 1, 1))
table.scan(at=5.5)  # refused
print(table.append(pa.table({"id": [1]})).last_commit.rows_added, table.snapshot.summary["x"].upper())
table.snapshot.no_such_thing()  # refused
for snapshot in table.snapshots:
    print(snapshot.timestamp.year)
    snapshot.no_such_thing()  # refused
table.no_such_thing()  # refused
table.schema["id"].type.upper()
table.maintain.expire_snapshots(snapshot_ids=5)
print(table.maintain.compute_statistics("id").distinct["id"] + 1)
table.add_files(Path("/data/file.parquet"))
table.commit(table.writer().write(pa.table({"id": [1]})))
splits = table.scan().plan(n=4)
print(splits[0].row_count + splits[0].size_bytes)
for batch in table.scan():
    print(batch.num_rows)
lazy: pl.LazyFrame = table.scan().to_polars(lazy=True)
frame: pl.DataFrame = table.scan().to_polars()
with table.transaction() as transaction:
    transaction.append(pa.table({"id": [1]})).delete("id = 1").set_properties(a=5)
with table.update_schema() as update:
    update.add_column("note", "string").rename_column("id", "key")
