"""Which rows and columns of each table are read."""

from dataclasses import dataclass

# A column, `<` or `=`, and a number: each engine says it in its own words.
Filter = tuple[str, str, float]


@dataclass(frozen=True)
class Read:
    """Columns (None for all) and rows of a table; `counted` names the count that Java took of these rows."""

    title: str
    table: str
    columns: tuple[str, ...] | None = None
    filter: Filter | None = None
    counted: str = "all"


TWO = ("id", "score")
READS = {
    "full": Read("full scan", "base"),
    "dv": Read("full scan, deletion vectors", "dv"),
    "pos": Read("full scan, position deletes", "pos"),
    "eq": Read("full scan, equality deletes", "eq"),
    "two": Read("2 of 12 columns", "base", TWO),
    "two-dv": Read("2 columns, deletion vectors", "dv", TWO),
    "two-pos": Read("2 columns, position deletes", "pos", TWO),
    "two-eq": Read("2 columns, equality deletes", "eq", TWO),
    "selective": Read("filter of 1 %", "base", filter=("score", "<", 0.01), counted="score"),
    "point": Read("one row in each of 100 files", "base", filter=("slot", "=", 123456), counted="slot"),
    "small": Read("1,000 small files", "small"),
    "nested": Read("nested columns", "nested"),
}
# Reads whose ratio is quoted have their rounds together: what deletes cost is the ratio to the first of their group.
GROUPS = [
    ["full", "dv", "pos", "eq"],
    ["two", "two-dv", "two-pos", "two-eq"],
    ["selective"],
    ["point"],
    ["small"],
    ["nested"],
]
