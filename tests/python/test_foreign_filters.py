"""Filters of pyarrow, Polars and PyIceberg keep the rows that they keep in their own library, or are refused."""

from __future__ import annotations

import datetime as dt
import decimal
import operator
import random
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg import expressions as ice

import frazil as fz
from frazil.exceptions import UnsupportedError

NAN = float("nan")
ROWS = pa.table(
    {
        "id": pa.array(range(7), pa.int64()),
        "i": pa.array([1, 2, None, -5, 7, 0, 3], pa.int32()),
        "x": pa.array([0.1, NAN, None, -0.0, 0.0, float("inf"), 5.0], pa.float64()),
        "f": pa.array([0.1, NAN, None, -0.0, 0.5, 3.0, 5.0], pa.float32()),
        "s": pa.array(["ab", "a%", None, "", "Äb", "xaby", "AB"], pa.string()),
        "b": pa.array([True, False, None, True, False, True, None], pa.bool_()),
        "d": pa.array([dt.date(2024, 1, n + 1) if n != 2 else None for n in range(7)], pa.date32()),
        "ts": pa.array([dt.datetime(2024, 1, n + 1) if n != 2 else None for n in range(7)], pa.timestamp("us")),
        "n": pa.array([decimal.Decimal(n) / 4 if n != 2 else None for n in range(7)], pa.decimal128(9, 2)),
        "p": pa.array([{"q": n} if n != 2 else None for n in range(7)], pa.struct([("q", pa.int64())])),
    }
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> fz.Table:
    catalog = fz.catalog("c", warehouse=str(tmp_path_factory.mktemp("w")))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", ROWS.schema)
    for at in range(7):
        table.append(ROWS.slice(at, 1))
    return table


def kept(table: fz.Table, filter: Any) -> list[int]:
    return sorted(table.scan(filter).select("id").to_arrow()["id"].to_pylist())


INT, X, F, S, B, D, TS, N = (pc.field(name) for name in ("i", "x", "f", "s", "b", "d", "ts", "n"))
OF_PYARROW = [
    INT > 1,
    INT >= 2,
    (INT > 1) & (S == "AB") | ~(INT == 1),
    X > 0.05,
    ~(X > 0.05),
    X >= 5,
    X < 5,
    X != 5,
    ~(X != 5),
    X == X,
    X != X,
    ~(X <= X),
    INT != INT,
    X > INT,
    F == 0.1,
    F >= 0.1,
    F == 0.5,
    F < 0.1,
    X == 0.1,
    X == -0.0,
    X.is_nan() if hasattr(X, "is_nan") else pc.is_nan(X),
    ~pc.is_nan(X),
    X.is_null(),
    X.is_null(nan_is_null=True),
    ~X.is_null(nan_is_null=True),
    X.is_valid(),
    INT.isin([1, 7]),
    ~INT.isin([1, 7]),
    INT.isin([1, None]),
    ~INT.isin([1, None]),
    S.isin(["ab", "AB"]),
    B,
    ~B,
    B == True,  # noqa: E712
    pc.scalar(True),
    dt.date(2024, 1, 4) <= D,
    dt.datetime(2024, 1, 4, 0, 0, 0) > TS,
    decimal.Decimal("0.75") < N,
    INT + 1 > 2,
    pc.scalar(2) - INT > 1,
    INT * 2 == 14,
    X + 1 > 1.05,
    ~(X + 1 > 1.05),
    pc.starts_with(S, "a"),
    pc.ends_with(S, "b"),
    pc.match_substring(S, "ab"),
    pc.match_like(S, "_b"),
    ~pc.match_like(S, "%b%"),
    pc.match_like(S, "a\\%"),
    pc.field("p", "q") > 4,
]


@pytest.mark.parametrize("filter", OF_PYARROW, ids=[str(f).replace("\n", "")[:60] for f in OF_PYARROW])
def test_pyarrow(table: fz.Table, filter: Any) -> None:
    assert kept(table, filter) == ROWS.filter(filter)["id"].to_pylist()


C = pl.col
OF_POLARS = [
    C("i") > 1,
    C("i") >= 2,
    (C("i") > 1) & (C("s") == "AB") | ~(C("i") == 1),
    C("x") > 0.05,
    ~(C("x") > 0.05),
    C("x") != 5,
    C("x") == C("x"),
    C("x") != C("x"),
    C("x") > C("i"),
    C("f") == 0.1,
    C("f") > 0.1,
    C("i") > 0.5,
    C("x").is_nan(),
    ~C("x").is_nan(),
    C("x").is_not_nan(),
    C("x").is_null(),
    C("x").is_not_null(),
    C("i").is_in([1, 7]),
    ~C("i").is_in([1, 7]),
    C("i").is_in([1, None]),
    ~C("i").is_in([1, None]),
    C("i").is_in([1, None], nulls_equal=True),
    ~C("i").is_in([1], nulls_equal=True),
    C("s").is_in(["ab", "AB"]),
    C("d").is_in([dt.date(2024, 1, 1)]),
    C("i").is_between(1, 3),
    C("i").is_between(1, 3, closed="none"),
    C("b"),
    ~C("b"),
    C("b") == True,  # noqa: E712
    C("i").eq_missing(1),
    C("i").ne_missing(1),
    C("d") >= dt.date(2024, 1, 4),
    C("ts") < dt.datetime(2024, 1, 4, 0, 0, 0, 1),
    C("n") > decimal.Decimal("0.75"),
    C("s").str.starts_with("a"),
    C("s").str.ends_with("b"),
    C("s").str.contains("ab"),
    C("s").str.contains("a%", literal=True),
    C("s").str.to_lowercase() == "äb",
    C("s").str.to_uppercase() == "AB",
    C("p").struct.field("q") > 4,
    pl.all_horizontal(C("i") > 1, C("b")),
    pl.any_horizontal(C("i") > 1, C("b")),
    pl.lit(True),
]


@pytest.mark.parametrize("filter", OF_POLARS, ids=[str(f)[:60] for f in OF_POLARS])
def test_polars(table: fz.Table, filter: pl.Expr) -> None:
    frame = pl.DataFrame(ROWS)
    assert kept(table, filter) == frame.filter(filter)["id"].to_list()


OF_PYICEBERG = [
    ice.GreaterThan("i", 1),
    ice.And(ice.GreaterThanOrEqual("i", 1), ice.Not(ice.EqualTo("s", "AB"))),
    ice.Or(ice.LessThan("x", 0.05), ice.LessThanOrEqual("i", 1)),
    ice.GreaterThan("x", 0.05),
    ice.Not(ice.GreaterThan("x", 0.05)),
    ice.Not(ice.LessThan("x", 0.05)),
    ice.NotEqualTo("x", 5.0),
    ice.IsNaN("x"),
    ice.NotNaN("x"),
    ice.Not(ice.IsNaN("x")),
    ice.IsNull("x"),
    ice.NotNull("x"),
    ice.In("i", {1, 7}),
    ice.NotIn("i", {1, 7}),
    ice.Not(ice.In("i", {1, 7})),
    ice.Not(ice.And(ice.In("i", {1, 7}), ice.NotNull("s"))),
    ice.StartsWith("s", "a"),
    ice.NotStartsWith("s", "a"),
    ice.EqualTo("b", True),
    ice.GreaterThanOrEqual("d", "2024-01-04"),
    ice.LessThan("ts", "2024-01-04T00:00:00"),
    ice.GreaterThan("n", decimal.Decimal("0.75")),
    ice.AlwaysTrue(),
    ice.Not(ice.AlwaysTrue()),
]


@pytest.mark.parametrize("filter", OF_PYICEBERG, ids=[str(f)[:60] for f in OF_PYICEBERG])
def test_pyiceberg(table: fz.Table, filter: ice.BooleanExpression) -> None:
    from pyiceberg.table import StaticTable

    static = StaticTable.from_metadata(table.metadata_location)
    assert kept(table, filter) == sorted(static.scan(row_filter=filter).to_arrow()["id"].to_pylist())


def test_a_number_of_pyiceberg_gets_the_column_s_type(table: fz.Table) -> None:
    """Java Iceberg binds 0.1 as a float. PyIceberg lets pyarrow compare with the double, and finds nothing."""
    assert kept(table, ice.EqualTo("f", 0.1)) == [0]


@pytest.mark.parametrize(
    ("filter", "message", "hint"),
    [
        (INT.cast(pa.int64()) > 1, "cast", "col('x').cast"),
        (pc.utf8_lower(S) == "a", "utf8_lower", "lower()"),
        (INT / 2 > 1, "divide", "col('x') / 2"),
        (X == NAN, "NaN", "is_nan"),
        (X.isin([0.0]), "is_in", "comparisons"),
        (pc.scalar(None) == INT, "null", "is_null"),
        (pc.match_substring_regex(S, "a.b"), "match_substring_regex", "like"),
        (pc.if_else(B, INT, 3) > 1, "if_else", "frazil.col"),
        (pc.field(0) > 1, "FieldPath", "names"),
        (pc.starts_with(S, "a", ignore_case=True), "without regard to case", "ilike"),
        (C("i") + 1 > 2, "the operator Plus", "64 bits"),
        (C("i").cast(pl.Int64) > 2, "Cast", "frazil.col"),
        (C("s").str.contains("a.b"), "regular expression", "literal=True"),
        (C("x") == NAN, "literal", "frazil.col"),
        (C("i") == pl.lit(None), "null", "is_null"),
        (C("x").is_in([0.5]), "floating-point", "comparisons"),
        (C("i").is_in(C("id")), "is_in", "frazil.col"),
        (C("b").xor(C("b")), "Xor", "frazil.col"),
        (pl.col("i", "id") > 1, "Selector", "frazil.col"),
        (ice.In("x", {0.0, 1.0}), "zero", "EqualTo"),
    ],
)
def test_what_has_no_exact_translation_is_refused(table: fz.Table, filter: Any, message: str, hint: str) -> None:
    with pytest.raises(UnsupportedError, match=message) as raised:
        table.scan(filter)
    assert hint in str(raised.value)


def test_other_verbs_take_them(tmp_path: Path) -> None:
    catalog = fz.catalog("c", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", ROWS.schema)
    table.append(ROWS)
    table.delete(pc.field("id") == 1)
    table.update(pl.col("id") == 2, {"s": "two"})
    table.overwrite(ROWS.slice(3, 1), where=ice.EqualTo("id", 3))
    assert kept(table, None) == [0, 2, 3, 4, 5, 6]
    assert kept(table, fz.col("s") == "two") == [2]


EDGES = [None, NAN, 0.0, -0.0, 1.0, -1.5, float("inf"), -float("inf")]
PAIRS = pa.table(
    {
        "id": pa.array(range(len(EDGES) ** 2), pa.int64()),
        "x": pa.array([x for x in EDGES for _ in EDGES], pa.float64()),
        "y": pa.array([y for _ in EDGES for y in EDGES], pa.float64()),
        "b": pa.array([(None, 0, 1, -2)[n % 4] for n in range(len(EDGES) ** 2)], pa.int64()),
        "s": pa.array([(None, "", "ab", "AB", "b%")[n % 5] for n in range(len(EDGES) ** 2)], pa.string()),
        "g": pa.array([(None, True, False)[n % 3] for n in range(len(EDGES) ** 2)], pa.bool_()),
    }
)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> fz.Table:
    """Each value meets each other one: NaN meets null on both sides."""
    catalog = fz.catalog("c", warehouse=str(tmp_path_factory.mktemp("pairs")))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", PAIRS.schema)
    for at in range(0, len(PAIRS), 8):
        table.append(PAIRS.slice(at, 8))
    return table


def _leaf(chance: random.Random, field: Any, is_polars: bool) -> Any:
    compare = chance.choice([operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
    kind = chance.randrange(5)
    if kind == 0:
        return compare(field(chance.choice("xy")), field(chance.choice("xyb")))
    if kind == 1:
        return compare(field(chance.choice("xyb")), chance.choice([0, 1, -1.5, 0.1]))
    if kind == 2:
        return chance.choice([field("g"), ~field("g"), field("x").is_null(), field("g") == True])  # noqa: E712
    if kind == 3:
        return compare(field("s"), chance.choice(["", "ab", "b%"]))
    text = field("s")
    if is_polars:
        return chance.choice([text.str.starts_with("a"), field("y").is_nan(), field("b").is_in([1, None])])
    return chance.choice([pc.starts_with(text, "a"), pc.is_nan(field("y")), field("b").isin([1, None])])


def _random(chance: random.Random, field: Any, is_polars: bool, depth: int = 2) -> Any:
    if depth == 0 or chance.random() < 0.3:
        return _leaf(chance, field, is_polars)
    left = _random(chance, field, is_polars, depth - 1)
    if chance.random() < 0.35:
        return ~left
    right = _random(chance, field, is_polars, depth - 1)
    return left & right if chance.random() < 0.5 else left | right


@pytest.mark.parametrize("seed", range(4))
def test_random_filters_keep_the_rows_of_their_library(pairs: fz.Table, seed: int) -> None:
    chance, frame = random.Random(seed), pl.DataFrame(PAIRS)
    for _ in range(40):
        filter = _random(chance, pc.field, False)
        assert kept(pairs, filter) == PAIRS.filter(filter)["id"].to_pylist(), str(filter)
        filter = _random(chance, pl.col, True)
        assert kept(pairs, filter) == frame.filter(filter)["id"].to_list(), str(filter)


@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.ge])
def test_a_negated_comparison_of_nan_with_null_keeps_no_row(pairs: fz.Table, compare: Any) -> None:
    """Null is unknown, and so is its negation."""
    nan_and_null = [1 * 8 + 0, 0 * 8 + 1]
    for filter in (compare(pc.field("x"), pc.field("y")), ~compare(pc.field("x"), pc.field("y"))):
        assert not set(nan_and_null) & set(kept(pairs, filter))
