package org.apache.iceberg.catalog; // The tests of Iceberg are open to their own package alone.

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.rest.RESTCatalog;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Iceberg's tests of any catalog, on the REST server that the property {@code kit.uri} names. */
public class CatalogKit extends CatalogTests<RESTCatalog> {
  private static final Map<String, String> DEFAULTS =
      Map.of(
          "table-default.default-key1", "catalog-default-key1",
          "table-default.default-key2", "catalog-default-key2",
          "table-default.override-key3", "catalog-default-key3",
          "table-override.override-key3", "catalog-override-key3",
          "table-override.override-key4", "catalog-override-key4",
          "view-default.key1", "catalog-default-key1",
          "view-default.key2", "catalog-default-key2",
          "view-default.key3", "catalog-default-key3",
          "view-override.key3", "catalog-override-key3",
          "view-override.key4", "catalog-override-key4");

  private RESTCatalog catalog;

  /** A client of the server. */
  public static RESTCatalog connected(String name, Map<String, String> additional) {
    Map<String, String> properties = new HashMap<>(DEFAULTS);
    properties.put(CatalogProperties.URI, System.getProperty("kit.uri"));
    properties.put(CatalogProperties.FILE_IO_IMPL, "org.apache.iceberg.hadoop.HadoopFileIO");
    properties.putAll(additional);
    RESTCatalog made = new RESTCatalog();
    made.setConf(new Configuration());
    made.initialize(name, properties);
    return made;
  }

  /** Removes all that a test left. */
  public static void clear(RESTCatalog catalog) {
    for (Namespace namespace : catalog.listNamespaces()) {
      clear(catalog, namespace);
    }
  }

  private static void clear(RESTCatalog catalog, Namespace namespace) {
    for (Namespace inner : catalog.listNamespaces(namespace)) {
      clear(catalog, inner);
    }
    catalog.listTables(namespace).forEach(catalog::dropTable);
    catalog.listViews(namespace).forEach(catalog::dropView);
    catalog.dropNamespace(namespace);
  }

  @BeforeEach
  public void open() {
    catalog = connected("kit", Map.of());
    clear(catalog);
  }

  @AfterEach
  public void close() {
    clear(catalog);
  }

  @Override
  protected RESTCatalog catalog() {
    return catalog;
  }

  @Override
  protected RESTCatalog initCatalog(String name, Map<String, String> additional) {
    return connected(name, additional);
  }

  @Override
  protected boolean requiresNamespaceCreate() {
    return true;
  }

  @Override
  protected boolean supportsServerSideRetry() {
    return true;
  }

  @Override
  protected String baseTableLocation(TableIdentifier table) {
    return System.getProperty("kit.warehouse") + "/" + String.join("/", table.namespace().levels()) + "/" + table.name();
  }
}
