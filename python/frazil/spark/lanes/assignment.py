"""Which lane reads which file of a scan.

The core decides which files Spark's own reader reads in the same way as Frazil. All other files go to the Arrow lane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession

from frazil import interop
from frazil.capabilities import format_name, scan_supports
from frazil.engines import Engine, check_engine
from frazil.exceptions import UnsupportedError
from frazil.requests.native_reads import NativeFilter, NativeGroup, find_native_files
from frazil.scan import Scan
from frazil.schema import Schema
from frazil.spark.lanes.arrow import Splits
from frazil.spark.lanes.spark_paths import schemes_of, spellings
from frazil.spark.settings import count_setting

__all__ = ["MAX_DELETES", "MAX_FILES", "File", "Group", "LaneAssignment", "all_to_arrow", "assign_lanes", "chunks"]


MAX_DELETES = "spark.frazil.native.max-deletes"
"""Spark setting: the most deleted positions that are broadcast. Default 4,000,000 if only Spark may read, else 0."""


MAX_FILES = "spark.frazil.native.max-files"
"""Spark setting: the most files whose footers the driver reads. Default 10,000."""


# Looking up deleted rows costs Spark more than getting the rows from Frazil.
_MOST_DELETES = {"native": 4_000_000, "auto": 0}


_MAX_FILES = 10_000


# The limit for files with deletes, which have one or two numbers each. Spark finds a number by a switch up to this
# limit. With fewer numbers, fewer bits of their hashes are enough to distinguish them.
_FILES_PER_SCAN = 400


# The most scans in one query.
_MOST_BRANCHES = 32


class File(NamedTuple):
    """A file for Spark. `spellings` are the ways in which Spark may give its path, first the one that it takes."""

    path: str
    size_bytes: int
    record_count: int
    number: int | None
    spellings: Sequence[str]


@dataclass(frozen=True)
class Group:
    """Files whose columns have the same names.

    Attributes:
        columns: Names in the files for the columns of `LaneAssignment.wanted`; None for a column of nulls only.
        filtered: Whether the filter has to be applied.
        files: The files.
    """

    columns: tuple[str | None, ...]
    filtered: bool
    files: tuple[File, ...]

    @property
    def has_deletes(self) -> bool:
        """Whether rows of its files are deleted."""
        return self.files[0].number is not None


@dataclass(frozen=True)
class LaneAssignment:
    """A scan's files by lane. `refused` has a reason for each file of `rest`, or one reason for all."""

    wanted: Schema
    filter: NativeFilter | None
    groups: tuple[Group, ...]
    deleted: pa.Table
    rest: Splits
    refused: pa.Table | str

    @property
    def reasons(self) -> pa.Table:
        """The files of `rest`, with columns `file_path` and `reason`."""
        if not isinstance(self.refused, str):
            return self.refused
        rest = self.rest if isinstance(self.rest, list) else self.rest.splits()
        paths = list(dict.fromkeys(task.data_file.path for split in rest for task in split.tasks))
        return pa.table({"file_path": pa.array(paths, pa.string()), "reason": pa.repeat(self.refused, len(paths))})


def all_to_arrow(scan: Scan, reason: str, pack_from: int | None = None) -> LaneAssignment:
    """Assigns all files to the Arrow lane. From `pack_from` splits on, they are packed if possible."""
    splits = scan._core.splits_or_packed(pack_from)
    nothing = pa.table({"word": pa.array([], pa.int64()), "mask": pa.array([], pa.int64())})
    return LaneAssignment(scan.schema, None, (), nothing, splits, reason)


def assign_lanes(
    spark: SparkSession, scan: Scan, engine: Engine, places: bool = False, pack_from: int | None = None
) -> LaneAssignment:
    """Decides which lane reads which file.

    Args:
        spark: The session.
        scan: The scan.
        engine: Who may read.
        places: Whether rows must come with their file and position. Spark's reader has both at no cost, but Frazil's
            sends a text for each row.
        pack_from: The number of splits in the Arrow lane from which they are packed. This is for reading:
            `LaneAssignment.reasons` takes long for packed splits.

    Raises:
        UnsupportedError: `engine` is `native`, and Spark's reader can't read a file in the same way as Frazil.
    """
    check_engine(engine)
    if engine == "arrow":
        return all_to_arrow(scan, "engine='arrow' was given", pack_from)
    if engine == "auto" and not scan_supports(scan._core, "native_reads"):
        return all_to_arrow(scan, f"the table is of {format_name(scan._table)}", pack_from)
    schemes = schemes_of(spark)
    most_deletes = _MOST_DELETES["native" if places else engine]
    most = count_setting(spark, MAX_FILES, _MAX_FILES), count_setting(spark, MAX_DELETES, most_deletes), pack_from
    refused: dict[str, str] = {}
    while True:
        found = find_native_files(scan._core, list(schemes), refused, *most)
        groups = tuple(_group(schemes, group) for group in found.groups)
        newly_refused = {
            file.path: "it would need a scan of its own, and the query already has too many"
            for file in _files_beyond_limit(groups)
        }
        newly_refused |= {
            file.path: "Spark may spell its path like that of another file"
            for file in _files_with_ambiguous_paths(groups)
        }
        if not newly_refused:
            break
        refused |= newly_refused
    assigned = LaneAssignment(
        Schema._wrap(found.schema),
        found.filter,
        groups,
        interop.table_of(found.deleted),
        found.rest,
        found.refused if isinstance(found.refused, str) else interop.table_of(found.refused),
    )
    if engine == "native" and len(reasons := assigned.reasons):
        path, reason = (column[0].as_py() for column in reasons.columns)
        raise UnsupportedError(
            f"Spark's own reader can't read {len(reasons)} of the scan's files in the same way as Frazil: "
            f"{reason} (path: {path})",
            {"path": path},
            "Leave out engine=. Frazil then reads such files if it can, and Spark reads the others",
        )
    return assigned


def _group(schemes: Mapping[str, str], found: NativeGroup) -> Group:
    """A group, from the core's description."""
    files = tuple(
        File(file.path, file.size_bytes, file.record_count, file.number, spellings(schemes, file.path))
        for file in found.files
    )
    return Group(tuple(found.columns), found.filtered, files)


def _files_beyond_limit(groups: Sequence[Group]) -> Iterator[File]:
    """The files of the smallest groups, if there would be too many branches."""
    branches = 0
    for group in sorted(groups, key=lambda g: -len(g.files)):
        for files in chunks(group):
            branches += 1
            if branches > _MOST_BRANCHES:
                yield from files


def _files_with_ambiguous_paths(groups: Sequence[Group]) -> Iterator[File]:
    """The files whose path Spark may spell like that of another file."""
    files = [file for group in groups for file in group.files]
    counts = Counter(path for file in files for path in file.spellings)
    return (file for file in files if any(counts[path] > 1 for path in file.spellings))


def chunks(group: Group) -> list[tuple[File, ...]]:
    """The files of a group, in the sets that are scanned together."""
    if not group.has_deletes:
        return [group.files]
    return [group.files[i : i + _FILES_PER_SCAN] for i in range(0, len(group.files), _FILES_PER_SCAN)]
