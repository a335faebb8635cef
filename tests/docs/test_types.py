"""Type checkers find nothing wrong in README.md and the programs in examples/."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "name", ["README.md", *(f"examples/{p.name}" for p in sorted((ROOT / "examples").glob("*.py")))]
)
def test_types(name: str, tmp_path: Path) -> None:
    text = (ROOT / name).read_text("utf-8")
    program = tmp_path / "program.py"
    program.write_text("\n".join(BLOCK.findall(text)) if name.endswith(".md") else text, "utf-8")
    # Other libraries need not have types.
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports"]
    done = subprocess.run(
        [*command, "--cache-dir", str(tmp_path.parent / "cache"), str(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
