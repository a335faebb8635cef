"""Compares two versions of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from frazil import arguments
from frazil.capabilities import supports
from frazil.differences.diff import Change, Diff, Totals
from frazil.differences.rows import row_counts
from frazil.display import tables
from frazil.display.partitions import partition_value
from frazil.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

    from frazil.schema import Field

    _Changes = tuple[list[Change] | None, list[Change] | None, list[Change] | None]

__all__ = ["difference"]


def difference(table: Any, a: Any, b: Any, rows: bool) -> Diff:
    """What differs between two versions.

    Args:
        table: The table.
        a: The first version: as for `Table.scan`, or another table object.
        b: The second version. None is the newest one.
        rows: Whether to count the rows that differ.
    """
    kind = type(table)
    first, second = (side if isinstance(side, kind) else table for side in (a, b))
    if first.uuid != second.uuid:
        raise InvalidInputError(
            "the tables are two different tables", {"first": first.location, "second": second.location}
        )
    # A branch has the table's newest columns, a snapshot those that it was written with. In Apache Paimon, snapshots of
    # a branch have numbers of their own, so versions are named as they were given.
    ends = [None if isinstance(at, kind) else at for at in (a, b)]
    was, now = (side.scan(at=at) for side, at in zip((first, second), ends, strict=True))
    before, after = was.snapshot_id, now.snapshot_id
    defined = [_defined(side, at) for side, at in zip((first, second), ends, strict=True)]
    partitioning, sorting, properties = _definitions(*defined)
    old, new = _listed(first, ends[0], before), _listed(second, ends[1], after)
    files = _differing(old, new)
    totals = _totals(was, old), _totals(now, new)
    counts = None
    if rows:
        # Where snapshots name no parents, each branch has schemas of its own, and rows have no ids.
        has_parents = supports(first._core, "snapshot_parents")
        has_ids = has_parents and all(side.format_version >= 3 for side in (first, second))
        is_one_line = has_parents or not any(_is_branch(table, at) for at in ends)
        counts = row_counts(was, now, (totals[0].rows, totals[1].rows), has_ids, is_one_line)
    return Diff(
        before,
        after,
        _schema(was.schema.fields, now.schema.fields),
        partitioning,
        sorting,
        properties,
        totals,
        files,
        _by_partition(files),
        counts,
    )


def _defined(table: Any, at: Any) -> Any | None:
    """The table with the properties, partitioning and sort order of a version. None if they are no longer known."""
    if at is None:
        return table
    found = table._core.defined_at(arguments.version(at))
    return None if found is None else type(table)(found)


def _definitions(before: Any | None, after: Any | None) -> _Changes:
    """What differs in partitioning, sorting and properties."""
    if before is None or after is None:
        return None, None, None
    return (
        _fields(before.partition_spec, after.partition_spec),
        _fields(before.sort_order, after.sort_order),
        _properties(before.properties, after.properties),
    )


def _fields(before: Any, after: Any) -> list[Change]:
    """The fields that only one side has. Else the order of the fields, if it differs."""
    old, new = before.fields, after.fields
    found = [Change("removed", str(field), "", None) for field in old if field not in new]
    found += [Change("added", str(field), None, "") for field in new if field not in old]
    if not found and old != new:
        found = [Change("changed", "order", *(", ".join(map(str, fields)) for fields in (old, new)))]
    return found


def _properties(before: Mapping[str, str], after: Mapping[str, str]) -> list[Change]:
    """The properties that differ, without secrets."""
    was, now = tables.public_options(before), tables.public_options(after)
    found = []
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            kind = "changed" if name in before and name in after else "added" if name in after else "removed"
            found.append(Change(kind, name, was.get(name), now.get(name)))
    return found


def _flat(fields: Iterable[Field], prefix: str = "") -> dict[int, tuple[str, Field]]:
    """All columns and members by their ids."""
    found: dict[int, tuple[str, Field]] = {}
    for field in fields:
        found[field.id] = (prefix + field.name, field)
        found.update(_flat(field.children, f"{prefix}{field.name}."))
    return found


def _schema(before: Iterable[Field], after: Iterable[Field]) -> list[Change]:
    old, new = _flat(before), _flat(after)
    found = [Change("added", name, None, field.type) for at, (name, field) in new.items() if at not in old]
    found += [Change("removed", name, field.type, None) for at, (name, field) in old.items() if at not in new]
    for at in old.keys() & new.keys():
        (name, was), (now, field) = old[at], new[at]
        if was.name != field.name:
            found.append(Change("renamed", now, name, now))
        # The members of nested columns are compared by themselves.
        if was.type != field.type and not (was.children and field.children):
            found.append(Change("type", now, was.type, field.type))
        if was.required != field.required:
            nulls = ["no nulls" if required else "nulls" for required in (was.required, field.required)]
            found.append(Change("nulls", now, *nulls))
        if was.doc != field.doc:
            found.append(Change("comment", now, was.doc or "", field.doc or ""))
    return found


def _is_branch(table: Any, at: Any) -> bool:
    """Whether a version is a branch other than `main`."""
    ref = table.refs.get(at) if isinstance(at, str) else None
    return ref is not None and ref.type == "branch" and at != "main"


def _listed(table: Any, at: Any, snapshot: int | None) -> pa.Table:
    """The files of a version, with the columns of `Diff.to_arrow` and a key."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = dict.fromkeys(("key", "content", "file_path", "partition"), pa.string())
    schema = pa.schema({**texts, **dict.fromkeys(("record_count", "file_size_in_bytes"), pa.int64())})
    if snapshot is None:
        return schema.empty_table()
    files = table.inspect.files(at=at)
    names = files.schema.names
    path, zeros = files["file_path"], pa.repeat(0, len(files))
    # A file can have several deletion vectors.
    offset = files["content_offset"] if "content_offset" in names else zeros
    number = pc.coalesce(offset, 0).cast(pa.string())
    is_data = pc.equal(files["content"] if "content" in names else zeros, 0)
    columns = {
        "key": pc.binary_join_element_wise(path, number, "#"),
        "content": pc.if_else(is_data, "data", "deletes"),
        "file_path": path,
        "partition": _partition_texts(files, {f.name: f.transform for f in table.partition_spec.fields}),
        "record_count": files["record_count"],
        "file_size_in_bytes": files["file_size_in_bytes"],
    }
    return pa.table(columns).cast(schema)


def _partition_texts(files: pa.Table, transforms: Mapping[str, str]) -> pa.ChunkedArray:
    """The partitions as texts: `day=2026-01-01, country=NO`.

    Args:
        files: The files.
        transforms: The transforms of partition fields by their names.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if "partition" not in files.schema.names:
        return pa.chunked_array([pa.repeat("", len(files))])
    column = files["partition"].combine_chunks()
    if not pa.types.is_struct(column.type):
        return pa.chunked_array([column.cast(pa.string())])
    parts = []
    for at in range(column.type.num_fields):
        member = column.field(at)
        name = column.type.field(at).name
        if _has_no_cast(member.type) or transforms.get(name) in ("year", "month", "hour"):
            value = pa.array([partition_value(transforms.get(name), v) for v in member.to_pylist()], pa.string())
        else:
            value = pc.fill_null(member.cast(pa.string()), "null")
        parts.append(pc.binary_join_element_wise(name, value, "="))
    joined = pc.binary_join_element_wise(*parts, ", ") if parts else pa.repeat("", len(files))
    return pa.chunked_array([joined])


def _has_no_cast(type_: pa.DataType) -> bool:
    import pyarrow as pa

    is_bytes = (pa.types.is_binary, pa.types.is_fixed_size_binary, pa.types.is_large_binary)
    return isinstance(type_, pa.BaseExtensionType) or any(is_kind(type_) for is_kind in is_bytes)


def _differing(before: pa.Table, after: pa.Table) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = []
    for change, side, other in (("added", after, before), ("removed", before, after)):
        found = side.filter(pc.invert(pc.is_in(side["key"], value_set=other["key"]))).drop_columns("key")
        parts.append(found.add_column(0, "change", pa.repeat(change, len(found))))
    return pa.concat_tables(parts)


def _by_partition(files: pa.Table) -> pa.Table:
    """Columns: `partition`, and of its data files `files_added`, `files_removed`, `rows_…`, `bytes_…`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    data = files.filter(pc.equal(files["content"], "data"))
    counted = {"files": pa.repeat(1, len(data)), "rows": data["record_count"], "bytes": data["file_size_in_bytes"]}
    columns = {"partition": data["partition"]}
    for name, values in counted.items():
        for change in ("added", "removed"):
            columns[f"{name}_{change}"] = pc.if_else(pc.equal(data["change"], change), values, 0)
    names = [name for name in columns if name != "partition"]
    grouped = pa.table(columns).group_by("partition").aggregate([(name, "sum") for name in names])
    renamed = {"partition": grouped["partition"], **{name: grouped[f"{name}_sum"] for name in names}}
    return pa.table(renamed).sort_by("partition")


def _totals(scan: Any, files: pa.Table) -> Totals:
    import pyarrow.compute as pc

    data = pc.sum(pc.equal(files["content"], "data")).as_py() or 0
    return Totals(scan.count(), data, len(files) - data, pc.sum(files["file_size_in_bytes"]).as_py() or 0)
