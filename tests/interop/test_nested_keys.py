"""Keys in structs: Java reads equality deletes by them, and goes on; Frazil reads what Java's API writes."""

from typing import Any

import pyarrow as pa
import pytest
from java_side import NAMESPACE, Java, assert_same_rows, exact

import frazil as fz

COLUMNS = "id bigint, s struct<k: bigint, deep: struct<t: string, n: int>>, v string"


def rows(table: fz.Table, *given: tuple[int, int | None, str]) -> pa.Table:
    made: list[dict[str, Any]] = [{"id": n, "s": {"k": k, "deep": {"t": f"t{k}", "n": n}}, "v": v} for n, k, v in given]
    return pa.Table.from_pylist(made, schema=table.scan().to_arrow().schema)


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("partitioned", ["", "bucket(3, s.k)"])
def test_upserts_and_merges_by_members(java: Java, mode: str, partitioned: str) -> None:
    modes = {f"write.{kind}.mode": mode for kind in ("delete", "update", "merge")}
    name = java.create("nested", COLUMNS, partitioned, properties=modes)
    table = fz.open_table(java.root(name))
    table.append(rows(table, *((i, i * 10, "old") for i in range(6)), (100, None, "null")))
    java.insert(name, "(200, null, 'no struct'), (201, named_struct('k', 2010, 'deep', null), 'java')")
    table = table.refresh()
    table.upsert(rows(table, (2, 20, "new"), (50, 500, "new")), on=["s.k"])
    table.merge(pa.table({"s": [{"k": 10}, {"k": 2010}]}), on=["s.k"], when_matched_delete=True)
    table.upsert(rows(table, (3, 30, "found"), (4, 41, "other")), on=["s.deep.t", "s.k"])
    expected = {0: "old", 2: "new", 3: "found", 5: "old", 50: "new", 100: "null", 200: "no struct"}
    read = java.sql(f"select id, v from ice.{NAMESPACE}.{name} where id <> 4")
    assert {r.id: r.v for r in read} == expected
    assert_same_rows(exact(table.scan().to_arrow()), java.read(name))
    # Java merges by the same key, and Frazil goes on.
    java.sql(
        f"merge into ice.{NAMESPACE}.{name} t using (select 20 k union select 41) s on t.s.k = s.k "
        "when matched then update set v = 'java'"
    )
    table = table.refresh()
    assert_same_rows(exact(table.scan().to_arrow()), java.read(name))
    table.upsert(rows(table, (2, 20, "again")), on=["s.k"])
    assert_same_rows(exact(table.scan().to_arrow()), java.read(name))
    assert "again" in str(java.read(name, "s.k = 20"))


def test_java_reads_deletes_by_members_wrongly(java: Java) -> None:
    """Why Frazil refuses to write them: should this fail one day, Java reads them rightly."""
    name = java.create("nested", COLUMNS)
    table = fz.open_table(java.root(name))
    table.append(rows(table, (1, 10, "v"), (2, 20, "v")))
    with pytest.raises(fz.UnsupportedError, match="leaves the column out"):
        table.delete_keys(rows(table, (1, 10, "v")), on=["s.k"])
