package org.apache.iceberg.view; // The tests of Iceberg are open to their own package alone.

import java.util.Map;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.CatalogKit;
import org.apache.iceberg.rest.RESTCatalog;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Iceberg's tests of any catalog with views, on the REST server that the property {@code kit.uri} names. */
public class ViewKit extends ViewCatalogTests<RESTCatalog> {
  private RESTCatalog catalog;

  @BeforeEach
  public void open() {
    catalog = CatalogKit.connected("kit", Map.of());
    CatalogKit.clear(catalog);
  }

  @AfterEach
  public void close() {
    CatalogKit.clear(catalog);
  }

  @Override
  protected RESTCatalog catalog() {
    return catalog;
  }

  @Override
  protected Catalog tableCatalog() {
    return catalog;
  }

  @Override
  protected boolean requiresNamespaceCreate() {
    return true;
  }

  @Override
  protected boolean supportsServerSideRetry() {
    return true;
  }
}
