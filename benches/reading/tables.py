"""The tables of the reading benchmark: written once by Java Iceberg in Spark, kept with the counts that Java read.

The tables with deletes hold the data files of `base` by reference: only their deletes are written again.
"""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "interop"))
if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PER_FILE = 200_000
EQUALITY_FILES = 10

# 12 columns, about 50 random bytes a row.
COLUMNS = f"""
    id,
    pmod(xxhash64(id, 1), 1000000000) as user_id,
    cast(id % {PER_FILE} as int) as slot,
    timestamp_micros(1700000000000000 + id * 1000000 + pmod(xxhash64(id, 2), 1000000)) as ts,
    date_add(date'2022-01-01', cast(pmod(xxhash64(id, 3), 1000) as int)) as day,
    rand(4) as score,
    cast(rand(5) * 1000 as float) as weight,
    cast(rand(6) * 100000 as decimal(18, 2)) as amount,
    rand(7) < 0.5 as ok,
    element_at(split('AU,BR,CA,CN,DE,FR,GB,IN,JP,NO,SE,US', ','), cast(1 + rand(8) * 12 as int)) as country,
    concat('city-', cast(rand(9) * 5000 as int)) as city,
    substr(md5(cast(id as string)), 1, 20) as session
"""
NESTED = """
    id,
    named_struct(
        'lat', rand(1) * 180 - 90, 'lon', rand(2) * 360 - 180, 'city', concat('city-', cast(rand(3) * 5000 as int))
    ) as place,
    transform(
        sequence(1, cast(1 + rand(4) * 5 as int)),
        i -> named_struct(
            'sku', concat('sku-', pmod(hash(id, i), 20000)), 'quantity', i, 'price', pmod(hash(i, id), 9999) / 100.0D
        )
    ) as items,
    map_from_arrays(
        transform(sequence(1, cast(1 + rand(5) * 3 as int)), i -> concat('key-', i)),
        transform(sequence(1, cast(1 + rand(5) * 3 as int)), i -> concat('value-', pmod(hash(id, i), 1000)))
    ) as tags
"""
GROUP_BYTES = "write.parquet.row-group-size-bytes"
# Row groups of some 50,000 rows, so that a file has several.
PROPERTIES = {
    "write.distribution-mode": "none",
    GROUP_BYTES: str(5 << 20),
    "write.target-file-size-bytes": str(1 << 30),
    "write.delete.mode": "merge-on-read",
    "write.delete.granularity": "file",
}


@dataclass(frozen=True)
class Shape:
    """What a table holds. `deletes`: none, vector, position or equality; such tables share the files of `of`."""

    title: str
    version: int = 2
    rows: int = 0
    files: int = 0
    select: str = COLUMNS
    deletes: str = "none"
    of: str = "base"
    percent: int = 5
    has_small_groups: bool = True

    @property
    def deleted(self) -> str:
        """Which rows a table with deletes has lost: at random, the same in each."""
        return f"pmod(xxhash64(id, 42), 100) < {self.percent}"


TABLES = {
    "base": Shape("20,000,000 rows in 100 files", rows=100 * PER_FILE, files=100),
    "dv": Shape("5 % deleted by deletion vectors", version=3, deletes="vector"),
    "pos": Shape("5 % deleted by position deletes", deletes="position"),
    "eq": Shape("5 % deleted by equality deletes", deletes="equality"),
    "small": Shape("2,000,000 rows in 1,000 files", rows=2_000_000, files=1_000),
    "nested": Shape("2,000,000 rows, struct, list and map", rows=2_000_000, files=10, select=NESTED),
    "dv1": Shape("1 % deleted by deletion vectors", version=3, deletes="vector", percent=1),
    "large": Shape("20,000,000 rows in 16 files of one row group", rows=20_000_000, files=16, has_small_groups=False),
    "few": Shape("2,000,000 rows in 10 files", rows=10 * PER_FILE, files=10),
    "few-dv1": Shape("of these 1 % deleted by deletion vectors", version=3, deletes="vector", of="few", percent=1),
}
# What else than rows Java counts in a table, by name.
COUNTED = {"score": "score < 0.01", "slot": "slot = 123456"}


@contextmanager
def spark_over(warehouse: Path, java: str = "", **settings: str) -> "Iterator[SparkSession]":
    """Spark on 2 cores and 4 GB, its catalog `ice` being the warehouse; settings have `_` for each dot.

    `java` are options of the JVM, besides those that every session has.
    """
    from pyspark.sql import SparkSession
    from runtime_jar import runtime_jar

    java = f"-Duser.timezone=UTC -Dderby.system.home={warehouse / 'spark'} {java}".strip()
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("frazil-bench")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", java)
        .config("spark.local.dir", str(warehouse / "spark"))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.warehouse.dir", str(warehouse / "spark"))
        .config("spark.jars", str(runtime_jar()))
        .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.ice.type", "hadoop")
        .config("spark.sql.catalog.ice.warehouse", f"file:{warehouse}")
        .config("spark.sql.catalog.ice.cache-enabled", "false")
    )
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()
        shutil.rmtree(warehouse / "spark", ignore_errors=True)


def create(spark: "SparkSession", name: str, rows: "DataFrame") -> None:
    """A table for such rows, without any."""
    shape = TABLES[name]
    properties = {"format-version": shape.version, **PROPERTIES}
    if not shape.has_small_groups:
        del properties[GROUP_BYTES]
    listed = ", ".join(f"'{key}'='{value}'" for key, value in properties.items())
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema)
    spark.sql(f"create table ice.`{name}` ({columns}) using iceberg tblproperties ({listed})")


def write_rows(spark: "SparkSession", name: str) -> None:
    """A file for each of as many ranges of ids."""
    shape = TABLES[name]
    spark.range(0, shape.rows, 1, shape.files).createOrReplaceTempView("numbers")
    rows = spark.sql(f"select {shape.select} from numbers")
    create(spark, name, rows)
    rows.writeTo(f"ice.`{name}`").append()


def java_table(spark: "SparkSession", name: str) -> Any:
    """Java's `Table`."""
    return spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, f"ice.`{name}`")


def share_files(spark: "SparkSession", name: str) -> None:
    """The data files of another table, appended to a table of their own by reference."""
    of = TABLES[name].of
    create(spark, name, spark.table(f"ice.`{of}`"))
    append = java_table(spark, name).newAppend()
    tasks = java_table(spark, of).newScan().includeColumnStats().planFiles().iterator()
    while tasks.hasNext():
        append.appendFile(tasks.next().file())
    append.commit()


def delete_rows(spark: "SparkSession", name: str) -> None:
    """Deletion vectors or position delete files, as the format version has it."""
    share_files(spark, name)
    spark.sql(f"delete from ice.`{name}` where {TABLES[name].deleted}")


def delete_keys(spark: "SparkSession", name: str) -> None:
    """Equality delete files on `id`, each with keys of all data files; Spark writes none, so they are registered."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    share_files(spark, name)
    table = java_table(spark, name)
    folder = Path(table.location().removeprefix("file:")) / "data"
    folder.mkdir(exist_ok=True)
    field = table.schema().findField("id").fieldId()
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(field)})])
    iceberg = spark._jvm.org.apache.iceberg
    delta = table.newRowDelta()
    for number in range(EQUALITY_FILES):
        mine = f"{TABLES[name].deleted} and pmod(xxhash64(id, 43), {EQUALITY_FILES}) = {number}"
        keys = spark.sql(f"select id from ice.`{TABLES[name].of}` where {mine}").toArrow().column("id").combine_chunks()
        path = folder / f"equality-{number:02}.parquet"
        pq.write_table(pa.table([keys], schema=schema), path, compression="zstd")
        file = table.io().newInputFile(f"file:{path}")
        metrics = iceberg.parquet.ParquetUtil.fileMetrics(file, iceberg.MetricsConfig.getDefault())
        ids = spark._sc._gateway.new_array(spark._jvm.int, 1)
        ids[0] = field
        builder = iceberg.FileMetadata.deleteFileBuilder(table.spec()).ofEqualityDeletes(ids)
        delta.addDeletes(builder.withInputFile(file).withFormat("parquet").withMetrics(metrics).build())
    delta.commit()


WRITERS: "dict[str, Callable[[SparkSession, str], None]]" = {
    "none": write_rows,
    "vector": delete_rows,
    "position": delete_rows,
    "equality": delete_keys,
}


def counts(spark: "SparkSession", name: str) -> dict[str, int]:
    """The rows that Java reads of the table: all, and for each counted filter that its columns allow."""
    rows = spark.table(f"ice.`{name}`")
    out = {"all": rows.count()}
    if name == "base":
        out |= {filter: rows.where(text).count() for filter, text in COUNTED.items()}
    return out


def write_table(spark: "SparkSession", name: str, warehouse: Path) -> None:
    """Writes the table again; its counts come last and say that it is complete."""
    folder, part, said = warehouse / name, warehouse / f"{name}.part", warehouse / f"{name}.json"
    shape = TABLES[name]
    if folder.exists() and not part.exists():
        sys.exit(f"{folder} is no table of this benchmark, or its {said.name} is gone: remove it")
    print(f"== Writing {name} ({shape.title}) by Java Iceberg, once", flush=True)
    part.touch()
    shutil.rmtree(folder, ignore_errors=True)
    WRITERS[shape.deletes](spark, name)
    said.write_text(json.dumps(counts(spark, name)), "utf-8")
    part.unlink()


def make(names: list[str], warehouse: Path) -> dict[str, dict[str, int]]:
    """The counts of the tables, which are written now if they are not there, and of those whose files they share."""
    needed = {*names, *(TABLES[name].of for name in names if TABLES[name].deletes != "none")}
    wanted = [name for name in TABLES if name in needed]
    missing = [name for name in wanted if not (warehouse / f"{name}.json").is_file()]
    if missing:
        warehouse.mkdir(parents=True, exist_ok=True)
        with spark_over(warehouse) as spark:
            for name in missing:
                write_table(spark, name, warehouse)
    return {name: json.loads((warehouse / f"{name}.json").read_text("utf-8")) for name in wanted}
