"""Filters on computed values keep the rows that DuckDB keeps, in every verb and in both formats."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frazil as fz
from frazil import col

DAY = dt.date(2024, 1, 1)
ROWS = pa.table(
    {
        "id": pa.array(range(8), pa.int64()),
        "a": pa.array([1, -7, None, 0, 100, 3, 5, 2147483647], pa.int32()),
        "b": pa.array([1, 2, 3, None, -100, 3, -5, 0], pa.int64()),
        "s": pa.array(["Abc", "abC", None, "50%", "a_c", "", "żółw", "ABC"], pa.string()),
        "d": pa.array([DAY + dt.timedelta(days=n) if n != 5 else None for n in range(8)], pa.date32()),
        "f": pa.array([0.5, -0.5, None, 1.5, 2.0, 1e10, -0.0, 3.0], pa.float64()),
        "flag": pa.array([True, False, None, True, False, None, True, False], pa.bool_()),
    }
)


def _iceberg(path: Path) -> fz.Table:
    catalog = fz.catalog("c", warehouse=str(path))
    catalog.create_namespace("db")
    return catalog.create_table("db.t", ROWS.schema, partition_by=["truncate(2, id)"])


def _paimon(path: Path) -> fz.Table:
    catalog = fz.catalog("p", warehouse=str(path))
    catalog.create_namespace("db")
    return catalog.create_table("db.t", ROWS.schema, format="paimon")


@pytest.fixture(params=[_iceberg, _paimon], ids=["iceberg", "paimon"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> fz.Table:
    made: Callable[[Path], fz.Table] = request.param
    table = made(tmp_path)
    for at in range(0, 8, 2):
        table.append(ROWS.slice(at, 2))
    return table


def ids(scan: fz.Scan) -> list[int]:
    return sorted(scan.select("id").to_arrow()["id"].to_pylist())


def of_duckdb(text: str, numbers: str = "bigint") -> list[int]:
    """The rows by DuckDB. It computes 32-bit numbers with 32 bits, and Frazil with 64."""
    wide = f"select * replace (id::{numbers} as id, a::{numbers} as a, b::{numbers} as b) from rows_"
    with duckdb.connect() as connection:
        connection.register("rows_", ROWS)
        # The optimizer would divide both sides of `0 < 3 * a`, and then nothing overflows.
        connection.execute("pragma disable_optimizer")
        # The selected value is computed for each row. A condition may leave out rows that overflow.
        found = connection.execute(f"select id, {text} from ({wide}) order by id").fetchall()
    return [id_ for id_, is_kept in found if is_kept]


SAME_IN_DUCKDB = [
    "lower(s) = 'abc'",
    "upper(s) <> 'ABC'",
    "s like '%b%'",
    "s not like '%B%'",
    "s like 'a_c'",
    "s like '50/%' escape '/'",
    "s ilike 'aB%'",
    "contains(s, '_')",
    "not contains(s, '_')",
    "a = b",
    "a < b or a > b + 100",
    "not a = b",
    "a + b = 2",
    "a - b > 0 and a < 50",
    "a * 2 = b * 2",
    "-a < b",
    "(a + 1) * 2 > 7",
    "a / 2 = 0.5",
    "a % 3 = -1",
    "d + 1 = date '2024-01-02'",
    "d - date '2024-01-01' > 3",
    "d + interval '1 month' >= date '2024-02-03'",
    "d < current_date",
    "cast(a as varchar) like '1%'".replace("varchar", "string"),
    "cast(b as double) / 2 = 1.5",
    "try_cast(s as int) is null",
    "flag is true",
    "flag is not true",
    "not (flag is false)",
    "f * 2 > 1",
    "f + a > 2",
    "a between b and b + 1",
    "a in (b, 100)",
    "a not in (b, 100)",
]


@pytest.mark.parametrize("text", SAME_IN_DUCKDB)
def test_rows_are_those_of_duckdb(table: fz.Table, text: str) -> None:
    want = of_duckdb(text)
    scan = table.scan(text)
    assert ids(scan) == want
    assert scan.count() == len(want)
    # The text, the tasks and the splits mean the same in another process.
    assert ids(table.scan(str(scan.filter))) == want
    assert ids(pickle.loads(pickle.dumps(scan))) == want
    splits = pickle.loads(pickle.dumps(scan.plan()))
    assert sorted(pa.concat_tables(s.to_arrow() for s in splits)["id"].to_pylist() if splits else []) == want
    scan.explain()


@pytest.mark.parametrize("text", ["lower(s) = 'abc'", "a = b", "a + b > 1 and a < 1000", "try_cast(s as int) is null"])
def test_every_verb_takes_them(table: fz.Table, text: str) -> None:
    want = of_duckdb(text)
    table.delete(text)
    assert ids(table.scan()) == [i for i in range(8) if i not in want]


def test_updates_and_overwrites(tmp_path: Path) -> None:
    table = _iceberg(tmp_path)
    table.append(ROWS)
    table.update("lower(s) = 'abc'", {"b": 77})
    assert ids(table.scan("b = 77")) == [0, 1, 7]
    table.overwrite(ROWS.slice(0, 1), where="b + 1 = 78")
    assert ids(table.scan()) == [0, 2, 3, 4, 5, 6]


def test_a_deleted_row_gives_no_error(tmp_path: Path) -> None:
    """Positions of deletion vectors, and equality deletes."""
    for version, name in ((2, "positions"), (3, "vectors")):
        catalog = fz.catalog(name, warehouse=str(tmp_path / name))
        catalog.create_namespace("db")
        properties = {"format-version": str(version), "write.delete.mode": "merge-on-read"}
        table = catalog.create_table("db.t", pa.schema([("id", pa.int64()), ("s", pa.string())]), properties=properties)
        table.append(pa.table({"id": [1, 2, 3], "s": ["10", "ten", "30"]}))
        with pytest.raises(fz.InvalidInputError, match="'ten' can't be cast from string to int"):
            table.scan("cast(s as int) > 5").to_arrow()
        table.delete("id = 2")
        assert ids(table.scan("cast(s as int) > 5")) == [1, 3]
        table.append(pa.table({"id": [4], "s": ["four"]}))
        table.delete_keys(pa.table({"id": [4]}), on=["id"])
        assert ids(table.scan("cast(s as int) > 5")) == [1, 3]


def test_files_are_pruned(tmp_path: Path) -> None:
    table = _iceberg(tmp_path)
    for at in range(0, 8, 2):
        table.append(ROWS.slice(at, 2))
    for text, files in [
        ("id + 1 > 7", 1),
        ("id * 10 < 15", 1),
        ("d - date '2024-01-01' >= 6", 1),
        ("cast(id as double) > 5.5", 1),
        ("id > a + 1000", 0),
        ("lower(s) = 'abc'", 4),
    ]:
        plan = table.scan(text).plan_table()
        kept = plan.to_pylist()
        assert len(kept) == files, text


def test_the_date_is_fixed_when_the_scan_is_made(table: fz.Table) -> None:
    scan = table.scan("d < current_date - 1")
    assert "current_date" not in str(scan.filter)
    assert "current_date" not in repr(scan)


INTS = st.sampled_from(["a", "b", "id"])
NUMBERS = st.recursive(
    INTS | st.integers(-9, 9).map(str),
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    max_leaves=4,
)
TEXTS = st.sampled_from(["s", "lower(s)", "upper(s)"])
PATTERNS = st.text("aAbc%_", max_size=4)
TESTS = st.one_of(
    st.tuples(NUMBERS, st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]), NUMBERS).map(" ".join),
    st.tuples(TEXTS, PATTERNS).map(lambda t: f"{t[0]} like '{t[1]}'"),
    st.tuples(TEXTS, st.sampled_from(["=", "<", "<>"]), st.text("aAbc", max_size=3)).map(
        lambda t: f"{t[0]} {t[1]} '{t[2]}'"
    ),
    st.tuples(st.integers(-3, 9)).map(lambda t: f"d + {t[0]} > date '2024-01-06'"),
    st.sampled_from(["flag is true", "flag is not true", "flag is false", "a is null", "lower(s) is not null"]),
)
FILTERS = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        inner.map(lambda text: f"not ({text})"),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[fz.Table]:
    tables = [_iceberg(tmp_path_factory.mktemp("i")), _paimon(tmp_path_factory.mktemp("p"))]
    for table in tables:
        for at in range(8):
            table.append(ROWS.slice(at, 1))
    return tables


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(FILTERS)
def test_random_filters_keep_the_rows_of_duckdb(both: list[fz.Table], text: str) -> None:
    """Every row has a file of its own, so bounds decide nearly everything. Pruning must not lose a row."""
    want = of_duckdb(text, "hugeint")
    try:
        of_duckdb(text)
        overflows = False
    except duckdb.OutOfRangeException:
        overflows = True
    for table in both:
        try:
            assert ids(table.scan(text)) == want, text
        except fz.InvalidInputError as error:
            assert overflows, text
            assert "beyond the values of type long" in str(error)


@pytest.mark.parametrize("text", ["a < a * (a * a)", "a * a * a * a > 0", "id = 0 or b < a * a * a"])
def test_numbers_that_overflow_are_an_error(table: fz.Table, text: str) -> None:
    with pytest.raises(duckdb.OutOfRangeException):
        of_duckdb(text)
    with pytest.raises(fz.InvalidInputError, match=r"2147483647.* is beyond the values of type long"):
        table.scan(text).to_arrow()


def test_python_expressions(table: fz.Table) -> None:
    assert ids(table.scan(col("a") + col("b") == 2)) == [0]
    assert ids(table.scan(col("s").lower() == "abc")) == [0, 1, 7]
    assert ids(table.scan(col("d") + dt.timedelta(days=1) > dt.date(2024, 1, 7))) == [6, 7]
    assert ids(table.scan(col("d") >= dt.date(2024, 1, 1) - (0 * col("a")).cast("int"))) != []


def test_mistakes_are_explained(table: fz.Table) -> None:
    wrong: list[tuple[Any, str]] = [
        ("s + 1 > 2", "can't be applied to the types string and long"),
        ("a = s", "can't be compared"),
        ("lower(a) = 'x'", "needs a string"),
        ("a +", "expected"),
    ]
    for filter, message in wrong:
        with pytest.raises(fz.InvalidInputError, match=message):
            table.scan(filter).to_arrow()
