"""A tiny checkout that keeps every house rule; tests plant one offence in it and expect that rule to report it."""

from __future__ import annotations

import re
from pathlib import Path

# Each file stands below a line `=== its/path`.
TREE = Path(__file__).resolve().parents[1] / "tiny_tree.txt"


def good() -> dict[str, str]:
    """The files of the tiny checkout."""
    _, *parts = re.split(r"^=== (.+)\n", TREE.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def plant(root: Path, changed: dict[str, str]) -> Path:
    """Writes the tiny checkout with some files added or replaced."""
    for name, source in {**good(), **changed}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, "utf-8")
    return root
