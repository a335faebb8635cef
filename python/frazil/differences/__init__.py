"""What differs between two versions of a table."""

from frazil.differences.compared import difference
from frazil.differences.diff import Diff

__all__ = ["Diff", "difference"]
