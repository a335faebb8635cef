"""Streams of Spark: a table's rows as they come, and batches that a table gets once each."""
