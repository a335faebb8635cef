"""The filters of the planning benchmark. `java/PlanFiles.java` and `iceberg_rust` have the same by these names."""

TITLES = {"none": "none", "day": "one day", "metrics": "metrics only", "mixed": "mixed"}

# Text that both Frazil and DuckDB take; None for none.
TEXT: dict[str, str | None] = {
    "none": None,
    "day": "ts >= '2023-01-10T00:00:00+00:00' and ts < '2023-01-11T00:00:00+00:00'",
    "metrics": "price > 1450.0",
    "mixed": "country in ('NO', 'SE') and ts >= '2023-01-01T00:00:00+00:00' and status = 404",
}

# The days from 1970 that each filter's manifests hold, which is what the manifest list prunes by.
DAYS: dict[str, tuple[int, int] | None] = {
    "none": None,
    "day": (19_367, 19_367),
    "metrics": None,
    "mixed": (19_358, 2**31),
}
