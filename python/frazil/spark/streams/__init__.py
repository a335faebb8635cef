"""Parts of Spark's streams: commits, a reader of rows that come, and a writer of batches."""
