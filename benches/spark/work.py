"""What is timed: jobs of Spark, each by its Parquet source, by Iceberg's connector and by Frazil.

A job opens the table again and ends with what Spark collects. It says what it found, which must be the same for all.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from processes import cpu_seconds
from reading import tables

import frazil as fz

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENGINES = {
    "parquet": "Spark's Parquet",
    "iceberg": "Iceberg's connector",
    "frazil": "Frazil",
    "arrow": "Frazil, Arrow lane",
}
# An aggregate of each column, so that all are decoded.
FULL = [
    "sum(id)",
    "sum(user_id)",
    "sum(slot)",
    "max(ts)",
    "max(day)",
    "max(score)",
    "max(weight)",
    "sum(amount)",
    "count_if(ok)",
    "max(country)",
    "max(city)",
    "max(session)",
]
# The same with less of the job in Spark's aggregates: those of texts it does not compile.
HASH = ["bit_xor(xxhash64(id, user_id, slot, ts, day, score, weight, amount, ok, country, city, session))"]
TWO = ["sum(user_id)", "max(score)"]
PLANNED = "price > 1e9"
MERGED = {**tables.PROPERTIES, "write.merge.mode": "merge-on-read", "write.update.mode": "merge-on-read"}


@dataclass(frozen=True)
class Sizes:
    """Of what the jobs are over: the names of tables, and numbers of rows."""

    base: str = "base"
    deleted: str = "dv1"
    large: str = "large"
    appended_files: int = 25
    merged: int = 100_000


QUICK = Sizes(base="few", deleted="few-dv1", large="few", appended_files=5, merged=10_000)


@dataclass
class Bench:
    """The tables, and a folder for those that jobs write."""

    spark: "SparkSession"
    warehouse: Path
    planning: Path
    sizes: Sizes
    _made: int = field(default=0, init=False)

    @property
    def scratch(self) -> Path:
        return self.warehouse / "scratch"

    def read(self, engine: str, table: str, filter: str | None = None, columns: list[str] | None = None) -> "DataFrame":
        """A table's rows. Frazil is told the columns, since it can't see what Spark does with them later."""
        if engine in ("frazil", "arrow"):
            lane = "auto" if engine == "frazil" else "arrow"
            return fz.spark.read(self.spark, self.warehouse / table, filter=filter, select=columns, engine=lane)
        if engine == "iceberg":
            rows = self.spark.table(f"ice.`{table}`")
        elif tables.TABLES[table].deletes != "none":
            raise NotImplementedError("Parquet files know of no deletes")
        else:
            rows = self.spark.read.parquet(str(self.warehouse / table / "data"))
        return rows if filter is None else rows.where(filter)

    def new_table(self, version: int, properties: dict[str, str]) -> str:
        """A table without rows in the scratch folder; its name in the catalog."""
        self._made += 1
        name = f"scratch.t{self._made}"
        rows = self.spark.table(f"ice.`{self.sizes.base}`")
        columns = ", ".join(f"{c.name} {c.dataType.simpleString()}" for c in rows.schema)
        listed = ", ".join(f"'{k}'='{v}'" for k, v in {"format-version": str(version), **properties}.items())
        self.spark.sql(f"create table ice.{name} ({columns}) using iceberg tblproperties ({listed})")
        return name

    def place(self, name: str) -> Path:
        return self.warehouse / name.replace(".", "/")

    def files(self, most: int) -> list[str]:
        """The first data files of the base table, which are those of the lowest ids."""
        return [str(path) for path in sorted((self.warehouse / self.sizes.base / "data").glob("*.parquet"))[:most]]

    def half(self) -> str:
        """A new table with half of the base table's files, by reference."""
        name = self.new_table(3, MERGED)
        iceberg = self.spark._jvm.org.apache.iceberg.spark.Spark3Util  # type: ignore[union-attr]
        base = iceberg.loadIcebergTable(self.spark._jsparkSession, f"ice.`{self.sizes.base}`")
        append = iceberg.loadIcebergTable(self.spark._jsparkSession, f"ice.{name}").newAppend()
        tasks, found = base.newScan().includeColumnStats().planFiles().iterator(), []
        while tasks.hasNext():
            found.append(tasks.next().file())
        for file in sorted(found, key=lambda file: str(file.location()))[: len(found) // 2]:
            append.appendFile(file)
        append.commit()
        return name

    def source(self) -> Path:
        """Rows to merge: half of them have ids that are there, spread over all files; written once."""
        path = self.scratch / f"source-{self.sizes.merged}"
        if not path.exists():
            there = tables.TABLES[self.sizes.base].rows // 2
            step = there // (self.sizes.merged // 2)
            ids = self.spark.range(self.sizes.merged).selectExpr(
                f"case when id % 2 = 0 then id div 2 * {step} + 1 else {there} * 10 + id end as id"
            )
            ids.createOrReplaceTempView("ids_to_merge")
            self.spark.sql(f"select {tables.COLUMNS} from ids_to_merge").coalesce(1).write.parquet(str(path))
        return path

    def clear(self) -> None:
        """Removes what jobs wrote; the base table's files are not in it."""
        for folder in self.scratch.glob("t*"):
            shutil.rmtree(folder)


@dataclass(frozen=True)
class Job:
    """What is timed. `prepare` is not; it gives what `run` takes. `check` says what came of it."""

    title: str
    run: Callable[[Bench, str, Any], Any]
    engines: tuple[str, ...] = ("parquet", "iceberg", "frazil")
    prepare: Callable[[Bench, str], Any] = lambda _bench, _engine: None
    check: Callable[[Bench, str, Any, Any], Any] = lambda _bench, _engine, _prepared, found: found
    # The most that Frazil's processor time may be of the other's.
    most: float | None = None
    most_arrow: float | None = None

    def ask(self, bench: Bench, engine: str) -> dict[str, Any]:
        """Seconds by the clock and of the processor, and what was found; or an error."""
        try:
            prepared = self.prepare(bench, engine)
            cpu, start = cpu_seconds(), time.perf_counter()
            found = self.run(bench, engine, prepared)
            seconds = time.perf_counter() - start
            used = cpu_seconds() - cpu
            found = self.check(bench, engine, prepared, found)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        finally:
            bench.clear()
        return {"seconds": seconds, "cpu": used, "found": str(found)}


def scan(table: Callable[[Sizes], str], aggregates: list[str], columns: list[str] | None = None) -> Any:
    def run(bench: Bench, engine: str, _: Any) -> Any:
        return bench.read(engine, table(bench.sizes), columns=columns).selectExpr(*aggregates).collect()[0]

    return run


def selective(bench: Bench, engine: str, _: Any) -> int:
    """Two percent of the rows; files are not cut at the bound, so that none can be counted by metadata alone."""
    rows = tables.TABLES[bench.sizes.base].rows
    filter = f"id >= {rows - rows // 50 - 12_345} and score < 0.5"
    return bench.read(engine, bench.sizes.base, filter=filter, columns=["id"]).count()


def target(bench: Bench, engine: str) -> Any:
    return bench.scratch / "tparquet" if engine == "parquet" else bench.new_table(2, tables.PROPERTIES)


def append(bench: Bench, engine: str, into: Any) -> None:
    rows = bench.spark.read.parquet(*bench.files(bench.sizes.appended_files))
    if engine == "parquet":
        rows.write.option("compression", "zstd").parquet(str(into))
    elif engine == "iceberg":
        rows.writeTo(f"ice.{into}").append()
    else:
        fz.spark.append(rows, bench.place(into))


def appended(bench: Bench, engine: str, into: Any, _: Any) -> Any:
    read = bench.spark.read.parquet(str(into)) if engine == "parquet" else bench.spark.table(f"ice.{into}")
    return read.selectExpr("count(*)", "sum(id)", "max(city)").collect()[0]


def merge(bench: Bench, engine: str, into: str) -> None:
    rows = bench.spark.read.parquet(str(bench.source()))
    if engine == "iceberg":
        rows.createOrReplaceTempView("rows_to_merge")
        bench.spark.sql(
            f"merge into ice.{into} t using rows_to_merge s on t.id = s.id "
            "when matched then update set * when not matched then insert *"
        )
    else:
        place = bench.place(into)
        fz.spark.merge(rows, place, ["id"], when_matched_update=True, when_not_matched_insert=True)


def prepare_merge(bench: Bench, _engine: str) -> str:
    bench.source()
    return bench.half()


def merged(bench: Bench, _engine: str, into: str, _: Any) -> Any:
    return bench.spark.table(f"ice.{into}").selectExpr("count(*)", "sum(id)", "sum(amount)").collect()[0]


def plan_all(bench: Bench, engine: str, _: Any) -> int:
    """All tasks, as the partitions of a job that reads the table."""
    if engine == "iceberg":
        rows = bench.spark.read.format("iceberg").load(str(bench.planning))
    else:
        rows = fz.spark.read(bench.spark, bench.planning)
    partitions = rows._jdf.queryExecution().toRdd().getNumPartitions()  # type: ignore[operator]
    # Splits are packed a little differently.
    assert partitions > 50_000
    return 0


def plan_none(bench: Bench, engine: str, _: Any) -> int:
    """A filter for which every manifest is read and no file is left."""
    if engine == "iceberg":
        return bench.spark.read.format("iceberg").load(str(bench.planning)).where(PLANNED).count()
    return fz.spark.read(bench.spark, bench.planning, filter=PLANNED, select=["price"]).count()


BOTH = ("iceberg", "frazil")
ALL = ("parquet", "iceberg", "frazil", "arrow")
JOBS = {
    "full": Job("full scan", scan(lambda s: s.base, FULL), ALL, most=0.85, most_arrow=1.8),
    "two": Job("2 of 12 columns", scan(lambda s: s.base, TWO, ["user_id", "score"]), ALL, most=1.3, most_arrow=2.5),
    "selective": Job("filter of 1 % and count", selective, ("parquet", "iceberg", "frazil"), most=1.3),
    "dv": Job(
        "full scan, 1 % deleted by deletion vectors", scan(lambda s: s.deleted, FULL), (*BOTH, "arrow"), most=1.0
    ),
    "large": Job("full scan, row groups of Iceberg's default size", scan(lambda s: s.large, FULL), ALL, most=0.85),
    "hash": Job("full scan, a hash of each row", scan(lambda s: s.base, HASH), ALL),
    "dv-hash": Job("1 % deleted, a hash of each row", scan(lambda s: s.deleted, HASH), (*BOTH, "arrow")),
    "append": Job("append", append, ("parquet", *BOTH), target, appended, most=1.0),
    "merge": Job("merge", merge, BOTH, prepare_merge, merged, most=1.0),
    "plan": Job("planning all of 100,000 files in a job", plan_all, BOTH, most=0.2),
    "plan-none": Job("planning 100,000 files for a filter that leaves none", plan_none, BOTH, most=0.2),
}
