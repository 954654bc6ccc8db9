import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A TCP proxy whose connections a case cuts. */
final class Proxy implements AutoCloseable {
  private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();

  Proxy(String target) throws IOException {
    String[] parts = target.split(":");
    start(() -> {
      while (true) {
        Socket client = listener.accept();
        Socket server = new Socket(parts[0], Integer.parseInt(parts[1]));
        open.add(client);
        open.add(server);
        start(() -> client.getInputStream().transferTo(server.getOutputStream()), client, server);
        start(() -> server.getInputStream().transferTo(client.getOutputStream()), client, server);
      }
    });
  }

  String endpoint() {
    return "127.0.0.1:" + listener.getLocalPort();
  }

  /** Resets all connections. */
  void cut() {
    for (Socket s : open) {
      open.remove(s);
      try {
        s.setSoLinger(true, 0);
      } catch (IOException e) {
        // The socket is closed already.
      }
      close(s);
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    cut();
  }

  private static void close(Socket s) {
    try {
      s.close();
    } catch (IOException e) {
      // The socket is of no use in any case.
    }
  }

  private void start(Case.Step step, Socket... ends) {
    Thread thread = new Thread(() -> {
      try {
        step.run();
      } catch (Exception e) {
        // The connection or the listener is closed.
      }
      for (Socket s : ends) {
        open.remove(s);
        close(s);
      }
    });
    thread.setDaemon(true);
    thread.start();
  }
}
