"""Parts of reads: options, rows with their places, and the filters that Spark would push down."""
