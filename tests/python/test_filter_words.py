"""Words of other dialects in filters: each means what it means there, or the error says what to write here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

NAN = float("nan")
COLUMNS: dict[str, Any] = {
    "id": [1, 2, 3, 4],
    "a": [1, None, 2, None],
    "b": [1, None, 3, 4],
    "s": ["Ab", "ab", None, "x'y"],
    "f": [True, False, None, True],
    "x": [NAN, 0.0, None, NAN],
    "y": [NAN, -0.0, 1.0, None],
    "order": [4, 3, 2, 1],
    "my col": [1, 2, 3, 4],
}

# Worked out by hand. `<=>` is never null: two nulls are equal, and null equals nothing else.
MEANING: dict[str, list[int]] = {
    "a <=> b": [1, 2],
    "not (a <=> b)": [3, 4],
    "a <=> null": [2, 4],
    "null <=> a": [2, 4],
    "not a <=> null": [1, 3],
    "a <=> 1": [1],
    "1 <=> a": [1],
    "not (a <=> 1)": [2, 3, 4],
    "a <=> b and id > 1": [2],
    "a <=> 3000000000 or id = 3": [3],
    "not a <=> 3000000000": [1, 2, 3, 4],
    "a + 1 <=> b": [2, 3],
    "x <=> y": [1, 2],
    "not (x <=> y)": [3, 4],
    "s <=> 'ab'": [2],
    "lower(s) <=> 'ab'": [1, 2],
    "a is not distinct from b": [1, 2],
    "a is distinct from b": [3, 4],
    "a is distinct from null": [1, 3],
    "a is distinct from 1": [2, 3, 4],
    "a == 1": [1],
    "not a is null": [1, 3],
    "! a is not null": [2, 4],
    "!f": [2],
    "!(a = 1)": [3],
    "s ilike 'AB'": [1, 2],
    "`order` = 1": [4],
    "`my col` = 2": [2],
    '"my col" = 2': [2],
    "s = 'x''y'": [4],
}

REFUSED: dict[str, str] = {
    "a = 1 && b = 1": "Write `and`",
    "a = 1 || b = 4": "Write `or`",
    "~f": "Write `not`",
    "s ~ 'a.*'": "like",
    "s rlike 'a.*'": "no regular expressions",
    "s not rlike 'a.*'": "no regular expressions",
    "regexp_like(s, 'a')": "no regular expressions",
    's = "zz"': "Text has single quotes: 'zz'",
    's like "A%"': "Text has single quotes",
    "isnull(a)": "`x is null`",
    "coalesce(a, 1) = 1": "x = 1 or x is null",
    "a = null": "write `is null`",
    "a is None": "Write `null`",
    "a::int = 1": "cast(x as type)",
    "a in [1, 2]": "x in (1, 2)",
    "a = ?": "frazil.col",
    "a = 1 -- b": "no comments",
    "where a = 1": "Leave out `where`",
    "a => 1": "Write `>=`",
    "s = 'it\\'s'": "Two quotes are one",
}


@pytest.fixture(params=["iceberg", "paimon"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> fz.Table:
    catalog = fz.catalog("c", warehouse=tmp_path)
    catalog.create_namespace("db")
    rows = pa.table(COLUMNS)
    # Two files, so that bounds decide, too.
    table = catalog.create_table("db.t", data=rows.slice(0, 2), format=request.param)
    return table.append(rows.slice(2))


def test_meaning(table: fz.Table) -> None:
    found = {text: sorted(table.scan(text).to_arrow()["id"].to_pylist()) for text in MEANING}
    assert found == MEANING
    assert {text: table.scan(text).count() for text in MEANING} == {text: len(ids) for text, ids in MEANING.items()}


def test_hints(table: fz.Table) -> None:
    for text, hint in REFUSED.items():
        with pytest.raises(fz.InvalidInputError) as caught:
            table.scan(text)
        assert hint in str(caught.value), (text, str(caught.value))
