"""Texts that users see, stored as files in tests/python/snapshots and compared with what Frazil says now.

`FRAZIL_UPDATE_SNAPSHOTS=1` writes the files instead. Read the difference before you commit it.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Mapping
from pathlib import Path

import frazil as fz

FOLDER = Path(__file__).with_name("snapshots")
UPDATE = os.environ.get("FRAZIL_UPDATE_SNAPSHOTS", "") not in ("", "0")


def check_stored(name: str, sections: Mapping[str, str]) -> None:
    """Compares texts with the stored file of this name, which has a heading above each text."""
    path = FOLDER / f"{name}.txt"
    said = "\n".join(f"=== {title}\n{text.rstrip()}\n" for title, text in sections.items())
    if UPDATE:
        path.write_text(said, "utf-8")
    stored = path.read_text("utf-8") if path.exists() else ""
    how = "If the new texts are right, store them: FRAZIL_UPDATE_SNAPSHOTS=1 pytest tests/python -k stored"
    assert said.splitlines() == stored.splitlines(), how


def _days() -> str:
    """A pattern of the days on which the test may have run."""
    today = dt.datetime.now(dt.timezone.utc).date()
    return "|".join(str(today + dt.timedelta(days)) for days in (-1, 0, 1))


# What differs from run to run, and what stands for it. The order matters.
_VOLATILE = [
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
    (r"datetime\.datetime\([^()]*tzinfo=datetime\.timezone\.utc\)", "<time>"),
    (rf"\b(?:{_days()})[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC|\+00:00)?", "<time>"),
    (r"\b1[6-9]\d{11}\b", "<milliseconds>"),
    (r"\b0x[0-9a-f]{6,}\b", "<address>"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
    (r" *(?<![\w.,])[\d.,]+ (?:bytes|B|kB|KB|KiB|MB|MiB)\b", " <size>"),
    (r" *(?<![\w.,])[\d.,]+ (?:ns|µs|ms|s)\b", " <duration>"),
    (r"('(?:added|total|removed)-files-size': )'\d+'", r"\1'<size>'"),
    (r"\b(length=|\w*bytes=)[1-9]\d*", r"\1<size>"),
    (r"'[0-9a-f]{16}'", "'<hash>'"),
]
_ID = re.compile(r"(?<![\w.])\d{16,19}(?![\w.])")


def steady(text: str, **places: object) -> str:
    """The text with names for what differs from run to run.

    Args:
        text: What Frazil says.
        places: Texts, mostly folders, by the names that stand for them.
    """
    for name, place in sorted(places.items(), key=lambda item: -len(str(item[1]))):
        text = text.replace(str(place), f"<{name}>")
    text = text.replace(fz.__version__, "<version>")
    for pattern, name in _VOLATILE:
        text = re.sub(pattern, name, text)
    known: dict[str, str] = {}
    return _ID.sub(lambda found: known.setdefault(found.group(), f"<id {len(known) + 1}>"), text)
