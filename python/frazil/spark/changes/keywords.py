"""The arguments of `frazil.spark.merge` as clauses, if they have expressions of Spark's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from frazil import arguments
from frazil.exceptions import InvalidInputError
from frazil.expr import Filter
from frazil.spark.changes.clauses import Clause, Clauses, Expression
from frazil.spark.columns import as_column, as_sql, is_column, quoted
from frazil.spark.writing.store_assignment import found_name, same_name
from frazil.table import Table

__all__ = ["by_keywords"]

_QUALIFIED = re.compile(r"(?i)(?<![\w.`'\"])`?[st]`?\s*\.")

_Columns: TypeAlias = "bool | Mapping[str, str | Column]"
_Filter: TypeAlias = "bool | Filter | Column"


def by_keywords(
    df: DataFrame,
    table: Table,
    given: tuple[_Columns, _Filter, _Columns, _Filter],
    update_where: Expression | None,
    null_safe: bool,
) -> Clauses | None:
    """The clauses that arguments of `merge` mean. It is None if they have no expression of Spark's.

    Args:
        df: The source.
        table: The table.
        given: What is updated, deleted, inserted, and deleted for lack of a match.
        update_where: A condition for the update.
        null_safe: Whether null matches null in the key.
    """
    update, delete, insert, missing = given
    names = list(df.columns)
    texts = [value for columns in (update, insert) if isinstance(columns, Mapping) for value in columns.values()]
    expressions = [value for value in texts if is_column(value) or value not in names]
    conditions = [one for one in (delete, missing) if is_column(one) or _is_qualified(one, names)]
    folded = same_name(df.sparkSession)
    by_case = any(found_name(c, (x.name for x in table.schema.fields), folded) not in (c, None) for c in names)
    if update_where is None and not (null_safe or expressions or conditions or by_case):
        return None
    if update_where is not None and not update:
        raise InvalidInputError("when_matched_update_where needs when_matched_update", hint="Give True or columns")
    clauses: list[Clause] = []
    if delete is not False:
        alone = not _is_qualified(delete, names) and not is_column(delete)
        clauses.append(Clause("matched", _condition(delete, names), "delete", of_source=alone))
    if update:
        clauses.append(Clause("matched", update_where, "update", _values(update, df, table)))
    if insert:
        plain = not isinstance(delete, bool) and not is_column(delete) and not _is_qualified(delete, names)
        kept = _condition(delete, names) if plain else None
        where = None if kept is None else ~f.coalesce(as_column(kept), f.lit(False))
        clauses.append(Clause("not matched", where, "insert", _values(insert, df, table)))
    if missing is not False:
        clauses.append(Clause("not matched by source", _condition(missing, names), "delete"))
    return Clauses(tuple(clauses))


def _is_qualified(text: object, names: list[str]) -> bool:
    return isinstance(text, str) and not {"s", "t"} & {name.lower() for name in names} and bool(_QUALIFIED.search(text))


def _condition(given: _Filter, names: list[str]) -> Expression | None:
    """A condition. A filter of Frazil's is written as Spark's SQL."""
    if isinstance(given, bool):
        return None
    if is_column(given) or _is_qualified(given, names):
        return given  # type: ignore[return-value]
    return as_sql(arguments.filter_text(given))


def _values(given: bool | Mapping[str, Expression], df: DataFrame, table: Table) -> dict[str, Expression]:
    if isinstance(given, Mapping):
        return dict(given)
    folded = same_name(df.sparkSession)
    known = [c.name for c in table.schema.fields]
    found: dict[str, Expression] = {}
    for name in df.columns:
        to = found_name(name, known, folded)
        if to is None:
            raise InvalidInputError(f"the table has no column '{name}'", {"columns": ", ".join(known)})
        found[to] = f.col(f"`s`.{quoted(name)}")
    return found
