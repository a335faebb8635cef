"""Rules for the arrows of the Python package. DESIGN.md says why they point where they do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from circles import cuts
from python_graph import RUNTIME, graph
from rules import RULES, Offence, rule

# A part of the package (a folder, or a file of `frazil` or `frazil.spark`) imports from those in earlier rows only.
# Parts of one row don't know each other. DESIGN.md says what the rows are.
PARTS = [
    ["names"],
    ["exceptions"],
    ["expr"],
    ["capabilities", "foreign", "interop", "results"],
    ["observing"],
    ["arguments", "transforms", "variant"],
    ["display"],
    ["inspect", "report", "requests", "schema"],
    ["doctor", "engines", "estimate", "evolve", "explain", "refs", "row_changes", "statistics"],
    ["tagging"],
    ["differences", "maintain", "scan", "transaction"],
    ["table"],
    ["catalog"],
    ["__init__"],
    # What Spark's session, options, types and workers need.
    ["spark.connector_settings"],
    ["spark.catalogs", "spark.settings", "spark.wire", "spark.workers"],
    ["spark.columns", "spark.functions", "spark.types"],
    ["spark.checked"],
    # What reads and writes are made of.
    ["spark.lanes"],
    ["spark.jobs", "spark.planning"],
    ["spark.reading", "spark.writing"],
    ["spark.changes", "spark.streams"],
    # What users, tables and Spark itself call.
    ["spark.datasource", "spark.maintenance", "spark.parts", "spark.read"],
    ["spark.engine", "spark.query", "spark.streaming", "spark.write"],
    ["spark.row_changes", "spark.tables"],
    ["spark.sql"],
    ["spark.__init__"],
    # What Spark finds by its name.
    ["pyspark_frazil"],
    # The program. Nothing imports it.
    ["cli"],
    ["__main__"],
]


def allowed_parts(part: str) -> set[str]:
    """The parts that a part may import from."""
    at = next(at for at, row in enumerate(PARTS) if part in row)
    return {below for row in PARTS[:at] for below in row}


@rule("python-order")
def python_order(root: Path) -> Iterator[Offence]:
    """Parts of the package import downwards, when they are loaded and when they are called.

    So nothing else imports `frazil.spark`, which needs PySpark: `engines/protocol.py` finds it by its name.
    """
    read = graph(root)
    known = {part for row in PARTS for part in row}
    for part in sorted({file.part for file in read.files} - known):
        yield Offence(f"part {part}", "give it a place in tests/house/checkers/python_package.py")
    for (start, end), edges in sorted(read.part_edges(*RUNTIME).items()):
        if start not in known or end in allowed_parts(start):
            continue
        for file, target in edges:
            yield Offence(f"{file} -> {end}", f"imports {target}: {end} is not below {start}")


@rule("python-circles")
def python_circles(root: Path) -> Iterator[Offence]:
    """Imports at runtime, those inside of functions too, have no circles; imports for the type checker don't count."""
    edges = graph(root).of_kinds(*RUNTIME)
    listed = [tuple(where.split(" -> ")) for where in RULES["python-circles"].allowed()]
    for start, end in cuts({edge: len({r.names for r in edges[edge]}) for edge in edges}, preferred=listed):
        lines = ", ".join(f"{reason.names} in line {reason.line}" for reason in edges[start, end])
        yield Offence(f"{start} -> {end}", f"closes a circle of imports, by {lines}")
