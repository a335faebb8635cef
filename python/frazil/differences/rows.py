"""Counts the rows that differ between two versions. Only files that differ are read."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

from frazil import _core, interop
from frazil.differences.identities import DIGEST_BYTES, digests
from frazil.exceptions import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from frazil.scan import Scan
    from frazil.schema import Field, Schema

__all__ = ["row_counts"]

_ROW_ID = "_row_id"
# A split of this size has one file, or the files whose rows are merged.
_WHOLE = 1 << 50


def row_counts(was: Scan, now: Scan, totals: tuple[int, int], has_ids: bool, is_one_line: bool) -> dict[str, int]:
    """The rows that were added, removed and changed.

    Args:
        was: All rows of the first version.
        now: All rows of the second version.
        totals: The number of rows of both.
        has_ids: Whether rows have ids in both.
        is_one_line: Whether schemas of both are of one line of numbers, so that one version's schema reads files of
            the other.

    Raises:
        InvalidInputError: The columns of two branches differ, and they are numbered independently.
    """
    schemas = was.schema, now.schema
    scans = [scan.select(*scan.schema.names, *([_ROW_ID] if has_ids else [])) for scan in (was, now)]
    before, after = _only_in_one([_splits(scan) for scan in scans])
    if not before or not after:
        # All other files have the same rows in both.
        added, removed = (len(after) and totals[1] - totals[0]), (len(before) and totals[0] - totals[1])
        return {"added": added, "removed": removed, "changed": 0}
    newer = 1 if schemas[1].id >= schemas[0].id else 0
    if _columns(schemas[0]) != _columns(schemas[1]):
        if not is_one_line or schemas[0].id == schemas[1].id:
            raise InvalidInputError(
                "the rows of two branches with different columns can't be compared",
                hint="Leave out rows=True, or give the branches the same columns",
            )
        reader = (before, after)[newer][0]
        before, after = ([reader.with_tasks(split.tasks_to_json()) for split in side] for side in (before, after))
    return _matched([_identified(side, schemas[newer], has_ids) for side in (before, after)])


def _columns(schema: Schema) -> tuple[object, ...]:
    """What decides how rows are read. Changed options give a Paimon table a schema of another number."""
    return schema.fields, schema._core.identifier_field_ids


def _splits(scan: Scan) -> list[_core.Split]:
    return [split._core for split in scan.plan(split_size_bytes=_WHOLE, open_file_cost_bytes=_WHOLE)]


def _only_in_one(sides: Sequence[list[_core.Split]]) -> list[list[_core.Split]]:
    """What only one of both versions reads: other files, or other deletes of a file."""
    keys = [[blake2b(s.tasks_to_json().encode(), digest_size=DIGEST_BYTES).digest() for s in side] for side in sides]
    found = []
    for side, own, others in zip(sides, keys, reversed(keys), strict=True):
        left = Counter(others)
        only = []
        for split, key in zip(side, own, strict=True):
            if left[key] > 0:
                left[key] -= 1
            else:
                only.append(split)
        found.append(only)
    return found


def _identified(splits: list[_core.Split], schema: Schema, has_ids: bool) -> pa.Table:
    """The rows as digests.

    Columns: `row`, of all values; `key`, of the identifier fields, if the schema has some; `id`, if rows have ids.
    """
    import pyarrow as pa

    digest = pa.binary(DIGEST_BYTES)
    places = [_place(schema.fields, number) for number in schema._core.identifier_field_ids]
    types = {"row": digest} | ({"key": digest} if places else {}) | ({"id": pa.int64()} if has_ids else {})
    batches = []
    for batch in _batches(splits):
        columns = batch.columns[: len(schema)]
        found = [digests(columns, len(batch))]
        if places:
            found.append(digests([_member(columns, place) for place in places], len(batch)))
        if has_ids:
            found.append(batch.column(len(schema)))
        batches.append(pa.record_batch(found, schema=pa.schema(types)))
    return pa.Table.from_batches(batches, pa.schema(types))


def _batches(splits: list[_core.Split]) -> Iterator[pa.RecordBatch]:
    joined = _core.Split.joined(splits)
    if joined is not None:
        yield from interop.reader_of(joined.read())


def _place(fields: Iterable[Field], number: int) -> list[int]:
    """Where a column is: its position, and those of the members that lead to it."""
    for at, field in enumerate(fields):
        if field.id == number:
            return [at]
        if inner := _place(field.children, number):
            return [at, *inner]
    return []


def _member(columns: Sequence[pa.Array], place: list[int]) -> pa.Array:
    import pyarrow.compute as pc

    first, *inner = place
    return pc.struct_field(columns[first], inner) if inner else columns[first]


def _matched(sides: Sequence[pa.Table]) -> dict[str, int]:
    """Matches rows by their ids, then equal rows, then rows with equal keys."""
    import pyarrow as pa
    import pyarrow.compute as pc

    steps = [pa.repeat(pa.scalar(step, pa.int8()), len(side)) for side, step in zip(sides, (-1, 1), strict=True)]
    rows = pa.concat_tables(side.append_column("step", step) for side, step in zip(sides, steps, strict=True))
    changed = 0
    if "id" in rows.schema.names:
        rows, changed = _without_same_ids(rows)
    keys = [name for name in ("key", "row") if name in rows.schema.names]
    left = rows.select([*keys, "step"]).group_by(keys).aggregate([("step", "sum")])
    step = left["step_sum"]
    left = left.append_column("removed", pc.max_element_wise(pc.negate(step), 0))
    left = left.append_column("added", pc.max_element_wise(step, 0)).select([keys[0], "removed", "added"])
    if "key" in keys:
        left = left.group_by("key").aggregate([("removed", "sum"), ("added", "sum")])
        left = left.select(["key", "removed_sum", "added_sum"])
    removed, added = left[1], left[2]
    same = pc.min_element_wise(removed, added)
    removed, added, same = (pc.sum(counts).as_py() or 0 for counts in (removed, added, same))
    return {"added": added - same, "removed": removed - same, "changed": changed + same}


def _without_same_ids(rows: pa.Table) -> tuple[pa.Table, int]:
    """The rows whose ids are not in both versions, and the number of the others that changed."""
    import pyarrow.compute as pc

    of_id = rows.filter(pc.is_valid(rows["id"])).group_by("id")
    found = of_id.aggregate([("step", "sum"), ("step", "count"), ("row", "count_distinct")])
    # An id is unique in a version, unless a file is damaged.
    in_both = pc.and_(pc.equal(found["step_count"], 2), pc.equal(found["step_sum"], 0))
    paired = found.filter(in_both)
    changed = pc.sum(pc.equal(paired["row_count_distinct"], 2)).as_py() or 0
    return rows.filter(pc.invert(pc.is_in(rows["id"], value_set=paired["id"].combine_chunks()))), changed
