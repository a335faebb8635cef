"""The page of a table in headless Chromium: with the mouse, with the keyboard, and what its pictures show."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, pstdev

import pyarrow as pa
import pytest

import frazil as fz
from chromium import Browser, Pixel
from frazil.report.gathering import table_page
from frazil.report.serving import PageServer

SCHEMA = pa.schema([("id", pa.int64()), ("c", pa.string())])
SAID = "document.querySelector('#tree .said').textContent"
READ, DROPPED = "#tree .cells rect.c.d0", "#tree .cells rect.c.d1"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path / "browser") as made:
        yield made


@pytest.fixture(params=["iceberg", "paimon"])
def table(tmp_path: Path, request: pytest.FixtureRequest) -> fz.Table:
    """Three partitions, a file each."""
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path / "lake"))
    catalog.create_namespace("db")
    made = catalog.create_table("db.t", SCHEMA, partition_by=["c"], format=request.param)
    return made.append(pa.table({"id": range(30), "c": ["a", "b", "d"] * 10}, SCHEMA))


def opened(browser: Browser, table: fz.Table, tmp_path: Path) -> None:
    address = Path(table.report(tmp_path / "page.html", "c = 'a'")).as_uri()
    browser.open(address)
    assert browser.requested == [address]


def test_the_mouse_and_the_keyboard(browser: Browser, table: fz.Table, tmp_path: Path) -> None:
    opened(browser, table, tmp_path)
    (read,) = [task.data_file.path for task in table.scan("c = 'a'").plan_files()]
    assert browser.value(f"document.querySelectorAll('{READ}').length") == 1
    assert browser.value(f"document.querySelectorAll('{DROPPED}').length") == 2
    browser.click(READ)
    assert Path(read).name in browser.value(SAID)
    browser.click(DROPPED)
    assert Path(read).name not in browser.value(SAID)
    assert "c = 'a'" in browser.value(SAID)
    # The arrow keys step through all parts, and begin again after the last one.
    browser.value("document.querySelector('#tree [tabindex]').focus()")
    parts = browser.value("document.querySelectorAll('#tree .cells .c').length")
    said = []
    for _ in range(parts):
        browser.press("ArrowRight")
        said.append(browser.value(SAID))
    assert len(set(said)) == parts
    browser.press("ArrowRight")
    assert browser.value(SAID) == said[0]
    browser.press("ArrowLeft")
    assert browser.value(SAID) == said[-1]
    # Links and folded tables are reached by the keyboard, too.
    browser.value("document.querySelector('nav a').focus()")
    browser.press("Enter")
    assert browser.value("location.hash") == browser.value("document.querySelector('nav a').hash")
    browser.click("summary")
    assert browser.value("document.querySelector('details').open")
    assert browser.complaints == []


def light(pixels: list[Pixel]) -> list[float]:
    return [0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in pixels]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_tell_read_from_dropped(browser: Browser, table: fz.Table, tmp_path: Path, scheme: str) -> None:
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    opened(browser, table, tmp_path)
    around = mean(light(browser.picture("body > header", side=4)))
    assert around > 200 if scheme == "light" else around < 60
    for deficiency in ("none", "deuteranopia", "achromatopsia"):
        browser.ask("Emulation.setEmulatedVisionDeficiency", type=deficiency)
        side = 60
        read, dropped = (light(browser.picture(kind, side=side)) for kind in (READ, DROPPED))
        # What is read is filled, up to its letter. What is dropped has lines over the page's own colour.
        filled = [one for one in read if abs(one - sorted(read)[side * side // 2]) < 8]
        assert len(filled) > 0.8 * side * side
        assert pstdev(dropped) > 5
        assert abs(mean(dropped) - around) < abs(mean(filled) - around)
    assert browser.complaints == []


def test_filters_are_typed_into_the_served_page(browser: Browser, table: fz.Table) -> None:
    def asked(where: str | None, at: str | None, doctor: bool, form: str) -> str:
        return table_page(table, where, at, doctor, form)

    legend = "[...document.querySelectorAll('.legend span')].map(one => one.textContent.split(',')[0])"
    with PageServer(asked, "t") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            browser.open(server.url)
            assert browser.value(legend) == ["R: read: 3 data files"]
            for text, found in (
                ("c = 'b'", ["R: read: 1 data file", "1: dropped by c = 'b': 2 data files"]),
                ("c != 'b'", ["R: read: 2 data files", "1: dropped by c != 'b': 1 data file"]),
            ):
                browser.value("document.querySelector('input[name=where]').select()")
                browser.type(text)
                browser.events.clear()
                browser.click("form button")
                browser.loaded()
                assert browser.value(legend) == found
            browser.value("document.querySelector('input[name=where]').select()")
            browser.type("nope > 1")
            browser.events.clear()
            browser.press("Enter")
            browser.loaded()
            assert "nope" in browser.value("document.querySelector('[role=alert]').textContent")
        finally:
            server.shutdown()
            thread.join()
