"""Values of table properties: what Java Iceberg cannot use is refused when set, and it can write by what is set."""

import pyarrow as pa
import pytest
from java_side import NAMESPACE, Java

import frazil as fz

ROWS = pa.table({"a": pa.array([7], pa.int64()), "b": pa.array(["x"])})
PARQUET = "write.parquet."
ORC = {"write.format.default": "orc"}
AVRO = {"write.format.default": "avro"}
DELETES = {"write.delete.mode": "merge-on-read"}
LARGE = str(3_000_000_000)

GOOD: list[dict[str, str]] = [
    {
        PARQUET + "compression-codec": "LZ4",
        PARQUET + "compression-level": "99",
        PARQUET + "row-group-size-bytes": LARGE,
        PARQUET + "page-version": "PARQUET_2_0",
        PARQUET + "bloom-filter-enabled.column.a": "TRUE",
        PARQUET + "bloom-filter-fpp.column.a": " 0.5 ",
        PARQUET + "bloom-filter-ndv.column.a": LARGE,
        "write.metadata.previous-versions-max": "-1",
        "commit.manifest.min-count-to-merge": "-1",
        "commit.manifest.target-size-bytes": LARGE,
        "commit.retry.num-retries": "+5",
        "write.summary.partition-limit": "-1",
        "write.target-file-size-bytes": LARGE,
        "write.distribution-mode": "HASH",
        "write.delete.mode": "MERGE-ON-READ",
        "write.delete.granularity": "FILE",
        "write.delete.format.default": "ORC",
        "read.split.open-file-cost": "0",
        "history.expire.max-snapshot-age-ms": "0",
    },
    {PARQUET + "compression-codec": "lz4_raw", PARQUET + "page-version": "v2", **DELETES},
    *({PARQUET + "compression-level": level} for level in ("-1", "0", "23", "-200000")),
    {"write.metadata.previous-versions-max": "0", "commit.manifest.min-count-to-merge": "0"},
    {**ORC, "write.orc.stripe-size-bytes": LARGE, "write.orc.compression-codec": "ZSTD"},
    *({**AVRO, "write.avro.compression-codec": "zstd", "write.avro.compression-level": n} for n in ("-1", "0", "23")),
    *({**AVRO, "write.avro.compression-level": level} for level in ("-1", "0", "9")),
    *({"write.manifest.compression-codec": "zstd", "write.manifest.compression-level": n} for n in ("-1", "0", "23")),
    {"write.manifest.compression-level": "-1"},
]

BAD: list[tuple[dict[str, str], str, list[str]]] = [
    ({}, PARQUET + "compression-codec", [" gzip", "none", "lzo"]),
    ({}, PARQUET + "compression-level", [LARGE, "x"]),
    ({}, PARQUET + "row-group-size-bytes", ["0", " 5"]),
    ({}, PARQUET + "page-size-bytes", ["0", LARGE, " 5"]),
    ({}, PARQUET + "page-row-limit", [LARGE]),
    ({}, PARQUET + "dict-size-bytes", [LARGE]),
    ({}, PARQUET + "bloom-filter-max-bytes", [LARGE]),
    ({}, PARQUET + "page-version", ["V1", "parquet_2_0"]),
    ({PARQUET + "bloom-filter-enabled.column.a": "true"}, PARQUET + "bloom-filter-ndv.column.a", ["0", " 5", "1" * 20]),
    ({PARQUET + "bloom-filter-enabled.column.a": "true"}, PARQUET + "bloom-filter-fpp.column.a", ["0", "1"]),
    (ORC, "write.orc.compression-codec", ["brotli", " zlib", "uncompressed"]),
    (ORC, "write.orc.stripe-size-bytes", ["0", " 5"]),
    (ORC, "write.orc.block-size-bytes", ["0"]),
    (ORC, "write.orc.vectorized.batch-size", ["0", LARGE]),
    (AVRO, "write.avro.compression-codec", ["none", "deflate", " zstd"]),
    (AVRO, "write.avro.compression-level", ["-2", "10", " 3"]),
    ({}, "write.manifest.compression-codec", ["none", " gzip"]),
    ({}, "write.manifest.compression-level", ["-2", "10"]),
    ({}, "write.metadata.compression-codec", ["zstd", " gzip"]),
    ({}, "write.metadata.previous-versions-max", [LARGE, " 5"]),
    ({}, "commit.retry.num-retries", ["-1", LARGE, " 5"]),
    ({}, "commit.retry.total-timeout-ms", [LARGE]),
    ({}, "commit.manifest.min-count-to-merge", [LARGE, " 5"]),
    ({}, "commit.manifest.target-size-bytes", [" 5"]),
    ({}, "write.summary.partition-limit", [LARGE]),
    ({}, "write.metadata.metrics.max-inferred-column-defaults", [LARGE]),
    ({}, "write.target-file-size-bytes", [" 5"]),
    ({}, "write.distribution-mode", [" hash"]),
    ({}, "write.format.default", [" parquet", "puffin"]),
    ({}, "read.split.planning-lookback", ["0", LARGE]),
    ({}, "write.delete.mode", [" merge-on-read"]),
    ({}, "write.delete.isolation-level", [" snapshot"]),
    (DELETES, "write.delete.granularity", [" file"]),
    (DELETES, "write.delete.target-file-size-bytes", [" 5"]),
]


def fill(java: Java, table: str) -> None:
    """Appends two rows in one file."""
    java.sql(f"insert into ice.{NAMESPACE}.{table} select /*+ coalesce(1) */ * from values (1, 'a'), (2, 'b')")


def can_use(java: Java, properties: dict[str, str]) -> bool:
    """Whether Java can create, fill, change and read a table with the properties."""
    java.spark.sparkContext.setLogLevel("OFF")
    try:
        name = java.create("values", "a bigint, b string", properties=properties)
        fill(java, name)
        java.sql(f"delete from ice.{NAMESPACE}.{name} where a = 2")
        java.metadata(name, "files")
        return java.read(name, columns="sum(a)") != []
    except Exception:  # of Spark, Iceberg, Parquet or the JDK: each says it in its own way
        return False
    finally:
        java.spark.sparkContext.setLogLevel("ERROR")


def test_what_java_cannot_use_is_refused(java: Java) -> None:
    table = fz.open_table(java.root(java.create("values", "a bigint, b string")))
    for others, key, values in BAD:
        assert not others or can_use(java, others)
        for value in values:
            with pytest.raises((fz.InvalidInputError, fz.UnsupportedError)) as refused:
                table.set_properties({**others, key: value})
            assert refused.value.context["property"] == key
            assert not can_use(java, {**others, key: value}), (key, value)


def test_what_is_taken_can_be_used_by_both(java: Java) -> None:
    for properties in GOOD:
        name = java.create("values", "a bigint, b string")
        fill(java, name)
        table = fz.open_table(java.root(name)).set_properties(properties).append(ROWS)
        assert dict(table.properties).items() >= properties.items()
        java.insert(name, "(3, 'c')")
        java.sql(f"delete from ice.{NAMESPACE}.{name} where a = 2")
        assert sorted(table.refresh().append(ROWS).scan().to_arrow()["a"].to_pylist()) == [1, 3, 7, 7], properties
        assert java.sql(f"select sum(a) from ice.{NAMESPACE}.{name}")[0][0] == 18


def test_tables_with_values_that_only_java_can_use(java: Java) -> None:
    for codec in ("lz4", "lzo"):
        name = java.create("values", "a bigint, b string", properties={"write.orc.compression-codec": codec, **ORC})
        fill(java, name)
        table = fz.open_table(java.root(name))
        if codec == "lz4":
            assert table.scan().count() == 2
            assert table.scan().to_arrow()["a"].to_pylist() == [1, 2]
        with pytest.raises(fz.UnsupportedError, match=codec):
            table.append(ROWS)
        with pytest.raises(fz.UnsupportedError, match=codec) as refused:
            table.set_properties({"write.orc.compression-codec": codec})
        assert refused.value.context["property"] == "write.orc.compression-codec"
        # Other properties can be set all the same.
        table.set_properties({"write.format.default": "parquet"}).append(ROWS)
        assert java.sql(f"select sum(a) from ice.{NAMESPACE}.{name}")[0][0] == 10
