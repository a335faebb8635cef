import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.types.DataTypes;

/**
 * Writes rows of 12 columns by Java Paimon.
 *
 * <p>MakeRows FOLDER (append | keyed | keyed-vectors) ROWS COMMITS: each commit adds as many rows. Keys of a keyed table are
 * spread over all of the key's range in each commit, and a quarter of those of a commit are in the one before too; with
 * vectors, all after the first commit replace keys of the first one.
 *
 * <p>MakeRows FOLDER delete: deletes 5 % of the rows of an append table, at random, by deletion vectors.
 */
public final class MakeRows {
  private static final String[] COUNTRIES = {"AU", "BR", "CA", "CN", "DE", "FR", "GB", "IN", "JP", "NO", "SE", "US"};
  private static final String HEX = "0123456789abcdef";

  private MakeRows() {}

  public static void main(String[] arguments) throws Exception {
    if (arguments[1].equals("delete")) {
      delete(Tables.open(arguments[0]));
      return;
    }
    FileStoreTable table = create(arguments[0], arguments[1]);
    long rows = Long.parseLong(arguments[2]);
    int commits = Integer.parseInt(arguments[3]);
    switch (arguments[1]) {
      case "append" -> {
        for (int number = 0; number < commits; number++) {
          write(table, number, number * rows, rows, 1, Long.MAX_VALUE);
        }
      }
      case "keyed" -> {
        long keys = rows + (commits - 1) * (rows * 3 / 4);
        for (int number = 0; number < commits; number++) {
          write(table, number, number * (rows * 3 / 4), rows, 1_000_003, keys);
        }
      }
      default -> {
        write(table, 0, 0, rows, 1, Long.MAX_VALUE);
        for (int number = 1; number < commits; number++) {
          write(table, number, (number - 1) * (rows / 20), rows / 20, 1_000_003, rows);
        }
      }
    }
  }

  private static FileStoreTable create(String folder, String kind) throws Exception {
    boolean keyed = !kind.equals("append");
    Schema.Builder schema =
        Schema.newBuilder()
            .column("id", DataTypes.BIGINT().notNull())
            .column("user_id", DataTypes.BIGINT())
            .column("slot", DataTypes.INT())
            .column("ts", DataTypes.TIMESTAMP(6))
            .column("day", DataTypes.DATE())
            .column("score", DataTypes.DOUBLE())
            .column("weight", DataTypes.FLOAT())
            .column("amount", DataTypes.DECIMAL(18, 2))
            .column("ok", DataTypes.BOOLEAN())
            .column("country", DataTypes.STRING())
            .column("city", DataTypes.STRING())
            .column("session", DataTypes.STRING());
    Map<String, String> options = new LinkedHashMap<>();
    if (keyed) {
      schema.primaryKey("id");
      options.put("bucket", "4");
    }
    if (kind.equals("keyed-vectors")) {
      options.put("deletion-vectors.enabled", "true");
    } else {
      options.put("write-only", "true");
    }
    return Tables.create(folder, schema, options);
  }

  /** Rows whose key is `(first + i) * step`, modulo `keys`. */
  private static void write(FileStoreTable table, int number, long first, long rows, long step, long keys)
      throws Exception {
    TableWriteImpl<?> writer = table.newWrite("bench");
    writer.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
    SplittableRandom random = new SplittableRandom(number);
    for (long i = 0; i < rows; i++) {
      writer.write(row((first + i) * step % keys, random));
    }
    List<CommitMessage> messages = writer.prepareCommit(true, number);
    commit(table, number, messages);
    writer.close();
  }

  private static void commit(FileStoreTable table, long number, List<CommitMessage> messages) throws Exception {
    TableCommitImpl commit = table.newCommit("bench");
    commit.commit(number, messages);
    commit.close();
  }

  private static GenericRow row(long id, SplittableRandom random) {
    byte[] session = new byte[20];
    for (int i = 0; i < session.length; i++) {
      session[i] = (byte) HEX.charAt(random.nextInt(16));
    }
    return GenericRow.of(
        id,
        random.nextLong(1_000_000_000L),
        (int) (id % 200_000),
        Timestamp.fromMicros(1_700_000_000_000_000L + id * 1_000_000 + random.nextInt(1_000_000)),
        19_000 + random.nextInt(1000),
        random.nextDouble(),
        (float) (random.nextDouble() * 1000),
        Decimal.fromBigDecimal(BigDecimal.valueOf(random.nextInt(10_000_000), 2), 18, 2),
        random.nextBoolean(),
        BinaryString.fromString(COUNTRIES[random.nextInt(12)]),
        BinaryString.fromString("city-" + random.nextInt(5000)),
        BinaryString.fromBytes(session));
  }

  private static void delete(FileStoreTable table) throws Exception {
    Snapshot snapshot = table.snapshotManager().latestSnapshot();
    BaseAppendDeleteFileMaintainer maintainer =
        BaseAppendDeleteFileMaintainer.forUnawareAppend(
            table.store().newIndexFileHandler(), snapshot, BinaryRow.EMPTY_ROW);
    SplittableRandom random = new SplittableRandom(5);
    for (ManifestEntry entry : table.store().newScan().plan().files()) {
      DataFileMeta file = entry.file();
      BitmapDeletionVector vector = new BitmapDeletionVector();
      for (long position = 0; position < file.rowCount(); position++) {
        if (random.nextInt(100) < 5) {
          vector.delete(position);
        }
      }
      maintainer.notifyNewDeletionVector(file.fileName(), vector);
    }
    List<IndexFileMeta> added = new ArrayList<>();
    List<IndexFileMeta> removed = new ArrayList<>();
    for (IndexManifestEntry entry : maintainer.persist()) {
      (entry.kind() == FileKind.ADD ? added : removed).add(entry.indexFile());
    }
    DataIncrement increment = new DataIncrement(List.of(), List.of(), List.of(), added, removed);
    commit(
        table,
        1_000_000,
        List.of(new CommitMessageImpl(BinaryRow.EMPTY_ROW, 0, -1, increment, CompactIncrement.emptyIncrement())));
  }
}
