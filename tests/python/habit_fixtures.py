"""What the tests of lines from habit start with. A test file imports the fixtures that it uses."""

from __future__ import annotations

import pytest

import frazil as fz


@pytest.fixture
def catalog() -> fz.Catalog:
    """A catalog in memory with the namespace `db`."""
    catalog = fz.catalog(type="memory")
    catalog.create_namespace("db")
    return catalog
