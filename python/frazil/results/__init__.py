"""What changes of a table did."""

from frazil.results.last_commit import LastCommit, last_commit

__all__ = ["LastCommit", "last_commit"]
