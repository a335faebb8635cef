import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.io.CloseableIterable;

/** Cold plans by Java Iceberg: reads lines "TABLE FILTER", answers each with a line of JSON. */
public final class PlanFiles {
  private PlanFiles() {}

  private static Expression filter(String name) {
    return switch (name) {
      case "none" -> Expressions.alwaysTrue();
      case "day" ->
          Expressions.and(
              Expressions.greaterThanOrEqual("ts", "2023-01-10T00:00:00+00:00"),
              Expressions.lessThan("ts", "2023-01-11T00:00:00+00:00"));
      case "metrics" -> Expressions.greaterThan("price", 1450.0);
      case "mixed" ->
          Expressions.and(
              Expressions.in("country", "NO", "SE"),
              Expressions.greaterThanOrEqual("ts", "2023-01-01T00:00:00+00:00"),
              Expressions.equal("status", 404));
      default -> throw new IllegalArgumentException("there is no filter named " + name);
    };
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
    for (String line = asked.readLine(); line != null; line = asked.readLine()) {
      String[] words = line.split(" ");
      long started = System.nanoTime();
      long tasks = 0;
      long deletes = 0;
      Table table = new HadoopTables(new Configuration()).load(words[0]);
      try (CloseableIterable<FileScanTask> plan = table.newScan().filter(filter(words[1])).planFiles()) {
        for (FileScanTask task : plan) {
          tasks += 1;
          deletes += task.deletes().size();
        }
      }
      double seconds = (System.nanoTime() - started) / 1e9;
      String answer = "{\"seconds\": %.6f, \"tasks\": %d, \"deletes\": %d}";
      System.out.println(String.format(Locale.ROOT, answer, seconds, tasks, deletes));
    }
  }
}
