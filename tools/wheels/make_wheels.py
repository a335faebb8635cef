"""Builds wheels for Linux and tries them: `python tools/wheels/make_wheels.py [--only x86_64-gnu,…] [--no-build]`.

Prints a table: each wheel, its size, where it was tried, and the result. Ends with 1 if something failed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from wheel_targets import DIST, PYTHONS, ROOT, TARGETS, build_command, environment
from wheel_tries import hosts, newest_glibc, roots, tried

MOST_BYTES = 20_000_000
PARTS = ("licenses/LICENSE", "licenses/NOTICE", "licenses/THIRD-PARTY-LICENSES", "sboms/frazil.cyclonedx.json")


def build(names: list[str], pythons: list[str]) -> None:
    """Builds the wheels into `dist`, one at a time."""
    rustup = shutil.which("rustup")
    for name in names:
        target = TARGETS[name]
        if rustup is not None:
            subprocess.run([rustup, "-q", "target", "add", target.rust], cwd=ROOT, check=True)
        for python in pythons:
            print(f"== {name}, {python}", flush=True)
            variables = environment(target, Path(sys.executable).parent)
            subprocess.run(build_command(target, PYTHONS[python]), cwd=ROOT, env=variables, check=True)


def content(wheel: Path) -> str:
    """What the wheel itself shows: its parts and what it asks of glibc. Begins with FAILED if a part is missing."""
    names = zipfile.ZipFile(wheel).namelist()
    lacking = [part for part in PARTS if not any(name.endswith(f".dist-info/{part}") for name in names)]
    if lacking:
        return f"FAILED: it has no {', '.join(lacking)}"
    if wheel.stat().st_size > MOST_BYTES:
        return f"FAILED: it is larger than {MOST_BYTES // 1_000_000} MB"
    glibc = newest_glibc(wheel)
    return "ok: licences, bill of materials" + (f", symbols up to glibc {glibc}" if glibc else ", no symbols of glibc")


def rows(wheels: list[Path], try_them: bool) -> list[tuple[str, str, str, str]]:
    """The table: wheel, size, place, result."""
    out = []
    for wheel in wheels:
        size = f"{wheel.stat().st_size / 1e6:.1f} MB"
        out.append((wheel.name, size, "its content", content(wheel)))
        for place in [*hosts(), *roots()] if try_them else []:
            if result := tried(wheel, place):
                out.append((wheel.name, size, f"{place.name}, {Path(place.python).name}", result))
    return out


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", default=",".join(TARGETS), help=f"machines: {', '.join(TARGETS)}")
    arguments.add_argument("--python", default=",".join(PYTHONS), help=f"kinds of Python: {', '.join(PYTHONS)}")
    arguments.add_argument("--no-build", action="store_true", help="only try the wheels in dist")
    arguments.add_argument("--no-try", action="store_true", help="only build, and look into the wheels")
    given = arguments.parse_args()
    if not given.no_build:
        build(given.only.split(","), given.python.split(","))
    wheels = sorted(DIST.glob("frazil-*linux_*.whl"))
    table = rows(wheels, not given.no_try)
    for row in [("wheel", "size", "tried in", "result"), ("---",) * 4, *table]:
        print("| " + " | ".join(row) + " |")
    raise SystemExit(not wheels or any(row[3].startswith("FAILED") for row in table))


if __name__ == "__main__":
    main()
