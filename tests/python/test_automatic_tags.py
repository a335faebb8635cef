"""Tags that options of Paimon's tables ask for. Expected names are by Java's `TagPeriodHandler`."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.tagging.automatic import _zone
from frazil.tagging.periods import TagPeriods, duration, kept_for

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("options", "name", "before"),
    [
        ({}, "2024-12-04", "2024-12-03"),
        ({"tag.period-formatter": "without_dashes"}, "20241204", "20241203"),
        ({"tag.creation-period": "hourly"}, "2024-12-04 13", "2024-12-04 12"),
        ({"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes"}, "20241204 13", "20241204 12"),
        (
            {"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes_and_spaces"},
            "2024120413",
            "2024120412",
        ),
        ({"tag.creation-period": "two-hours"}, "2024-12-04 12", "2024-12-04 10"),
        ({"tag.creation-period-duration": "30 min"}, "202412041330", "202412041300"),
    ],
)
def test_names_of_periods(options: dict[str, str], name: str, before: str) -> None:
    periods = TagPeriods.of(options)
    begin = periods.time_of(name)
    assert begin is not None
    assert periods.name_of(begin) == name
    assert periods.name_of(periods.last_before(dt.datetime(2024, 12, 4, 13, 40))) == before


def test_other_names_are_no_automatic_tags() -> None:
    for name in ("my-tag", "2024-13-01", "2024-1-1", "20241204", ""):
        assert TagPeriods.of({}).time_of(name) is None
    for options in ({"tag.creation-period": "weekly"}, {"tag.period-formatter": "x"}):
        with pytest.raises(fz.InvalidInputError, match="no value"):
            TagPeriods.of(options)


def test_durations() -> None:
    assert [duration(text) for text in ("5", "1 d", "12h", "30 min")] == [
        dt.timedelta(milliseconds=5),
        dt.timedelta(days=1),
        dt.timedelta(hours=12),
        dt.timedelta(minutes=30),
    ]
    assert kept_for("P1DT2H3M4.5S") == dt.timedelta(days=1, hours=2, minutes=3, seconds=4.5)
    for text in ("", "1 week", "-1 d", "² d"):
        with pytest.raises(fz.InvalidInputError, match="no duration"):
            duration(text)
    assert duration("999999999 d") == dt.timedelta(days=999_999_999)
    for text in ("99999999999999 d", "9" * 5000):
        with pytest.raises(fz.InvalidInputError, match="too long"):
            duration(text)
    assert kept_for("P99999999999999D") == dt.timedelta.max


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        # Java: ZoneId.of(name).getRules().getOffset(Instant.EPOCH).getTotalSeconds()
        ("Z", 0),
        ("UTC", 0),
        ("GMT", 0),
        ("GMT0", 0),
        ("GMT+8", 28800),
        ("UTC+08:00", 28800),
        ("+08:00", 28800),
        ("UT-3", -10800),
        ("+0530", 19800),
        ("-05:30:15", -19815),
        ("+18", 64800),
        ("Asia/Tokyo", 32400),
    ],
)
def test_time_zones(name: str, seconds: int) -> None:
    zone = _zone(name)
    assert dt.datetime(1970, 1, 1, tzinfo=zone).utcoffset() == dt.timedelta(seconds=seconds)


@pytest.mark.parametrize("name", ["", "+18:01", "+08:60", "+8:00", "UTCZ", "America", "../../etc/passwd", "gmt+8"])
def test_names_that_are_no_time_zones(name: str) -> None:
    with pytest.raises(fz.InvalidInputError, match="no time zone"):
        _zone(name)


@pytest.fixture
def table(tmp_path: Path) -> fz.Table:
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    return catalog.create_table("db.t", pa.schema([("id", pa.int32())]), format="paimon")


def commit(table: fz.Table, *watermarks: int | None) -> None:
    """Makes a snapshot with each watermark, in hours since 1970."""
    for watermark in watermarks:
        table.append(pa.table({"id": pa.array([1], pa.int32())}))
        file = Path(table.location.removeprefix("file://")) / "snapshot" / f"snapshot-{table.snapshot.id}"
        content: dict[str, Any] = json.loads(file.read_text())
        if watermark is not None:
            content["watermark"] = watermark * HOUR
        file.write_text(json.dumps(content))
        table.refresh()


HOURLY = {"tag.automatic-creation": "watermark", "tag.creation-period": "hourly"}


def tags(table: fz.Table) -> dict[str, int]:
    return {ref.name: ref.snapshot_id for ref in table.refs.values() if ref.type == "tag"}


def test_a_tag_for_each_period_that_is_over(table: fz.Table) -> None:
    commit(table, None, 100, 100, 101, 105)
    assert table.maintain.create_automatic_tags() == []
    table.set_properties(HOURLY)
    # 100 hours after 1970 is the 5th of January, 4 o'clock.
    assert table.maintain.create_automatic_tags() == ["1970-01-05 03", "1970-01-05 04", "1970-01-05 08"]
    assert tags(table) == {"1970-01-05 03": 2, "1970-01-05 04": 4, "1970-01-05 08": 5}
    assert table.maintain.create_automatic_tags() == []
    commit(table, 106)
    assert table.maintain.create_automatic_tags() == ["1970-01-05 09"]


def test_zones_delays_and_numbers(table: fz.Table) -> None:
    table.set_properties(
        {
            **HOURLY,
            "sink.watermark-time-zone": "Asia/Shanghai",
            "tag.creation-delay": "30 min",
            "tag.num-retained-max": "2",
            "tag.default-time-retained": "1 d",
        }
    )
    commit(table, 100, 101, 102, 103)
    made = table.maintain.create_automatic_tags()
    # The first tag needs no delay. Each later one comes half an hour late, which here is one snapshot late.
    assert made == ["1970-01-05 11", "1970-01-05 13"]
    commit(table, 105, 107)
    table.maintain.create_automatic_tags()
    assert len(tags(table)) == 2
    kept = table.inspect.tags().column("time_retained").to_pylist()
    assert [kept_for(text) for text in kept] == [dt.timedelta(days=1)] * 2
    table.set_properties({"tag.creation-delay": "1 h"})
    with pytest.raises(fz.InvalidInputError, match="shorter than a period"):
        table.maintain.create_automatic_tags()
    table.set_properties({"tag.creation-delay": "0 ms", "sink.watermark-time-zone": "Mars"})
    with pytest.raises(fz.InvalidInputError, match="time zone"):
        table.maintain.create_automatic_tags()


def test_options_that_are_no_numbers_or_too_long(table: fz.Table) -> None:
    commit(table, 100)
    for wrong in (
        {"tag.num-retained-max": "²"},
        {"tag.num-retained-max": "9" * 5000},
        {"tag.creation-delay": "9" * 20 + " d"},
    ):
        table.set_properties({**HOURLY, "tag.num-retained-max": "1", "tag.creation-delay": "0", **wrong})
        with pytest.raises(fz.InvalidInputError, match=r"must be a number|too long"):
            table.maintain.create_automatic_tags()


def test_a_watermark_after_the_year_9999(table: fz.Table) -> None:
    table.set_properties(HOURLY)
    commit(table, 100, 101)
    file = Path(table.location.removeprefix("file://")) / "snapshot/snapshot-2"
    # Flink writes the greatest number of 64 bits when a stream has ended.
    file.write_text(json.dumps({**json.loads(file.read_text()), "watermark": 2**63 - 1}))
    table.refresh()
    with pytest.raises(fz.UnsupportedError, match=r"9999.*process-time"):
        table.maintain.create_automatic_tags()
    assert tags(table) == {"1970-01-05 03": 1}


def test_periods_without_snapshots_are_completed(table: fz.Table) -> None:
    table.set_properties({**HOURLY, "tag.automatic-completion": "true"})
    commit(table, 100, 105, 106)
    assert table.maintain.create_automatic_tags() == ["1970-01-05 03", "1970-01-05 04", "1970-01-05 05"]


def test_tags_expire_by_their_time(table: fz.Table) -> None:
    commit(table, None)
    table.refs.create_tag("short", max_ref_age_ms=1).create_tag("long", max_ref_age_ms=dt.timedelta(days=1))
    folder = Path(table.location.removeprefix("file://")) / "tag"
    endless = json.loads((folder / "tag-long").read_text())
    (folder / "tag-endless").write_text(json.dumps({**endless, "tagTimeRetained": 9e15}))
    table.maintain.create_automatic_tags()
    assert set(tags(table)) == {"short", "long", "endless"}
    table.set_properties({"tag.time-expire-enabled": "true"})
    table.maintain.create_automatic_tags()
    assert set(tags(table)) == {"long", "endless"}
