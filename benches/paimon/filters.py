"""The filters of the planning benchmark. `java/Serve.java` has the same by these names."""

from typing import Any

TITLES = {"none": "none", "day": "one partition", "values": "values"}

# Text that Frazil takes; None for none.
TEXT: dict[str, str | None] = {
    "none": None,
    "day": "day = '2022-01-20'",
    "values": "price > 1450.0",
}

# A column, its place, and the names of what is asked of it in pypaimon and pypaimon-rust.
LEAVES: dict[str, tuple[str, int, str, Any] | None] = {
    "none": None,
    "day": ("day", 11, "equal", "2022-01-20"),
    "values": ("price", 7, "greaterThan", 1450.0),
}
