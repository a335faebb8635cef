"""Makes the tables and the objects that `tests/python/test_wire_golden.py` holds Frazil to.

    python tests/data/wire/generate.py

The objects are those of version 0.1.0: what it wrote has to be read for as long as jobs of several versions meet. So
run this only with that version, or to add what is new:

    python tests/data/wire/generate.py NAME...   (names in objects.zip, such as splits_events.pickle)
"""

import datetime as dt
import decimal
import gzip
import io
import json
import shutil
import sys
import tarfile
import uuid
import zipfile
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import frazil as fz

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
import wire_cases as cases

UTC = dt.timezone.utc
# Files that have paths in them are not compressed: the paths are replaced where the tables are read.
PLAIN = {
    "write.parquet.compression-codec": "uncompressed",
    "write.delete.parquet.compression-codec": "uncompressed",
    "write.manifest.compression-codec": "uncompressed",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "1",
}
MERGE_ON_READ = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}


def event_rows(first: int, count: int) -> pa.Table:
    """Rows with a struct, decimals, times and NaN."""
    ids = range(first, first + count)
    start = dt.datetime(2023, 1, 1, tzinfo=UTC)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "country": pa.array([("NO", "SE", None)[i % 3] for i in ids], pa.string()),
            "ts": pa.array([start + dt.timedelta(hours=i) for i in ids], pa.timestamp("us", tz="UTC")),
            "amount": pa.array([decimal.Decimal(i) / 4 for i in ids], pa.decimal128(12, 2)),
            "score": pa.array([float("nan") if i % 5 == 2 else i / 2 for i in ids], pa.float64()),
            "payload": pa.array(
                [{"a": i, "tags": [str(i), None]} if i % 4 else None for i in ids],
                pa.struct([("a", pa.int32()), ("tags", pa.list_(pa.string()))]),
            ),
            "gone": pa.array([i % 3 for i in ids], pa.int32()),
        }
    )


def make_events(catalog: fz.Catalog) -> None:
    """Two partition specs, deletes by position and by key, columns added, dropped and widened, a tag and a branch."""
    schema = event_rows(0, 1).schema
    properties = {**PLAIN, **MERGE_ON_READ}
    table = catalog.create_table("db.events", schema, ["country"], ["id"], properties)
    table.append(event_rows(0, 6))
    table.refs.create_tag("first")
    with table.update_partition_spec() as spec:
        spec.add_field("bucket(2, id)")
    with table.update_schema() as update:
        update.drop_column("gone")
        update.add_column("note", "string", doc="free text")
        update.update_column("payload.a", "long")
    table.append(event_rows(6, 6).drop_columns(["gone"]))
    table.refs.create_tag("second")
    table.delete("id in (1, 7)")
    table.delete_keys(pa.table({"id": pa.array([3], pa.int64()), "country": ["NO"]}), on=["id", "country"])
    table.append(event_rows(20, 1).drop_columns(["gone"]), branch="side")


def make_lines(catalog: fz.Catalog) -> None:
    """Row ids and deletion vectors."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    rows = pa.table({"id": [1, 2, 3, 4], "v": ["a", "b", "c", None]}, schema=schema)
    properties = {"format-version": "3", **PLAIN, **MERGE_ON_READ}
    table = catalog.create_table("db.lines", schema, properties=properties, identifier_fields=["id"])
    table.append(rows)
    table.update("id = 2", {"v": "z"})
    table.delete("id = 4")
    with table.update_schema() as update:
        update.add_column("w", "int", default=7)


def make_others(catalog: fz.Catalog) -> None:
    """Files without field ids, files of other formats, a table without commits, one of many files."""
    mapped = catalog.create_table("db.mapped", pa.schema([("id", pa.int64()), ("s", pa.string())]), properties=PLAIN)
    file = Path(mapped.location, "data", "others.parquet")
    file.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64()), "s": ["a", "b"]}), file)
    mapped.add_files([file])
    formats = catalog.create_table("db.formats", pa.schema([("id", pa.int64()), ("s", pa.string())]), properties=PLAIN)
    for number, name in enumerate(["parquet", "avro", "orc"]):
        formats.set_properties({"write.format.default": name})
        formats.append(pa.table({"id": pa.array([number], pa.int64()), "s": [name]}))
    catalog.create_table("db.empty", pa.schema([("id", pa.int64())]), properties=PLAIN)
    plain = catalog.create_table(
        "db.plain", pa.schema([("id", pa.int64()), ("v", pa.int32())]), ["bucket(3, id)"], properties=PLAIN
    )
    for first in (0, 8):
        ids = range(first, first + 8)
        plain.append(pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array([i % 5 for i in ids], pa.int32())}))


def make_types(catalog: fz.Catalog) -> None:
    """A row of values and a row of nulls of every type, and partitions of most."""
    columns = {
        "b": pa.array([True, None]),
        "i": pa.array([-7, None], pa.int32()),
        "l": pa.array([2**60, None], pa.int64()),
        "f": pa.array([1.5, None], pa.float32()),
        "d": pa.array([-0.0, None], pa.float64()),
        "dec": pa.array([decimal.Decimal("-12.340"), None], pa.decimal128(9, 3)),
        "date": pa.array([dt.date(1969, 12, 31), None]),
        "ts": pa.array([dt.datetime(2023, 1, 1, 12, 30, 0, 5), None], pa.timestamp("us")),
        "tstz": pa.array([dt.datetime(1950, 1, 1, tzinfo=UTC), None], pa.timestamp("us", tz="UTC")),
        "s": pa.array(["żółw", None]),
        "u": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([uuid.UUID(int=7).bytes, None], pa.binary(16))),
        "fix": pa.array([b"\x00\x01\x02", None], pa.binary(3)),
        "bin": pa.array([b"\xff\x00", None], pa.binary()),
        "t": pa.array([dt.time(12, 30, 0, 5), None], pa.time64("us")),
    }
    more = {
        "li": pa.array([[1, None], None], pa.list_(pa.int32())),
        "m": pa.array([[("k", 1.5)], None], pa.map_(pa.string(), pa.float64())),
        "st": pa.array([{"x": 1, "y": None}, None], pa.struct([("x", pa.int64()), ("y", pa.string())])),
    }
    both = pa.table({**columns, **more})
    catalog.create_table("db.types", both.schema, properties=PLAIN).append(both)
    times = pa.table(
        {
            **columns,
            "y": columns["date"],
            "mo": columns["date"],
            "dy": columns["tstz"],
            "h": columns["ts"],
            "w": columns["s"],
        }
    )
    parts = [name for name in columns if name not in ("f", "d")]
    by = [*parts, "year(y)", "month(mo)", "day(dy)", "hour(h)", "bucket(4, l)", "truncate(2, w)", "truncate(5, i)"]
    catalog.create_table("db.parted", times.schema, by, properties=PLAIN).append(times)


def make_gone(catalog: fz.Catalog) -> None:
    """Partitions of a column that was widened, then dropped."""
    schema = pa.schema([("id", pa.int64()), ("k", pa.int32())])
    table = catalog.create_table("db.gone", schema, ["k"], properties=PLAIN)
    table.append(pa.table({"id": [1], "k": [1]}, schema=schema))
    with table.update_schema() as update:
        update.update_column("k", "long")
    table.append(pa.table({"id": [2], "k": [2]}))
    with table.update_partition_spec() as spec:
        spec.remove_field("k")
    with table.update_schema() as update:
        update.drop_column("k")


def make_targets(catalog: fz.Catalog) -> None:
    """What messages are committed to."""
    for name, version in (("target", "2"), ("target3", "3")):
        properties = {"format-version": version, **PLAIN, **MERGE_ON_READ}
        table = catalog.create_table(f"db.{name}", cases.rows(0).schema, ["g"], ["v desc nulls last"], properties)
        table.append(cases.rows(1, 2, 3, 4)).append(cases.rows(1, 4, g="a"))
        table.delete("id = 3")


def make_paimon(catalog: fz.Catalog) -> None:
    """Tables of Apache Paimon: without and with a key, of several schemas, with deletion vectors and changelogs."""
    catalog.create_namespace("db")
    fields = [cases.rows(0).schema.field(name) for name in ("id", "g", "v")]
    keyed = pa.schema([fields[0].with_nullable(False), *fields[1:]])

    def make(name: str, key: bool = False, parts: tuple[str, ...] = (), **options: object) -> fz.Table:
        properties = {name.replace("_", "-"): value for name, value in options.items()}
        return catalog.create_table(
            f"db.{name}",
            keyed if key else pa.schema(fields),
            parts,
            properties=properties,
            format="paimon",
            identifier_fields=["id"] if key else None,
        )

    log = make("log", parts=("g",)).append(cases.rows(1, 2)).append(cases.rows(3, g="a"))
    with log.update_schema() as update:
        update.add_column("note", "string")
        update.update_column("v", "long")
    log.append(cases.LOGGED)
    table = make("keyed", key=True, bucket=2, changelog_producer="input")
    table.append(cases.rows(1, 2, 3)).append(cases.rows(2, 4, v=9))
    table.delete("id = 3")
    options = {"merge-engine": "partial-update", "file.format": "avro", "bucket": "1"}
    make("merged", key=True, **options).append(cases.rows(1, 2)).append(cases.rows(2, 3, v=8))
    vectors = make("vectors", **{"deletion-vectors.enabled": "true"}).append(cases.rows(1, 2, 3))
    vectors.delete("id = 2")
    tracked = make("tracked", **{"row-tracking.enabled": "true", "deletion-vectors.enabled": "true"})
    tracked.append(cases.rows(1, 2, 3)).update("id = 3", {"v": 1})
    dynamic = make("dynamic", key=True, **{"dynamic-bucket.target-row-num": "2", "fields.g.stats-mode": "none"})
    dynamic.append(cases.rows(1, 2, 3))
    make("empty")


def inflate_list(file: Path) -> None:
    """Writes a manifest list without compression. Source: Avro 1.12 specification, "Object Container Files"."""
    content = file.read_bytes()
    deflated, plain = b"\x14avro.codec\x0edeflate", b"\x14avro.codec\x08null"
    at = content.index(b"\x00", content.index(deflated)) + 1  # the map has no empty text
    sync, stream = content[at : at + 16], io.BytesIO(content[at + 16 :])
    assert content.endswith(sync), file
    out = content[: at + 16].replace(deflated, plain)
    while stream.tell() < len(stream.getvalue()):
        count, block = read_long(stream), stream.read(read_long(stream))
        rows = zlib.decompress(block, -15)
        out += long(count) + long(len(rows)) + rows + stream.read(16)
    file.write_bytes(out)


def read_long(stream: io.BytesIO) -> int:
    """An Avro number that is not negative."""
    number = shift = 0
    while (byte := stream.read(1)[0]) & 0x80:
        number, shift = number | (byte & 0x7F) << shift, shift + 7
    return (number | byte << shift) >> 1


def long(number: int) -> bytes:
    """The same the other way."""
    number, out = number << 1, bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def write_tables() -> dict[str, object]:
    """Makes the tables and the archive of them; gives messages of files that no commit has."""
    root = Path(cases.PLACE)
    if root.exists():
        sys.exit(f"{root} is there: remove it")
    place = cases.Place(str(root))
    try:
        catalog = fz.catalog("files", type="filesystem", warehouse=f"{root}/warehouse")
        catalog.create_namespace("db")
        for make in (make_events, make_lines, make_others, make_types, make_gone, make_targets):
            make(catalog)
        make_paimon(fz.catalog("paimon", type="filesystem", warehouse=f"{root}/paimon"))
        messages = {name: message.write(message.table(place)) for name, message in cases.MESSAGES.items()}
        for file in Path(root, "warehouse").rglob("snap-*.avro"):
            inflate_list(file)
        files = {str(path.relative_to(root)): path for path in sorted(root.rglob("*")) if path.is_file()}
        write_tables_archive(files)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return messages


def write_tables_archive(files: dict[str, Path]) -> None:
    """All of them compressed as one, since much is the same in all."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, path in files.items():
            info = tarfile.TarInfo(name)
            info.size = path.stat().st_size
            archive.addfile(info, io.BytesIO(path.read_bytes()))
    cases.TABLES.write_bytes(gzip.compress(content.getvalue(), 9, mtime=0))


def write_archive(file: Path, contents: dict[str, bytes]) -> None:
    """An archive that is the same whenever it is written."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in sorted(contents.items()):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, 9)


def objects_of(place: cases.Place, messages: bytes) -> dict[str, bytes]:
    """What the tables give, by the names in the archive."""
    out = {f"{name}.pickle": cases.dumps(found) for name, found in cases.objects(place).items()}
    for name in cases.IN_SPECIFIED_FORM:
        tasks = [task.to_json() for task in cases.SCANS[name](place).plan_files()]
        out[f"file_scan_tasks_{name}.json"] = "\n".join(tasks).encode()
    for name, (scan, of_plans) in cases.PACKED.items():
        out[f"packed_{name}.pickle"] = cases.dumps(cases.pack(scan(place), of_plans))
    out["encoded.pickle"] = cases.dumps(cases.encode(cases.SCANS["events"](place)))
    out["errors.pickle"] = cases.dumps(cases.errors())
    out["results.pickle"] = cases.dumps(cases.results(place).values())
    written = cases.loads(place.here(messages))
    out["spark.pickle"] = cases.dumps(cases.spark_objects(place, written[0]).values())
    out["rows.json"] = as_json(
        {name: cases.rows_in(place, scan(place).to_arrow()) for name, scan in cases.SCANS.items()}
    )
    return {name: place.stored(content) for name, content in out.items()}


def rows_of_messages(messages: bytes) -> bytes:
    """What the tables of messages have when one is committed."""
    rows = {}
    for number, (name, message) in enumerate(cases.MESSAGES.items()):
        if message.commit is not None:
            with cases.installed_only(message.folder) as place:
                rows[name] = cases.committed(place, message, cases.loads(place.here(messages))[number])
    return as_json(rows)


def as_json(rows: dict[str, list[str]]) -> bytes:
    """Rows of several tables."""
    return json.dumps(rows, indent=0, ensure_ascii=False).encode()


def main() -> None:
    if sys.argv[1:]:
        with zipfile.ZipFile(cases.OBJECTS) as archive:
            objects = {name: archive.read(name) for name in archive.namelist()}
    else:
        messages = cases.dumps(write_tables().values())
        objects = {"messages.pickle": messages, "messages_rows.json": rows_of_messages(messages)}
    with cases.installed() as place:
        found = objects_of(place, objects["messages.pickle"])
    wanted = set(sys.argv[1:]) or set(found)
    write_archive(cases.OBJECTS, objects | {name: content for name, content in found.items() if name in wanted})


if __name__ == "__main__":
    main()
