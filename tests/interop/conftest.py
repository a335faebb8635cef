"""One Spark session with Java Iceberg's catalog `ice` over a temporary warehouse, shared by all interop tests."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from java_side import Java
from paimon_java import Paimon
from pyspark.sql import SparkSession
from runtime_jar import aws_jar, paimon_jar, runtime_jar, sqlite_jar

# Spark's collect() gives timestamps in the process's zone, and workers must run the Python under test.
os.environ["TZ"] = "UTC"
time.tzset()
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """From the last file to the first: those of Spark take minutes, and shall not be left for one process."""
    items.sort(key=lambda item: item.path, reverse=True)


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder below which both Java's catalog and Frazil's keep their tables."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def spark(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    scratch = tmp_path_factory.mktemp("spark")
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("frazil-interop")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", f"-Duser.timezone=UTC -Dderby.system.home={scratch}")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(scratch / "spark-warehouse"))
    )
    if pyspark.__version__.startswith("4.1."):  # what the runtime is built for
        jars = [runtime_jar(), sqlite_jar(), paimon_jar()]
        if isinstance(aws := aws_jar(), Path):
            jars.append(aws)
        builder = (
            builder.config("spark.jars", ",".join(map(str, jars)))
            .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
            .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
            .config("spark.sql.catalog.ice.type", "hadoop")
            .config("spark.sql.catalog.ice.warehouse", str(warehouse))
            .config("spark.sql.catalog.ice.cache-enabled", "false")
        )
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def java(spark: SparkSession, warehouse: Path) -> Java:
    """Java Iceberg, by SQL on the catalog `ice`."""
    if not spark.conf.get("spark.sql.catalog.ice", None):
        pytest.fail(f"the Java side needs PySpark 4.1, not {pyspark.__version__}")
    return Java(spark, warehouse)


@pytest.fixture(scope="session")
def paimon(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Paimon:
    """Java Paimon, with a warehouse of its own."""
    if not pyspark.__version__.startswith("4.1."):
        pytest.fail(f"the Java side needs PySpark 4.1, not {pyspark.__version__}")
    return Paimon(spark, tmp_path_factory.mktemp("paimon"))
