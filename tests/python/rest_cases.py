"""What the tests of the REST catalog share."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa

import frazil as fz
from rest_server import Asked, RestServer

SCHEMA = pa.schema([("id", pa.int64())])
OWN = {"key": "AKIDOWNER", "secret": "secret-of-the-owner"}
BUCKETS = itertools.count()


def one(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def ids(table: Any) -> list[int]:
    """The rows of a table of Frazil or PyIceberg."""
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


def opened(server: RestServer, name: str = "prod", **properties: object) -> fz.Catalog:
    return fz.catalog(name, type="rest", uri=server.url, **properties)


def asked(server: RestServer, operation: str) -> list[Asked]:
    """The requests for an operation."""
    return [request for request in server.service.asked if request.operation == operation]


def new_bucket(port: int) -> tuple[str, dict[str, str]]:
    """A bucket of the owner in an S3 server, and how the owner opens it."""
    import boto3

    behind, bucket = f"http://127.0.0.1:{port}", f"lasting-{next(BUCKETS)}"
    keys = {"aws_access_key_id": OWN["key"], "aws_secret_access_key": OWN["secret"], "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=behind, **keys).create_bucket(Bucket=bucket)
    return bucket, {"endpoint": behind, "region": "us-east-1", **OWN}
