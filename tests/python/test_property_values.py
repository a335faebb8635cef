"""Values of table properties that nobody could write by: refused when they are set."""

from __future__ import annotations

import json
import pathlib

import pyarrow as pa
import pytest

import frazil as fz

ROWS = pa.table({"id": pa.array([1], pa.int64())})
BAD = {
    "write.parquet.compression-codec": "foo",
    "write.delete.parquet.compression-codec": "foo",
    "write.parquet.compression-level": "3000000000",
    "write.parquet.row-group-size-bytes": "-1",
    "write.target-file-size-bytes": "512MB",
    "write.delete.mode": "merge",
    "write.merge.isolation-level": "none",
    "write.format.default": "csv",
    "write.metadata.metrics.default": "truncate",
    "write.metadata.metrics.column.id": "some",
    "write.parquet.bloom-filter-fpp.column.id": "1",
    "write.object-storage.enabled": "yes",
    "write.orc.compression-codec": "lz5",
    "write.orc.bloom.filter.fpp": "5",
    "commit.retry.num-retries": "often",
    "commit.manifest.min-count-to-merge": "2.5",
    "history.expire.max-snapshot-age-ms": "-1",
    "write.metadata.compression-codec": "zstd",
    "write.metadata.previous-versions-max": " 5",
    "write.manifest.compression-level": "3000000000",
    "write.parquet.page-version": "V2",
    "read.split.planning-lookback": "3000000000",
    "write.update.mode": "merge-on-read ",
    "write.wap.enabled": "1",
}
GOOD = {
    "write.parquet.compression-codec": "GZIP",
    "write.parquet.compression-level": "9",
    "write.delete.mode": "Merge-On-Read",
    "write.metadata.metrics.default": "truncate(8)",
    "write.object-storage.enabled": "TRUE",
    "commit.retry.num-retries": "0",
    "commit.manifest.min-count-to-merge": "-1",
    "write.metadata.previous-versions-max": "-1",
    "write.parquet.page-version": "PARQUET_2_0",
    "history.expire.max-ref-age-ms": "3000000000",
    "write.manifest.compression-codec": "zstd",
    "write.manifest.compression-level": "0",
    "history.expire.max-snapshot-age-ms": "0",
    "write.parquet.bloom-filter-fpp.column.id": "0.001",
    "write.distribution-mode": "hash",
    "of.my.own": "anything",
}


@pytest.fixture
def catalog(tmp_path: pathlib.Path) -> fz.Catalog:
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    return catalog


def test_bad_values_are_refused(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", ROWS.schema)
    for key, value in BAD.items():
        for refusing in (
            lambda key=key, value=value: table.set_properties({"fine": "1", key: value}),
            lambda key=key, value=value: catalog.create_table("db.u", ROWS.schema, properties={key: value}),
        ):
            with pytest.raises(fz.InvalidInputError) as refused:
                refusing()
            assert refused.value.context["property"] == key
            assert value in str(refused.value)
            assert "Use " in str(refused.value)
        tx = table.transaction()
        with pytest.raises(fz.InvalidInputError):
            tx.set_properties({key: value})
    assert dict(table.refresh().properties) == {"write.parquet.compression-codec": "zstd"}
    assert table.snapshot is None
    assert not catalog.table_exists("db.u")
    table.set_properties(GOOD).append(ROWS)
    # A level that the codec has not, whichever came first.
    with pytest.raises(fz.InvalidInputError, match="gzip has no level 10"):
        table.set_properties({"write.parquet.compression-level": "10"})
    table.set_properties({"write.parquet.compression-codec": "zstd", "write.parquet.compression-level": "20"})
    with pytest.raises(fz.InvalidInputError, match="gzip has no level 20"):
        table.set_properties({"write.parquet.compression-codec": "gzip"})
    assert table.refresh().scan().count() == 1


def test_tables_that_have_bad_values_open(catalog: fz.Catalog) -> None:
    """As another engine may have set them."""
    table = catalog.create_table("db.t", ROWS.schema).append(ROWS)
    path = pathlib.Path(table.metadata_location)
    metadata = json.loads(path.read_text())
    metadata["properties"] |= BAD
    path.write_text(json.dumps(metadata))
    table = catalog.load_table("db.t")
    assert table.scan().count() == 1
    with pytest.raises(fz.InvalidInputError, match="csv"):
        table.append(ROWS)
    assert table.remove_properties(*BAD).append(ROWS).scan().count() == 2


def test_levels_of_zstandard_are_the_nearest_that_there_is(catalog: fz.Catalog) -> None:
    rows = pa.table({"id": pa.array([n * n % 1013 for n in range(200_000)], pa.int64())})
    key = "write.parquet.compression-level"

    def size(level: str) -> int:
        table = catalog.create_table(f"db.t{level.replace('-', '_')}", ROWS.schema, properties={key: level})
        (task,) = table.append(rows).scan().plan_files()
        return task.data_file.size_bytes

    sizes = {level: size(level) for level in ("-200000", "-1", "0", "1", "3", "22", "23")}
    assert sizes["-1"] == sizes["-200000"] == sizes["1"]
    assert sizes["0"] == sizes["3"]
    assert sizes["23"] == sizes["22"] < sizes["1"]
    # Other codecs have the levels that they have.
    table = catalog.create_table("db.gzip", ROWS.schema, properties={"write.parquet.compression-codec": "gzip"})
    with pytest.raises(fz.InvalidInputError, match="gzip has no level -1"):
        table.set_properties({key: "-1"})
    with pytest.raises(fz.InvalidInputError, match="gzip has no level -2"):
        table.set_properties({"write.manifest.compression-level": "-2"})
    assert table.set_properties({"write.manifest.compression-level": "-1"}).append(ROWS).scan().count() == 1


def test_codecs_of_other_engines_are_told(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", ROWS.schema)
    for format, codec in [("orc", "lz4"), ("orc", "LZO"), ("parquet", "lzo"), ("delete.orc", "lz4")]:
        with pytest.raises(fz.UnsupportedError, match=f"written with {codec.lower()} here.*Other engines") as refused:
            table.set_properties({f"write.{format}.compression-codec": codec})
        assert refused.value.context["property"] == f"write.{format}.compression-codec"
    with pytest.raises(fz.InvalidInputError, match="without blanks"):
        table.set_properties({"write.parquet.compression-codec": "zstd "})
