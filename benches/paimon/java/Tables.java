import java.nio.file.Path;
import java.util.Map;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.options.Options;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.FileStoreTable;

/** What the programs of this folder share: tables by their folders, WAREHOUSE/DATABASE.db/NAME. */
final class Tables {
  private Tables() {}

  static Catalog catalog(String folder) {
    Options options = new Options();
    options.set("warehouse", "file:" + Path.of(folder).getParent().getParent());
    options.set("cache-enabled", "false");
    return CatalogFactory.createCatalog(CatalogContext.create(options));
  }

  static Identifier identifier(String folder) {
    Path path = Path.of(folder);
    String database = path.getParent().getFileName().toString();
    return Identifier.create(database.substring(0, database.length() - ".db".length()), path.getFileName().toString());
  }

  static FileStoreTable open(String folder) throws Exception {
    return (FileStoreTable) catalog(folder).getTable(identifier(folder));
  }

  static FileStoreTable create(String folder, Schema.Builder schema, Map<String, String> options) throws Exception {
    Catalog catalog = catalog(folder);
    catalog.createDatabase(identifier(folder).getDatabaseName(), true);
    catalog.createTable(identifier(folder), schema.options(options).build(), false);
    return open(folder);
  }
}
