"""What names in a statement mean: branches, metadata columns, and columns that are set."""
