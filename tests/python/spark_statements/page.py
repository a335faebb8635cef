"""All statements, and the page that lists them.

`python tests/python/spark_statements/page.py docs/guide/sql-statements.md` writes the page.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from spark_statements.case import Case
from spark_statements.ddl import DDL_CASES
from spark_statements.keyed_definitions import ALTER_CASES, SQL_DDL_CASES
from spark_statements.keyed_procedures import SYS_CASES
from spark_statements.keyed_rows import AUXILIARY_CASES, DEFAULT_CASES, FUNCTION_CASES, SQL_QUERY_CASES, SQL_WRITE_CASES
from spark_statements.procedures import PROCEDURE_CASES
from spark_statements.rows import QUERY_CASES, WRITE_CASES

CASES: list[Case] = [
    *DDL_CASES,
    *WRITE_CASES,
    *QUERY_CASES,
    *PROCEDURE_CASES,
    *ALTER_CASES,
    *SQL_DDL_CASES,
    *SQL_WRITE_CASES,
    *SQL_QUERY_CASES,
    *AUXILIARY_CASES,
    *DEFAULT_CASES,
    *FUNCTION_CASES,
    *SYS_CASES,
]


def page_of_statements() -> str:
    """The page that lists the statements."""
    lines = [
        "# SQL statements in PySpark",
        "These statements are those of the Spark documentation of Iceberg and Paimon. `fz.spark.sql` does them,",
        "or says what to do instead. Each line is tested. [SQL](pyspark.md#sql) explains how to call it.",
        "",
        "Views of REST catalogs are created, replaced, renamed, queried, described, listed and dropped by SQL, too.",
        "Only `ALTER VIEW … UNSET TBLPROPERTIES` is refused. Other catalogs have no views: use temporary ones.",
        "",
        "The argument `parallelism` of procedures is accepted and has no effect: Spark's settings decide.",
        "`COPY INTO` refuses values that the column's type does not have. It takes a folder and `PATTERN`, not a path",
        "with `*`. Keys of JSON are matched in any case.",
        "",
        "| documentation | page | work | refused, with a remedy |",
        "|---|---|---|---|",
    ]
    pages = list(dict.fromkeys((case.format, case.page) for case in CASES))
    for format_, page in pages:
        own = [case for case in CASES if (case.format, case.page) == (format_, page)]
        lines.append(
            f"| {format_} | {page} | {sum(not c.refused for c in own)} | {sum(bool(c.refused) for c in own)} |"
        )
    for format_, page in pages:
        lines += ["", f"## {format_}: {page}", "```sql"]
        for case in CASES:
            if (case.format, case.page) == (format_, page):
                lines += [f"-- refused, instead: {case.remedy}"] if case.refused else []
                lines.append(f"{case.statement};")
        lines.append("```")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page_of_statements(), "utf-8")
