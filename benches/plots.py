"""Plots of benches/RESULTS.md for the site and README.md: `python benches/plots.py` writes docs/assets/plots/*.svg.

The figures are read from the tables of the page. So a plot shows what the page says, and a test compares both.
"""

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benches" / "RESULTS.md"
FOLDER = ROOT / "docs" / "assets" / "plots"
WIDTH, LABELS, FIGURES = 730, 165, 130
BAR, GAP, TOP, BOTTOM = 24, 10, 62, 30
OURS, OTHERS = "#1976a8", "#9aa7b1"
DARK, PALE = "#1b2733", "#5b6874"
NUMBER = re.compile(r"\**([\d,]*\.?\d+)")


@dataclass
class Plot:
    """Bars of one row of a table, one for each of `columns`; shorter is better."""

    name: str
    title: str
    section: str
    row: Sequence[str]
    columns: dict[str, str]
    unit: str = "s"
    logarithmic: bool = False


PEERS = {"Frazil": "Frazil", "Java Iceberg": "Java Iceberg", "DuckDB": "DuckDB", "PyIceberg": "PyIceberg"}
READERS = {"Frazil, stream": "Frazil (stream)", "Frazil": "Frazil (table)"} | {
    name: name for name in ("Polars", "Daft", "PyIceberg", "pyarrow.dataset", "DuckDB")
}
PAIMON = {name: name for name in ("Frazil", "pypaimon-rust", "Java Paimon", "pypaimon")}
PLOTS = [
    Plot(
        "planning",
        "Planning a scan of 100,000 data files",
        "Planning",
        ["100,000 files", "none"],
        PEERS | {"iceberg crate": "iceberg crate (Rust)"},
        logarithmic=True,
    ),
    Plot("reading", "Reading 20 million rows of 12 columns to Arrow", "Reading", ["full scan"], READERS),
    Plot(
        "deletes",
        "Reading 19 million rows behind deletion vectors, 2 columns",
        "Reading",
        ["2 columns, deletion vectors"],
        {name: label for name, label in READERS.items() if name not in ("Daft", "pyarrow.dataset")},
    ),
    Plot(
        "upsert",
        "Upsert of 1 million keys into 10 million rows, copy-on-write",
        "Changes of rows",
        ["upsert 1,000,000 keys spread over all files into 10,000,000 rows, copy-on-write"],
        {"Frazil, s": "Frazil", "PyIceberg, s": "PyIceberg"},
        logarithmic=True,
    ),
    Plot(
        "commits",
        "An append to a table of 1 million files",
        "Commits",
        ["1,000,000"],
        {f"{name}, ms": name for name in ("Frazil", "Java Iceberg", "PyIceberg")},
        "ms",
    ),
    Plot(
        "paimon-planning",
        "Planning a Paimon table of 100,000 files",
        "Paimon",
        ["100,000 files", "none", "cold"],
        PAIMON,
        logarithmic=True,
    ),
    Plot(
        "paimon-reading",
        "Reading and merging 8 million rows of a Paimon table by key",
        "Paimon",
        ["keys, 5 runs of 2,000,000 rows", "all columns"],
        {name: label for name, label in PAIMON.items() if name != "pypaimon"},
    ),
    Plot(
        "spark-planning",
        "A Spark job that plans 100,000 files",
        "Spark",
        ["planning all of 100,000 files in a job"],
        {"Frazil": "Frazil", "Iceberg's connector": "Iceberg's connector"},
    ),
]


def tables(text: str, section: str) -> list[list[dict[str, str]]]:
    """The tables of a section, each as rows by column."""
    part = re.split(r"^## ", text, flags=re.MULTILINE)
    (body,) = (p for p in part if p.startswith(section + "\n"))
    found: list[list[dict[str, str]]] = []
    for block in re.findall(r"(?:^\|.*\n)+", body, re.MULTILINE):
        head, _, *rows = [[c.strip() for c in line.strip().strip("|").split(" | ")] for line in block.splitlines()]
        head = [c.strip("| ") for c in head]
        found.append([dict(zip(head, (c.strip("| ") for c in row), strict=False)) for row in rows])
    return found


def figures(plot: Plot, text: str) -> dict[str, float]:
    """The figures of a plot by their labels, smallest first.

    Raises:
        ValueError: The page has no such row, or no such column.
    """
    for table in tables(text, plot.section):
        for row in table:
            cells = list(row.values())
            if all(value in cells[:4] for value in plot.row) and all(name in row for name in plot.columns):
                read = {label: NUMBER.match(row[name]) for name, label in plot.columns.items()}
                values = {label: float(m[1].replace(",", "")) for label, m in read.items() if m}
                return dict(sorted(values.items(), key=lambda item: item[1]))
    raise ValueError(f"{RESULTS.name} has no row {plot.row} with the columns {list(plot.columns)}")


def svg(plot: Plot, values: dict[str, float]) -> str:
    """The plot as a picture that works on light and dark pages."""
    height = TOP + len(values) * (BAR + GAP) + BOTTOM
    room = WIDTH - LABELS - FIGURES
    most, least = max(values.values()), min(values.values())
    ours = max(value for label, value in values.items() if label.startswith("Frazil"))
    low = 10.0 ** math.floor(math.log10(least)) if plot.logarithmic else 0.0

    def length(value: float) -> float:
        share = math.log(value / low) / math.log(most / low) if plot.logarithmic else value / most
        return max(3.0, room * share)

    scale = f"{'seconds' if plot.unit == 's' else 'milliseconds'}, shorter is better"
    scale += " (logarithmic scale)" if plot.logarithmic else ""
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="14">',
        f"<title>{escape(plot.title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#ffffff"/>',
        f'<text x="16" y="26" font-size="16" font-weight="600" fill="{DARK}">{escape(plot.title)}</text>',
        f'<text x="16" y="46" font-size="12" fill="{PALE}">{scale}</text>',
    ]
    for number, (label, value) in enumerate(values.items()):
        y = TOP + number * (BAR + GAP)
        mine = label.startswith("Frazil")
        times = "" if mine else f"  ({value / ours:.{0 if value / ours >= 10 else 1}f}×)"
        weight, colour = ("600", OURS) if mine else ("400", OTHERS)
        bar, end = length(value), LABELS + length(value) + 8
        out += [
            f'<text x="{LABELS - 8}" y="{y + 17}" text-anchor="end" fill="{DARK}" font-weight="{weight}">'
            f"{escape(label)}</text>",
            f'<rect x="{LABELS}" y="{y}" width="{bar:.1f}" height="{BAR}" rx="3" fill="{colour}"/>',
            f'<text x="{end:.1f}" y="{y + 17}" fill="{DARK}">{value:g} {plot.unit}{times}</text>',
        ]
    note = "Machine, versions and method: benches/RESULTS.md"
    out.append(f'<text x="16" y="{height - 10}" font-size="11" fill="{PALE}">{note}</text>')
    return "\n".join([*out, "</svg>", ""])


def drawn() -> dict[Path, str]:
    """All plots by their files."""
    text = RESULTS.read_text("utf-8")
    return {FOLDER / f"{plot.name}.svg": svg(plot, figures(plot, text)) for plot in PLOTS}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--check", action="store_true", help="only say whether the files are as they would be written"
    )
    check = arguments.parse_args().check
    FOLDER.mkdir(parents=True, exist_ok=True)
    old = [path for path, text in drawn().items() if not path.exists() or path.read_text("utf-8") != text]
    if check:
        raise SystemExit(f"Run `make plots`: {[path.name for path in old]}" if old else 0)
    for path in old:
        path.write_text(drawn()[path], "utf-8")
    print(f"{len(old)} of {len(PLOTS)} plots changed")


if __name__ == "__main__":
    main()
