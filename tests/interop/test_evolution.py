"""Evolution side by side with Java: the same changes by both give the same metadata, and each goes on where the other
stopped."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from java_api import JavaTable, refused
from java_side import NAMESPACE, Java, assert_same_rows, exact

import frazil as fz

COLUMNS = (
    "id int not null, data string, dt date, "
    "p struct<lat: float not null, long: float>, l array<struct<k: int>>, "
    "m map<string, struct<v: int>>, d decimal(9, 2), f float"
)
LEAVES = ["id", "data", "dt", "p.lat", "p.long", "l.element.k", "l.k", "m.value.v", "d", "f"]
NESTED = ["p", "l", "m", "l.element", "m.key", "m.value"]
TYPES = ["int", "long", "float", "double", "date", "timestamp", "string", "decimal(9, 2)", "decimal(12, 2)", "uuid"]
SHAPES = [
    '"int"',
    '{"type": "struct", "fields": [{"id": 50, "name": "a", "required": true, "type": "int"}, {"id": 51, "name": "b", '
    '"required": false, "type": {"type": "list", "element-id": 52, "element": "string", "element-required": false}}]}',
    '{"type": "map", "key-id": 60, "key": "string", "value-id": 61, "value": {"type": "struct", "fields": '
    '[{"id": 62, "name": "c", "required": false, "type": "date"}]}, "value-required": false}',
]
# The same types in Arrow's words.
ARROW_SHAPES = {
    SHAPES[0]: pa.int32(),
    SHAPES[1]: pa.struct([pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.list_(pa.string()))]),
    SHAPES[2]: pa.map_(pa.string(), pa.struct([pa.field("c", pa.date32())])),
}
PARTS = ["schemas", "current-schema-id", "last-column-id", "partition-specs", "default-spec-id", "last-partition-id"]
PARTS += ["sort-orders", "default-sort-order-id", "properties", "format-version"]


def comparable(metadata: dict[str, Any]) -> dict[str, Any]:
    """The parts that evolution changes; identifiers and mappings in an order of their own."""
    out = {part: metadata.get(part) for part in PARTS}
    for schema in out["schemas"]:
        schema["identifier-field-ids"] = sorted(schema.get("identifier-field-ids", []))
    properties = dict(out["properties"])
    mapping = properties.pop("schema.name-mapping.default", None)
    return {**out, "properties": properties, "mapping": mapping and ordered(json.loads(mapping))}


def ordered(mapping: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            **field,
            "names": sorted(field["names"]),
            **({"fields": ordered(field["fields"])} if "fields" in field else {}),
        }
        for field in mapping
    ]


def frazil_metadata(table: fz.Table) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(Path(table.metadata_location).read_text("utf-8"))
    return parsed


class Pair:
    """Two tables alike, one for each side."""

    def __init__(self, java: Java, stem: str, version: int, partitioned_by: str = "") -> None:
        properties = {
            "write.metadata.metrics.column.data": "full",
            "write.parquet.bloom-filter-enabled.column.id": "true",
        }
        names = [java.create(stem, COLUMNS, partitioned_by, version, properties) for _ in range(2)]
        self.java = JavaTable(java, names[0])
        self.frazil = fz.open_table(java.root(names[1]))

    def same(self, what: object) -> None:
        assert comparable(frazil_metadata(self.frazil)) == comparable(self.java.metadata()), what


def random_schema_update(choose: random.Random) -> list[tuple[Any, ...]]:
    added = [f"n{choose.randrange(4)}" for _ in range(2)]
    top = ["id", "data", "dt", "p", "l", "m", "d", "f", *added]
    everything = [*LEAVES, *NESTED, *added, "p.n0", "nope"]
    operations: list[tuple[Any, ...]] = []
    for _ in range(choose.randrange(1, 5)):
        kind = choose.randrange(10)
        path = choose.choice(everything)
        if kind <= 1:
            operations.append(
                ("add", choose.choice([None, None, "p", "l", "m", "id"]), choose.choice(added), choose.choice(SHAPES))
            )
        elif kind == 2:
            # Java would leave structs without members, which Parquet can't have.
            operations.append(("drop", choose.choice([*top, "p.long", "l.element", "m.value", "m.key", "nope"])))
        elif kind <= 4:
            operations.append(("rename", choose.choice(LEAVES + top), choose.choice([*added, "data", "r1", "r2"])))
        elif kind == 5:
            operations.append(("type", path, choose.choice(TYPES)))
        elif kind == 6:
            operations.append(("optional", path))
        elif kind == 7:
            operations.append(("doc", choose.choice(LEAVES + top), choose.choice(["x", "y"])))
        elif kind == 8:
            where = choose.choice(["first", "before", "after"])
            operations.append(("move", choose.choice(top + LEAVES), where, choose.choice(top + LEAVES)))
        else:
            operations.append(("identifiers", choose.sample(["id", "data", "p.lat", "d", *added], choose.randrange(3))))
    return operations


def in_java(table: JavaTable, operations: list[tuple[Any, ...]]) -> None:
    update = table.table.updateSchema()
    for what, *rest in operations:
        if what == "add":
            parent, name, shape = rest
            update.addColumn(parent, name, table.nested(shape)) if parent else update.addColumn(
                name, table.nested(shape)
            )
        elif what == "move":
            path, where, other = rest
            update.moveFirst(path) if where == "first" else getattr(update, f"move{where.title()}")(path, other)
        elif what == "type":
            update.updateColumn(rest[0], table.type(rest[1]))
        elif what == "identifiers":
            names = table.jvm.java.util.ArrayList()
            for name in rest[0]:
                names.add(name)
            update.setIdentifierFields(names)
        else:
            verb = {
                "drop": "deleteColumn",
                "rename": "renameColumn",
                "optional": "makeColumnOptional",
                "doc": "updateColumnDoc",
            }
            getattr(update, verb[what])(*rest)
    update.commit()


def in_frazil(table: fz.Table, operations: list[tuple[Any, ...]]) -> None:
    with table.update_schema() as update:
        for what, *rest in operations:
            if what == "add":
                parent, name, shape = rest
                path = (*parent.split("."), name) if parent else (name,)
                update.add_column(path, ARROW_SHAPES[shape])
            elif what == "move":
                path, where, other = rest
                update.move_first(path) if where == "first" else getattr(update, f"move_{where}")(path, other)
            elif what == "type":
                update.update_column(rest[0], rest[1])
            elif what == "identifiers":
                update.set_identifier_fields(*rest[0])
            elif what == "doc":
                update.update_column(rest[0], doc=rest[1])
            else:
                verb = {"drop": "drop_column", "rename": "rename_column", "optional": "make_column_optional"}
                getattr(update, verb[what])(*rest)


def both(pair: Pair, what: object, java: Any, frazil: Any) -> bool:
    """Makes a change on both sides; both must agree whether it is allowed, and on what comes of it."""
    why = None
    try:
        java()
    except Exception as error:
        if "NullPointerException" in str(error):
            # Java stumbles over a struct that is dropped while a member of it changes.
            return False
        why = refused(error)
        if why is None:
            raise
    try:
        frazil()
    except fz.FrazilError as error:
        assert why is not None, f"only Frazil refused {what}: {error}"
    else:
        assert why is None, f"Frazil allowed {what}, which Java refused: {why}"
    pair.same(what)
    return why is None


@pytest.mark.parametrize("seed", range(3))
def test_random_schema_updates_are_java_s(java: Java, seed: int) -> None:
    choose = random.Random(seed)
    pair = Pair(java, "schemas", 2)
    mapping = java.spark._jvm.org.apache.iceberg.mapping
    text = mapping.NameMappingParser.toJson(mapping.MappingUtil.create(pair.java.table.schema()))
    pair.java.table.updateProperties().set("schema.name-mapping.default", text).commit()
    pair.frazil.set_properties({"schema.name-mapping.default": text})
    allowed = 0
    for _ in range(60):
        operations = random_schema_update(choose)
        allowed += both(
            pair,
            operations,
            lambda operations=operations: in_java(pair.java, operations),
            lambda operations=operations: in_frazil(pair.frazil, operations),
        )
    assert allowed > 5


TERMS = {
    "id": (1, "identity"),
    "data": (2, "identity"),
    "dt": (3, "identity"),
    "d": (7, "identity"),
    "p.lat": (9, "identity"),
    "day(dt)": (3, "day"),
    "month(dt)": (3, "month"),
    "year(dt)": (3, "year"),
    "bucket(4, id)": (1, "bucket[4]"),
    "bucket(8, id)": (1, "bucket[8]"),
    "truncate(2, data)": (2, "truncate[2]"),
    "bucket(4, d)": (7, "bucket[4]"),
    "day(id)": (1, "day"),
    "nope": (0, ""),
}


def names_of(metadata: dict[str, Any], term: str) -> set[str]:
    """The names that a term has had as a partition field. Of several, Java takes one by chance if none is given."""
    fields = [field for spec in metadata["partition-specs"] for field in spec["fields"]]
    return {field["name"] for field in fields if (field["source-id"], field["transform"]) == TERMS[term]}


@pytest.mark.parametrize(("seed", "version"), [(0, 1), (1, 2), (2, 2), (3, 3)])
def test_random_spec_updates_are_java_s(java: Java, seed: int, version: int) -> None:
    choose = random.Random(seed)
    pair = Pair(java, "specs", version, "bucket(4, id), data")
    allowed = 0
    for _ in range(60):
        names = [f.name for f in pair.frazil.partition_spec.fields] + ["nope"]
        operations: list[tuple[Any, ...]] = []
        for _ in range(choose.randrange(1, 4)):
            kind = choose.randrange(5)
            if kind <= 1:
                term, name = choose.choice(list(TERMS)), choose.choice([None, None, "x", "y", "data"])
                ambiguous = len(names_of(frazil_metadata(pair.frazil), term)) > 1
                operations.append(("add", name or ("z" if ambiguous else None), term))
            elif kind == 2:
                operations.append(("remove", choose.choice(names)))
            elif kind == 3:
                operations.append(("remove term", choose.choice(list(TERMS))))
            else:
                operations.append(("rename", choose.choice(names), choose.choice(["x", "y", "z", *names])))

        def by_java(operations: list[tuple[Any, ...]] = operations) -> None:
            update = pair.java.table.updateSpec()
            for what, *rest in operations:
                if what == "add":
                    term = pair.java.term(rest[1])
                    update.addField(rest[0], term) if rest[0] else update.addField(term)
                elif what == "rename":
                    update.renameField(*rest)
                else:
                    update.removeField(rest[0] if what == "remove" else pair.java.term(rest[0]))
            update.commit()

        def by_frazil(operations: list[tuple[Any, ...]] = operations) -> None:
            with pair.frazil.update_partition_spec() as update:
                for what, *rest in operations:
                    if what == "add":
                        update.add_field(rest[1], name=rest[0])
                    elif what == "rename":
                        update.rename_field(*rest)
                    else:
                        update.remove_field(rest[0])

        # A name that is also a term means the field of that name here, and the term there.
        if not any(what == "remove term" and rest[0] in names for what, *rest in operations):
            allowed += both(pair, operations, by_java, by_frazil)
    assert allowed > 5


def test_unions_orders_defaults_and_upgrades_are_java_s(java: Java) -> None:
    pair = Pair(java, "rest", 1)
    for version in ("2", "3"):
        pair.java.table.updateProperties().set("format-version", version).commit()
        pair.frazil.upgrade(int(version))
        pair.same(version)
    fields = [
        {"id": 1, "name": "new", "required": True, "type": "string", "doc": "text"},
        {"id": 2, "name": "f", "required": False, "type": "double"},
        {"id": 3, "name": "id", "required": False, "type": "long"},
        {"id": 4, "name": "d", "required": False, "type": "decimal(4, 2)"},
        {"id": 5, "name": "p", "required": False, "doc": "where", "type": json.loads(SHAPES[1])},
        {"id": 6, "name": "v", "required": False, "type": "int", "initial-default": 3, "write-default": 4},
    ]
    text = json.dumps({"type": "struct", "schema-id": 0, "fields": fields})
    pair.java.table.updateSchema().unionByNameWith(pair.java.schema(text)).commit()
    pair.frazil.update_schema().union_by_name(fz.Schema.from_json(text)).commit()
    pair.same("union")
    update = pair.java.table.updateSchema()
    update.addRequiredColumn("r", pair.java.type("long"), pair.java.literal(7, "long"))
    update.addColumn("s", pair.java.type("decimal(9, 2)"), pair.java.literal("1.50", "decimal(9, 2)"))
    update.commit()
    with pair.frazil.update_schema() as mine:
        mine.add_column("r", "long", required=True, default=7).add_column("s", "decimal(9, 2)", default="1.50")
    pair.same("defaults")
    pair.java.table.updateSchema().updateColumnDefault("r", pair.java.literal(8, "long")).commit()
    pair.frazil.update_schema().set_default_value("r", 8).commit()
    pair.same("write default")
    nulls = pair.java.iceberg.NullOrder
    order = pair.java.table.replaceSortOrder()
    order.asc(pair.java.term("id"), nulls.NULLS_FIRST).desc(
        pair.java.term("bucket(4, data)"), nulls.NULLS_LAST
    ).commit()
    pair.frazil.update_sort_order().asc("id").desc("bucket(4, data)").commit()
    pair.same("order")
    pair.java.table.replaceSortOrder().commit()
    pair.frazil.update_sort_order().commit()
    pair.same("no order")


ROWS = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("data", pa.string()),
        pa.field("ts", pa.timestamp("us", "UTC")),
    ]
)


def test_each_goes_on_where_the_other_stopped(java: Java, warehouse: Path) -> None:
    name = java.fresh("turns")
    catalog = fz.catalog("local", warehouse=str(warehouse))
    table = catalog.create_table(
        f"{NAMESPACE}.{name}", ROWS, partition_by=["bucket(4, id)"], properties={"format-version": 1}
    )

    def append(first: int) -> None:
        schema = pa.schema([pa.field(f.name, f.type, f.nullable) for f in table.schema.to_arrow()])
        rows = [{f.name: (first + n if pa.types.is_integer(f.type) else None) for f in schema} for n in range(3)]
        table.append(pa.Table.from_pylist(rows, schema))

    def agree() -> None:
        table.refresh()
        assert_same_rows(java.read(name), exact(table.scan().to_arrow()))

    append(0)
    table.update_schema().rename_column("data", "text").update_column("id", "long").add_column(
        "n", "int", doc="new"
    ).commit()
    table.update_partition_spec().remove_field("bucket(4, id)").add_field("day(ts)").commit()
    append(10)
    agree()
    table.upgrade(2)
    table.update_sort_order().desc("ts").commit()
    append(20)
    agree()
    java.alter(name, "add column p struct<x: int, y: string> after id")
    java.alter(name, "replace partition field ts_day with hours(ts)")
    java.alter(name, "rename column n to number")
    java.alter(name, "set tblproperties ('team' = 'java')")
    java.insert(name, "(30, named_struct('x', 1, 'y', 'a'), 'j', timestamp'2020-01-02 03:04:05', 5)")
    agree()
    assert table.schema.names == ["id", "p", "text", "ts", "number"]
    assert table.properties["team"] == "java"
    with table.update_schema() as update:
        update.add_column("p.z", "double", first=True).move_first("number").drop_column("text")
    table.update_partition_spec().add_field("truncate(10, id)", name="tens").commit()
    append(40)
    agree()
    table.upgrade(3)
    table.update_schema().add_column("v", "long", required=True, default=9).set_identifier_fields("id").commit()
    append(50)
    agree()
    assert len(java.metadata(name, "partitions")) == table.inspect.partitions().num_rows
    java.alter(name, "drop column p")
    java.insert(name, "(60, 61, timestamp'2020-01-02 03:04:05', 62)")
    agree()
    # References: made here, used there, and the reverse.
    snapshots = java.snapshot_ids(name)
    table.refs.create_tag("first", at=snapshots[0]).create_branch("audit", at=snapshots[3], min_snapshots_to_keep=2)
    table.refs.set_retention("first", max_ref_age_ms=10**12)
    shown = {
        tuple(row)
        for row in java.metadata(
            name, "refs", "name, type, snapshot_id, max_reference_age_in_ms, min_snapshots_to_keep"
        )
    }
    assert shown == {
        ("main", "BRANCH", snapshots[-1], None, None),
        ("first", "TAG", snapshots[0], 10**12, None),
        ("audit", "BRANCH", snapshots[3], None, 2),
    }
    assert_same_rows(java.read(name, version="version as of 'first'"), exact(table.scan(at="first").to_arrow()))
    java.sql(f"call ice.system.rollback_to_snapshot('{NAMESPACE}.{name}', {snapshots[2]})")
    agree()
    table.refs.fast_forward("main", to="audit")
    agree()
    java.alter(name, "create branch more")
    java.alter(name, "drop tag first")
    table.refresh()
    assert sorted(table.refs) == ["audit", "main", "more"]
    table.refs.rename("more", "less").drop("audit")
    table.set_current_snapshot(snapshots[-1])
    agree()
    java.sql(f"call ice.system.fast_forward('{NAMESPACE}.{name}', 'less', 'main')")
    table.refresh()
    assert table.refs["less"].snapshot_id == table.refs["main"].snapshot_id
    history = [row.snapshot_id for row in java.metadata(name, "history", "snapshot_id")]
    assert history == table.inspect.history().column("snapshot_id").to_pylist()
    static = pytest.importorskip("pyiceberg.table").StaticTable.from_metadata(table.metadata_location)
    assert [f.field_id for f in static.schema().fields] == [f.id for f in table.schema]
    assert [f.name for f in static.spec().fields] == [f.name for f in table.partition_spec.fields]
    assert {name: ref.snapshot_id for name, ref in static.metadata.refs.items()} == {
        n: r.snapshot_id for n, r in table.refs.items()
    }
