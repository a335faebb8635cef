"""How large a table is and what makes it slow, from its metadata alone."""

from __future__ import annotations

import frazil as fz
from frazil.display.commits import integer_of
from frazil.display.figures import amount, bytes_text, number

__all__ = ["health_of", "sizes_of"]

_SIZES = (
    *("rows", "data_files", "data_bytes", "partitions", "deleted_rows", "delete_files", "manifests", "manifest_bytes"),
    "snapshots",
)
_MANY_SNAPSHOTS = 500
_MANY_MANIFESTS = 100
_SMALL_MANIFEST = 1 << 20
_MANY_FILES = 10
_TARGET = "write.target-file-size-bytes"
_DEFAULT_TARGET = 512 << 20


def sizes_of(table: fz.Table) -> dict[str, int | None]:
    """Figures of the current version; None for a figure that the table's format lacks."""
    if table.snapshot is None:
        empty: dict[str, int | None] = dict.fromkeys(_SIZES, 0)
        return empty
    import pyarrow.compute as pc

    partitions, manifests = table.inspect.partitions(), table.inspect.manifests()

    def total(*names: str, of: object = partitions) -> int | None:
        found = [pc.sum(of.column(name)).as_py() or 0 for name in names if name in of.schema.names]  # type: ignore[attr-defined]
        return sum(found) if found else None

    return {
        "rows": table.scan().count(),
        "data_files": total("file_count"),
        "data_bytes": total("total_data_file_size_in_bytes", "file_size_in_bytes"),
        "partitions": len(partitions),
        "deleted_rows": total("position_delete_record_count"),
        "delete_files": total("position_delete_file_count", "equality_delete_file_count"),
        "manifests": len(manifests),
        "manifest_bytes": total("length", "file_size", of=manifests),
        "snapshots": len(table.snapshots),
    }


def health_of(table: fz.Table, sizes: dict[str, int | None]) -> list[str]:
    """What could be better, one sentence each, with the command that mends it."""
    files, size, rows = (sizes[name] or 0 for name in ("data_files", "data_bytes", "rows"))
    partitions = sizes["partitions"] or 1
    target = integer_of(table.properties.get(_TARGET, "")) or _DEFAULT_TARGET
    found = []
    # A partition with little data can't have a larger file.
    if files >= _MANY_FILES and files > 4 * partitions and size / files < target / 8:
        found.append(f"small files: {number(files)} of {bytes_text(size // files)} on average; frazil compact")
    deleted, delete_files = sizes["deleted_rows"] or 0, sizes["delete_files"] or 0
    if delete_files and (deleted > (rows + deleted) / 10 or delete_files > files / 2):
        found.append(f"deletes: {amount(deleted, 'row')} in {amount(delete_files, 'delete file')}; frazil compact")
    manifests, manifest_bytes = sizes["manifests"] or 0, sizes["manifest_bytes"] or 0
    if manifests > _MANY_MANIFESTS and manifest_bytes / manifests < _SMALL_MANIFEST:
        text = f"manifests: {number(manifests)} of {bytes_text(manifest_bytes // manifests)} on average"
        found.append(f"{text}; frazil rewrite-manifests")
    if (sizes["snapshots"] or 0) > _MANY_SNAPSHOTS:
        found.append(f"long history: {number(sizes['snapshots'] or 0)} snapshots; frazil expire")
    return found
