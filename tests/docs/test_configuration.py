"""docs/reference/configuration.md has every property, option, setting and variable that the code knows."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "configuration.md").read_text("utf-8")
SETTINGS = (ROOT / "docs" / "reference" / "spark.md").read_text("utf-8")
# Families of names that are only used for settings.
FAMILIES = (
    "write|commit|read|history|gc|encryption|rest|s3|client|gcs|adls|auth|oauth2|jdbc|ssl|gcp|scan|scan-planning|"
    "snapshot-loading|rest-metrics|rest-scan-planning|schema.name-mapping|streaming|frazil.executors|frazil.trusted"
)
NAME = re.compile(rf'"((?:{FAMILIES})[.-][a-z0-9._-]*[a-z0-9]\.?)"')
VARIABLE = re.compile(r"\b((?:FRAZIL|AWS|PYICEBERG)_[A-Z]+(?:_[A-Z]+)*)\b(?!__)")
# Strings of these forms that no user can set.
NO_SETTINGS = {
    "auth.rs",
    "s3-fips",
    "s3.amazonaws.com",
    "commit-identifier",
    "commit-report",
    "commit-snapshot-id",
    "encryption-key",
    "encryption-keys",
    "commit-user",
    "scan-report",
    "write-columns",
    "write-default",
    "write-order",
    # parts of names: their members are on the page
    "auth.custom.",
    "gcp.auth.",
    "rest.auth.",
    "rest.client.",
    "rest.client.proxy.",
    "rest.sig",
    "write.avro.",
    "write.delete.",
    "write.delete.avro.",
    "write.delete.parquet.",
    "write.manifest.",
    "write.parquet.",
    # Branches of Paimon's tables: tables with them are refused
    "scan.fallback-branch",
    "scan.fallback-delta-branch",
    "scan.fallback-snapshot-branch",
    "scan.primary-branch",
    # Options of Paimon that say how Java works
    "scan.bounded.watermark",
    "scan.ignore-corrupt-files",
    "scan.ignore-lost-files",
    "scan.manifest.parallelism",
    "scan.max-splits-per-task",
    "scan.plan-sort-partition",
}


def sources() -> Iterator[tuple[Path, str]]:
    """The code without its tests."""
    for path in [*(ROOT / "src").rglob("*.rs"), *(ROOT / "python").rglob("*.py")]:
        if path.parent.name == "names":  # names of other libraries, for hints
            continue
        if path.stem.endswith("tests") or "tests" in path.parts or "testing" in path.stem:
            continue
        yield path, path.read_text("utf-8").split("#[cfg(test)]\nmod tests {")[0]


def rust_list(file: str, constant: str) -> str:
    """The source text of a constant."""
    source = (ROOT / "src" / file).read_text("utf-8")
    found = re.search(rf"(?:const|static) {constant}: [^=]+=(.*?)\];", source, re.DOTALL)
    assert found, f"{file} has no {constant}"
    return found[1]


def texts(source: str) -> set[str]:
    return set(re.findall(r'"([a-z0-9._-]+)"', source))


def documented(name: str) -> bool:
    """Whether the page has a name. `X`, `NAME` and others stand for what follows a prefix."""
    text = PAGE + SETTINGS
    return f"`{name}`" in text or bool(name.endswith(".") and re.search(rf"`{re.escape(name)}[A-Z]+`", text))


def short_forms() -> set[str]:
    """Names that the page has in short: `rest.client.proxy.hostname`, `.port`."""
    proxy = {f"rest.client.proxy.{part}" for part in ("port", "username", "password") if f"`.{part}`" in PAGE}
    parts = ("access-key-id", "secret-access-key", "session-token", "role-arn", "role-session-name")
    assert PAGE.count("also `client.`") == 2
    return proxy | {f"client.{part}" for part in parts}


def missing(names: set[str]) -> list[str]:
    return sorted(name for name in names - NO_SETTINGS - short_forms() if not documented(name))


def test_properties_that_are_checked() -> None:
    file = "iceberg/evolve/properties.rs"
    known = texts(rust_list(file, "KNOWN")) | texts(rust_list(file, "OF_COLUMNS"))
    known = {name for name in known if "." in name}
    assert len(known) > 60
    assert missing(known) == []


def test_options_of_paimon() -> None:
    known = texts(rust_list("paimon/evolve/option_checks.rs", "TYPED"))
    of_columns = texts(rust_list("paimon/evolve/option_checks.rs", "OF_COLUMNS"))
    assert len(known) > 60
    assert missing(known | {f"fields.X.{name}" for name in of_columns}) == []


def test_options_of_paimon_that_are_read() -> None:
    getter = re.compile(r'\b(?:get|list|boolean|integer|bytes|duration_ms|positive)\(\s*"([a-z]+[.-][a-z0-9.-]+)"')
    read = {name for path, text in sources() if "paimon" in path.parts for name in getter.findall(text)}
    assert {"merge-engine", "file.compression"} <= read
    assert missing(read - {"lookup-compact"}) == []


def test_storage_options() -> None:
    dotted = set(re.findall(r'\(\s*"([a-z0-9.-]+)",\s*Service', rust_list("store/options.rs", "DOTTED")))
    assert len(dotted) > 60
    assert missing(dotted | texts(rust_list("store/options.rs", "OWN"))) == []


def test_scan_options() -> None:
    assert missing(texts(rust_list("rows/scan_options.rs", "NAMES"))) == []


def test_names_of_settings_anywhere() -> None:
    found = {name for _, text in sources() for name in NAME.findall(text)}
    found = {name for name in found if not name.endswith((".rs", ".json"))}
    assert len(found) > 150
    assert missing(found) == []


def test_settings_of_spark() -> None:
    found = {name for _, text in sources() for name in re.findall(r'"(spark\.frazil\.[a-z.-]+[a-z])"', text)}
    assert len(found) > 8
    assert missing(found) == []


def test_options_of_the_format() -> None:
    path = ROOT / "python" / "frazil" / "spark"
    read = (path / "reading" / "options.py").read_text("utf-8").split("def ")[0]
    written = re.findall(r"WRITE_OPTIONS = \((.+?)\)", (path / "writing" / "job.py").read_text("utf-8"), re.DOTALL)
    # Spark gives options in small letters.
    other_spellings = {"mergeschema", "overwriteschema"}
    options = set(re.findall(r'"([a-z][a-z-]+)"', read.split("VERSIONS", 2)[2])) | texts(written[0]) - other_spellings
    assert {"snapshot-id", "replace-where"} <= options
    assert missing(options) == []


def test_environment_variables() -> None:
    found = {name for _, text in sources() for name in VARIABLE.findall(text)}
    assert {"FRAZIL_MAX_READ_BYTES", "FRAZIL_PROGRESS"} <= found
    assert sorted(name for name in found if name not in PAGE) == []


@pytest.mark.parametrize("name", ["write.no-such.property", "spark.frazil.nothing", "s3.acces-key-id"])
def test_an_unknown_name_is_missed(name: str) -> None:
    assert missing({name}) == [name]


def test_the_page_names_nothing_that_the_code_does_not_know() -> None:
    code = "\n".join(text for _, text in sources())
    named = set(re.findall(r"`((?:write|commit|read|history|rest|s3|gcs|adls|client)\.[a-z0-9.-]+)`", PAGE))
    generic = {name for name in named if name.split(".")[-1] in ("column", "X")}

    def known(name: str) -> bool:
        parts = name.split(".")
        tails = {".".join(parts[i:]) for i in range(len(parts))}
        return any(f'"{tail}"' in code for tail in tails if len(tail) > 4 or tail == name)

    assert sorted(name for name in named - generic if not known(name)) == []
