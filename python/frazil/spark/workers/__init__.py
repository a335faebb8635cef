"""Spark's Python workers: what runs there, and what they raise."""
