"""Merges by clauses. Spark joins the rows, and evaluates conditions and values.

The source's keys show which files of the table can match, and a plan over an empty table shows which columns and rows
Spark needs. The joined rows get the number of their clause. Each row of the table that a clause takes goes to the task
of its data file, with its new values. The driver sees no row.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from frazil.exceptions import InvalidInputError
from frazil.expr import Predicate
from frazil.results import LastCommit
from frazil.spark.changes.assignments import Assignments, assignments, by_shared_columns
from frazil.spark.changes.clauses import Clause, Clauses, Expression
from frazil.spark.changes.matching import Matching, matching
from frazil.spark.changes.merging import (
    BROADCAST_MAX_ROWS,
    BROADCAST_MAX_ROWS_DEFAULT,
    Facts,
    Source,
    branch_or_none,
    collect_facts,
    persisted,
)
from frazil.spark.changes.placed_changes import FILE, MISSING, POSITION, PlacedChange
from frazil.spark.changes.pruning import pushed
from frazil.spark.changes.ways import Way, way_of
from frazil.spark.columns import as_column, quoted
from frazil.spark.jobs.job import Job
from frazil.spark.reading.pushed_filters import either
from frazil.spark.reading.whole_rows import whole_rows
from frazil.spark.settings import setting
from frazil.spark.types import spark_schema
from frazil.spark.writing.schema_changes import SchemaChange
from frazil.spark.writing.store_assignment import same_name
from frazil.table import Table

__all__ = ["MergeTarget", "merge_by_clauses"]

_CLAUSE, _FROM_SOURCE = "frazil clause", "frazil source"
# Numbers of joined rows that no clause takes: matched rows, and others.
_KEPT, _SKIPPED = -1, -2


@dataclass(frozen=True)
class MergeTarget:
    """What is merged, and how rows match.

    Attributes:
        df: The source.
        table: The table at its newest version.
        on: A condition over both sides, or the columns of the key, or None for the table's identifier fields.
        source: The name of the source in expressions.
        target: The name of the table in expressions.
        null_safe: Whether null matches null in the columns of the key.
        job: The branch, the name and the properties of the commit.
    """

    df: DataFrame
    table: Table
    on: Expression | tuple[str, ...] | None
    source: str
    target: str
    null_safe: bool
    job: Job


def merge_by_clauses(what: MergeTarget, clauses: Clauses, evolves: bool = False) -> LastCommit:
    """Does a merge in one commit. Returns what it did; nothing if the job was done before.

    Args:
        what: What is merged.
        clauses: The clauses.
        evolves: Whether columns that only the source has come into the table before, in another commit. Columns that
            only the table has then keep their values.

    Raises:
        InvalidInputError: Columns and expressions do not fit, or a row of the table matches several rows of the source.
        UnsupportedError: The table can't be changed in this way.
        CommitConflictError: Another commit changed what this one relies on.
    """
    if what.job.is_done(what.table):
        return LastCommit()
    if evolves:
        what = _evolved(what, clauses)
        clauses = by_shared_columns(what.df, what.table, clauses)
    with persisted(what.df):
        _Merge.of(what, clauses).run()
    return what.job.done(what.table)


def _evolved(what: MergeTarget, clauses: Clauses) -> MergeTarget:
    """The merge into a table that has the source's columns."""
    if not any(clause.values is None and clause.action != "delete" for clause in clauses.all):
        return what
    change = SchemaChange.of(what.df.schema, what.table.schema, same_name(what.df.sparkSession))
    return what if change is None else replace(what, table=change.committed(what.table))


@dataclass(frozen=True)
class _Merge:
    what: MergeTarget
    clauses: Clauses
    matching: Matching
    assigned: Assignments
    source: DataFrame = field(repr=False)

    @classmethod
    def of(cls, what: MergeTarget, clauses: Clauses) -> _Merge:
        """The merge, checked against the columns of both sides."""
        found = matching(what.df.alias(what.source), what.table, what.on, (what.source, what.target), what.null_safe)
        assigned = assignments(what.df, what.table, clauses, (what.source, what.target))
        of_source = {_FROM_SOURCE: f.lit(True)}
        for number, clause in enumerate(clauses.all):
            if clause.kind == "not matched" or clause.of_source:
                of_source[_condition_name(number)] = _condition(clause)
                of_source |= assigned.evaluated_on_source(number)
        source = what.df.alias(what.source).withColumns(of_source).alias(what.source)
        return cls(what, clauses, found, assigned, source)

    def run(self) -> None:
        what = self.what
        facts, where = self._facts(), None
        needs = pushed(what.df.sparkSession, what.table, lambda rows: self._changes(rows, None), self._expressions())
        if not self.clauses.of("not matched by source"):
            where = _both(facts.where, needs.filter if needs else None)
        elif not self.clauses.of("matched") and not self.clauses.of("not matched"):
            where = self._missing_filter()
        elif facts.where is not None:
            where = either([facts.where, self._missing_filter()])
        columns = _columns_of(what.table) if needs is None else self._with_keys(needs.columns)
        text = "true" if where is None else str(where)
        if facts.keyed == 0 and self.matching.pairs and not self.clauses.of("not matched by source"):
            text = "false"
        self._way.write(self._placed(text, columns, facts), text)

    def _with_keys(self, columns: tuple[str, ...]) -> list[str]:
        """The columns, and those of the key, by which rows may be chosen before they are joined."""
        keys = [pair.key.name for pair in self.matching.pairs]
        return [*columns, *(key for key in keys if key not in columns and key.split(".")[0] not in columns)]

    @property
    def _way(self) -> Way:
        return way_of(self.what.table)

    def _placed(self, where: str, columns: list[str], facts: Facts) -> PlacedChange:
        what = self.what
        at = branch_or_none(what.table, what.job)
        placed = self._way.read(what.df.sparkSession, what.table, where, columns or _columns_of(what.table)[:1], at)
        whole = whole_rows(placed.rows, spark_schema(what.table.schema), ("_file", "_pos"))
        rows = self._changes(whole, facts)
        return PlacedChange(
            table=what.table,
            rows=rows,
            placed=placed,
            updated=self.assigned.updated,
            inserted=self.assigned.inserted,
            deletes_all=self._deletes_all,
            command="merge",
            job=what.job,
        )

    @property
    def _deletes_all(self) -> bool:
        """Whether every matched row is deleted, and no other row is updated."""
        return self.clauses.are_one_delete() and not self.assigned.updated

    def _facts(self) -> Facts:
        pairs = self.matching.pairs
        if not pairs:
            return Facts(self.what.df.count(), 1, None)
        keys = [pair.value.alias(f"frazil key {i}") for i, pair in enumerate(pairs)]
        rows = self.what.df.alias(self.what.source).select(*keys)
        nulls = tuple(pair.null_safe for pair in pairs)
        return collect_facts(Source(rows, (), tuple(pair.key for pair in pairs), nulls))

    def _expressions(self) -> list[Expression | None]:
        on = self.what.on if not isinstance(self.what.on, tuple) else None
        values = [value for clause in self.clauses.all for value in (clause.values or {}).values()]
        return [on, *(clause.condition for clause in self.clauses.all), *values]

    def _missing_filter(self) -> Predicate | None:
        """A filter for the rows without a match that a clause takes."""
        conditions = [clause.condition for clause in self.clauses.of("not matched by source")]
        if any(condition is None for condition in conditions):  # Columns can't be compared by `in`
            return None
        taken = [as_column(condition) for condition in conditions if condition is not None]

        def plan(rows: DataFrame) -> DataFrame:
            return rows.alias(self.what.target).where(reduce(Column.__or__, taken))

        found = pushed(self.what.df.sparkSession, self.what.table, plan, conditions)
        return None if found is None else found.filter

    # ------------------------------------------------------------ the joined rows

    def _changes(self, target: DataFrame, facts: Facts | None) -> DataFrame:
        """The rows that a clause takes, with new values, and where the old row is.

        Args:
            target: Rows of the table with their places.
            facts: Facts about the source; None if the plan is only explained.
        """
        joined = self._join(target, facts).withColumn(_CLAUSE, self._number())
        values = [
            self.assigned.value(name, f.col(quoted(_CLAUSE))).alias(f"frazil c{i}")
            for i, name in enumerate(self.assigned.columns)
        ]
        deletes = [n for n, clause in enumerate(self.clauses.all) if clause.action == "delete"]
        if self._deletes_all:
            deletes = [n for n in deletes if self.clauses.all[n].kind != "matched"]
        gone = f.col(quoted(_CLAUSE)).isin(deletes) if deletes else f.lit(False)
        rows = joined.where(f.col(quoted(_CLAUSE)) != _SKIPPED)
        old = self._way.old(self.what.table, self.what.target)
        return rows.select(*values, *old, f.col(quoted(FILE)), f.col(quoted(POSITION)), gone.alias(MISSING))

    def _join(self, target: DataFrame, facts: Facts | None) -> DataFrame:
        what, spark = self.what, self.what.df.sparkSession
        extra: dict[str, Column] = {}
        for number, clause in enumerate(self.clauses.all):
            if clause.kind == "not matched by source":
                extra[_condition_name(number)] = _condition(clause)
                extra |= self.assigned.evaluated_on_target(number)
        named = target.withColumnsRenamed({"_file": FILE, "_pos": POSITION}).alias(what.target)
        right = (named.withColumns(extra) if extra else named).alias(what.target)
        inserts, missing = bool(self.clauses.of("not matched")), bool(self.clauses.of("not matched by source"))
        most = setting(spark, BROADCAST_MAX_ROWS, BROADCAST_MAX_ROWS_DEFAULT, "rows")
        small = facts is not None and facts.rows <= most
        left = f.broadcast(self.source) if small and not inserts else self.source
        if missing:
            return right.join(left, self.matching.condition, "full_outer" if inserts else "left_outer")
        if small and inserts and self.matching.pairs:
            right = self._of_keys(right)
        return left.join(right, self.matching.condition, "left_outer" if inserts else "inner")

    def _of_keys(self, target: DataFrame) -> DataFrame:
        """The rows of the table that have a key of the source. An outer join can't broadcast the side that it keeps."""
        pairs = self.matching.pairs
        values = [pair.value.alias(f"frazil key {i}") for i, pair in enumerate(pairs)]
        keys = f.broadcast(self.what.df.alias(self.what.source).select(*values).distinct())
        parts = []
        for i, pair in enumerate(pairs):
            column = f.col(".".join(map(quoted, (self.what.target, *pair.key.path))))
            key = f.col(quoted(f"frazil key {i}"))
            parts.append(column.eqNullSafe(key) if pair.null_safe else column == key)
        return target.join(keys, reduce(Column.__and__, parts), "left_semi").alias(self.what.target)

    def _number(self) -> Column:
        """The number of the clause that takes a joined row."""
        of_source, of_target = f.col(quoted(_FROM_SOURCE)).isNotNull(), f.col(quoted(FILE)).isNotNull()
        by_kind = {
            kind: [(n, clause) for n, clause in enumerate(self.clauses.all) if clause.kind == kind]
            for kind in ("matched", "not matched", "not matched by source")
        }
        matched = _first_of([(n, self._taken(n)) for n, _ in by_kind["matched"]], _KEPT)
        if not by_kind["matched"] or self.clauses.are_one_delete():
            matched = _first_of([(n, f.lit(True)) for n, _ in by_kind["matched"]], _SKIPPED)
        inserted = _first_of([(n, self._taken(n)) for n, _ in by_kind["not matched"]], _SKIPPED)
        missing = _first_of([(n, self._taken(n)) for n, _ in by_kind["not matched by source"]], _SKIPPED)
        return f.when(of_source & of_target, matched).when(of_source, inserted).otherwise(missing)

    def _taken(self, number: int) -> Column:
        """The condition of a clause for a joined row."""
        clause = self.clauses.all[number]
        if clause.kind == "matched" and not clause.of_source:
            return _condition(clause)
        return f.col(quoted(_condition_name(number)))


def _condition_name(number: int) -> str:
    return f"frazil if {number}"


def _condition(clause: Clause) -> Column:
    return f.lit(True) if clause.condition is None else as_column(clause.condition)


def _first_of(choices: list[tuple[int, Column]], otherwise: int) -> Column:
    """The number of the first condition that is true."""
    result = f.lit(otherwise)
    for number, condition in reversed(choices):
        result = f.when(condition, f.lit(number)).otherwise(result)
    return result


def _both(a: Predicate | None, b: Predicate | None) -> Predicate | None:
    return a & b if a is not None and b is not None else a if b is None else b


def _columns_of(table: Table) -> list[str]:
    if not table.schema.fields:
        raise InvalidInputError("the table has no columns")
    return [field.name for field in table.schema.fields]
