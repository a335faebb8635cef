"""Schemas, options, tags and branches of tables of Paimon that Frazil changes: Java reads them so, and goes on."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from paimon_java import Paimon, PaimonTable, PaimonType, array, mapping, row
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from test_paimon_writes import COLUMNS, KEYED, batch, rows

import frazil as fz


def java_fields(table: PaimonTable) -> list[str]:
    return [str(field) for field in table.load().rowType().getFields()]


def test_schema(paimon: Paimon) -> None:
    columns: dict[str, PaimonType] = {
        **COLUMNS,
        "place": row(x="INT", y="STRING"),
        "list": array(row(a="INT")),
        "map": mapping("STRING", row(b="INT")),
        "f": "FLOAT",
        "dec": "DECIMAL(9, 2)",
    }
    table = paimon.create("schema", columns, options={})
    t = table.open()
    made = [(*r, {"x": 1, "y": "y"}, [{"a": 1}], [("k", {"b": 1})], 1.5, None) for r in rows(0, 5)]
    t.append(batch(columns, made))
    with t.update_schema() as update:
        update.add_column("note", "string", doc="free text", first=True)
        update.add_column("place.z", "double", after="place.x")
        update.add_column("list.more", "long")
        update.add_column("map.more", "date")
        update.add_column("tags", pa.list_(pa.string()), before="v")
        update.rename_column("name", "label")
        update.rename_column("place.y", "why")
        update.drop_column("d")
        update.update_column("v", doc="the value")
        update.update_column("f", "double")
        update.update_column("dec", "decimal(12, 2)")
        update.update_column("id", "long")
        update.move_after("place", "id")
    assert [f.name for f in t.schema.fields] == [
        "note", "id", "place", "label", "tags", "v", "list", "map", "f", "dec",
    ]  # fmt: skip
    assert java_fields(table) == [
        "`note` STRING COMMENT 'free text'",
        "`id` BIGINT",
        "`place` ROW<`x` INT, `z` DOUBLE, `why` STRING>",
        "`label` STRING",
        "`tags` ARRAY<STRING>",
        "`v` BIGINT COMMENT 'the value'",
        "`list` ARRAY<ROW<`a` INT, `more` BIGINT>>",
        "`map` MAP<STRING, ROW<`b` INT, `more` DATE>>",
        "`f` DOUBLE",
        "`dec` DECIMAL(12, 2)",
    ]
    table.check(None, ("=", "label", "n001"), ("is null", "note"))
    old = t.scan(at=1)
    assert old.to_arrow().column_names == list(columns)
    # By any case, and by another schema; Java goes on altering.
    with t.update_schema(case_sensitive=False) as update:
        update.drop_column("NOTE")
    table.alter(table.change.addColumn("java", paimon.type("INT")))
    t.refresh()
    with t.update_schema() as update:
        update.union_by_name(
            pa.schema([("id", pa.int32()), ("new", pa.float32()), ("place", pa.struct([("deep", pa.int64())]))])
        )
    assert java_fields(table)[0] == "`id` BIGINT"
    assert "`new` FLOAT" in java_fields(table)
    assert "`place` ROW<`x` INT, `z` DOUBLE, `why` STRING, `deep` BIGINT>" in java_fields(table)
    table.check(None)


def test_what_schemas_refuse(paimon: Paimon) -> None:
    columns = {**KEYED, "part": "STRING"}
    options = {"bucket": 1}
    table = paimon.create("strict", columns, ["id", "part"], ["part"], options)
    t = table.open()
    t.append(batch(columns, [(*r, "a") for r in rows(0, 3)]))

    def refused(kind: type[fz.FrazilError], what: str, **verbs: object) -> None:
        update = t.update_schema()
        for verb, arguments in verbs.items():
            getattr(update, verb)(*arguments)
        with pytest.raises(kind, match=what):
            update.commit()

    refused(fz.InvalidInputError, "part of a key", drop_column=("id",))
    refused(fz.InvalidInputError, "partition column", rename_column=("part", "p"))
    refused(fz.InvalidInputError, "can't become required", require_column=("name",))
    refused(fz.UnsupportedError, "primary key", set_identifier_fields=("name",))
    refused(fz.UnsupportedError, "existing rows", add_column=("x", "int", None, False, 5))
    refused(fz.InvalidInputError, "no column 'y'", drop_column=("y",))
    before = t.metadata_location
    for change, what in (
        (lambda: t.update_partition_spec().add_field("v").commit(), "another partitioning"),
        (lambda: t.update_sort_order().asc("v").commit(), "sort order"),
        (lambda: t.upgrade(3), "format version"),
        (lambda: t.update_location("/elsewhere"), "another location"),
    ):
        with pytest.raises(fz.UnsupportedError, match=what) as error:
            change()
        assert error.value.hint
    assert t.refresh().metadata_location == before
    # Somebody else changed the schema meanwhile.
    update = t.update_schema()
    update.add_column("late", "int")
    table.alter(table.change.addColumn("early", paimon.type("INT")))
    with pytest.raises(fz.CommitConflictError, match="changed the schema"):
        update.commit()


def test_options(paimon: Paimon) -> None:
    table = paimon.create("options", KEYED, ["id"], options={"bucket": 2})
    t = table.open()
    t.append(batch(KEYED, rows(0, 5)))
    t.set_properties({"snapshot.num-retained.min": 3}, note="mine")
    assert (t.properties["note"], t.properties["snapshot.num-retained.min"]) == ("mine", "3")
    assert table.load().options()["note"] == "mine"
    t.remove_properties("note", "not-set")
    assert "note" not in table.load().options()
    t.set_properties({"ignore-delete": True})
    refused = {
        "merge-engine": "first-row",
        "bucket": "-1",
        "deletion-vectors.enabled": "true",
        "ignore-delete": "false",
        "rowkind.field": "name",
        "bucket-key": "id",
    }
    for key, value in refused.items():
        with pytest.raises(fz.InvalidInputError):
            t.set_properties({key: value})
        with pytest.raises((Py4JJavaError, PySparkException)):
            table.alter(table.change.setOption(key, value))
    t.set_properties({"deletion-vectors.modifiable": True})
    t.set_properties({"deletion-vectors.enabled": True, "sequence.field": "v"})
    with pytest.raises(fz.InvalidInputError):
        t.remove_properties("bucket")
    t.set_properties({"deletion-vectors.enabled": False})
    with pytest.raises(fz.InvalidInputError, match="num-retained"):
        t.set_properties({"snapshot.num-retained.max": 1})
    table.alter(table.change.setOption("comment", "x"))
    table.write([(9, "j", 1, None)])
    table.check(None)


def test_tags_and_branches(paimon: Paimon) -> None:
    table = paimon.create("refs", COLUMNS, options={"bucket": 1, "bucket-key": "id"})
    t = table.open()
    empty = table.open()
    empty.refs.create_branch("void")
    assert list(table.load().branchManager().branches()) == ["void"]
    empty.refs.drop("void")
    for start in range(4):
        t.append(batch(COLUMNS, rows(start * 10, start * 10 + 10)))
    t.refs.create_tag("one", at=1).create_tag("last").create_tag("two", at=t.snapshots[1].timestamp)
    t.refs.create_tag("copy", at="one")
    found = {str(name): int(tag.id()) for name, tag in _tags(table).items()}
    assert found == {"one": 1, "two": 2, "last": 4, "copy": 1}
    assert {n: r.snapshot_id for n, r in t.refs.items() if r.type == "tag"} == found
    with pytest.raises(fz.AlreadyExistsError):
        t.refs.create_tag("one")
    with pytest.raises(fz.NotFoundError):
        t.refs.create_tag("none", at=99)
    t.refs.create_tag("kept", max_ref_age_ms=dt.timedelta(days=1))
    assert int(_tags(table)["kept"].id()) == 4
    t.refs.drop("kept")
    t.refs.rename("copy", "other")
    t.refs.replace("other", at=3)
    assert int(_tags(table)["other"].id()) == 3
    t.refs.drop("other")
    assert set(_tags(table)) == {"one", "two", "last"}
    assert t.scan(at="two").count() == 20
    # A branch begins at a tag: Java and Frazil write to it.
    with pytest.raises(fz.UnsupportedError, match="without a tag"):
        t.refs.create_branch("bare", at=3)
    t.refs.create_branch("audit", at="two").create_branch("now")
    t.append(batch(COLUMNS, rows(100, 103)), branch="audit")
    table.write([(200, "java", 1, None)], branch="audit")
    assert t.refresh().scan(at="audit").count() == 24
    table.check(None, branch="audit")
    table.check(None)
    t.delete("id = 200", branch="audit")
    table.check(None, branch="audit")
    with pytest.raises(fz.InvalidInputError, match="does not descend"):
        t.refs.fast_forward("main", to="audit")
    t.rollback(to="two")
    assert t.scan().count() == 20
    t.refs.fast_forward("main", to="audit")
    table.check(None)
    assert t.scan().count() == 23
    t.refs.drop("now").drop("audit")
    assert list(table.load().branchManager().branches()) == []
    table.write([(300, "java", 1, None)])
    assert t.refresh().scan().count() == 24
    t.rollback(to=1)
    table.check(None)
    assert t.scan().count() == 10
    assert set(t.refs) == {"main", "one"}
    with pytest.raises(fz.NotFoundError):
        t.rollback(to=77)


def _tags(table: PaimonTable) -> dict[str, object]:
    return {str(pair.getValue()): pair.getKey() for pair in table.load().tagManager().tagObjects()}


def test_catalog(paimon: Paimon, tmp_path: Path) -> None:
    catalog = fz.catalog("local", type="filesystem", warehouse=str(paimon.warehouse))
    catalog.create_namespace("mine", if_not_exists=True)
    assert "mine" in catalog.list_namespaces()
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.string())])
    t = catalog.create_table("mine.t", schema, format="paimon")
    t.append(pa.table({"id": [1], "s": ["a"]}))
    java = paimon.catalog.getTable(paimon.api.catalog.Identifier.create("mine", "t"))
    assert int(java.snapshotManager().latestSnapshotId()) == 1
    assert catalog.list_tables("mine") == ["mine.t"]
    assert "t" in list(paimon.catalog.listTables("mine"))
    catalog.rename_table("mine.t", "mine.u")
    assert catalog.list_tables("mine") == ["mine.u"]
    assert catalog.load_table("mine.u").scan().to_arrow().to_pylist() == [{"id": 1, "s": "a"}]
    assert list(paimon.catalog.listTables("mine")) == ["u"]
    with pytest.raises(fz.NotFoundError):
        catalog.rename_table("mine.t", "mine.v")
    catalog.create_table("mine.v", schema, format="paimon")
    with pytest.raises(fz.AlreadyExistsError):
        catalog.rename_table("mine.u", "mine.v")
    with pytest.raises(fz.InvalidInputError):
        catalog.drop_namespace("mine")
    catalog.drop_table("mine.u")
    catalog.drop_table("mine.v")
    catalog.drop_namespace("mine")
    assert "mine" not in list(paimon.catalog.listDatabases())
