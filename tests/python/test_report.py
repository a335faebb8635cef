"""Pages about tables and plans: their figures, hostile names, sizes, and that they request nothing."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

import pyarrow as pa
import pytest

import frazil as fz
from frazil.cli import main
from frazil.display.picture import explain_html
from frazil.report import overlaps, parts, tree
from frazil.report.decisions import decided
from frazil.report.gathering import explanation_page, table_page
from frazil.report.serving import PageServer
from frazil.report.treemap import Box, hatches, squarified

FORMATS = ("iceberg", "paimon")
SCHEMA = pa.schema([("id", pa.int64()), ("c", pa.string())])
HOSTILE = "<script>alert(1)</script>\"' </style> ]]> <!-- &amp; <svg onload=x>"
VOID = {"meta", "br", "input", "link"}


class Page(HTMLParser):
    """What a browser makes of a page: tags that are balanced, titles of parts, and all text.

    Args:
        text: The page.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def within(self, tag: str) -> list[str]:
        return [text for found, text in self.texts if found == tag]

    @property
    def words(self) -> str:
        return "\n".join(text for tag, text in self.texts if tag not in ("style", "script"))


def made(tmp_path: Path, form: str, name: str = "t", properties: dict[str, str] | None = None) -> fz.Table:
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path / form))
    catalog.create_namespace("db")
    return catalog.create_table(f"db.{name}", SCHEMA, partition_by=["c"], format=form, properties=properties or {})


def rows(first: int, *partitions: str | None) -> pa.Table:
    """10 rows for each partition."""
    count = 10 * len(partitions)
    return pa.table({"id": list(range(first, first + count)), "c": [c for c in partitions for _ in range(10)]}, SCHEMA)


def page_of(table: fz.Table, tmp_path: Path, *given: object, **named: object) -> Page:
    path = table.report(tmp_path / "page.html", *given, **named)  # type: ignore[arg-type]
    assert path == str(tmp_path / "page.html")
    text = Path(path).read_text("utf-8")
    is_safe(text)
    return Page(text)


def is_safe(text: str) -> None:
    """Nothing in the page is requested or run but its own script."""
    without = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?://|url\(|\bsrc\s*=|@import", without, re.IGNORECASE)
    page = Page(text)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert [tag for tag, _ in page.tags].count("style") == 1
    assert not {"img", "iframe", "link", "object", "embed", "base", "image", "use"} & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    (policy,) = [a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a]
    assert (policy or "").startswith("default-src 'none'; style-src 'unsafe-inline'; script-src ")


def legend(page: Page) -> list[str]:
    return [text for text in page.within("span") if re.match(r"[R\d]: ", text)]


@pytest.mark.parametrize("form", FORMATS)
def test_the_legend_counts_files_by_the_clause_that_decided(tmp_path: Path, form: str) -> None:
    table = made(tmp_path, form)
    # Files by partition and id: a 0-9, b 10-19, d 20-29; then a 30-39, b 40-49.
    table.append(rows(0, "a", "b", "d")).append(rows(30, "a", "b"))
    page = page_of(table, tmp_path, "c = 'a' and id < 20")
    found = [line.rpartition(", ")[0] for line in legend(page)]
    assert found == [
        "R: read: 1 data file",
        "1: dropped by c = 'a': 3 data files",
        "2: dropped by id < 20: 1 data file",
    ]
    sizes = table.scan().plan_table()["file_size_in_bytes"].to_pylist()
    assert f"5 files of {bytes_text(sum(sizes))} in 2 manifests." in page.words
    assert len([a for tag, a in page.tags if tag == "rect" and a["class"] == "c d1" and "x" in a]) == 3
    whole = page_of(table, tmp_path)
    assert [line.rpartition(", ")[0] for line in legend(whole)] == ["R: read: 5 data files"]


def bytes_text(size: int) -> str:
    return f"{size} B" if size < 1024 else f"{size / 1024:.1f} KiB"


@pytest.mark.parametrize("form", FORMATS)
def test_snapshots_and_names_are_shown(tmp_path: Path, form: str) -> None:
    table = made(tmp_path, form)
    table.append(rows(0, "a"))
    first = table.snapshot.id
    table.refs.create_tag("v1")
    table.append(rows(10, "a"))
    page = page_of(table, tmp_path)
    titles = [title for title in page.within("title") if title.startswith("snapshot ")]
    assert [f"snapshot {s.id}" for s in table.snapshots] == [title.partition(",")[0] for title in titles]
    assert "tag v1" in titles[0]
    assert titles[1].endswith("main, shown on this page")
    older = page_of(table, tmp_path, at="v1")
    (shown,) = [title for title in older.within("title") if "shown on this page" in title]
    assert shown.startswith(f"snapshot {first},")
    assert [line.partition(",")[0] for line in legend(older)] == ["R: read: 1 data file"]


def test_branches_have_lanes_if_snapshots_have_parents(tmp_path: Path) -> None:
    table = made(tmp_path, "iceberg")
    table.append(rows(0, "a"))
    table.refs.create_branch("audit")
    table.append(rows(10, "a"), branch="audit")
    table.append(rows(20, "a"))
    names = page_of(table, tmp_path).within("text")
    assert names.index("main") < names.index("audit")
    assert page_of(table, tmp_path, at="audit").words.count("shown on this page") == 1


def test_a_branch_with_its_own_snapshots_names_none_of_main(tmp_path: Path) -> None:
    table = made(tmp_path, "paimon")
    table.append(rows(0, "a"))
    table.refs.create_tag("v1")
    table.refs.create_branch("dev", "v1")
    table.append(rows(10, "a"), branch="dev")
    table.append(rows(20, "a"))
    page = page_of(table, tmp_path)
    assert table.refs["dev"].snapshot_id == table.refs["main"].snapshot_id == 2
    assert not [title for title in page.within("title") if "dev" in title]
    assert "dev" in page.within("td")


@pytest.mark.parametrize("form", FORMATS)
def test_partitions_say_what_is_deleted(tmp_path: Path, form: str) -> None:
    properties = {
        "iceberg": {"format-version": "3", "write.delete.mode": "merge-on-read"},
        "paimon": {"deletion-vectors.enabled": "true", "bucket": "-1"},
    }[form]
    table = made(tmp_path, form, properties=properties)
    table.append(rows(0, "a", "b"))
    table.delete("id = 3")
    (size,) = [task.data_file.size_bytes for task in table.scan("c = 'a'").plan_files()]
    # The filter keeps only b; the deletes of a are shown nevertheless.
    page = page_of(table, tmp_path, "c = 'b'")
    (line,) = [title for title in page.within("title") if title.startswith("c=a: ")]
    assert line == f"c=a: {bytes_text(size)}, 1 file, {bytes_text(size)} with deletes"
    (other,) = [title for title in page.within("title") if title.startswith("c=b: ")]
    assert other.endswith("1 file, 0 B with deletes")


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_names_are_only_text(tmp_path: Path, form: str) -> None:
    table = made(tmp_path, form, properties={"note": HOSTILE})
    table.append(rows(0, HOSTILE, "b"))
    if form == "iceberg":
        table.refs.create_branch(HOSTILE)
    page = page_of(table, tmp_path, fz.col("c") == HOSTILE)
    assert any("<script>alert(1)</script>" in text for text in page.within("p"))
    assert not {"onload"} & {name for _, attributes in page.tags for name in attributes}
    html = table.scan(fz.col("c") == HOSTILE).explain(files=True).to_html()
    is_safe(html)
    assert any("</style>" in text for text in Page(html).within("code"))


def test_no_part_of_a_secret_stays_where_a_text_is_cut(tmp_path: Path) -> None:
    """A path is cut at its beginning, where the name of the secret is, and a file's name is what follows a slash."""
    secret = "Geheim/" * 60
    path = f"https://store.example/t/f.parquet?X-Amz-Security-Token={secret}"
    assert "Geheim" not in parts.cut(path, 120)
    table = made(tmp_path, "iceberg")
    table = table.append(rows(0, "a"))
    explained = table.scan("c = 'https://user:Geheim@store.example/f?sig=Geheim'").explain(files=True)
    paths = pa.array([path])
    manifests, files = (
        found.set_column(found.schema.get_field_index(name), name, paths)
        for found, name in ((explained.manifests, "manifest_path"), (explained.files, "file_path"))
    )
    files = files.set_column(files.schema.get_field_index("manifest_path"), "manifest_path", paths)
    texts = [
        explanation_page(explained.to_dict(), manifests, files),
        explanation_page(explained.to_dict(), manifests, None),
        explain_html(explained.to_dict(), manifests, None),
        str(explained),
        repr(table.scan("c = 'https://user:Geheim@store.example/'")),
    ]
    assert ["***" in text for text in texts] == [True] * len(texts)
    assert ["Geheim" in text for text in texts] == [False] * len(texts)


def test_texts_of_a_table_have_no_control_characters() -> None:
    name = "a\x1b[31m\x9b\u202e"
    schema = fz.Schema(pa.schema([(name, pa.int64())]))
    field = fz.PartitionField(name, "identity", 1, 1000, name)
    for text in (str(schema), repr(schema), str(schema.fields[0]), str(field), repr(fz.PartitionSpec(0, (field,)))):
        assert "a\\x1b[31m\\x9b\\u202e" in text
        assert text.replace("\n", "").isprintable()


def test_a_hostile_name_of_a_column_and_of_the_folder(tmp_path: Path) -> None:
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path / '<b>"w'))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", data=pa.table({HOSTILE: [1, 2]}))
    page = page_of(table, tmp_path)
    assert HOSTILE in page.words
    assert any('<b>"w' in text for text in page.within("td"))


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_table_has_a_page(tmp_path: Path, form: str) -> None:
    page = page_of(made(tmp_path, form), tmp_path, "id = 1")
    assert "The table is empty: it has no snapshot." in page.words
    assert legend(page) == []


def test_many_files_are_summed_by_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path, "iceberg")
    for commit in range(3):
        table.append(rows(100 * commit, *(f"p{n}" for n in range(100))))
    single = page_of(table, tmp_path, "c = 'p1'", doctor=False)
    assert len(cells(single)) == 300
    monkeypatch.setattr(tree, "MOST_FILES", 299)
    summed = page_of(table, tmp_path, "c = 'p1'", doctor=False)
    # One part for what is read and one for the rest, in each manifest.
    assert len(cells(summed)) == 6
    read = [title.partition(":")[0] for title in summed.within("title") if title.endswith(", read")]
    assert read == ["1 file"] * 3
    assert "There are more than 299, so each part sums the files of one manifest" in summed.words
    assert legend(single) == legend(summed)
    monkeypatch.setattr(tree, "MOST_MANIFESTS", 2)
    most = page_of(table, tmp_path, "c = 'p1'", doctor=False)
    assert len(cells(most)) == 4
    assert "2 other manifests" in most.within("text")
    assert re.search(r"300 files of [\d.]+ KiB in 3 manifests\.", most.words)


def cells(page: Page) -> list[dict[str, str | None]]:
    return [a for tag, a in page.tags if tag == "rect" and (a["class"] or "").startswith("c d") and "x" in a]


def test_a_page_of_a_large_table_is_small() -> None:
    """100,000 files of 1,000 manifests: a megabyte."""
    count = 100_000
    files = pa.table(
        {
            "content": pa.array(["data"] * count).dictionary_encode(),
            "file_path": [f"/w/db/t/data/{'x' * 80}/{n}.parquet" for n in range(count)],
            "kept": [n % 7 == 0 for n in range(count)],
            "stage": pa.array(["column metrics" if n % 7 else "kept" for n in range(count)]).dictionary_encode(),
            "reason": [f"id < {n % 20}: lower bound {n}" for n in range(count)],
            "partition": pa.array([f"p={n % 5000}" for n in range(count)]).dictionary_encode(),
            "spec_id": pa.array([0] * count, pa.int32()),
            "record_count": [5] * count,
            "file_size_in_bytes": [1000 + n for n in range(count)],
            "deletes": pa.array([0] * count, pa.uint32()),
            "manifest_path": pa.array([f"/w/m-{n % 1000}.avro" for n in range(count)]).dictionary_encode(),
        }
    )
    facts = empty_facts() | {"clauses": [{"clause": f"id < {n}", "stages": [], "limits": []} for n in range(20)]}
    html = fz.Explain(facts, None, files).to_html()
    assert len(html) < 2_000_000
    is_safe(html)
    page = Page(html)
    assert len(legend(page)) == 8
    assert legend(page)[7].startswith("7: dropped: other reasons")
    assert sum(int(re.findall(r": ([\d,]+) data files?", line)[-1].replace(",", "")) for line in legend(page)) == count


def empty_facts() -> dict[str, object]:
    none: list[object] = []
    facts: dict[str, object] = {"filter": "", "table": "t", "snapshot_id": 1, "rows": 0, "time_ms": 1.0, "cache": None}
    return facts | {"stages": none, "clauses": none, "commits": none, "deletes": {"attached": 0}}


def test_an_explanation_without_files_draws_manifests(tmp_path: Path) -> None:
    table = made(tmp_path, "iceberg")
    table.append(rows(0, "a")).append(rows(10, "b"))
    html = table.scan("c = 'b'").explain().to_html()
    is_safe(html)
    found = [line.rpartition(", ")[0] for line in legend(Page(html))]
    assert found == ["R: read: 1 manifest", "1: dropped by c = 'b': 1 manifest"]


def test_many_manifests_are_summed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path, "iceberg")
    for first in (0, 10, 20):
        table.append(rows(first, "a"))
    table.append(rows(30, "b"))
    assert len(cells(Page(table.scan("c = 'a'").explain().to_html()))) == 4
    monkeypatch.setattr(tree, "MOST_FILES", 3)
    page = Page(table.scan("c = 'a'").explain().to_html())
    assert len(cells(page)) == 2
    assert "There are more than 3, so each part sums the manifests with the same fate." in page.words


def test_a_damaged_table_has_a_page_that_says_why(tmp_path: Path) -> None:
    table = made(tmp_path, "iceberg")
    table.append(rows(0, "a"))
    (manifest,) = table.inspect.manifests()["path"].to_pylist()
    Path(manifest.removeprefix("file://")).unlink()
    page = page_of(fz.open_table(table.location), tmp_path)
    assert "What can't be shown" in page.words
    assert "manifest-missing" in page.within("td")


def test_wrong_arguments_leave_the_file_as_it_was(tmp_path: Path) -> None:
    table = made(tmp_path, "iceberg")
    table.append(rows(0, "a"))
    path = tmp_path / "page.html"
    path.write_text("before")
    for given, named, error in (
        (("no_such > 1",), {}, fz.InvalidInputError),
        (("id >",), {}, fz.InvalidInputError),
        ((), {"at": "no-such-branch"}, fz.NotFoundError),
    ):
        with pytest.raises(error):
            table.report(path, *given, **named)  # type: ignore[arg-type]
    assert path.read_text() == "before"
    for wrong in (tmp_path / "no" / "page.html", "s3://bucket/page.html"):
        with pytest.raises(fz.InvalidInputError, match="page"):
            table.report(wrong)


# Bounds of files, and by hand: how many others a file overlaps on average, and how many meet at one value.
OVERLAPS = {
    "apart": ([(0, 9), (10, 19), (20, 29)], 0.0, 1),
    "touching": ([(0, 10), (10, 19), (20, 29)], 2 / 3, 2),
    "the same": ([("a", "a"), ("a", "a"), ("b", "b")], 2 / 3, 2),
    "one around all": ([(0, 100), (1, 2), (5, 6), (50, 60)], 6 / 4, 2),
    "all": ([(0.0, 9.0), (1.0, 8.0), (2.0, 7.0)], 2.0, 3),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_overlaps_of_bounds(name: str) -> None:
    bounds, average, most = OVERLAPS[name]
    found = overlaps.overlap_of("x", bounds, 4)  # type: ignore[arg-type]
    assert (found.files, found.without, found.average, found.most) == (len(bounds), 4, pytest.approx(average), most)


def test_the_overlap_of_a_table(tmp_path: Path) -> None:
    table = made(tmp_path, "iceberg")
    table.append(rows(0, "a", "b")).append(rows(20, "a", "b"))
    page = page_of(table, tmp_path)
    at = page.within("td").index("id")
    assert page.within("td")[at + 1 : at + 5] == ["4", "0", "0.0", "1"]
    assert "1.0 others on average, 2 of 4 at most" in page.within("text")


def test_overlaps_of_too_many_files_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path, "iceberg")
    table.append(rows(0, "a", "b"))
    assert "Overlap of bounds" in page_of(table, tmp_path).within("h2")
    monkeypatch.setattr(overlaps, "MOST_FILES", 1)
    page = page_of(table, tmp_path)
    assert "Overlap of bounds" not in page.within("h2")
    assert "Overlaps of bounds are left out: there are more than 1 files." in page.words


def test_reasons_belong_to_clauses_only_if_it_is_certain() -> None:
    clauses = [{"clause": text} for text in ("id < 30 or x = 1", "id < 3 or y = 2", "c = 'a'", "x = 1 or c = 'b'")]
    reasons = {
        "c = 'a': every value is 'b'": "c = 'a'",
        "id < 3: lower bound 5; y = 2: lower bound 7": "id < 3 or y = 2",
        "x = 1: lower bound 5": "metrics",
        "no live rows": "metrics",
    }
    table = pa.table({"kept": [False] * 4, "stage": ["metrics"] * 4, "reason": list(reasons)})
    decisions, numbers = decided(table, clauses)
    assert [decisions[number].text for number in numbers] == list(reasons.values())


def test_areas_are_in_proportion() -> None:
    sizes = [60, 30, 20, 10, 5, 1]
    boxes = squarified(sizes, Box(0, 0, 126, 10))
    assert [box.width * box.height for box in boxes] == pytest.approx([size * 10 for size in sizes])
    for at, a in enumerate(boxes):
        assert a.x >= 0
        assert a.x + a.width <= 126 + 1e-6
        assert a.y + a.height <= 10 + 1e-6
        for b in boxes[at + 1 :]:
            assert min(a.x + a.width, b.x + b.width) - max(a.x, b.x) < 1e-6 or (
                min(a.y + a.height, b.y + b.height) - max(a.y, b.y) < 1e-6
            )


@pytest.mark.parametrize("number", range(1, 8))
def test_hatches_stay_inside(number: int) -> None:
    box = Box(13, 8, 31, 17)
    points = re.findall(r"[ML]([\d.-]+) ([\d.-]+)", hatches(number, [box]))
    assert points
    assert all(13 <= float(x) <= 44 and 8 <= float(y) <= 25 for x, y in points)
    assert hatches(0, [box]) == ""


def test_the_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = made(tmp_path, "paimon")
    table.append(rows(0, "a", "b"))
    path = str(tmp_path / "page.html")
    assert main(["show", table.location, "--html", path, "--where", "c = 'a'", "--no-doctor"]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    page = Page(Path(path).read_text("utf-8"))
    assert [line.partition(",")[0] for line in legend(page)] == [
        "R: read: 1 data file",
        "1: dropped by c = 'a': 1 data file",
    ]
    assert "Findings" not in page.within("h2")
    assert main(["show", table.location, "--html", path, "--at", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"page": path}
    assert main(["show", table.location, "--where", "c = 'a'"]) == 2
    assert "give --html FILE too" in capsys.readouterr().err


@pytest.mark.parametrize("form", FORMATS)
def test_a_browser_runs_the_script_and_reports_nothing(tmp_path: Path, form: str) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no 'chromium' on the PATH")
    table = made(tmp_path, form)
    table.append(rows(0, HOSTILE, "b"))
    path = table.report(tmp_path / "page.html", "c = 'b'")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'browser'}"]
    found = subprocess.run(
        [browser, *options, "--enable-logging=stderr", "--dump-dom", Path(path).as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in found.stderr
    assert "<title>" in found.stdout
    assert found.stdout.count("<script") == 1


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[fz.Table, PageServer]]:
    table = made(tmp_path, "iceberg")
    table.append(rows(0, "a", "b"))

    def asked(where: str | None, at: str | None, doctor: bool, form: str) -> str:
        return table_page(table, where, at, doctor, form)

    with PageServer(asked, "t") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield table, server
        server.shutdown()
        thread.join()


def answer(server: PageServer, path: str, method: str = "GET", host: str | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    try:
        connection.request(method, path, headers={} if host is None else {"Host": host})
        found = connection.getresponse()
        return found.status, found.read().decode()
    finally:
        connection.close()


def test_a_server_plans_the_filter_of_each_request(served: tuple[fz.Table, PageServer]) -> None:
    table, server = served
    assert server.server_address[0] == "127.0.0.1"
    for where, found in (("c = 'a'", ["R: read: 1 data file", "1: dropped by c = 'a': 1 data file"]), ("", [])):
        status, text = answer(server, "/?" + urlencode({"where": where}))
        assert status == 200
        is_safe(text.replace('action="/"', ""))
        page = Page(text)
        assert [line.partition(",")[0] for line in legend(page)] == (found or ["R: read: 2 data files"])
        (value,) = [a["value"] for tag, a in page.tags if tag == "input" and a["name"] == "where"]
        assert value == where
        assert "Findings" not in page.within("h2")
    assert "Findings" in Page(answer(server, "/?doctor=1")[1]).within("h2")
    table.append(rows(20, "a"))
    assert "R: read: 3 data files" in answer(server, "/")[1]


def test_a_server_shows_errors_of_filters_as_text(served: tuple[fz.Table, PageServer]) -> None:
    _, server = served
    for where, error in (("no_such > 1", "no_such"), (f"id = '{HOSTILE}", "filter")):
        status, text = answer(server, "/?" + urlencode({"where": where}))
        assert status == 400
        is_safe(text)
        page = Page(text)
        assert [text for text in page.within("p") if error in text]
        assert [a["value"] for tag, a in page.tags if tag == "input" and a["name"] == "where"] == [where]
    assert answer(server, "/?at=no-such-branch")[0] == 400


def test_a_server_answers_only_this_machine(served: tuple[fz.Table, PageServer]) -> None:
    _, server = served
    port = server.server_port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", ""):
        status, text = answer(server, "/", host=host)
        assert status == 421
        assert "read: " not in text
    assert answer(server, "/", host=f"localhost:{port}")[0] == 200
    assert answer(server, "/other")[0] == 404
    assert answer(server, "/", "HEAD") == (200, "")
    for method in ("POST", "PUT", "DELETE"):
        assert answer(server, "/", method)[0] == 501


def raw_answer(server: PageServer, lines: str) -> str:
    """The first line of the answer to a request that is written by hand."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as connection:
        connection.sendall(lines.encode())
        return connection.makefile("rb").readline().decode().strip()


def test_a_server_answers_no_page_of_another_site(
    served: tuple[fz.Table, PageServer], capfd: pytest.CaptureFixture[str]
) -> None:
    _, server = served
    host = f"Host: 127.0.0.1:{server.server_port}\r\n"
    image = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n"
    frame = "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n"
    link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
    typed = "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
    for fetched, status in ((image, 403), (frame, 403), (link, 200), (typed, 200), ("", 200)):
        assert raw_answer(server, f"GET / HTTP/1.1\r\n{host}{fetched}\r\n").split(" ")[1] == str(status)
    assert " 421 " in raw_answer(server, f"GET / HTTP/1.1\r\n{host}Host: evil.example\r\n\r\n")
    assert " 400 " in raw_answer(server, f"GET http://[/ HTTP/1.1\r\n{host}\r\n")
    assert capfd.readouterr().err == ""


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    table = made(tmp_path, "paimon")
    table.append(rows(0, "a", "b"))
    process = subprocess.Popen(
        [sys.executable, "-m", "frazil", "serve", table.location],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        query = urlencode({"where": "c = 'a'", "at": "1"})
        with urllib.request.urlopen(f"{url}?{query}", timeout=60) as found:
            text = found.read().decode()
            assert "frame-ancestors 'none'" in found.headers["Content-Security-Policy"]
        assert "1: dropped by c = &#x27;a&#x27;: 1 data file" in text
        # A commit of another process is seen.
        table.append(rows(20, "d"))
        with urllib.request.urlopen(url, timeout=60) as found:
            assert "R: read: 3 data files" in found.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()
