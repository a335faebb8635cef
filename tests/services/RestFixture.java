package org.apache.iceberg.rest; // The adapter's planning behaviour is open to its own package alone.

import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Scan;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.responses.LoadTableResponse;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * Iceberg's reference adapter between the REST protocol and any of its catalogs, on 127.0.0.1.
 *
 * <p>Arguments: the port, then properties of the catalog as NAME=VALUE. Two more are the fixture's own: {@code
 * async-plan=true} lets plans be ready only when they are asked for again; {@code table.NAME=VALUE} is handed out with
 * each table.
 */
public final class RestFixture {
  private static final String OF_TABLE = "table.";

  private RestFixture() {}

  public static void main(String[] arguments) throws Exception {
    Map<String, String> properties = new HashMap<>();
    Map<String, String> ofTables = new HashMap<>();
    for (int i = 1; i < arguments.length; i++) {
      String[] parts = arguments[i].split("=", 2);
      if (parts[0].startsWith(OF_TABLE)) {
        ofTables.put(parts[0].substring(OF_TABLE.length()), parts[1]);
      } else {
        properties.put(parts[0], parts[1]);
      }
    }
    boolean plansLater = Boolean.parseBoolean(properties.remove("async-plan"));
    Catalog catalog = CatalogUtil.buildIcebergCatalog("fixture", properties, new Configuration());
    Adapter adapter = new Adapter(catalog, ofTables);
    if (plansLater) {
      adapter.setPlanningBehavior(
          new RESTCatalogAdapter.PlanningBehavior() {
            @Override
            public boolean shouldPlanTableScanAsync(Scan<?, FileScanTask, ?> scan) {
              return true;
            }
          });
    }
    ServletContextHandler handler = new ServletContextHandler();
    handler.addServlet(new ServletHolder(new RESTCatalogServlet(adapter)), "/*");
    Server server = new Server();
    ServerConnector connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    connector.setPort(Integer.parseInt(arguments[0]));
    server.addConnector(connector);
    server.setHandler(handler);
    server.start();
    server.join();
  }

  /** Hands out the same configuration with each table. */
  private static final class Adapter extends RESTCatalogAdapter {
    private final Map<String, String> ofTables;

    Adapter(Catalog catalog, Map<String, String> ofTables) {
      super(catalog);
      this.ofTables = ofTables;
    }

    @Override
    public <T extends RESTResponse> T handleRequest(
        Route route,
        Map<String, String> variables,
        HTTPRequest request,
        Class<T> type,
        Consumer<Map<String, String>> headers) {
      T answer = super.handleRequest(route, variables, request, type, headers);
      if (answer instanceof LoadTableResponse && !ofTables.isEmpty()) {
        ((LoadTableResponse) answer).config().putAll(ofTables);
      }
      return answer;
    }
  }
}
