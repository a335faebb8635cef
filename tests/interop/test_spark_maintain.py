"""Maintenance by Spark's executors, compared with Java's: the tests of maintenance by one process, with `spark=`."""

import functools

import pytest
from java_side import Java
from pyspark.sql import SparkSession

import test_maintain
from frazil.maintain import Maintain


@pytest.fixture(autouse=True)
def executors(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has every verb that can be done by executors be done by them."""
    for name in ("compact", "remove_orphan_files", "rewrite_position_deletes"):
        monkeypatch.setattr(Maintain, name, functools.partialmethod(getattr(Maintain, name), spark=spark))


@pytest.mark.parametrize("version", [2, 3])
def test_java_reads_what_was_compacted(java: Java, version: int) -> None:
    test_maintain.test_java_reads_what_was_compacted(java, version)


def test_the_same_files_are_compacted_as_with_java(java: Java) -> None:
    test_maintain.test_the_same_files_are_compacted_as_with_java(java)


@pytest.mark.parametrize("what", test_maintain.ORDERS)
def test_rows_are_in_the_order_that_java_gives_them(java: Java, what: str) -> None:
    test_maintain.test_rows_are_in_the_order_that_java_gives_them(java, what)


def test_the_same_orphans_as_with_java(java: Java) -> None:
    test_maintain.test_the_same_orphans_as_with_java(java)


def test_the_same_position_deletes_are_rewritten_as_with_java(java: Java) -> None:
    test_maintain.test_the_same_position_deletes_are_rewritten_as_with_java(java)


def test_deletes_of_an_upgraded_table_become_vectors(java: Java) -> None:
    test_maintain.test_deletes_of_an_upgraded_table_become_vectors(java)
