"""Deleted rows, which a join leaves out of the rows that Spark reads.

The join is with a broadcast in which 64 rows of a file share an entry. With a key for each row, the look-ups would be
spread over a table that no cache of the processor holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from frazil.exceptions import InternalError
from frazil.spark.columns import selected
from frazil.spark.lanes.assignment import File, LaneAssignment
from frazil.spark.lanes.path_numbers import PathNumbers

__all__ = ["without_deleted"]


# The bits of the place of 64 rows in their file. The number of the file is above them.
_WORD_BITS = 34


# Columns in addition to those of the table.
_FILE, _PATH, _POSITION, _WORD, _BIT, _MASK = (
    f"__frazil_{name}" for name in ("file", "path", "position", "word", "bit", "mask")
)


def without_deleted(
    spark: SparkSession,
    assigned: LaneAssignment,
    rows: DataFrame,
    columns: Sequence[str | Column],
    files: Sequence[File],
) -> DataFrame:
    """Columns of the rows that are not deleted. For each 64 rows of a file, a mask says which are deleted.

    One long holds the file and the place of the 64 rows. Spark computes the file's number from its path, which it may
    spell in several ways.
    """
    numbers = PathNumbers(path for file in files for path in file.spellings)
    most = max(len(file.spellings) for file in files)
    numbered = [(file.number, file.spellings) for file in files if file.number is not None]
    deleted = [
        _renumbered(
            assigned.deleted, {number: numbers.by_path[paths[i]] for number, paths in numbered if i < len(paths)}
        )
        for i in range(most)
    ]
    # Two steps, so that the path is hashed once: Spark repeats an expression wherever its column is used.
    places = [
        f"{numbers.of('_metadata.file_path')} as {_FILE}",
        f"_metadata.file_path as {_PATH}",
        f"_metadata.row_index as {_POSITION}",
    ]
    word = f"shiftleft(cast({numbers.checked(_FILE, _PATH)} as bigint), {_WORD_BITS}) | shiftright({_POSITION}, 6)"
    entries = pa.concat_tables(deleted)
    if pc.count_distinct(entries[_WORD]).as_py() != len(entries):
        raise InternalError("deleted rows of two files have the same number")
    rows = selected(spark, rows, [*columns, *places])
    rows = rows.selectExpr("*", f"{word} as {_WORD}", f"cast({_POSITION} & 63L as int) as {_BIT}")
    rows = rows.join(f.broadcast(spark.createDataFrame(entries)), _WORD, "left")
    return rows.where(f"{_MASK} is null or (shiftright({_MASK}, {_BIT}) & 1L) = 0L")


def _renumbered(deleted: pa.Table, numbers: Mapping[int, int]) -> pa.Table:
    """Deleted rows with other numbers of files. Those of other files are removed."""
    by_number = pa.array([numbers.get(i) for i in range(max(numbers) + 1)], pa.int64())
    old = pc.shift_right(deleted.column("word"), _WORD_BITS)
    known = pc.less(old, len(by_number))
    new = by_number.take(old.filter(known))
    place = pc.bit_wise_and(deleted.column("word").filter(known), (1 << _WORD_BITS) - 1)
    words = pc.bit_wise_or(pc.shift_left(new, _WORD_BITS), place)
    renumbered = pa.table({_WORD: words, _MASK: deleted.column("mask").filter(known)})
    return renumbered.filter(pc.is_valid(words))
