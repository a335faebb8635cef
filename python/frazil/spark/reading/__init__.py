"""What reads are made of: options, rows with their places, and the filters that Spark would push."""
