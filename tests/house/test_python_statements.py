"""Python asks for no format, reads no JSON, and imports by statements."""

from pathlib import Path

import pytest
import python_statements  # noqa: F401 (enters the rules)
from rules import RULES
from rust_source import ROOT
from tiny_tree import plant

NAMES = ["format-questions", "python-json", "python-imports"]


@pytest.mark.parametrize("name", NAMES)
def test_the_package_keeps_the_rule(name: str) -> None:
    assert RULES[name].faults(ROOT) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_tiny_package_keeps_the_rule(name: str, tmp_path: Path) -> None:
    assert RULES[name].offences(plant(tmp_path, {})) == []


SCAN = "python/frazil/scan.py"
PLANTED = {
    "equal": ("format-questions", 'if table.format == "iceberg":\n    f()\n'),
    "not equal": ("format-questions", 'if scan._table.format != "paimon":\n    f()\n'),
    "one of": ("format-questions", 'if kind in ("iceberg", "paimon"):\n    f()\n'),
    "a match": ("format-questions", 'match table.format:\n    case "paimon":\n        f()\n'),
    "a constant": ("format-questions", 'I = "Iceberg"\n'),
    "equal to a name": ("format-questions", "if t.format == I:\n    f()\n"),
    "a look-up": ("format-questions", "F[t.format]()\n"),
    "a method": ("format-questions", 'if t.format.startswith("ice"):\n    f()\n'),
    "a variable": ("format-questions", "kind = t.format\n"),
    "a call": ("format-questions", "f(t.format)\n"),
    "by getattr": ("format-questions", 'if getattr(t, "format") == I:\n    f()\n'),
    "a member": ("format-questions", 'if facts["format"] == I:\n    f()\n'),
    "a text with it": ("format-questions", 'if f"{t.format}" == I:\n    f()\n'),
    "a method of a text with it": ("format-questions", 'if f"{t.format}".startswith(I):\n    f()\n'),
    "another property": ("format-questions", "def kind(t):\n    return t.format\n"),
    "a property that asks": ("format-questions", "def format(t):\n    return t.format == I\n"),
    "another default": ("format-questions", 'def f(kind="paimon"): ...\n'),
    "json": ("python-json", "import json\n"),
    "from json": ("python-json", "def f():\n    from json import loads\n"),
    "a part of json": ("python-json", "import json.decoder\n"),
    "another library": ("python-json", "import orjson\n"),
    "from another library": ("python-json", "from pyarrow import json\n"),
    "an attribute": ("python-json", "def f():\n    wire.json.loads(text)\n"),
    "by __import__": ("python-json", 'j = __import__("json")\n'),
    "by importlib": ("python-json", 'j = importlib.import_module("json.decoder")\n'),
    "by a name": ("python-json", 'J = "ujson"\n'),
    "another argument": ("python-json", 'f(module="json")\n'),
    "by pandas": ("python-json", "pd.read_json(text)\n"),
    "a literal": ("python-json", "from ast import literal_eval\nliteral_eval(text)\n"),
    "code": ("python-json", "eval(text)\n"),
    "importlib": ("python-imports", 'import importlib\n\nimportlib.import_module("frazil.spark.read")\n'),
    "from importlib": ("python-imports", 'from importlib import import_module as load\n\nload("frazil.spark.read")\n'),
    "__import__": ("python-imports", '__import__("frazil.spark.read")\n'),
    "__import__ by another name": ("python-imports", "load = __import__\n"),
    "loaded modules": ("python-imports", 'import sys\n\nsys.modules["frazil.spark.read"]\n'),
}


@pytest.mark.parametrize(("name", "source"), PLANTED.values(), ids=PLANTED)
def test_a_planted_offence_is_seen(name: str, source: str, tmp_path: Path) -> None:
    assert SCAN in {offence.where for offence in RULES[name].offences(plant(tmp_path, {SCAN: source}))}


def test_a_format_of_another_library_is_no_module(tmp_path: Path) -> None:
    source = 'expression.serialize(format="json")\n'
    assert RULES["python-json"].offences(plant(tmp_path, {SCAN: source})) == []


def test_every_rule_has_a_planted_offence() -> None:
    assert {name for name, _ in PLANTED.values()} == set(NAMES)


def test_what_spark_finds_is_read_too(tmp_path: Path) -> None:
    root = plant(tmp_path, {"python/pyspark_frazil/__init__.py": "import json\n"})
    assert RULES["python-json"].offences(root)


@pytest.mark.parametrize(
    "source",
    [
        '"""iceberg"""\n',
        "def f(t):\n    return f'{t.format} of version {t.format_version}'\n",
        "class T:\n    @property\n    def format(self):\n        return self._core.format\n",
        'def create(name, format="iceberg", *, schema=None): ...\n',
        'spark.read.format("frazil").load()\n',
        '"{} rows".format(5)\n',
    ],
)
def test_a_format_may_be_shown_and_chosen(source: str, tmp_path: Path) -> None:
    assert RULES["format-questions"].offences(plant(tmp_path, {SCAN: source})) == []


def test_json_has_its_methods(tmp_path: Path) -> None:
    source = 'Split.from_json(text).to_json()\nfunctions.to_json(column)\nmessage = "no JSON"\n'
    assert RULES["python-json"].offences(plant(tmp_path, {SCAN: source})) == []
