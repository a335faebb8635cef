"""Reads statements that create, alter and drop tables, views and namespaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as changed
from typing import Literal

from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.parts import (
    column,
    columns,
    comma_texts,
    equalities,
    if_exists,
    if_not_exists,
    keys,
    names,
    pairs,
    position,
)
from frazil.spark.sql.grammar.tokens import Cursor

__all__ = ["alter", "comment", "create", "drop", "replace"]

_NAMESPACES = ("NAMESPACE", "DATABASE", "SCHEMA")
_MILLISECONDS = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000}


# ---------------------------------------------------------------- CREATE, REPLACE


def create(cursor: Cursor) -> nodes.Statement:
    """Reads what follows CREATE."""
    or_replace = cursor.accept("OR", "REPLACE")
    if cursor.accept_any(*_NAMESPACES):
        return _create_namespace(cursor)
    if cursor.accept("TABLE"):
        return _create_table(cursor, create=True, replace=or_replace)
    external = cursor.accept("EXTERNAL", "TABLE")
    if external:
        return _create_table(cursor, create=True, replace=or_replace)
    temporary = cursor.accept("GLOBAL", "TEMPORARY") or bool(cursor.accept_any("TEMPORARY", "TEMP"))
    if cursor.accept("VIEW"):
        return _create_view(cursor, or_replace, temporary)
    return nodes.Foreign(cursor.statement)


def replace(cursor: Cursor) -> nodes.Statement:
    """Reads what follows REPLACE."""
    if cursor.accept("TABLE"):
        return _create_table(cursor, create=False, replace=True)
    return nodes.Foreign(cursor.statement)


def _create_table(cursor: Cursor, create: bool, replace: bool) -> nodes.Statement:
    missing_only = if_not_exists(cursor)
    name = cursor.name()
    if cursor.accept("LIKE"):
        source = cursor.name()
        return nodes.CreateTableLike(name, source, _definition(cursor), missing_only)
    defined = columns(cursor) if cursor.at_sign("(") and not _is_query(cursor) else ()
    definition = _definition(cursor)
    query = None
    if not cursor.at_end():
        cursor.accept("AS")
        query = cursor.rest()
    return nodes.CreateTable(name, defined, definition, query, missing_only, create, replace)


def _is_query(cursor: Cursor) -> bool:
    token = cursor.peek(1)
    return token.kind == "word" and token.text.upper() in ("SELECT", "WITH", "FROM", "VALUES")


def _definition(cursor: Cursor) -> nodes.Definition:
    """The clauses after the columns, in any order."""
    found = nodes.Definition()
    while True:
        if cursor.accept("USING"):
            found = changed(found, provider=".".join(cursor.name()).lower())
        elif cursor.accept("PARTITIONED", "BY"):
            found = _partitioned(cursor, found)
        elif cursor.accept("TBLPROPERTIES") or cursor.accept("OPTIONS"):
            found = changed(found, properties=found.properties + pairs(cursor))
        elif cursor.accept("LOCATION"):
            found = changed(found, location=cursor.text())
        elif cursor.accept("COMMENT"):
            found = changed(found, comment=cursor.text())
        elif cursor.at_any("CLUSTERED", "CLUSTER", "SKEWED", "ROW", "STORED"):
            raise cursor.error("PARTITIONED BY, TBLPROPERTIES, LOCATION, COMMENT or AS")
        else:
            return found


def _partitioned(cursor: Cursor, found: nodes.Definition) -> nodes.Definition:
    """Partition fields, or as in Hive columns with types."""
    second = cursor.peek(2)
    if second.kind == "word" and cursor.peek(1).kind in ("word", "quoted"):
        typed = columns(cursor)
        return changed(found, typed_partitions=typed, partitioned_by=tuple(c.path[0] for c in typed))
    return changed(found, partitioned_by=comma_texts(cursor))


def _create_view(cursor: Cursor, or_replace: bool, temporary: bool) -> nodes.Statement:
    missing_only = if_not_exists(cursor)
    name = cursor.name()
    renamed: list[tuple[str, str | None]] = []
    if cursor.accept_sign("("):
        while not cursor.accept_sign(")"):
            part = cursor.part()
            renamed.append((part, cursor.text() if cursor.accept("COMMENT") else None))
            cursor.accept_sign(",")
    text: str | None = None
    properties: nodes.Pairs = ()
    while not cursor.accept("AS"):
        if cursor.accept("COMMENT"):
            text = cursor.text()
        elif cursor.accept("TBLPROPERTIES"):
            properties = pairs(cursor)
        elif cursor.at_any("USING", "WITH"):
            return nodes.Foreign(cursor.statement)
        else:
            raise cursor.error("AS")
    query = cursor.rest()
    return nodes.CreateView(name, tuple(renamed), text, properties, query, or_replace, missing_only, temporary)


def _create_namespace(cursor: Cursor) -> nodes.Statement:
    missing_only = if_not_exists(cursor)
    name = cursor.name()
    found: list[tuple[str, str]] = []
    while not cursor.at_end():
        if cursor.accept("COMMENT"):
            found.append(("comment", cursor.text()))
        elif cursor.accept("LOCATION"):
            found.append(("location", cursor.text()))
        elif cursor.accept("WITH") or cursor.at_any("PROPERTIES", "DBPROPERTIES"):
            cursor.accept_any("PROPERTIES", "DBPROPERTIES")
            found += pairs(cursor)
        else:
            raise cursor.error("COMMENT, LOCATION or WITH PROPERTIES")
    return nodes.CreateNamespace(name, missing_only, tuple(found))


# ---------------------------------------------------------------- DROP, COMMENT


def drop(cursor: Cursor) -> nodes.Statement:
    """Reads what follows DROP."""
    if cursor.accept("TABLE"):
        present_only = if_exists(cursor)
        name = cursor.name()
        purge = cursor.accept("PURGE")
        cursor.expect_end()
        return nodes.DropTable(name, present_only, purge)
    if cursor.accept("VIEW"):
        present_only = if_exists(cursor)
        return nodes.DropView(cursor.name(), present_only)
    if cursor.accept_any(*_NAMESPACES):
        present_only = if_exists(cursor)
        name = cursor.name()
        cascade = cursor.accept_any("CASCADE", "RESTRICT") == "CASCADE"
        cursor.expect_end()
        return nodes.DropNamespace(name, present_only, cascade)
    return nodes.Foreign(cursor.statement)


def comment(cursor: Cursor) -> nodes.Statement:
    """Reads what follows COMMENT."""
    cursor.expect("ON")
    kind: Literal["table", "namespace"] = "table" if cursor.accept("TABLE") else "namespace"
    if kind == "namespace" and not cursor.accept_any(*_NAMESPACES):
        return nodes.Foreign(cursor.statement)
    name = cursor.name()
    cursor.expect("IS")
    text = None if cursor.accept("NULL") else cursor.text()
    return nodes.CommentOn(kind, name, text)


# ---------------------------------------------------------------- ALTER


def alter(cursor: Cursor) -> nodes.Statement:
    """Reads what follows ALTER."""
    if cursor.accept_any(*_NAMESPACES):
        return _alter_namespace(cursor)
    if cursor.accept("VIEW"):
        return _alter_view(cursor)
    cursor.expect("TABLE")
    name = cursor.name()
    word = cursor.accept_any(*_ACTIONS)
    if word is None:
        raise cursor.error(", ".join(_ACTIONS))
    found = _ACTIONS[word](cursor)
    if isinstance(found, nodes.Refused):
        return changed(found, names=(name,))
    cursor.expect_end()
    return nodes.AlterTable(name, found)


def _alter_namespace(cursor: Cursor) -> nodes.Statement:
    name = cursor.name()
    if cursor.accept("UNSET"):
        cursor.accept_any("PROPERTIES", "DBPROPERTIES")
        return nodes.AlterNamespace(name, unset_properties=keys(cursor))
    cursor.expect("SET")
    if cursor.accept("LOCATION"):
        return nodes.AlterNamespace(name, (("location", cursor.text()),))
    cursor.accept_any("PROPERTIES", "DBPROPERTIES")
    return nodes.AlterNamespace(name, pairs(cursor))


def _alter_view(cursor: Cursor) -> nodes.Statement:
    name = cursor.name()
    if cursor.accept("RENAME", "TO"):
        return nodes.AlterView(name, rename_to=cursor.name())
    if cursor.accept("SET", "TBLPROPERTIES"):
        return nodes.AlterView(name, set_properties=pairs(cursor))
    if cursor.accept("UNSET", "TBLPROPERTIES"):
        if_exists(cursor)
        return nodes.AlterView(name, unset_properties=keys(cursor))
    cursor.expect("AS")
    return nodes.AlterView(name, query=cursor.rest())


_Found = nodes.Action | nodes.Refused


def _rename(cursor: Cursor) -> _Found:
    if cursor.accept("TO"):
        return nodes.RenameTable(cursor.name())
    if cursor.accept("COLUMN"):
        path = cursor.name()
        cursor.expect("TO")
        return nodes.RenameColumn(path, cursor.part())
    kind = _kind_of_ref(cursor)
    if kind is not None:
        old = cursor.part()
        cursor.expect("TO")
        return nodes.RenameRef(kind, old, cursor.part())
    if cursor.at("PARTITION"):
        return nodes.Refused("RENAME PARTITION", (), "UPDATE the partition's column")
    raise cursor.error("TO, COLUMN, TAG or BRANCH")


def _kind_of_ref(cursor: Cursor) -> Literal["branch", "tag"] | None:
    if cursor.accept("BRANCH"):
        return "branch"
    return "tag" if cursor.accept("TAG") else None


def _set(cursor: Cursor) -> _Found:
    if cursor.accept("TBLPROPERTIES"):
        return nodes.SetProperties(pairs(cursor))
    if cursor.accept("LOCATION"):
        return nodes.SetLocation(cursor.text())
    if cursor.accept("IDENTIFIER", "FIELDS"):
        return nodes.IdentifierFields(False, names(cursor))
    raise cursor.error("TBLPROPERTIES, LOCATION or IDENTIFIER FIELDS")


def _unset(cursor: Cursor) -> _Found:
    cursor.expect("TBLPROPERTIES")
    if_exists(cursor)
    return nodes.UnsetProperties(keys(cursor))


def _add(cursor: Cursor) -> _Found:
    if cursor.accept("PARTITION", "FIELD"):
        term = cursor.until("AS")
        return nodes.PartitionField(add=term, name=cursor.part() if cursor.accept("AS") else None)
    if cursor.at("PARTITION") or cursor.at("IF", "NOT", "EXISTS", "PARTITION"):
        return nodes.Refused("ADD PARTITION", (), "INSERT rows: the table's metadata then has their partition")
    if cursor.at_any("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"):
        return nodes.Refused("ADD CONSTRAINT", (), "Tables have no constraints but NOT NULL")
    cursor.accept_any("COLUMN", "COLUMNS")
    if_not_exists(cursor)
    if cursor.at_sign("("):
        return nodes.AddColumns(columns(cursor))
    found = [column(cursor)]
    while cursor.accept_sign(","):
        found.append(column(cursor))
    return nodes.AddColumns(tuple(found))


def _drop(cursor: Cursor) -> _Found:
    if cursor.accept("PARTITION", "FIELD"):
        return nodes.PartitionField(drop=cursor.rest())
    if cursor.accept("IDENTIFIER", "FIELDS"):
        return nodes.IdentifierFields(True, names(cursor))
    kind = _kind_of_ref(cursor)
    if kind is not None:
        present_only = if_exists(cursor)
        return nodes.DropRef(kind, tuple(part.strip() for part in cursor.part().split(",")), present_only)
    present_only = if_exists(cursor)
    if cursor.accept("PARTITION"):
        found = [equalities(cursor)]
        while cursor.accept_sign(","):
            cursor.expect("PARTITION")
            found.append(equalities(cursor))
        cursor.accept("PURGE")
        return nodes.DropPartitions(tuple(found))
    if cursor.at("CONSTRAINT"):
        return nodes.Refused("DROP CONSTRAINT", (), "Tables have no constraints but NOT NULL")
    cursor.accept_any("COLUMN", "COLUMNS")
    present_only = if_exists(cursor) or present_only
    return nodes.DropColumns(names(cursor), present_only)


def _alter_column(cursor: Cursor) -> _Found:
    cursor.accept("COLUMN")
    path = cursor.name()
    found = nodes.AlterColumn(path)
    while not cursor.at_end():
        if cursor.accept("TYPE"):
            found = changed(found, type=cursor.until("COMMENT", "FIRST", "AFTER", "NOT NULL", angles=True))
        elif cursor.accept("COMMENT"):
            found = changed(found, comment=cursor.text())
        elif cursor.at_any("FIRST", "AFTER"):
            first, after = position(cursor)
            found = changed(found, first=first, after=after)
        elif cursor.accept("SET", "NOT", "NULL"):
            found = changed(found, required=True)
        elif cursor.accept("DROP", "NOT", "NULL"):
            found = changed(found, required=False)
        elif cursor.accept("SET", "DEFAULT"):
            found = changed(found, default=cursor.rest())
        elif cursor.accept("DROP", "DEFAULT"):
            found = changed(found, default="")
        else:
            raise cursor.error("TYPE, COMMENT, FIRST, AFTER, SET or DROP")
    return found


def _change_column(cursor: Cursor) -> _Found:
    """Hive's CHANGE COLUMN old new type."""
    cursor.accept("COLUMN")
    path, new = cursor.name(), column(cursor)
    if path[-1] != new.path[-1]:
        return nodes.Refused("CHANGE COLUMN with a new name", (), "ALTER TABLE … RENAME COLUMN a TO b")
    return nodes.AlterColumn(path, new.type, None, new.comment, None, new.first, new.after)


def _replace(cursor: Cursor) -> _Found:
    if cursor.accept("PARTITION", "FIELD"):
        old = cursor.until("WITH")
        cursor.expect("WITH")
        new = cursor.until("AS")
        return nodes.PartitionField(add=new, drop=old, name=cursor.part() if cursor.accept("AS") else None)
    if cursor.at_any("BRANCH", "TAG"):
        return _ref(cursor, create=False, replace=True)
    return nodes.Refused("REPLACE COLUMNS", (), "ALTER TABLE … DROP COLUMNS and ADD COLUMNS keep the rows' values")


def _create(cursor: Cursor) -> _Found:
    return _ref(cursor, create=True, replace=cursor.accept("OR", "REPLACE"))


def _ref(cursor: Cursor, create: bool, replace: bool) -> nodes.CreateRef:
    kind = _kind_of_ref(cursor)
    if kind is None:
        raise cursor.error("BRANCH or TAG")
    missing_only = if_not_exists(cursor)
    name, version, retention = cursor.part(), None, nodes.Retention()
    if cursor.accept("AS", "OF", "VERSION"):
        version = cursor.integer()
    if cursor.accept("RETAIN"):
        retention = changed(retention, ref_ms=_time(cursor))
    if cursor.accept("WITH", "SNAPSHOT", "RETENTION"):
        while not cursor.at_end():
            number = cursor.integer()
            if cursor.accept_any("SNAPSHOT", "SNAPSHOTS"):
                retention = changed(retention, snapshots=number)
            else:
                retention = changed(retention, snapshot_ms=number * _unit(cursor))
    return nodes.CreateRef(kind, name, version, retention, create, replace, missing_only)


def _time(cursor: Cursor) -> int:
    return cursor.integer() * _unit(cursor)


def _unit(cursor: Cursor) -> int:
    token = cursor.peek()
    unit = _MILLISECONDS.get(token.text.upper().rstrip("S"))
    if unit is None:
        raise cursor.error("DAYS, HOURS or MINUTES")
    cursor.take()
    return unit


def _write(cursor: Cursor) -> _Found:
    distribution: Literal["none", "hash", "range"] | None = None
    fields: tuple[str, ...] = ()
    while not cursor.at_end():
        if cursor.accept("DISTRIBUTED", "BY", "PARTITION"):
            fields, distribution = fields or (), "hash"
        elif cursor.accept("UNORDERED"):
            fields, distribution = (), distribution or "none"
        elif cursor.accept("LOCALLY", "ORDERED", "BY"):
            fields, distribution = _order(cursor), distribution or "none"
        elif cursor.accept("ORDERED", "BY"):
            fields, distribution = _order(cursor), distribution or "range"
        else:
            raise cursor.error("ORDERED BY, LOCALLY ORDERED BY, UNORDERED or DISTRIBUTED BY PARTITION")
    return nodes.WriteOrder(distribution, fields)


def _order(cursor: Cursor) -> tuple[str, ...]:
    inside = cursor.at_sign("(")
    if inside:
        return comma_texts(cursor)
    stops = ("DISTRIBUTED BY",)
    found = [cursor.until(*stops, signs=",")]
    while cursor.accept_sign(","):
        found.append(cursor.until(*stops, signs=","))
    return tuple(found)


def _recover(cursor: Cursor) -> _Found:
    return nodes.Refused("RECOVER PARTITIONS", (), "Partitions are in the table's metadata")


_ACTIONS: dict[str, Callable[[Cursor], _Found]] = {
    "RENAME": _rename,
    "SET": _set,
    "UNSET": _unset,
    "ADD": _add,
    "DROP": _drop,
    "DELETE": _drop,
    "ALTER": _alter_column,
    "CHANGE": _change_column,
    "REPLACE": _replace,
    "CREATE": _create,
    "WRITE": _write,
    "RECOVER": _recover,
}
