"""Timestamps of more than six digits, which Paimon stores as 96 bits in Parquet files."""

import random
from typing import Any

import pyarrow as pa
import pytest
from java_side import assert_same_rows
from paimon_java import Paimon, PaimonType, array, arrow_type, comparable, mapping, row

import frazil as fz

COLUMNS: dict[str, PaimonType] = {
    "id": "INT NOT NULL",
    "ts9": "TIMESTAMP(9)",
    "ts7": "TIMESTAMP(7)",
    "ltz8": "TIMESTAMP(8) WITH LOCAL TIME ZONE",
    "list": array("TIMESTAMP(9)"),
    "map": mapping("INT", "TIMESTAMP(9)"),
    "row": row(x="INT", t="TIMESTAMP(7) WITH LOCAL TIME ZONE"),
}
EDGES = [
    0,
    1,
    -1,
    999_999_999,
    -86_400_000_000_000,
    86_399_999_999_999,
    2**63 - 1,
    -(2**63),
    1_700_000_000_123_456_789,
]


def times(start: int, count: int) -> list[tuple[Any, ...]]:
    generator = random.Random(start)
    found = []
    for i in range(start, start + count):
        t = EDGES[i % len(EDGES)] if i % 3 else generator.randrange(-(2**62), 2**62)
        rough, finer = t // 100 * 100 if abs(t) < 2**62 else 0, t // 10 * 10 if abs(t) < 2**62 else 10
        nested = [[], None, [t, None], [1, 2, rough]][i % 4]
        entries = [[], None, [(1, t), (2, None)]][i % 3]
        member = {"x": i, "t": rough if i % 5 else None} if i % 4 else None
        found.append((i, t if i % 7 else None, rough, finer, nested, entries, member))
    return found


def batch(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = zip(zip(*rows, strict=True), COLUMNS.values(), strict=True)
    return pa.table([pa.array(column, arrow_type(type_)) for column, type_ in columns], names=list(COLUMNS))


@pytest.mark.parametrize(
    "options", [{}, {"file.block-size": "2 kb"}, {"metadata.stats-mode": "full"}], ids=["plain", "groups", "full"]
)
def test_both_ways(paimon: Paimon, options: dict[str, str]) -> None:
    table = paimon.create("wide", COLUMNS, options={"file.format": "parquet", **options})
    table.write(times(0, 60))
    table.check(None, (">", "id", 30), ("is null", "ts9"))
    table.open().append(batch(times(60, 90)))
    table.check(None, (">", "id", 100), ("is null", "ts9"), ("is not null", "ltz8"))
    everything = table.open().scan().to_arrow().sort_by("id")
    assert_same_rows(comparable(everything), comparable(batch(times(0, 60) + times(60, 90))), table.name)
    assert table.open().scan("ts9 = '1970-01-01T00:00:00.000000001'").count() > 0
    table.open().delete("id < 20")
    table.check(None)
    # Java says the same of Frazil's files as of its own.
    stats = [entry.file().valueStats().toRow().toString() for entry in table.load().store().newScan().plan().files()]
    assert stats


def test_keys_and_formats(paimon: Paimon) -> None:
    """As keys, in levels of other formats, merged and compacted."""
    columns = {**COLUMNS, "ts9": "TIMESTAMP(9) NOT NULL"}
    for format_ in ("parquet", "orc"):
        options = {
            "bucket": 2,
            "file.format": format_,
            "file.format.per.level": "0:parquet" if format_ == "orc" else "",
        }
        table = paimon.create("wide_keys", columns, ["ts9"], options={k: v for k, v in options.items() if v})
        # ORC has no timestamps in the last second before 1970.
        rows = [(r[0], r[1] or r[0], *r[2:]) for r in times(0, 40) if (r[1] or 0) < -(10**9) or (r[1] or 0) >= 0]
        table.write(rows[:25])
        table.open().append(batch(rows[10:]))
        table.check(None)
        table.open().maintain.compact()
        table.check(None)
        table.write(rows[5:9], ["-D"] * 4)
        table.compact()
        table.check(None)


def test_years_beyond(paimon: Paimon) -> None:
    """Java's timestamps reach further than nanoseconds of 64 bits: those are refused, not wrapped around."""
    table = paimon.create("beyond", {"id": "INT", "t": "TIMESTAMP(9)", "s": row(u="TIMESTAMP(9)")})
    loaded = table.load()
    writer = table._writer(loaded)
    for number, year in enumerate([2024, 3000]):
        made = table.api.data.GenericRow(3)
        time = table.api.data.Timestamp.fromLocalDateTime(table.paimon.jvm.java.time.LocalDateTime.of(year, 1, 1, 0, 0))
        made.setField(0, number)
        made.setField(1, time)
        inner = table.api.data.GenericRow(1)
        inner.setField(0, time)
        made.setField(2, inner)
        writer.write(made)
    table._commit(loaded, writer.prepareCommit(True, 1))
    writer.close()
    t = table.open()
    assert t.scan(select=["id"]).to_arrow()["id"].to_pylist() == [0, 1]
    for column in ("t", "s"):
        with pytest.raises(fz.UnsupportedError, match=f"1677-09-21.*{column}") as caught:
            t.scan(select=[column]).to_arrow()
        assert "parquet" in str(caught.value)
    with pytest.raises(fz.UnsupportedError, match="1677"):
        t.scan("t > '2024-01-01T00:00:00'", select=["id"]).to_arrow()
