"""Every path and name that CONTRIBUTING.md, DESIGN.md and tests/README.md mention exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAPS = ["CONTRIBUTING.md", "DESIGN.md", "tests/README.md"]
FOLDERS = "src|python|tests|docs|examples|benches|demo|fuzz|tools|requirements|interop|house|data|\\.ci"
# A path from the root, or from the folder of the page. `*` stands for any name.
NAMED = re.compile(rf"(?<![\w/.:-])(?:{FOLDERS})/[\w./*-]*[\w*/]|(?<![\w/.:-])[A-Z]+\.md\b")
# Words that stand for a name that the reader chooses.
CHOSEN = re.compile(r"(?<![A-Za-z])(?:AREA|NAME)(?![A-Za-z])")
# A name in a file: `NAME` in `path`, `call()` of `path`, `path::name`.
PLACED = re.compile(r"`([A-Za-z_][\w:]*)(?:\(\))?`\s+(?:in|of)\s+`([\w./-]+\.\w+)`")
PATH_AND_NAME = re.compile(r"([\w./-]+\.(?:rs|py))::([\w:]+)")
# A file of tests that the page names without its folder.
BARE = re.compile(r"`(\w+\.py)`")
MARKDOWN_LINK = re.compile(r"\]\(([^)#:]+)\)")


def named(text: str) -> list[str]:
    found = [*NAMED.findall(text), *MARKDOWN_LINK.findall(text)]
    return [path for path in dict.fromkeys(found) if not CHOSEN.search(path)]


def missing(page: str, text: str) -> Iterator[str]:
    for path in named(text):
        if not any(any(folder.glob(path)) for folder in (ROOT, (ROOT / page).parent)):
            yield path


def names_missing(page: str, text: str) -> Iterator[str]:
    """Names that a page places in a file which does not have them."""
    placed = [*PLACED.findall(text), *((name, path) for path, name in PATH_AND_NAME.findall(text))]
    for name, path in placed:
        files = [file for folder in (ROOT, (ROOT / page).parent) for file in folder.glob(path)]
        source = "".join(file.read_text("utf-8") for file in files)
        for part in filter(None, name.split("::")):
            if not re.search(rf"\b{part}\b", source):
                yield f"{path}: {part}"


def files_missing(text: str) -> Iterator[str]:
    """Files of tests that a page names without a folder, and that no folder of tests has."""
    for name in BARE.findall(text):
        if not any((ROOT / "tests").glob(f"*/{name}")):
            yield name


@pytest.mark.parametrize("page", MAPS)
def test_paths_of_the_maps_exist(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert named(text)
    assert not list(missing(page, text)), f"{page} names what does not exist"


def test_a_path_that_is_gone_would_be_found() -> None:
    text = "`src/nowhere.rs`, src/lib.rs, [gone](docs/gone.md), `tests/python/test_*.py`, `tests/python/test_AREA.py`"
    assert list(missing("CONTRIBUTING.md", text)) == ["src/nowhere.rs", "docs/gone.md"]


@pytest.mark.parametrize("page", MAPS)
def test_names_in_the_files_of_the_maps_exist(page: str) -> None:
    assert not list(names_missing(page, (ROOT / page).read_text("utf-8"))), f"{page} names what its files do not have"


def test_the_maps_name_something() -> None:
    assert PLACED.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))


def test_a_name_that_is_gone_would_be_found() -> None:
    text = (
        "`nothing_here()` in\n  `src/lib.rs`, `expr` in `src/lib.rs`, `Gone::never` of `src/lib.rs`, src/lib.rs::absent"
    )
    assert list(names_missing("CONTRIBUTING.md", text)) == [
        "src/lib.rs: nothing_here",
        "src/lib.rs: Gone",
        "src/lib.rs: never",
        "src/lib.rs: absent",
    ]


def test_files_of_tests_without_a_folder_exist() -> None:
    assert not list(files_missing((ROOT / "tests" / "README.md").read_text("utf-8")))
    assert list(files_missing("`test_scan.py`, `test_gone.py`")) == ["test_gone.py"]


def test_every_file_of_interop_is_in_the_catalogue() -> None:
    named = set(BARE.findall((ROOT / "tests" / "README.md").read_text("utf-8")))
    assert {path.name for path in (ROOT / "tests" / "interop").glob("test_*.py")} <= named
