"""Tries the installed package frazil-datafusion: `python packages/datafusion/smoke.py`. Needs frazil and DataFusion."""

import tempfile

import pyarrow as pa
from datafusion import SessionContext

import frazil as fz


def main() -> None:
    """Queries a table of each format. Ends with an error if an answer is wrong."""
    for form in ("iceberg", "paimon"):
        with tempfile.TemporaryDirectory() as folder:
            catalog = fz.catalog("smoke", warehouse=folder)
            catalog.create_namespace("db")
            data = pa.table({"id": range(100), "g": [f"g{i % 3}" for i in range(100)]})
            session = SessionContext()
            session.register_table("t", catalog.create_table("db.t", data=data, format=form))
            query = "select g, sum(id) as ids from t where id >= 90 and g like 'g1%' group by g"
            answer = session.sql(query).to_pydict()
            if answer != {"g": ["g1"], "ids": [91 + 94 + 97]}:
                raise SystemExit(f"{form}: {answer}")
    print("ok")


if __name__ == "__main__":
    main()
