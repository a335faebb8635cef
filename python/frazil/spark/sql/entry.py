"""`frazil.spark.sql`: reads a statement and does it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from frazil.catalog import Catalog
from frazil.engines import Engine, Planning, check_engine, check_planning
from frazil.exceptions import FrazilError, InvalidInputError, UnsupportedError
from frazil.scan import Scan
from frazil.spark.jobs.interrupts import raise_if_interrupted
from frazil.spark.query import check_names, query_tables
from frazil.spark.sql import alter, answers, changes, copying, explaining, writes
from frazil.spark.sql import tables as definitions
from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.statements import parse
from frazil.spark.sql.grammar.tokens import shown, tokens_of
from frazil.spark.sql.procedures import call
from frazil.spark.sql.queries import run, spliced
from frazil.spark.sql.session import Given, Session, condition_of, unknown_catalogs
from frazil.table import Table

__all__ = ["sql"]


def sql(
    spark: SparkSession,
    statement: str,
    tables: Mapping[str, Table | Scan | str | os.PathLike[str]] | None = None,
    planning: Planning = "auto",
    engine: Engine = "auto",
    *,
    args: Mapping[str, object] | Sequence[object] | None = None,
    catalogs: Mapping[str, Catalog | Mapping[str, object]] | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
) -> DataFrame:
    """Runs a statement of SQL over tables: a query, a change of rows, a definition, or a call of a procedure.

    It takes the statements of the Spark documentation of Iceberg and Paimon. Names are `catalog.namespace.table`.
    Catalogs are given, or described by Spark's settings: `spark.frazil.catalog.NAME.*`, or those of the connectors,
    `spark.sql.catalog.NAME` and `spark.sql.catalog.NAME.*`. `USE` keeps a catalog and namespace for the session. A
    statement that has no table of these catalogs is given to `spark.sql` as it is.

    Spark plans a query twice. The first plan, over empty tables, shows what Spark would push into each table. The
    second plan reads the tables with that. So filters prune files and manifests wherever they are: in joins, in
    subqueries, or combined with `or`. Each call reads the newest versions of the tables.

    Statements other than queries over `tables` need the package sqlglot: `pip install 'frazil[sql]'`.

    Args:
        spark: The session, classic or Connect.
        statement: The statement.
        tables: Tables with names of their own: tables, their locations or names, or scans of a certain version or with
            a filter. These names have precedence over all others. A query reads a table object at its version.
        planning: As for `read`.
        engine: As for `read`.
        args: Parameters of the statement, as `spark.sql` takes them: a dictionary for `:name`, a list for `?`.
        catalogs: Catalogs by name: those of `frazil.catalog`, or their properties.
        snapshot_properties: Properties to add to the summary of the statement's snapshot. INSERT, MERGE, UPDATE,
            DELETE and TRUNCATE take them.
        job_id: A name for the job of such a statement, as for `append`. If a snapshot of the branch already has it,
            nothing is done. So a job that runs again commits once. Each statement of a job needs a name of its own.
            After that snapshot has expired, the name is not known any more. A statement that changes nothing makes no
            snapshot, so its name is not recorded.

    Returns:
        The rows of a query, or the answer of a procedure or of SHOW and DESCRIBE. A statement that changes rows
        returns one row that says what it did, with the columns of `Table.last_commit`. Its `snapshot_id` is null if
        nothing was committed. A number is null if the snapshot does not record it. Those of tables of Apache Paimon
        record no numbers of files, and no rows if an overwrite or TRUNCATE replaced rows of a table with a primary key.
        Other statements return no rows.

    Raises:
        InvalidInputError: The statement can't be read, or does not fit the tables. Also if `job_id` or
            `snapshot_properties` are given for a statement that can't record them.
        NotFoundError: A catalog, a table or a version does not exist.
        UnsupportedError: The statement is known but can't be done. The hint says which call does it.
        CommitConflictError: Another commit changed what this one relies on.
    """
    check_names(tables or {})
    check_planning(planning)
    check_engine(engine)
    given: dict[str, Given] = {
        name: one if isinstance(one, (Table, Scan)) else os.fspath(one) for name, one in (tables or {}).items()
    }
    if not _has_parser():
        if job_id is not None or snapshot_properties:
            raise UnsupportedError(
                "statements that change rows need the package sqlglot", hint="pip install 'frazil[sql]'"
            )
        return _without_parser(spark, statement, given, planning, engine, args)
    text, named = _named_parameters(statement, args)
    session = Session(
        spark, given, catalogs, named, planning, engine, job_id=job_id, snapshot_properties=snapshot_properties
    )
    with unknown_catalogs(session):
        return _done(session, statement, text, args)


def _done(session: Session, statement: str, text: str, args: Any) -> DataFrame:
    try:
        node = parse(text)
    except InvalidInputError:
        if _mentions_known(session, text):
            raise
        node = nodes.Foreign(text)
    _check_job(session, node)
    if isinstance(node, nodes.Foreign):
        return _foreign(session, statement, args)
    raise_if_interrupted()
    return _DONE[type(node)](session, node, text)


def _check_job(session: Session, node: object) -> None:
    """Refuses the name of a job for a statement that could not record it."""
    if isinstance(node, _CHANGES) or (session.job_id is None and not session.snapshot_properties):
        return
    hint = "INSERT, MERGE, UPDATE, DELETE and TRUNCATE take them. COPY INTO knows the files that it has loaded"
    if isinstance(node, nodes.Refused):
        hint = node.remedy
    raise InvalidInputError("this statement can't record job_id and snapshot_properties", hint=hint)


def _has_parser() -> bool:
    try:
        import sqlglot  # noqa: F401
    except ImportError:
        return False
    return True


def _without_parser(
    spark: SparkSession, statement: str, given: Mapping[str, Given], planning: Planning, engine: Engine, args: Any
) -> DataFrame:
    if given:
        return query_tables(spark, statement, given, planning, engine, args)
    raise UnsupportedError(
        "statements with names of catalogs need the package sqlglot",
        hint="pip install 'frazil[sql]', or give the tables of a query by tables=",
    )


def _named_parameters(statement: str, args: Any) -> tuple[str, Any]:
    """The statement with named parameters in place of `?`, since its parts run apart."""
    if args is None or isinstance(args, Mapping):
        return statement, None if args is None else dict(args)
    values = list(args)
    marks = [token for token in tokens_of(statement) if token.kind == "sign" and token.text == "?"]
    if len(marks) != len(values):
        raise InvalidInputError(f"the statement has {len(marks)} parameters, and args has {len(values)} values")
    for i, mark in reversed(list(enumerate(marks))):
        statement = f"{statement[: mark.start]}:frazil_arg_{i}{statement[mark.end :]}"
    return statement, {f"frazil_arg_{i}": value for i, value in enumerate(values)}


def _mentions_known(session: Session, statement: str) -> bool:
    """Whether a statement names a catalog or a table of Frazil's."""
    names = {*session.catalogs, *session.tables}
    found = any(token.kind in ("word", "quoted") and token.text in names for token in tokens_of(statement))
    return found or bool(session.current)


def _foreign(session: Session, statement: str, args: Any) -> DataFrame:
    """A statement that begins as none of Frazil's. Errors of Spark about a table of Frazil's say what to do."""
    try:
        return session.spark.sql(statement, args)
    except FrazilError:
        raise
    except Exception as error:
        if not _mentions_known(session, statement):
            raise
        hint = "The guide 'SQL in PySpark' lists the statements; the methods of the table and its catalog do the rest"
        said = {"spark": " ".join(str(error).split())[:200]}
        if condition_of(error) == "PARSE_SYNTAX_ERROR":
            raise InvalidInputError("the statement can't be read", said, hint) from error
        words = " ".join(statement.split()[:2]).upper()
        raise UnsupportedError(f"{words} can't be done with tables of Frazil's", said, hint) from error


def _query(session: Session, node: nodes.Query, _: str) -> DataFrame:
    return run(session, node.text)


def _refused(session: Session, node: nodes.Refused, statement: str) -> DataFrame:
    if not any(session.place(name) for name in node.names) and not _mentions_known(session, statement):
        return session.spark.sql(statement, session.args)
    about = f" of {shown(node.names[0])}" if node.names else ""
    raise UnsupportedError(f"{node.what}{about} can't be done", hint=node.remedy)


_CHANGES = (nodes.Insert, nodes.Truncate, nodes.Delete, nodes.Update, nodes.Merge)

_DONE: dict[type, Callable[[Session, Any, str], DataFrame]] = {
    nodes.Query: _query,
    nodes.Explain: explaining.explain,
    nodes.Insert: writes.insert,
    nodes.SparkInsert: lambda session, node, statement: spliced(session, statement, node.query),
    nodes.Truncate: writes.truncate,
    nodes.CopyIntoTable: copying.copy_into_table,
    nodes.CopyIntoFiles: copying.copy_into_files,
    nodes.Delete: changes.delete_rows,
    nodes.Update: changes.update_rows,
    nodes.Merge: changes.merge_rows,
    nodes.CreateTable: definitions.create_table,
    nodes.CreateTableLike: definitions.create_like,
    nodes.DropTable: definitions.drop_table,
    nodes.CreateView: definitions.create_view,
    nodes.AlterView: definitions.alter_view,
    nodes.DropView: definitions.drop_view,
    nodes.CommentOn: definitions.comment_on,
    nodes.AlterTable: alter.alter_table,
    nodes.CreateNamespace: definitions.create_namespace,
    nodes.DropNamespace: definitions.drop_namespace,
    nodes.AlterNamespace: definitions.alter_namespace,
    nodes.Use: answers.use,
    nodes.Show: answers.show,
    nodes.Describe: answers.describe,
    nodes.Call: call,
    nodes.Analyze: answers.analyze,
    nodes.Refresh: answers.refresh,
    nodes.Refused: _refused,
}
