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
    "write.parquet.compression-level": "23",
    "write.parquet.row-group-size-bytes": "-1",
    "write.target-file-size-bytes": "512MB",
    "write.delete.mode": "merge",
    "write.merge.isolation-level": "none",
    "write.format.default": "csv",
    "write.metadata.metrics.default": "truncate",
    "write.metadata.metrics.column.id": "some",
    "write.parquet.bloom-filter-fpp.column.id": "1",
    "write.object-storage.enabled": "yes",
    "write.orc.compression-codec": "lz4",
    "write.orc.bloom.filter.fpp": "5",
    "commit.retry.num-retries": "often",
    "commit.manifest.min-count-to-merge": "2.5",
    "history.expire.max-snapshot-age-ms": "-1",
    "write.metadata.compression-codec": "zstd",
}
GOOD = {
    "write.parquet.compression-codec": "GZIP",
    "write.parquet.compression-level": "9",
    "write.delete.mode": "Merge-On-Read",
    "write.metadata.metrics.default": "truncate(8)",
    "write.object-storage.enabled": "TRUE",
    "commit.retry.num-retries": "0",
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
