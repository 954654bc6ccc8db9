import com.azure.core.amqp.AmqpRetryOptions;
import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusException;
import com.azure.messaging.servicebus.ServiceBusFailureReason;
import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusProcessorClient;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.ServiceBusSessionReceiverClient;
import com.azure.messaging.servicebus.ServiceBusTransactionContext;
import com.azure.messaging.servicebus.models.CompleteOptions;

import java.io.IOException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The same client as client.py, with the SDK for Java. Consumers are processors. */
public final class Client {
  static final int SESSIONS = 5;
  /** The locks of the queues end after 10 s. */
  static final int LOST = 11_000;
  static final Random random = new Random();
  static final CountDownLatch ended = new CountDownLatch(1);

  final String connection, queue, name;

  Client(String connection, String queue, String name) {
    this.connection = connection;
    this.queue = queue;
    this.name = name;
  }

  /** What is reported of a message. */
  record Fields(String id, String session, int number, long sequence, String holder) {
    String json() {
      return ",\"id\":\"%s\",\"session\":\"%s\",\"number\":%d,\"sequence\":%d,\"holder\":\"%s\""
          .formatted(id, session, number, sequence, holder);
    }
  }

  static synchronized void report(String event, long since, String fields) {
    System.out.println("{\"event\":\"%s\",\"at\":%d,\"since\":%d%s}".formatted(event, System.nanoTime(), since, fields));
    System.out.flush();
  }

  static void failed(String what, Throwable t) {
    String text = (what + ": " + t).replaceAll("[^ -~]|[\"\\\\]", " ");
    report("failed", 0, ",\"text\":\"" + text.substring(0, Math.min(300, text.length())) + "\"");
  }

  ServiceBusClientBuilder builder() {
    return new ServiceBusClientBuilder().connectionString(connection).retryOptions(
        new AmqpRetryOptions().setMaxRetries(3).setDelay(Duration.ofMillis(100)).setTryTimeout(Duration.ofSeconds(10)));
  }

  void produce() throws InterruptedException {
    int[] numbers = new int[SESSIONS];
    List<Fields> old = new ArrayList<>();
    try (ServiceBusSenderClient sender = builder().sender().queueName(queue).buildClient()) {
      while (ended.getCount() > 0) {
        int s = random.nextInt(SESSIONS);
        int n = ++numbers[s];
        Fields fields = new Fields("%s-%d-%d".formatted(name, s, n), "%s-%d".formatted(name, s), n, 0, "");
        send(sender, fields);
        old.add(fields);
        if (random.nextInt(5) == 0) {
          send(sender, old.get(old.size() - 1 - random.nextInt(Math.min(500, old.size()))));
        }
        ended.await(30, TimeUnit.MILLISECONDS); // the consumers keep up
      }
    }
  }

  static void send(ServiceBusSenderClient sender, Fields fields) throws InterruptedException {
    while (true) {
      try {
        sender.sendMessage(new ServiceBusMessage(Integer.toString(fields.number))
            .setMessageId(fields.id).setSessionId(fields.session));
        report("accepted", 0, fields.json());
        return;
      } catch (RuntimeException e) {
        failed("send", e);
        Thread.sleep(200);
      }
    }
  }

  /** Reports a message, and completes or abandons it. It may have come since the receiver was opened. */
  static void settle(ServiceBusReceivedMessage m, long opened, String holder, Runnable complete, Runnable abandon) {
    Fields fields = new Fields(
        m.getMessageId(), m.getSessionId(), Integer.parseInt(m.getBody().toString()), m.getSequenceNumber(), holder);
    report("received", opened, fields.json());
    if (!holder.isEmpty() && random.nextInt(200) == 0) {
      try {
        Thread.sleep(LOST);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
    report("settling", 0, fields.json());
    long since = System.nanoTime();
    if (random.nextInt(20) == 0) {
      abandon.run();
      report("abandoned", since, fields.json());
    } else {
      complete.run();
      report("completed", since, fields.json());
    }
  }

  void consume() throws InterruptedException {
    long opened = System.nanoTime();
    ServiceBusProcessorClient processor = builder().processor().queueName(queue).disableAutoComplete()
        .maxConcurrentCalls(2).processMessage(context -> {
          try {
            settle(context.getMessage(), opened, "", context::complete, context::abandon);
          } catch (RuntimeException e) {
            failed("consume", e);
          }
        }).processError(context -> failed("consume", context.getException())).buildProcessorClient();
    processor.start();
    ended.await();
    processor.close();
  }

  /** Moves messages to another queue, each in a transaction. A few are rolled back, and come again after their lock. */
  void move(String to) {
    while (ended.getCount() > 0) {
      ServiceBusClientBuilder shared = builder().enableCrossEntityTransactions();
      try (ServiceBusReceiverClient receiver =
              shared.receiver().queueName(queue).disableAutoComplete().maxAutoLockRenewDuration(Duration.ZERO).buildClient();
          ServiceBusSenderClient sender = shared.sender().queueName(to).buildClient()) {
        long opened = System.nanoTime();
        while (ended.getCount() > 0) {
          for (ServiceBusReceivedMessage m : receiver.receiveMessages(5, Duration.ofMillis(500))) {
            moveOne(m, opened, receiver, sender);
          }
        }
      } catch (RuntimeException e) {
        failed("move", e);
      }
    }
  }

  static void moveOne(
      ServiceBusReceivedMessage m, long opened, ServiceBusReceiverClient receiver, ServiceBusSenderClient sender) {
    Fields fields = new Fields(m.getMessageId(), m.getSessionId(), Integer.parseInt(m.getBody().toString()), m.getSequenceNumber(), "");
    report("received", opened, fields.json());
    ServiceBusTransactionContext transaction = receiver.createTransaction();
    receiver.complete(m, new CompleteOptions().setTransactionContext(transaction));
    sender.sendMessage(new ServiceBusMessage(m), transaction);
    if (random.nextInt(200) == 0) { // the others of its group wait for the end of its lock
      receiver.rollbackTransaction(transaction);
      return;
    }
    report("settling", 0, fields.json());
    long since = System.nanoTime();
    receiver.commitTransaction(transaction);
    report("completed", since, fields.json());
  }

  static final String LOCK_LOST = "com.microsoft:session-lock-lost";

  /** The end of a lock, by the monotonic clock. */
  static String until(OffsetDateTime end) {
    return ",\"until\":" + (System.nanoTime() + Duration.between(OffsetDateTime.now(), end).toNanos());
  }

  /** Accepts sessions, the next one or one by its id, and holds each for a while, sometimes too long. */
  void hold() throws InterruptedException {
    String producer = name.replace("sessions", "producer");
    while (ended.getCount() > 0) {
      String of = "";
      try (ServiceBusSessionReceiverClient sessions =
          builder().sessionReceiver().queueName(queue).maxAutoLockRenewDuration(Duration.ZERO).buildClient()) {
        long opened = System.nanoTime();
        try (ServiceBusReceiverClient receiver = random.nextBoolean() ? sessions.acceptNextSession()
            : sessions.acceptSession(producer + "-" + random.nextInt(SESSIONS))) {
          String holder = UUID.randomUUID().toString();
          String session = receiver.getSessionId();
          of = ",\"holder\":\"%s\",\"session\":\"%s\"".formatted(holder, session);
          report("held", 0, of);
          long enough = System.nanoTime() + 500_000_000L + random.nextInt(2_500) * 1_000_000L;
          while (System.nanoTime() < enough && ended.getCount() > 0) {
            receiver.receiveMessages(1, Duration.ofMillis(500)).forEach(
                m -> settle(m, opened, holder, () -> receiver.complete(m), () -> receiver.abandon(m)));
            if (random.nextInt(10) == 0) {
              long since = System.nanoTime();
              OffsetDateTime end = receiver.renewSessionLock();
              report("renewed", since, of + until(end));
            }
          }
          report("closing", System.nanoTime(), of);
        }
      } catch (RuntimeException e) {
        ServiceBusFailureReason reason = e instanceof ServiceBusException s ? s.getReason() : null;
        if (reason != ServiceBusFailureReason.SERVICE_TIMEOUT
            && reason != ServiceBusFailureReason.SESSION_CANNOT_BE_LOCKED) { // there is none, or another client has it
          failed("hold", e);
        }
        if (!of.isEmpty()) {
          report("lost", 0, of + ",\"text\":\"" + (String.valueOf(e).contains(LOCK_LOST) ? LOCK_LOST : "") + "\"");
        }
      }
    }
  }

  public static void main(String[] arguments) throws InterruptedException {
    Thread input = new Thread(() -> {
      try {
        while (System.in.read() >= 0) { }
      } catch (IOException e) {
        // it has ended, too
      }
      ended.countDown();
    });
    input.setDaemon(true);
    input.start();
    Client client = new Client(arguments[1], arguments[2], arguments[3]);
    switch (arguments[0]) {
      case "producer" -> client.produce();
      case "consumer" -> client.consume();
      case "sessions" -> client.hold();
      case "transactions" -> client.move("moved");
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    System.exit(0); // the SDK leaves threads behind
  }
}
