import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs the cases with the Azure Service Bus SDK for Java against a running cluster. Arguments select cases by the beginning of a name. */
public final class Suite {
  /** Cases mostly wait. Each has queues of its own. */
  private static final int AT_ONCE = 8;
  private static final long SECONDS_OF_A_CASE = 180;
  private static final List<Class<?>> GROUPS = List.of(
      Sending.class, Content.class, Duplicates.class, Schedules.class, Receiving.class, Settling.class, Expiry.class, Sessions.class,
      Processors.class, Connections.class, Administration.class, TopicAdministration.class, Topics.class, Rules.class,
      RuleAdministration.class, Forwarding.class, Tokens.class, Websocket.class, Transactions.class);

  private record Result(String name, String failure) {}

  public static void main(String[] beginnings) throws Exception {
    if (Case.CERTIFICATE != null) {
      trust(Path.of(Case.CERTIFICATE));
    }
    List<Method> chosen = new ArrayList<>();
    for (Class<?> group : GROUPS) {
      Method[] methods = group.getDeclaredMethods();
      Arrays.sort(methods, Comparator.comparing(Method::getName));
      for (Method m : methods) {
        Test test = m.getAnnotation(Test.class);
        if (test != null && (Case.CERTIFICATE != null || !test.secure())
            && (beginnings.length == 0 || Arrays.stream(beginnings).anyMatch(nameOf(m)::startsWith))) {
          chosen.add(m);
        }
      }
    }
    ExecutorService slots = Executors.newFixedThreadPool(AT_ONCE);
    List<Future<Result>> running = new ArrayList<>();
    for (Method m : chosen) {
      int number = running.size();
      running.add(slots.submit(() -> run(m, number)));
    }
    List<Result> failures = new ArrayList<>();
    for (Future<Result> one : running) {
      if (one.get().failure != null) {
        failures.add(one.get());
      }
    }
    for (Result r : failures) {
      System.out.println("\nFAILED " + r.name + "\n" + r.failure);
    }
    System.out.println(chosen.size() + " cases, " + failures.size() + " failed");
    System.out.flush();
    // Without the threads of the SDK.
    Runtime.getRuntime().halt(failures.isEmpty() && !chosen.isEmpty() ? 0 : 1);
  }

  private static String nameOf(Method m) {
    return m.getDeclaringClass().getSimpleName() + "." + m.getName();
  }

  private static Result run(Method m, int number) throws InterruptedException {
    String name = nameOf(m);
    long started = System.nanoTime();
    ExecutorService thread = Executors.newSingleThreadExecutor();
    String failure = null;
    Future<?> steps = thread.submit(() -> {
      try (Case c = new Case(name, number)) {
        m.setAccessible(true);
        m.invoke(null, c);
      }
      return null;
    });
    try {
      steps.get(SECONDS_OF_A_CASE, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      failure = "the case takes too long";
    } catch (Exception e) {
      Throwable cause = e.getCause() instanceof InvocationTargetException of ? of.getCause() : e.getCause();
      StringWriter text = new StringWriter();
      cause.printStackTrace(new PrintWriter(text));
      failure = text.toString();
    }
    thread.shutdownNow();
    System.out.printf("%s %5.1fs %s%n", failure == null ? "ok    " : "FAILED", (System.nanoTime() - started) / 1e9, name);
    return new Result(name, failure);
  }

  /** Makes Java trust the certificate of the nodes. */
  private static void trust(Path certificate) throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    try (InputStream in = Files.newInputStream(certificate)) {
      store.setCertificateEntry("nodes", CertificateFactory.getInstance("X.509").generateCertificate(in));
    }
    Path file = Files.createTempFile("trust", ".p12");
    try (var out = Files.newOutputStream(file)) {
      store.store(out, "changeit".toCharArray());
    }
    System.setProperty("javax.net.ssl.trustStore", file.toString());
    System.setProperty("javax.net.ssl.trustStorePassword", "changeit");
    file.toFile().deleteOnExit();
  }
}
