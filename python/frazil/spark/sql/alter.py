"""ALTER TABLE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from frazil.capabilities import supports
from frazil.evolve import UpdateSchema
from frazil.exceptions import InvalidInputError
from frazil.schema import Field, Schema, column_names
from frazil.spark.jobs.interrupts import raise_if_interrupted
from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.tokens import Name
from frazil.spark.sql.predicates import equal_to
from frazil.spark.sql.session import Session, Target, renamed
from frazil.spark.sql.tags import retention_of
from frazil.spark.sql.terms import partition_term, sort_term
from frazil.spark.sql.types import arrow_type_of
from frazil.spark.sql.values import value_of
from frazil.spark.sql.writes import constant
from frazil.spark.types import arrow_type
from frazil.table import Table

__all__ = ["alter_table", "set_defaults"]


def alter_table(session: Session, node: nodes.AlterTable, statement: str) -> DataFrame:
    """Any ALTER TABLE."""
    target = session.target(node.name)
    if target is None:
        return session.spark.sql(statement)
    _ACTIONS[type(node.action)](session, target, node.action)
    return session.nothing()


# ---------------------------------------------------------------- the table itself


def _rename(_: Session, target: Target, action: nodes.RenameTable) -> None:
    target.place.catalog.rename_table(target.place.identifier, renamed(target.place, action.to))


def _set_properties(_: Session, target: Target, action: nodes.SetProperties) -> None:
    properties: dict[str, object] = dict(action.properties)
    version = properties.pop("format-version", None)
    if version is not None and int(str(version)) != target.table.format_version:
        target.table.upgrade(int(str(version)))
    if properties:
        target.table.set_properties(properties)


def _unset_properties(_: Session, target: Target, action: nodes.UnsetProperties) -> None:
    target.table.remove_properties(*action.names)


def _set_location(_: Session, target: Target, action: nodes.SetLocation) -> None:
    target.table.update_location(action.location)


# ---------------------------------------------------------------- columns


def _add_columns(session: Session, target: Target, action: nodes.AddColumns) -> None:
    schema = target.table.schema
    with target.table.update_schema() as update:
        for column in action.columns:
            path = _inner(schema, column.path, new=True)
            default = None if column.default is None else _default(session, column.default, column.type)
            update.add_column(
                path,
                arrow_type_of(column.type, supports(target.table._core, "declared_types")),
                column.comment,
                column.required,
                default,
                first=column.first,
                after=None if column.after is None else (*path[:-1], column.after[-1]),
            )


def _drop_columns(_: Session, target: Target, action: nodes.DropColumns) -> None:
    with target.table.update_schema() as update:
        for path in action.paths:
            if action.if_exists and ".".join(path) not in target.table.schema:
                continue
            update.drop_column(_inner(target.table.schema, path))


def _rename_column(_: Session, target: Target, action: nodes.RenameColumn) -> None:
    with target.table.update_schema() as update:
        update.rename_column(_inner(target.table.schema, action.path), action.to)


def _alter_column(session: Session, target: Target, action: nodes.AlterColumn) -> None:
    path = _inner(target.table.schema, action.path)
    with target.table.update_schema(allow_incompatible_changes=False) as update:
        if action.type is not None:
            exact = supports(target.table._core, "declared_types")
            _retype(target.table.schema, update, path, arrow_type_of(action.type, exact))
        if action.comment is not None:
            update.update_column(path, doc=action.comment)
        if action.required is not None:
            update.update_column(path, required=action.required)
        if action.first:
            update.move_first(path)
        if action.after is not None:
            update.move_after(path, (*path[:-1], action.after[-1]))
        if action.default is not None:
            type_ = _field(target.table.schema, path).type
            update.set_default_value(path, _default(session, action.default, type_) if action.default else None)


def _retype(schema: Schema, update: UpdateSchema, path: Name, type_: pa.DataType) -> None:
    if arrow_type(_field(schema, path)) != type_:
        update.update_column(path, field_type=type_)


def _field(schema: Schema, path: Name) -> Field:
    fields: Sequence[Field] = schema.fields
    for part in path:
        found = next((field for field in fields if field.name == part), None)
        if found is None:
            return schema.field(".".join(path))
        fields = found.children
    return found  # type: ignore[return-value]


def _inner(schema: Schema, path: Name, new: bool = False) -> Name:
    """The path by the schema's own names, whatever their case."""
    fields: Sequence[Field] = schema.fields
    found: list[str] = []
    for i, part in enumerate(path):
        same = [field for field in fields if field.name.lower() == part.lower()]
        exact = [field for field in same if field.name == part] or same
        if len(exact) != 1 or (new and i == len(path) - 1):
            return (*found, *path[i:])
        found.append(exact[0].name)
        fields = exact[0].children
    return tuple(found)


def _default(session: Session, text: str, type_: str) -> Any:
    """The value of a default, in the type of its column."""
    spark = type_.replace("timestamptz", "timestamp_ltz").replace("list<", "array<")
    if type_ == "timestamp":
        spark = "timestamp_ntz"
    return value_of(session, text, {"long": "bigint"}.get(spark, spark))


def set_defaults(session: Session, table: Table, columns: Sequence[nodes.Column]) -> None:
    """Gives the columns of a new table their defaults."""
    given = [column for column in columns if column.default is not None]
    if not given:
        return
    with table.update_schema() as update:
        for column in given:
            update.set_default_value(column.path, _default(session, str(column.default), column.type))


# ---------------------------------------------------------------- partitions, order, identifiers


def _partition_field(_: Session, target: Target, action: nodes.PartitionField) -> None:
    with target.table.update_partition_spec() as update:
        if action.drop is not None:
            update.remove_field(partition_term(action.drop))
        if action.add is not None:
            update.add_field(partition_term(action.add), name=action.name)


def _write_order(_: Session, target: Target, action: nodes.WriteOrder) -> None:
    terms = [sort_term(text) for text in action.fields]
    with target.table.transaction() as transaction:
        if terms or target.table.sort_order.fields:
            with transaction.update_sort_order() as update:
                for term in terms:
                    (update.desc if term.descending else update.asc)(term.term, nulls=term.nulls)
        if action.distribution is not None:
            transaction.set_properties({"write.distribution-mode": action.distribution})
    target.table.refresh()


def _identifier_fields(_: Session, target: Target, action: nodes.IdentifierFields) -> None:
    names = [".".join(_inner(target.table.schema, name)) for name in action.names]
    if action.drop:
        by_id = column_names(target.table.schema)
        present = [by_id[id_] for id_ in target.table.schema._core.identifier_field_ids]
        wrong = [name for name in names if name not in present]
        if wrong:
            raise InvalidInputError(f"column '{wrong[0]}' is no identifier field", {"column": wrong[0]})
        names = [name for name in present if name not in names]
    with target.table.update_schema() as update:
        update.set_identifier_fields(*names)


def _drop_partitions(session: Session, target: Target, action: nodes.DropPartitions) -> None:
    for partition in action.partitions:
        values = constant(partition)
        raise_if_interrupted()
        target.table.delete(equal_to(session, target.table.schema, values), branch=target.branch)


# ---------------------------------------------------------------- branches and tags


def _create_ref(_: Session, target: Target, action: nodes.CreateRef) -> None:
    table, kept = target.table, action.retention
    exists = action.name in table.refs
    if exists and action.if_not_exists:
        return
    if exists and action.replace:
        if table.refs[action.name].type != action.kind:
            raise InvalidInputError(f"'{action.name}' is a {table.refs[action.name].type}, not a {action.kind}")
        _replace_ref(table, action)
        return
    if not action.create:
        table.refs[action.name]  # says which ones exist
    if action.kind == "tag":
        table.refs.create_tag(action.name, action.version, max_ref_age_ms=kept.ref_ms)
        return
    table.refs.create_branch(
        action.name,
        action.version,
        min_snapshots_to_keep=kept.snapshots,
        max_snapshot_age_ms=kept.snapshot_ms,
        max_ref_age_ms=kept.ref_ms,
    )


def _replace_ref(table: Table, action: nodes.CreateRef) -> None:
    kept = action.retention
    version = action.version
    if version is None:
        if table.snapshot is None:
            raise InvalidInputError("the table has no snapshot yet")
        version = table.snapshot.id
    if not supports(table._core, "snapshot_parents"):
        # Tags can't be moved here, only made again.
        table.refs.drop(action.name)
        table.refs.create_tag(action.name, version, max_ref_age_ms=kept.ref_ms)
        return
    with table.transaction() as transaction:
        transaction.refs.replace(action.name, version)
        if kept != nodes.Retention():
            transaction.refs.set_retention(
                action.name,
                min_snapshots_to_keep=kept.snapshots,
                max_snapshot_age_ms=kept.snapshot_ms,
                max_ref_age_ms=kept.ref_ms,
            )


def _drop_ref(_: Session, target: Target, action: nodes.DropRef) -> None:
    for name in action.names:
        if action.if_exists and name not in target.table.refs:
            continue
        found = target.table.refs[name]
        if found.type != action.kind:
            raise InvalidInputError(f"'{name}' is a {found.type}, not a {action.kind}")
        target.table.refs.drop(name)


def _rename_ref(_: Session, target: Target, action: nodes.RenameRef) -> None:
    refs = target.table.refs
    if action.kind == "branch":
        refs.rename(action.name, action.to)
        return
    old = refs[action.name]
    refs.create_tag(action.to, old.snapshot_id, max_ref_age_ms=retention_of(target.table, action.name))
    refs.drop(action.name)


_ACTIONS: dict[type, Callable[[Session, Target, Any], None]] = {
    nodes.RenameTable: _rename,
    nodes.SetProperties: _set_properties,
    nodes.UnsetProperties: _unset_properties,
    nodes.SetLocation: _set_location,
    nodes.AddColumns: _add_columns,
    nodes.DropColumns: _drop_columns,
    nodes.RenameColumn: _rename_column,
    nodes.AlterColumn: _alter_column,
    nodes.PartitionField: _partition_field,
    nodes.WriteOrder: _write_order,
    nodes.IdentifierFields: _identifier_fields,
    nodes.DropPartitions: _drop_partitions,
    nodes.CreateRef: _create_ref,
    nodes.DropRef: _drop_ref,
    nodes.RenameRef: _rename_ref,
}
