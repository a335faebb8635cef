"""SQL statements about tables: read, then done by calls of Frazil and of Spark."""
