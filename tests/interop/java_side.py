"""The Java side of the interop tests: SQL on Java Iceberg's catalog, and rows in a form that compares exactly."""

import datetime
import decimal
import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from frazil import doctor

NAMESPACE = "db"


class Java:
    """Java Iceberg in Spark. Tables are given by bare name; they live in the namespace `db` of the catalog `ice`."""

    def __init__(self, spark: SparkSession, warehouse: Path) -> None:
        self.spark = spark
        self.warehouse = warehouse
        self._numbers = itertools.count(1)
        self.sql(f"create namespace if not exists ice.{NAMESPACE}")

    def fresh(self, stem: str) -> str:
        """A table name that no other test uses."""
        return f"{stem}_{next(self._numbers)}"

    def root(self, table: str) -> str:
        """The table's root folder."""
        return str(self.warehouse / NAMESPACE / table)

    def sql(self, text: str) -> list[Any]:
        """Runs a statement and gives its rows."""
        return self.spark.sql(text).collect()

    def create(
        self,
        stem: str,
        columns: str,
        partitioned_by: str = "",
        version: int = 2,
        properties: dict[str, str] | None = None,
    ) -> str:
        """Creates a table and gives its name."""
        table = self.fresh(stem)
        pairs = {"format-version": str(version), **(properties or {})}
        listed = ", ".join(f"'{key}'='{value}'" for key, value in pairs.items())
        parts = f"partitioned by ({partitioned_by})" if partitioned_by else ""
        self.sql(f"create table ice.{NAMESPACE}.{table} ({columns}) using iceberg {parts} tblproperties ({listed})")
        return table

    def insert(self, table: str, values: str) -> None:
        """Appends rows given as SQL values, in one commit."""
        self.sql(f"insert into ice.{NAMESPACE}.{table} values {values}")

    def alter(self, table: str, change: str) -> None:
        self.sql(f"alter table ice.{NAMESPACE}.{table} {change}")

    def read(self, table: str, where: str = "", columns: str = "*", version: str = "") -> list[str]:
        """Rows as Java reads them, see `exact`; `version` is a time travel clause."""
        filtered = f"where {where}" if where else ""
        return exact(self.spark.sql(f"select {columns} from ice.{NAMESPACE}.{table} {version} {filtered}").toArrow())

    def in_memory(self, table: str) -> DataFrame:
        """All rows of the table, cut off from its files."""
        rows = self.spark.table(f"ice.{NAMESPACE}.{table}")
        return self.spark.createDataFrame(rows.toArrow(), rows.schema)

    def metadata(self, table: str, kind: str, columns: str = "*") -> list[Any]:
        """Rows of a metadata table such as `files` or `snapshots`."""
        return self.sql(f"select {columns} from ice.{NAMESPACE}.{table}.{kind}")

    def snapshot_ids(self, table: str) -> list[int]:
        """Ids of the table's snapshots, oldest first."""
        rows = self.sql(f"select snapshot_id from ice.{NAMESPACE}.{table}.snapshots order by committed_at, snapshot_id")
        return [row.snapshot_id for row in rows]


def exact(rows: pa.Table) -> list[str]:
    """The rows as sorted texts that are equal exactly if the values are: NaN equals NaN, -0.0 differs from 0.0, a
    decimal keeps its scale; large and small variants of an Arrow type do not differ."""
    names = rows.column_names
    return sorted(repr([(name, _plain(row[name])) for name in names]) for row in rows.to_pylist())


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {key: _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case datetime.datetime():
            utc = value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)
            return utc.isoformat(timespec="microseconds")
        case decimal.Decimal():
            return format(value, "f")
        case bytes() | bytearray():
            return bytes(value).hex()
        case _:
            return value


def assert_same_rows(ours: list[str], theirs: list[str], what: str = "") -> None:
    """Compares as multisets and shows only what differs."""
    if ours == theirs:
        return
    left, right = Counter(ours), Counter(theirs)
    surplus, lacking = list((left - right).elements()), list((right - left).elements())
    raise AssertionError(
        f"{what}: {len(ours)} rows from Frazil, {len(theirs)} from Java\n"
        f"only Frazil ({len(surplus)}): {surplus[:5]}\nonly Java ({len(lacking)}): {lacking[:5]}"
    )


def assert_whole(place: str | Path) -> None:
    """The doctor finds no error in the table of another writer, also if it decodes every row."""
    errors = doctor.examine(place, deep=True).errors
    assert not errors, [(finding.code, finding.object, finding.evidence) for finding in errors]
