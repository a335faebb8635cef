"""Metadata columns are those that Java Iceberg gives, over deletes, row lineage and changes of the partitioning."""

import pickle

import pytest
from java_side import NAMESPACE, Java, assert_same_rows, exact

import frazil as fz

COLUMNS = ["id", "_file", "_pos", "_deleted", "_spec_id", "_partition"]
LINEAGE = ["_row_id", "_last_updated_sequence_number"]
MERGE_ON_READ = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}


@pytest.mark.parametrize("version", [2, 3])
def test_metadata_columns(java: Java, version: int) -> None:
    table = java.create("metacols", "id int, cat string, ts timestamp", version=version)
    settings = ", ".join(f"'{key}' = '{value}'" for key, value in MERGE_ON_READ.items())
    java.alter(table, f"set tblproperties ({settings})")
    values = ", ".join(f"({i}, 'c{i % 2}', timestamp'2026-01-0{1 + i % 3} 00:00:00Z')" for i in range(12))
    java.insert(table, values)
    for change in ("add partition field cat", "add partition field day(ts)", "drop partition field cat"):
        java.alter(table, change)
        java.insert(table, values)
    java.sql(f"delete from ice.{NAMESPACE}.{table} where id in (2, 5, 11)")
    java.sql(f"update ice.{NAMESPACE}.{table} set cat = 'new' where id = 7")

    columns = COLUMNS + (LINEAGE if version == 3 else [])
    scan = fz.open_table(java.root(table)).scan(select=columns)
    rows = scan.to_arrow()
    assert_same_rows(exact(rows), java.read(table, columns=", ".join(columns)), "all rows, deleted ones flagged")
    assert scan.count() == rows.num_rows > fz.open_table(java.root(table)).scan().count()
    undeleted = [name for name in columns if name != "_deleted"]
    plain = fz.open_table(java.root(table)).scan(select=undeleted)
    assert_same_rows(exact(plain.to_arrow()), java.read(table, columns=", ".join(undeleted)), "without deleted rows")
    read = [part.to_arrow_batch_reader().read_all().num_rows for part in pickle.loads(pickle.dumps(scan.plan()))]
    assert sum(read) == rows.num_rows

    file = rows["_file"][0].as_py()
    filters = [
        "_deleted = true",
        "_deleted = false and id > 3",
        "_deleted = true or id = 4",
        "_pos >= 1 and id < 6",
        "_pos = 0 or id = 3",
        "_spec_id in (0, 2)",
        f"_file = '{file}'",
        "_partition.cat = 'c1'",
        "_partition.cat is null",
        "_partition.ts_day = '2026-01-02'",
    ]
    if version == 3:
        filters += ["_row_id between 3 and 20", "_last_updated_sequence_number > 2 and _row_id < 40"]
    for where in filters:
        ours = fz.open_table(java.root(table)).scan(where, columns)
        spark = java.read(table, where=where, columns=", ".join(columns))
        assert_same_rows(exact(ours.to_arrow()), spark, where)


def test_v2_has_no_lineage(java: Java) -> None:
    table = java.create("nolineage", "id int", version=2)
    with pytest.raises(fz.InvalidInputError, match="format version 3"):
        fz.open_table(java.root(table)).scan(select=["_row_id"])
