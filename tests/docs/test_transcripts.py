"""Every ```console block of docs/ is a transcript. Its commands run, and print what the page shows.

The commands of a page run one after the other in one shell. Its folder is empty; the page calls it `/home/ada`. A line
`$ …` is a command; what follows is its output, standard error included. Ids, times and sizes may differ, and so may the
spaces between columns.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
END = "--- end of command ---"
CHANGING = (
    (re.compile(r"\b\d{15,19}\b"), "ID"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"\b[\d,.]+ ([KMG]i)?B\b"), "SIZE"),
    (re.compile(r"\b[\d,.]+ m?s\b"), ""),
    (re.compile(r"[ \t]+"), " "),
)


class Command(NamedTuple):
    """A command of a page, and the output that the page shows."""

    text: str
    output: list[str]


def commands(page: Path) -> list[Command]:
    found: list[Command] = []
    for block in BLOCK.finditer(page.read_text("utf-8")):
        for line in block.group(1).splitlines():
            if line.startswith("$ "):
                found.append(Command(line[2:], []))
            else:
                found[-1].output.append(line)
    return found


def plain(lines: list[str]) -> list[str]:
    """The lines without what differs from run to run."""
    text = "\n".join(lines)
    for pattern, name in CHANGING:
        text = pattern.sub(name, text)
    return [line.strip() for line in text.strip().splitlines()]


def printed(asked: list[Command], folder: Path) -> list[list[str]]:
    """What each command prints."""
    program = folder.parent / "bin"
    program.mkdir()
    (program / "frazil").write_text(f'#!/bin/sh\nexec {sys.executable} -m frazil "$@"\n', "utf-8")
    (program / "frazil").chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYICEBERG_")}
    environment |= {"PATH": f"{program}:{os.environ['PATH']}", "HOME": str(folder), "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    script = "exec 2>&1 </dev/null\n" + "".join(f"{c.text}\n_code=$?; echo '{END}'; (exit $_code)\n" for c in asked)
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, cwd=folder, env=environment, timeout=500, check=False
    )
    parts = done.stdout.replace(str(folder), "/home/ada").split(END + "\n")
    return [part.splitlines() for part in parts[:-1]]


PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if commands(page)]


def test_there_are_transcripts() -> None:
    assert [page.name for page in PAGES]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    asked = commands(page)
    found = printed(asked, folder)
    assert len(found) == len(asked)
    for command, lines in zip(asked, found, strict=True):
        assert plain(lines) == plain(command.output), f"$ {command.text}\n" + "\n".join(lines)


def test_another_output_is_seen() -> None:
    assert plain(["size  1.5 KiB"]) == plain(["size 900 B"])
    assert plain(["6 rows"]) != plain(["7 rows"])
