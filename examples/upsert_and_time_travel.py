"""Changes rows by key in an Iceberg table and a Paimon table, and reads both as they were before.

Run: python examples/upsert_and_time_travel.py [FOLDER]. Without a folder, it uses a temporary one.
"""

import sys
import tempfile
from pathlib import Path

import pyarrow as pa

import frazil as fz

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string()), ("points", pa.int64())])


def rows(*values: tuple[int, str, int]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in values], schema=SCHEMA)


def show(title: str, scan: fz.Scan) -> None:
    print(f"{title}:", [tuple(row.values()) for row in scan.to_arrow().sort_by("id").to_pylist()])


def main(folder: Path) -> None:
    catalog = fz.catalog("examples", warehouse=folder)
    catalog.create_namespace("game", if_not_exists=True)
    # The same calls for both formats. In Paimon, the identifier fields are the table's primary key.
    for format in ("iceberg", "paimon"):
        name = f"game.{format}_players"
        if catalog.table_exists(name):
            catalog.drop_table(name)  # left by an earlier run
        players = catalog.create_table(name, SCHEMA, identifier_fields=["id"], format=format)
        players.append(rows((1, "Ada", 10), (2, "Bo", 20)))
        before = players.snapshot
        assert before is not None

        # Bo gets other points, Cy is new. Both happen in one commit.
        players.upsert(rows((2, "Bo", 25), (3, "Cy", 30)))
        show(f"\n{format}, now", players.scan())

        # Every snapshot that has not expired can be read, by its id, by a time, or by a tag.
        players.refs.create_tag("before-the-upsert", at=before.id)
        show(f"{format}, before", players.scan(at="before-the-upsert"))

        # What changed between the two versions.
        for row in players.changes(since=before.id).to_arrow().sort_by([("id", "ascending")]).to_pylist():
            print(f"{format}, changed:", row["_change_type"], row["id"], row["name"], row["points"])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
