import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.TableRead;

/** Answers lines "HOW FOLDER FILTER" with lines of JSON, as `workers.py` does; filters by the names of `filters.py`. */
public final class Serve {
  private static final Map<String, FileStoreTable> OPENED = new HashMap<>();

  private Serve() {}

  public static void main(String[] arguments) throws Exception {
    OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      long processor = system.getProcessCpuTime();
      long began = System.nanoTime();
      String found;
      try {
        found = answer(words[0], words[1], words[2]);
      } catch (Exception error) {
        String said = String.valueOf(error).replaceAll("[^ -~]|[\"\\\\]", " ");
        System.out.println("{\"error\": \"" + said.substring(0, Math.min(160, said.length())) + "\"}");
        continue;
      }
      double seconds = (System.nanoTime() - began) / 1e9;
      double used = (system.getProcessCpuTime() - processor) / 1e9;
      System.out.println("{" + found + ", \"seconds\": " + seconds + ", \"cpu\": " + used + "}");
    }
  }

  private static String answer(String how, String folder, String filter) throws Exception {
    FileStoreTable table;
    if (how.equals("warm")) {
      table = OPENED.get(folder);
      if (table == null) {
        table = Tables.open(folder);
        OPENED.put(folder, table);
      }
    } else {
      table = Tables.open(folder);
    }
    ReadBuilder builder = table.newReadBuilder();
    PredicateBuilder predicates = new PredicateBuilder(table.rowType());
    Predicate predicate =
        switch (filter) {
          case "day" -> predicates.equal(predicates.indexOf("day"), BinaryString.fromString("2022-01-20"));
          case "values" -> predicates.greaterThan(predicates.indexOf("price"), 1450.0);
          default -> null;
        };
    if (predicate != null) {
      builder.withFilter(predicate);
    }
    if (filter.equals("two")) {
      builder.withReadType(table.rowType().project(List.of("id", "score")));
    }
    List<Split> splits = builder.newScan().plan().splits();
    if (!how.equals("read")) {
      return "\"count\": " + splits.size();
    }
    TableRead read = builder.newRead().withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
    long rows = 0;
    for (Split split : splits) {
      try (RecordReader<InternalRow> reader = read.createReader(split)) {
        for (RecordReader.RecordIterator<InternalRow> batch = reader.readBatch();
            batch != null;
            batch = reader.readBatch()) {
          while (batch.next() != null) {
            rows++;
          }
          batch.releaseBatch();
        }
      }
    }
    return "\"count\": " + rows;
  }
}
