"""Commands that plan without reading rows."""

from __future__ import annotations

from typing import Any

import click

from frazil.cli import output
from frazil.cli.look.rows import AT, SELECT, SINCE, WHERE, scan_of
from frazil.cli.session import Session, looking

__all__ = ["estimate", "explain"]


@looking("explain")
@WHERE
@SELECT
@AT
@SINCE
@click.option("--files", "with_files", is_flag=True, help="Say about every file whether it is read, and why.")
def explain(session: Session, table: str, with_files: bool, **given: Any) -> None:
    """Show what a scan prunes, step by step, and what decided."""
    found = scan_of(session, table, **given).explain(files=with_files)
    if session.as_json:
        facts = found.to_dict()
        output.document({**facts, "files": found.files.to_pylist()} if with_files else facts)
        return
    output.lines(str(found))
    if with_files:
        output.lines("")
        rows = (
            (f["kept"], f["stage"], f["record_count"], f["reason"], f["file_path"]) for f in found.files.to_pylist()
        )
        output.grid(("read", "decided by", "rows", "why", "file"), rows, fit=output.Fit(tail=("file",)))


@looking("estimate")
@WHERE
@SELECT
@AT
@SINCE
def estimate(session: Session, table: str, **given: Any) -> None:
    """Show what planning a scan will cost. Only the manifest list is read."""
    found = scan_of(session, table, **given).estimate()
    if session.as_json:
        output.document(found.to_dict())
    else:
        output.lines(str(found))
