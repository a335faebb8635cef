"""Java Iceberg's own tests of catalogs and views, through its REST client, on the tests' REST server. At night."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

import pytest

from rest_server import serving
from servers import NIGHTLY, SMALL_JAVA
from starting import CannotStart, classes, jars, java

pytestmark = pytest.mark.skipif(not NIGHTLY, reason="takes a minute and 100 MB of jars: 'make test-nightly' runs it")
RUN = ["org.junit.platform.console.ConsoleLauncher", "execute", "--details=tree", "--disable-banner"]
KITS = ("org.apache.iceberg.catalog.CatalogKit", "org.apache.iceberg.view.ViewKit")
LEAST = 140


def test_java_is_content_with_the_server(tmp_path: pathlib.Path) -> None:
    warehouse = f"file://{tmp_path}/wh"
    try:
        libraries = jars("kit")
        compiled = classes("CatalogKit.java", libraries, "ViewKit.java")
        program = java()
    except CannotStart as reason:
        pytest.skip(f"Java's tests can't start: {reason}")
    with serving(warehouse) as server:
        options = [f"-Dkit.uri={server.url}", f"-Dkit.warehouse={warehouse}"]
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        command = [program, *SMALL_JAVA, quiet, *options, "-cp", os.pathsep.join([str(compiled), libraries]), *RUN]
        for kit in KITS:
            command += ["-c", kit]
        done = subprocess.run(command, capture_output=True, text=True)
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    failed = re.findall(r"─ (\w+\(.*?\)) ✘", said)
    assert failed == [], said[-3000:]
    passed = re.search(r"(\d+) tests successful", said)
    assert passed is not None, said[-3000:] + done.stderr[-1000:]
    assert int(passed.group(1)) >= LEAST
