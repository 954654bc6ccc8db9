import com.azure.core.amqp.AmqpRetryOptions;
import com.azure.core.amqp.exception.AmqpException;
import com.azure.core.exception.HttpResponseException;
import com.azure.core.exception.ResourceNotFoundException;
import com.azure.core.http.HttpPipelineCallContext;
import com.azure.core.http.HttpPipelineNextPolicy;
import com.azure.core.http.policy.RetryOptions;
import com.azure.core.http.policy.FixedDelayOptions;
import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusErrorSource;
import com.azure.messaging.servicebus.ServiceBusException;
import com.azure.messaging.servicebus.ServiceBusFailureReason;
import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.ServiceBusSessionReceiverClient;
import com.azure.messaging.servicebus.administration.ServiceBusAdministrationClient;
import com.azure.messaging.servicebus.administration.ServiceBusAdministrationClientBuilder;
import com.azure.messaging.servicebus.administration.models.CreateQueueOptions;
import com.azure.messaging.servicebus.administration.models.CreateSubscriptionOptions;
import com.azure.messaging.servicebus.administration.models.CreateTopicOptions;
import com.azure.messaging.servicebus.models.ServiceBusReceiveMode;
import com.azure.messaging.servicebus.models.SubQueue;

import java.net.URI;
import java.net.URL;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** The environment of one case. It closes at the end all that it opens. */
final class Case implements AutoCloseable {
  static final List<String> ENDPOINTS =
      Arrays.stream(System.getenv("SERIATIM_ENDPOINTS").split(" ")).map(e -> URI.create(e).getAuthority()).toList();
  static final String KEY = System.getenv("AWS_ACCESS_KEY_ID"), SECRET = System.getenv("AWS_SECRET_ACCESS_KEY");
  /** The certificate of the nodes. With it, clients use TLS, and the nodes demand tokens. */
  static final String CERTIFICATE = System.getenv("CONFORMANCE_TLS");
  /** The longest wait for an event that must come. */
  static final Duration LONGEST = Duration.ofMinutes(1);
  static final Duration BRIEF = Duration.ofSeconds(1), SOON = Duration.ofSeconds(2), LONG = Duration.ofSeconds(10);

  private static final String RUN = Long.toString(System.currentTimeMillis(), 36);
  private static final AtomicLong numbers = new AtomicLong();

  final String name;
  final int number;
  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  private ServiceBusClientBuilder shared;

  Case(String name, int number) {
    this.name = name;
    this.number = number;
  }

  interface Step {
    void run() throws Exception;
  }

  @Override
  public synchronized void close() throws Exception {
    while (!open.isEmpty()) {
      open.pop().close();
    }
  }

  synchronized <T extends AutoCloseable> T closed(T opened) {
    open.push(opened);
    return opened;
  }

  static void holds(boolean condition, String what) {
    if (!condition) {
      throw new AssertionError(what);
    }
  }

  static void same(Object got, Object want, String what) {
    holds(Objects.deepEquals(got, want), what + ": got " + show(got) + ", want " + show(want));
  }

  private static String show(Object value) {
    return value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value);
  }

  /** Checks that a call fails with a reason of the SDK. */
  static void refused(ServiceBusFailureReason reason, Step call) {
    refused(reason, call, "");
  }

  static void refused(ServiceBusFailureReason reason, Step call, String text) {
    Throwable failed = failure(call);
    ServiceBusException known = null;
    // The SDK does not always wrap an error of AMQP, and wraps some in errors of other kinds.
    for (Throwable cause = failed; cause != null && known == null; cause = cause.getCause()) {
      known = cause instanceof ServiceBusException of ? of
          : cause instanceof AmqpException of ? new ServiceBusException(of, ServiceBusErrorSource.UNKNOWN) : null;
    }
    if (known == null || known.getReason() != reason || !known.getMessage().contains(text)) {
      String got = (known == null ? "" : known.getReason() + ": ") + failed;
      throw new AssertionError("got " + got + ", want " + reason + " with '" + text + "'", failed);
    }
  }

  /** Checks that a call fails, with a text in an error or in one of its causes. */
  static void failed(Step call, String text) {
    Throwable failed = failure(call);
    Throwable cause = failed;
    while (cause != null && !String.valueOf(cause.getMessage()).contains(text)) {
      cause = cause.getCause();
    }
    if (cause == null) {
      throw new AssertionError("got " + failed + ", want '" + text + "'", failed);
    }
  }

  /** Checks that the SDK itself rejects a call. */
  static void rejected(Class<? extends Throwable> kind, Step call) {
    Throwable failed = failure(call);
    if (!kind.isInstance(failed)) {
      throw new AssertionError("got " + failed + ", want " + kind.getSimpleName(), failed);
    }
  }

  /** Checks that a call of the administration fails with a status. */
  static void answered(int status, Step call, String text) {
    Throwable failed = failure(call);
    if (failed instanceof ResourceNotFoundException && status == 404 && text.isEmpty()) {
      return; // without an answer, if it was a list without entries
    }
    if (!(failed instanceof HttpResponseException of) || of.getResponse().getStatusCode() != status || !of.getMessage().contains(text)) {
      throw new AssertionError("got " + failed + ", want status " + status + " with '" + text + "'", failed);
    }
  }

  static Throwable failure(Step call) {
    try {
      call.run();
    } catch (Throwable failed) {
      return failed;
    }
    return null;
  }

  /** Waits until check returns true. */
  static void eventually(String what, Callable<Boolean> check) throws Exception {
    long end = System.nanoTime() + LONGEST.toNanos();
    while (!check.call()) {
      holds(System.nanoTime() < end, "never: " + what);
      Thread.sleep(100);
    }
  }

  static String connection(String endpoint, String key, String secret) {
    String text = "Endpoint=sb://" + endpoint + ";SharedAccessKeyName=" + key + ";SharedAccessKey=" + secret;
    return CERTIFICATE == null ? text + ";UseDevelopmentEmulator=true" : text;
  }

  String endpoint() {
    return ENDPOINTS.get(number % ENDPOINTS.size());
  }

  /** Returns a builder of clients that share a connection. They do not repeat calls, so that no failure is hidden. */
  static ServiceBusClientBuilder builder(String endpoint) {
    ServiceBusClientBuilder b = new ServiceBusClientBuilder().connectionString(connection(endpoint, KEY, SECRET))
        .retryOptions(retries(0, LONGEST));
    return withPort(b, endpoint);
  }

  /** With TLS, the SDK takes the port of a node from another option than the connection string. */
  static ServiceBusClientBuilder withPort(ServiceBusClientBuilder b, String endpoint) {
    return CERTIFICATE == null ? b : b.customEndpointAddress("https://" + endpoint);
  }

  static AmqpRetryOptions retries(int count, Duration timeout) {
    return new AmqpRetryOptions().setMaxRetries(count).setTryTimeout(timeout).setDelay(Duration.ofMillis(200));
  }

  /** The clients of the case, of the next node. */
  synchronized ServiceBusClientBuilder shared() {
    if (shared == null) {
      shared = builder(endpoint());
    }
    return shared;
  }

  ServiceBusAdministrationClientBuilder administrationBuilder(String secret) {
    return new ServiceBusAdministrationClientBuilder()
        .connectionString("Endpoint=sb://" + endpoint() + ";SharedAccessKeyName=" + KEY + ";SharedAccessKey=" + secret)
        .retryOptions(new RetryOptions(new FixedDelayOptions(0, Duration.ZERO))).addPolicy(this::atNode);
  }

  ServiceBusAdministrationClient administration() {
    return administrationBuilder(SECRET).buildClient();
  }

  /** The administration client always calls port 443 with TLS. */
  private reactor.core.publisher.Mono<com.azure.core.http.HttpResponse> atNode(
      HttpPipelineCallContext context, HttpPipelineNextPolicy next) {
    URL url = context.getHttpRequest().getUrl();
    context.getHttpRequest().setUrl((CERTIFICATE == null ? "http://" : "https://") + endpoint() + url.getFile());
    return next.process();
  }

  /** Returns a name for an entity. */
  String path() {
    return "java/" + name + "." + RUN + "." + numbers.incrementAndGet();
  }

  String queue() {
    return queue(new CreateQueueOptions());
  }

  String queue(CreateQueueOptions options) {
    String path = path();
    administration().createQueue(path, options);
    return path;
  }

  String sessions() {
    return queue(new CreateQueueOptions().setSessionRequired(true));
  }

  /** Creates a topic with subscriptions. */
  String topic(String... subscriptions) {
    String path = path();
    administration().createTopic(path, new CreateTopicOptions());
    for (String s : subscriptions) {
      subscribe(path, s, new CreateSubscriptionOptions());
    }
    return path;
  }

  void subscribe(String topic, String name, CreateSubscriptionOptions options) {
    administration().createSubscription(topic, name, options);
  }

  ServiceBusSenderClient sender(String queue) {
    return closed(shared().sender().queueName(queue).buildClient());
  }

  ServiceBusReceiverClient receiver(String queue) {
    return receiver(queue, b -> {});
  }

  ServiceBusReceiverClient receiver(String queue, Consumer<ServiceBusClientBuilder.ServiceBusReceiverClientBuilder> options) {
    // Without renewals that a case does not ask for.
    var b = shared().receiver().queueName(queue).maxAutoLockRenewDuration(Duration.ZERO);
    options.accept(b);
    return closed(b.buildClient());
  }

  ServiceBusReceiverClient deleting(String queue) {
    return receiver(queue, b -> b.receiveMode(ServiceBusReceiveMode.RECEIVE_AND_DELETE));
  }

  ServiceBusReceiverClient deadLetters(String queue) {
    return receiver(queue, b -> b.subQueue(SubQueue.DEAD_LETTER_QUEUE));
  }

  ServiceBusReceiverClient subscription(String topic, String name) {
    return subscription(topic, name, b -> {});
  }

  ServiceBusReceiverClient subscription(
      String topic, String name, Consumer<ServiceBusClientBuilder.ServiceBusReceiverClientBuilder> options) {
    var b = shared().receiver().topicName(topic).subscriptionName(name).maxAutoLockRenewDuration(Duration.ZERO);
    options.accept(b);
    return closed(b.buildClient());
  }

  /**
   * Accepts a session, which may be held for a moment by a receiver that was closed. Each has a connection:
   * the SDK has one link for a session and a connection, also while it is closed.
   */
  ServiceBusReceiverClient session(String queue, String id) throws Exception {
    return session(builder(endpoint()).sessionReceiver().queueName(queue), id);
  }

  ServiceBusReceiverClient session(ServiceBusClientBuilder.ServiceBusSessionReceiverClientBuilder b, String id) throws Exception {
    ServiceBusSessionReceiverClient accepting = closed(b.maxAutoLockRenewDuration(Duration.ZERO).buildClient());
    List<ServiceBusReceiverClient> accepted = new ArrayList<>();
    eventually("session " + id + " is free", () -> {
      try {
        accepted.add(accepting.acceptSession(id));
      } catch (RuntimeException e) {
        refused(ServiceBusFailureReason.SESSION_CANNOT_BE_LOCKED, () -> {
          throw e;
        });
      }
      return !accepted.isEmpty();
    });
    return closed(accepted.get(0));
  }

  /** Accepts the next session. */
  ServiceBusReceiverClient next(String queue) {
    ServiceBusSessionReceiverClient accepting =
        closed(shared().sessionReceiver().queueName(queue).maxAutoLockRenewDuration(Duration.ZERO).buildClient());
    return closed(accepting.acceptNextSession());
  }

  /** Sends messages one by one. */
  void send(String queue, ServiceBusMessage... messages) {
    try (ServiceBusSenderClient sender = shared().sender().queueName(queue).buildClient()) {
      for (ServiceBusMessage m : messages) {
        sender.sendMessage(m);
      }
    }
  }

  /** Receives and completes messages, checks that no other comes, and returns them. */
  List<ServiceBusReceivedMessage> drain(String queue, int count) {
    return drain(receiver(queue), count);
  }

  static List<ServiceBusReceivedMessage> drain(ServiceBusReceiverClient receiver, int count) {
    List<ServiceBusReceivedMessage> got = take(receiver, count);
    got.forEach(receiver::complete);
    nothing(receiver);
    return got;
  }

  static List<ServiceBusReceivedMessage> take(ServiceBusReceiverClient receiver, int count) {
    List<ServiceBusReceivedMessage> got = new ArrayList<>();
    long end = System.nanoTime() + LONGEST.toNanos();
    while (got.size() < count && System.nanoTime() < end) {
      receiver.receiveMessages(count - got.size(), Duration.ofSeconds(5)).forEach(got::add);
    }
    same(got.size(), count, "messages received");
    return got;
  }

  static ServiceBusReceivedMessage one(ServiceBusReceiverClient receiver) {
    return take(receiver, 1).get(0);
  }

  static void nothing(ServiceBusReceiverClient receiver) {
    nothing(receiver, BRIEF);
  }

  static void nothing(ServiceBusReceiverClient receiver, Duration wait) {
    same(bodies(receiver.receiveMessages(10, wait)), List.of(), "bodies received");
  }

  /** Peeks from the first message on. */
  static List<ServiceBusReceivedMessage> browse(ServiceBusReceiverClient receiver) {
    return receiver.peekMessages(50, 1).stream().toList();
  }

  static String body(ServiceBusReceivedMessage m) {
    return m.getBody().toString();
  }

  static List<String> bodies(Iterable<ServiceBusReceivedMessage> messages) {
    List<String> all = new ArrayList<>();
    messages.forEach(m -> all.add(body(m)));
    return all;
  }

  static ServiceBusMessage message(String body) {
    return new ServiceBusMessage(body).setMessageId("id-" + numbers.incrementAndGet());
  }

  static ServiceBusMessage of(String session, String body) {
    return message(body).setSessionId(session);
  }

  static ServiceBusMessage[] numbered(int count) {
    return texts(0, count).stream().map(Case::message).toArray(ServiceBusMessage[]::new);
  }

  static List<String> texts(int from, int to) {
    return IntStream.range(from, to).mapToObj(Integer::toString).toList();
  }

  /** Returns a time, in whole seconds. */
  static OffsetDateTime later(long seconds) {
    return OffsetDateTime.now(ZoneOffset.UTC).plusSeconds(seconds + 1).truncatedTo(ChronoUnit.SECONDS);
  }
}
