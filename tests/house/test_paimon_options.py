"""Options of Paimon that are read as values of some type are checked when they are set, too."""

import re

from rust_source import SRC

READ = re.compile(r'\b(?:boolean|integer|bytes|duration_ms|millis|positive)\(\s*"([a-z0-9.-]+)"')
(CHECKS,) = SRC.rglob("option_checks.rs")


def test_options_that_are_read_are_checked() -> None:
    checked = set(re.findall(r'"([a-z0-9.-]+)"', CHECKS.read_text("utf-8")))
    read = {
        key
        for path in SRC.rglob("*.rs")
        if re.match("paimon|data/merge", path.relative_to(SRC).as_posix()) and not path.stem.endswith("tests")
        for key in READ.findall(path.read_text("utf-8"))
    }
    assert {"target-file-size", "commit.timeout", "num-levels"} <= read
    assert not read - checked, f"{CHECKS.name} does not know {sorted(read - checked)}"
