"""What a prompt, a notebook and an editor show: names of the package, texts of objects, HTML."""

from __future__ import annotations

import html.parser
import importlib
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.display.commits import rows_of
from frazil.schema import column_names

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string()), ("s", pa.struct([("x", pa.int32())]))])
ROWS = pa.table([[1, 2], ["a", "b"], [{"x": 1}, None]], schema=SCHEMA)
ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{4,}|\bobject at\b")


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    made = catalog.create_table("db.t", SCHEMA, partition_by=["bucket(4, id)", "g"], sort_by=["s.x desc", "id"])
    return made.append(ROWS)


# ---------------------------------------------------------------- names


def run(code: str) -> str:
    """What a program prints that has no PySpark."""
    program = f"import sys; sys.modules['pyspark'] = None\n{code}"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_names_without_pyspark() -> None:
    assert run("from frazil import *; print(open_table.__name__, col.__name__, 'spark' in globals())") == (
        "open_table col False"
    )
    assert run("import frazil; print(hasattr(frazil, 'spark'), hasattr(frazil, 'variant'))") == "False True"
    assert "pip install 'frazil[spark]'" in run(
        "import frazil\ntry: frazil.spark\nexcept AttributeError as e: print(e)"
    )
    wanted = "import frazil\ntry: import frazil.spark\nexcept ImportError as e: print(e)"
    assert "pip install 'frazil[spark]'" in run(wanted)


def test_completion_shows_public_names_alone() -> None:
    shown = set(dir(fz))
    assert {"spark", "transforms", "variant", "open_table", "Table", "__version__"} <= shown
    assert {name for name in shown if not name.startswith("__")} == {
        *fz.__all__,
        "doctor",
        "spark",
        "transforms",
        "variant",
    } - {"__version__"}
    assert all(hasattr(fz, name) for name in shown)
    # Internal modules can't be taken for something else.
    assert not shown & {"arguments", "capabilities", "display", "foreign", "interop", "requests", "TYPE_CHECKING"}


def test_the_package_travels_in_functions() -> None:
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")

    def uses_the_package() -> object:
        return fz.col("a") > 3

    loaded = pickle.loads(cloudpickle.dumps(uses_the_package))
    assert str(loaded()) == str(fz.col("a") > 3)
    assert pickle.loads(pickle.dumps(fz)) is fz


def test_the_package_and_its_modules_are_typed(tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(
        "import frazil as fz\nreveal_type(fz.spark.read)\nreveal_type(fz.variant.to_python)\nfz.no_such_name\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", "cache", str(program)],
        capture_output=True,
        text=True,
        env={"MYPYPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        check=False,
    )
    said = done.stdout
    assert "def (spark: " in said, said
    assert "-> pyspark.sql.dataframe.DataFrame" in said, said
    assert 'Module has no attribute "no_such_name"' in said
    assert said.count("error:") == 1, said


# ---------------------------------------------------------------- texts


def _classes() -> dict[str, type]:
    """The public classes by their names, from the stored list."""
    found = {}
    for line in (ROOT / "tests" / "house" / "public_names_python.txt").read_text("utf-8").splitlines():
        path, is_class, _ = line.partition(" class(")
        module, _, name = path.rpartition(".")
        if is_class:
            found[path] = getattr(importlib.import_module(module), name)
    return found


# These have no objects of their own.
ABSTRACT = {"frazil.evolve._Update", "frazil.requests.handle.TableHandle", "frazil.row_changes.RowChanges"}


def test_no_public_class_shows_an_address() -> None:
    for path, cls in _classes().items():
        if path not in ABSTRACT and path != "frazil.spark.FrazilDataSource":
            assert cls.__repr__ is not object.__repr__, path


def _objects(catalog: fz.Catalog, table: fz.Table) -> dict[str, Any]:
    scan = table.scan("id < 9", select=["id"])
    task = next(iter(scan.plan_files()))
    return {
        "catalog": catalog,
        "table": table,
        "schema": table.schema,
        "field": table.schema.fields[0],
        "snapshot": table.snapshot,
        "refs": table.refs,
        "ref": table.refs["main"],
        "inspect": table.inspect,
        "maintain": table.maintain,
        "spec": table.partition_spec,
        "order": table.sort_order,
        "scan": scan,
        "tasks": scan.plan_files(),
        "task": task,
        "file": task.data_file,
        "split": scan.plan()[0],
        "part": scan.plan_parts()[0],
        "explain": scan.explain(),
        "estimate": scan.estimate(),
        "statistics": scan.statistics(),
        "statistics of a column": scan.statistics()["id"],
        "writer": table.writer(task=2, sort_by=["id"]),
        "transaction": table.transaction(),
        "changes of refs": table.transaction().refs,
        "dry run": table.transaction().append(ROWS).dry_run(),
        "schema update": table.update_schema(),
        "spec update": table.update_partition_spec(),
        "order update": table.update_sort_order(),
        "compaction": table.maintain.compact(dry_run=True),
        "expiry": table.maintain.expire_snapshots(dry_run=True),
        "manifests": table.maintain.rewrite_manifests(dry_run=True),
        "predicate": fz.col("id") == 5,
        "term": fz.col("id"),
        "error": fz.InvalidInputError("no"),
    }


@pytest.mark.filterwarnings("ignore::frazil.UncommittedWarning")
def test_no_object_shows_an_address(catalog: fz.Catalog, table: fz.Table) -> None:
    for name, thing in _objects(catalog, table).items():
        for text in (repr(thing), str(thing)):
            assert not ADDRESS.search(text), (name, text)
            assert len(text) < 3000, name


def test_specs_and_orders_name_columns(table: fz.Table) -> None:
    assert str(table.partition_spec) == "[id_bucket: bucket(4, id), g: g]"
    assert repr(table.partition_spec) == "PartitionSpec(id=0, [id_bucket: bucket(4, id), g: g])"
    assert str(table.sort_order) == "[s.x desc nulls last, id asc nulls first]"
    assert [field.column for field in table.sort_order.fields] == ["s.x", "id"]
    assert column_names(table.schema) == {1: "id", 2: "g", 3: "s", 4: "s.x"}
    # Names are those of today.
    with table.update_schema() as update:
        update.rename_column("g", "group")
    assert str(table.partition_spec) == "[id_bucket: bucket(4, id), g: group]"
    # A column that is gone has only its number.
    assert str(fz.PartitionSpec(0, (fz.PartitionField("day", "day", 7, 1000),))) == "[day: day(column 7)]"


def test_texts_tell_what_they_are_about(table: fz.Table) -> None:
    assert repr(table).endswith("2 rows, columns id, g, s)")
    assert re.search(r"UTC, append, \+2 rows, \+2 files, 2 rows in all\)$", repr(table.snapshot))
    with table.update_schema() as update:
        update.add_column("note", "string", first=True).rename_column("g", "group").drop_column("s")
        text = "UpdateSchema(add note string first; rename g to group; drop s; not committed)"
        assert repr(update) == text
        del update._operations[:]
        update.add_column("note", pa.string())
    assert repr(update) == "UpdateSchema(add note string; committed)"
    with table.update_partition_spec() as spec:
        spec.add_field("s.x").remove_field("g")
        assert repr(spec) == "UpdatePartitionSpec(add s.x; remove g; not committed)"
    steps = table.update_schema().union_by_name(pa.schema([("u", pa.int64()), ("v", pa.string())]))
    steps.move_before("note", "id").make_column_optional("id").set_identifier_fields()
    assert "(add the columns of u, v; move note before id; make id optional; identify rows by nothing;" in repr(steps)
    spec = table.update_partition_spec().add_field("id", "bucket[8]", "eight").rename_field("g", "h")
    assert "(add bucket(8, id) as eight; rename g to h; " in repr(spec)
    order = table.update_sort_order().desc("id", transform="truncate[5]").asc("g", nulls="last")
    assert "(truncate(5, id) desc nulls last; g asc nulls last; " in repr(order)
    with table.transaction() as transaction:
        transaction.append(ROWS).set_properties(a="b")
        assert repr(transaction).endswith("2 changes, not committed)")
    assert repr(transaction).endswith("2 changes, ended)")
    assert "compact" in repr(table.maintain)
    # Rows that delete files delete are still counted, so the number is a bound.
    assert rows_of({"total-records": "1234", "total-delete-files": "0"}) == ["1,234 rows"]
    assert rows_of({"total-records": "1234", "total-delete-files": "2"}) == ["at most 1,234 rows"]
    assert rows_of({}) == rows_of({"total-records": "many"}) == []


def test_wide_tables_are_cut(catalog: fz.Catalog) -> None:
    wide = catalog.create_table("db.wide", pa.schema([(f"c{n}", pa.int64()) for n in range(500)]))
    assert repr(wide).endswith("empty, columns c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, 488 more)")
    assert "400 more rows" in wide.schema._repr_html_()


# ---------------------------------------------------------------- HTML


class _Reader(html.parser.HTMLParser):
    """The tags and the text of a page; tags must be closed."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert all(name in ("style", "colspan") or tag in ("svg", "rect", "polygon", "text") for name, _ in attrs)
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    assert reader.tags <= {"div", "b", "table", "tr", "th", "td"}, reader.tags
    return reader


EVIL = "<script>alert('x')</script>\"&\x1b[2J"


def test_html_is_escaped(catalog: fz.Catalog) -> None:
    schema = pa.schema([pa.field(EVIL, pa.int64()), ("g", pa.string())])
    table = catalog.create_table("db.evil", schema, properties={EVIL: EVIL, "comment": "<b>"}, partition_by=["g"])
    table.append(pa.table([[1], [EVIL]], schema=schema), snapshot_properties={EVIL: EVIL})
    table.refs.create_tag("<i>")
    assert table.snapshot is not None
    scan = table.scan(f"g = '{EVIL.replace(chr(39), chr(39) * 2)}'")
    shown = [table, table.schema, table.snapshot, table.refs, table.partition_spec, table.sort_order]
    shown += [scan, scan.plan()[0], scan.statistics(), scan.estimate()]
    for thing in shown:
        page = read(thing._repr_html_())
        assert "\x1b" not in page.text
    assert EVIL.partition("&")[0] in read(table._repr_html_()).text
    assert "tag" in read(table.refs._repr_html_()).text


def test_secrets_are_hidden(catalog: fz.Catalog) -> None:
    table = catalog.create_table(
        "db.secrets",
        SCHEMA,
        properties={"s3.secret-access-key": "sesame", "owner": "ann", "fs.azure.sas": "?sig=sesame"},
    )
    table.append(ROWS, snapshot_properties={"my-token": "sesame"})
    assert table.snapshot is not None
    texts = [table._repr_html_(), table.snapshot._repr_html_(), repr(table), repr(table.snapshot)]
    assert "ann" in texts[0]
    assert not [text for text in texts if "sesame" in text]
    secret = fz.catalog("c", type="memory", **{"s3.secret-access-key": "sesame"})
    assert "sesame" not in repr(secret)


# ---------------------------------------------------------------- forgotten commits


PROGRAM = """
import frazil as fz, pyarrow as pa, sys
c = fz.catalog(type="memory"); c.create_namespace("d"); rows = pa.table({"a": [1]})
t = c.create_table("d.t", rows.schema)
def begin(kind):
    if kind == "transaction":
        t.transaction().append(rows)
    elif kind == "update":
        t.update_schema().add_column("b", "int")
    elif kind == "several":
        tx = c.transaction(); tx.table("d.t").append(rows)
    else:
        t.writer().write(rows)
"""


def warned(code: str) -> list[str]:
    """The warnings of a program, and what it printed."""
    program = PROGRAM + code
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return re.findall(r"UncommittedWarning: (.*?) (?:was|wrote)", done.stderr) + done.stdout.split()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("transaction", "a transaction"),
        ("several", "a transaction"),
        ("update", "an update of a schema"),
        ("writer", "what a writer"),
    ],
)
def test_forgotten_commits_warn(kind: str, text: str) -> None:
    assert warned(f"begin({kind!r})") == [text]
    # Not while an exception is on its way or was just handled.
    assert warned(f"try:\n  begin({kind!r}); 1 / 0\nexcept ZeroDivisionError as e: print('caught')") == [text, "caught"]


FAILING = """
def fail():
    tx = t.transaction(); tx.append(rows)
    update = t.update_schema().add_column("b", "int")
    message = t.writer().write(rows)
    1 / 0
"""


@pytest.mark.parametrize(
    "code",
    [
        "try: fail()\nexcept ZeroDivisionError: pass",
        "try: fail()\nexcept ZeroDivisionError as e: pass",
        "def f():\n  try: fail()\n  except ZeroDivisionError as e: pass\nf()",
        "fail()",
    ],
)
def test_exceptions_are_not_forgotten_commits(code: str) -> None:
    assert warned(FAILING + code) == []


@pytest.mark.parametrize(
    "code",
    [
        # Nothing was asked.
        "t.transaction(); t.update_schema(); t.update_sort_order(); t.writer()",
        # Committed, or given up.
        "with t.transaction() as tx: tx.append(rows)",
        "tx = t.transaction(); tx.append(rows); tx.commit()",
        "tx = t.transaction(); tx.append(rows); tx.abort()",
        "with t.update_schema() as u: u.add_column('b', 'int')",
        "t.commit([t.writer().write(rows)])",
        "t.abort([t.writer().write(rows)])",
        "with c.transaction() as tx: tx.table('d.t').append(rows)",
        # Sent elsewhere.
        "import pickle; pickle.dumps(t.writer().write(rows))",
        "t.writer().write(rows).to_json()",
        # An error of the change itself.
        "tx = t.transaction(); tx.append(rows)\ntry: tx.append(pa.table({'b': [1]}))\nexcept fz.FrazilError: pass",
        # Another process.
        "import os; x = t.transaction(); x.append(rows)\nif os.fork() == 0: del x; os._exit(0)\nos.wait(); x.abort()",
    ],
)
def test_nothing_was_forgotten(code: str) -> None:
    assert warned(code) == []


def test_forgotten_at_the_end_of_the_program() -> None:
    assert warned("tx = t.transaction(); tx.append(rows)") == ["a transaction"]
    assert warned("m = t.writer().write(rows)") == ["what a writer"]


def test_the_warning_names_the_line(table: fz.Table) -> None:
    with pytest.warns(fz.UncommittedWarning, match="with block") as found:
        table.update_schema().add_column("b", "int")
    assert found[0].filename == __file__
    with pytest.raises(fz.InvalidInputError), table.transaction() as transaction:
        transaction.append(pa.table({"no": [1]}))
