"""Facts, columns and findings on a page, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.display.figures import amount
from frazil.display.tables import grid
from frazil.report.parts import Section, folded, note, scrolled, section

if TYPE_CHECKING:
    from frazil.doctor import Diagnosis
    from frazil.statistics import Statistics

__all__ = ["column_section", "fact_section", "finding_section"]


def fact_section(facts: Mapping[str, str | None]) -> Section | None:
    """What the table is."""
    return section("table", "Table", grid(("", ""), [(name, value) for name, value in facts.items() if value]))


def column_section(statistics: Statistics | None) -> Section | None:
    """The smallest and largest value of each column, nulls and NaNs, as far as the metadata know them."""
    if statistics is None or not statistics.columns:
        return None
    content = scrolled("Columns", statistics._repr_html_())
    return section("columns", "Minima, maxima and nulls of columns", content)


def finding_section(diagnosis: Diagnosis | None) -> Section | None:
    """What the doctor found, errors first. Codes with many findings are cut."""
    if diagnosis is None:
        return None
    found, head = diagnosis.findings, str(diagnosis).partition("\n")[0]
    if not found:
        return section("findings", "Findings", note(f"{head}."))
    rows = [(f.severity, f.code, f.object, f.evidence, "" if f.gain is None else str(f.gain), f.remedy) for f in found]
    total = max(sum(diagnosis.counts.values()), len(rows))
    title = f"{amount(total, 'finding')} of {amount(len(diagnosis.codes), 'kind')}"
    header = ("severity", "code", "object", "evidence", "saves about", "remedy")
    return section("findings", "Findings", note(f"{head}."), folded(title, header, rows, total, opened=True))
