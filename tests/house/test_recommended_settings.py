"""The benchmark of Spark runs with the settings that the guide recommends, not with others."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_benchmarks_settings_are_the_guides() -> None:
    run = (ROOT / "benches" / "spark" / "run.py").read_text("utf-8")
    guide = (ROOT / "docs" / "guide" / "pyspark.md").read_text("utf-8")
    (java,) = re.findall(r'^JAVA = "(.+)"$', run, re.MULTILINE)
    (settings,) = re.findall(r"^SETTINGS = \{(.+)\}$", run, re.MULTILINE)
    timed = {key.replace("_", "."): value for key, value in re.findall(r'"(\w+)": "(\w+)"', settings)}
    timed |= {f"spark.{where}.extraJavaOptions": java for where in ("driver", "executor")}
    (lines,) = (text for text in re.findall(r"```text\n(.+?)```", guide, re.DOTALL) if "extraJavaOptions" in text)
    recommended = dict(line.split(maxsplit=1) for line in lines.splitlines())
    assert timed == recommended
