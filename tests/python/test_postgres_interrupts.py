"""Ctrl-C while PostgreSQL commits: the server goes on, so the commit may happen, and its files must stay."""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from test_far_interrupts import interrupted
from test_postgres_tls import FOLDER, Server, pytestmark, server, until

__all__ = ["pytestmark", "server"]

# A commit that changes the register takes three seconds.
SLOW = """
CREATE FUNCTION slow() RETURNS trigger AS $$ BEGIN PERFORM pg_sleep(3); RETURN NULL; END $$ LANGUAGE plpgsql;
CREATE CONSTRAINT TRIGGER slow AFTER INSERT OR UPDATE ON iceberg_tables DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION slow();
"""
QUICK = "DROP TRIGGER slow ON iceberg_tables; DROP FUNCTION slow;"
ROWS = pa.table({"id": [1, 2]})


def run(server: Server, text: str) -> None:
    place = f"host=localhost port={server.port} user=frazil dbname=postgres sslmode=require"
    subprocess.run([f"{FOLDER}/psql", "-q", "-v", "ON_ERROR_STOP=1", place, "-c", text], check=True)


VERBS: dict[str, Callable[[fz.Catalog], Any]] = {
    "append": lambda c: c.load_table("db.t").append(ROWS),
    "create": lambda c: c.create_table("db.new", data=ROWS),
    "transaction": lambda c: c.load_table("db.t").delete("id = 1"),
}


@pytest.mark.parametrize("name", VERBS)
def test_an_interrupt_while_the_database_commits_loses_no_table(
    name: str, server: Server, tmp_path: pathlib.Path
) -> None:
    given = {"uri": server.uri(sslmode="require"), "warehouse": tmp_path}
    catalog = fz.catalog(f"interrupted {name}", type="sql", **given)
    catalog.create_namespace("db")
    catalog.create_table("db.t", data=ROWS)
    run(server, SLOW)
    try:
        took = interrupted(lambda: VERBS[name](catalog), 1.5)
    finally:
        run(server, QUICK)  # It waits for the commit.
    assert took is not None
    assert took < 1.5
    if name == "create":
        until(lambda: catalog.table_exists("db.new"))
        assert catalog.load_table("db.new").scan().to_arrow()["id"].to_pylist() == [1, 2]
    expected = {"append": [1, 1, 2, 2], "create": [1, 2], "transaction": [2]}[name]
    until(lambda: sorted(catalog.load_table("db.t").scan().to_arrow()["id"].to_pylist()) == expected)
