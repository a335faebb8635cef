"""A program that Ctrl-C ends while it writes to a far store: its files are removed before the process ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

import frazil as fz
from object_fixtures import bucket, files, lake, options, port, proxy
from object_server import Proxy

__all__ = ["bucket", "files", "lake", "options", "port", "proxy"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")

# The call waits a quarter of a second. There are more files than are removed at the same time, so that takes longer.
LATENCY, FILES = 0.3, 40

PROGRAM = """
import json, sys
import pyarrow as pa
import frazil as fz

place, options = sys.argv[1], json.loads(sys.argv[2])
table = fz.catalog("lake", type="filesystem", warehouse=place, **options).load_table("db.t")
print("loaded", flush=True)
table.append(pa.table({"id": list(range(1000)), "p": [n % int(sys.argv[3]) for n in range(1000)]}))
"""


def data_files(files: pafs.S3FileSystem, place: str) -> list[str]:
    found = files.get_file_info(pafs.FileSelector(place, recursive=True, allow_not_found=True))
    return [info.path for info in found if info.path.endswith(".parquet")]


def test_files_are_removed_before_the_process_ends(
    lake: fz.Catalog, bucket: str, options: dict[str, str], proxy: Proxy, files: pafs.S3FileSystem
) -> None:
    table = lake.create_table("db.t", pa.schema([("id", pa.int64()), ("p", pa.int64())]), partition_by=["p"])
    proxy.latency = LATENCY
    command = [sys.executable, "-c", PROGRAM, f"s3://{bucket}/wh", json.dumps(options), str(FILES)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "loaded\n"
        until = time.monotonic() + 60
        while len(data_files(files, bucket)) < FILES and time.monotonic() < until:
            time.sleep(0.01)
        # The call writes its manifests now.
        assert len(data_files(files, bucket)) == FILES
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=60)
    proxy.latency = 0.0
    assert "KeyboardInterrupt" in errors
    assert data_files(files, bucket) == []
    assert table.refresh().snapshot is None
