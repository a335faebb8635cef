"""Licences of the crates in the wheels: `python tools/licences.py [--check]` writes or checks THIRD-PARTY-LICENSES.

There is a list for the wheels of Frazil, and one for those of `packages/datafusion`. A list has every crate that is
linked into a wheel of any platform, and the texts that its licence wants to be passed on. Where a crate offers a
choice, the first licence of PREFERRED is taken. Licences have to be allowed by `deny.toml`.
`--check` needs the network only for crates that were never fetched. It looks at the crates of Linux alone, and asks
`cargo deny` for advisories if it is there.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parents[1]
STORED = "THIRD-PARTY-LICENSES"
# The crates that wheels are made of, and what `cargo` needs to know of them.
WHEELS = {ROOT: ["--features", "python"], ROOT / "packages" / "datafusion": []}
LINUX = [f"{machine}-unknown-linux-{libc}" for machine in ("x86_64", "aarch64") for libc in ("gnu", "musl")]
OTHERS = ["x86_64-apple-darwin", "aarch64-apple-darwin", "x86_64-pc-windows-msvc"]
PREFERRED = ["Apache-2.0", "MIT"]
LICENCE_FILE = re.compile(r"(licen[sc]es?|copying|copyright|notice|unlicense)([-._].*)?", re.IGNORECASE)
SOURCE_FILE = re.compile(r"\.(rs|c|h|py|sh|toml|json|html|pl|in)$")
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
# What compilers link into a wheel in addition to the crates.
RUNTIME = [
    ("Rust's standard library", "Apache-2.0 OR MIT"),
    ("LLVM's libunwind and compiler-rt", "Apache-2.0 WITH LLVM-exception"),
]

Package = dict[str, Any]


def alternatives(expression: str) -> list[frozenset[str]]:
    """The sets of licences that satisfy an SPDX expression: `(A OR B) AND C` gives {A, C} and {B, C}."""
    tokens = re.findall(r"[()]|[^()\s]+", expression.replace("/", " OR "))

    def choice() -> list[frozenset[str]]:
        out = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            out += both()
        return out

    def both() -> list[frozenset[str]]:
        out = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            out = [left | right for right in one() for left in out]
        return out

    def one() -> list[frozenset[str]]:
        name = tokens.pop(0)
        if name == "(":
            out = choice()
            tokens.pop(0)
            return out
        if tokens and tokens[0] == "WITH":
            name += f" WITH {tokens.pop(1)}"
            tokens.pop(0)
        return [frozenset([name])]

    return choice()


def chosen(expression: str, allowed: set[str]) -> frozenset[str] | None:
    """The licences that Frazil takes a crate under, or None if no alternative is allowed."""

    def rank(licences: frozenset[str]) -> tuple[int, int, list[str]]:
        worst = max(PREFERRED.index(name) if name in PREFERRED else len(PREFERRED) for name in licences)
        return worst, len(licences), sorted(licences)

    return min((found for found in alternatives(expression) if found <= allowed), key=rank, default=None)


def linked(metadata: dict[str, Any]) -> list[Package]:
    """The crates that are linked into the wheel: no tools of the build, no macros, and not Frazil itself."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    found, waiting = {root}, [root]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            linked_kind = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            macro = any("proc-macro" in target["kind"] for target in packages[dependency["pkg"]]["targets"])
            if linked_kind and not macro and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return [packages[name] for name in found - {root}]


def crates(wheel: Path, targets: list[str]) -> list[Package]:
    """The linked crates of a wheel for some targets, by name and version."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", *WHEELS[wheel]]
    found = {}
    for target in targets:
        run = subprocess.run(
            [*command, "--filter-platform", target], cwd=wheel, stdout=subprocess.PIPE, check=True, text=True
        )
        found.update({package["id"]: package for package in linked(json.loads(run.stdout))})
    return sorted(found.values(), key=lambda package: (package["name"], package["version"]))


def licence_files(folder: Path) -> list[Path]:
    """The files with licences and notices in a crate, and in the C libraries that it carries."""
    found = [path for path in folder.rglob("*") if path.is_file() and LICENCE_FILE.fullmatch(path.name)]
    tests = {"tests", "test", "contrib", "examples", "programs", "benches", "third_party", "doc"}
    own = [path for path in found if not tests & set(path.relative_to(folder).parts[:-1])]
    return sorted(path for path in own if not SOURCE_FILE.search(path.name))


def is_passed_on(path: Path, taken: frozenset[str], folder: Path) -> bool:
    """Whether a file's text belongs into the list: Apache's own text is there once, others only if they were taken."""
    if path.name.lower().startswith("notice"):
        return True
    text = path.read_text("utf-8", "replace")
    others = "Permission is hereby granted" in text or "Redistribution and use in source" in text
    if "GNU GENERAL PUBLIC LICENSE" in text or (re.search(r"Apache License\s+Version 2\.0", text) and not others):
        return False
    return path.parent != folder or taken != {"Apache-2.0"}


def texts(packages: list[Package], taken: dict[str, frozenset[str]]) -> dict[str, list[str]]:
    """Each text and the crates it belongs to. A crate without a file takes those of its repository's other crates."""
    files: dict[str, list[Path]] = {package["id"]: licence_files(folder_of(package)) for package in packages}
    out: dict[str, list[str]] = {}
    for package in packages:
        name, licences = f"{package['name']} {package['version']}", taken[package["id"]]
        siblings = [other for other in packages if other["repository"] == package["repository"]]
        source = next((one for one in [package, *siblings] if files[one["id"]]), None)
        paths = [] if source is None else files[source["id"]]
        passed = [path for path in paths if is_passed_on(path, licences, folder_of(source or package))]
        if not passed and licences != {"Apache-2.0"}:
            raise SystemExit(f"{name}: its licence is {' and '.join(sorted(licences))}, and no file has the text")
        for path in passed:
            lines = [line.rstrip() for line in path.read_text("utf-8", "replace").strip().splitlines()]
            names = out.setdefault("\n".join(lines), [])
            if name not in names:
                names.append(name)
    return out


def folder_of(package: Package) -> Path:
    """Where a crate's files are."""
    return Path(package["manifest_path"]).parent


def written(packages: list[Package], allowed: set[str]) -> str:
    """The whole list: a line for each crate, then the texts."""
    taken = {package["id"]: chosen(package["license"] or "", allowed) or frozenset() for package in packages}
    lines = ["Licences of the libraries in Frazil's wheels", "", "Written by tools/licences.py."]
    lines += ["The text of Apache-2.0 is in the file LICENSE. The other texts follow the list.", ""]
    for package in packages:
        licences = " AND ".join(sorted(taken[package["id"]]))
        lines.append(f"{package['name']} {package['version']}: {licences} ({package['repository'] or 'crates.io'})")
    lines += [f"{name}: {expression}" for name, expression in RUNTIME]
    for text, names in texts(packages, taken).items():
        lines += ["", "=" * 80, *names, "-" * 80, text]
    lines += ["", "=" * 80, RUNTIME[1][0], "-" * 80, llvm_exception(packages)]
    return "\n".join(lines) + "\n"


def llvm_exception(packages: list[Package]) -> str:
    """The text of LLVM's exception, which several crates carry after Apache's."""
    for path in (path for package in packages for path in licence_files(folder_of(package)) if "LLVM" in path.name):
        _, found, text = path.read_text("utf-8", "replace").partition("LLVM Exceptions to the Apache 2.0 License")
        if found:
            return found + text.rstrip()
    raise SystemExit("no crate carries the text of LLVM's exception: add it to tools/licences.py")


def faults(packages: list[Package], allowed: set[str], lock: str, stored: str) -> list[str]:
    """What is wrong: licences that are not allowed, crates from other places, and a list that is out of date."""
    out = []
    listed = re.findall(r"^(\S+ \d\S*): ", stored.split("=" * 80)[0], re.MULTILINE)
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if chosen(package["license"] or "none", allowed) is None:
            out.append(f"{name}: deny.toml does not allow its licence, {package['license']}")
        if name not in listed:
            out.append(f"{name}: THIRD-PARTY-LICENSES lacks it: run make licences")
    known = tomllib.loads(lock)["package"]
    elsewhere = [one for one in known if one.get("source", CRATES_IO) != CRATES_IO]
    out += [f"{one['name']}: it comes from {one['source']}" for one in elsewhere]
    names = {f"{one['name']} {one['version']}" for one in known}
    return out + [f"{name}: Cargo.lock lacks it: run make licences" for name in listed if name not in names]


def advisories() -> bool:
    """Whether `cargo deny` knows no advisory against a crate. True if it is not installed or has no data."""
    if shutil.which("cargo-deny") is None:
        print("Advisories are not checked: cargo-deny is not installed. The nightly workflow checks them.")
        return True
    if subprocess.run(["cargo", "deny", "-L", "error", "fetch", "db"], cwd=ROOT, capture_output=True).returncode:
        print("Advisories are not checked: cargo-deny can't load its data.")
        return True
    return subprocess.run(["cargo", "deny", "check", "advisories", "--disable-fetch"], cwd=ROOT).returncode == 0


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="compare with the stored list and write nothing")
    check = arguments.parse_args().check
    allowed = set(tomllib.loads((ROOT / "deny.toml").read_text("utf-8"))["licenses"]["allow"])
    found = []
    for wheel in WHEELS:
        stored = wheel / STORED
        if check:
            lock = (wheel / "Cargo.lock").read_text("utf-8")
            found += faults(crates(wheel, LINUX[:1]), allowed, lock, stored.read_text("utf-8"))
        else:
            packages = crates(wheel, [*LINUX, *OTHERS])
            stored.write_text(written(packages, allowed), "utf-8")
            print(f"{stored.relative_to(ROOT)}: {len(packages)} crates")
    if check:
        print("\n".join(found) or "The licences of all crates are allowed and listed.")
        raise SystemExit(bool(found) or not advisories())


if __name__ == "__main__":
    main()
