import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.PartitionData;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.hadoop.HadoopTables;

/**
 * Commits by Java Iceberg, for benches/commits: reads lines "append TABLE" and "load METADATA_FILE", answers each with a
 * line of JSON. An append commits the entry of one file, which need not be there.
 */
public final class CommitFiles {
  private CommitFiles() {}

  private static DataFile file(Table table) {
    PartitionData partition = new PartitionData(table.spec().partitionType());
    partition.set(0, 19_000);
    partition.set(1, 0);
    return DataFiles.builder(table.spec())
        .withPath(table.location() + "/data/" + UUID.randomUUID() + ".parquet")
        .withFileSizeInBytes(1_000)
        .withPartition(partition)
        .withRecordCount(1)
        .build();
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
    HadoopTables tables = new HadoopTables(new Configuration());
    Map<String, Table> opened = new HashMap<>();
    for (String line = asked.readLine(); line != null; line = asked.readLine()) {
      String[] words = line.split(" ");
      long started = 0;
      if (words[0].equals("append")) {
        Table table = opened.computeIfAbsent(words[1], path -> tables.load("file:" + path));
        DataFile file = file(table);
        started = System.nanoTime();
        table.newAppend().appendFile(file).commit();
      } else {
        var io = new org.apache.iceberg.hadoop.HadoopFileIO(new Configuration());
        started = System.nanoTime();
        TableMetadataParser.read(io.newInputFile("file:" + words[1])).snapshots().size();
      }
      double seconds = (System.nanoTime() - started) / 1e9;
      System.out.println(String.format(Locale.ROOT, "{\"seconds\": %.6f}", seconds));
    }
  }
}
