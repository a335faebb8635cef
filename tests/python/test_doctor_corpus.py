"""The doctor finds no error in the tables that Java wrote, also if it decodes every row.

`FRAZIL_ICEBERG_CORPUS` and `FRAZIL_PAIMON_CORPUS` name folders of such tables; without them nothing runs.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from frazil import doctor

FOLDERS = {"FRAZIL_ICEBERG_CORPUS": "metadata", "FRAZIL_PAIMON_CORPUS": "schema"}
"""The folder that each table has, by the variable that names the corpus."""


def tables(variable: str) -> list[Path]:
    root = os.environ.get(variable)
    found = [] if root is None else Path(root).rglob(FOLDERS[variable])
    # Branches of Paimon are folders in that of their table.
    return sorted({path.parent for path in found if path.is_dir() and "branch" not in path.parts})


@pytest.mark.parametrize("deep", [False, True], ids=["footers", "deep"])
@pytest.mark.parametrize("variable", FOLDERS)
def test_no_errors_in_the_corpus(variable: str, deep: bool) -> None:
    found = tables(variable)
    if not found:
        pytest.skip(f"{variable} names no folder of tables")
    for place in found:
        diagnosis = doctor.examine(place, deep=deep)
        assert not diagnosis.errors, (place, str(diagnosis))
