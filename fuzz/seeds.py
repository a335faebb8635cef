"""Writes small seeds for the fuzz targets into `seeds/`: files of the tests, texts, random choices for generators."""

import random
import shutil
from pathlib import Path

HERE = Path(__file__).parent
DATA = HERE.parent / "tests" / "data"
LONGEST = 64 * 1024

# Targets that take files as they are, and what the files' names look like.
FILES = {
    "avro_container": ["**/*.avro"],
    "manifest": ["manifests/*.avro"],
    "manifest_list": ["manifests/*list*.avro"],
    "metadata": ["metadata/*.json"],
    "parquet": ["**/*.parquet"],
    "parquet_deletes": ["**/*.parquet"],
    "orc_rows": ["**/*.orc"],
    "avro_rows": ["**/*.avro"],
    "puffin": ["**/*.puffin"],
    "paimon_json": ["**/snapshot-*", "**/schema-*"],
    "paimon_files": ["**/manifest-*", "**/index-*"],
}

# Targets whose input is a list of choices.
GENERATORS = ["parquet_pages", "orc_stripes", "avro_blocks"]

FILTERS = [
    "a = 1 and b in ('x', 'y') or not (c is null)",
    "d.x between -1.5e3 and 2 and starts_with(b, 'p')",
    "bucket(4, a) = 1 and day(e) >= date '2024-01-01' or f is nan",
    '"odd ""name""" <> x\'00ff\' and b like \'ab%\' and `in`.c != true',
    "lower(a) like '%b_c\\\\%' or upper(b) ilike 'x%' escape '/' or contains(c, '%')",
    "(a + 1) * -b / 2 % 3 > c - interval '1 month -2 days' and d >= current_date - 7",
    "cast(a as decimal(9, 2)) = try_cast(b as int) and isnan(c) or d is not true or (5) in (e, f)",
]


# Answers of a REST catalog's server. Tables and views are made from the metadata files of the tests.
ANSWERS = [
    '{"defaults": {"a": "b"}, "overrides": {"prefix": "p"}, "endpoints": ["GET /v1/{prefix}/namespaces"]}',
    '{"identifiers": [{"namespace": ["a", "b"], "name": "t"}], "next-page-token": "x"}',
    '{"namespaces": [["a"], ["a", "b"]], "next-page-token": null}',
    '{"storage-credentials": [{"prefix": "s3://b/", "config": {"s3.session-token-expires-at-ms": "1"}}]}',
    '{"uri": "https://b.s3.amazonaws.com/k", "headers": {"Authorization": ["AWS4"], "x-amz-date": ["d"]}}',
    '{"status": "completed", "plan-tasks": ["t"], "file-scan-tasks": [], "delete-files": [], "plan-id": "p"}',
    '{"error": {"message": "no", "type": "CommitFailedException", "code": 409}}',
    '{"metadata-location": "m", "metadata": {"view-uuid": "u", "format-version": 1, "location": "l", '
    '"current-version-id": 1, "schemas": [{"type": "struct", "schema-id": 0, "fields": []}], "versions": '
    '[{"version-id": 1, "schema-id": 0, "timestamp-ms": 1, "summary": {}, "default-namespace": ["a"], '
    '"representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}]}], "version-log": []}}',
]


# A file of blobs, as pypaimon 2.1 writes it: 'hello', null, no bytes, a placeholder, and three times 00ff.
BLOBS = (
    "cf114e5868656c6c6f1500000000000000c8f6a751cf114e581000000000000000537fdf03cf114e5800ff00ff00ff1600000000000000"
    "f5acd78e2a2b2223300500000001"
)


def write(target: str, name: str, content: bytes) -> None:
    """Writes a seed unless it is too long."""
    if len(content) <= LONGEST:
        (HERE / "seeds" / target / name).write_bytes(content)


def main() -> None:
    """Writes all seeds again."""
    shutil.rmtree(HERE / "seeds", ignore_errors=True)
    for target in [*FILES, *GENERATORS, "filter", "rest_answers", "blob_file"]:
        (HERE / "seeds" / target).mkdir(parents=True)
    for target, patterns in FILES.items():
        found = [path for pattern in patterns for path in sorted(DATA.glob(pattern)) if path.is_file()]
        for number, path in enumerate(found[:40]):
            write(target, f"{number:03}", path.read_bytes())
    numbers = random.Random(7)
    for target in GENERATORS:
        for number in range(200):
            # Few bytes from 240 up: those make wrong numbers.
            most = 240 if number % 4 else 256
            write(target, f"{number:03}", bytes(numbers.randrange(most) for _ in range(400)))
    for number, text in enumerate(FILTERS):
        write("filter", f"{number:03}", text.encode())
    write("blob_file", "000", bytes.fromhex(BLOBS))
    tables = [path.read_text() for path in sorted(DATA.glob("metadata/*.json"))[:20]]
    loads = [f'{{"metadata-location": "m", "config": {{"s3.region": "r"}}, "metadata": {text}}}' for text in tables]
    for number, text in enumerate([*ANSWERS, *loads]):
        write("rest_answers", f"{number:03}", bytes([0]) + text.encode())


main()
