"""Every path that CONTRIBUTING.md, DESIGN.md and tests/README.md name exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAPS = ["CONTRIBUTING.md", "DESIGN.md", "tests/README.md"]
FOLDERS = "src|python|tests|docs|examples|benches|demo|fuzz|tools|requirements|interop|house|data"
# A path from the root, or from the folder of the page. `*` stands for any name.
NAMED = re.compile(rf"(?<![\w/.:-])(?:{FOLDERS})/[\w./*-]*[\w*/]|(?<![\w/.:-])[A-Z]+\.md\b")
# Words that stand for a name that the reader chooses.
CHOSEN = re.compile(r"(?<![A-Za-z])(?:AREA|NAME)(?![A-Za-z])")
MARKDOWN_LINK = re.compile(r"\]\(([^)#:]+)\)")


def named(text: str) -> list[str]:
    found = [*NAMED.findall(text), *MARKDOWN_LINK.findall(text)]
    return [path for path in dict.fromkeys(found) if not CHOSEN.search(path)]


def missing(page: str, text: str) -> Iterator[str]:
    for path in named(text):
        if not any(any(folder.glob(path)) for folder in (ROOT, (ROOT / page).parent)):
            yield path


@pytest.mark.parametrize("page", MAPS)
def test_paths_of_the_maps_exist(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert named(text)
    assert not list(missing(page, text)), f"{page} names what does not exist"


def test_a_path_that_is_gone_would_be_found() -> None:
    text = "`src/nowhere.rs`, src/lib.rs, [gone](docs/gone.md), `tests/python/test_*.py`, `tests/python/test_AREA.py`"
    assert list(missing("CONTRIBUTING.md", text)) == ["src/nowhere.rs", "docs/gone.md"]
