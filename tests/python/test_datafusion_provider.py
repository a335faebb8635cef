"""Tables and scans registered in DataFusion: right rows, the errors of Frazil, and only what a query needs is read.

`make test-engines` builds the package frazil-datafusion for them. Without it, they are skipped.
"""

from __future__ import annotations

import datetime as dt
import decimal
import random
import struct
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import frazil as fz

datafusion = pytest.importorskip("datafusion")
pytest.importorskip("frazil_datafusion")

FORMATS = ["iceberg", "paimon"]
FIRST = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("g", pa.string()),
        ("x", pa.float64()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("s", pa.struct([("a", pa.int64()), ("b", pa.string())])),
    ]
)


def rows(first: int, count: int) -> pa.Table:
    ids = range(first, first + count)
    return pa.table(
        {
            "id": ids,
            "g": [None if i % 10 == 3 else f"g{i % 7}" for i in ids],
            "x": [float("nan") if i % 5 == 0 else i / 2 for i in ids],
            "ts": [FIRST + dt.timedelta(hours=i) for i in ids],
            "s": [{"a": i, "b": "t"} for i in ids],
        },
        schema=SCHEMA,
    )


@pytest.fixture(params=FORMATS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def table(catalog: fz.Catalog, form: str) -> fz.Table:
    """Five files of 100 rows. Row 7 is deleted."""
    properties = {"write.delete.mode": "merge-on-read"} if form == "iceberg" else {"deletion-vectors.enabled": "true"}
    made = catalog.create_table("db.t", SCHEMA, format=form, properties=properties)
    for number in range(5):
        made.append(rows(number * 100, 100))
    return made.delete("id = 7")


IDS = [i for i in range(500) if i != 7]


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[fz.Scan]:
    """The scans that were planned."""
    from frazil.interop import datafusion_source

    seen: list[fz.Scan] = []
    count = datafusion_source._row_count
    monkeypatch.setattr(datafusion_source, "_row_count", lambda scan: seen.append(scan) or count(scan))
    return seen


def context(partitions: int = 3, **tables: Any) -> Any:
    made = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(partitions))
    for name, table in tables.items():
        made.register_table(name, table)
    return made


def asked(session: Any, query: str) -> list[tuple[Any, ...]]:
    columns = session.sql(query).to_pydict()
    return list(zip(*columns.values(), strict=True))


def ids(session: Any, condition: str) -> list[int]:
    return sorted(i for (i,) in asked(session, f"select id from t where {condition}"))


# ---------------------------------------------------------------- rows


def test_a_table_is_registered_and_read(table: fz.Table) -> None:
    session = context(t=table)
    got = session.sql("select * from t order by id").to_arrow_table()
    wanted = rows(0, 500).filter(pc.not_equal(pa.array(range(500)), 7))
    assert got.schema.names == SCHEMA.names
    assert str(got.to_pylist()) == str(wanted.to_pylist())  # as text, because NaN is not equal to itself
    assert sorted(session.table("t").select("id").to_pydict()["id"]) == IDS
    assert sorted(session.read_table(table.scan("id < 5")).to_pydict()["id"]) == [0, 1, 2, 3, 4]


def test_a_table_keeps_the_version_at_which_it_was_registered(table: fz.Table) -> None:
    session = context(t=table)
    table.append(rows(500, 10))
    assert asked(session, "select count(*) from t") == [(499,)]
    session.deregister_table("t")
    session.register_table("t", table)
    assert asked(session, "select count(*) from t") == [(509,)]


def test_an_empty_table_has_no_rows(catalog: fz.Catalog, form: str) -> None:
    session = context(t=catalog.create_table("db.empty", SCHEMA, format=form))
    assert asked(session, "select count(*), max(id) from t") == [(0, None)]
    assert asked(session, "select id from t") == []
    assert asked(session, "select g, count(*) from t group by g") == []


def test_conditions_keep_the_rows_that_python_keeps(table: fz.Table) -> None:
    session = context(t=table)
    known = [i for i in IDS if i % 10 != 3]
    assert ids(session, "id >= 480 and g = 'g2'") == [i for i in known if i >= 480 and i % 7 == 2]
    assert ids(session, "id in (1, 7, 9, 600)") == [1, 9]
    assert ids(session, "id not in (1, 7, 9) and id < 12") == [0, 2, 3, 4, 5, 6, 8, 10, 11]
    assert ids(session, "not (id > 3)") == [0, 1, 2, 3]
    assert ids(session, "id between 97 and 102") == [97, 98, 99, 100, 101, 102]
    assert ids(session, "id not between 3 and 497") == [0, 1, 2, 498, 499]
    assert ids(session, "g is null and id < 40") == [3, 13, 23, 33]
    assert ids(session, "not (g = 'g1' or g is null) and id < 10") == [0, 2, 4, 5, 6, 9]
    assert ids(session, "12 > id and (g = 'g1' or abs(id) = 2)") == [1, 2, 8]
    assert ids(session, "s['a'] = 44") == [44]
    assert ids(session, "id % 100 = 99") == [99, 199, 299, 399, 499]
    assert ids(session, "ts = timestamp '2026-01-01 05:00:00'") == [5]
    assert ids(session, "ts < '2026-01-01T02:00:00+01:00'") == [0]
    assert ids(session, "g like 'g1%' and id < 16") == [1, 8, 15]
    assert ids(session, "g not like 'g%' or id = 4") == [4]
    assert ids(session, "g like '_1' and id < 16") == [1, 8, 15]
    # For DataFusion NaN is above all numbers and equal to itself.
    assert ids(session, "x > 2 and id < 12") == [0, 5, 6, 8, 9, 10, 11]
    assert ids(session, "x <> 2 and id < 6") == [0, 1, 2, 3, 5]
    assert ids(session, "x < 2") == [1, 2, 3]
    assert ids(session, "x = 'NaN' and id < 12") == [0, 5, 10]


def test_two_tables_are_joined(table: fz.Table, catalog: fz.Catalog) -> None:
    names = pa.table({"g": [f"g{i}" for i in range(7)], "name": list("abcdefg")})
    session = context(t=table, names=catalog.create_table("db.names", data=names))
    query = "select n.name, count(*) from t join names n on t.g = n.g where n.g > 'g3' group by n.name order by 1"
    known = [i % 7 for i in IDS if i % 10 != 3]
    assert asked(session, query) == [("e", known.count(4)), ("f", known.count(5)), ("g", known.count(6))]
    itself = "select count(*) from t l join t r on l.id + 1 = r.id"
    assert asked(session, itself) == [(497,)]
    union = "select count(*) from (select s, g from t union all select s, g from t)"
    assert asked(session, union) == [(998,)]


# ---------------------------------------------------------------- what is read


def test_only_the_files_and_columns_of_a_query_are_read(table: fz.Table, plans: list[fz.Scan]) -> None:
    session = context(t=table)
    wanted = [i for i in IDS if i >= 480 and i % 7 == 2 and i % 10 != 3]
    assert asked(session, "select sum(id) from t where id >= 480 and g = 'g2'") == [(sum(wanted),)]
    assert set(plans[-1].schema.names) == {"id", "g"}
    assert "id >= 480" in str(plans[-1].filter)
    assert "g = 'g2'" in str(plans[-1].filter)
    assert len(list(plans[-1].plan_files())) == 1
    # Half of an OR can't be translated, so none of it is. Half of an AND can.
    assert ids(session, "id < 3 or id % 100 = 50") == [0, 1, 2, 50, 150, 250, 350, 450]
    assert str(plans[-1].filter) == "true"
    assert ids(session, "id < 60 and id % 100 = 50") == [50]
    assert len(list(plans[-1].plan_files())) == 1


def test_parts_are_no_more_than_the_partitions_of_the_session(table: fz.Table) -> None:
    for partitions, parts in ((1, 1), (2, 2), (5, 5)):
        session = context(partitions, t=table)
        assert session.sql("select id from t").execution_plan().partition_count == parts


def test_a_limit_reads_no_more_than_it_needs(table: fz.Table, plans: list[fz.Scan]) -> None:
    session = context(t=table)
    plan = session.sql("select id from t limit 3").execution_plan()
    assert plan.partition_count == 1
    assert len(asked(session, "select id from t limit 3")) == 3
    # The limit counts rows that the filter keeps.
    assert len(asked(session, "select id from t where g like '_1' limit 20")) == 20
    assert len(asked(session, "select id from t where id >= 490 limit 20")) == 10
    assert len(asked(session, "select id from (select * from t limit 20) where id >= 0 and id < 1000")) == 20
    assert asked(session, "select count(*) from (select * from t limit 20)") == [(20,)]
    assert len(asked(session, "select id from t order by id desc limit 2 offset 3")) == 2


def test_a_scan_with_a_limit_takes_no_filter(table: fz.Table) -> None:
    session = context(t=table.scan(limit=20))
    assert asked(session, "select count(*) from t") == [(20,)]
    assert asked(session, "select count(*) from t where id >= 0") == [(20,)]
    assert len(ids(session, "id >= 20")) <= 20


def test_rows_are_counted_without_reading_them(catalog: fz.Catalog, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from frazil.interop import datafusion_source

    made = catalog.create_table("db.whole", data=rows(0, 100), format=form)
    monkeypatch.setattr(datafusion_source, "_opener", lambda *_: lambda: pytest.fail("a file was opened"))
    session = context(t=made)
    # The figures of the metadata are exact, as there are no deletes.
    assert "PlaceholderRowExec" in session.sql("select count(*) from t").execution_plan().display_indent()
    assert asked(session, "select count(*) from t") == [(100,)]


def test_counting_with_deletes_is_exact(table: fz.Table) -> None:
    session = context(t=table)
    assert asked(session, "select count(*) from t") == [(499,)]
    assert asked(session, "select count(*) from t where id < 10") == [(9,)]
    assert asked(session, "select 1 from t where id < 3") == [(1,), (1,), (1,)]


# ---------------------------------------------------------------- values of all types


def bits(text: str) -> float:
    (number,) = struct.unpack(">d", bytes.fromhex(text))
    return float(number)


FLOATS = [0.0, -0.0, 1.5, -1.5, float("inf"), float("-inf"), float("nan"), bits("fff8000000000000"), 0.1, None]
COLUMNS: dict[str, tuple[pa.DataType, list[Any], list[str]]] = {
    "i": (pa.int32(), [0, 1, -1, 2**31 - 1, -(2**31), None], ["0", "-1", "2147483647", "3000000000", "1.5"]),
    "l": (pa.int64(), [0, 1, -1, 2**63 - 1, -(2**63), None], ["0", "9223372036854775807", "1.5"]),
    "x": (pa.float64(), FLOATS, ["0.0", "-0.0", "1.5", "'NaN'::double", "'-inf'::double", "'inf'::double", "0.1"]),
    "f": (pa.float32(), FLOATS, ["0.0", "0.1", "cast('-0.0' as float)", "cast(0.1 as float)", "cast('NaN' as float)"]),
    "b": (pa.bool_(), [True, False, None], ["true", "false"]),
    "t": (pa.string(), ["", "a", "ab", "a%", "a'b", "A", "é", "😀", None], ["''", "'a'", "'a''b'", "'é'", "'a%'"]),
    "y": (pa.binary(), [b"", b"\0", b"\xff", b"ab", None], ["x''", "x'00'", "x'ff'", "x'6162'"]),
    "n": (
        pa.decimal128(9, 2),
        [decimal.Decimal("0.00"), decimal.Decimal("-12.30"), decimal.Decimal("9999999.99"), None],
        ["-12.3", "0", "12.345", "9999999.99", "cast('1e3' as double)"],
    ),
    "d": (
        pa.date32(),
        [dt.date(1969, 12, 31), dt.date(2026, 2, 28), dt.date(1, 1, 1), dt.date(9999, 12, 31), None],
        ["date '2026-02-28'", "date '1969-12-31'", "'2026-02-28'", "timestamp '2026-02-28T00:00:01'"],
    ),
    "w": (
        pa.timestamp("us"),
        [dt.datetime(2026, 1, 1, 0, 0, 0, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None],
        ["timestamp '2026-01-01 00:00:00.000001'", "timestamp '2026-01-01'", "'1969-12-31T23:59:59.9999999'"],
    ),
    "z": (
        pa.timestamp("us", tz="UTC"),
        [FIRST, FIRST + dt.timedelta(hours=1), FIRST - dt.timedelta(days=30000), None],
        ["timestamp '2026-01-01 00:00:00'", "'2026-01-01T01:00:00+01:00'", "'2026-01-01T00:00:00Z'"],
    ),
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same rows in an Iceberg table, a Paimon table and DataFusion's memory. Each pair of values is in a file."""
    catalog = fz.catalog("values", warehouse=tmp_path_factory.mktemp("values"))
    catalog.create_namespace("db")
    count = 10
    data = pa.table(
        {"id": pa.array(range(count), pa.int64())}
        | {
            name: pa.array([values[i % len(values)] for i in range(count)], ty)
            for name, (ty, values, _) in COLUMNS.items()
        }
    )
    sessions = {}
    for form in FORMATS:
        table = catalog.create_table(f"db.{form}", data.schema, format=form)
        for first in range(0, count, 2):
            table.append(data.slice(first, 2))
        session = context(t=table)
        session.register_record_batches("m", [data.to_batches()])
        sessions[form] = session
    return sessions


def leaves() -> list[str]:
    out = []
    for name, (ty, _, literals) in COLUMNS.items():
        out += [f"{name} is null", f"{name} is not null"]
        for literal in literals:
            out += [f"{name} {sign} {literal}" for sign in ("=", "<>", "<", "<=", ">", ">=")]
            out.append(f"{literal} < {name}")
        listed = ", ".join(literals[:2])
        out += [f"{name} in ({listed})", f"{name} not in ({listed})"]
        out += [
            f"{name} between {literals[0]} and {literals[1]}",
            f"{name} not between {literals[1]} and {literals[0]}",
        ]
        if ty == pa.string():
            patterns = ["a%", "%", "a", "", "a_", "_%", "%b", r"a\%", r"a\%%", "é%", "a''%"]
            out += [f"{name} {word} '{pattern}'" for pattern in patterns for word in ("like", "not like", "ilike")]
            out += [f"starts_with({name}, 'a')", f"upper({name}) = 'A'", f"{name} in ('a', null)"]
        if ty == pa.bool_():
            out += [
                f"{name} is {word}" for word in ("true", "not true", "false", "not false", "unknown", "not unknown")
            ]
            out += [name, f"not {name}"]
        if ty == pa.int32():
            out += [f"{name} + 1 > 1", f"cast({name} as bigint) = 1", f"cast({name} as varchar) = '1'", f"{name} = l"]
            out += [
                f"{name} is distinct from 1",
                f"{name} = null",
                f"case when {name} > 0 then true else {name} = 0 end",
            ]
    return out


def in_memory(session: Any, condition: str) -> list[int] | str:
    """The rows that DataFusion's own table has, or the name of the error."""
    try:
        return sorted(i for (i,) in asked(session, f"select id from m where {condition}"))
    except Exception as error:
        return type(error).__name__


def check_alike(session: Any, conditions: list[str]) -> None:
    """Each condition keeps the same rows of both tables. One statement asks for many of them."""
    wanted = {condition: in_memory(session, condition) for condition in conditions}
    valid = [condition for condition, ids in wanted.items() if isinstance(ids, list)]
    assert len(valid) > len(conditions) // 2
    for first in range(0, len(valid), 20):
        some = valid[first : first + 20]
        parts = [f"select {at} as condition, id from t where {condition}" for at, condition in enumerate(some)]
        found = sorted(asked(session, " union all ".join(parts)))
        for at, condition in enumerate(some):
            assert [i for number, i in found if number == at] == wanted[condition], condition


def test_each_comparison_keeps_the_rows_that_datafusion_keeps(both: dict[str, Any], form: str) -> None:
    check_alike(both[form], leaves())


def test_each_negation_keeps_the_rows_that_datafusion_keeps(both: dict[str, Any], form: str) -> None:
    check_alike(both[form], [f"not ({leaf})" for leaf in leaves()])


def test_random_conditions_keep_the_rows_that_datafusion_keeps(both: dict[str, Any], form: str) -> None:
    chance = random.Random(7)
    known = [leaf for leaf in leaves() if isinstance(in_memory(both[form], leaf), list)]

    def condition(levels: int) -> str:
        kind = chance.choice(["leaf", "not", "and", "or", "or", "and"]) if levels else "leaf"
        if kind == "leaf":
            return f"({chance.choice(known)})"
        if kind == "not":
            return f"(not {condition(levels - 1)})"
        return f"({condition(levels - 1)} {kind} {condition(levels - 1)})"

    check_alike(both[form], [condition(3) for _ in range(200)])


def test_comparisons_of_a_type_skip_files(both: dict[str, Any], plans: list[fz.Scan]) -> None:
    """So that translations are weaker than the filters of DataFusion, and not missing."""
    for condition, text in {
        "i = 1": "i = 1",
        "l > 1": "l > 1",
        "x > 1.5": "x > 1.5",
        "b": "b = true",
        "t like 'a%'": "starts_with(t, 'a')",
        "n = -12.30": "n = -12.30",
        "d >= date '2026-02-28'": "d >= '2026-02-28'",
        "w < timestamp '2026-01-01 00:00:00'": "w < '2026-01-01T00:00:00'",
        "z = timestamp '2026-01-01 00:00:00'": "z = '2026-01-01T00:00:00+00:00'",
        "y = x'6162'": "y = x'6162'",
    }.items():
        both["iceberg"].sql(f"select id from t where {condition}").collect()
        assert str(plans[-1].filter).endswith(text), condition


def test_odd_names_are_columns_too(catalog: fz.Catalog, plans: list[fz.Scan]) -> None:
    data = pa.table({'a "b"': [1, 2], "a.b": [3, 4], "select": [5, 6], "A": [7, 8]})
    session = context(t=catalog.create_table("db.odd", data=data))
    assert asked(session, 'select "A" from t where "a ""b""" = 1 and "a.b" < 4 and "select" = 5') == [(7,)]
    assert str(plans[-1].filter).count("and") == 2
    assert asked(session, 'select "a.b" from t order by 1') == [(3,), (4,)]


def test_nested_values_arrive(catalog: fz.Catalog, form: str) -> None:
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("l", pa.list_(pa.int32())),
            ("m", pa.map_(pa.string(), pa.float64())),
            ("s", pa.struct([("t", pa.struct([("v", pa.list_(pa.string()))]))])),
        ]
    )
    values = [
        {"id": 1, "l": [1, None], "m": [("k", 1.5)], "s": {"t": {"v": ["a", None]}}},
        {"id": 2, "l": None, "m": None, "s": None},
        {"id": 3, "l": [], "m": [], "s": {"t": None}},
    ]
    data = pa.Table.from_pylist(values, schema=schema)
    session = context(t=catalog.create_table("db.nested", data=data, format=form))
    got = session.sql("select * from t where l is null or id <> 2 order by id").to_arrow_table()
    assert got.to_pylist() == values
    assert asked(session, "select m['k'], s['t']['v'][1] from t where id = 1") == [(1.5, "a")]


# ---------------------------------------------------------------- errors, memory, threads


def test_the_error_of_a_lost_file_has_its_text(table: fz.Table) -> None:
    session = context(t=table)
    path = next(iter(table.scan("id = 450").plan_files())).data_file.path
    Path(path.removeprefix("file://")).unlink()
    with pytest.raises(Exception, match=Path(path).name):
        asked(session, "select sum(x) from t")
    assert ids(session, "id < 3") == [0, 1, 2]


def test_the_error_of_a_plan_has_its_text(table: fz.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    from frazil.interop import datafusion_source

    def refused(*_: Any) -> None:
        raise fz.StoreError("the store is asleep", hint="Wake it")

    session = context(t=table)
    monkeypatch.setattr(datafusion_source.Source, "plan", refused)
    with pytest.raises(Exception, match=r"StoreError: the store is asleep\. Wake it"):
        asked(session, "select id from t")


def test_another_version_of_datafusion_is_refused(table: fz.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datafusion, "__version__", "54.1.0")
    with pytest.raises(fz.UnsupportedError, match=r"fits DataFusion 55, and 54\.1\.0 is installed.*to_arrow_dataset"):
        context(t=table)


def test_what_is_no_session_is_refused(table: fz.Table) -> None:
    for wrong in (None, 5, object()):
        with pytest.raises(TypeError):
            table.__datafusion_table_provider__(wrong)


def test_threads_share_a_session(table: fz.Table) -> None:
    session = context(t=table)
    got: list[Any] = []
    query = "select count(*), sum(id) from t where id >= {}"

    def ask(first: int) -> None:
        for _ in range(5):
            got.append((first, asked(session, query.format(first))))

    threads = [threading.Thread(target=ask, args=(first,)) for first in (0, 100, 250, 490)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 20
    for first, answer in got:
        left = [i for i in IDS if i >= first]
        assert answer == [(len(left), sum(left))]


def test_a_query_that_stops_early_ends_its_threads(catalog: fz.Catalog) -> None:
    made = catalog.create_table("db.long", data=pa.table({"id": range(2_000_000)}))
    session = context(t=made)
    stream = session.sql("select id from t where id % 2 = 0").execute_stream()
    assert next(stream).to_pyarrow().num_rows > 0
    assert readers() > 0
    del stream
    wait = threading.Event()
    for _ in range(100):
        if readers() == 0:
            break
        wait.wait(0.1)
    assert readers() == 0


def readers() -> int:
    """The threads of this process that read rows. The system cuts their names."""
    names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    return sum(name.startswith("frazil-datafusi") for name in names)


def test_a_large_table_needs_little_memory(catalog: fz.Catalog) -> None:
    """1.6 GB of values. Only a small part of them is in memory at a time."""
    made = catalog.create_table("db.large", pa.schema([("id", pa.int64()), ("x", pa.int64())]))
    count = 10_000_000
    for first in range(0, 10 * count, count):
        made.append(pa.table({"id": pa.repeat(first, count), "x": pa.repeat(7, count)}))
    session = context(2, t=made)
    assert asked(session, "select sum(x) from t where id >= 0 and x < 8") == [(70 * count,)]
    before = peak()
    assert asked(session, "select sum(x), max(id) from t where x < 8") == [(70 * count, 9 * count)]
    assert peak() - before < 300 << 20


def peak() -> int:
    """The most memory that this process had."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
