"""Spark's Python workers: what runs in them, and the errors that they raise."""
