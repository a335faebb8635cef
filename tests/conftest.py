"""What all tests share: some are left to the night."""

from __future__ import annotations

from pathlib import Path

import pytest
from night import NIGHTLY, leave


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what `night.LEFT` names, unless a test was asked for by its name."""
    if any("::" in arg for arg in config.args) or config.option.keyword:
        return
    left = leave(items, str(Path(__file__).parent))
    if left and not NIGHTLY:
        config.hook.pytest_deselected(items=left)
        gone = set(left)
        items[:] = [item for item in items if item not in gone]
