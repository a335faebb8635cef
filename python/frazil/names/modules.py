"""What to write in place of a call of a module or a class, as in `frazil.table("db.t")` or `frazil.Table()`."""

from __future__ import annotations

__all__ = ["CALLED", "CONSTRUCTED"]

CALLED: dict[str, str] = {
    "doctor": "table.doctor()",
    "estimate": "scan.estimate()",
    "evolve": "table.update_schema()",
    "exceptions": "frazil.FrazilError",
    "explain": "scan.explain()",
    "expr": "scan('x > 5') or scan(frazil.col('x') > 5)",
    "inspect": "table.inspect.files()",
    "refs": "table.refs",
    "results": "table.last_commit",
    "scan": "frazil.load_table(name).scan(…)",
    "schema": "pyarrow.schema([('id', pyarrow.int64()), …])",
    "spark": "frazil.spark.read(spark, table)",
    "spark.query": "frazil.spark.sql(spark, query)",
    "spark.write": "frazil.spark.append(frame, table)",
    "statistics": "scan.statistics()",
    "table": "frazil.load_table(name) or frazil.open_table(path)",
    "transaction": "table.transaction()",
    "transforms": "partition_by=['day(ts)']",
    "variant": "frazil.variant.from_python(values)",
}
"""What to write, by the module."""

CONSTRUCTED: dict[str, str] = {
    "Catalog": "frazil.catalog(name, …)",
    "Field": "pyarrow.field(name, type), for the schema of a new table",
    "PartitionField": "partition_by=['day(ts)']",
    "PartitionSpec": "partition_by=['day(ts)']",
    "Scan": "table.scan(…)",
    "Schema": "frazil.Schema(pyarrow.schema([('id', pyarrow.int64()), …]))",
    "Snapshot": "table.snapshot, or table.snapshot_by_id(id)",
    "SortField": "sort_by=['x desc']",
    "SortOrder": "sort_by=['x desc']",
    "Table": "frazil.load_table(name) or frazil.open_table(path)",
}
"""Where objects of a class come from, by the class."""
