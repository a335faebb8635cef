"""Finds or fetches the jars that the interop tests run in Spark: Java Iceberg's runtime, SQLite's driver, Java Paimon.

As a script it prints where they are, so that a slow first download shows what is going on.
"""

import os
import subprocess
import sys
from pathlib import Path

COORDINATE = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
SQLITE = "org.xerial:sqlite-jdbc:3.50.3.0"
PAIMON = "org.apache.paimon:paimon-bundle:1.4.2"
AWS = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"
NIGHTLY = os.environ.get("FRAZIL_NIGHTLY", "") not in ("", "0")


def runtime_jar() -> Path:
    """The jar named by ICEBERG_SPARK_RUNTIME_JAR, or a copy from Maven Central kept in the user's cache folder."""
    return _jar("ICEBERG_SPARK_RUNTIME_JAR", COORDINATE, "60 MB")


def sqlite_jar() -> Path:
    """The jar named by SQLITE_JDBC_JAR, or a copy from Maven Central as of the runtime."""
    return _jar("SQLITE_JDBC_JAR", SQLITE, "14 MB")


def paimon_jar() -> Path:
    """The jar named by PAIMON_BUNDLE_JAR, or a copy from Maven Central as of the runtime."""
    return _jar("PAIMON_BUNDLE_JAR", PAIMON, "49 MB")


def aws_jar() -> Path | str:
    """Amazon's SDK for the runtime: the jar named by ICEBERG_AWS_BUNDLE_JAR, or at night a copy as of the runtime.

    Otherwise the reason why it is missing.
    """
    if not NIGHTLY and "ICEBERG_AWS_BUNDLE_JAR" not in os.environ:
        return "Amazon's SDK for Java is fetched by 'make test-nightly', or ICEBERG_AWS_BUNDLE_JAR names it"
    try:
        return _jar("ICEBERG_AWS_BUNDLE_JAR", AWS, "69 MB")
    except SystemExit as reason:
        return str(reason)


def _jar(variable: str, coordinate: str, size: str) -> Path:
    named = os.environ.get(variable)
    if named:
        jar = Path(named)
        if not jar.is_file():
            sys.exit(f"{variable} names no file: {named}")
        return jar
    _, artifact, version = coordinate.split(":")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "frazil-interop"
    jar = cache / f"{artifact}-{version}.jar"
    if not jar.is_file():
        print(f"== Fetching {coordinate} from Maven Central ({size}, once)", flush=True)
        command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={coordinate}", f"-DoutputDirectory={cache}"]
        try:
            subprocess.run(command, check=True)
        except FileNotFoundError:
            sys.exit(f"Maven is missing: install it, or let {variable} name the jar")
        except subprocess.CalledProcessError:
            sys.exit(f"Maven could not fetch {coordinate}: see its messages above")
    return jar


if __name__ == "__main__":
    print(f"== Java Iceberg: {runtime_jar()}")
    print(f"== SQLite's driver: {sqlite_jar()}")
    print(f"== Java Paimon: {paimon_jar()}")
