"""Whether a version can be released: `python tools/release_check.py [--tag v0.2.0]`.

The version of Cargo.toml and Cargo.lock, a dated section of CHANGELOG.md and the tag have to be equal. Links of
README.md have to be absolute, because package pages show it. Prints every fault, and ends with 1 if there are any.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+")


def version(root: Path) -> str:
    """The version of Cargo.toml, which is the package's."""
    found = re.search(r'^version = "([^"]+)"', (root / "Cargo.toml").read_text("utf-8"), re.MULTILINE)
    return found[1] if found else ""


def faults(root: Path, tag: str | None, tags: list[str]) -> list[str]:
    """What keeps the version from being released. `tag` is the tag to release, `tags` are those that exist."""
    now = version(root)
    out = [] if VERSION.fullmatch(now) else [f"Cargo.toml: the version '{now}' is not three numbers"]
    lock = (root / "Cargo.lock").read_text("utf-8")
    locked = re.search(r'name = "frazil"\nversion = "([^"]+)"', lock)
    if locked is None or locked[1] != now:
        out.append(f"Cargo.lock: it has version {locked[1] if locked else 'none'}, and Cargo.toml has {now}")
    provider = version(root / "packages" / "datafusion")
    if provider != now:
        out.append(f"packages/datafusion/Cargo.toml: it has version {provider}, and Cargo.toml has {now}")
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    section = re.search(rf"^## \[{re.escape(now)}\] - (\d{{4}}-\d\d-\d\d)\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if section is None:
        out.append(f"CHANGELOG.md: there is no section '## [{now}] - YYYY-MM-DD'")
    elif not re.search(r"^- ", section[2], re.MULTILINE):
        out.append(f"CHANGELOG.md: the section of {now} is empty")
    unreleased = re.search(r"^## \[Unreleased\]\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if unreleased and re.search(r"^- ", unreleased[1], re.MULTILINE):
        out.append(f"CHANGELOG.md: move the lines of [Unreleased] to the section of {now}")
    if tag is not None and tag != f"v{now}":
        out.append(f"the tag is {tag}, and the version is {now}")
    if tag is None and f"v{now}" in tags:
        out.append(f"v{now} was released before: raise the version in Cargo.toml")
    relative = re.findall(r"\]\((?!https?://|#)([^)]*)\)", (root / "README.md").read_text("utf-8"))
    out += [f"README.md: the link {link} is not absolute" for link in relative]
    return out


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tag", help="the tag that is released; without it, the version must have no tag yet")
    tag = arguments.parse_args().tag
    tags = subprocess.run(["git", "tag"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    found = faults(ROOT, tag, tags)
    print("\n".join(found) or f"{version(ROOT)} can be released: git tag v{version(ROOT)} && git push --tags")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
