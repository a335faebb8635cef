import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.PartitionData;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/**
 * Writes a table for planning benchmarks by Java Iceberg: metadata alone, since no planner opens a data file.
 *
 * <p>MakeTable LOCATION FILES FILES_PER_COMMIT FORMAT_VERSION (none | position | equality | vector)
 *
 * <p>12 columns with every statistic, day(ts) and bucket(16, user_id), one manifest a commit, files in order of time over
 * two years. Deletes: a position delete file for every second data file, an equality delete file (on user_id) for every
 * twentieth, or a deletion vector for each.
 */
public final class MakeTable {
  private static final int FIRST_DAY = 19_000; // 2022-01-08
  private static final int DAYS = 730;
  private static final long DAY_MICROS = 86_400_000_000L;
  private static final int VECTORS_PER_PUFFIN = 100;
  private static final String[] COUNTRIES = {"AU", "BR", "CA", "CN", "DE", "FR", "GB", "IN", "JP", "NO", "SE", "US"};
  private static final Type AMOUNT = Types.DecimalType.of(12, 2);
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.required(1, "id", Types.LongType.get()),
          Types.NestedField.required(2, "ts", Types.TimestampType.withZone()),
          Types.NestedField.required(3, "user_id", Types.LongType.get()),
          Types.NestedField.optional(4, "country", Types.StringType.get()),
          Types.NestedField.optional(5, "device", Types.StringType.get()),
          Types.NestedField.optional(6, "url", Types.StringType.get()),
          Types.NestedField.optional(7, "amount", AMOUNT),
          Types.NestedField.optional(8, "price", Types.DoubleType.get()),
          Types.NestedField.optional(9, "status", Types.IntegerType.get()),
          Types.NestedField.optional(10, "session", Types.StringType.get()),
          Types.NestedField.optional(11, "ok", Types.BooleanType.get()),
          Types.NestedField.optional(12, "dt", Types.DateType.get()));

  private final String location;
  private final int files;
  private final int perCommit;
  private final Table table;
  private final PartitionSpec spec;
  private final Random random = new Random(20260101);
  private final List<DataFile> written = new ArrayList<>();

  private MakeTable(String location, int files, int perCommit, String version) {
    this.location = location;
    this.files = files;
    this.perCommit = perCommit;
    PartitionSpec wanted = PartitionSpec.builderFor(SCHEMA).day("ts").bucket("user_id", 16).build();
    this.table =
        new HadoopTables(new Configuration()).create(SCHEMA, wanted, Map.of("format-version", version), location);
    this.spec = table.spec();
  }

  public static void main(String[] arguments) {
    MakeTable maker =
        new MakeTable(
            arguments[0], Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]), arguments[3]);
    maker.append(!arguments[4].equals("none"));
    switch (arguments[4]) {
      case "none" -> {}
      case "position" -> maker.delete(2, maker::positionDeletes);
      case "equality" -> maker.delete(20, maker::equalityDeletes);
      case "vector" -> maker.delete(1, maker::vector);
      default -> throw new IllegalArgumentException(arguments[4]);
    }
  }

  private void append(boolean keep) {
    for (int first = 0; first < files; first += perCommit) {
      AppendFiles append = table.newFastAppend();
      for (int number = first; number < Math.min(first + perCommit, files); number++) {
        DataFile file = dataFile(number);
        append.appendFile(file);
        if (keep) {
          written.add(file.copyWithoutStats());
        }
      }
      append.commit();
    }
  }

  private DataFile dataFile(int number) {
    int day = FIRST_DAY + (int) ((long) number * DAYS / files);
    int bucket = number % 16;
    long rows = 90_000 + random.nextInt(20_000);
    PartitionData partition = new PartitionData(spec.partitionType());
    partition.set(0, day);
    partition.set(1, bucket);
    String name = String.format("%05d-%d-%s-00001.parquet", number % 200, number, uuid());
    return DataFiles.builder(spec)
        .withPath(location + "/data/ts_day=" + LocalDate.ofEpochDay(day) + "/user_id_bucket=" + bucket + "/" + name)
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(8_000_000 + random.nextInt(120_000_000))
        .withPartition(partition)
        .withMetrics(metrics(number, day, rows))
        .withSplitOffsets(List.of(4L, 67_000_000L))
        .build();
  }

  private Metrics metrics(int number, int day, long rows) {
    Bounds bounds = new Bounds();
    long id = number * 100_000L;
    long user = random.nextInt(1_000_000);
    long start = day * DAY_MICROS;
    int one = random.nextInt(COUNTRIES.length);
    int other = random.nextInt(COUNTRIES.length);
    double price = random.nextDouble() * 1000;
    long amount = random.nextInt(100_000);
    bounds.put(1, id, id + rows);
    bounds.put(2, start + random.nextInt(1_000_000), start + DAY_MICROS - 1 - random.nextInt(1_000_000));
    bounds.put(3, user, user + random.nextInt(1_000_000));
    bounds.put(4, COUNTRIES[Math.min(one, other)], COUNTRIES[Math.max(one, other)]);
    bounds.put(5, "android", "web");
    bounds.put(6, "https://example/" + random.nextInt(100), "https://example/z" + random.nextInt(10_000));
    bounds.put(7, BigDecimal.valueOf(amount, 2), BigDecimal.valueOf(amount + 500_000, 2));
    bounds.put(8, price, price + 500);
    bounds.put(9, 200, 200 + random.nextInt(400));
    bounds.put(10, String.format("00%08x", random.nextInt()), String.format("ff%08x", random.nextInt()));
    bounds.put(11, false, true);
    bounds.put(12, day, day);
    Map<Integer, Long> sizes = new HashMap<>();
    Map<Integer, Long> values = new HashMap<>();
    Map<Integer, Long> nulls = new HashMap<>();
    for (Types.NestedField field : SCHEMA.columns()) {
      sizes.put(field.fieldId(), rows * 2 + random.nextInt(100_000));
      values.put(field.fieldId(), rows);
      nulls.put(field.fieldId(), field.isRequired() ? 0L : (long) random.nextInt(50));
    }
    return new Metrics(rows, sizes, values, nulls, Map.of(8, 0L), bounds.lower, bounds.upper);
  }

  /** Lower and upper bounds in their binary form. */
  private static final class Bounds {
    private final Map<Integer, ByteBuffer> lower = new HashMap<>();
    private final Map<Integer, ByteBuffer> upper = new HashMap<>();

    private void put(int id, Object low, Object high) {
      lower.put(id, Conversions.toByteBuffer(SCHEMA.findType(id), low));
      upper.put(id, Conversions.toByteBuffer(SCHEMA.findType(id), high));
    }
  }

  private UUID uuid() {
    return new UUID(random.nextLong(), random.nextLong());
  }

  private interface DeleteMaker {
    DeleteFile make(DataFile file, int number);
  }

  /** Commits deletes for each {@code step}-th data file, as many a commit as data files. */
  private void delete(int step, DeleteMaker maker) {
    List<DeleteFile> batch = new ArrayList<>();
    for (int number = 0; number < written.size(); number += step) {
      batch.add(maker.make(written.get(number), number));
      if (batch.size() == perCommit || number + step >= written.size()) {
        RowDelta delta = table.newRowDelta();
        batch.forEach(delta::addDeletes);
        delta.commit();
        batch.clear();
      }
    }
  }

  private DeleteFile positionDeletes(DataFile file, int number) {
    ByteBuffer path = Conversions.toByteBuffer(Types.StringType.get(), file.location());
    Map<Integer, ByteBuffer> bound = Map.of(MetadataColumns.DELETE_FILE_PATH.fieldId(), path);
    return FileMetadata.deleteFileBuilder(spec)
        .ofPositionDeletes()
        .withPath(file.location().replace(".parquet", "-deletes.parquet"))
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(2_000)
        .withPartition(file.partition())
        .withMetrics(new Metrics(100L, null, null, null, null, bound, bound))
        .build();
  }

  private DeleteFile equalityDeletes(DataFile file, int number) {
    Bounds keys = new Bounds();
    long low = random.nextInt(1_000_000);
    keys.put(3, low, low + random.nextInt(1_000_000));
    return FileMetadata.deleteFileBuilder(spec)
        .ofEqualityDeletes(3)
        .withPath(file.location().replace(".parquet", "-equality-deletes.parquet"))
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(2_000)
        .withPartition(file.partition())
        .withMetrics(new Metrics(100L, null, Map.of(3, 100L), Map.of(3, 0L), null, keys.lower, keys.upper))
        .build();
  }

  private DeleteFile vector(DataFile file, int number) {
    return FileMetadata.deleteFileBuilder(spec)
        .ofPositionDeletes()
        .withPath(location + "/data/vectors-" + number / VECTORS_PER_PUFFIN + ".puffin")
        .withFormat(FileFormat.PUFFIN)
        .withFileSizeInBytes(20_000)
        .withPartition(file.partition())
        .withRecordCount(50)
        .withReferencedDataFile(file.location())
        .withContentOffset(4L + number % VECTORS_PER_PUFFIN * 120L)
        .withContentSizeInBytes(120)
        .build();
  }
}
