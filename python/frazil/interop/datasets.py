"""Scans as data sets of pyarrow, by which DuckDB, DataFusion and others read only the columns and rows they need.

These engines call `scanner(columns=…, filter=…)`. The columns and, as far as it can be translated, the filter go to the
scan. pyarrow then applies both exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pyarrow.dataset as ds

from frazil.exceptions import UnsupportedError
from frazil.interop.pushdown import with_columns, with_conditions

if TYPE_CHECKING:
    from frazil.scan import Scan, Split

__all__ = ["ScanDataset"]

# What `scanner` of pyarrow takes and has no meaning for a scan, whose own reader reads.
_IGNORED = frozenset(
    {"batch_readahead", "fragment_readahead", "fragment_scan_options", "use_threads", "cache_metadata", "memory_pool"}
)


class ScanDataset(ds.Dataset):  # type: ignore[misc]
    """A scan as a `pyarrow.dataset.Dataset`."""

    def __init__(self, scan: Scan, condition: Any = None) -> None:
        self._scan = scan
        self._condition = condition

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows."""
        return _bare(self._scan.arrow_schema)

    @property
    def partition_expression(self) -> Any:
        """Nothing is known about all rows."""
        return ds.scalar(True)

    def scanner(
        self, columns: Any = None, filter: Any = None, batch_size: int | None = None, **ignored: Any
    ) -> ds.Scanner:
        """What reads the columns and rows that an engine asks for."""
        _check(ignored)
        condition = _both(self._condition, filter)
        scan = narrowed(self._scan, columns, condition, batch_size)
        reader = scan.to_arrow_batch_reader()
        return _scanner(_batches(reader), scan.arrow_schema, columns, condition, batch_size)

    def to_batches(self, **options: Any) -> Iterator[pa.RecordBatch]:
        """The rows as batches."""
        return self.scanner(**options).to_batches()  # type: ignore[no-any-return]

    def to_table(self, **options: Any) -> pa.Table:
        """The rows as a table."""
        return self.scanner(**options).to_table()

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """The number of rows."""
        condition = _both(self._condition, filter)
        if condition is None:
            return self._scan.count()
        return int(self.scanner(filter=filter, **options).count_rows())

    def head(self, num_rows: int, **options: Any) -> pa.Table:
        """The first rows."""
        return self.scanner(**options).head(num_rows)

    def take(self, indices: Any, **options: Any) -> pa.Table:
        """The rows at these positions. Positions are those of one read."""
        return self.to_table(**options).take(indices)

    def filter(self, expression: Any) -> ScanDataset:
        """A data set with the rows for which an expression is true as well."""
        return ScanDataset(self._scan, _both(self._condition, expression))

    def get_fragments(self, filter: Any = None) -> Iterator[_Fragment]:
        """A part for each split of the plan. Together they have all rows."""
        condition = _both(self._condition, filter)
        if self._scan.row_limit is not None:
            return iter([_Fragment(self._scan, condition)])
        plan = _Plan(with_conditions(self._scan, [] if condition is None else [condition]))
        return iter([_Fragment(plan.scan, condition, plan, number) for number in range(len(plan.splits(None)))])

    def replace_schema(self, schema: pa.Schema) -> NoReturn:
        """Refuses: the table decides about its columns."""
        raise UnsupportedError("a scan can't be read with another schema", hint="Cast the rows that you read")

    def __repr__(self) -> str:
        return f"ScanDataset({self._scan!r})"

    def __reduce__(self) -> tuple[type[ScanDataset], tuple[Any, ...]]:
        return ScanDataset, (self._scan, self._condition)


class _Plan:
    """The splits of a scan, for each set of columns that is asked for. Columns don't change how files are split."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self._made: dict[tuple[str, ...] | None, list[Split]] = {}

    def splits(self, columns: tuple[str, ...] | None) -> list[Split]:
        """The splits, with these columns."""
        if columns not in self._made:
            scan = self.scan if columns is None else with_columns(self.scan, columns)
            self._made[columns] = scan.plan()
        return self._made[columns]


class _Fragment:
    """A split of a plan, or a whole scan."""

    def __init__(self, scan: Scan, condition: Any, plan: _Plan | None = None, number: int = 0) -> None:
        self._scan = scan
        self._condition = condition
        self._plan = plan
        self._number = number

    @property
    def physical_schema(self) -> pa.Schema:
        """The schema of the rows."""
        return _bare(self._scan.arrow_schema)

    def scanner(
        self,
        schema: pa.Schema | None = None,
        columns: Any = None,
        filter: Any = None,
        batch_size: int | None = None,
        **ignored: Any,
    ) -> ds.Scanner:
        """What reads the columns and rows of this part."""
        _check(ignored)
        condition = _both(self._condition, filter)
        names = None if columns is None else tuple(_needed(self._scan.arrow_schema, columns, condition))
        part = self._scan if self._plan is None else self._plan.splits(names)[self._number]
        return _scanner(_batches(part.to_arrow_batch_reader()), pa.schema(part), columns, condition, batch_size)

    def __repr__(self) -> str:
        return f"Fragment({self._number} of {self._scan!r})"


def narrowed(scan: Scan, columns: Any, condition: Any, batch_size: int | None) -> Scan:
    """The scan that reads what an engine asks for, or more."""
    if batch_size:
        scan = scan._with(options={**scan._options, "batch-rows": str(batch_size)})
    if columns is not None:
        scan = with_columns(scan, _needed(scan.arrow_schema, columns, condition))
    return with_conditions(scan, [] if condition is None else [condition])


def _needed(schema: pa.Schema, columns: Any, condition: Any) -> list[str]:
    """The columns that an answer is computed from."""
    asked = columns.values() if isinstance(columns, Mapping) else [ds.field(name) for name in columns]
    needed = [*asked, *([] if condition is None else [condition])]
    return [name for name in schema.names if _names(needed, schema, name)]


def _names(expressions: list[Any], schema: pa.Schema, name: str) -> bool:
    """Whether expressions need a column: they then can't be computed without it."""
    if schema.names.count(name) > 1:
        return True
    rest = schema.remove(schema.get_field_index(name))
    try:
        ds.Scanner.from_batches([], schema=rest, columns={str(i): given for i, given in enumerate(expressions)})
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return True
    return False


def _scanner(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, columns: Any, condition: Any, size: int | None
) -> Any:
    given = {} if condition is None else {"filter": condition}
    if size:
        given["batch_size"] = size
    return ds.Scanner.from_batches(batches, schema=_bare(schema), columns=columns, **given)


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    schema = _bare(reader.schema)
    for batch in reader:
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _bare(schema: pa.Schema) -> pa.Schema:
    """The schema without the table's own metadata, which engines don't compare alike."""
    return schema.remove_metadata()


def _both(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _check(ignored: Mapping[str, Any]) -> None:
    unknown = sorted(set(ignored) - _IGNORED)
    if unknown:
        raise TypeError(f"scanner() got an unexpected argument {unknown[0]!r}")
