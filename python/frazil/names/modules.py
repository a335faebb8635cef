"""What to write in place of a call of a module, as in `frazil.table("db.t")`."""

from __future__ import annotations

__all__ = ["CALLED"]

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
    "statistics": "scan.statistics()",
    "table": "frazil.load_table(name) or frazil.open_table(path)",
    "transaction": "table.transaction()",
    "transforms": "partition_by=['day(ts)']",
    "variant": "frazil.variant.from_python(values)",
}
"""What to write, by the module."""
