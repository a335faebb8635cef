"""Tables behind file systems of fsspec and pyarrow, and behind web servers."""

from __future__ import annotations

import http.server
import pickle
import re
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.fs as pafs
import pytest

import frazil as fz

SCHEMA = pa.schema([("id", pa.int64())])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    catalog = fz.catalog("c", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    table.append(pa.table({"id": [1, 2, 3]}))
    return tmp_path / "db" / "t"


def test_a_catalog_in_a_file_system() -> None:
    memory = fsspec.filesystem("memory")
    warehouse = f"memory://{uuid.uuid4()}"
    catalog = fz.catalog("m", warehouse=warehouse, filesystem=memory)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    table.append(pa.table({"id": [1, 2]}))
    stale = catalog.load_table("db.t")
    table.refresh().append(pa.table({"id": [3]}))
    stale.append(pa.table({"id": [4]}))
    table = catalog.load_table("db.t")
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]
    table.delete("id = 3")
    assert table.refresh().scan().count() == 3
    assert catalog.list_tables("db") == ["db.t"]
    catalog.drop_table("db.t", purge=True)
    assert not any("parquet" in name for name in memory.find(warehouse))


@pytest.mark.parametrize(
    "files",
    [
        fsspec.filesystem("file"),
        pafs.LocalFileSystem(),
        pafs.PyFileSystem(pafs.FSSpecHandler(fsspec.filesystem("file"))),
    ],
)
def test_local_files(folder: Path, files: object) -> None:
    table = fz.open_table(folder, filesystem=files)
    table.append(pa.table({"id": [4]}))
    table = pickle.loads(pickle.dumps(table.refresh()))
    assert sorted(table.scan("id > 1").to_arrow()["id"].to_pylist()) == [2, 3, 4]
    [split] = pickle.loads(pickle.dumps(table.scan("id = 4").plan()))
    assert split.to_arrow().num_rows >= 1
    assert fz.open_table(folder).scan().count() == 4


def test_explain_names_the_slow_way(folder: Path) -> None:
    explain = fz.open_table(folder, filesystem=fsspec.filesystem("file")).scan().explain()
    assert "filesystem=" in str(explain)
    assert explain.to_dict()["filesystem"] is True
    explain = fz.open_table(folder).scan().explain()
    assert "filesystem" not in str(explain)
    assert "filesystem" not in explain.to_dict()


def test_others_are_only_read(folder: Path) -> None:
    class Other(type(fsspec.filesystem("file"))):  # type: ignore[misc]
        protocol = "other"

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return path.removeprefix("other://")

    table = fz.open_table(folder, filesystem=Other())
    assert table.scan().count() == 3
    with pytest.raises(fz.UnsupportedError, match="can only be read"):
        table.append(pa.table({"id": [4]}))
    assert fz.open_table(folder).scan().count() == 3


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(fz.NotFoundError):
        fz.open_table(tmp_path / "none", filesystem=fsspec.filesystem("file"))
    with pytest.raises(fz.InvalidInputError, match="fsspec or pyarrow"):
        fz.open_table(tmp_path, filesystem=object())


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, also in parts."""

    def do_GET(self) -> None:
        part = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        path = Path(self.translate_path(self.path))
        if not part or not path.is_file():
            super().do_GET()
            return
        content = path.read_bytes()
        size = len(content)
        if part[1]:
            first, last = int(part[1]), min(int(part[2] or size), size - 1)
        else:
            first, last = max(size - int(part[2]), 0), size - 1
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Last-Modified", self.date_time_string(path.stat().st_mtime))
        self.end_headers()
        self.wfile.write(content[first : last + 1])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *args: Ranges(*args, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_a_web_server_is_only_read(folder: Path, web: str) -> None:
    newest = max((folder / "metadata").glob("*.metadata.json"), key=lambda path: path.stat().st_mtime_ns)
    table = fz.open_table(f"{web}/db/t/metadata/{newest.name}", moved=True)
    assert sorted(table.scan("id > 1").to_arrow()["id"].to_pylist()) == [2, 3]
    [split] = pickle.loads(pickle.dumps(table.scan().plan()))
    assert split.to_arrow().num_rows == 3
    with pytest.raises(fz.UnsupportedError, match="only be read"):
        fz.catalog("w", warehouse=f"{web}/db").create_namespace("n")
    with pytest.raises(fz.NotFoundError, match="no metadata file"):
        fz.open_table(f"{web}/db/t/metadata/none.metadata.json")
    with pytest.raises(fz.InvalidInputError, match="query"):
        fz.open_table(f"{web}/db/t/v1.metadata.json?X-Amz-Signature=hush")
