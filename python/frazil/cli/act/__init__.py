"""Commands that change a table. Each shows first what it would do, and asks."""
