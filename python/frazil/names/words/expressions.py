"""Names of columns and conditions in filters."""

from __future__ import annotations

__all__ = ["NAMES"]

NAMES: dict[str, list[tuple[str, str, str]]] = {
    "Term": [
        ("Spark", "is_in(values)", "isin"),
        ("Spark", "is_null()", "isNull"),
        ("Spark", "is_not_null()", "isNotNull"),
        ("pandas", "is_null()", "isnull isna"),
        ("pandas", "is_not_null()", "notnull notna"),
        ("Spark", "is_nan()", "isNaN"),
        ("Spark", "starts_with(prefix)", "startswith startsWith"),
        ("Polars", "between(low, high)", "is_between"),
        ("Polars", "not_in(values)", "is_not_in"),
        ("Polars", "== value", "eq"),
        ("Polars", "!= value", "ne"),
        ("Polars", "> value", "gt"),
        ("Polars", ">= value", "ge"),
        ("Polars", "< value", "lt"),
        ("Polars", "<= value", "le"),
        ("pyarrow", "is_not_null()", "is_valid"),
        ("Spark", "ends_with(suffix)", "endswith"),
        ("Spark", "like(pattern)", "rlike"),
        ("Spark", "cast(type)", "astype"),
        ("Spark", "frazil.col('struct.member')", "getField getItem"),
        ("Spark", "(a == b) | (a.is_null() & b.is_null())", "eqNullSafe"),
        ("Spark", "starts_with(prefix) or like(pattern)", "substr"),
        ("Spark", "sort_by=['x asc']", "asc"),
        ("Spark", "sort_by=['x desc']", "desc"),
        ("Spark", "to_polars().rename(…)", "alias"),
        ("Polars", "contains(text), starts_with(prefix), ends_with(suffix), lower() or upper(), without `str`,", "str"),
        (
            "Polars",
            "frazil.year('x'), frazil.month('x'), frazil.day('x') or frazil.hour('x')",
            "date day dt hour month year",
        ),
        ("Polars", "frazil.col('struct.member')", "field struct"),
        ("Polars", "a comparison of the column: filters can't look into lists and maps", "arr list map_values"),
        ("Polars", "(col('x') == value) | col('x').is_null()", "coalesce fill_nan fill_null fillna ifnull"),
        ("Polars", "is_not_nan(), with a comparison with float('inf'),", "is_finite is_infinite"),
        ("Polars", "str(column)", "name"),
        (
            "Polars",
            "scan.to_polars(lazy=True), which computes what a filter can't,",
            """
abs apply arg_max ceil clip count cum_sum diff exp first floor hash last len length len_bytes len_chars log map
map_batches map_elements max mean median min n_unique over product quantile rank replace reverse round shift
sign sqrt std strip strip_chars sum trim unique value_counts var
""",
        ),
        ("Polars", "lower()", "casefold to_lower to_lowercase"),
        ("Polars", "upper()", "to_upper to_uppercase"),
        (
            "Polars",
            "scan.to_polars(lazy=True).filter(…), for whole columns,",
            "is_duplicated is_first_distinct is_unique",
        ),
        ("SQLAlchemy", "is_in(values)", "in_"),
        ("SQLAlchemy", "not_in(values)", "notin_"),
        ("SQLAlchemy", "is_null()", "is_ is_none"),
        ("SQLAlchemy", "is_not_null()", "is_not isnot not_null"),
        ("SQLAlchemy", "~like(pattern)", "not_like notlike"),
        ("SQLAlchemy", "like(pattern)", "match matches regexp regexp_like regexp_match"),
        ("pypaimon", "== value", "equal"),
        ("pypaimon", "!= value", "not_equal"),
        ("pypaimon", "> value", "greater_than"),
        ("pypaimon", ">= value", "greater_or_equal"),
        ("pypaimon", "< value", "less_than"),
        ("pypaimon", "<= value", "less_or_equal"),
        ("Spark", "(condition & …) | (~condition & …)", "when"),
    ],
    "Predicate": [
        ("SQLAlchemy", "left & right", "and_"),
        ("SQLAlchemy", "left | right", "or_"),
        ("Polars", "~predicate", "not_"),
    ],
}
"""By the class that is asked: the library, what to write, and the names."""
