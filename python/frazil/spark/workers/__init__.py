"""Spark's Python workers: the code that runs in them, and the errors that they raise."""
