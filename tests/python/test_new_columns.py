"""Types that pyarrow has no class for survive where rows make a new table: variants, geometries, UUIDs, JSON."""

from __future__ import annotations

import struct
import uuid
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz
from frazil import variant

V3 = {"format-version": 3}
VALUES: list[Any] = [{"a": 1, "b": [True, None]}, None, 3.5, "x"]
ID = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
WKB = {b"ARROW:extension:name": b"geoarrow.wkb"}


def point(x: float, y: float) -> bytes:
    """Well-known binary in little-endian order: https://www.ogc.org/standard/sfa."""
    return struct.pack("<BIdd", 1, 1, x, y)


@pytest.fixture
def catalog(tmp_path: Path) -> fz.Catalog:
    found = fz.catalog("c", warehouse=tmp_path / "warehouse")
    found.create_namespace("db")
    return found


def options(form: str) -> dict[str, Any]:
    return {"format": form, "properties": V3 if form == "iceberg" else {}}


def values(table: fz.Table) -> list[Any]:
    return [row["v"] for row in sorted(variant.to_python(table.scan().to_arrow()), key=lambda row: row["id"])]


@pytest.mark.parametrize("form", ["iceberg", "paimon"])
def test_variants_make_a_table(catalog: fz.Catalog, form: str) -> None:
    rows = pa.table({"id": range(4), "v": variant.from_python(VALUES)})
    table = catalog.create_table("db.t", data=rows, **options(form))
    assert table.schema["v"].type == "variant"
    assert values(table) == VALUES
    # What was read makes a table, too, also a column that lost its metadata.
    read = table.scan().to_arrow().sort_by("id")
    again = catalog.create_table("db.again", data=read, **options(form))
    bare = catalog.create_table("db.bare", data=pa.table({"id": read["id"], "v": read["v"]}), **options(form))
    lazy = catalog.create_table("db.lazy", data=table.scan().to_polars(lazy=True), **options(form))
    for other in (again, bare, lazy):
        assert other.schema["v"].type == "variant"
        assert values(other) == VALUES
    table.append(rows.set_column(0, "id", pa.array(range(4, 8))))
    assert values(table) == [*VALUES, *VALUES]
    written = fz.write_table("db.t", rows.set_column(0, "id", pa.array(range(8, 12))), "append", catalog=catalog)
    assert values(written) == [*VALUES, *VALUES, *VALUES]


@pytest.mark.parametrize(("form", "encoding"), [("iceberg", "parquet"), ("iceberg", "avro"), ("paimon", "parquet")])
def test_variants_within_other_types(catalog: fz.Catalog, form: str, encoding: str) -> None:
    array = variant.from_python([{"a": 1}, None, 2.5, "y"])
    rows = pa.table(
        {
            "id": [0, 1],
            "l": pa.ListArray.from_arrays([0, 3, 4], array),
            "s": pa.StructArray.from_arrays([array[:2], pa.array([1, 2])], ["v", "n"]),
            "m": pa.MapArray.from_arrays([0, 1, 2], pa.array(["k", "k"]), array[2:]),
        }
    )
    key = "write.format.default" if form == "iceberg" else "file.format"
    given = options(form)
    table = catalog.create_table("db.t", data=rows, format=form, properties={**given["properties"], key: encoding})
    assert "list<variant>" in str(table.schema)
    assert sorted(variant.to_python(table.scan().to_arrow()), key=lambda row: row["id"]) == [
        {"id": 0, "l": [{"a": 1}, None, 2.5], "s": {"v": {"a": 1}, "n": 1}, "m": [("k", 2.5)]},
        {"id": 1, "l": ["y"], "s": {"v": None, "n": 2}, "m": [("k", "y")]},
    ]


def test_paimon_filters_beside_variants(catalog: fz.Catalog) -> None:
    """The parts of a variant have the numbers 0 and 1 in Paimon's files, as columns have."""
    rows = pa.table({"name": ["a", "b", "c"], "id": [1, 2, 3], "v": variant.from_python([1, "b", None])})
    table = catalog.create_table("db.t", data=rows, format="paimon")
    assert table.scan("name = 'b'").to_arrow()["id"].to_pylist() == [2]
    assert table.scan("id >= 2").to_arrow()["name"].to_pylist() == ["b", "c"]
    assert table.scan("v is null").to_arrow()["id"].to_pylist() == [3]


def test_variants_of_parquet_files(catalog: fz.Catalog, tmp_path: Path) -> None:
    source = catalog.create_table("db.s", data=pa.table({"id": [1], "v": variant.from_json(["[1]"])}), properties=V3)
    [task] = source.scan().plan_files()
    found = pq.read_table(task.data_file.path.removeprefix("file://"))
    table = catalog.create_table("db.t", data=found, properties=V3)
    assert values(table) == [[1]]


def test_what_variants_need(catalog: fz.Catalog) -> None:
    rows = pa.table({"id": [1], "v": variant.from_python([1])})
    with pytest.raises(fz.InvalidInputError, match=r"needs format version 3.*column: v.*'format-version': 3"):
        catalog.create_table("db.t", data=rows)
    assert not catalog.table_exists("db.t")
    # A struct that only looks like a variant.
    fields = [pa.field(name, pa.binary(), nullable=False) for name in ("metadata", "value")]
    other = pa.StructArray.from_arrays([pa.array([b"k"]), pa.array([b"v"])], fields=fields)
    with pytest.raises(fz.InvalidInputError, match=r"column: v.*not a variant, give schema="):
        catalog.create_table("db.t", data=pa.table({"v": other}), properties=V3)
    assert not catalog.table_exists("db.t")
    table = catalog.create_table("db.t", pa.schema({"v": other.type}), data=pa.table({"v": other}))
    assert table.scan().to_arrow()["v"].to_pylist() == [{"metadata": b"k", "value": b"v"}]
    # Optional members make a struct.
    plain = pa.table({"v": [{"metadata": b"k", "value": b"v"}]})
    assert catalog.create_table("db.plain", data=plain).schema["v"].type.startswith("struct<")


def test_geometries_make_a_table(catalog: fz.Catalog) -> None:
    metadata = {**WKB, b"ARROW:extension:metadata": b'{"crs": "EPSG:4326"}'}
    schema = pa.schema([pa.field("g", pa.binary(), metadata=metadata)])
    rows = pa.table({"g": pa.array([point(1, 2), None], pa.binary())}, schema=schema)
    table = catalog.create_table("db.t", data=rows, properties=V3)
    assert table.schema["g"].type == "geometry(EPSG:4326)"
    read = table.scan().to_arrow()
    again = catalog.create_table("db.again", data=read, properties=V3).append(rows)
    assert again.schema["g"].type == "geometry(EPSG:4326)"
    assert sorted(again.scan("g is not null").to_arrow()["g"].to_pylist()) == [point(1, 2)] * 2
    with pytest.raises(fz.InvalidInputError, match=r"'format-version': 3"):
        catalog.create_table("db.two", data=rows)
    with pytest.raises(fz.UnsupportedError, match=r"type geometry.*binary column"):
        catalog.create_table("db.p", data=rows, format="paimon")


def test_geometries_that_would_lose_their_type(catalog: fz.Catalog) -> None:
    unnamed = pa.table({"g": [point(1, 2)]}, schema=pa.schema([pa.field("g", pa.binary(), metadata=WKB)]))
    with pytest.raises(fz.InvalidInputError, match=r"reference system.*column: g.*EPSG:4326"):
        catalog.create_table("db.t", data=unnamed, properties=V3)
    points = pa.field("g", pa.list_(pa.float64(), 2), metadata={b"ARROW:extension:name": b"geoarrow.point"})
    with pytest.raises(fz.InvalidInputError, match=r"geoarrow\.point.*well-known binary"):
        catalog.create_table("db.t", pa.schema([points]), properties=V3)


def test_geopandas(catalog: fz.Catalog) -> None:
    geopandas = pytest.importorskip("geopandas")
    shapely = pytest.importorskip("shapely")
    frame = geopandas.GeoDataFrame({"id": [1, 2]}, geometry=[shapely.Point(1, 2), None], crs="EPSG:4326")
    table = catalog.create_table("db.t", data=frame, properties=V3)
    assert table.schema["geometry"].type == "geometry(EPSG:4326)"
    back = geopandas.GeoDataFrame.from_arrow(table.append(frame).scan("id = 1").to_arrow())
    assert back.crs == "EPSG:4326"
    assert list(back.geometry) == [shapely.Point(1, 2)] * 2
    with pytest.raises(fz.InvalidInputError, match="reset_index"):
        table.append(frame.set_index("id"))


def test_data_frames_with_a_way_to_arrow_of_their_own(catalog: fz.Catalog) -> None:
    """GeoPandas says by `to_arrow` what its geometries are. Here is a frame like it."""

    class GeoDataFrame(pd.DataFrame):
        def to_arrow(self, index: bool, geometry_encoding: str) -> pa.Table:
            assert not index
            assert geometry_encoding == "WKB"
            metadata = {**WKB, b"ARROW:extension:metadata": b'{"crs": "OGC:CRS84"}'}
            schema = pa.schema([pa.field("g", pa.binary(), metadata=metadata)])
            return pa.table({"g": [point(float(x), 0) for x in self["g"]]}, schema=schema)

    GeoDataFrame.__module__ = "geopandas.geodataframe"
    table = catalog.create_table("db.t", data=GeoDataFrame({"g": [1, 2]}), properties=V3)
    assert table.schema["g"].type == "geometry"
    assert table.scan().to_arrow()["g"].to_pylist() == [point(1, 0), point(2, 0)]


def test_uuids_and_json_make_a_table(catalog: fz.Catalog) -> None:
    rows = pa.table({"u": pa.array([ID.bytes, None], pa.uuid()), "j": pa.array(['{"a": 1}', None], pa.json_())})
    table = catalog.create_table("db.t", data=rows)
    assert (table.schema["u"].type, table.schema["j"].type) == ("uuid", "string")
    again = catalog.create_table("db.again", data=table.scan().to_arrow()).append(rows)
    assert again.schema["u"].type == "uuid"
    assert again.scan("u is not null").to_arrow().to_pylist() == [{"u": ID, "j": '{"a": 1}'}] * 2
    with pytest.raises(fz.UnsupportedError, match=r"type uuid.*column: u.*text"):
        catalog.create_table("db.p", data=rows, format="paimon")
    text = catalog.create_table("db.p", data=rows.select(["j"]), format="paimon")
    assert text.scan("j is not null").to_arrow()["j"].to_pylist() == ['{"a": 1}']


def test_ids_of_rows_mean_nothing_in_a_new_table(catalog: fz.Catalog) -> None:
    """Columns of Paimon are numbered from 0, and rows that are joined have numbers twice."""
    paimon = catalog.create_table("db.p", data=pa.table({"x": [1], "l": [["a"]]}), format="paimon")
    other = catalog.create_table("db.i", data=pa.table({"y": [2]}))
    first, second = paimon.scan().to_arrow(), other.scan().to_arrow()
    assert catalog.create_table("db.a", data=first).scan().to_arrow().to_pylist() == [{"x": 1, "l": ["a"]}]
    assert catalog.create_table("db.b", paimon.schema.to_arrow()).schema.names == ["x", "l"]
    assert fz.Schema(paimon.schema.to_arrow()) == paimon.schema
    joined = first.append_column(second.schema.field("y"), second["y"]).append_column("z", second["y"])
    table = catalog.create_table("db.c", data=joined)
    assert table.scan().to_arrow().to_pylist() == [{"x": 1, "l": ["a"], "y": 2, "z": 2}]
    assert [field.id for field in table.schema] == [1, 2, 3, 4]
    with other.update_schema() as update:
        update.union_by_name(joined.schema)
    assert set(other.refresh().schema.names) == {"x", "l", "y", "z"}
