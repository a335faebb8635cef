"""The scenarios of Iceberg's own tests of MERGE, UPDATE, DELETE and partition fields in Spark, in our own words."""
