"""Writes a metadata-only Iceberg v2 table for planning benchmarks: no data file exists, but all that a planner reads.

12 columns with sizes, counts and bounds for each, partitions day(ts) and bucket(16, user_id), deflate, as many entries
in each manifest, in order of time. Written with fastavro alone, so that no code under test has a part in it.

    python benches/planning/make_table.py OUT [--files 100000] [--per-manifest 10000]
"""

import argparse
import datetime
import json
import random
import shutil
import struct
import uuid
from pathlib import Path
from typing import Any

import fastavro

COLUMNS: list[tuple[int, str, str, bool]] = [  # id, name, type, required
    (1, "id", "long", True),
    (2, "ts", "timestamptz", True),
    (3, "user_id", "long", True),
    (4, "country", "string", False),
    (5, "device", "string", False),
    (6, "url", "string", False),
    (7, "amount", "decimal(12, 2)", False),
    (8, "price", "double", False),
    (9, "status", "int", False),
    (10, "session", "string", False),
    (11, "ok", "boolean", False),
    (12, "dt", "date", False),
]
SPEC = [
    {"name": "ts_day", "transform": "day", "source-id": 2, "field-id": 1000},
    {"name": "user_id_bucket", "transform": "bucket[16]", "source-id": 3, "field-id": 1001},
]
FIRST_DAY = 19_000  # 2022-01-08
DAYS = 730
COUNTRIES = ["AU", "BR", "CA", "CN", "DE", "FR", "GB", "IN", "JP", "NO", "SE", "US"]
DAY_US = 86_400_000_000


def optional(kind: Any) -> list[Any]:
    return ["null", kind]


def field(number: int, name: str, kind: Any, **extra: Any) -> dict[str, Any]:
    default = {"default": None} if isinstance(kind, list) else {}
    return {"name": name, "type": kind, **default, "field-id": number, **extra}


def map_of(number: int, name: str, key: int, value: int, kind: str) -> dict[str, Any]:
    """Iceberg's map with integer keys: an array of key-value records."""
    pair = {
        "type": "record",
        "name": f"k{key}_v{value}",
        "fields": [field(key, "key", "int"), field(value, "value", kind)],
    }
    return field(number, name, optional({"type": "array", "items": pair, "logicalType": "map"}))


def list_of(number: int, name: str, element: int, kind: str) -> dict[str, Any]:
    return field(number, name, optional({"type": "array", "items": kind, "element-id": element}))


PARTITION = {
    "type": "record",
    "name": "r102",
    "fields": [
        field(1000, "ts_day", optional({"type": "int", "logicalType": "date"})),
        field(1001, "user_id_bucket", optional("int")),
    ],
}
DATA_FILE = {
    "type": "record",
    "name": "r2",
    "fields": [
        field(134, "content", "int"),
        field(100, "file_path", "string"),
        field(101, "file_format", "string"),
        field(102, "partition", PARTITION),
        field(103, "record_count", "long"),
        field(104, "file_size_in_bytes", "long"),
        map_of(108, "column_sizes", 117, 118, "long"),
        map_of(109, "value_counts", 119, 120, "long"),
        map_of(110, "null_value_counts", 121, 122, "long"),
        map_of(137, "nan_value_counts", 138, 139, "long"),
        map_of(125, "lower_bounds", 126, 127, "bytes"),
        map_of(128, "upper_bounds", 129, 130, "bytes"),
        field(131, "key_metadata", optional("bytes")),
        list_of(132, "split_offsets", 133, "long"),
        list_of(135, "equality_ids", 136, "int"),
        field(140, "sort_order_id", optional("int")),
    ],
}
ENTRY = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        field(0, "status", "int"),
        field(1, "snapshot_id", optional("long")),
        field(3, "sequence_number", optional("long")),
        field(4, "file_sequence_number", optional("long")),
        field(2, "data_file", DATA_FILE),
    ],
}
SUMMARY = {
    "type": "record",
    "name": "r508",
    "fields": [
        field(509, "contains_null", "boolean"),
        field(518, "contains_nan", optional("boolean")),
        field(510, "lower_bound", optional("bytes")),
        field(511, "upper_bound", optional("bytes")),
    ],
}
MANIFEST_FILE = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        field(500, "manifest_path", "string"),
        field(501, "manifest_length", "long"),
        field(502, "partition_spec_id", "int"),
        field(517, "content", "int"),
        field(515, "sequence_number", "long"),
        field(516, "min_sequence_number", "long"),
        field(503, "added_snapshot_id", "long"),
        field(504, "added_files_count", "int"),
        field(505, "existing_files_count", "int"),
        field(506, "deleted_files_count", "int"),
        field(512, "added_rows_count", "long"),
        field(513, "existing_rows_count", "long"),
        field(514, "deleted_rows_count", "long"),
        field(507, "partitions", optional({"type": "array", "items": SUMMARY, "element-id": 508})),
        field(519, "key_metadata", optional("bytes")),
    ],
}


def schema_json() -> dict[str, Any]:
    fields = [
        {"id": number, "name": name, "required": required, "type": kind} for number, name, kind, required in COLUMNS
    ]
    return {"type": "struct", "schema-id": 0, "fields": fields}


def decimal_bytes(unscaled: int) -> bytes:
    return unscaled.to_bytes((unscaled.bit_length() // 8) + 1, "big", signed=True)


def pairs(values: dict[int, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in values.items()]


def entry(chance: random.Random, number: int, files: int, location: str) -> tuple[dict[str, Any], int, int]:
    """The manifest entry of one file, its day and its row count."""
    day, bucket = FIRST_DAY + number * DAYS // files, number % 16
    rows = 90_000 + chance.randrange(20_000)
    first, user = number * 100_000, chance.randrange(1_000_000)
    countries = sorted(chance.choices(COUNTRIES, k=2))
    amount, price = chance.randrange(100_000), chance.random() * 1000
    long, double, int4 = struct.Struct("<q").pack, struct.Struct("<d").pack, struct.Struct("<i").pack
    bounds: dict[int, tuple[bytes, bytes]] = {
        1: (long(first), long(first + rows)),
        2: (
            long(day * DAY_US + chance.randrange(1_000_000)),
            long((day + 1) * DAY_US - 1 - chance.randrange(1_000_000)),
        ),
        3: (long(user), long(user + chance.randrange(1_000_000))),
        4: (countries[0].encode(), countries[1].encode()),
        5: (b"android", b"web"),
        6: (b"https://ex/%d" % chance.randrange(100), b"https://ex/z%d" % chance.randrange(9_999)),
        7: (decimal_bytes(amount), decimal_bytes(amount + 500_000)),
        8: (double(price), double(price + 500)),
        9: (int4(200), int4(200 + chance.randrange(400))),
        10: (b"00%08x" % chance.getrandbits(32), b"ff%08x" % chance.getrandbits(32)),
        11: (b"\0", b"\1"),
        12: (int4(day), int4(day)),
    }
    date = datetime.date(1970, 1, 1) + datetime.timedelta(days=day)
    name = f"{number % 200:05}-{number}-{uuid.UUID(int=chance.getrandbits(128))}-00001.parquet"
    ids = list(bounds)
    file = {
        "content": 0,
        "file_path": f"{location}/data/ts_day={date}/user_id_bucket={bucket}/{name}",
        "file_format": "PARQUET",
        "partition": {"ts_day": day, "user_id_bucket": bucket},
        "record_count": rows,
        "file_size_in_bytes": 8_000_000 + chance.randrange(120_000_000),
        "column_sizes": pairs({i: rows * 2 + chance.randrange(100_000) for i in ids}),
        "value_counts": pairs(dict.fromkeys(ids, rows)),
        "null_value_counts": pairs({i: 0 if i < 4 else chance.randrange(50) for i in ids}),
        "nan_value_counts": pairs({8: 0}),
        "lower_bounds": pairs({i: low for i, (low, _) in bounds.items()}),
        "upper_bounds": pairs({i: high for i, (_, high) in bounds.items()}),
        "key_metadata": None,
        "split_offsets": [4, 67_000_000],
        "equality_ids": None,
        "sort_order_id": 0,
    }
    return (
        {"status": 1, "snapshot_id": None, "sequence_number": None, "file_sequence_number": None, "data_file": file},
        day,
        rows,
    )


def write_manifest(
    folder: Path, location: str, chance: random.Random, start: int, end: int, files: int, number: int
) -> dict[str, Any]:
    """Writes one manifest and gives its entry of the manifest list."""
    made = [entry(chance, n, files, location) for n in range(start, end)]
    path = folder / f"{uuid.UUID(int=chance.getrandbits(128))}-m0.avro"
    metadata = {
        "schema": json.dumps(schema_json()),
        "schema-id": "0",
        "partition-spec": json.dumps(SPEC),
        "partition-spec-id": "0",
        "format-version": "2",
        "content": "data",
    }
    with path.open("wb") as out:
        fastavro.writer(
            out, ENTRY, (item[0] for item in made), codec="deflate", metadata=metadata, sync_interval=64_000
        )
    days = [item[1] for item in made]
    buckets = [item[0]["data_file"]["partition"]["user_id_bucket"] for item in made]
    int4 = struct.Struct("<i").pack
    return {
        "manifest_path": f"{location}/metadata/{path.name}",
        "manifest_length": path.stat().st_size,
        "partition_spec_id": 0,
        "content": 0,
        "sequence_number": number,
        "min_sequence_number": number,
        "added_snapshot_id": 1000 + number,
        "added_files_count": len(made),
        "existing_files_count": 0,
        "deleted_files_count": 0,
        "added_rows_count": sum(item[2] for item in made),
        "existing_rows_count": 0,
        "deleted_rows_count": 0,
        "partitions": [
            {
                "contains_null": False,
                "contains_nan": False,
                "lower_bound": int4(min(values)),
                "upper_bound": int4(max(values)),
            }
            for values in (days, buckets)
        ],
        "key_metadata": None,
    }


def make_table(out: Path, files: int = 100_000, per_manifest: int = 10_000) -> Path:
    """Writes the table into `out` (replacing it) and gives the path of its metadata file."""
    chance = random.Random(42)
    location = str(out.resolve())
    folder = out / "metadata"
    shutil.rmtree(out, ignore_errors=True)
    folder.mkdir(parents=True)
    manifests = []
    for number, start in enumerate(range(0, files, per_manifest), start=1):
        end = min(start + per_manifest, files)
        manifests.append(write_manifest(folder, location, chance, start, end, files, number))
        print(f"   manifest {number}: files {start:,} to {end:,}", flush=True)
    snapshot, rows = 1000 + len(manifests), sum(manifest["added_rows_count"] for manifest in manifests)
    list_path = folder / f"snap-{snapshot}-1-{uuid.UUID(int=chance.getrandbits(128))}.avro"
    header = {"snapshot-id": str(snapshot), "sequence-number": str(len(manifests)), "format-version": "2"}
    with list_path.open("wb") as stream:
        fastavro.writer(stream, MANIFEST_FILE, manifests[::-1], codec="deflate", metadata=header)
    moment = 1_767_225_600_000
    summary = {
        "operation": "append",
        "total-data-files": str(files),
        "total-records": str(rows),
        "total-delete-files": "0",
    }
    metadata = {
        "format-version": 2,
        "table-uuid": str(uuid.UUID(int=chance.getrandbits(128))),
        "location": location,
        "last-sequence-number": len(manifests),
        "last-updated-ms": moment,
        "last-column-id": COLUMNS[-1][0],
        "current-schema-id": 0,
        "schemas": [schema_json()],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": SPEC}],
        "last-partition-id": 1001,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {},
        "current-snapshot-id": snapshot,
        "refs": {"main": {"snapshot-id": snapshot, "type": "branch"}},
        "snapshots": [
            {
                "snapshot-id": snapshot,
                "sequence-number": len(manifests),
                "timestamp-ms": moment,
                "manifest-list": f"{location}/metadata/{list_path.name}",
                "summary": summary,
                "schema-id": 0,
            }
        ],
        "snapshot-log": [{"snapshot-id": snapshot, "timestamp-ms": moment}],
        "metadata-log": [],
    }
    path = folder / "v1.metadata.json"
    path.write_text(json.dumps(metadata, indent=1))
    (folder / "version-hint.text").write_text("1")
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--per-manifest", type=int, default=10_000)
    options = parser.parse_args()
    print(make_table(options.out, options.files, options.per_manifest))
