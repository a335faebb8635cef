"""Every ```python block of README.md and docs/ runs: a page's blocks one after the other, in one namespace, in an empty
folder and a process of their own. Then the page runs again in the same folder, as a reader would do it: in a new
process, or, where Spark takes its time to start, in the same session, as in a notebook. A failure's traceback names the
page and its line."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^( *)```python[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
# Tables that Frazil can't make; each run gets new copies.
JAVA_TABLES = "paimon.md"


def program(page: Path) -> str:
    """The page as a Python program: code stays on its lines, everything between is blank."""
    text = page.read_text("utf-8")
    lines = [""] * text.count("\n")
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(2))
        indent = len(block.group(1))
        for number, line in enumerate(block.group(2).splitlines()):
            lines[first + number] = line[indent:]
    return "\n".join(lines)


def uses_spark(page: Path) -> bool:
    return "pyspark" in program(page)


PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if program(page).strip()]
# Those of Spark first: they take minutes, and shall not be left for one process.
PAGES.sort(key=uses_spark, reverse=True)


def test_there_are_examples() -> None:
    assert len(PAGES) > 5


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run_twice(page: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "TZ": "UTC",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "TMPDIR": str(tmp_path / "tmp"),
    }
    (tmp_path / "tmp").mkdir()
    (tmp_path / "work").mkdir()
    again = uses_spark(page) and page.name != JAVA_TABLES
    # In the globals of `__main__`, so that worker processes find the page's functions. No name that the page may set
    # decides what runs next.
    run = f"for page in [compile(open(0, encoding='utf-8').read(), {str(page)!r}, 'exec')] * {2 if again else 1}:\n"
    run += "    exec(page, globals())"
    for number in ["both runs"] if again else ["first run", "second run"]:
        if page.name == JAVA_TABLES:
            shutil.rmtree(tmp_path / "work" / "warehouse", ignore_errors=True)
            shutil.copytree(ROOT / "tests" / "data" / "paimon", tmp_path / "work" / "warehouse" / "shop.db")
        done = subprocess.run(
            [sys.executable, "-c", run],
            input=program(page),
            capture_output=True,
            text=True,
            cwd=tmp_path / "work",
            env=environment,
            timeout=580,
        )
        assert done.returncode == 0, f"{number}: {done.stderr[-4000:]}\n{done.stdout[-1000:]}"
