"""Statements as they were read. Names are not looked up yet, and expressions are Spark's own text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from frazil.spark.sql.grammar.tokens import Name

Pairs = tuple[tuple[str, str], ...]
"""Properties."""


# ---------------------------------------------------------------- queries and rows


@dataclass(frozen=True)
class Query:
    """A query."""

    text: str


@dataclass(frozen=True)
class Explain:
    """EXPLAIN of another statement."""

    mode: str
    text: str


@dataclass(frozen=True)
class Insert:
    """INSERT.

    Attributes:
        target: The table.
        overwrite: Whether rows are replaced.
        partition: The PARTITION clause: columns with the text of their values, or None for dynamic ones.
        columns: The column list.
        by_name: Whether columns are matched by name.
        replace_where: The condition of REPLACE WHERE.
        query: The new rows.
        evolve: WITH SCHEMA EVOLUTION.
    """

    target: Name
    overwrite: bool
    partition: tuple[tuple[str, str | None], ...]
    columns: tuple[str, ...]
    by_name: bool
    replace_where: str | None
    query: str
    evolve: bool = False


@dataclass(frozen=True)
class SparkInsert:
    """INSERT into something that only Spark has. Its query may name tables of Frazil's."""

    query: str


@dataclass(frozen=True)
class Truncate:
    """TRUNCATE TABLE."""

    target: Name
    partition: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class CopyIntoTable:
    """COPY INTO a table. Texts of settings are empty if they are not given.

    Attributes:
        target: The table.
        columns: The column list.
        path: The folder with the files.
        options: FILE_FORMAT: names in capitals, with their values.
        pattern: PATTERN.
        force: FORCE.
        on_error: ON_ERROR.
    """

    target: Name
    columns: tuple[str, ...]
    path: str
    options: tuple[tuple[str, tuple[str, ...]], ...]
    pattern: str | None
    force: str
    on_error: str


@dataclass(frozen=True)
class CopyIntoFiles:
    """COPY INTO a folder: the rows of a query. `overwrite` is the text of OVERWRITE."""

    path: str
    query: str
    options: tuple[tuple[str, tuple[str, ...]], ...]
    overwrite: str


@dataclass(frozen=True)
class Delete:
    """DELETE. `where` is None for all rows. `ctes` is the WITH clause before the statement."""

    target: Name
    alias: str | None
    where: str | None
    ctes: str = ""


@dataclass(frozen=True)
class Update:
    """UPDATE: new values by column, as expressions."""

    target: Name
    alias: str | None
    assignments: tuple[tuple[Name, str], ...]
    where: str | None
    ctes: str = ""


@dataclass(frozen=True)
class Clause:
    """WHEN … THEN … of a merge.

    Attributes:
        when: Which rows.
        condition: AND …
        action: What becomes of them.
        columns: The columns that are set; None for `*`.
        values: Their values.
    """

    when: Literal["matched", "not matched", "not matched by source"]
    condition: str | None
    action: Literal["delete", "update", "insert"]
    columns: tuple[Name, ...] | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Merge:
    """MERGE. `source` is a table's name, or a query in parentheses."""

    target: Name
    alias: str | None
    source: Name | str
    source_alias: str | None
    on: str
    clauses: tuple[Clause, ...]
    evolve: bool = False
    ctes: str = ""


# ---------------------------------------------------------------- tables


@dataclass(frozen=True)
class Column:
    """A column of a definition, or a new one of ALTER TABLE.

    Attributes:
        path: Its name.
        type: The text of its type.
        required: NOT NULL.
        comment: Its comment.
        default: The text of its default value.
        first: FIRST.
        after: AFTER this column.
    """

    path: Name
    type: str
    required: bool = False
    comment: str | None = None
    default: str | None = None
    first: bool = False
    after: Name | None = None


@dataclass(frozen=True)
class Definition:
    """What CREATE TABLE says about a table, besides its name and columns."""

    provider: str | None = None
    partitioned_by: tuple[str, ...] = ()
    properties: Pairs = ()
    location: str | None = None
    comment: str | None = None
    typed_partitions: tuple[Column, ...] = ()


@dataclass(frozen=True)
class CreateTable:
    """CREATE TABLE, REPLACE TABLE, CREATE OR REPLACE TABLE, with AS SELECT."""

    name: Name
    columns: tuple[Column, ...]
    definition: Definition
    query: str | None
    if_not_exists: bool
    create: bool
    replace: bool


@dataclass(frozen=True)
class CreateTableLike:
    """CREATE TABLE … LIKE."""

    name: Name
    source: Name
    definition: Definition
    if_not_exists: bool


@dataclass(frozen=True)
class DropTable:
    """DROP TABLE."""

    name: Name
    if_exists: bool
    purge: bool


@dataclass(frozen=True)
class CreateView:
    """CREATE VIEW. `columns` are new names with comments."""

    name: Name
    columns: tuple[tuple[str, str | None], ...]
    comment: str | None
    properties: Pairs
    query: str
    replace: bool
    if_not_exists: bool
    temporary: bool


@dataclass(frozen=True)
class AlterView:
    """ALTER VIEW: another name, other properties or another query."""

    name: Name
    rename_to: Name | None = None
    set_properties: Pairs = ()
    unset_properties: tuple[str, ...] = ()
    query: str | None = None


@dataclass(frozen=True)
class DropView:
    """DROP VIEW."""

    name: Name
    if_exists: bool


@dataclass(frozen=True)
class CommentOn:
    """COMMENT ON."""

    kind: Literal["table", "namespace"]
    name: Name
    comment: str | None


# ---------------------------------------------------------------- ALTER TABLE


@dataclass(frozen=True)
class RenameTable:
    """RENAME TO."""

    to: Name


@dataclass(frozen=True)
class SetProperties:
    """SET TBLPROPERTIES."""

    properties: Pairs


@dataclass(frozen=True)
class UnsetProperties:
    """UNSET TBLPROPERTIES."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class SetLocation:
    """SET LOCATION."""

    location: str


@dataclass(frozen=True)
class AddColumns:
    """ADD COLUMNS."""

    columns: tuple[Column, ...]


@dataclass(frozen=True)
class DropColumns:
    """DROP COLUMNS."""

    paths: tuple[Name, ...]
    if_exists: bool


@dataclass(frozen=True)
class RenameColumn:
    """RENAME COLUMN."""

    path: Name
    to: str


@dataclass(frozen=True)
class AlterColumn:
    """ALTER COLUMN. What is None stays; an empty text of `default` is DROP DEFAULT."""

    path: Name
    type: str | None = None
    required: bool | None = None
    comment: str | None = None
    default: str | None = None
    first: bool = False
    after: Name | None = None


@dataclass(frozen=True)
class PartitionField:
    """ADD, DROP or REPLACE PARTITION FIELD. A replaced field has both."""

    add: str | None = None
    drop: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class WriteOrder:
    """WRITE ORDERED BY and others.

    Attributes:
        distribution: The property `write.distribution-mode` that it means.
        fields: The new order; it can be empty.
    """

    distribution: Literal["none", "hash", "range"] | None
    fields: tuple[str, ...]


@dataclass(frozen=True)
class IdentifierFields:
    """SET or DROP IDENTIFIER FIELDS."""

    drop: bool
    names: tuple[Name, ...]


@dataclass(frozen=True)
class Retention:
    """RETAIN … WITH SNAPSHOT RETENTION …: times are in milliseconds."""

    ref_ms: int | None = None
    snapshots: int | None = None
    snapshot_ms: int | None = None


@dataclass(frozen=True)
class CreateRef:
    """CREATE or REPLACE of a branch or tag."""

    kind: Literal["branch", "tag"]
    name: str
    version: int | None
    retention: Retention
    create: bool
    replace: bool
    if_not_exists: bool


@dataclass(frozen=True)
class DropRef:
    """DROP or DELETE of branches or tags."""

    kind: Literal["branch", "tag"]
    names: tuple[str, ...]
    if_exists: bool


@dataclass(frozen=True)
class RenameRef:
    """RENAME of a branch or tag."""

    kind: Literal["branch", "tag"]
    name: str
    to: str


@dataclass(frozen=True)
class DropPartitions:
    """DROP PARTITION."""

    partitions: tuple[tuple[tuple[str, str | None], ...], ...]


Action = (
    RenameTable
    | SetProperties
    | UnsetProperties
    | SetLocation
    | AddColumns
    | DropColumns
    | RenameColumn
    | AlterColumn
    | PartitionField
    | WriteOrder
    | IdentifierFields
    | CreateRef
    | DropRef
    | RenameRef
    | DropPartitions
)


@dataclass(frozen=True)
class AlterTable:
    """ALTER TABLE."""

    name: Name
    action: Action


# ---------------------------------------------------------------- catalogs


@dataclass(frozen=True)
class Use:
    """USE: a catalog, a namespace or both. `kind` is `catalog` or `namespace` where the statement says it."""

    name: Name
    kind: str | None = None


@dataclass(frozen=True)
class CreateNamespace:
    """CREATE NAMESPACE."""

    name: Name
    if_not_exists: bool
    properties: Pairs


@dataclass(frozen=True)
class DropNamespace:
    """DROP NAMESPACE."""

    name: Name
    if_exists: bool
    cascade: bool


@dataclass(frozen=True)
class AlterNamespace:
    """ALTER NAMESPACE SET or UNSET PROPERTIES, SET LOCATION."""

    name: Name
    set_properties: Pairs = ()
    unset_properties: tuple[str, ...] = ()


# ---------------------------------------------------------------- answers


@dataclass(frozen=True)
class Show:
    """SHOW.

    Attributes:
        what: `catalogs`, `namespaces`, `tables`, `views`, `columns`, `tblproperties`, `partitions`, `create table`,
            `table extended`, `tags`, `branches`, `current namespace`.
        name: The table, namespace or catalog.
        pattern: LIKE.
        key: The property.
        partition: The PARTITION clause.
    """

    what: str
    name: Name = ()
    pattern: str | None = None
    key: str | None = None
    partition: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True)
class Describe:
    """DESCRIBE."""

    what: Literal["table", "namespace", "history"]
    name: Name
    extended: bool = False
    column: Name = ()
    partition: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True)
class Argument:
    """An argument of a procedure: an expression, with a name if it has one."""

    text: str
    name: str | None = None


@dataclass(frozen=True)
class Call:
    """CALL."""

    name: Name
    arguments: tuple[Argument, ...] = field(default=())


@dataclass(frozen=True)
class Analyze:
    """ANALYZE TABLE. `columns` is None without FOR COLUMNS, and empty for all columns."""

    name: Name
    columns: tuple[str, ...] | None


@dataclass(frozen=True)
class Refresh:
    """REFRESH TABLE."""

    name: Name


@dataclass(frozen=True)
class Refused:
    """A statement that is known and not done.

    Attributes:
        what: Its words.
        names: The tables that it may be about.
        remedy: What to do.
    """

    what: str
    names: tuple[Name, ...]
    remedy: str


@dataclass(frozen=True)
class Foreign:
    """A statement that is Spark's: none of Frazil's statements begins so."""

    text: str


Statement = (
    Query
    | Explain
    | Insert
    | SparkInsert
    | Truncate
    | CopyIntoTable
    | CopyIntoFiles
    | Delete
    | Update
    | Merge
    | CreateTable
    | CreateTableLike
    | DropTable
    | CreateView
    | AlterView
    | DropView
    | CommentOn
    | AlterTable
    | Use
    | CreateNamespace
    | DropNamespace
    | AlterNamespace
    | Show
    | Describe
    | Call
    | Analyze
    | Refresh
    | Refused
    | Foreign
)
