"""Partition transforms of Arrow columns: against the specification's examples and against PyIceberg."""

from __future__ import annotations

import datetime as dt
import decimal
import importlib
import uuid
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frazil as fz
from frazil import transforms

UTC = dt.timezone.utc
MOMENT = dt.datetime(2017, 11, 16, 22, 31, 8)
HASHES = [  # Appendix B of the specification; Java and PyIceberg agree on dates hashing as longs
    (pa.array([34], pa.int32()), 2017239379),
    (pa.array([34], pa.int64()), 2017239379),
    (pa.array([decimal.Decimal("14.20")], pa.decimal128(9, 2)), -500754589),
    (pa.array([dt.date(2017, 11, 16)]), -653330422),
    (pa.array([dt.time(22, 31, 8)], pa.time64("us")), -662762989),
    (pa.array([MOMENT], pa.timestamp("us")), -2047944441),
    (pa.array([MOMENT.replace(tzinfo=UTC)], pa.timestamp("us", "UTC")), -2047944441),
    (pa.array([MOMENT], pa.timestamp("ns")), -2047944441),
    (pa.array(["iceberg"], pa.string()), 1210000089),
    (pa.array(["iceberg"], pa.large_string()), 1210000089),
    (pa.array(["iceberg"], pa.string_view()), 1210000089),
    (pa.array(["iceberg"]).dictionary_encode(), 1210000089),
    (pa.array([uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes], pa.uuid()), 1488055340),
    (pa.array([b"\0\1\2\3"], pa.binary(4)), -188683207),
    (pa.array([b"\0\1\2\3"], pa.binary()), -188683207),
    (pa.array([b"\0\1\2\3"], pa.large_binary()), -188683207),
    (pa.array([b"\0\1\2\3"], pa.binary_view()), -188683207),
]


@pytest.mark.parametrize(("array", "hash32"), HASHES, ids=lambda value: str(getattr(value, "type", "")))
@pytest.mark.parametrize("n", [1, 7, 16, 1000, 2**31 - 1])
def test_buckets_of_the_specification(array: pa.Array, hash32: int, n: int) -> None:
    found = transforms.bucket(pa.concat_arrays([array, pa.nulls(1, array.type), array]), n)
    expected = (hash32 & 0x7FFFFFFF) % n
    assert found == pa.array([expected, None, expected], pa.int32())


def test_slices_chunks_and_empty_arrays() -> None:
    array = pa.array([None, "iceberg", "x", "iceberg"])
    wanted = transforms.bucket(array, 16)
    assert transforms.bucket(array[1:3], 16) == wanted[1:3]
    chunked = transforms.bucket(pa.chunked_array([array[:1], array[1:]]), 16)
    assert isinstance(chunked, pa.ChunkedArray)
    assert chunked.combine_chunks() == wanted
    assert transforms.bucket(pa.array([], pa.int64()), 4) == pa.array([], pa.int32())
    assert transforms.bucket(pa.chunked_array([], pa.int64()), 4).to_pylist() == []
    assert transforms.truncate(pa.array([], pa.large_string()), 4).type == pa.large_string()


def test_other_libraries_come_in_by_capsule() -> None:
    class Foreign:
        def __arrow_c_array__(self, requested_schema: object = None) -> object:
            return pa.array([34, None], pa.int64()).__arrow_c_array__(requested_schema)

    assert transforms.bucket(Foreign(), 16).to_pylist() == [2017239379 % 16, None]
    polars = importlib.import_module("polars")
    assert transforms.bucket(polars.Series([34, None]), 16).to_pylist() == [2017239379 % 16, None]


def test_truncate_of_the_specification() -> None:
    assert transforms.truncate(pa.array([1, -1, None], pa.int32()), 10).to_pylist() == [0, -10, None]
    assert transforms.truncate(pa.array([1, -1], pa.int64()), 10).to_pylist() == [0, -10]
    amount = pa.array([decimal.Decimal("10.65")], pa.decimal128(9, 2))
    assert transforms.truncate(amount, 50) == pa.array([decimal.Decimal("10.50")], pa.decimal128(9, 2))
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        found = transforms.truncate(pa.array(["iceberg", "żółw", None], kind), 3)
        assert found.type == kind
        assert found.to_pylist() == ["ice", "żół", None]
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        assert transforms.truncate(pa.array([b"\0\1\2\3"], kind), 3).to_pylist() == [b"\0\1\2"]


def test_times() -> None:
    moments = pa.array([MOMENT, dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None], pa.timestamp("us"))
    assert transforms.year(moments).to_pylist() == [47, -1, None]
    assert transforms.month(moments).to_pylist() == [574, -1, None]
    assert transforms.day(moments).to_pylist() == [dt.date(2017, 11, 16), dt.date(1969, 12, 31), None]
    assert transforms.hour(moments).to_pylist() == [419686 + 0, -1, None]
    assert transforms.day(moments.cast(pa.timestamp("ns"))).to_pylist() == transforms.day(moments).to_pylist()
    whole = moments.cast(pa.timestamp("s"), safe=False)
    assert transforms.hour(whole[:1]) == transforms.hour(moments[:1])
    oslo = pa.array([dt.datetime(2026, 1, 1, 0, 30, tzinfo=UTC)], pa.timestamp("us", "Europe/Oslo"))
    assert transforms.hour(oslo).to_pylist() == [490896]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: transforms.bucket(pa.array([True]), 4), fz.InvalidInputError, "bool"),
        (lambda: transforms.bucket(pa.array([1.5]), 4), fz.InvalidInputError, "bucket"),
        (lambda: transforms.bucket(pa.array([1]), 0), fz.InvalidInputError, "buckets"),
        (lambda: transforms.bucket(pa.array([1]), 2**31), fz.InvalidInputError, "buckets"),
        (lambda: transforms.bucket(pa.array([1]), True), fz.InvalidInputError, "buckets"),
        (lambda: transforms.truncate(pa.array([1]), -1), fz.InvalidInputError, "width"),
        (lambda: transforms.truncate(pa.array([dt.date(2020, 1, 1)]), 2), fz.InvalidInputError, "truncate"),
        (lambda: transforms.hour(pa.array([dt.date(2020, 1, 1)])), fz.InvalidInputError, "hour"),
        (lambda: transforms.year(pa.array([1])), fz.InvalidInputError, "year"),
        (lambda: transforms.bucket(pa.array([[1]]), 4), fz.InvalidInputError, "List"),
        (lambda: transforms.bucket(pa.array([1], pa.uint64()), 4), fz.UnsupportedError, "UInt64"),
        (lambda: transforms.bucket([1, 2], 4), fz.InvalidInputError, "list"),
    ],
)
def test_mistakes(call: Callable[[], object], error: type[fz.FrazilError], says: str) -> None:
    with pytest.raises(error, match=f"(?i){says}"):
        call()


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))), st.integers(1, 2**31 - 1))
def test_longs_equal_pyiceberg(values: list[int | None], n: int) -> None:
    ours = transforms.bucket(pa.array(values, pa.int64()), n).to_pylist()
    assert ours == [_theirs("BucketTransform", n, "LongType", value) for value in values]


@given(st.lists(st.one_of(st.none(), st.text())), st.integers(1, 1000))
def test_texts_equal_pyiceberg(values: list[str | None], n: int) -> None:
    array = pa.array(values, pa.string())
    assert transforms.bucket(array, n).to_pylist() == [_theirs("BucketTransform", n, "StringType", v) for v in values]
    assert transforms.truncate(array, n).to_pylist() == [
        _theirs("TruncateTransform", n, "StringType", value) for value in values
    ]


@given(st.lists(st.one_of(st.none(), st.integers(-(10**20) + 1, 10**20 - 1))), st.integers(1, 1000))
def test_decimals_equal_pyiceberg(values: list[int | None], n: int) -> None:
    decimals = [None if value is None else decimal.Decimal(value).scaleb(-2) for value in values]
    ours = transforms.bucket(pa.array(decimals, pa.decimal128(20, 2)), n).to_pylist()
    assert ours == [_theirs("BucketTransform", n, ("DecimalType", 20, 2), value) for value in decimals]


@given(st.lists(st.one_of(st.none(), st.integers(-(2**55), 2**55))))
def test_times_equal_pyiceberg(values: list[int | None]) -> None:
    array = pa.array(values, pa.int64()).cast(pa.timestamp("us"))
    for name in ("Year", "Month", "Day", "Hour"):
        ours = getattr(transforms, name.lower())(array).cast(pa.int32()).to_pylist()
        theirs = [_theirs(f"{name}Transform", None, "TimestampType", value) for value in values]
        assert ours == theirs


def _theirs(transform: str, parameter: int | None, kind: Any, value: Any) -> Any:
    """What PyIceberg's transform gives; these tests are skipped without it."""
    own = pytest.importorskip("pyiceberg.transforms")
    types = importlib.import_module("pyiceberg.types")
    name, *arguments = (kind,) if isinstance(kind, str) else kind
    made = getattr(own, transform)(*([] if parameter is None else [parameter]))
    return made.transform(getattr(types, name)(*arguments))(value)
