"""Type checkers find nothing wrong in README.md and the programs in examples/, and find mistakes in what users write.

`make types` checks all pages with pyright.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def checked(program: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """What mypy says about a program."""
    # Other libraries need not have types.
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports"]
    return subprocess.run(
        [*command, "--cache-dir", str(folder.parent / "cache"), str(program)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"MYPYPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"},
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    "name", ["README.md", *(f"examples/{p.name}" for p in sorted((ROOT / "examples").glob("*.py")))]
)
def test_types(name: str, tmp_path: Path) -> None:
    text = (ROOT / name).read_text("utf-8")
    program = tmp_path / "program.py"
    program.write_text("\n".join(BLOCK.findall(text)) if name.endswith(".md") else text, "utf-8")
    done = checked(program, tmp_path)
    assert done.returncode == 0, done.stdout


def test_what_users_write_is_typed(tmp_path: Path) -> None:
    program = Path(__file__).with_name("typed_habits.py")
    lines = program.read_text("utf-8").splitlines()
    refused = {number for number, line in enumerate(lines, 1) if line.endswith("# refused")}
    said = checked(program, tmp_path).stdout
    assert {int(number) for number in re.findall(r"^\S+\.py:(\d+): error", said, re.MULTILINE)} == refused, said
    assert len(refused) > 5
