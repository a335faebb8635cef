"""Scans: what to read of a table. Planning and reading start on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

from frazil import _core, arguments, foreign, observing
from frazil._core import DataFile, DeleteFile, ScanTask
from frazil.arguments.checked import checked
from frazil.capabilities import supports
from frazil.display import tables
from frazil.display.figures import amount, bytes_text, number
from frazil.engines import Engine, Planning, spark_engine
from frazil.exceptions import InvalidInputError
from frazil.expr import Filter, Predicate, Term
from frazil.names import answers
from frazil.schema import Schema

# What says something about a scan, and needs no rows, is imported when it is asked for.
if TYPE_CHECKING:
    import daft
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.dataset as ds
    import ray.data
    import torch.utils.data
    from pyspark.sql import DataFrame, SparkSession

    from frazil.estimate import Estimate
    from frazil.explain import Explain
    from frazil.statistics import Statistics

__all__ = ["PART_BYTES", "DataFile", "DeleteFile", "PlanPart", "Scan", "ScanTask", "Split"]

PART_BYTES = 8 << 20
"""The default size of the data manifests in one part of a plan, in bytes."""

_MOST_TEXT = 4000


@answers()
@checked
class Scan:
    """A description of what to read: columns, rows and version. `Table.scan` makes one.

    A scan never changes: `where`, `select` and `limit` return new scans. Tasks (`plan_files`, `plan`, `plan_table`,
    `explain`) need the table's metadata; rows (`to_arrow`, `count`, …) need data too. A scan can be pickled. The order
    of rows is not defined.

    Examples:
        >>> scan = table.scan().where("country = 'NO'").select("id", "payload.a").limit(100)  # doctest: +SKIP
        >>> scan.to_arrow()  # doctest: +SKIP
    """

    def __init__(
        self,
        table: _core.Table,
        *,
        filters: tuple[str, ...] = (),
        columns: tuple[str, ...] | None = None,
        at: _core.At | None = None,
        since: _core.At | None = None,
        changes: bool = False,
        options: Mapping[str, str] | None = None,
        rows: int | None = None,
    ) -> None:
        if not isinstance(table, _core.Table):
            raise InvalidInputError(f"a Scan is not made from {arguments.shown(table)}", hint="Call table.scan(...)")
        self._table = table
        self._filters = filters
        self._columns = columns
        self._at = at
        self._since = since
        self._changes = changes
        self._options = dict(options or {})
        self._rows = rows
        select = None if columns is None else list(columns)
        core = table.scan(
            filter=filters[0] if filters else None,
            select=select,
            at=at,
            since=since,
            changes=changes,
            options=self._options,
        )
        for text in filters[1:]:
            core = core.filter(text)
        self._core = core if rows is None else core.limit(rows)
        # The table's name in its catalog, for log records. It does not travel to other processes.
        self._name: str | None = None

    def _with(self, **changes: Any) -> Scan:
        state = {
            "filters": self._filters,
            "columns": self._columns,
            "at": self._at,
            "since": self._since,
            "changes": self._changes,
            "options": self._options,
            "rows": self._rows,
        }
        return Scan(self._table, **{**state, **changes})._named(self._name)

    def _named(self, name: str | None) -> Scan:
        """The scan itself, which now knows the name of its table."""
        self._name = name
        return self

    def where(self, filter: Filter) -> Scan:
        """Adds a filter: only rows that it keeps as well are read."""
        return self._with(filters=(*self._filters, arguments.filter_text(filter)))

    def select(self, *columns: str | Term | Iterable[str | Term]) -> Scan:
        """Reads these columns of the table, in this order. Dotted paths name members of structs; the nesting stays.

        Args:
            columns: The columns' names, or one list of names.
        """
        return self._with(columns=arguments.selection(columns, "columns"))

    def limit(self, rows: int) -> Scan:
        """Reads no more than this number of rows. Which rows are read is not defined.

        Filters come before the limit, also those that `where` adds later: `limit(3).where(f)` is `where(f).limit(3)`.
        """
        rows = arguments.count("rows", rows)
        return self._with(rows=rows if self._rows is None else min(rows, self._rows))

    def head(self, rows: int = 5) -> pa.Table:
        """A few rows as a pyarrow table. Which rows these are is not defined."""
        return self.limit(rows).to_arrow()

    @property
    def schema(self) -> Schema:
        """The schema of the rows."""
        return Schema._wrap(self._core.schema())

    @property
    def arrow_schema(self) -> pa.Schema:
        """The schema of the rows, as a pyarrow schema."""
        from frazil import interop

        return interop.schema_of(self._core)

    @property
    def filter(self) -> Predicate:
        """The filter, bound to the table. It is `true` if there is no filter."""
        return Predicate(self._core.filter_text)

    @property
    def snapshot_id(self) -> int | None:
        """The id of the snapshot that is read. It is None for a table without commits."""
        return self._core.snapshot_id

    @property
    def row_limit(self) -> int | None:
        """The limit that `limit` set, or None."""
        return self._rows

    def plan_files(self) -> Iterator[ScanTask]:
        """The files to read, one task each, always in the same order. Planning continues while you iterate.

        `limit` has no effect here, because it counts rows.
        """
        return self._core.plan_files()

    def plan(
        self,
        split_size_bytes: int | None = None,
        lookback: int | None = None,
        open_file_cost_bytes: int | None = None,
        *,
        n: int | None = None,
    ) -> list[Split]:
        """The tasks, cut and packed into splits of about equal size, for parallel readers.

        `limit` has no effect here. Apply it to the rows that you read.

        Args:
            n: The largest number of splits: one for each of `n` workers. They read about the same number of bytes.
                There are fewer splits if there is less to read. The other arguments can't be given with it.
            split_size_bytes: The size of a split.
            lookback: How many open splits are considered when a task is placed.
            open_file_cost_bytes: The least weight of a file. It keeps the number of small files in a split low.
        """
        if n is not None:
            if (split_size_bytes, lookback, open_file_cost_bytes) != (None, None, None):
                raise InvalidInputError("plan: n= can't be combined with other arguments", hint="Give one of them")
            if arguments.count("n", n) == 0:
                raise InvalidInputError("n must be 1 or above, not 0")
            from frazil.requests.splits import balanced_splits

            return [Split(core) for core in balanced_splits(self._core, n)]
        return self._core.splits(
            Split,
            split_size_bytes=_optional_count("split_size_bytes", split_size_bytes),
            lookback=_optional_count("lookback", lookback),
            open_file_cost_bytes=_optional_count("open_file_cost_bytes", open_file_cost_bytes),
        )

    def plan_table(self) -> pa.Table:
        """The tasks as one pyarrow table, without a Python object for each task."""
        from frazil import interop

        return interop.table_of(self._core.plan_table())

    def plan_parts(self, part_bytes: int = PART_BYTES) -> list[PlanPart]:
        """The plan in parts, which other processes can plan independently. Reads the manifest list, but no manifest.

        All parts together have the tasks of `plan_files`, in the same order. For PySpark, see `frazil.spark.plan`.

        Args:
            part_bytes: The approximate size of the data manifests in one part.
        """
        parts = self._core.plan_parts(arguments.count("part_bytes", part_bytes), 0)
        return [PlanPart(part) for part in parts]

    def explain(self, files: bool = False) -> Explain:
        """Plans, and explains what was pruned at each step and why. Print the result, or let a notebook draw it.

        Args:
            files: Explain every file of the snapshot too: which stage, clause and bound kept or dropped it
                (`Explain.files`). This opens manifests that planning itself would skip.
        """
        from frazil.explain import Explain

        facts, manifests, judged = self._core.explain(files)
        if foreign.FILES in self._table.to_json():
            facts["filesystem"] = True
        if (option := self._hiding_option()) is not None:
            facts["hidden_by"] = option
        return Explain(facts, manifests, judged)

    def _hiding_option(self) -> str | None:
        """The option by which a table that is compacted by its options shows compacted rows only."""
        if supports(self._table, "compaction_by_arguments") or not self._table.schema().identifier_field_ids:
            return None
        options = self._table.properties
        hiding = {"deletion-vectors.enabled": "true", "merge-engine": "first-row", "bucket": "-2"}
        return next((f"{name} = {value}" for name, value in hiding.items() if options.get(name) == value), None)

    def estimate(self) -> Estimate:
        """The cost of planning: bytes to read, manifests, entries and memory. Only the manifest list is read."""
        from frazil.estimate import Estimate

        return Estimate(**self._core.estimate())

    def statistics(self, *columns: str | Iterable[str]) -> Statistics:
        """Row count and, for each column, minimum, maximum, nulls and NaNs, from metadata alone.

        No data file is read. For a scan with `since`, the figures cover all appended files. Change logs have no
        statistics. Each figure is marked as exact or as a bound.

        A file counts exactly if the filter keeps all its rows and no deletes apply to it. Every other file gives
        bounds. Minima and maxima of text, binary and UUID columns are exact only if all values of a file are the same,
        because writers may truncate bounds.

        Args:
            columns: Dotted paths, or one list of them. A struct stands for its members. Without arguments, all selected
                columns.

        Raises:
            InvalidInputError: A column does not exist, or it is inside a list or map.
        """
        from frazil.statistics import Statistics

        return Statistics(self._core.statistics(list(arguments.selection(columns, "columns") if columns else ())))

    def to_arrow(self) -> pa.Table:
        """The rows as a pyarrow table in memory. Files are read in parallel."""
        from frazil import interop

        return interop.table_of(self._core.read_all())

    def to_arrow_batch_reader(self, *, ordered: bool = False) -> pa.RecordBatchReader:
        """The rows as a stream of record batches. The stream starts before planning ends.

        Several threads read a few batches of a few files ahead of the consumer. Memory does not grow with the number of
        files.

        Args:
            ordered: Batches come in the order of the tasks, the same each time. Otherwise they come as soon as they are
                ready. A scan with a limit is always ordered.

        A batch has at most the number of rows of the scan's option `batch-rows`, and about 32 MiB. After an error,
        every further call raises the same error. The threads end with the last reference to the reader, not with
        `close()`. The stream belongs to the process that made it; a fork can't continue it.
        """
        from frazil import interop

        failed = observing.failure_of_stream(self)
        return interop.reader_of(self._core.read(arguments.flag("ordered", ordered)), failed)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch: `for batch in scan`. See `to_arrow_batch_reader`."""
        return iter(self.to_arrow_batch_reader())

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """Refuses numpy and `pandas.DataFrame(scan)`, which would take the scan for a list of batches."""
        raise InvalidInputError("a scan is not an array", hint="Write scan.to_pandas(), or scan.to_arrow()")

    def __arrow_c_schema__(self) -> object:
        """The Arrow PyCapsule interface: only the schema."""
        return self._core.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow PyCapsule interface: for `polars.DataFrame(scan)`, `pyarrow.table(scan)`, duckdb and others."""
        return observing.stream(self, self._core.read()).__arrow_c_stream__(requested_schema)

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """The rows as a pandas data frame. `options` are passed to `pyarrow.Table.to_pandas`."""
        arguments.installed("pandas")
        if options:
            from frazil.arguments import hints

            hints.check_options_of_pandas(options)
        frame: pd.DataFrame = self.to_arrow().to_pandas(**options)
        return frame

    @overload
    def to_polars(self, *, lazy: Literal[False] = False) -> pl.DataFrame: ...
    @overload
    def to_polars(self, *, lazy: Literal[True]) -> pl.LazyFrame: ...
    @overload
    def to_polars(self, *, lazy: bool) -> pl.DataFrame | pl.LazyFrame: ...

    def to_polars(self, *, lazy: bool = False) -> pl.DataFrame | pl.LazyFrame:
        """The rows as a polars data frame.

        Args:
            lazy: Return a lazy frame instead, which reads when it is collected. The columns that the query needs, its
                filters and `head` then limit what is read. Needs Polars 1.24 or newer.
        """
        arguments.installed("polars")
        import polars as pl

        if lazy:
            from frazil.interop.lazy_polars import lazy_frame

            return lazy_frame(self)
        return pl.DataFrame(self._core.read_all())

    def to_arrow_dataset(self) -> ds.Dataset:
        """The scan as a `pyarrow.dataset.Dataset`, for engines that push columns and filters into one.

        DuckDB and DataFusion do: `connection.from_arrow(dataset)`, `context.register_dataset("events", dataset)`. Each
        query reads again, and only what it needs.
        """
        from frazil.interop.datasets import ScanDataset

        return ScanDataset(self)

    def to_duckdb(self, connection: Any | None = None) -> duckdb.DuckDBPyRelation:
        """The rows as a relation of DuckDB. Each query reads only the columns and rows that it needs.

        Args:
            connection: The connection of DuckDB that the relation belongs to; None for its default connection.
        """
        arguments.installed("duckdb")
        import duckdb

        if connection is not None and not isinstance(connection, duckdb.DuckDBPyConnection):
            raise InvalidInputError(
                f"connection must be a connection of DuckDB, not {arguments.shown(connection)}",
                hint="Give the result of duckdb.connect(). To name the rows: to_duckdb(connection).create_view('name')",
            )
        relation: duckdb.DuckDBPyRelation = (connection or duckdb).from_arrow(self.to_arrow_dataset())
        return relation

    def __datafusion_table_provider__(self, session: Any) -> object:
        """For `context.register_table("events", scan)` of DataFusion. Needs the package frazil-datafusion."""
        from frazil.interop.datafusion_source import table_provider

        return table_provider(self, session)

    def to_daft(self) -> daft.DataFrame:
        """The rows as a DataFrame of Daft, which reads in parallel when it is collected. Columns are pushed down."""
        arguments.installed("daft")
        from frazil.interop.daft_source import frame

        return frame(self)

    def to_ray(self, n: int | None = None) -> ray.data.Dataset:
        """The rows as a Dataset of Ray, whose workers read splits in parallel. They need Frazil installed.

        Args:
            n: The largest number of read tasks. By default Ray decides.
        """
        arguments.installed("ray")
        from frazil.interop.ray_source import dataset

        return dataset(self, n)

    def to_torch(self, batch_rows: int | None = None) -> torch.utils.data.IterableDataset[dict[str, Any]]:
        """The rows as an `IterableDataset` of PyTorch: batches, each a dictionary of columns.

        Give it to a `DataLoader` with `batch_size=None`. Numbers, booleans, and lists of fixed length become tensors.
        Dates and times become tensors of integers, in the unit of the column. Other columns are lists. The workers of
        the loader, in all processes of a distributed group, share the splits. So each row is read once in an epoch.

        Args:
            batch_rows: The most rows of a batch. By default the scan decides.

        Raises:
            InvalidInputError: While reading: a column that becomes a tensor of integers or booleans has nulls.
        """
        arguments.installed("torch")
        from frazil.interop.torch_data import dataset

        return dataset(self, batch_rows)

    def to_spark(self, spark: SparkSession, planning: Planning = "auto", engine: Engine = "auto") -> DataFrame:
        """The rows as a Spark DataFrame. `planning` and `engine` are those of `frazil.spark.read`."""
        return spark_engine().read_scan(spark, self, planning, engine)

    def count(self) -> int:
        """The exact number of rows. Metadata alone is used where it is enough (see `statistics`)."""
        return self._core.count()

    def __repr__(self) -> str:
        parts = [f"where {text}" for text in self._filters]
        if self._columns is not None:
            parts.append("select " + ", ".join(self._columns))
        parts += ["changes"] if self._changes else []
        parts += [f"at {value}" for value in _version_members(self._at).values()]
        parts += [f"since {value}" for value in _version_members(self._since).values()]
        if self._rows is not None:
            parts.append(f"limit {self._rows}")
        shown = [repr(tables.public(self._table.location)), *(tables.public(part, _MOST_TEXT) for part in parts)]
        return f"Scan({', '.join(shown)})"

    def _repr_html_(self) -> str:
        facts = [("table", self._table.location), ("snapshot", str(self.snapshot_id or "the table is empty"))]
        facts += [("filter", str(self.filter))] if self._filters else []
        facts += [("limit", str(self._rows))] if self._rows is not None else []
        return tables.page(
            "Scan of changes" if self._changes else "Scan", tables.grid(("", ""), facts), self.schema._repr_html_()
        )

    def __reduce__(self) -> tuple[Any, ...]:
        versions: dict[str, Any] = {**_version_members(self._at), **_version_members(self._since, "since_")}
        if self._changes:
            versions["changes"] = True
        return _rebuild, (self._table, self._filters, self._columns, versions, self._options, self._rows)


def _rebuild(
    table: _core.Table,
    filters: tuple[str, ...],
    columns: tuple[str, ...] | None,
    at: dict[str, Any],
    options: dict[str, str],
    rows: int | None,
) -> Scan:
    versions = {"at": _version_of(at), "since": _version_of(at, "since_")}
    changes = bool(at.get("changes"))
    return Scan(table, filters=filters, columns=columns, **versions, changes=changes, options=options, rows=rows)


def _version_members(at: _core.At | None, prefix: str = "") -> dict[str, Any]:
    """A version as pickles hold it."""
    if isinstance(at, _core.At.Snapshot):
        return {f"{prefix}snapshot_id": at.snapshot_id}
    if isinstance(at, _core.At.Ref):
        return {f"{prefix}reference": at.name}
    return {f"{prefix}timestamp_ms": at.ms} if isinstance(at, _core.At.Time) else {}


def _version_of(members: Mapping[str, Any], prefix: str = "") -> _core.At | None:
    """A version from a pickle."""
    if (snapshot_id := members.get(f"{prefix}snapshot_id")) is not None:
        return _core.At.Snapshot(snapshot_id)
    if (name := members.get(f"{prefix}reference")) is not None:
        return _core.At.Ref(name)
    ms = members.get(f"{prefix}timestamp_ms")
    return None if ms is None else _core.At.Time(ms)


def _optional_count(argument: str, value: int | None) -> int | None:
    return None if value is None else arguments.count(argument, value)


@answers()
@checked
class Split:
    """Tasks for one reader, with everything that reading them needs. A split can be pickled and read elsewhere."""

    __slots__ = ("_core",)

    def __init__(self, core: _core.Split) -> None:
        self._core = core

    @property
    def tasks(self) -> list[ScanTask]:
        """The tasks."""
        return self._core.tasks

    @property
    def row_count(self) -> int:
        """The rows in its files, before the filter and before deletes.

        If the split has only a part of a file, the number is in proportion to the part's bytes.
        """
        return self._core.row_count

    @property
    def size_bytes(self) -> int:
        """The bytes of its files that it reads, without deletes."""
        return self._core.size_bytes

    @property
    def schema(self) -> Schema:
        """The schema of the rows."""
        return Schema._wrap(self._core.schema())

    def to_arrow_batch_reader(self, *, ordered: bool = False, threads: int = 0) -> pa.RecordBatchReader:
        """The split's rows as a stream of record batches, read ahead as in `Scan.to_arrow_batch_reader`.

        Args:
            ordered: Batches come in the order of the tasks, the same each time. Otherwise they come as soon as they are
                ready.
            threads: The largest number of threads that read; 0 is one for each core.
        """
        from frazil import interop

        ordered, threads = arguments.flag("ordered", ordered), arguments.count("threads", threads)
        return interop.reader_of(self._core.read(None, ordered, threads), observing.failure_of_stream(self))

    def to_arrow(self) -> pa.Table:
        """The split's rows as a pyarrow table in memory."""
        from frazil import interop

        return interop.table_of(self._core.read(ordered=True).read_all())

    def __arrow_c_schema__(self) -> object:
        """The Arrow PyCapsule interface: only the schema."""
        return self._core.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow PyCapsule interface."""
        return observing.stream(self, self._core.read()).__arrow_c_stream__(requested_schema)

    def to_json(self) -> str:
        """The split as JSON."""
        return self._core.to_json()

    @classmethod
    def from_json(cls, text: str) -> Split:
        """Reads what `to_json` wrote."""
        return cls(_core.Split.from_json(text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Split) and self._core == other._core

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Split({amount(len(self.tasks), 'task')}, {self.row_count} rows, {self.size_bytes} bytes)"

    def _repr_html_(self) -> str:
        rows = [
            (task.data_file.path, number(task.start), bytes_text(task.length), len(task.deletes), str(task.residual))
            for task in self.tasks
        ]
        return tables.page("Split", tables.grid(("file", "from byte", "size", "deletes", "filter"), rows))

    def __reduce__(self) -> tuple[type[Split], tuple[_core.Split]]:
        return Split, (self._core,)


class PlanPart:
    """A share of a plan's manifests, with everything that planning them needs. It can be pickled and planned elsewhere.

    The part contains the state of its snapshot. So it gives the same plan after the table has changed, as long as the
    manifests exist. It contains the table's storage options.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.PlanPart) -> None:
        self._core = core

    @property
    def manifest_bytes(self) -> int:
        """The size of its manifests, including those of deletes."""
        return self._core.manifest_bytes

    @property
    def most_files(self) -> int:
        """The number of data files in its manifests, before the filter."""
        return self._core.most_files

    def plan(self) -> list[Split]:
        """The part's tasks, cut and packed into splits."""
        return self._core.splits(Split)

    def plan_table(self) -> pa.Table:
        """The part's tasks as a pyarrow table.

        It has the columns of `Scan.plan_table`, and column `split` with each task as bytes.
        """
        from frazil import interop

        return interop.table_of(self._core.plan_table())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlanPart) and self._core == other._core

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        data, deletes = self._core.manifest_counts
        return f"PlanPart({data} data manifests, {deletes} delete manifests, {self.manifest_bytes} bytes)"

    def __reduce__(self) -> tuple[type[PlanPart], tuple[_core.PlanPart]]:
        return PlanPart, (self._core,)
