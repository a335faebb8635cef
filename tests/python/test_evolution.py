"""Evolution by its Python face: schema, partition spec, sort order, properties, references, catalogs."""

import datetime as dt
import decimal
import json
import pickle
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("day", pa.date32()),
        pa.field("p", pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.float32())])),
        pa.field("l", pa.list_(pa.struct([pa.field("k", pa.int32())]))),
    ]
)
ROW = {"id": 1, "name": "a", "day": dt.date(2020, 1, 2), "p": {"x": 1, "y": 1.5}, "l": [{"k": 3}]}


def make(catalog: fz.Catalog, version: int = 2, **more: Any) -> fz.Table:
    table = catalog.create_table("db.t", SCHEMA, properties={"format-version": version}, **more)
    return table.append(pa.Table.from_pylist([ROW], SCHEMA))


def metadata(table: fz.Table) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(table.metadata_location).read_text("utf-8"))
    return found


def test_rows_follow_their_columns(catalog: fz.Catalog) -> None:
    table = make(catalog, 3)
    with table.update_schema() as update:
        update.add_column("n", "long", doc="a number", required=True, default=7, after="id")
        update.add_column("p.z", pa.list_(pa.int64()), first=True)
        update.add_column(("l", "m"), "string", first=True)
        update.rename_column("name", "title").rename_column("p.x", "xx")
        update.update_column("id", "long", doc="the key").update_column("p.y", pa.float64())
        update.update_column("day", pa.timestamp("us"))
        update.drop_column("l.k")
        update.move_first("p").move_after("id", "name").move_before("p.y", "x")
        update.set_identifier_fields("id")
    assert table.schema.names == ["p", "n", "title", "id", "day", "l"]
    assert table.schema.field("id").doc == "the key"
    assert table.scan().to_arrow().to_pylist() == [
        {
            "p": {"z": None, "y": 1.5, "xx": 1},
            "n": 7,
            "title": "a",
            "id": 1,
            "day": dt.datetime(2020, 1, 2),
            "l": [{"m": None}],
        }
    ]
    assert fz.open_table(table.location).schema == table.schema
    assert json.loads(table.schema.to_json())["identifier-field-ids"] == [1]
    # The old version is read by the schema of then.
    assert table.snapshot is not None
    assert table.scan(at=table.snapshot.id).to_arrow().to_pylist() == [ROW]


def test_updates_work_without_with(catalog: fz.Catalog) -> None:
    table = make(catalog)
    update = table.update_schema()
    update.add_column("a", "int").delete_column("day").make_column_optional("id")
    update.commit()
    assert [f.required for f in table.schema] == [False] * 5
    with pytest.raises(fz.InvalidInputError, match="committed already"):
        update.commit()
    table.update_partition_spec().add_identity("a").commit()
    table.update_sort_order().asc("a").commit()
    assert (str(table.partition_spec), str(table.sort_order)) == ("[a: a]", "[a asc nulls first]")


def test_an_error_in_the_block_commits_nothing(catalog: fz.Catalog) -> None:
    table = make(catalog)
    before = table.metadata_location

    def fail() -> None:
        with table.update_schema() as update:
            update.add_column("a", "int")
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        fail()
    with pytest.raises(fz.InvalidInputError, match="no column"):
        table.update_schema().add_column("a", "int").drop_column("nope").commit()
    assert table.refresh().metadata_location == before


def test_what_changes_nothing_makes_no_version(catalog: fz.Catalog) -> None:
    table = make(catalog)
    table.set_properties({"a": "1"}, owner="me")
    before = table.metadata_location
    table.set_properties({"a": 1})
    table.remove_properties("nope")
    table.upgrade(2)
    with table.update_schema():
        pass
    with table.update_schema() as update:
        update.update_column("id", "int", required=True)
    with table.update_sort_order():
        pass
    table.refs.replace("main", at="main").set_retention("main")
    assert table.metadata_location == before
    assert (table.properties["a"], table.properties["owner"]) == ("1", "me")


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("long", "long"),
        ("decimal(9,2)", "decimal(9, 2)"),
        (pa.decimal128(9, 2), "decimal(9, 2)"),
        (pa.timestamp("us", "UTC"), "timestamptz"),
        (pa.map_(pa.string(), pa.int64()), "map<string, long>"),
        ("struct<a: int, b: required list<string>>", "struct<11: a: optional int, 12: b: required list<string>>"),
        (pa.struct([pa.field("a", pa.uuid(), nullable=False)]), "struct<11: a: required uuid>"),
    ],
)
def test_types_are_texts_or_arrow_types(catalog: fz.Catalog, type_: Any, text: str) -> None:
    table = make(catalog)
    table.update_schema().add_column("new", type_).commit()
    assert table.schema.field("new").type == text
    other = catalog.create_table("db.other", SCHEMA)
    other.update_schema().add_column("new", table.schema.field("new").type).commit()
    assert other.schema.field("new") == table.schema.field("new")


def test_pyiceberg_types_are_types(catalog: fz.Catalog) -> None:
    types = pytest.importorskip("pyiceberg.types")
    table = make(catalog)
    table.update_schema().add_column("new", types.ListType(1, types.DecimalType(9, 2), element_required=False)).commit()
    assert table.schema.field("new").type == "list<decimal(9, 2)>"


@pytest.mark.parametrize(
    ("type_", "default", "read"),
    [
        ("int", 5, 5),
        ("double", float("inf"), float("inf")),
        ("decimal(9, 2)", decimal.Decimal("1.5"), decimal.Decimal("1.50")),
        ("date", dt.date(2020, 1, 2), dt.date(2020, 1, 2)),
        ("time", dt.time(1, 2, 3), dt.time(1, 2, 3)),
        ("timestamp", dt.datetime(2020, 1, 2, 3, 4, 5, 6), dt.datetime(2020, 1, 2, 3, 4, 5, 6)),
        (
            "timestamptz",
            dt.datetime(2020, 1, 2, tzinfo=dt.timezone.utc),
            dt.datetime(2020, 1, 2, tzinfo=dt.timezone.utc),
        ),
        ("binary", b"\x00\xff", b"\x00\xff"),
        ("string", "ü", "ü"),
        ("boolean", False, False),
        ("uuid", uuid.UUID(int=5), uuid.UUID(int=5)),
    ],
)
def test_defaults_are_python_values(catalog: fz.Catalog, type_: str, default: Any, read: Any) -> None:
    table = make(catalog, 3)
    table.update_schema().add_column("new", type_, required=True, default=default).commit()
    assert table.scan(select=["new"]).to_arrow().column(0).to_pylist() == [read]
    table.update_schema().set_default_value("new", None).commit()
    recorded = metadata(table)["schemas"][-1]["fields"][-1]
    assert "initial-default" in recorded
    assert "write-default" not in recorded


def test_a_union_takes_rows_of_both_schemas(catalog: fz.Catalog) -> None:
    table = make(catalog)
    other = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("extra", pa.int16()),
            pa.field("p", pa.struct([pa.field("x", pa.int64()), pa.field("w", pa.string())])),
            pa.field("l", pa.list_(pa.struct([pa.field("q", pa.int32())]))),
        ]
    )
    table.update_schema().union_by_name(other).commit()
    table.append(pa.Table.from_pylist([{"id": 2, "extra": 5, "p": {"x": 1, "w": "w"}, "l": [{"q": 4}]}], other))
    rows = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert rows[0]["p"] == {"x": 1, "y": 1.5, "w": None}
    assert rows[1]["p"] == {"x": 1, "y": None, "w": "w"}
    assert [row["l"] for row in rows] == [[{"k": 3, "q": None}], [{"k": None, "q": 4}]]
    assert [row["extra"] for row in rows] == [None, 5]
    before = table.metadata_location
    table.update_schema().union_by_name(table.schema).commit()
    assert table.metadata_location == before


def test_partitioning_changes_for_new_files(catalog: fz.Catalog) -> None:
    table = make(catalog, partition_by=["bucket(4, id)"])
    with table.update_partition_spec() as update:
        update.remove_field("bucket(4, id)").add_field("truncate(2, name)").add_field("day", "month", "m")
    assert str(table.partition_spec) == "[name_trunc_2: truncate(2, name), m: month(day)]"
    table.append(pa.Table.from_pylist([{**ROW, "id": 2, "name": "bbb"}], SCHEMA))
    tasks = list(table.scan().plan_files())
    assert sorted(task.data_file.spec_id for task in tasks) == [0, 1]
    assert [t.data_file.partition for t in table.scan("name = 'bbb'").plan_files()][-1] == {
        "name_trunc_2": "bb",
        "m": 600,
    }
    assert table.scan("name = 'bbb'").count() == 1
    with table.update_partition_spec(case_sensitive=False) as update:
        update.rename_field("m", "month").add_field("bucket(4, ID)")
    assert [(f.field_id, f.name) for f in table.partition_spec.fields] == [
        (1001, "name_trunc_2"),
        (1002, "month"),
        (1000, "id_bucket"),
    ]


def test_sort_orders(catalog: fz.Catalog) -> None:
    table = make(catalog, sort_by=["id"])
    table.update_sort_order().desc("day(day)").asc("name", nulls="last").desc("id", "bucket[4]", nulls="first").commit()
    assert [tuple(f) for f in table.sort_order.fields] == [
        (3, "day", True, False, "day"),
        (2, "identity", False, False, "name"),
        (1, "bucket[4]", True, True, "id"),
    ]
    with pytest.raises(fz.InvalidInputError, match="'first' or 'last'"):
        table.update_sort_order().asc("id", nulls="middle")
    table.update_sort_order().commit()
    assert table.sort_order.id == 0


def test_branches_and_tags(catalog: fz.Catalog) -> None:
    table = make(catalog)
    assert table.snapshot is not None
    first = table.snapshot.id
    refs = table.refs
    table.append(pa.Table.from_pylist([{**ROW, "id": 2}], SCHEMA))
    second = table.snapshot.id
    refs.create_tag("v1", at=first, max_ref_age_ms=dt.timedelta(days=1)).create_branch("dev", min_snapshots_to_keep=2)
    assert refs["v1"] == fz.Ref("v1", first, "tag", None, None, 86_400_000)
    assert refs["dev"] == fz.Ref("dev", second, "branch", 2, None, None)
    assert (list(refs), len(refs), "v1" in table.refs, "v2" in refs) == (["dev", "main", "v1"], 3, True, False)
    assert table.scan(at="v1").count() == 1
    table.rollback(to="v1")
    assert (table.snapshot.id, table.scan().count()) == (first, 1)
    refs.fast_forward("main", to="dev").rename("dev", "audit").set_retention("audit", max_snapshot_age_ms=5)
    assert (table.snapshot.id, refs["audit"].max_snapshot_age_ms, refs["audit"].min_snapshots_to_keep) == (second, 5, 2)
    refs.replace("v1", at="audit").drop("audit")
    assert (refs["v1"].snapshot_id, list(refs)) == (second, ["main", "v1"])
    table.set_current_snapshot(first)
    assert table.snapshot.id == first
    with pytest.raises(fz.InvalidInputError, match="ancestor"):
        table.rollback(to=second)
    with pytest.raises(fz.NotFoundError):
        refs.drop("nope")
    with pytest.raises(fz.AlreadyExistsError):
        refs.create_tag("v1")
    with pytest.raises(fz.NotFoundError, match="It has: main, v1"):
        _ = refs["nope"]
    history = table.inspect.history().to_pylist()
    assert [row["snapshot_id"] for row in history] == [first, second, first, second, first]


def test_rollback_to_a_time(catalog: fz.Catalog) -> None:
    table = make(catalog)
    assert table.snapshot is not None
    first = table.snapshot
    table.append(pa.Table.from_pylist([ROW], SCHEMA))
    table.rollback(to=first.timestamp + dt.timedelta(milliseconds=1))
    assert table.snapshot.id == first.id
    with pytest.raises(fz.InvalidInputError, match="no snapshot from before"):
        table.rollback(to=first.timestamp)


def test_a_branch_can_be_read_and_dropped_of_an_empty_table(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.empty", SCHEMA)
    assert dict(table.refs) == {}
    with pytest.raises(fz.InvalidInputError, match="no snapshot yet"):
        table.refs.create_branch("dev")


def test_changes_of_others_are_kept_or_conflict(catalog: fz.Catalog) -> None:
    mine = make(catalog)
    others = fz.open_table(mine.location)
    others.append(pa.Table.from_pylist([ROW], SCHEMA))
    others.set_properties({"b": "2"})
    mine.update_schema().add_column("a", "int").commit()
    mine.set_properties({"a": "1"})
    assert (mine.scan().count(), mine.properties["a"], mine.properties["b"]) == (2, "1", "2")
    for stale in (
        others.update_schema().add_column("c", "int"),
        others.refresh().update_partition_spec().add_field("name"),
        others.update_sort_order().asc("name"),
    ):
        with fz.open_table(mine.location).update_schema() as update:
            update.add_column(f"c{len(mine.refresh().schema)}", "int")
        if isinstance(stale, fz.UpdateSchema):
            with pytest.raises(fz.CommitConflictError, match="current schema id"):
                stale.commit()
        else:
            stale.commit()
    table = fz.open_table(mine.location)
    stale_refs = fz.open_table(mine.location)
    table.append(pa.Table.from_pylist([ROW], pa.schema(SCHEMA)))
    with pytest.raises(fz.CommitConflictError, match="snapshot of 'main'"):
        stale_refs.rollback(to=stale_refs.snapshots[0].id)
    # What was meant by "now" is the version that was in view.
    stale_refs.refs.create_tag("seen")
    assert stale_refs.refs["seen"].snapshot_id != stale_refs.refs["main"].snapshot_id


def test_an_update_is_made_to_the_version_it_was_begun_at(catalog: fz.Catalog) -> None:
    table = make(catalog)
    update = table.update_schema().add_column("a", "int")
    table.update_schema().add_column("b", "int").commit()
    with pytest.raises(fz.CommitConflictError):
        update.commit()


def test_upgrades(catalog: fz.Catalog) -> None:
    table = make(catalog, 1)
    for version in (2, 3):
        assert table.upgrade(version).format_version == version
        table.append(pa.Table.from_pylist([{**ROW, "id": version}], SCHEMA))
    assert sorted(table.scan(select=["id"]).to_arrow().column(0).to_pylist()) == [1, 2, 3]
    assert metadata(table)["next-row-id"] >= 1
    assert table.set_properties({"format-version": 3}).format_version == 3
    with pytest.raises(fz.InvalidInputError, match="can't go back"):
        table.upgrade(1)
    with pytest.raises(fz.UnsupportedError):
        table.upgrade(4)


def test_a_table_known_by_its_folder_stays_there(catalog: fz.Catalog, tmp_path: Path) -> None:
    table = make(catalog)
    with pytest.raises(fz.UnsupportedError, match="location"):
        table.update_location(tmp_path / "elsewhere")
    with pytest.raises(fz.UnsupportedError, match="metadata folder"):
        table.set_properties({"write.metadata.path": "/x"})
    table.update_location(table.location)


def test_copies_can_not_be_changed(catalog: fz.Catalog) -> None:
    table = fz.open_table(make(catalog).location, moved=True)
    for change in (
        lambda: table.set_properties({"a": "b"}),
        lambda: table.refs.create_tag("v"),
        lambda: table.update_schema().add_column("a", "int").commit(),
    ):
        with pytest.raises(fz.InvalidInputError, match="read-only"):
            change()


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.update_schema().add_column("a", object()),
        lambda t: t.update_schema().add_column("a", "hyperint").commit(),
        lambda t: t.update_schema().add_column(5, "int"),
        lambda t: t.update_schema().add_column("", "int").commit(),
        lambda t: t.update_schema().add_column("a", "int", default=object()),
        lambda t: t.update_schema().add_column("a", "int", first=True, before="id"),
        lambda t: t.update_schema().drop_column(()),
        lambda t: t.update_partition_spec().add_field(5),
        lambda t: t.refs.create_tag(5),
        lambda t: t.refs.create_tag("a", at=object()),
        lambda t: t.refs.create_branch("a", min_snapshots_to_keep=-1),
        lambda t: t.refs.create_branch("a", min_snapshots_to_keep=2**40),
        lambda t: t.rollback(to=2.5),
        lambda t: t.upgrade("3"),
        lambda t: t.remove_properties(5),
        lambda t: t.set_properties({"a": None}),
    ],
)
def test_wrong_arguments_are_told(catalog: fz.Catalog, change: Any) -> None:
    table = make(catalog)
    before = table.metadata_location
    with pytest.raises(fz.InvalidInputError):
        change(table)
    assert table.refresh().metadata_location == before


def test_tables_with_references_pickle(catalog: fz.Catalog) -> None:
    table = make(catalog)
    table.refs.create_tag("v")
    assert dict(pickle.loads(pickle.dumps(table)).refs) == dict(table.refs)


# ---------------------------------------------------------------- catalogs


def test_identifier_fields_comments_and_defaults_of_new_tables(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.a", SCHEMA, identifier_fields=["id"])
    assert json.loads(table.schema.to_json())["identifier-field-ids"] == [1]
    fields = [
        {"id": 7, "name": "k", "required": True, "type": "long", "doc": "key"},
        {"id": 8, "name": "v", "required": False, "type": "int", "initial-default": 1, "write-default": 2},
    ]
    schema = fz.Schema.from_json(json.dumps({"type": "struct", "fields": fields, "identifier-field-ids": [7]}))
    table = catalog.create_table("db.b", schema, properties={"format-version": 3})
    want = [{**fields[0], "id": 1}, {**fields[1], "id": 2}]
    assert json.loads(table.schema.to_json()) == {
        "type": "struct",
        "schema-id": 0,
        "identifier-field-ids": [1],
        "fields": want,
    }
    with pytest.raises(fz.InvalidInputError, match="identifier"):
        catalog.create_table("db.c", SCHEMA, identifier_fields=["nope"])
    with pytest.raises(fz.InvalidInputError, match="not required"):
        catalog.create_table("db.c", SCHEMA, identifier_fields=["name"])
    with pytest.raises(fz.InvalidInputError, match="format version 3"):
        catalog.create_table("db.c", schema)


def test_a_purge_deletes_what_lies_elsewhere(catalog: fz.Catalog, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    for purge, collects, left in [(False, True, 1), (True, True, 0), (True, False, 1)]:
        properties = {"write.data.path": str(elsewhere), "gc.enabled": collects}
        table = catalog.create_table("db.p", SCHEMA, properties=properties)
        table.append(pa.Table.from_pylist([ROW], SCHEMA))
        catalog.drop_table("db.p", purge=purge)
        files = [path for path in elsewhere.rglob("*") if path.is_file()]
        assert len(files) == left, (purge, collects)
        assert not Path(table.location).exists()
        for path in files:
            path.unlink()


def test_tables_are_registered_where_they_are(catalog: fz.Catalog, tmp_path: Path) -> None:
    table = make(catalog)
    root = Path(table.location)
    # As a metastore's table would be: the same metadata under a metastore's name.
    other = root / "metadata" / f"00002-{uuid.uuid4()}.metadata.json"
    Path(table.metadata_location).rename(other)
    for path in (root / "metadata").glob("v*"):
        path.unlink()
    registered = catalog.register_table("db.t", other)
    assert registered.scan().count() == 1
    assert catalog.load_table("db.t").append(pa.Table.from_pylist([ROW], SCHEMA)).scan().count() == 2
    with pytest.raises(fz.AlreadyExistsError):
        catalog.register_table("db.t", other)
    with pytest.raises(fz.UnsupportedError, match="folder of its name"):
        catalog.register_table("db.another", other)
    with pytest.raises(fz.NotFoundError):
        catalog.register_table("nope.t", other)


def test_what_a_file_system_catalog_can_not_do(catalog: fz.Catalog) -> None:
    make(catalog)
    with pytest.raises(fz.UnsupportedError, match="can't rename"):
        catalog.rename_table("db.t", "db.u")
    with pytest.raises(fz.NotFoundError):
        catalog.rename_table("db.nope", "db.u")
    with pytest.raises(fz.UnsupportedError, match="no properties"):
        catalog.create_namespace("other", properties={"a": "b"})
    with pytest.raises(fz.UnsupportedError, match="no properties"):
        catalog.update_namespace_properties("db", updates={"a": "b"})
    assert (catalog.namespace_exists("db"), catalog.namespace_exists("other")) == (True, False)
    assert catalog.load_namespace_properties("db")["location"].endswith("/db")


def test_a_branch_moves_to_what_was_looked_at(catalog: fz.Catalog) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64())})
    table = catalog.create_table("db.forward", rows.schema)
    table.append(rows)
    table.append(rows, branch="audit")
    fz.open_table(table.location).append(rows, branch="audit")
    with pytest.raises(fz.CommitConflictError):
        table.refs.fast_forward("main", to="audit")
    table.refresh().refs.fast_forward("main", to="audit")
    assert table.scan().count() == 3
