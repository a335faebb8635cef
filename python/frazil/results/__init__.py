"""What changes of a table did."""

from frazil.results.last_commit import LastCommit, commit_with, last_commit, summed
from frazil.results.shortened import shortened

__all__ = ["LastCommit", "commit_with", "last_commit", "shortened", "summed"]
