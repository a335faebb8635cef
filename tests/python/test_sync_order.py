"""Data files and their folders are synced before the commit: the order of system calls, recorded by `strace`.

A process appends to a table of many partitions. Each new data file gets its name by a link. Until the link or rename
that makes the new version, each of them must have been synced after it was complete, and so must its folder and all
folders above that the append made. No file is synced twice.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

import pyarrow as pa
import pytest

import frazil as fz

STRACE = shutil.which("strace")
PARTITIONS = 150
CALLS = "trace=fsync,fdatasync,link,linkat,rename,renameat,renameat2,mkdir,mkdirat"
APPEND = f"""
import sys
import pyarrow as pa
import frazil as fz
catalog = fz.catalog("c", type="filesystem", warehouse=sys.argv[1])
ids = pa.array(range({PARTITIONS}), pa.int64())
catalog.load_table("db.t").append(pa.table({{"id": ids, "p": ids}}))
"""
pytestmark = [
    pytest.mark.skipif(STRACE is None or not sys.platform.startswith("linux"), reason="needs strace"),
    pytest.mark.timeout(300),
]


class Call(NamedTuple):
    """A successful call: what it does (`sync`, `name` or `folder`), and the path of the file or the new name."""

    kind: str
    path: str


def calls(log: str, root: pathlib.Path) -> list[Call]:
    """The calls that touch paths below a folder, in the order in which they ended."""
    begun: dict[str, str] = {}
    out = []
    for line in log.splitlines():
        thread, _, text = line.partition(" ")
        text = text.strip()
        if text.endswith("<unfinished ...>"):
            begun[thread] = text.removesuffix("<unfinished ...>")
            continue
        if resumed := re.match(r"<\.\.\. \w+ resumed>(.*)", text):
            text = begun.pop(thread) + resumed.group(1)
        done = re.match(r"(\w+)\((.*)\)\s+= 0$", text)
        if done is None:
            continue
        name, arguments = done.groups()
        if name in ("fsync", "fdatasync"):
            found = re.search(r"<(/.*)>", arguments)
            kind, paths = "sync", [found.group(1)] if found else []
        else:
            kind = "folder" if name.startswith("mkdir") else "name"
            paths = re.findall(r'"([^"]*)"', arguments)
        if paths and paths[-1].startswith(f"{root}/"):
            out.append(Call(kind, final_name(paths[-1])))
    return out


def final_name(path: str) -> str:
    """The name of an open file: its temporary name may be gone already."""
    path = path.removesuffix(" (deleted)").removesuffix(">(deleted")
    folder, _, name = path.rpartition("/")
    temporary = re.fullmatch(r"\.(.+)\.[0-9a-f]{32}\.tmp", name)
    return f"{folder}/{temporary.group(1)}" if temporary else path


def is_commit(call: Call) -> bool:
    return call.kind == "name" and re.search(r"\.metadata\.json$|/snapshot/snapshot-\d+$", call.path) is not None


def disorder(made: list[Call]) -> list[str]:
    """What is not synced in time."""
    commit = next(at for at, call in enumerate(made) if is_commit(call))
    wrong = []
    for at, call in enumerate(made[:commit]):
        folder = str(pathlib.Path(call.path).parent)
        if call.kind != "sync" and Call("sync", folder) not in made[at:commit]:
            wrong.append(f"the name of {call.path} is not durable")
        if call.kind == "name" and (times := made[:commit].count(Call("sync", call.path))) != 1:
            wrong.append(f"{call.path} is synced {times} times")
    late = [call.path for call in made[commit:] if call.kind == "sync" and call.path.endswith(".parquet")]
    return wrong + late


@pytest.mark.parametrize("format", ["iceberg", "paimon"])
def test_data_files_and_folders_are_synced_before_the_commit(format: str, tmp_path: pathlib.Path) -> None:
    root, log = tmp_path / "wh", tmp_path / "trace"
    catalog = fz.catalog("c", type="filesystem", warehouse=root)
    catalog.create_namespace("db")
    schema = pa.schema([("id", pa.int64()), ("p", pa.int64())])
    catalog.create_table("db.t", schema, partition_by=["p"], format=format)
    command = [STRACE or "", "-f", "-y", "-q", "-o", str(log), "-s", "4096", "-e", CALLS]
    ended = subprocess.run([*command, sys.executable, "-c", APPEND, str(root)], capture_output=True, text=True)
    if "ptrace" in ended.stderr:
        pytest.skip("strace may not trace processes here")
    assert ended.returncode == 0, ended.stderr
    made = calls(log.read_text(), root)
    data = [call for call in made if call.path.endswith(".parquet")]
    assert sum(call.kind == "name" for call in data) == PARTITIONS
    assert sum(call.kind == "sync" for call in data) == PARTITIONS
    assert disorder(made) == []
    partitions = [call.path for call in made if call.kind == "sync" and re.search(r"/p=\d+$", call.path)]
    assert len(partitions) == len(set(partitions)) == PARTITIONS


def test_the_check_finds_missing_and_late_syncs() -> None:
    name, commit = Call("name", "/t/data/x.parquet"), Call("name", "/t/metadata/v2.metadata.json")
    file, folder = Call("sync", "/t/data/x.parquet"), Call("sync", "/t/data")
    assert disorder([name, file, folder, commit]) == []
    assert len(disorder([name, folder, commit])) == 1
    assert len(disorder([name, file, commit])) == 1
    assert len(disorder([name, folder, commit, file])) == 2
    assert len(disorder([folder, name, file, commit])) == 1


def test_names_of_removed_temporary_files_are_read() -> None:
    log = """
7 linkat(AT_FDCWD, "/t/data/.x.parquet.0123456789abcdef0123456789abcdef.tmp", AT_FDCWD, "/t/data/x.parquet", 0) = 0
8 fsync(5</t/data/.x.parquet.0123456789abcdef0123456789abcdef.tmp>(deleted) <unfinished ...>
7 mkdir("/t/data/p=1", 0777) = 0
7 mkdir("/t/data/p=1", 0777) = -1 EEXIST (File exists)
8 <... fsync resumed>) = 0
7 fsync(6</elsewhere>) = 0
"""
    expected = [Call("name", "/t/data/x.parquet"), Call("folder", "/t/data/p=1"), Call("sync", "/t/data/x.parquet")]
    assert calls(log, pathlib.Path("/t")) == expected
