"""Scans as data sets of PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import torch
import torch.distributed
from torch.utils.data import IterableDataset, get_worker_info

from frazil.exceptions import InvalidInputError

if TYPE_CHECKING:
    from frazil.scan import Scan

__all__ = ["dataset"]


def dataset(scan: Scan, batch_rows: int | None) -> IterableDataset[dict[str, Any]]:
    """The batches of a scan. Workers of a `DataLoader`, in all processes of a group, share the splits."""
    if scan.row_limit is not None:
        raise InvalidInputError(
            "a scan with a limit can't be shared among workers", hint="Leave out limit(), and stop after enough batches"
        )
    if batch_rows is not None:
        if batch_rows < 1:
            raise InvalidInputError(f"batch_rows must be 1 or above, not {batch_rows}")
        scan = scan._with(options={**scan._options, "batch-rows": str(batch_rows)})
    return _Batches(scan)


class _Batches(IterableDataset[dict[str, Any]]):  # type: ignore[misc,unused-ignore]
    def __init__(self, scan: Scan) -> None:
        self._scan = scan

    def __iter__(self) -> Iterator[dict[str, Any]]:
        number, count = _share()
        for at, split in enumerate(self._scan.plan(n=count)):
            if at == number:
                # The workers are processes already, so each reads with one thread.
                for batch in split.to_arrow_batch_reader(ordered=True, threads=1 if count > 1 else 0):
                    if batch.num_rows:
                        yield tensors(batch)

    def __repr__(self) -> str:
        return f"IterableDataset({self._scan!r})"


def _share() -> tuple[int, int]:
    """The number of this worker among all workers of all processes, and the number of those."""
    worker = get_worker_info()
    number, count = (0, 1) if worker is None else (worker.id, worker.num_workers)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        rank, processes = torch.distributed.get_rank(), torch.distributed.get_world_size()
        return rank * count + number, processes * count
    return number, count


def tensors(batch: pa.RecordBatch) -> dict[str, Any]:
    """The columns of a batch."""
    return {name: _column(name, column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}


def _column(name: str, column: pa.Array) -> Any:
    type_ = column.type
    if pa.types.is_temporal(type_):
        column = column.cast(pa.int32() if type_.bit_width == 32 else pa.int64())
    elif pa.types.is_fixed_size_list(type_) and _is_number(type_.value_type) and not column.null_count:
        flat = column.flatten()
        if not flat.null_count:
            return _column(name, flat).reshape(len(column), type_.list_size)
        return column.to_pylist()
    elif not _is_number(type_):
        return column.to_pylist()
    if column.null_count:
        if not pa.types.is_floating(column.type):
            raise InvalidInputError(
                "a tensor of integers or booleans can't hold nulls",
                {"column": name},
                f"Filter them: scan.where({f'{name} is not null'!r}), or leave the column out",
            )
        column = pc.fill_null(column, float("nan"))
    # Arrow's memory can't be written to, and tensors can.
    return torch.from_numpy(column.to_numpy(zero_copy_only=False).copy())


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_))
