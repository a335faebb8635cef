"""Java Paimon, by its own API through Spark's gateway: it writes tables, reads them and tells its plans.

Rows cross the gateway as Parquet files that PyArrow writes and Java's reader reads, and the other way round. Loops over
rows are Java's own (`LOOPS`), since a call through the gateway takes longer than what it does.
"""

import datetime as dt
import decimal
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from java_side import assert_same_rows, assert_whole, exact
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

import frazil as fz

DATABASE = "db"
LAST_IDENTIFIER = 2**63 - 1
CHANGES = {"insert": "+I", "update_before": "-U", "update_after": "+U", "delete": "-D"}
LEAVES = {
    "=": "EQUAL",
    "!=": "NOT_EQUAL",
    "<": "LESS_THAN",
    "<=": "LESS_OR_EQUAL",
    ">": "GREATER_THAN",
    ">=": "GREATER_OR_EQUAL",
    "is null": "IS_NULL",
    "is not null": "IS_NOT_NULL",
    "in": "IN",
    "starts_with": "STARTS_WITH",
}

# Compiled by Spark's compiler of expressions, which knows no generics.
LOOPS = """
import java.lang.reflect.Method;
import java.util.Iterator;
import java.util.List;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.format.FormatWriter;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.table.sink.TableWrite;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.types.RowKind;

public class Loops {
    public String copy(RecordReader reader, FormatWriter to) throws Exception {
        StringBuilder kinds = new StringBuilder();
        RecordReaderIterator rows = new RecordReaderIterator(reader);
        while (rows.hasNext()) {
            InternalRow row = (InternalRow) rows.next();
            kinds.append(row.getRowKind().shortString());
            to.addElement(row);
        }
        rows.close();
        return kinds.toString();
    }

    public void write(Iterator rows, String kinds, TableWrite to) throws Exception {
        for (int i = 0; i < kinds.length(); i += 2) {
            InternalRow row = (InternalRow) rows.next();
            row.setRowKind(RowKind.fromShortString(kinds.substring(i, i + 2)));
            to.write(row);
        }
    }

    public int[] ints(int start, int end) {
        int[] out = new int[end - start];
        for (int i = 0; i < out.length; i++) {
            out[i] = start + i;
        }
        return out;
    }

    public void each(Object target, String method, long start, long end, long step) throws Exception {
        Method found = target.getClass().getMethod(method, new Class[] {long.class});
        found.setAccessible(true);
        for (long value = start; value < end; value += step) {
            found.invoke(target, new Object[] {Long.valueOf(value)});
        }
    }

    public String files(List splits) {
        StringBuilder names = new StringBuilder();
        for (Object split : splits) {
            if (split instanceof DataSplit) {
                for (Object file : ((DataSplit) split).dataFiles()) {
                    names.append(((DataFileMeta) file).fileName()).append('\\n');
                }
            }
        }
        return names.toString();
    }
}
"""

PaimonType = str | dict[str, Any]
Filter = tuple[Any, ...]


class Read(NamedTuple):
    """What Java makes of a scan: its rows with their kinds, and the names of the files that it would read."""

    rows: pa.Table
    kinds: list[str]
    files: set[str]


def array(element: PaimonType) -> PaimonType:
    return {"type": "ARRAY", "element": element}


def mapping(key: PaimonType, value: PaimonType) -> PaimonType:
    return {"type": "MAP", "key": key, "value": value}


def row(**fields: PaimonType) -> PaimonType:
    return {"type": "ROW", "fields": [{"id": i, "name": n, "type": t} for i, (n, t) in enumerate(fields.items())]}


def arrow_type(type_: PaimonType) -> pa.DataType:
    """The type that values of a Paimon type have in the Parquet files that carry them to Java."""
    if isinstance(type_, dict):
        match type_["type"].removesuffix(" NOT NULL"):
            case "ARRAY":
                return pa.list_(arrow_type(type_["element"]))
            case "MAP":
                return pa.map_(arrow_type(type_["key"]), arrow_type(type_["value"]))
            case "MULTISET":
                return pa.map_(arrow_type(type_["element"]), pa.int32())
            case _:
                return pa.struct([(f["name"], arrow_type(f["type"])) for f in type_["fields"]])
    text = type_.removesuffix(" NOT NULL")
    name, numbers = re.sub(r"[ (].*", "", text), [int(n) for n in re.findall(r"\d+", text)]
    if name == "DECIMAL":
        return pa.decimal128(*numbers)
    if name.startswith("TIMESTAMP"):
        unit = "ms" if numbers[0] <= 3 else "us" if numbers[0] <= 6 else "ns"
        return pa.timestamp(unit, "UTC" if "LOCAL" in text else None)
    if name == "VARIANT":
        return pa.struct([pa.field(part, pa.binary(), nullable=False) for part in ("value", "metadata")])
    simple: dict[str, pa.DataType] = {
        "BOOLEAN": pa.bool_(),
        "TINYINT": pa.int8(),
        "SMALLINT": pa.int16(),
        "INT": pa.int32(),
        "BIGINT": pa.int64(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "DATE": pa.date32(),
        "TIME": pa.time32("ms"),
        "CHAR": pa.string(),
        "VARCHAR": pa.string(),
        "STRING": pa.string(),
        "BINARY": pa.binary(),
        "VARBINARY": pa.binary(),
        "BYTES": pa.binary(),
    }
    return simple[name]


class Paimon:
    """A warehouse of Java's file-system catalog."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.jvm: Any = spark._jvm
        self.gateway: Any = spark.sparkContext._gateway
        self.api = self.jvm.org.apache.paimon
        self.folder = folder
        self.warehouse = folder / "warehouse"
        self._numbers = itertools.count(1)
        options = self.api.options.Options()
        options.set("warehouse", f"file://{self.warehouse}")
        options.set("cache-enabled", "false")
        self.catalog = self.api.catalog.CatalogFactory.createCatalog(self.api.catalog.CatalogContext.create(options))
        self.catalog.createDatabase(DATABASE, True)
        compiler = self.jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(self.catalog.getClass().getClassLoader())
        compiler.cook(LOOPS)
        self.loops: Any = compiler.getClassLoader().loadClass("Loops").newInstance()

    def scratch(self, ending: str = "") -> Path:
        """A path that nothing else uses."""
        return self.folder / f"scratch-{next(self._numbers)}{ending}"

    def create(
        self,
        stem: str,
        columns: Mapping[str, PaimonType],
        key: Sequence[str] = (),
        partitioned_by: Sequence[str] = (),
        options: Mapping[str, object] | None = None,
    ) -> "PaimonTable":
        """A new table."""
        name = f"{stem}_{next(self._numbers)}"
        builder = self.api.schema.Schema.newBuilder()
        for column, type_ in columns.items():
            builder.column(column, self.type(type_))
        builder.primaryKey(self.java_list(key))
        builder.partitionKeys(self.java_list(partitioned_by))
        builder.options(self.java_map(options or {}))
        self.catalog.createTable(self.api.catalog.Identifier.create(DATABASE, name), builder.build(), False)
        return PaimonTable(self, name)

    def type(self, type_: PaimonType) -> Any:
        """A type by what schema files call it."""
        return self.from_json(type_, self.api.types.DataType)

    def from_json(self, value: object, class_: Any) -> Any:
        """An object of Java by Paimon's JSON of it."""
        return self.api.utils.JsonSerdeUtil.fromJson(json.dumps(value), class_._java_lang_class)

    def java_list(self, values: Sequence[Any]) -> Any:
        out = self.jvm.java.util.ArrayList()
        for value in values:
            out.add(value)
        return out

    def java_map(self, values: Mapping[str, object]) -> Any:
        out = self.jvm.java.util.HashMap()
        for key, value in values.items():
            out.put(key, str(value))
        return out

    def literal(self, type_: Any, value: Any) -> Any:
        """A value as Paimon has it in memory."""
        match value:
            case bool() | int() | float():
                return value
            case str():
                return self.api.data.BinaryString.fromString(value)
            case decimal.Decimal():
                number = self.jvm.java.math.BigDecimal(str(value))
                return self.api.data.Decimal.fromBigDecimal(number, type_.getPrecision(), type_.getScale())
            case dt.datetime():
                local = self.jvm.java.time.LocalDateTime.parse(value.replace(tzinfo=None).isoformat())
                return self.api.data.Timestamp.fromLocalDateTime(local)
            case dt.date():
                return (value - dt.date(1970, 1, 1)).days
        raise TypeError(type(value))

    def predicate(self, row_type: Any, filter_: Filter) -> Any:
        """A filter as Java's predicate."""
        head, *rest = filter_
        if head in ("and", "or"):
            parts = self.java_list([self.predicate(row_type, part) for part in rest])
            builder = self.api.predicate.PredicateBuilder
            return getattr(builder, "and" if head == "and" else "or")(parts)
        column, *values = rest
        index = row_type.getFieldIndex(column)
        type_ = row_type.getTypeAt(index)
        if head == "in":
            values = list(values[0])
        if all(isinstance(value, bool | int | float | str) for value in values):
            # Only Java can tell its widths of numbers apart, and it does so when it reads JSON.
            field = {"index": index, "name": column, "type": type_.asSQLString()}
            leaf = {
                "kind": "LEAF",
                "transform": {"name": "FIELD_REF", "fieldRef": field},
                "function": LEAVES[head],
                "literals": values,
            }
            return self.from_json(leaf, self.api.predicate.Predicate)
        literals = self.java_list([self.literal(type_, value) for value in values])
        function = self.api.predicate.LeafFunction.fromJson(LEAVES[head])
        return self.api.predicate.LeafPredicate(function, type_, index, column, literals)

    def reader(self, rows: pa.Table, row_type: Any) -> Any:
        """Java's iterator of rows that are PyArrow's."""
        path = self.scratch(".parquet")
        pq.write_table(rows, path, use_deprecated_int96_timestamps=True)
        read = self._format("parquet").createReaderFactory(row_type, row_type, None)
        place = self.api.fs.Path(f"file://{path}")
        context = self.api.format.FormatReaderContext(self._files(), place, path.stat().st_size)
        return self.api.reader.RecordReaderIterator(read.createReader(context))

    def fetched(self, readers: Iterable[Any], row_type: Any) -> tuple[pa.Table, list[str]]:
        """PyArrow's rows of readers of Java's, and their kinds."""
        path = self.scratch(".parquet")
        out = self._files().newOutputStream(self.api.fs.Path(f"file://{path}"), False)
        writer = self._format("parquet").createWriterFactory(row_type).create(out, "zstd")
        kinds = "".join(self.loops.copy(reader, writer) for reader in readers)
        writer.close()
        out.close()
        return pq.read_table(path), [kinds[i : i + 2] for i in range(0, len(kinds), 2)]

    def _files(self) -> Any:
        return self.api.fs.local.LocalFileIO.create()

    def _format(self, name: str) -> Any:
        return self.api.format.FileFormat.fromIdentifier(name, self.api.options.Options())


class Collector:
    """What Java calls with a row and its bucket."""

    def __init__(self, writer: Any) -> None:
        self.writer = writer

    def accept(self, found: Any, bucket: int) -> None:
        self.writer.write(found, bucket)

    class Java:
        implements = ["java.util.function.BiConsumer"]  # noqa: RUF012 (py4j wants a list)


class PaimonTable:
    """A table of the warehouse: Java writes it, Java and Frazil read it."""

    def __init__(self, paimon: Paimon, name: str, user: str = "writer") -> None:
        self.paimon = paimon
        self.api = paimon.api
        self.name = name
        self.user = user
        self.root = paimon.warehouse / f"{DATABASE}.db" / name

    def load(
        self, options: Mapping[str, object] | None = None, branch: str | None = None, system: str | None = None
    ) -> Any:
        """The table as Java has it now, or a branch or system table of it, with options of a scan."""
        more = [f"branch_{branch}"] if branch else [system] if system else []
        name = "$".join([self.name, *more])
        table = self.paimon.catalog.getTable(self.api.catalog.Identifier.create(DATABASE, name))
        return table.copy(self.paimon.java_map(options)) if options else table

    def open(self) -> fz.Table:
        """The table as Frazil has it now."""
        return fz.open_table(self.root)

    def alter(self, *changes: Any) -> None:
        """Changes the schema."""
        identifier = self.api.catalog.Identifier.create(DATABASE, self.name)
        self.paimon.catalog.alterTable(identifier, self.paimon.java_list(changes), False)

    @property
    def change(self) -> Any:
        """Makes schema changes."""
        return self.api.schema.SchemaChange

    # Writing

    def write(
        self,
        rows: Sequence[Sequence[Any]],
        kinds: Sequence[str] | None = None,
        overwrite: Mapping[str, object] | None = None,
        watermark: int | None = None,
        compact: bool = False,
        options: Mapping[str, object] | None = None,
        branch: str | None = None,
    ) -> int:
        """One commit of rows, whose kinds are `+I` unless given; gives the newest snapshot's id."""
        table = self.load(options, branch)
        row_type = table.rowType()
        names = list(row_type.getFieldNames())
        types = [
            arrow_type(json.loads(self.api.utils.JsonSerdeUtil.toJson(type_))) for type_ in row_type.getFieldTypes()
        ]
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        arrays = [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
        writer = self._writer(table)
        if overwrite is not None:
            writer.withIgnorePreviousFiles(True)
        source = self.paimon.reader(pa.table(arrays, names=names), row_type)
        self._put(table, writer, source, kinds or ["+I"] * len(rows))
        source.close()
        if compact:
            for partition, number in self._buckets(table):
                writer.compact(partition, number, True)
        messages = writer.prepareCommit(True, LAST_IDENTIFIER)
        self._commit(table, messages, overwrite, watermark)
        writer.close()
        return int(self.load(branch=branch).snapshotManager().latestSnapshotId())

    def compact(self, options: Mapping[str, object] | None = None) -> None:
        """Full compaction of every bucket; of tables without buckets, what the coordinator finds worth it."""
        table = self.load(options)
        writer = self._writer(table)
        if table.bucketMode().toString() == "BUCKET_UNAWARE":
            messages = self.paimon.jvm.java.util.ArrayList()
            for task in self.api.append.AppendCompactCoordinator(table, False).run():
                write = table.store().newWrite("compactor")
                if table.coreOptions().rowTrackingEnabled():
                    write.withWriteType(self.api.table.SpecialFields.rowTypeWithRowTracking(table.rowType()))
                messages.add(task.doCompact(table, write))
        else:
            for partition, number in self._buckets(table):
                writer.compact(partition, number, True)
            messages = writer.prepareCommit(True, LAST_IDENTIFIER)
        self._commit(table, messages)
        writer.close()

    def delete_positions(self, positions: Sequence[int]) -> None:
        """Deletion vectors for the same positions of every file of an append table."""
        table, api = self.load(), self.api
        handler = table.store().newIndexFileHandler()
        wide = table.coreOptions().deletionVectorBitmap64()
        vectors = api.deletionvectors
        maintainers = vectors.append.BaseAppendDeleteFileMaintainer
        snapshot = table.snapshotManager().latestSnapshot()
        messages = self.paimon.jvm.java.util.ArrayList()
        found: dict[tuple[str, int], tuple[Any, list[Any]]] = {}
        for entry in table.store().newScan().plan().files():
            partition = entry.partition().copy()
            found.setdefault((partition.toString(), entry.bucket()), (partition, []))[1].append(entry.file())
        unaware = table.bucketMode().toString() == "BUCKET_UNAWARE"
        for (_, bucket), (partition, files) in found.items():
            maintainer = (
                maintainers.forUnawareAppend(handler, snapshot, partition)
                if unaware
                else maintainers.forBucketedAppend(handler, snapshot, partition, bucket)
            )
            for file in files:
                vector = vectors.Bitmap64DeletionVector() if wide else vectors.BitmapDeletionVector()
                for position in positions:
                    if position < file.rowCount():
                        vector.delete(position)
                if not vector.isEmpty():
                    maintainer.notifyNewDeletionVector(file.fileName(), vector)
            added, removed = self.paimon.jvm.java.util.ArrayList(), self.paimon.jvm.java.util.ArrayList()
            for entry in maintainer.persist():
                (added if entry.kind().toString() == "ADD" else removed).add(entry.indexFile())
            none = self.paimon.jvm.java.util.ArrayList
            increment = api.io.DataIncrement(none(), none(), none(), added, removed)
            message = api.table.sink.CommitMessageImpl(
                partition,
                bucket,
                -1 if unaware else table.coreOptions().bucket(),
                increment,
                api.io.CompactIncrement.emptyIncrement(),
            )
            messages.add(message)
        self._commit(table, messages)

    def expire(self, keep: int) -> None:
        """Drops all but the newest snapshots."""
        config = self.api.options.ExpireConfig.builder().snapshotRetainMin(keep).snapshotRetainMax(keep)
        none = self.paimon.jvm.java.time.Duration.ZERO
        self.load().newExpireSnapshots().config(config.snapshotTimeRetain(none).build()).expire()

    def _writer(self, table: Any) -> Any:
        writer = table.newWrite(self.user)
        writer.withIOManager(self.api.disk.IOManager.create(str(self.paimon.folder)))
        return writer

    def _commit(
        self, table: Any, messages: Any, overwrite: Mapping[str, object] | None = None, watermark: int | None = None
    ) -> None:
        commit = table.newCommit(self.user)
        if overwrite is not None:
            commit.withOverwrite(self.paimon.java_map(overwrite))
        if watermark is None:
            commit.commit(LAST_IDENTIFIER, messages)
        else:
            committable = self.api.manifest.ManifestCommittable(LAST_IDENTIFIER, watermark)
            for message in messages:
                committable.addFileCommittable(message)
            commit.commit(committable)
        commit.close()

    def _buckets(self, table: Any) -> list[tuple[Any, int]]:
        found = {}
        for entry in table.store().newScan().plan().files():
            partition = entry.partition().copy()
            found[partition.toString(), entry.bucket()] = partition
        return [(partition, bucket) for (_, bucket), partition in found.items()]

    def _put(self, table: Any, writer: Any, rows: Any, kinds: Sequence[str]) -> None:
        """Writes rows of these kinds into the buckets that they go to."""
        mode = table.bucketMode().toString()
        if mode not in ("HASH_DYNAMIC", "KEY_DYNAMIC"):
            self.paimon.loops.write(rows, "".join(kinds), writer)
            return
        bucket = self._assigner(table) if mode == "HASH_DYNAMIC" else None
        assigner = self._key_assigner(table, writer) if bucket is None else None
        for kind in kinds:
            found = rows.next()
            found.setRowKind(self.api.types.RowKind.fromShortString(kind))
            if bucket is not None:
                writer.write(found, bucket(found))
            else:
                assigner.processInput(found)
        if assigner is not None:
            assigner.close()

    def _assigner(self, table: Any) -> Callable[[Any], int]:
        """Which bucket a row goes to, of those of its partition."""
        options, store = table.coreOptions(), table.store()
        assigner = self.api.index.HashBucketAssigner(
            table.snapshotManager(),
            "writer",
            store.newIndexFileHandler(),
            1,
            1,
            0,
            options.dynamicBucketTargetRowNum(),
            options.dynamicBucketMaxBuckets(),
        )
        keys = self.api.table.sink.RowPartitionKeyExtractor(table.schema())
        return lambda found: assigner.assign(keys.partition(found), keys.trimmedPrimaryKey(found).hashCode())

    def _key_assigner(self, table: Any, writer: Any) -> Any:
        """Writes rows where their keys are, of those of all partitions."""
        ensure_callback_server_started(self.paimon.gateway)
        assigner = self.api.crosspartition.GlobalIndexAssigner(table)
        manager = self.api.disk.IOManager.create(str(self.paimon.folder))
        assigner.open(1 << 20, manager, 1, 0, Collector(writer))
        bootstrap = self.api.crosspartition.IndexBootstrap(table).bootstrap(1, 0)
        known = self.api.reader.RecordReaderIterator(bootstrap)
        while known.hasNext():
            assigner.bootstrapKey(known.next())
        known.close()
        assigner.endBoostrap(False)
        return assigner

    # Reading

    def read(
        self,
        filter_: Filter | None = None,
        options: Mapping[str, object] | None = None,
        select: Sequence[str] | None = None,
        branch: str | None = None,
        system: str | None = None,
    ) -> Read:
        """What Java reads, also of a system table."""
        table = self.load(options, branch, system)
        row_type = table.rowType()
        builder = self.api.table.source.ReadBuilderImpl(table)
        predicate = None if filter_ is None else self.paimon.predicate(row_type, filter_)
        if predicate is not None:
            builder.withFilter(predicate)
        if select is not None:
            row_type = row_type.project(self.paimon.java_list(select))
            builder.withReadType(row_type)
        splits = builder.newScan().plan().splits()
        read = builder.newRead()
        if predicate is not None:
            read = read.executeFilter()
        read.withIOManager(self.api.disk.IOManager.create(str(self.paimon.folder)))
        files = set(self.paimon.loops.files(splits).splitlines())
        rows, kinds = self.paimon.fetched((read.createReader(split) for split in splits), row_type)
        return Read(rows, kinds, files)

    def check(
        self,
        *filters: Filter | None,
        options: Mapping[str, object] | None = None,
        select: Sequence[str] | None = None,
        branch: str | None = None,
        at: Any = None,
        at_options: Mapping[str, object] | None = None,
        whole: bool = True,
    ) -> None:
        """Frazil reads the rows that Java reads, from no other files, for each of the filters (or none).

        Java is told the version by `options`; Frazil by `at`, else by the same options, or by `at_options`. The doctor
        finds no error, unless some of the table is not meant to be `whole`.
        """
        table = self.open()
        mine = at_options if at_options is not None else None if at is not None else options
        for filter_ in filters or (None,):
            java = self.read(filter_, options, select, branch)
            text = None if filter_ is None else sql(filter_)
            scan = table.scan(text, select, at=at if branch is None else branch, options=mine)
            told = f"{self.name}, {text}, {options}, {at}"
            assert scan.to_arrow().column_names == java.rows.column_names, told
            assert_same_rows(comparable(scan.to_arrow()), comparable(java.rows), told)
            planned = Counter(Path(task.data_file.path).name for task in scan.plan_files())
            assert set(planned) <= java.files, f"{told}: {len(set(planned) - java.files)} files too many"
            assert set(planned.values()) <= {1}, f"{told}: a file is planned twice"
            assert scan.count() == java.rows.num_rows, told
            assert sum(t.num_rows for split in scan.plan() for t in [split.to_arrow()]) == java.rows.num_rows, told
        if whole:
            assert_whole(self.root)

    def check_changes(self, since: Any, at: Any, filter_: Filter | None = None, mode: str | None = None) -> list[str]:
        """Frazil tells the changes that Java tells, and of keys the rows that came by them; gives their kinds."""
        options: dict[str, object] = {"incremental-between": f"{since},{at}"}
        mine: dict[str, object] = {}
        if mode is not None:
            options["incremental-between-scan-mode"] = mine["incremental-between-scan-mode"] = mode
        java = self.read(filter_, options)
        text = None if filter_ is None else sql(filter_)
        rows = self.open().changes(text, since=since, at=at, options=mine or None).to_arrow()
        kinds = [CHANGES[kind] for kind in rows.column("_change_type").to_pylist()]
        told = f"{self.name}, changes {options}, {text}"
        mine_rows = rows.select(java.rows.column_names).append_column("kind", pa.array(kinds, pa.string()))
        java_rows = java.rows.append_column("kind", pa.array(java.kinds, pa.string()))
        assert_same_rows(comparable(mine_rows), comparable(java_rows), told)
        if isinstance(since, int) and not self.load().primaryKeys().isEmpty():
            came = self.open().scan(text, since=since, at=at, options=mine or None)
            left = java.rows.filter(pa.array([kind in ("+I", "+U") for kind in java.kinds], pa.bool_()))
            assert_same_rows(comparable(came.to_arrow()), comparable(left), told)
            assert came.count() == left.num_rows, told
        return kinds


def comparable(rows: pa.Table) -> list[str]:
    """See `exact`; of times that are finer than Python's, the number; entries of maps in one order."""
    for index, (name, column) in enumerate(zip(rows.column_names, rows.columns, strict=True)):
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
            rows = rows.set_column(index, name, column.cast(pa.int64()))
        elif pa.types.is_map(column.type):
            ordered = [found and sorted(found, key=repr) for found in column.to_pylist()]
            rows = rows.set_column(index, name, pa.array(ordered, column.type))
    return exact(rows)


def sql(filter_: Filter) -> str:
    """A filter as Frazil's text."""
    head, *rest = filter_
    if head in ("and", "or"):
        return "(" + f" {head} ".join(sql(part) for part in rest) + ")"
    column = '"' + rest[0].replace('"', '""') + '"'
    match head:
        case "is null" | "is not null":
            return f"{column} {head}"
        case "in":
            return f"{column} in ({', '.join(_literal(value) for value in rest[1])})"
        case "starts_with":
            return f"starts_with({column}, {_literal(rest[1])})"
    return f"{column} {head} {_literal(rest[1])}"


def _literal(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case dt.datetime():
            return f"'{value.isoformat()}'"
    return "'" + str(value).replace("'", "''") + "'"
