"""The handle of a table: the version that was read last."""

from __future__ import annotations

from frazil import _core

__all__ = ["TableHandle"]


class TableHandle:
    """A table at one version. Every change that is made through it moves it to the new version."""

    _core: _core.Table
