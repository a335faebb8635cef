"""An S3 server on this machine, a proxy before it that counts and breaks, and a catalog in a bucket of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pyarrow.fs as pafs
import pytest

import frazil as fz
from object_server import Proxy, proxied
from rest_fixtures import port

__all__ = ["KEY", "SECRET", "bucket", "files", "lake", "options", "port", "proxy"]

KEY, SECRET = "AKIDFRAZIL", "sesame-sesame-sesame"
_BUCKETS = itertools.count()


@pytest.fixture
def proxy(port: int) -> Iterator[Proxy]:
    with proxied(port) as proxy:
        yield proxy


@pytest.fixture
def files(port: int) -> pafs.S3FileSystem:
    """Another client of the same server."""
    return pafs.S3FileSystem(
        access_key=KEY,
        secret_key=SECRET,
        endpoint_override=f"127.0.0.1:{port}",
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    )


@pytest.fixture
def bucket(files: pafs.S3FileSystem) -> str:
    name = f"bucket-{next(_BUCKETS)}"
    files.create_dir(name)
    return name


@pytest.fixture
def options(proxy: Proxy) -> dict[str, str]:
    return {
        "s3.endpoint": proxy.url,
        "s3.access-key-id": KEY,
        "s3.secret-access-key": SECRET,
        "s3.region": "us-east-1",
    }


@pytest.fixture
def lake(bucket: str, options: dict[str, str]) -> fz.Catalog:
    catalog = fz.catalog("lake", type="filesystem", warehouse=f"s3://{bucket}/wh", **options)
    catalog.create_namespace("db")
    return catalog
