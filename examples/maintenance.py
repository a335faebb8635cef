"""Keeps a table in shape: compacts small files, rewrites manifests, expires snapshots, removes orphan files.

Run: python examples/maintenance.py [FOLDER]. Without a folder, it uses a temporary one.
"""

import datetime as dt
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

import frazil as fz

NOW = dt.timedelta(0)  # an age: take what is older than this


def main(folder: Path) -> None:
    catalog = fz.catalog("examples", warehouse=folder)
    catalog.create_namespace("logs", if_not_exists=True)
    if catalog.table_exists("logs.lines"):
        catalog.drop_table("logs.lines")  # left by an earlier run
    lines = catalog.create_table("logs.lines", pa.schema([("id", pa.int64()), ("text", pa.string())]))
    for n in range(8):  # many small commits leave many small files
        lines.append(pa.table({"id": [n], "text": [f"line {n}"]}))

    def show(title: str) -> None:
        files, on_disk = lines.inspect.files().num_rows, sum(p.is_file() for p in Path(lines.location).rglob("*"))
        print(f"{title}: {lines.scan().count()} rows, {files} data files, {on_disk} files on disk")

    show("Before")
    # A dry run says what would be done.
    planned = lines.maintain.compact(dry_run=True)
    print(f"Compaction would rewrite {planned.rewritten_files} files")
    lines.maintain.compact()
    show("Compacted")  # the old files stay, because older snapshots still read them

    # Planning opens fewer files when there are fewer manifests.
    rewritten = lines.maintain.rewrite_manifests()
    print(f"{len(rewritten.rewritten)} manifests became {len(rewritten.added)}")

    # Now the old snapshots go, and the files that only they used. A real job keeps some days of history.
    expired = lines.maintain.expire_snapshots(older_than=NOW, retain_last=1)
    show(f"Expired {len(expired.snapshots)} snapshots")

    # A writer that was killed leaves files that no snapshot uses.
    Path(lines.location, "data", "left-over.parquet").write_bytes(b"half a file")
    # Keep the default age (three days) where other writers may be at work.
    orphans = lines.maintain.remove_orphan_files(older_than=NOW)
    show(f"Removed {len(orphans.files)} orphan file(s)")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
