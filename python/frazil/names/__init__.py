"""Names of PyIceberg, Spark, Polars and delta-rs that are others here.

A name that does not exist is answered with Frazil's word: "PyIceberg's `row_filter` is `filter` here". `others` has the
names in one table, which is loaded at the first such mistake. `answers` gives a class its answers about attributes,
`wrong_call` answers calls with wrong arguments, `of_module` answers for the package, and `refuse_import` for imports.
"""

from __future__ import annotations

from frazil.names.answers import (
    Answering,
    Snapshots,
    answers,
    explained,
    no_attribute,
    of_call,
    of_module,
    of_value,
    wrong_call,
)
from frazil.names.similar import similar

__all__ = [
    "Answering",
    "Snapshots",
    "answers",
    "explained",
    "no_attribute",
    "of_call",
    "of_module",
    "of_value",
    "similar",
    "wrong_call",
]
