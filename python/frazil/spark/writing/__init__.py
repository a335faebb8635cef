"""Parts of writes: jobs, the two writers, and the distribution of rows."""
