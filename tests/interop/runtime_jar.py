"""Finds or fetches the Java Iceberg runtime that the interop tests run inside Spark.

As a script it prints where the jar is, so that a slow first download shows what is going on.
"""

import os
import subprocess
import sys
from pathlib import Path

COORDINATE = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"


def runtime_jar() -> Path:
    """The jar named by ICEBERG_SPARK_RUNTIME_JAR, or a copy from Maven Central kept in the user's cache folder."""
    named = os.environ.get("ICEBERG_SPARK_RUNTIME_JAR")
    if named:
        jar = Path(named)
        if not jar.is_file():
            sys.exit(f"ICEBERG_SPARK_RUNTIME_JAR names no file: {named}")
        return jar
    _, artifact, version = COORDINATE.split(":")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "frazil-interop"
    jar = cache / f"{artifact}-{version}.jar"
    if not jar.is_file():
        print(f"== Fetching {COORDINATE} from Maven Central (60 MB, once)", flush=True)
        command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={COORDINATE}", f"-DoutputDirectory={cache}"]
        try:
            subprocess.run(command, check=True)
        except FileNotFoundError:
            sys.exit("Maven is missing: install it, or let ICEBERG_SPARK_RUNTIME_JAR name the jar")
        except subprocess.CalledProcessError:
            sys.exit(f"Maven could not fetch {COORDINATE}: see its messages above")
    return jar


if __name__ == "__main__":
    print(f"== Java Iceberg: {runtime_jar()}")
