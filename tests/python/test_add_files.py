"""Existing Parquet files as part of a table."""

from __future__ import annotations

import datetime as dt
import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz

ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "name": pa.array(["a", None, "c"]),
        "day": pa.array([dt.date(2026, 1, 2)] * 3),
    }
)


@pytest.fixture
def catalog(tmp_path: pathlib.Path) -> fz.Catalog:
    catalog = fz.catalog("c", warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    return catalog


def written(folder: pathlib.Path, name: str, rows: pa.Table, **options: object) -> str:
    path = folder / name
    pq.write_table(rows, path, **options)
    return str(path)


def test_files_are_read_where_they_are(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table("db.t", ROWS.schema, partition_by=["day"])
    paths = [written(tmp_path, "a.parquet", ROWS), written(tmp_path, "b.parquet", ROWS.slice(0, 1))]
    table.add_files(paths, snapshot_properties={"by": "me"})
    assert table.scan().to_arrow().sort_by("id").to_pylist() == sorted(
        ROWS.to_pylist() + ROWS.slice(0, 1).to_pylist(), key=lambda row: row["id"]
    )
    mapping = json.loads(table.properties["schema.name-mapping.default"])
    assert mapping == [{"field-id": i, "names": [name]} for i, name in enumerate(ROWS.column_names, 1)]
    assert table.snapshot is not None
    assert table.snapshot.operation == "append"
    assert table.snapshot.summary["by"] == "me"
    assert table.snapshot.summary["added-records"] == "4"
    tasks = list(table.scan("day = '2026-01-02' and id > 1").plan_files())
    assert [task.data_file.path for task in tasks] == paths[:1], "bounds prune"
    assert tasks[0].data_file.partition == {"day": dt.date(2026, 1, 2)}
    assert table.scan("day = '2026-01-03'").count() == 0
    assert table.metadata_location.endswith("v2.metadata.json")


def test_files_are_added_once(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table("db.t", ROWS.schema)
    path = written(tmp_path, "a.parquet", ROWS)
    with pytest.raises(fz.InvalidInputError, match="twice"):
        table.add_files([path, path])
    table.add_files([path])
    with pytest.raises(fz.InvalidInputError, match="already"):
        table.add_files([path, written(tmp_path, "b.parquet", ROWS)])
    assert table.refresh().scan().count() == 3
    with pytest.raises(fz.NotFoundError):
        table.add_files([str(tmp_path / "none.parquet")])
    with pytest.raises(fz.InvalidInputError, match="already"):
        table.add_files(path)
    with pytest.raises(fz.NotFoundError, match="Patterns are not files"):
        table.add_files(str(tmp_path / "*.parquet"))


def test_what_does_not_fit_is_refused(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string()), ("day", pa.date32())])
    table = catalog.create_table("db.t", schema, partition_by=["day"])
    several = pa.concat_tables([ROWS, ROWS.set_column(2, "day", pa.array([dt.date(2026, 1, 3)] * 3))])
    nulls = ROWS.set_column(2, "day", pa.array([dt.date(2026, 1, 2), None, None]))
    for rows, match in [
        (several, "several partitions"),
        (nulls, "several partitions"),
        (ROWS.set_column(0, "id", pa.array(["x", "y", "z"])), "do not fit"),
        (ROWS.select(["name", "day"]), "do not fit"),
    ]:
        with pytest.raises(fz.InvalidInputError, match=match):
            table.add_files([written(tmp_path, "a.parquet", rows)])
    with pytest.raises(fz.InvalidInputError, match="statistics"):
        table.add_files([written(tmp_path, "a.parquet", ROWS, write_statistics=False)])
    assert table.refresh().snapshot is None
    assert "schema.name-mapping.default" not in table.properties


def test_foreign_units_do_not_prune_wrongly(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    """Statistics in milliseconds are no bounds of a column in microseconds."""
    times = [dt.datetime(2026, 1, 2), dt.datetime(2026, 1, 3)]
    rows = pa.table({"t": pa.array(times, pa.timestamp("ms")), "n": pa.array([1, 2], pa.int32())})
    schema = pa.schema([("t", pa.timestamp("us")), ("n", pa.int64())])
    table = catalog.create_table("db.t", schema)
    table.add_files([written(tmp_path, "a.parquet", rows)])
    assert table.scan("t > '2026-01-02T12:00:00' and n = 2").count() == 1


def test_partitions_come_from_equal_bounds(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    times = [dt.datetime(2026, 1, 2, 3), dt.datetime(2026, 1, 2, 9)]
    rows = pa.table({"t": pa.array(times, pa.timestamp("us")), "n": pa.array([7, 7], pa.int64()), "s": ["x", "x"]})
    table = catalog.create_table("db.t", rows.schema, partition_by=["day(t)", "bucket(4, n)", "s"])
    table.add_files([written(tmp_path, "a.parquet", rows)])
    appended = catalog.create_table("db.u", rows.schema, partition_by=["day(t)", "bucket(4, n)", "s"]).append(rows)
    (ours,), (theirs,) = table.scan().plan_files(), appended.scan().plan_files()
    assert ours.data_file.partition == theirs.data_file.partition
    nothing = rows.set_column(2, "s", pa.array([None, None], pa.string()))
    table.add_files([written(tmp_path, "b.parquet", nothing)])
    assert table.scan("s is null").count() == 2


def test_files_that_left_can_be_added_again(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table("db.t", ROWS.schema)
    path = written(tmp_path, "a.parquet", ROWS)
    table.add_files([path])
    with pytest.raises(fz.InvalidInputError, match="has this file already"):
        table.add_files([f"file:{path}"])
    table.delete("true")
    assert table.add_files([path]).scan().count() == 3
    table.add_files([path], check_duplicate_files=False)
    assert table.scan().count() == 6


def test_files_of_another_branch_can_be_added(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table("db.t", ROWS.schema)
    table.append(ROWS)
    path = written(tmp_path, "a.parquet", ROWS)
    table.add_files([path], branch="audit")
    assert table.add_files([path]).scan().count() == 6


@pytest.mark.parametrize("statistics", [True, False])
def test_nulls_in_required_columns_are_refused(catalog: fz.Catalog, tmp_path: pathlib.Path, statistics: bool) -> None:
    inner = pa.struct([pa.field("x", pa.int64(), nullable=False), ("y", pa.int64())])
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", inner), ("l", pa.list_(inner))])
    table = catalog.create_table("db.t", schema)
    optional = pa.schema(
        [
            ("id", pa.int64()),
            ("s", pa.struct([("x", pa.int64()), ("y", pa.int64())])),
            ("l", pa.list_(pa.struct([("x", pa.int64()), ("y", pa.int64())]))),
        ]
    )
    some, none = {"x": 1, "y": None}, {"x": None, "y": 1}
    for row in [
        {"id": None, "s": some, "l": [some]},
        {"id": 1, "s": none, "l": [some]},
        {"id": 1, "s": some, "l": [some, none]},
    ]:
        rows = pa.Table.from_pylist([{"id": 2, "s": some, "l": [some]}, row], schema=optional)
        with pytest.raises(fz.InvalidInputError, match="required column of the table is null") as refused:
            table.add_files([written(tmp_path, "a.parquet", rows, write_statistics=statistics)])
        assert refused.value.context["path"].endswith("a.parquet")
    good = [{"id": 1, "s": some, "l": [some]}, {"id": 2, "s": None, "l": None}, {"id": 3, "s": some, "l": []}]
    rows = pa.Table.from_pylist(good, schema=optional)
    table.add_files([written(tmp_path, "b.parquet", rows, write_statistics=statistics)])
    assert table.scan().to_arrow().to_pylist() == good


def test_files_without_any_column_of_the_table_are_refused(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table("db.t", ROWS.schema)
    other = pa.table({"ident": [1], "nam": ["x"]})
    with pytest.raises(fz.InvalidInputError, match="no column of the table") as refused:
        table.add_files([written(tmp_path, "a.parquet", other)])
    assert refused.value.context["columns"] == "ident, nam"
    with_ids = pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "77"})])
    rows = pa.table([[1]], schema=with_ids)
    with pytest.raises(fz.InvalidInputError, match="no column of the table"):
        table.add_files([written(tmp_path, "b.parquet", rows)])
    table.add_files([written(tmp_path, "c.parquet", ROWS.select(["name"]))])
    assert table.scan().count() == 3


def with_ids(rows: pa.Table, *ids: int) -> pa.Table:
    fields = [f.with_metadata({"PARQUET:field_id": str(n)}) for f, n in zip(rows.schema, ids, strict=True)]
    return pa.Table.from_arrays(rows.columns, schema=pa.schema(fields))


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize(
    ("stored", "fits", "misfit", "ours"),
    [
        (pa.uint64(), [0, 2**63 - 1], [2**63], pa.int64()),
        (pa.uint32(), [2**31 - 1], [2**32 - 1], pa.int32()),
        (pa.decimal128(12, 2), ["-9999999.99"], ["10000000.00"], pa.decimal128(9, 2)),
        (pa.decimal128(38, 2), ["-9999999.99"], ["-10000000.00"], pa.decimal128(9, 2)),
        (pa.decimal256(50, 2), ["9999999.99"], ["1" * 45], pa.decimal128(38, 2)),
        (pa.binary(), ["né".encode()], [b"a", b"\xff\xfe"], pa.string()),
        (pa.timestamp("ms"), [2**40], [2**60], pa.timestamp("us")),
        (pa.binary(), [b"0123"], [b"01234"], pa.binary(4)),
    ],
)
def test_values_that_do_not_fit_are_refused(
    catalog: fz.Catalog,
    tmp_path: pathlib.Path,
    stored: pa.DataType,
    fits: list[object],
    misfit: list[object],
    ours: pa.DataType,
    statistics: bool,
) -> None:
    def rows(values: list[object]) -> pa.Table:
        given = pa.array([None, *values], pa.string()).cast(stored) if pa.types.is_decimal(stored) else None
        array = given if given is not None else pa.array([None, *values], stored)
        nested = pa.StructArray.from_arrays([array], names=["v"])
        lists = pa.ListArray.from_arrays(list(range(len(array) + 1)), nested)
        return pa.table({"v": array, "s": nested, "l": lists})

    inner = pa.struct([("v", ours)])
    table = catalog.create_table("db.t", pa.schema([("v", ours), ("s", inner), ("l", pa.list_(inner))]))
    table.add_files([written(tmp_path, "good.parquet", rows(fits), write_statistics=statistics)])
    assert table.scan().count() == 1 + len(fits)
    table.scan().to_arrow()
    bad, nothing = rows(misfit), rows([None] * len(misfit))
    for name, column in [("v", "v"), ("s", "s.v"), ("l", "l.element.v")]:
        place = nothing.schema.get_field_index(name)
        path = written(
            tmp_path, f"{name}.parquet", nothing.set_column(place, name, bad[name]), write_statistics=statistics
        )
        with pytest.raises(fz.InvalidInputError, match="can't hold") as refused:
            table.add_files([path])
        assert refused.value.context["column"] == column
        assert refused.value.context["path"] == path
    assert table.refresh().scan().count() == 1 + len(fits)


def test_ids_of_another_table_are_refused(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table("db.t", ROWS.schema)
    for ids, column in [((2, 1, 3), "id"), ((1, 2, 7), "day"), ((1, 3, 4), "name")]:
        with pytest.raises(fz.InvalidInputError, match="another table") as refused:
            table.add_files([written(tmp_path, "a.parquet", with_ids(ROWS, *ids))])
        assert refused.value.context["column"] == column
    with pytest.raises(fz.InvalidInputError, match="no column of the table"):
        table.add_files([written(tmp_path, "a.parquet", with_ids(ROWS, 11, 12, 13))])
    # Of this table's files: names in other case, columns that were renamed or dropped since, and other columns.
    with table.update_schema() as update:
        update.rename_column("name", "title")
        update.drop_column("day")
    with table.update_schema() as update:
        update.add_column("day", "date")
    more = ROWS.rename_columns(["ID", "name", "day"]).append_column("more", pa.array([1, 2, 3]))
    table.add_files([written(tmp_path, "b.parquet", with_ids(more, 1, 2, 3, 99))])
    assert table.scan().to_arrow().to_pydict() == {
        "id": [1, 2, 3],
        "title": ["a", None, "c"],
        "day": [None, None, None],
    }


def test_structs_need_a_known_member(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("s", pa.struct([("x", pa.int64())]))])
    table = catalog.create_table("db.t", schema)
    for place, rows in enumerate(
        [pa.table({"id": [1], "s": [{"z": 1}]}), pa.table({"id": [1], "s": [{"x": 1, "z": 1}]})]
    ):
        path = written(tmp_path, f"{place}.parquet", rows)
        if place == 0:
            with pytest.raises(fz.InvalidInputError, match="none of the table") as refused:
                table.add_files([path])
            assert refused.value.context["members"] == "z"
        else:
            assert table.add_files([path]).scan().to_arrow().to_pylist() == [{"id": 1, "s": {"x": 1}}]


def test_files_without_rows(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    none = written(tmp_path, "none.parquet", ROWS.slice(0, 0))
    some = written(tmp_path, "some.parquet", ROWS)
    table = catalog.create_table("db.p", ROWS.schema, partition_by=["day"])
    assert table.add_files([none]).snapshot is None
    assert table.add_files([none, some]).scan().count() == 3
    assert [t.data_file.path for t in table.scan().plan_files()] == [some]
    assert catalog.create_table("db.t", ROWS.schema).add_files([none]).scan().count() == 0


LINEAGE = {"_row_id": 2147483540, "_last_updated_sequence_number": 2147483539}


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("column", LINEAGE)
def test_ids_of_rows_are_refused(
    catalog: fz.Catalog, tmp_path: pathlib.Path, version: int, ids: bool, statistics: bool, column: str
) -> None:
    """Rows with the ids that rows of another table have: now, or when the table is upgraded."""
    table = catalog.create_table("db.t", ROWS.schema, properties={"format-version": str(version)})

    def file(name: str, values: list[int | None], type: pa.DataType | None = None) -> str:
        rows = ROWS.append_column(column, pa.array(values, type or pa.int64()))
        if ids:
            rows = with_ids(rows, 1, 2, 3, LINEAGE[column])
        return written(tmp_path, name, rows, write_statistics=statistics, row_group_size=1)

    for values in ([5, 6, 7], [None, None, 0], [-1, None, None]):
        path = file("bad.parquet", values)
        with pytest.raises(fz.InvalidInputError, match="stores row ids") as refused:
            table.add_files([path])
        assert refused.value.context == {"column": column, "path": path}
    with pytest.raises(fz.InvalidInputError, match="stores row ids"):
        table.add_files([file("int.parquet", [None, 1, 2], pa.int32())])
    with pytest.raises(fz.InvalidInputError, match="stores row ids"):
        table.add_files([written(tmp_path, "text.parquet", ROWS.append_column(column, pa.array(["1", "2", "3"])))])
    table.add_files([file("good.parquet", [None] * 3)])
    if version < 3:
        table.upgrade(3)
    found = table.append(ROWS).scan(select=[*ROWS.column_names, *LINEAGE]).to_arrow()
    assert sorted(found["_row_id"].to_pylist()) == [0, 1, 2, 3, 4, 5]
    assert found["name"].to_pylist() == ["a", None, "c"] * 2


def test_files_that_another_table_rewrote_are_refused(catalog: fz.Catalog) -> None:
    properties = {"format-version": "3", "write.update.mode": "copy-on-write"}
    source = catalog.create_table("db.source", ROWS.schema, properties=properties)
    source.append(ROWS)
    (fresh,) = (task.data_file.path for task in source.scan().plan_files())
    source.update("id = 2", {"name": "b"})
    (rewritten,) = (task.data_file.path for task in source.scan().plan_files())
    target = catalog.create_table("db.target", ROWS.schema, properties={"format-version": "3"})
    with pytest.raises(fz.InvalidInputError, match="another table") as refused:
        target.add_files([rewritten])
    assert "append() them" in str(refused.value)
    assert target.add_files([fresh]).scan(select=["_row_id"]).to_arrow()["_row_id"].to_pylist() == [0, 1, 2]


def test_values_finer_than_microseconds_are_refused(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    schema = pa.schema(
        [
            ("t", pa.timestamp("us")),
            ("z", pa.timestamp("us", "UTC")),
            ("d", pa.time64("us")),
            ("l", pa.list_(pa.timestamp("us"))),
        ]
    )
    table = catalog.create_table("db.t", schema)

    def nanos(t: int = 5000, z: int = -7000, d: int = 3000, nested: int = 9000) -> pa.Table:
        return pa.table(
            {
                "t": pa.array([t, None], pa.timestamp("ns")),
                "z": pa.array([z, None], pa.timestamp("ns", "UTC")),
                "d": pa.array([d, None], pa.time64("ns")),
                "l": pa.array([[nested], None], pa.list_(pa.timestamp("ns"))),
            }
        )

    table = table.add_files([written(tmp_path, "whole.parquet", nanos(), version="2.6")])
    assert table.scan().to_arrow()["t"].cast(pa.int64()).to_pylist() == [5, None]
    for name, rows in [("t", nanos(t=5001)), ("z", nanos(z=-1)), ("d", nanos(d=1)), ("l", nanos(nested=1001))]:
        with pytest.raises(fz.InvalidInputError, match="can't hold") as caught:
            table.add_files([written(tmp_path, f"{name}.parquet", rows, version="2.6")])
        assert caught.value.context["column"].startswith(name)
        assert "microseconds" in str(caught.value)


def test_wide_timestamps_are_checked_in_all_years(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table("db.t", pa.schema([("t", pa.timestamp("us"))]))
    years = [
        dt.datetime(1, 1, 1),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
        dt.datetime(9999, 12, 31, 1, 2, 3, 4),
    ]
    whole = pa.table({"t": pa.array(years, pa.timestamp("us"))})
    table = table.add_files([written(tmp_path, "whole.parquet", whole, use_deprecated_int96_timestamps=True)])
    assert table.scan().to_arrow()["t"].to_pylist() == years
    finer = pa.table({"t": pa.array([1_753_315_200_006_136_789], pa.timestamp("ns"))})
    with pytest.raises(fz.InvalidInputError, match="can't hold"):
        table.add_files([written(tmp_path, "finer.parquet", finer, use_deprecated_int96_timestamps=True)])


def test_partition_values_come_from_folders(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table("db.t", ROWS.schema, partition_by=["day", "name"])

    def below(folder: str) -> str:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        return written(tmp_path / folder, "x.parquet", ROWS.select(["id"]))

    table = table.add_files(
        [below("day=2026-01-02/name=a%2Fb"), below("day=2026-01-03/NAME=__HIVE_DEFAULT_PARTITION__")]
    )
    found = table.scan("day = '2026-01-02'").to_arrow()
    assert found.to_pylist() == [{"id": i, "name": "a/b", "day": dt.date(2026, 1, 2)} for i in (1, 2, 3)]
    assert table.scan("name is null").to_arrow()["day"].to_pylist() == [dt.date(2026, 1, 3)] * 3
    with pytest.raises(fz.InvalidInputError, match="no folder of its path names a value") as caught:
        table.add_files([below("day=2026-01-04")])
    assert caught.value.context["partition field"] == "name"
    with pytest.raises(fz.InvalidInputError, match="'day=tomorrow' names no value of the type date"):
        table.add_files([below("day=tomorrow/name=a")])
    by_month = catalog.create_table("db.m", ROWS.schema, partition_by=["month(day)"])
    with pytest.raises(fz.InvalidInputError, match="the file has no column 'day'"):
        by_month.add_files([below("day=2026-01-02")])
