import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.apache.paimon.data.BinaryArray;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryRowWriter;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileSource;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.types.DataTypes;

/**
 * Commits files that don't exist to a table of Java Paimon's: metadata alone, since no planner opens a data file.
 *
 * <p>MakeFiles FOLDER FILES FILES_PER_COMMIT (append | keyed)
 *
 * <p>12 columns with every statistic, partitions by day, files in the order of days. An append table has no buckets; of a
 * keyed one each day has 16 buckets, whose files are a sorted run on the highest level and, one of five, on level 0.
 */
public final class MakeFiles {
  private static final int FIRST_DAY = 19_000; // 2022-01-08
  private static final int DAYS = 730;
  private static final int BUCKETS = 16;
  private static final String[] COUNTRIES = {"AU", "BR", "CA", "CN", "DE", "FR", "GB", "IN", "JP", "NO", "SE", "US"};
  private static final long KEYS = 1_000_000;

  private final Random random = new Random(20260101);
  private final FileStoreTable table;
  private final int files;
  private final int days;
  private final boolean keyed;

  private MakeFiles(String folder, int files, boolean keyed) throws Exception {
    this.files = files;
    this.keyed = keyed;
    this.days = Math.min(keyed ? 100 : DAYS, files / 40);
    Schema.Builder schema =
        Schema.newBuilder()
            .column("id", DataTypes.BIGINT().notNull())
            .column("ts", DataTypes.TIMESTAMP(6))
            .column("user_id", DataTypes.BIGINT())
            .column("country", DataTypes.STRING())
            .column("device", DataTypes.STRING())
            .column("url", DataTypes.STRING())
            .column("amount", DataTypes.DECIMAL(12, 2))
            .column("price", DataTypes.DOUBLE())
            .column("status", DataTypes.INT())
            .column("session", DataTypes.STRING())
            .column("ok", DataTypes.BOOLEAN())
            .column("day", DataTypes.STRING().notNull())
            .partitionKeys("day");
    Map<String, String> options = new LinkedHashMap<>();
    options.put("write-only", "true");
    if (keyed) {
      schema.primaryKey("day", "id");
      options.put("bucket", String.valueOf(BUCKETS));
    }
    this.table = Tables.create(folder, schema, options);
  }

  public static void main(String[] arguments) throws Exception {
    int files = Integer.parseInt(arguments[1]);
    MakeFiles maker = new MakeFiles(arguments[0], files, arguments[3].equals("keyed"));
    int perCommit = Integer.parseInt(arguments[2]);
    for (int first = 0; first < files; first += perCommit) {
      maker.commit(first, Math.min(first + perCommit, files));
    }
  }

  private void commit(int first, int end) throws Exception {
    Map<List<Integer>, List<DataFileMeta>> buckets = new LinkedHashMap<>();
    for (int number = first; number < end; number++) {
      int day = (int) ((long) number * days / files);
      int bucket = keyed ? number % BUCKETS : 0;
      buckets.computeIfAbsent(List.of(day, bucket), key -> new ArrayList<>()).add(file(number, day));
    }
    List<CommitMessage> messages = new ArrayList<>();
    buckets.forEach(
        (place, added) -> {
          BinaryRow partition = new BinaryRow(1);
          BinaryRowWriter writer = new BinaryRowWriter(partition);
          writer.writeString(0, text(LocalDate.ofEpochDay(FIRST_DAY + place.get(0)).toString()));
          writer.complete();
          DataIncrement increment = new DataIncrement(added, List.of(), List.of());
          messages.add(
              new CommitMessageImpl(
                  partition, place.get(1), keyed ? BUCKETS : -1, increment, CompactIncrement.emptyIncrement()));
        });
    TableCommitImpl commit = table.newCommit("bench");
    commit.commit(first, messages);
    commit.close();
  }

  private DataFileMeta file(int number, int day) {
    long rows = 90_000 + random.nextInt(20_000);
    String name = "data-" + new UUID(random.nextLong(), random.nextLong()) + "-" + number % 200 + ".parquet";
    long size = 8_000_000 + random.nextInt(120_000_000);
    long sequence = number * 100_000L;
    if (!keyed) {
      SimpleStats stats = stats(number, day, rows, number * 1000L, number * 1000L + rows);
      return DataFileMeta.forAppend(
          name, size, rows, stats, 0, rows - 1, 0, Collections.emptyList(), null, FileSource.APPEND, null, null, null,
          null);
    }
    // Four of five files of a bucket follow one another in the key, the others are all over it.
    int perBucket = Math.max(1, files / days / BUCKETS);
    int place = number / BUCKETS % perBucket;
    boolean top = place % 5 != 0;
    long step = KEYS / perBucket;
    long least = top ? place * step : random.nextInt(1000);
    long greatest = top ? (place + 1) * step - 1 : KEYS - random.nextInt(1000);
    BinaryRow min = key(least);
    BinaryRow max = key(greatest);
    SimpleStats keys = new SimpleStats(min, max, BinaryArray.fromLongArray(new Long[] {0L}));
    return DataFileMeta.create(
        name, size, rows, min, max, keys, stats(number, day, rows, least, greatest), sequence, sequence + rows - 1, 0,
        top ? 5 : 0, Collections.emptyList(), 0L, null, top ? FileSource.COMPACT : FileSource.APPEND, null, null, null,
        null);
  }

  private static BinaryRow key(long id) {
    BinaryRow row = new BinaryRow(1);
    BinaryRowWriter writer = new BinaryRowWriter(row);
    writer.writeLong(0, id);
    writer.complete();
    return row;
  }

  private SimpleStats stats(int number, int day, long rows, long least, long greatest) {
    double price = random.nextDouble() * 1000;
    BinaryRow min = values(number, day, least, price, 0);
    BinaryRow max = values(number, day, greatest, price + random.nextDouble() * 500, 11);
    Long[] nulls = new Long[12];
    for (int column = 0; column < nulls.length; column++) {
      nulls[column] = column < 3 || column == 11 ? 0L : (long) random.nextInt((int) rows / 10);
    }
    return new SimpleStats(min, max, BinaryArray.fromLongArray(nulls));
  }

  private BinaryRow values(int number, int day, long id, double price, int country) {
    BinaryRow row = new BinaryRow(12);
    BinaryRowWriter writer = new BinaryRowWriter(row);
    boolean greatest = country > 0;
    long micros = (FIRST_DAY + day) * 86_400_000_000L + (greatest ? 86_000_000_000L : 0) + random.nextInt(100_000_000);
    writer.writeLong(0, id);
    writer.writeTimestamp(1, Timestamp.fromMicros(micros), 6);
    writer.writeLong(2, greatest ? 9_000_000L + random.nextInt(999_999) : random.nextInt(999_999));
    writer.writeString(3, text(COUNTRIES[country]));
    writer.writeString(4, text(greatest ? "tablet" : "android"));
    writer.writeString(5, text("https://exampl" + (greatest ? "z" : "a")));
    long cents = random.nextInt(10_000) + (greatest ? 1_000_000L : 0);
    writer.writeDecimal(6, Decimal.fromBigDecimal(BigDecimal.valueOf(cents, 2), 12, 2), 12);
    writer.writeDouble(7, price);
    writer.writeInt(8, greatest ? 503 : 200);
    writer.writeString(9, text(String.format("%s%015x", greatest ? "f" : "0", random.nextInt())));
    writer.writeBoolean(10, greatest);
    writer.writeString(11, text(LocalDate.ofEpochDay(FIRST_DAY + day).toString()));
    writer.complete();
    return row;
  }

  private static BinaryString text(String text) {
    return BinaryString.fromString(text);
  }
}
