"""Paths of files: how the table names them, and how Spark takes and returns them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import SparkSession

__all__ = ["SCHEMES", "decoded", "for_spark", "place_for_spark", "schemes_of", "spellings"]


SCHEMES = "spark.frazil.native.schemes"
"""Spark setting: schemes that Spark may read and write itself, separated by commas. `s3=s3a`: `s3a:` for `s3:`."""


def schemes_of(spark: SparkSession) -> dict[str, str]:
    """The schemes that Spark may read itself, and the names that Spark has for them."""
    text = spark.conf.get(SCHEMES, "file") or ""
    pairs = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    return {ours: theirs or ours for ours, _, theirs in pairs}


def for_spark(schemes: Mapping[str, str], path: str) -> str:
    """A path as Spark takes it, and as its column `_metadata.file_path` returns it."""
    scheme, colon, rest = path.partition(":")
    if not colon or "/" in scheme:
        return "file:" + path
    if scheme == "file":
        return "file:/" + rest.lstrip("/")
    return schemes.get(scheme, scheme) + ":" + rest


def place_for_spark(spark: SparkSession, path: str) -> str | None:
    """A path as Spark takes it. It is None if Spark may not read from there."""
    scheme = path.partition(":")[0] if ":" in path.partition("/")[0] else "file"
    schemes = schemes_of(spark)
    return for_spark(schemes, path) if scheme in schemes else None


def spellings(schemes: Mapping[str, str], path: str) -> list[str]:
    """How Spark may return a path, first the way in which it takes it. Some versions escape characters."""
    path = for_spark(schemes, path)
    escaped = re.sub(r"[% \"<>^`|]", lambda m: f"%{ord(m[0]):02X}", path)
    return [path] if escaped == path else [path, escaped]


def decoded(path: str) -> str:
    """One spelling of a path, whether Spark escaped it or not."""
    path = re.sub(r"^([a-z0-9+.-]+):/+(?=[^/])", r"\1:/", path)
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)) if int(m[1], 16) < 128 else m[0], path)
