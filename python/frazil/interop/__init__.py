"""The only package that imports pyarrow. The rest of Frazil imports it when data is converted."""

from frazil.interop.arrow import (
    column_of,
    counted,
    geopandas_rows,
    is_table,
    pandas_rows,
    reader_of,
    schema_of,
    schema_of_rows,
    schema_of_type,
    single,
    table_of,
)
from frazil.interop.batch_reader import BatchReader, lazy_rows, opened, read_before, rows_of_batches
from frazil.interop.new_columns import new_columns, with_variants
from frazil.interop.python_values import python_rows, python_values
from frazil.interop.variant_values import variants_of_json, variants_of_python

__all__ = [
    "BatchReader",
    "column_of",
    "counted",
    "geopandas_rows",
    "is_table",
    "lazy_rows",
    "new_columns",
    "opened",
    "pandas_rows",
    "python_rows",
    "python_values",
    "read_before",
    "reader_of",
    "rows_of_batches",
    "schema_of",
    "schema_of_rows",
    "schema_of_type",
    "single",
    "table_of",
    "variants_of_json",
    "variants_of_python",
    "with_variants",
]
