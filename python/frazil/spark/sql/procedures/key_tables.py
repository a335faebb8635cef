"""The procedures of the namespace `sys`, by the names of Paimon's connector."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

from frazil.capabilities import supports
from frazil.exceptions import InvalidInputError, NotFoundError, UnsupportedError
from frazil.spark.sql.procedures.keyed_expiry import expire_partitions, expire_tags, rollback_to_watermark
from frazil.spark.sql.procedures.keyed_maintenance import PROCEDURES as OF_MAINTENANCE
from frazil.spark.sql.procedures.keyed_migration import PROCEDURES as OF_MIGRATION
from frazil.spark.sql.procedures.maintenance import executors_for, sort_arguments
from frazil.spark.sql.procedures.procedure import Given, Parameter, Procedure
from frazil.spark.sql.tags import retention_of
from frazil.spark.sql.values import value_of
from frazil.table import Table
from frazil.tagging.periods import duration

__all__ = ["PROCEDURES"]

_TABLE = Parameter("table", required=True)
_RESULT = "result boolean"
_EPOCH = dt.datetime.fromtimestamp(0, dt.timezone.utc)

Rows = Sequence[Sequence[Any]]


def _compact(given: Given) -> Rows:
    table = given.table
    if given["partition_idle_time"] is not None:
        raise UnsupportedError("partition_idle_time can't be used", hint="Name the partitions")
    order = str(given["order_strategy"] or "none").lower()
    arguments: dict[str, Any] = {}
    if order != "none":
        text = str(given["order_by"] or "")
        arguments = sort_arguments("sort", f"zorder({text})" if order == "zorder" else text, {})
        if order not in ("order", "zorder"):
            raise UnsupportedError(f"order_strategy '{order}' can't be used", hint="Use 'zorder' or 'order'")
    if given["compact_strategy"] is not None:
        arguments["strategy"] = str(given["compact_strategy"]).lower()
    if not supports(table._core, "compaction_by_arguments"):
        arguments["options"] = given.options() or None
    table.maintain.compact(where=given.partitions(table), spark=executors_for(given, table), **arguments)
    return [(True,)]


def _expire_snapshots(given: Given) -> Rows:
    table = given.table
    before = {snapshot.id for snapshot in table.snapshots}
    most, fewest, older = given["retain_max"], given["retain_min"], given["older_than"]
    options = given.options()
    most = most or options.get("snapshot.num-retained.max")
    now = dt.datetime.now(dt.timezone.utc)
    if most is not None:
        table.maintain.expire_snapshots(now, int(most))
    if older is not None:
        time = value_of(given.session, f"'{older}'", "timestamp")
        table.maintain.expire_snapshots(time, int(fewest or 1))
    if most is None and older is None:
        table.maintain.expire_snapshots(None, None if fewest is None else int(fewest))
    return [(len(before - {snapshot.id for snapshot in table.refresh().snapshots}),)]


# ---------------------------------------------------------------- tags


def _retained(given: Given) -> dt.timedelta | None:
    return None if given["time_retained"] is None else duration(given["time_retained"])


def _create_tag(given: Given) -> Rows:
    snapshot = given["snapshot"]
    at = None if snapshot is None else int(snapshot)
    given.table.refs.create_tag(str(given["tag"]), at, max_ref_age_ms=_retained(given))
    return [(True,)]


def _create_tag_from_timestamp(given: Given) -> Rows:
    table, at = given.table, _EPOCH + dt.timedelta(milliseconds=int(given["timestamp"]))
    later = [snapshot for snapshot in table.snapshots if snapshot.timestamp >= at]
    if not later:
        raise NotFoundError(f"no snapshot is later than {at}")
    table.refs.create_tag(str(given["tag"]), later[0].id, max_ref_age_ms=_retained(given))
    milliseconds = round(later[0].timestamp.timestamp() * 1000)
    return [(str(given["tag"]), later[0].id, milliseconds, "" if _retained(given) is None else str(_retained(given)))]


def _tag(table: Table, name: str) -> Any:
    found = table.refs[name]
    if found.type != "tag":
        raise InvalidInputError(f"'{name}' is a {found.type}, not a tag")
    return found


def _rename_tag(given: Given) -> Rows:
    table = given.table
    old = _tag(table, str(given["tag"]))
    table.refs.create_tag(str(given["target_tag"]), old.snapshot_id, max_ref_age_ms=retention_of(table, old.name))
    table.refs.drop(old.name)
    return [(True,)]


def _replace_tag(given: Given) -> Rows:
    table = given.table
    old = _tag(table, str(given["tag"]))
    snapshot = given["snapshot"]
    table.refs.drop(old.name)
    at = old.snapshot_id if snapshot is None else int(snapshot)
    table.refs.create_tag(old.name, at, max_ref_age_ms=_retained(given))
    return [(True,)]


def _delete_tag(given: Given) -> Rows:
    table = given.table
    for name in str(given["tag"]).split(","):
        table.refs.drop(_tag(table, name.strip()).name)
    return [(True,)]


# ---------------------------------------------------------------- versions and branches


def _moved(table: Table, to: Any) -> Rows:
    before = None if table.snapshot is None else table.snapshot.id
    table.rollback(to)
    return [(before, None if table.snapshot is None else table.snapshot.id)]


def _rollback(given: Given) -> Rows:
    chosen = [given[name] for name in ("version", "snapshot", "tag") if given[name] is not None]
    if len(chosen) != 1:
        raise InvalidInputError("rollback needs one of version, snapshot and tag")
    to = str(chosen[0])
    return _moved(given.table, int(to) if to.isdigit() and given["tag"] is None else to)


def _rollback_to_timestamp(given: Given) -> Rows:
    return _moved(given.table, _EPOCH + dt.timedelta(milliseconds=int(given["timestamp"])))


def _create_branch(given: Given) -> Rows:
    tag = given["tag"]
    table = given.table
    if given["ignoreIfExists"] and str(given["branch"]) in table.refs:
        return [(True,)]
    table.refs.create_branch(str(given["branch"]), None if tag is None else str(tag))
    return [(True,)]


def _delete_branch(given: Given) -> Rows:
    table = given.table
    for name in str(given["branch"]).split(","):
        table.refs.drop(name.strip())
    return [(True,)]


def _rename_branch(given: Given) -> Rows:
    given.table.refs.rename(str(given["from_branch"]), str(given["to_branch"]))
    return [(True,)]


def _fast_forward(given: Given) -> Rows:
    given.table.refs.fast_forward("main", str(given["branch"]))
    return [(True,)]


# ---------------------------------------------------------------- files


def _remove_orphan_files(given: Given) -> Rows:
    table = given.table
    older = given["older_than"]
    time = None if older is None else value_of(given.session, f"'{older}'", "timestamp")
    done = table.maintain.remove_orphan_files(time, dry_run=bool(given["dry_run"]), spark=executors_for(given, table))
    return [(len(done.files), None)]


def _compact_database(given: Given) -> Rows:
    catalog = given.catalog
    if catalog is None:
        raise InvalidInputError("compact_database needs a catalog", hint="CALL catalog.sys.compact_database()")
    found = given.session.catalogs[catalog].catalog
    databases, wanted = str(given["including_databases"] or ".*"), str(given["including_tables"] or ".*")
    without = given["excluding_tables"]
    for namespace in found.list_namespaces():
        if not re.fullmatch(databases, namespace):
            continue
        for identifier in found.list_tables(namespace):
            if re.fullmatch(wanted, identifier) and not (without and re.fullmatch(str(without), identifier)):
                found.load_table(identifier).maintain.compact()
    return [(True,)]


def _refused(remedy: str) -> Procedure:
    return Procedure((), _RESULT, None, remedy)


_OF_JAVA = "Call it in Spark with the connector, or in Flink"
_ROLLED = "previous_snapshot_id bigint, current_snapshot_id bigint"
PROCEDURES = {
    "compact": Procedure(
        (
            _TABLE,
            Parameter("partitions"),
            Parameter("compact_strategy"),
            Parameter("order_strategy"),
            Parameter("order_by"),
            Parameter("where"),
            Parameter("options", ""),
            Parameter("partition_idle_time"),
        ),
        _RESULT,
        _compact,
    ),
    "compact_database": Procedure(
        (
            Parameter("including_databases"),
            Parameter("including_tables"),
            Parameter("excluding_tables"),
            Parameter("options", ""),
        ),
        _RESULT,
        _compact_database,
    ),
    "expire_snapshots": Procedure(
        (
            _TABLE,
            Parameter("retain_max", "int"),
            Parameter("retain_min", "int"),
            Parameter("older_than"),
            Parameter("max_deletes", "int"),
            Parameter("options", ""),
        ),
        "deleted_snapshots_count int",
        _expire_snapshots,
    ),
    "create_tag": Procedure(
        (_TABLE, Parameter("tag", required=True), Parameter("snapshot", "bigint"), Parameter("time_retained")),
        _RESULT,
        _create_tag,
    ),
    "create_tag_from_timestamp": Procedure(
        (
            _TABLE,
            Parameter("tag", required=True),
            Parameter("timestamp", "bigint", True),
            Parameter("time_retained"),
        ),
        "tagName string, snapshot bigint, commit_time bigint, watermark string",
        _create_tag_from_timestamp,
    ),
    "rename_tag": Procedure(
        (_TABLE, Parameter("tag", required=True), Parameter("target_tag", required=True)), _RESULT, _rename_tag
    ),
    "replace_tag": Procedure(
        (_TABLE, Parameter("tag", required=True), Parameter("snapshot", "bigint"), Parameter("time_retained")),
        _RESULT,
        _replace_tag,
    ),
    "delete_tag": Procedure((_TABLE, Parameter("tag", required=True)), _RESULT, _delete_tag),
    "rollback": Procedure(
        (_TABLE, Parameter("version"), Parameter("snapshot", "bigint"), Parameter("tag")), _ROLLED, _rollback
    ),
    "rollback_to_timestamp": Procedure(
        (_TABLE, Parameter("timestamp", "bigint", True)), _ROLLED, _rollback_to_timestamp
    ),
    "create_branch": Procedure(
        (
            _TABLE,
            Parameter("branch", required=True),
            Parameter("tag"),
            Parameter("ignoreIfExists", "boolean"),
        ),
        _RESULT,
        _create_branch,
    ),
    "delete_branch": Procedure((_TABLE, Parameter("branch", required=True)), _RESULT, _delete_branch),
    "rename_branch": Procedure(
        (_TABLE, Parameter("from_branch", required=True), Parameter("to_branch", required=True)),
        _RESULT,
        _rename_branch,
    ),
    "fast_forward": Procedure((_TABLE, Parameter("branch", required=True)), _RESULT, _fast_forward),
    "remove_orphan_files": Procedure(
        (
            _TABLE,
            Parameter("older_than"),
            Parameter("dry_run", "boolean"),
            Parameter("parallelism", "int"),
            Parameter("mode"),
        ),
        "deletedFileCount bigint, deletedFileTotalLenInBytes bigint",
        _remove_orphan_files,
    ),
    "rollback_to_watermark": Procedure(
        (_TABLE, Parameter("watermark", "bigint", True)), _ROLLED, rollback_to_watermark
    ),
    "expire_partitions": Procedure(
        (
            _TABLE,
            Parameter("expiration_time", required=True),
            Parameter("timestamp_formatter"),
            Parameter("timestamp_pattern"),
            Parameter("expire_strategy"),
            Parameter("max_expires", "int"),
        ),
        "expired_partitions string",
        expire_partitions,
    ),
    "expire_tags": Procedure((_TABLE, Parameter("older_than")), "expired_tags string", expire_tags),
    **OF_MAINTENANCE,
    **OF_MIGRATION,
    "repair": _refused("A file-system catalog needs no repair"),
    **{
        name: _refused(_OF_JAVA)
        for name in (
            "alter_function",
            "alter_view_dialect",
            "compact_chain_table",
            "create_function",
            "create_global_index",
            "drop_function",
        )
    },
}
"""These procedures by name."""
