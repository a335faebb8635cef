"""Functions of the connectors in queries: Iceberg's `system.bucket` and others, Paimon's `sys.max_pt` and others.

They become functions of the session, or a value.
"""

from __future__ import annotations

from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.spark.functions import DescriptorFunction, Transform, register_function, register_transform
from frazil.spark.sql.grammar.tokens import Cursor, Token, shown, tokens_of
from frazil.spark.sql.session import Session
from frazil.spark.sql.values import literal

__all__ = ["with_transforms"]

_TIMES = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
_REFUSED = {
    "system.truncate": "frazil.spark.functions.truncate(width, column, type) makes a Column",
    "system.iceberg_version": "frazil.__version__ is Frazil's version",
    "sys.descriptor_to_presigned_url": "Read the bytes of the column",
}
_DESCRIPTORS = {"path_to_descriptor": "binary", "descriptor_to_string": "string"}


def with_transforms(session: Session, query: str) -> str:
    """The query with functions of the session in place of those of the namespace `system`.

    Raises:
        UnsupportedError: The function is known, but its result's type depends on its argument.
    """
    if "sys" not in query.lower():
        return query
    tokens = tokens_of(query)
    for i in range(len(tokens) - 4, -1, -1):
        if tokens[i].text.lower() in ("system", "sys") and tokens[i + 1].text == "." and tokens[i + 3].text == "(":
            query = _replaced(session, query, tokens, i)
    return query


def _replaced(session: Session, query: str, tokens: list[Token], at: int) -> str:
    name = tokens[at + 2].text.lower()
    start = tokens[at].start
    if at > 1 and tokens[at - 1].text == ".":
        if tokens[at - 2].text not in session.catalogs:
            return query
        start = tokens[at - 2].start
    elif not session.catalogs:
        return query
    whole = f"{tokens[at].text.lower()}.{name}"
    if whole in _REFUSED:
        raise UnsupportedError(f"function {whole} can't be used in SQL", hint=_REFUSED[whole])
    inside = tokens[at + 3].end
    if whole == "sys.max_pt":
        return _with_greatest(session, query, tokens, start, at + 3)
    if tokens[at].text.lower() == "sys" and name in _DESCRIPTORS:
        function = f"frazil_{name}"
        register_function(session.spark, function, DescriptorFunction(name), _DESCRIPTORS[name])
        return f"{query[:start]}{function}({query[inside:]}"
    if name == "bucket" and tokens[at + 4].kind == "number":
        buckets = int(tokens[at + 4].text)
        function = f"frazil_bucket_{buckets}"
        register_transform(session.spark, function, Transform("bucket", buckets), "int")
        return f"{query[:start]}{function}({query[tokens[at + 5].end :]}"
    if name not in _TIMES:
        return query
    function = f"frazil_{name}"
    register_transform(session.spark, function, Transform(_TIMES[name]), "date" if name == "days" else "int")
    return f"{query[:start]}{function}({query[inside:]}"


def _with_greatest(session: Session, query: str, tokens: list[Token], start: int, at: int) -> str:
    """The query with the greatest value of a table's first partition column in place of `max_pt('table')`.

    Raises:
        InvalidInputError: The argument is no text, or the table has no partition with rows.
    """
    if tokens[at + 1].kind != "text" or tokens[at + 2].text != ")":
        raise InvalidInputError("max_pt takes the name of a table as a text", hint="sys.max_pt('db.t')")
    name = Cursor(tokens[at + 1].text).name()
    if start < tokens[at - 3].start and name[0] not in session.catalogs:
        name = (tokens[at - 5].text, *name)
    target = session.target(name)
    if target is None:
        raise InvalidInputError(f"max_pt: table {shown(name)} is not one of Frazil's", {"table": shown(name)})
    table = target.table
    if not table.partition_spec.fields:
        raise InvalidInputError(f"max_pt: table {shown(name)} has no partitions", {"table": table.location})
    field = table.partition_spec.fields[0]
    files = [task.data_file for task in table.scan().plan_files()]
    found = {file.partition.get(field.column or field.name) for file in files if file.record_count}
    values = [value for value in found if value is not None]
    if not values:
        raise InvalidInputError(f"max_pt: table {shown(name)} has no partition with rows", {"table": table.location})
    greatest = max(values)
    text = str(greatest).lower() if isinstance(greatest, bool) else str(greatest)
    return f"{query[:start]}{literal(text)}{query[tokens[at + 2].end :]}"
