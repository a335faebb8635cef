"""What the tests of the REST catalog share."""

from __future__ import annotations

import pyarrow as pa

import frazil as fz
from rest_server import Asked, RestServer

SCHEMA = pa.schema([("id", pa.int64())])


def one(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def ids(table: fz.Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


def opened(server: RestServer, name: str = "prod", **properties: object) -> fz.Catalog:
    return fz.catalog(name, type="rest", uri=server.url, **properties)


def asked(server: RestServer, operation: str) -> list[Asked]:
    """The requests for an operation."""
    return [request for request in server.service.asked if request.operation == operation]
