import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.IHMSHandler;
import org.apache.hadoop.hive.metastore.RetryingHMSHandler;
import org.apache.hadoop.hive.metastore.TSetIpAddressProcessor;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;
import org.apache.thrift.server.TServer;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;

/**
 * Hive's metastore on 127.0.0.1, at the port that is the only argument.
 *
 * <p>The program that Hive has for it listens everywhere, and makes no tables for locks in a database of its own making.
 */
public final class HiveFixture {
  private HiveFixture() {}

  public static void main(String[] arguments) throws Exception {
    Configuration configuration = MetastoreConf.newMetastoreConf();
    TxnDbUtil.prepDb(configuration);
    HiveMetaStore.HMSHandler own = new HiveMetaStore.HMSHandler("fixture", configuration, false);
    IHMSHandler handler = RetryingHMSHandler.getProxy(configuration, own, true);
    int port = Integer.parseInt(arguments[0]);
    TServerSocket socket = new TServerSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    TServer server =
        new TThreadPoolServer(
            new TThreadPoolServer.Args(socket).processor(new TSetIpAddressProcessor<>(handler)));
    server.serve();
  }
}
