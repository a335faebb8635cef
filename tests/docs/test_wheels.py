"""The tools that make wheels, and the list of licences that wheels carry."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import licences
import make_wheels
import pytest
import sdist
import smoke
import wheel_targets
import wheel_tries

ALLOWED = {"MIT", "Apache-2.0", "BSD-3-Clause", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"}


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("MIT", {"MIT"}),
        ("MIT OR Apache-2.0", {"Apache-2.0"}),
        ("MIT/Apache-2.0", {"Apache-2.0"}),
        ("Unlicense OR MIT", {"MIT"}),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", {"Apache-2.0"}),
        ("Apache-2.0 WITH LLVM-exception", {"Apache-2.0 WITH LLVM-exception"}),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", {"Apache-2.0", "Unicode-3.0"}),
        ("MIT AND (GPL-2.0 OR BSD-3-Clause)", {"MIT", "BSD-3-Clause"}),
        ("MIT AND BSD-3-Clause OR Apache-2.0", {"Apache-2.0"}),
        ("GPL-2.0", None),
        ("MIT AND GPL-2.0", None),
        ("GPL-2.0 WITH LLVM-exception OR LGPL-2.1-or-later", None),
    ],
)
def test_a_licence_is_chosen(expression: str, wanted: set[str] | None) -> None:
    assert licences.chosen(expression, ALLOWED) == wanted


def package(name: str, licence: str | None = "MIT", kind: str = "lib") -> dict[str, object]:
    return {"id": name, "name": name, "version": "1.0.0", "license": licence, "targets": [{"kind": [kind]}]}


def test_only_linked_crates_count() -> None:
    edges = {"frazil": [("a", None), ("tool", "build"), ("macro", None), ("mock", "dev")], "a": [("b", None)]}
    edges |= {"macro": [("syn", None)], "tool": [], "mock": [], "syn": [], "b": [("a", None)]}
    nodes = [
        {"id": name, "deps": [{"pkg": to, "dep_kinds": [{"kind": kind}]} for to, kind in deps]}
        for name, deps in edges.items()
    ]
    packages = [package(name, kind="proc-macro" if name == "macro" else "lib") for name in edges]
    found = licences.linked({"packages": packages, "resolve": {"root": "frazil", "nodes": nodes}})
    assert sorted(one["name"] for one in found) == ["a", "b"]


LOCK = """
[[package]]
name = "a"
version = "1.0.0"
source = "registry+https://github.com/rust-lang/crates.io-index"

[[package]]
name = "frazil"
version = "0.1.0"
"""


def test_faults_of_licences() -> None:
    stored = "Licences\n\na 1.0.0: MIT (x)\n" + "=" * 80 + "\nb 1.0.0: in a text\n"
    assert licences.faults([package("a")], ALLOWED, LOCK, stored) == []
    found = licences.faults([package("a", "GPL-3.0"), package("b", None)], ALLOWED, LOCK, stored)
    assert [text.split(":")[0] for text in found] == ["a 1.0.0", "b 1.0.0", "b 1.0.0"]
    assert "deny.toml does not allow its licence, GPL-3.0" in found[0]
    assert "lacks it: run make licences" in found[2]
    changed = LOCK.replace('"1.0.0"\nsource = "registry+https://github.com/rust-lang/crates.io-index"', '"1.0.1"')
    assert licences.faults([], ALLOWED, changed, stored) == ["a 1.0.0: Cargo.lock lacks it: run make licences"]
    elsewhere = LOCK.replace("registry+https://github.com/rust-lang/crates.io-index", "git+https://example.com/a")
    assert licences.faults([], ALLOWED, elsewhere, stored) == ["a: it comes from git+https://example.com/a"]


def test_the_list_has_the_texts_that_crates_carry() -> None:
    text = (licences.ROOT / licences.STORED).read_text("utf-8")
    for wanted in [
        "Copyright (c) 2015 Andrew Gallant",  # MIT
        "Apache Arrow\nCopyright 2016",  # a NOTICE
        "Copyright (C) 2002-present Jason Evans",  # a C library in a crate
        "Copyright (c) Meta Platforms",
        "UNICODE LICENSE V3",
        "LLVM Exceptions to the Apache 2.0 License",
    ]:
        assert wanted in text, wanted
    assert "GNU GENERAL PUBLIC LICENSE" not in text
    assert len(text) < 300_000


def wheel(folder: Path, name: str, parts: list[str]) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as out:
        for part in parts:
            out.writestr(part, "")
    return path


def test_a_wheel_without_licences_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_wheels, "newest_glibc", lambda path: "2.17" if "many" in path.name else "")
    info = "frazil-0.1.0.dist-info"
    whole = [f"{info}/{part}" for part in make_wheels.PARTS]
    assert (
        make_wheels.content(wheel(tmp_path, "many.whl", whole))
        == "ok: licences, bill of materials, symbols up to glibc 2.17"
    )
    assert make_wheels.content(wheel(tmp_path, "musl.whl", whole)).endswith("no symbols of glibc")
    assert make_wheels.content(wheel(tmp_path, "many.whl", whole[1:])) == "FAILED: it has no licenses/LICENSE"
    monkeypatch.setattr(make_wheels, "MOST_BYTES", 10)
    assert make_wheels.content(wheel(tmp_path, "many.whl", whole)).startswith("FAILED: it is larger")


@pytest.mark.parametrize(
    ("name", "free", "wanted"),
    [
        ("frazil-1-cp310-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", False, ["x86_64-gnu"]),
        ("frazil-1-cp310-abi3-musllinux_1_2_x86_64.whl", False, ["x86_64-musl"]),
        ("frazil-1-cp310-abi3-musllinux_1_2_aarch64.whl", False, ["aarch64-musl"]),
        ("frazil-1-cp310-abi3-manylinux_2_17_aarch64.manylinux2014_aarch64.whl", True, []),
        ("frazil-1-cp314-cp314t-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True, ["x86_64-gnu"]),
        ("frazil-1-cp314-cp314t-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", False, []),
    ],
)
def test_where_a_wheel_is_tried(name: str, free: bool, wanted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel_tries.Place, "free_threaded", lambda _: free)
    places = [wheel_tries.Place("here", target, "python") for target in wheel_targets.TARGETS]
    path = Path(name)
    fitting = [place for place in places if wheel_tries.fits_machine(path, place)]
    assert [place.target for place in fitting if wheel_tries.fits_python(path, place)] == wanted


def stand_in(folder: Path, printed: str) -> Path:
    """A program in the place of Python: as pip it does nothing, and each import takes the next of some times."""
    (folder / "times").write_text("0.5\n0.03\n0.04\n0.2\n0.3\n")
    script = f"""#!/bin/sh
case "$*" in
*version_info*) echo 3.12 ;;
*GIL_DISABLED*) echo 0 ;;
*perf_counter*) head -1 {folder}/times; sed -i 1d {folder}/times ;;
*smoke.py*) {printed} ;;
esac
"""
    (path := folder / "python").write_text(script)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("printed", "wanted"),
    [
        ("echo about; echo 'ok: import'", "ok: import, imported in 30 ms"),
        ("echo 'Traceback'>&2; echo 'ValueError: no' >&2; exit 1", "FAILED: ValueError: no"),
        ("exit 3", "FAILED: no message"),
    ],
)
def test_a_wheel_is_tried(printed: str, wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").mkdir()
    for name in ("pip-1-py3-none-any.whl", "pyarrow-1.whl"):
        (tmp_path / "cache" / name).write_text("")
    monkeypatch.setattr(wheel_tries, "pyarrow", lambda _: tmp_path / "cache")
    (path := tmp_path / "frazil-1-cp310-abi3-manylinux_2_17_x86_64.whl").write_text("")
    place = wheel_tries.Place("here", "x86_64-gnu", str(stand_in(tmp_path, printed)))
    assert wheel_tries.tried(path, place) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "no message"),
        ("no room\n", "no room"),
        ("Traceback\n  a\nModuleNotFoundError: No module named 'x'\n", "ModuleNotFoundError: No module named 'x'"),
        (
            "Traceback\npy4j.protocol.Py4JJavaError: An error\n: org.SparkException: none\n\tat a.b\n\t... 21 more\n",
            "org.SparkException: none",
        ),
    ],
)
def test_the_error_of_a_try(text: str, wanted: str) -> None:
    assert wheel_tries.error_line(text) == wanted


def test_a_python_that_does_not_start(tmp_path: Path) -> None:
    (path := tmp_path / "frazil-1-cp310-abi3-manylinux_2_17_x86_64.whl").write_text("")
    place = wheel_tries.Place("here", "x86_64-gnu", "false")
    assert wheel_tries.tried(path, place) == "FAILED: false ended with 1"


def test_places_that_are_missing(tmp_path: Path) -> None:
    place = wheel_tries.Place("a root", "x86_64-musl", "/opt/python", tmp_path)
    assert wheel_tries.tried(Path("frazil-1-cp310-abi3-musllinux_1_2_x86_64.whl"), place).startswith("not tried: ")
    assert wheel_tries.tried(Path("frazil-1-cp310-abi3-musllinux_1_2_aarch64.whl"), place) == ""


def test_builds_for_arm_allow_large_pages() -> None:
    build = {name: wheel_targets.environment(target, Path("/tools")) for name, target in wheel_targets.TARGETS.items()}
    assert {name: found.get("JEMALLOC_SYS_WITH_LG_PAGE") for name, found in build.items()} == {
        "x86_64-gnu": None,
        "x86_64-musl": None,
        "aarch64-gnu": "16",
        "aarch64-musl": "16",
    }
    command = wheel_targets.build_command(wheel_targets.TARGETS["aarch64-musl"], "python3.14t")
    assert command[command.index("--compatibility") + 1] == "musllinux_1_2"
    assert command[command.index("--compression-level") + 1] == "9"
    assert "--zig" in command


def test_vendored_crates_are_shortened(tmp_path: Path) -> None:
    for name in ("kept", "left"):
        for file in ("src/lib.rs", "src/tests/a.rs", "tests/t.rs", "Cargo.toml"):
            (path := tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            path.write_text("text")
        files = {"src/lib.rs": "1", "src/tests/a.rs": "2", "tests/t.rs": "3", "Cargo.toml": "4"}
        (tmp_path / name / ".cargo-checksum.json").write_text(json.dumps({"files": files, "package": "sum"}))
        sdist.shortened(tmp_path / name, name == "kept")
    sums = [json.loads((tmp_path / name / ".cargo-checksum.json").read_text()) for name in ("kept", "left")]
    assert [list(one["files"]) for one in sums] == [["src/lib.rs", "src/tests/a.rs", "Cargo.toml"], []]
    assert [one["package"] for one in sums] == ["sum", "sum"]
    assert (tmp_path / "left/src/lib.rs").read_text() == ""
    assert (tmp_path / "left/Cargo.toml").read_text() == "text"


def test_the_source_package_has_files_of_its_own_folders_alone() -> None:
    """A pattern without a slash in front matches in every folder, also in those of virtual environments."""
    found = re.search(r"^include = (\[.*\])$", (licences.ROOT / "Cargo.toml").read_text("utf-8"), re.MULTILINE)
    assert found is not None
    patterns = json.loads(found[1])
    assert "/README.md" in patterns
    assert [pattern for pattern in patterns if not pattern.startswith("/")] == []


def test_sdists_are_the_same_each_time(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("text")
    for name in ("1.tar.gz", "2.tar.gz"):
        sdist.packed(tmp_path / "a", tmp_path / name)
    assert (tmp_path / "1.tar.gz").read_bytes() == (tmp_path / "2.tar.gz").read_bytes()


def test_what_wheels_are_tried_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    smoke.example(licences.ROOT / "README.md")
    smoke.threads()
    smoke.page()
    with pytest.raises(AssertionError, match="no Python example"):
        smoke.example(licences.ROOT / "NOTICE")
