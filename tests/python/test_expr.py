"""Expressions give the text that a scan reads."""

from __future__ import annotations

import datetime as dt
import decimal
import pickle
import uuid
import zoneinfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frazil as fz
from frazil import InvalidInputError, bucket, col, day, hour, month, truncate, year
from frazil._core import check_filter

OSLO = zoneinfo.ZoneInfo("Europe/Oslo")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (-5, "-5"),
        (2**70, "1180591620717411303424"),
        (1.5, "1.5"),
        (1e300, "1e+300"),
        (-0.0, "-0.0"),
        (float("nan"), "'NaN'"),
        (float("inf"), "'Infinity'"),
        (float("-inf"), "'-Infinity'"),
        ("it's", "'it''s'"),
        (b"\x00\xff", "x'00ff'"),
        (bytearray(b"\x01"), "x'01'"),
        (decimal.Decimal("1.50"), "1.50"),
        (decimal.Decimal("1E+3"), "1000"),
        (decimal.Decimal("-1E-7"), "-0.0000001"),
        (dt.date(2023, 1, 31), "'2023-01-31'"),
        (dt.time(1, 2, 3, 4), "'01:02:03.000004'"),
        (dt.datetime(2023, 1, 31, 12), "'2023-01-31T12:00:00'"),
        (dt.datetime(2023, 7, 31, 12, tzinfo=OSLO), "'2023-07-31T10:00:00+00:00'"),
        (uuid.UUID(int=1), "'00000000-0000-0000-0000-000000000001'"),
        (np.int16(3), "3"),
        (np.float32(0.5), "0.5"),
        (np.bool_(False), "false"),
        (np.array(3), "3"),
        (np.array("a"), "'a'"),
        (np.array("2023-01-01", "datetime64[D]"), "'2023-01-01'"),
        (np.datetime64("2023-01-01T00:00:00.123456789"), "'2023-01-01T00:00:00.123456789'"),
        (pd.Timestamp("2023-01-01T00:00:00.123456789"), "'2023-01-01T00:00:00.123456789'"),
        (pa.scalar(7), "7"),
        (pa.scalar(dt.date(2023, 1, 1)), "'2023-01-01'"),
    ],
)
def test_literals(value: object, text: str) -> None:
    assert str(col("x") == value) == f"x = {text}"
    check_filter(f"x = {text}")


def test_every_question() -> None:
    x = col("x")
    cases = {
        x != 1: "x != 1",
        x < 1: "x < 1",
        x <= 1: "x <= 1",
        x > 1: "x > 1",
        x >= 1: "x >= 1",
        x.is_null(): "x is null",
        x.is_not_null(): "x is not null",
        x.is_nan(): "x is nan",
        x.is_not_nan(): "x is not nan",
        x.is_in([1, 2]): "x in (1, 2)",
        x.not_in((1, 2)): "x not in (1, 2)",
        x.is_in(range(0)): "false",
        x.not_in([]): "true",
        x.between(1, 2): "x between 1 and 2",
        x.starts_with("a'b"): "starts_with(x, 'a''b')",
        (x == 1) & (x == 2) | ~(x == 3): "((x = 1) and (x = 2)) or (not (x = 3))",
        x > 5: "x > 5",
        bucket(16, "id") == 3: "bucket(16, id) = 3",
        truncate(2, col("s")) == "ab": "truncate(2, s) = 'ab'",
        year("ts") == 53: "year(ts) = 53",
        month("ts") == 672: "month(ts) = 672",
        day("ts") < dt.date(2023, 1, 1): "day(ts) < '2023-01-01'",
        hour("ts") >= -1: "hour(ts) >= -1",
    }
    for predicate, text in cases.items():
        assert str(predicate) == text
        check_filter(text)


def test_computed_values() -> None:
    x, y = col("x"), col("y")
    cases = {
        x > y: "x > y",
        x.between(y, 5): "x between y and 5",
        x.is_in([1, y]): "x in (1, y)",
        x + 1 > y: "(x + 1) > y",
        1 + x > 2: "(1 + x) > 2",
        (x - 2) * 3 == 0: "((x - 2) * 3) = 0",
        10 - x < 0: "(10 - x) < 0",
        x / 2 > 1: "(x / 2) > 1",
        -x > 1: "-(x) > 1",
        -5 % x == 1: "(-5 % x) = 1",
        x + -5 > 1: "(x + -5) > 1",
        x * 1.5 > 1: "(x * 1.5e0) > 1",
        x * decimal.Decimal("1.5") > 1: "(x * 1.5) > 1",
        x + dt.timedelta(days=1) > "2024-01-01": "(x + interval '1 days') > '2024-01-01'",
        x - dt.timedelta(hours=1) > y: "(x - interval '0 days 3600000000 microseconds') > y",
        dt.date(2024, 1, 1) - x > 5: "(date '2024-01-01' - x) > 5",
        x >= fz.current_date() - 7: "x >= (current_date - 7)",
        x >= fz.current_timestamp(): "x >= current_timestamp",
        x.lower() == "a": "lower(x) = 'a'",
        x.upper().like("A%_"): "upper(x) like 'A%_'",
        x.ilike("it's"): "x ilike 'it''s'",
        x.contains("%"): "contains(x, '%')",
        x.ends_with("a"): "ends_with(x, 'a')",
        x.cast("decimal(9, 2)") > 1: "cast(x as decimal(9, 2)) > 1",
        x.try_cast("int").is_null(): "try_cast(x as int) is null",
        x.is_true(): "x is true",
        ~x.is_false(): "not (x is false)",
        day("ts") + 1 > dt.date(2024, 1, 1): "(day(ts) + 1) > '2024-01-01'",
    }
    for predicate, text in cases.items():
        assert str(predicate) == text
        check_filter(text)
    for wrong in ("a", None, True, float("nan"), object()):
        with pytest.raises(InvalidInputError, match="can't be computed"):
            x + wrong
    with pytest.raises(InvalidInputError, match="a type must be"):
        x.cast("int) > 5 or (1")
    with pytest.raises(InvalidInputError, match="must be a string"):
        x.like(5)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("a",), "a"),
        (("a.b",), "a.b"),
        (("a", "b"), "a.b"),
        (("a", "b.c"), 'a."b.c"'),
        (("odd name",), '"odd name"'),
        (('say "hi"',), '"say ""hi"""'),
        (("In",), '"In"'),
        (("day",), '"day"'),
        (("current_date",), '"current_date"'),
        (("żółw",), '"żółw"'),
        ((".",), '"."'),
    ],
)
def test_names(names: tuple[str, ...], text: str) -> None:
    assert str(col(*names)) == text
    check_filter(f"{text} is null")


@pytest.mark.parametrize("names", [(), ("",), (1,), ("a", "")])
def test_wrong_names(names: tuple[object, ...]) -> None:
    with pytest.raises(InvalidInputError):
        col(*names)


def test_misuse_says_what_to_do() -> None:
    x = col("x")
    with pytest.raises(TypeError, match="use & for and"):
        bool((x > 1) and (x < 2))
    with pytest.raises(TypeError, match="between"):
        bool(1 < x < 2)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(not x)
    with pytest.raises(InvalidInputError, match="is_null"):
        x == None  # noqa: B015, E711
    with pytest.raises(InvalidInputError, match="parentheses"):
        (x > 1) & True
    with pytest.raises(InvalidInputError, match="list of values"):
        x.is_in("abc")
    with pytest.raises(InvalidInputError):
        x.is_in([1, None])
    with pytest.raises(InvalidInputError):
        x == object()  # noqa: B015
    with pytest.raises(InvalidInputError):
        x == decimal.Decimal("NaN")  # noqa: B015
    for wrong in (0, -1, True, 1.5, "4"):
        with pytest.raises(InvalidInputError, match="positive integer"):
            bucket(wrong, "id")


def test_predicates_pickle_and_compare() -> None:
    p = col("x") > 1
    assert pickle.loads(pickle.dumps(p)) == p
    assert hash(p) == hash(fz.Predicate("x > 1"))
    assert p != (col("x") > 2)
    assert str(pickle.loads(pickle.dumps(col("a", "b.c")))) == 'a."b.c"'


VALUES = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.datetimes(timezones=st.none() | st.just(dt.timezone.utc)),
    st.times(),
    st.uuids(),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(min_size=1), min_size=1, max_size=3), VALUES, st.lists(VALUES, max_size=4))
def test_whatever_is_built_parses(names: list[str], value: object, values: list[object]) -> None:
    predicate = (col(*names) == value) | ~col(*names).is_in(values)
    check_filter(str(predicate))


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (np.timedelta64(1, "W"), "7 days"),
        (np.timedelta64(90, "m"), "0 days 5400000000 microseconds"),
        (np.timedelta64(1_000, "ns"), "0 days 1 microseconds"),
        (np.array(np.timedelta64(2, "D")), "2 days"),
        (pd.Timedelta(days=1), "1 days"),
    ],
)
def test_exact_ages_of_other_libraries_are_computed_with(age: object, text: str) -> None:
    assert str(col("ts") + age) == f"(ts + interval '{text}')"  # type: ignore[operator]


@pytest.mark.parametrize(
    "age",
    [
        np.timedelta64(1500, "ns"),
        np.timedelta64(7),
        np.timedelta64(3, "M"),
        np.timedelta64(2**62, "D"),
        np.timedelta64(213_503_983, "D"),
        np.timedelta64("NaT"),
        pd.Timedelta(1500, "ns"),
    ],
    ids=repr,
)
def test_ages_that_are_not_exact_are_not_computed_with(age: object) -> None:
    with pytest.raises(fz.InvalidInputError, match="a column can't be computed with"):
        col("ts") + age  # type: ignore[operator]
    with pytest.raises(fz.InvalidInputError, match=r"can't be compared with a column|comparison with None") as raised:
        col("ts") == age  # noqa: B015
    assert "is_in" not in str(raised.value)
