"""Writes docs/llms.txt: the pages of the site with their first sentences, for programs that read documentation.

`python tools/llms_txt.py` writes it, `--check` says whether it is as it would be written.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TARGET = DOCS / "llms.txt"
SITE = re.compile(r"^site_url: (\S+)", re.MULTILINE)
ENTRY = re.compile(r"^( *)- (?:(?P<title>[^:\n]+): *)?(?P<path>\S+\.md)?$")


def pages(config: str) -> Iterator[tuple[str, str, str]]:
    """The section, title and file of each page of the navigation, in its order."""
    nav = config.split("\nnav:\n")[1].split("\nplugins:")[0]
    section = ""
    for line in nav.splitlines():
        found = ENTRY.match(line)
        if found is None:
            raise ValueError(f"the line of the navigation can't be read: {line}")
        if found["path"]:
            yield section, found["title"] or "", found["path"]
        elif len(found[1]) == 2:
            section = found["title"]


def first_sentence(text: str) -> str:
    """The first sentence below the title, as plain text."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n|\n(?=#)", text):
        block = re.sub(r"^#.*\n?", "", block.strip("\n"))
        if block and not block.startswith(("|", "-", ":::", "!", "<", "    ")):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(block.split()))
            return re.split(r"(?<=[.!?])\s", plain.replace("**", ""))[0].rstrip(":")
    return ""


def address(site: str, path: str) -> str:
    name = path.removesuffix(".md").removesuffix("index")
    return f"{site}{name.rstrip('/')}/" if name else site


def text() -> str:
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    (site,) = SITE.findall(config)
    home = first_sentence((DOCS / "index.md").read_text("utf-8"))
    out = ["# Frazil", "", f"> {home}"]
    section = None
    for part, title, path in pages(config):
        page = (DOCS / path).read_text("utf-8")
        if part != section:
            out += ["", f"## {part}"]
            section = part
        heading = re.search(r"^# (.+)$", page, re.MULTILINE)
        said = first_sentence(page)
        name = title or (heading[1] if heading else path)
        out.append(f"- [{name}]({address(site, path)})" + (f": {said}" if said else ""))
    return "\n".join(out) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="only say whether the file is as it would be written")
    now = text()
    if arguments.parse_args().check:
        raise SystemExit(0 if TARGET.exists() and TARGET.read_text("utf-8") == now else "Run `make llms`")
    TARGET.write_text(now, "utf-8")


if __name__ == "__main__":
    main()
