"""Explanations and statistics of tables that Java Iceberg wrote, with deletes of either kind."""

import pytest
from java_side import NAMESPACE, Java

import frazil as fz

MODES = {f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")}


@pytest.mark.parametrize("version", [2, 3], ids=["position deletes", "deletion vectors"])
def test_deletes(java: Java, version: int) -> None:
    table = java.create("explain", "id int, p int, s string", "p", version=version, properties=MODES)
    name = f"ice.{NAMESPACE}.{table}"
    java.sql(f"insert into {name} select /*+ coalesce(1) */ id, id % 3, string(id) from range(90)")
    java.sql(f"insert into {name} select /*+ coalesce(1) */ id, id % 3, string(id) from range(90, 99)")
    java.sql(f"delete from {name} where id < 30 and p = 1")
    opened = fz.open_table(java.root(table))
    for where in (None, "p = 1", "p = 0", "id < 20", "p = 1 and id > 200", "p < 2 and id < 10"):
        scan = opened.scan(where)
        explain = scan.explain(files=True)
        tasks = list(scan.plan_files())
        files = explain.files.to_pylist()
        data = [f for f in files if f["content"] == "data"]
        assert len(data) == 6
        assert [(f["file_path"], f["deletes"]) for f in data if f["kept"]] == [
            (t.data_file.path, len(t.deletes)) for t in tasks
        ]
        (delete,) = [f for f in files if f["content"] != "data"]
        assert delete["content"] == ("position" if version == 2 else "deletion_vector")
        assert delete["kept"] == any(t.deletes for t in tasks)
        assert all(f["reason"] for f in files)
        deletes = explain.to_dict()["deletes"]
        assert deletes["attached"] == delete["kept"]
        rows = java.sql(f"select count(*) n, min(id) low, max(id) high from {name} where {where or 'true'}")[0]
        said = scan.statistics("id", "p")
        assert said.row_count.value == rows.n if said.row_count.exact else said.row_count.value >= rows.n
        if rows.n:
            assert said["id"].min.value == rows.low if said["id"].min.exact else said["id"].min.value <= rows.low
            assert said["id"].max.value == rows.high if said["id"].max.exact else said["id"].max.value >= rows.high
    assert "delete" in str(opened.scan().explain())
    # A deletion vector counts its rows exactly; a position delete file may name a row twice.
    whole = opened.scan().statistics()
    assert whole.row_count == ((89, True) if version == 3 else (99, False))
    assert opened.scan("p = 1").statistics("p")["p"].min == (1, True)
    # The newer files, which have no deletes, have the greatest ids; a deleted row may have had the least.
    assert whole["id"].max == (98, True)
    assert whole["id"].min == (0, True)
    estimate = opened.scan("p = 0").estimate()
    assert (estimate.data_manifests, estimate.delete_manifests, estimate.delete_files) == (2, 0, 0)
    if version == 3:
        assert opened.scan("p = 1").count() == 23
