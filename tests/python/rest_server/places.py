"""Where the server keeps metadata files: a folder, or a bucket of an S3 server."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from rest_server.refusal import Refusal


def missing(location: str) -> Refusal:
    return Refusal(404, "NotFoundException", f"Failed to open input stream for file: {location}")


class Places:
    """Reads, writes and deletes by location: a path, `file:` or `s3:`."""

    def __init__(self, s3: dict[str, str] | None = None) -> None:
        """`s3`: `endpoint`, `key`, `secret` and perhaps `region` of the S3 server."""
        self.s3 = s3
        self._client: Any = None
        self._lock = threading.Lock()

    def read(self, location: str) -> bytes:
        if _is_s3(location):
            bucket, key = _bucket_and_key(location)
            try:
                content = self.client().get_object(Bucket=bucket, Key=key)["Body"].read()
            except self.client().exceptions.NoSuchKey:
                raise missing(location) from None
            return bytes(content)
        try:
            return path_of(location).read_bytes()
        except FileNotFoundError:
            raise missing(location) from None

    def read_json(self, location: str) -> dict[str, Any]:
        content = self.read(location)
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        found: dict[str, Any] = json.loads(content)
        return found

    def write_json(self, location: str, value: dict[str, Any]) -> None:
        content = json.dumps(value).encode()
        if location.endswith(".gz.metadata.json"):
            content = gzip.compress(content)
        if _is_s3(location):
            bucket, key = _bucket_and_key(location)
            self.client().put_object(Bucket=bucket, Key=key, Body=content)
            return
        path = path_of(location)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.unfinished")
        unfinished.write_bytes(content)
        os.replace(unfinished, path)

    def delete(self, location: str) -> None:
        if _is_s3(location):
            bucket, key = _bucket_and_key(location)
            self.client().delete_object(Bucket=bucket, Key=key)
        else:
            path_of(location).unlink(missing_ok=True)

    def delete_folder(self, location: str) -> None:
        if not _is_s3(location):
            shutil.rmtree(path_of(location), ignore_errors=True)
            return
        bucket, prefix = _bucket_and_key(location.rstrip("/") + "/")
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        for page in pages:
            for found in page.get("Contents", ()):
                self.client().delete_object(Bucket=bucket, Key=found["Key"])

    def client(self) -> Any:
        with self._lock:
            if self._client is None:
                import boto3

                assert self.s3 is not None, "the server has no store for s3: locations"
                self._client = boto3.client(
                    "s3",
                    endpoint_url=self.s3["endpoint"],
                    aws_access_key_id=self.s3["key"],
                    aws_secret_access_key=self.s3["secret"],
                    region_name=self.s3.get("region", "us-east-1"),
                )
            return self._client


def path_of(location: str) -> Path:
    if location.startswith("file:"):
        return Path(unquote(urlsplit(location).path))
    return Path(location)


def _is_s3(location: str) -> bool:
    return location.partition(":")[0] in ("s3", "s3a", "s3n")


def _bucket_and_key(location: str) -> tuple[str, str]:
    rest = location.partition("://")[2]
    bucket, _, key = rest.partition("/")
    return bucket, key
