"""The statements of the Spark pages of Iceberg's and Paimon's documentation."""
