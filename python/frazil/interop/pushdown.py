"""Columns and filters that other engines ask for, given to a scan as far as it can take them.

Whoever calls this applies columns and filter to the rows again. So what a scan can't take costs time, but no row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from frazil.exceptions import FrazilError

if TYPE_CHECKING:
    from frazil.scan import Scan

__all__ = ["with_columns", "with_conditions"]


def with_columns(scan: Scan, names: Iterable[str]) -> Scan:
    """The scan with these of its columns, or the same scan if it can't name them."""
    wanted = list(dict.fromkeys(names))
    if not wanted or wanted == scan.schema.names:
        return scan
    try:
        narrow = scan.select(*wanted)
    except FrazilError:
        return scan
    # A name with dots could be taken for a path.
    same = {str(field) for field in narrow.schema} == {str(field) for field in scan.schema if field.name in wanted}
    return narrow if same else scan


def with_conditions(scan: Scan, conditions: Iterable[Any]) -> Scan:
    """The scan with those conditions that have an exact translation.

    Conditions are expressions of another library. A scan with a limit takes none, because it would count other rows.
    """
    if scan.row_limit is not None:
        return scan
    for condition in conditions:
        try:
            scan = scan.where(condition)
        except FrazilError:
            continue
    return scan
