"""The arrows of the Python package point down, and there are no circles."""

from pathlib import Path

import pytest
import python_package
from python_graph import package_files
from rules import RULES
from rust_source import ROOT
from tiny_tree import plant

NAMES = ["python-circles", "python-order"]


@pytest.mark.parametrize("name", NAMES)
def test_the_package_keeps_the_rule(name: str) -> None:
    assert RULES[name].faults(ROOT) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_tiny_package_keeps_the_rule(name: str, tmp_path: Path) -> None:
    assert RULES[name].offences(plant(tmp_path, {})) == []


SCAN = "python/frazil/scan.py"
CLOSED = f"python/frazil/table.py -> {SCAN}"
PLANTED = {
    "when loaded": ("python-circles", {SCAN: "from frazil.table import Table\n"}, CLOSED),
    "inside of a function": ("python-circles", {SCAN: "def f():\n    import frazil.table\n"}, CLOSED),
    "relative": ("python-circles", {SCAN: "from .table import Table\n"}, CLOSED),
    "Spark": ("python-order", {SCAN: "from frazil.spark.read import read\n"}, f"{SCAN} -> spark.read"),
    "Spark inside of a function": (
        "python-order",
        {SCAN: "def f():\n    import frazil.spark.read\n"},
        f"{SCAN} -> spark.read",
    ),
    "a folder takes from what is built on it": (
        "python-order",
        {"python/frazil/requests/rows.py": "from frazil.table import Table\n"},
        "python/frazil/requests/rows.py -> table",
    ),
    "two folders of Spark": (
        "python-order",
        {
            "python/frazil/spark/lanes/arrow.py": "from frazil.spark.reading.options import Options\n",
            "python/frazil/spark/reading/options.py": "class Options: ...\n",
        },
        "python/frazil/spark/lanes/arrow.py -> spark.reading",
    ),
    "a new folder": ("python-order", {"python/frazil/spark/other/new.py": ""}, "part spark.other"),
    "what Spark finds": (
        "python-order",
        {SCAN: "import pyspark_frazil\n", "python/pyspark_frazil/__init__.py": ""},
        f"{SCAN} -> pyspark_frazil",
    ),
}


@pytest.mark.parametrize(("name", "changed", "where"), PLANTED.values(), ids=PLANTED)
def test_a_planted_offence_is_seen(name: str, changed: dict[str, str], where: str, tmp_path: Path) -> None:
    assert where in {offence.where for offence in RULES[name].offences(plant(tmp_path, changed))}


def test_every_part_of_the_order_exists() -> None:
    listed = [part for row in python_package.PARTS for part in row]
    assert sorted(listed) == sorted({file.part for file in package_files(ROOT)})


def test_every_rule_has_a_planted_offence() -> None:
    assert {name for name, _, _ in PLANTED.values()} == set(NAMES)
