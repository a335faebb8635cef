"""The catalogue of fixtures, tests/data/README.md, names every fixture, and nothing that does not exist."""

import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
CATALOGUE = DATA / "README.md"
QUOTED = re.compile(r"`([^`]+)`")


def rows() -> list[list[str]]:
    """The cells of the tables' rows, without their heads."""
    lines = [line for line in CATALOGUE.read_text("utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return [row for row in cells if row[0] != "fixture"]


def named() -> list[str]:
    """The paths in the first column, relative to tests/data."""
    return [path for row in rows() for path in QUOTED.findall(row[0])]


def not_in(paths: list[str], catalogue: list[str]) -> list[str]:
    """The paths that no name of the catalogue covers."""
    return [path for path in paths if not any(path == name or path.startswith(f"{name}/") for name in catalogue)]


def git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def fixtures() -> list[str]:
    """All files in tests/data that Git does not ignore, relative to it."""
    files = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "tests/data")[0].split("\0")
    paths = (Path(file).relative_to("tests/data").as_posix() for file in files if file)
    return sorted(path for path in paths if path != CATALOGUE.name and (DATA / path).exists())


def test_every_fixture_is_in_the_catalogue() -> None:
    assert len(fixtures()) > 300
    missing = not_in(fixtures(), named())
    assert not missing, f"Add a row to {CATALOGUE.relative_to(ROOT)} for: {missing}"


def test_every_fixture_of_the_catalogue_exists() -> None:
    names = named()
    gone = [name for name in names if not (DATA / name).exists()]
    assert not gone, f"Remove from {CATALOGUE.relative_to(ROOT)}: {gone}"
    assert not [name for name, times in Counter(names).items() if times > 1]
    # A row for a folder that only holds other fixtures would hide what is missing.
    assert not [name for name in names if any(other.startswith(f"{name}/") for other in names)]


def test_every_row_names_its_tests() -> None:
    files = [f"/{path}" for path in git("ls-files", "src", "tests")]
    for row in rows():
        users = QUOTED.findall(row[-1])
        assert len(row) == 3, row
        assert users, row
        assert not [user for user in users if not any(file.endswith(f"/{user}") for file in files)], row


def test_an_unknown_fixture_would_be_found() -> None:
    assert not_in(["orc/new.orc"], named()) == ["orc/new.orc"]
