"""What errors say, stored in tests/python/snapshots: a file for each kind, with the code that fails as heading.

The files show the class, the message, the hint, and the names of the context's members.
"""

from __future__ import annotations

import datetime as dt
import json
import pickle
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

import frazil as fz
from frazil.exceptions import BY_KIND
from object_server import Proxy, proxied, s3_server
from stored_texts import FOLDER, check_stored, steady

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("country", pa.string()), ("amount", pa.int64())])

# The code that fails, by the kind of its error.
CASES = {
    "not_found": """
        fz.open_table(lake / "nothing")
        fz.open_table(lake / "nothing" / "v1.metadata.json")
        catalog.load_table("db.nothing")
        catalog.load_table("nothing.t")
        catalog.create_table("nothing.t", schema)
        catalog.drop_namespace("nothing")
        catalog.drop_table("db.nothing")
        memory.rename_table("db.nothing", "db.other")
        table.scan(at=1)
        table.scan(at="no-branch")
        table.scan(at=dt.datetime(2000, 1, 1))
        paimon.scan(at=99)
        table.refs["v1"]
        table.refs.drop("v1")
        table.schema.field("idd")
        table.cherry_pick(1)
        table.rollback("v1")
        table.add_files([lake / "nothing.parquet"])
    """,
    "already_exists": """
        catalog.create_namespace("db")
        catalog.create_table("db.t", schema)
        catalog.create_table("db.p", schema, format="paimon")
        memory.rename_table("db.a", "db.b")
        table.refs.create_tag("first")
        table.refs.create_branch("main")
        catalog.register_table("db.t", table.metadata_location)
    """,
    "invalid_input": """
        table.scan("idd > 5")
        table.scan("id >")
        table.scan("(id > 5")
        table.scan("id > 'x'")
        table.scan("country > 5")
        table.scan("id = 1 or")
        table.scan(select=["idd"])
        table.scan(select=["id", "id"])
        table.scan(options={"spilt-size": 1})
        table.scan(options={"split-size": "many"}).plan()
        table.scan(max_plan_bytes=1).to_arrow()
        table.scan().limit(-1)
        table.scan(since="side", at="first")
        table.scan().explain().files
        table.scan().statistics("idd")
        fz.col("country").is_in("NO")
        fz.catalog("c", type="filesystem")
        fz.open_table(lake / "file.parquet")
        fz.open_table(lake, storage_options={"s3.endpiont": "x"})
        catalog.load_table("t")
        catalog.create_table("db.new", schema, partition_by=["dya(id)"])
        catalog.create_table("db.new", schema, partition_by=["day(id)"])
        catalog.create_table("db.new", schema, partition_by=["bucket(0, id)"])
        catalog.create_table("db.new", schema, sort_by=["id up"])
        catalog.create_table("db.new", schema, location=lake / "elsewhere")
        catalog.create_table("db.new", schema, format="delta")
        catalog.create_table("db.new", schema, format="paimon", properties={"bucket": "many"})
        catalog.create_table("db.new", schema, identifier_fields=["country"])
        table.append(rows.append_column("more", [[1, 2]]))
        table.append(rows.drop_columns(["id"]))
        table.append(rows.set_column(0, "id", [["a", "b"]]))
        table.append(rows.set_column(0, "id", pa.array([1, None], pa.int64())))
        table.append(5)
        table.update("id = 1", {"amuont": 5})
        table.update("id = 1", {"amount": "five"})
        table.upsert(rows)
        table.upsert(rows, on=["idd"])
        table.upsert(pa.concat_tables([rows, rows]), on=["id"])
        table.delete("idd = 1")
        table.commit_overwrite([], where="id = 1", partitions=True)
        other.commit([table.writer().write(rows)])
        table.update_schema().add_column("amount", "long").commit()
        table.update_schema().add_column("note", "strnig").commit()
        table.update_schema().drop_column("amuont").commit()
        table.update_schema().update_column("amount", "int").commit()
        table.update_partition_spec().add_field("country").commit()
        table.update_partition_spec().remove_field("nothing").commit()
        table.set_properties({"format-version": "two"})
        table.upgrade(1)
        table.refs.drop("main")
        table.rollback("side")
        table.maintain.expire_snapshots(older_than=dt.timedelta(-1))
        table.maintain.compact("zorder")
        table.maintain.compact("quick")
        paimon.scan(options={"scan.mode": "newest"})
        paimon.append(rows.set_column(0, "id", pa.array([1, None], pa.int64())))
    """,
    "unsupported": """
        fz.catalog("c", type="nessie", uri="http://127.0.0.1:9")
        pickle.dumps(memory)
        pickle.dumps(table.transaction())
        catalog.rename_table("db.t", "db.other")
        catalog.update_namespace_properties("db", updates={"owner": "me"})
        catalog.register_table("db.elsewhere", table.metadata_location)
        memory.create_table("db.new", schema, format="paimon")
        catalog.create_table("db.new", pa.schema([("d", pa.duration("s"))]))
        catalog.create_table("db.new", pa.schema([("v", pa.uint64())]), format="paimon")
        table.update_location(lake / "elsewhere")
        fz.open_table(of_version(9))
        catalog.create_table("db.new", schema, properties={"format-version": 9})
        paimon.transaction()
        paimon.upgrade(2)
        paimon.add_files([lake / "file.parquet"])
        paimon.cherry_pick(1)
        paimon.update_partition_spec().add_field("country").commit()
        paimon.maintain.rewrite_position_deletes()
        paimon.maintain.compute_statistics(snapshot=1)
        paimon.scan(options={"scan.fallback-branch": "b"})
    """,
    "corrupt_table": """
        fz.open_table(damaged("metadata/v*.json", b'{"format-version": 2'))
        fz.open_table(damaged("metadata/v*.json", b"{}"))
        fz.open_table(damaged("metadata/v*.json", b""))
        fz.open_table(damaged("metadata/snap-*.avro", b"half a file"), moved=True).scan().plan()
        fz.open_table(damaged("metadata/*-m0.avro", b"half a file"), moved=True).scan().plan()
        fz.open_table(damaged("data/country=NO/*.parquet", b"half a file"), moved=True).scan().to_arrow()
        fz.open_table(damaged("data/country=NO/*.parquet", b""), moved=True).scan().to_arrow()
        fz.open_table(damaged_paimon("schema/schema-0", b"{"))
        fz.open_table(damaged_paimon("snapshot/snapshot-2", b"{}"))
        fz.open_table(damaged_paimon("manifest/manifest-list-*-0", b"half a file")).scan().plan()
        fz.open_table(damaged_paimon("bucket-0/*.parquet", b"half a file")).scan().to_arrow()
        fz.Schema.from_json("[]")
    """,
    "commit_conflict": """
        rewrite_files_that_are_gone(catalog, rows)
        delete_positions_of_files_that_are_gone(catalog, rows)
        delete_what_somebody_else_has_changed(catalog, rows)
        drop_a_column_that_somebody_else_has_dropped(catalog)
    """,
    "store": """
        fz.open_table("s3://bucket/t", {**options, "s3.endpoint": "http://127.0.0.1:9", "max_retries": 0})
        fz.catalog("c", type="sql", uri="sqlite:////no/such/folder/c.db").list_namespaces()
    """,
}

# The same with an object store, which gives this answer to all requests.
ANSWERS = {
    "permission_denied": ("forbidden", 'fz.open_table("s3://bucket/t", options)'),
    "store": ("500", 'fz.open_table("s3://bucket/t", {**options, "max_retries": 0})'),
    "not_found": ("404", 'fz.open_table("s3://bucket/t", options)'),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """The names that the code above uses."""
    lake = tmp_path_factory.mktemp("lake")
    (lake / "file.parquet").write_bytes(b"not Parquet")
    catalog = fz.catalog("c", type="filesystem", warehouse=lake)
    memory = fz.catalog("m", type="memory", warehouse=lake / "memory")
    for each in (catalog, memory):
        each.create_namespace("db")
    for name in ("db.a", "db.b"):
        memory.create_table(name, SCHEMA)
    rows = pa.table([[1, 2], ["NO", "SE"], [10, 20]], schema=SCHEMA)
    table = catalog.create_table("db.t", SCHEMA, partition_by=["country"]).append(rows)
    table.refs.create_tag("first")
    table.append(rows, branch="side")
    one_bucket = {"bucket": 1}
    paimon = catalog.create_table("db.p", SCHEMA, format="paimon", identifier_fields=["id"], properties=one_bucket)
    paimon.append(rows).append(rows)
    copies = lake / "copies"

    def damaged(pattern: str, content: bytes, of: fz.Table = table) -> Path:
        """A copy of a table in which some files have other bytes."""
        shutil.rmtree(copies, ignore_errors=True)
        copy = Path(shutil.copytree(of.location.removeprefix("file:"), copies))
        paths = sorted(copy.glob(pattern))
        assert paths, f"no file {pattern} in {sorted(copy.rglob('*'))}"
        for path in paths:
            path.write_bytes(content)
        return copy

    def of_version(version: int) -> Path:
        metadata = json.loads(Path(table.metadata_location).read_text())
        return damaged("metadata/v*.json", json.dumps({**metadata, "format-version": version}).encode())

    return SimpleNamespace(
        dt=dt,
        pickle=pickle,
        lake=lake,
        catalog=catalog,
        memory=memory,
        schema=SCHEMA,
        rows=rows,
        table=table,
        other=catalog.create_table("db.other", SCHEMA),
        paimon=paimon,
        copies=copies,
        damaged=damaged,
        damaged_paimon=lambda pattern, content: damaged(pattern, content, paimon),
        of_version=of_version,
        options={"s3.access-key-id": "k", "s3.secret-access-key": "s", "s3.region": "us-east-1"},
    )


def rewrite_files_that_are_gone(catalog: fz.Catalog, rows: pa.Table) -> None:
    table = catalog.create_table("db.rewritten", SCHEMA).append(rows)
    scan = table.scan()
    assert scan.snapshot_id is not None
    files = list(scan.plan_files())
    message = table.writer().rewrite(scan.to_arrow())
    table.overwrite(rows)
    table.commit_rewrite(files, [message], at=scan.snapshot_id)


def delete_positions_of_files_that_are_gone(catalog: fz.Catalog, rows: pa.Table) -> None:
    table = catalog.create_table("db.positions", SCHEMA).append(rows)
    message = table.writer().delete_positions(table.scan("id = 1", select=["_file", "_pos"]).to_arrow())
    table.overwrite(rows)
    table.commit([message])


def delete_what_somebody_else_has_changed(catalog: fz.Catalog, rows: pa.Table) -> None:
    table = catalog.create_table("db.deleted", SCHEMA).append(rows)
    with table.transaction() as transaction:
        transaction.delete("id = 1")
        catalog.load_table("db.deleted").delete("id = 2")


def drop_a_column_that_somebody_else_has_dropped(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.dropped", SCHEMA)
    update = table.update_schema().drop_column("amount")
    catalog.load_table("db.dropped").update_schema().drop_column("amount").commit()
    update.commit()


def said(code: str, names: dict[str, object]) -> str:
    """The error that the code raises, for people."""
    try:
        result = eval(code, {**globals(), **names})
    except fz.FrazilError as error:
        message = str(error).removesuffix(error.hint).rstrip(". ") if error.hint else str(error)
        lines = [f"{type(error).__name__}: {message}"]
        lines += [f"hint: {error.hint}"] if error.hint else []
        lines += [f"context: {', '.join(error.context)}"] if error.context else []
        return "\n".join(lines)
    return f"no error, but {result!r}"


def check_errors(name: str, sections: dict[str, str], kinds: list[str]) -> None:
    """Compares errors with those that are stored, and their kinds with the expected ones."""
    named = [f"{BY_KIND[kind].__name__}: " for kind in kinds]
    wrong = [
        (code, text) for (code, text), start in zip(sections.items(), named, strict=True) if not text.startswith(start)
    ]
    assert not wrong, "\n".join(f"{code}\n    {text}" for code, text in wrong)
    check_stored(f"errors_{name}", sections)


@pytest.mark.parametrize("kind", list(CASES))
def test_errors(kind: str, world: SimpleNamespace) -> None:
    lines = textwrap.dedent(CASES[kind]).strip().splitlines()
    sections = {line: steady(said(line, vars(world)), copy=world.copies, warehouse=world.lake) for line in lines}
    check_errors(kind, sections, [kind] * len(lines))


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with s3_server() as port, proxied(port) as proxy:
        yield proxy


def test_errors_of_an_object_store(world: SimpleNamespace, proxy: Proxy) -> None:
    options = {**world.options, "s3.endpoint": proxy.url}
    sections = {}
    for answer, code in ANSWERS.values():
        proxy.faults.clear()
        for method in ("GET", "HEAD"):
            proxy.fault(method, ".", answer, times=99)
        sections[f"{answer}: {code}"] = steady(said(code, {**vars(world), "options": options}))
    check_errors("of_an_object_store", sections, list(ANSWERS))


def test_errors_of_unknown_commits(world: SimpleNamespace, proxy: Proxy) -> None:
    options = {**world.options, "s3.endpoint": proxy.url, "max_retries": "0"}
    pafs.S3FileSystem(
        access_key="k",
        secret_key="s",
        endpoint_override=proxy.url.removeprefix("http://"),
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    ).create_dir("bucket")
    proxy.faults.clear()
    catalog = fz.catalog("c", warehouse="s3://bucket/lake", **options)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    proxy.fault("PUT", r"v2\.metadata\.json", "500", times=99)
    code = "table.append(rows)"
    text = steady(said(code, {**vars(world), "table": table}))
    check_errors("commit_state_unknown", {code: text}, ["commit_state_unknown"])


def test_internal_errors(world: SimpleNamespace) -> None:
    """No call with wrong arguments raises one. This batch of a stream was not written by tasks of Spark."""
    from frazil.spark.streams.writer import stream_writer
    from frazil.spark.writing.job import WriteJob

    code = "writer.commit([writer.write(iter(rows.to_batches()))], 0)"
    text = steady(said(code, {**vars(world), "writer": stream_writer(world.table, {}, WriteJob())}))
    check_errors("internal", {code: text}, ["internal"])


def test_every_kind_has_stored_errors() -> None:
    stored = "".join(path.read_text("utf-8") for path in FOLDER.glob("errors_*.txt"))
    assert [kind for kind, error in BY_KIND.items() if f"\n{error.__name__}: " not in stored] == []


def test_errors_are_many() -> None:
    assert sum(len(code.strip().splitlines()) for code in CASES.values()) >= 100
