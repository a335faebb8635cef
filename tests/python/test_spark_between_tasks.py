"""Workers keep no finders of modules in PySpark's own archives, and little for the garbage collector to look at."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from frazil.spark.lanes import arrow as lanes
from frazil.spark.workers import between_tasks, remote

OF_SPARK = ("pyspark.zip", "py4j-0.10.9.9-src.zip", "spark-core_2.13-4.1.4.jar")


def archive(folder: Path, name: str, module: str) -> str:
    """A zip file with two modules."""
    path = folder / name
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{module}.py", "here = __file__")
        file.writestr(f"{module}_later/__init__.py", "here = __file__")
    return str(path)


@pytest.fixture
def archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Archives on the path, each with a module of a name of its own, which was imported."""
    names = {name: f"zipped_{i}" for i, name in enumerate([*OF_SPARK, "of-a-user.zip", "pyspark.zip.zip"])}
    for name, module in names.items():
        monkeypatch.syspath_prepend(archive(tmp_path, name, module))
        importlib.import_module(module)
    yield names
    for module in names.values():
        for loaded in (module, f"{module}_later"):
            sys.modules.pop(loaded, None)


def found(names: dict[str, str]) -> set[str]:
    """Archives that Python has a finder for."""
    return {name for name in names if any(path.rsplit("/", 1)[-1] == name for path in sys.path_importer_cache)}


def test_finders_of_sparks_archives_go_and_those_of_users_stay(archives: dict[str, str]) -> None:
    assert found(archives) == set(archives)
    between_tasks.forget_zip_finders()
    assert found(archives) == set(archives) - set(OF_SPARK)


def test_modules_are_found_afterwards(archives: dict[str, str]) -> None:
    between_tasks.forget_zip_finders()
    for name, module in archives.items():
        assert f"/{name}/" in importlib.import_module(f"{module}_later").here
    # A task that imports more leaves finders to the next one, which forgets them too.
    assert found(archives) == set(archives)
    between_tasks.forget_zip_finders()
    importlib.invalidate_caches()
    assert found(archives) == set(archives) - set(OF_SPARK)


def test_nothing_happens_outside_of_tasks(archives: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REUSE_WORKER", "1")
    frozen = gc.get_freeze_count()
    between_tasks.lighten_next_task()
    assert found(archives) == set(archives)
    assert gc.get_freeze_count() == frozen


@pytest.mark.parametrize("reuse", [True, False])
def test_objects_are_frozen_once_where_workers_have_several_tasks(
    archives: dict[str, str], monkeypatch: pytest.MonkeyPatch, reuse: bool
) -> None:
    calls = []
    monkeypatch.setattr(gc, "freeze", lambda: calls.append("freeze"))
    # Python 3.12 begins with some that are frozen.
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 375)
    monkeypatch.setattr("pyspark.TaskContext.get", lambda: object())
    monkeypatch.setattr(between_tasks, "_FROZEN", [])
    if reuse:
        monkeypatch.setenv("SPARK_REUSE_WORKER", "1")
    else:
        monkeypatch.delenv("SPARK_REUSE_WORKER", raising=False)
    for _ in range(3):
        between_tasks.lighten_next_task()
    assert calls == ["freeze"] * reuse
    assert found(archives) == set(archives) - set(OF_SPARK if reuse else ())


@pytest.mark.spark
def test_a_task_leaves_none_to_the_next(spark) -> None:
    run = remote.on_executors(lanes._nothing, "nothing")

    def count(batches):
        archives = [path for path in sys.path if path.endswith("pyspark.zip")]
        for path in archives:
            pkgutil.get_importer(path)
        there = [path for path in archives if path in sys.path_importer_cache]
        yield from run(batches)
        left = [path for path in sys.path_importer_cache if "pyspark.zip" in path]
        frozen = gc.get_freeze_count()
        yield pa.record_batch({"there": [len(there)], "left": [len(left)], "frozen": [frozen]})

    schema = "there bigint, left bigint, frozen bigint"
    for _ in range(2):
        rows = spark.range(2).repartition(2).mapInArrow(count, schema).collect()
        assert {(row.there, row.left) for row in rows} == {(1, 0)}
        # The objects of all libraries that a worker has imported.
        assert all(row.frozen > 10_000 for row in rows)
