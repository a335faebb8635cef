"""What writes are made of: jobs, the two writers, and how rows are distributed."""
