"""Scans as data sources of Ray Data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import ray.data
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

if TYPE_CHECKING:
    from frazil.scan import Scan, Split

__all__ = ["ScanDatasource", "dataset"]


def dataset(scan: Scan, most: int | None) -> ray.data.Dataset:
    """A Dataset over a scan, read by at most this number of tasks."""
    source = ScanDatasource(scan)
    read = (
        ray.data.read_datasource(source) if most is None else ray.data.read_datasource(source, override_num_blocks=most)
    )
    return read if scan.row_limit is None else read.limit(scan.row_limit)


class ScanDatasource(Datasource):  # type: ignore[misc]
    """A scan. Each read task has one split."""

    def __init__(self, scan: Scan) -> None:
        super().__init__()
        self._scan = scan

    def get_name(self) -> str:
        """The name in Ray's plans and dashboard."""
        return "Frazil"

    def estimate_inmemory_data_size(self) -> int | None:
        """Unknown before planning: files are compressed."""
        return None

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        """At most `parallelism` tasks that read about the same number of bytes."""
        schema = self._scan.arrow_schema
        given = {} if per_task_row_limit is None else {"per_task_row_limit": per_task_row_limit}
        return [
            ReadTask(_reading(split), self._facts(split), schema=schema, **given)
            for split in self._scan.plan(n=max(parallelism, 1))
        ]

    def _facts(self, split: Split) -> BlockMetadata:
        """What is known of a split. Rows are only counted if neither filter nor deletes can remove any."""
        tasks = split.tasks
        whole = all(str(task.residual) == "true" and not task.deletes for task in tasks)
        paths = [task.data_file.path for task in tasks]
        is_cut = len(set(paths)) < len(paths) or any(t.length < t.data_file.size_bytes - 4 for t in tasks)
        rows = split.row_count if whole and not is_cut else None
        return BlockMetadata(num_rows=rows, size_bytes=split.size_bytes, input_files=paths, exec_stats=None)


def _reading(split: Split) -> Callable[[], Iterator[pa.Table]]:
    def read() -> Iterator[pa.Table]:
        for batch in split.to_arrow_batch_reader():
            yield pa.Table.from_batches([batch])

    return read
