"""Compaction of Paimon tables: rows stay what they are, in fewer files; what Java makes of it is in tests/interop."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frazil as fz

DATA = Path(__file__).parent.parent / "data" / "paimon"
SCHEMA = pa.schema([("id", pa.int32()), ("name", pa.string()), ("n", pa.int64())])
VECTORS = {"deletion-vectors.enabled": "true"}

Row = tuple[int, str | None, int | None]


def made(folder: Path, options: dict[str, Any], key: bool = True, by: str | None = None) -> fz.Table:
    catalog = fz.catalog("c", type="filesystem", warehouse=folder)
    catalog.create_namespace("db")
    more: dict[str, Any] = {"identifier_fields": ["id"]} if key else {}
    if by is not None:
        more = {"partition_by": [by], **({"identifier_fields": [by, "id"]} if key else {})}
    return catalog.create_table("db.t", SCHEMA, properties=options, format="paimon", **more)


def batch(rows: list[Row]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def found(table: fz.Table) -> list[Row]:
    rows = table.refresh().scan().to_arrow()
    return sorted(zip(*(rows[name].to_pylist() for name in SCHEMA.names), strict=True), key=repr)


ROWS = st.lists(
    st.tuples(st.integers(0, 30), st.none() | st.text(max_size=3), st.none() | st.integers(0, 9)), max_size=12
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("upsert"), ROWS),
        st.tuples(st.just("delete"), st.lists(st.integers(0, 30), min_size=1, max_size=5)),
        st.tuples(st.just("full"), st.none()),
        st.tuples(st.just("minor"), st.none()),
    ),
    min_size=3,
    max_size=14,
)
TABLES: list[dict[str, str]] = [
    {"bucket": "1", "num-sorted-run.compaction-trigger": "2"},
    {"bucket": "2", "file.format": "avro", "num-levels": "3", "num-sorted-run.compaction-trigger": "3"},
    {"bucket": "1", "num-sorted-run.compaction-trigger": "3", **VECTORS},
    {"bucket": "2", "changelog-producer": "lookup", "target-file-size": "1 kb"},
    {"bucket": "1", "changelog-producer": "full-compaction", "file.format": "orc"},
    {"bucket": "1", "merge-engine": "first-row", "ignore-delete": "true"},
    {"bucket": "1", "merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    {"bucket": "1", "deletion-vectors.bitmap64": "true", "changelog-producer": "lookup", **VECTORS},
]


@pytest.mark.parametrize("options", TABLES, ids=lambda options: ",".join(list(options.values())[1:]))
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_histories(options: dict[str, str], steps: list[tuple[str, Any]]) -> None:
    """Whatever is written, deleted and compacted in whatever order: the table is what a dictionary is."""
    engine = options.get("merge-engine")
    hidden = engine == "first-row" or "deletion-vectors.enabled" in options  # rows are seen once they are compacted
    with tempfile.TemporaryDirectory() as folder:
        table = made(Path(folder), options)
        model: dict[int, Row] = {}
        shown: dict[int, Row] = {}
        for verb, given_ in steps:
            before = table.refresh().snapshot
            match verb:
                case "upsert":
                    rows = list({row[0]: row for row in (given_ if engine != "first-row" else given_[::-1])}.values())
                    table.refresh().append(batch(rows))
                    for row in rows:
                        old = model.get(row[0])
                        if old is None or engine is None:
                            model[row[0]] = row
                        elif engine == "partial-update":
                            name, n = (b if b is not None else a for a, b in zip(old[1:], row[1:], strict=True))
                            model[row[0]] = (row[0], name, n)
                case "delete" if engine == "first-row":
                    continue  # refused
                case "delete":
                    table.refresh().delete_keys(pa.table({"id": pa.array(sorted(set(given_)), pa.int32())}))
                    for key in given_:
                        model.pop(key, None)
                case _:
                    planned = table.refresh().maintain.compact(strategy=verb, dry_run=True)
                    done = table.maintain.compact(strategy=verb)
                    assert (
                        planned.rewritten_files <= done.rewritten_files + done.upgraded_files + planned.upgraded_files
                    )
                    assert done.commits == (done.groups > 0 and (planned.rewritten_files + planned.upgraded_files) > 0)
                    if verb == "full" or (hidden and done.commits):
                        shown = dict(model)
                    if done.commits == 0:
                        assert (before and before.id) == (table.snapshot and table.snapshot.id)
            assert found(table) == sorted((shown if hidden else model).values(), key=repr), verb
        table.refresh().maintain.compact()
        assert found(table) == sorted(model.values(), key=repr)
        assert table.maintain.compact().commits == 0


def test_what_changed_is_told(tmp_path: Path) -> None:
    table = made(tmp_path, {"bucket": "1", "changelog-producer": "full-compaction"})
    table.append(batch([(1, "a", 1), (2, "b", 2)]))
    table.maintain.compact()
    table.append(batch([(2, "c", 2), (3, "d", 3)]))
    table.delete_keys(pa.table({"id": pa.array([1], pa.int32())}))
    since = table.snapshot.id
    done = table.maintain.compact()
    assert (done.changelog_files, done.commits) == (1, 1)
    rows = table.changes(since=since).to_arrow().select(["id", "name", "_change_type"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (1, "a", "delete"),
        (2, "b", "update_before"),
        (2, "c", "update_after"),
        (3, "d", "insert"),
    ]


def test_small_files_are_put_together(tmp_path: Path) -> None:
    table = made(tmp_path, {}, key=False)
    for i in range(4):
        table.append(batch([(i, "a", i)]))
    assert table.maintain.compact().commits == 0  # too few
    table.append(batch([(4, "a", 4)]))
    before = table.snapshot.id
    planned = table.maintain.compact(dry_run=True)
    assert (planned.groups, planned.rewritten_files, planned.added_files, planned.commits) == (1, 5, 0, 0)
    assert table.snapshot.id == before
    done = table.maintain.compact(snapshot_properties={"by": "me"})
    assert (done.groups, done.rewritten_files, done.added_files, done.commits) == (1, 5, 1, 1)
    assert planned.rewritten_bytes == done.rewritten_bytes > done.added_bytes > 0
    assert (table.snapshot.operation, table.snapshot.summary["by"]) == ("compact", "me")
    assert found(table) == [(i, "a", i) for i in range(5)]
    assert len(list(table.scan().plan_files())) == 1
    assert table.scan(at=before).count() == 5
    table.append(batch([(5, "b", 5)]))
    assert table.maintain.compact(options={"compaction.min.file-num": 2}).rewritten_files == 2


def test_deleted_rows_are_gone(tmp_path: Path) -> None:
    shutil.copytree(DATA / "orders", tmp_path / "t")
    table = fz.open_table(tmp_path / "t")
    before = table.scan().to_arrow()
    assert any(task.deletes for task in table.scan().plan_files())
    done = table.maintain.compact(options={"compaction.min.file-num": 2})
    assert done.commits == 1
    assert not any(task.deletes for task in table.scan().plan_files())
    assert table.scan().to_arrow().sort_by("id").equals(before.sort_by("id"))


def test_partitions_are_chosen(tmp_path: Path) -> None:
    table = made(tmp_path, {"bucket": "1"}, by="name")
    for n in range(2):
        table.append(batch([(i, "xyz"[i % 3], n) for i in range(6)]))
    done = table.maintain.compact(where="name in ('x', 'y')")
    assert (done.groups, done.rewritten_files, done.added_files) == (2, 4, 2)
    assert table.maintain.compact(where=fz.col("name") == "x").commits == 0
    assert table.maintain.compact().rewritten_files == 2
    with pytest.raises(fz.InvalidInputError, match="partition") as error:
        table.maintain.compact(where="id = 1")
    assert error.value.context["column"] == "id"


def test_what_is_refused(tmp_path: Path) -> None:
    table = made(tmp_path, {"bucket": "1"})
    for arguments in (
        {"target_file_size_bytes": 5},
        {"rewrite_all": True},
        {"min_input_files": 2},
        {"sort_by": ["id"]},
    ):
        with pytest.raises(fz.InvalidInputError, match=f"{next(iter(arguments))} is not for tables of Apache Paimon"):
            table.maintain.compact(**arguments)
    with pytest.raises(fz.InvalidInputError, match="binpack"):
        table.maintain.compact(strategy="binpack")
    with pytest.raises(fz.InvalidInputError, match="'merge-engine'") as error:
        table.maintain.compact(options={"merge-engine": "first-row"})
    assert "num-levels" in str(error.value.hint)
    with pytest.raises(fz.InvalidInputError, match="num-levels"):
        table.maintain.compact(options={"num-levels": "1"})
    assert table.maintain.compact() == fz.maintain.Compacted(0, 0, 0, 0, 0, 0, [])


def test_tables_that_are_refused(tmp_path: Path) -> None:
    table = made(tmp_path, {"bucket": 1, "pk-clustering-override": "true"})
    with pytest.raises(fz.UnsupportedError, match="clustered") as refused:
        table.maintain.compact()
    assert refused.value.context["table"] == table.location
    assert refused.value.hint


def test_iceberg_has_other_arguments(tmp_path: Path) -> None:
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    with pytest.raises(fz.InvalidInputError, match="full is for tables of Apache Paimon"):
        table.maintain.compact(strategy="full")
    with pytest.raises(fz.InvalidInputError, match="options is for tables of Apache Paimon"):
        table.maintain.compact(options={"a": "b"})


def test_appends_meanwhile_are_kept(tmp_path: Path) -> None:
    table = made(tmp_path, {"bucket": "1"})
    table.append(batch([(1, "a", 1)]))
    table.append(batch([(1, "b", 2)]))
    old = fz.open_table(table.location)
    table.append(batch([(2, "c", 3)]))
    assert old.maintain.compact().rewritten_files == 3
    assert found(table) == [(1, "b", 2), (2, "c", 3)]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("options", [{}, {"num-sorted-run.compaction-trigger": "2"}], ids=["full", "minor"])
def test_rows_of_one_age(tmp_path: Path, turned: bool, options: dict[str, str]) -> None:
    """Writers that began at one time number their rows alike: the last to commit counts, compacted or not."""
    table = made(tmp_path, {"bucket": "1", **options})
    table.append(batch([(9, "old", 0)]))
    wide = table.writer().write(batch([(5, "wide", 1), (1, "wide", 1), (8, "wide", 1)]))
    narrow = table.writer().write(batch([(5, "narrow", 2), (6, "narrow", 2)]))
    same = table.writer().write(batch([(5, "same", 3), (6, "same", 3)]))
    for message in (same, narrow, wide) if turned else (wide, narrow, same):
        table.refresh().commit([message])
    before = found(table)
    assert {row[0]: row[1] for row in before}[5] == ("wide" if turned else "same")
    for strategy in ("minor", "full"):
        table.refresh().maintain.compact(strategy=strategy)
        assert found(table) == before


@pytest.mark.parametrize("more", [VECTORS, {"merge-engine": "first-row"}], ids=["vectors", "first-row"])
def test_keys_are_looked_up_in_large_files(tmp_path: Path, more: dict[str, str]) -> None:
    table = made(tmp_path, {"bucket": "1", "num-sorted-run.compaction-trigger": "2", **more})
    table.append(batch([(i, "old", i) for i in range(3000)]))
    table.refresh().maintain.compact(strategy="full")
    (large,) = table.refresh().scan().plan_files()
    table.append(batch([(7, "new", 7), (2999, "new", 0), (3000, "new", 1)]))
    table.refresh().maintain.compact(strategy="minor")
    assert large.data_file.path in {task.data_file.path for task in table.refresh().scan().plan_files()}
    named = {row[0]: row[1] for row in found(table)}
    there = "old" if "merge-engine" in more else "new"
    assert len(named) == 3001
    assert (named[6], named[7], named[2999], named[3000]) == ("old", there, there, "new")


def test_ignored_deletes_take_nothing_away(tmp_path: Path) -> None:
    table = made(tmp_path, {"bucket": "1", **VECTORS})
    table.append(batch([(1, "a", 1), (2, "b", 2)]))
    table.refresh().maintain.compact(strategy="full")
    table.refresh().delete_keys(pa.table({"id": pa.array([1], pa.int32())}))
    table.refresh().set_properties({"ignore-delete": "true"})
    for strategy in ("minor", "full"):
        table.refresh().maintain.compact(strategy=strategy)
        assert found(table) == [(1, "a", 1), (2, "b", 2)]
