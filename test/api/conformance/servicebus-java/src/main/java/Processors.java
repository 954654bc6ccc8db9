import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusErrorContext;
import com.azure.messaging.servicebus.ServiceBusException;
import com.azure.messaging.servicebus.ServiceBusFailureReason;
import com.azure.messaging.servicebus.ServiceBusProcessorClient;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceivedMessageContext;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.administration.models.CreateQueueOptions;
import com.azure.messaging.servicebus.models.DeadLetterOptions;
import com.azure.messaging.servicebus.models.ServiceBusReceiveMode;
import com.azure.messaging.servicebus.models.SubQueue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Processors, with and without sessions. */
final class Processors {
  /** What the handlers of a processor see. */
  private static final class Seen implements Consumer<ServiceBusReceivedMessageContext> {
    final List<ServiceBusReceivedMessage> messages = Collections.synchronizedList(new ArrayList<>());
    final List<ServiceBusErrorContext> errors = Collections.synchronizedList(new ArrayList<>());
    private final Consumer<ServiceBusReceivedMessageContext> work;

    Seen(Consumer<ServiceBusReceivedMessageContext> work) {
      this.work = work;
    }

    @Override
    public void accept(ServiceBusReceivedMessageContext context) {
      work.accept(context);
      messages.add(context.getMessage());
    }

    List<String> bodies() {
      return Case.bodies(List.copyOf(messages));
    }

    void await(int count) throws Exception {
      Case.eventually(count + " are processed", () -> messages.size() >= count);
      Case.same(messages.size(), count, "messages");
    }
  }

  private static Seen started(
      Case t, String queue, Consumer<ServiceBusClientBuilder.ServiceBusProcessorClientBuilder> options,
      Consumer<ServiceBusReceivedMessageContext> work) {
    Seen seen = new Seen(work);
    var b = t.shared().processor().queueName(queue).processMessage(seen).processError(seen.errors::add);
    options.accept(b);
    t.closed(b.buildProcessorClient()).start();
    return seen;
  }

  private static Seen sessions(Case t, String queue, Consumer<ServiceBusClientBuilder.ServiceBusSessionProcessorClientBuilder> options,
      Consumer<ServiceBusReceivedMessageContext> work) {
    Seen seen = new Seen(work);
    var b = t.shared().sessionProcessor().queueName(queue).processMessage(seen).processError(seen.errors::add);
    options.accept(b);
    t.closed(b.buildProcessorClient()).start();
    return seen;
  }

  private static void pause(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String filled(Case t, int count) {
    String queue = t.queue();
    t.send(queue, Case.numbered(count));
    return queue;
  }

  @Test
  static void completesByItself(Case t) throws Exception {
    String queue = filled(t, 20);
    Seen seen = started(t, queue, b -> {}, c -> {});
    seen.await(20);
    t.send(queue, Case.message("another"));
    seen.await(21);
    Case.same(seen.bodies().subList(0, 20), Case.texts(0, 20), "bodies");
    ServiceBusReceiverClient other = t.receiver(queue);
    Case.eventually("all are completed", () -> Case.browse(other).isEmpty());
    Case.same(seen.errors, List.of(), "errors");
  }

  @Test
  static void stopAndStart(Case t) throws Exception {
    String queue = filled(t, 1);
    Seen seen = new Seen(c -> {});
    ServiceBusProcessorClient processor = t.closed(
        t.shared().processor().queueName(queue).processMessage(seen).processError(seen.errors::add).buildProcessorClient());
    processor.start();
    seen.await(1);
    processor.stop();
    Case.same(processor.isRunning(), false, "running");
    processor.start();
    t.send(queue, Case.message("x"));
    seen.await(2);
    Case.same(List.of(processor.isRunning(), processor.getQueueName(), seen.bodies()), List.of(true, queue, List.of("0", "x")),
        "processor");
    processor.close();
    t.send(queue, Case.message("after the end"));
    Case.same(Case.body(Case.one(t.receiver(queue))), "after the end", "body");
  }

  @Test
  static void settlesEachMessage(Case t) throws Exception {
    String queue = filled(t, 4);
    Seen seen = started(t, queue, b -> b.disableAutoComplete(), c -> {
      switch (Case.body(c.getMessage())) {
        case "0" -> c.complete();
        case "1" -> c.deadLetter(new DeadLetterOptions().setDeadLetterReason("r"));
        case "2" -> c.defer();
        default -> {
          if (c.getMessage().getDeliveryCount() == 0) {
            c.abandon();
          } else {
            c.complete();
          }
        }
      }
    });
    seen.await(5);
    Case.same(seen.messages.get(4).getDeliveryCount(), 1L, "delivery count");
    Case.same(Case.one(t.deadLetters(queue)).getDeadLetterReason(), "r", "reason");
    ServiceBusReceiverClient other = t.receiver(queue);
    Case.same(Case.body(other.receiveDeferredMessage(seen.messages.get(2).getSequenceNumber())), "2", "deferred");
    Case.same(Case.bodies(Case.browse(other)), List.of("2"), "peeked");
  }

  @Test
  static void concurrentCalls(Case t) throws Exception {
    String queue = filled(t, 12);
    CountDownLatch atOnce = new CountDownLatch(4);
    AtomicInteger running = new AtomicInteger(), most = new AtomicInteger();
    Seen seen = started(t, queue, b -> b.maxConcurrentCalls(4), c -> {
      most.accumulateAndGet(running.incrementAndGet(), Math::max);
      atOnce.countDown();
      try {
        Case.holds(atOnce.await(Case.LONGEST.toSeconds(), TimeUnit.SECONDS), "four calls never run at once");
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      running.decrementAndGet();
    });
    seen.await(12);
    Case.same(List.of(most.get(), seen.errors), List.of(4, List.of()), "calls at once and errors");
  }

  @Test
  static void handlerThatFails(Case t) {
    String queue = t.queue(new CreateQueueOptions().setMaxDeliveryCount(2));
    t.send(queue, Case.message("x"));
    Seen seen = started(t, queue, b -> {}, c -> {
      throw new IllegalStateException("the handler fails");
    });
    Case.same(Case.one(t.deadLetters(queue)).getDeadLetterReason(), "MaxDeliveryCountExceeded", "reason");
    Case.same(seen.errors.stream().map(e -> e.getErrorSource().toString()).toList(), List.of("USER_CALLBACK", "USER_CALLBACK"), "errors");
  }

  @Test
  static void receiveAndDelete(Case t) throws Exception {
    String queue = filled(t, 10);
    Seen seen = started(t, queue, b -> b.receiveMode(ServiceBusReceiveMode.RECEIVE_AND_DELETE), c -> {});
    seen.await(10);
    Case.same(List.of(seen.bodies(), Case.browse(t.receiver(queue)), seen.errors), List.of(Case.texts(0, 10), List.of(), List.of()),
        "bodies, peeked and errors");
  }

  @Test
  static void prefetch(Case t) throws Exception {
    String queue = filled(t, 30);
    Seen seen = started(t, queue, b -> b.prefetchCount(10), c -> {});
    seen.await(30);
    Case.same(seen.bodies(), Case.texts(0, 30), "bodies");
  }

  @Test
  static void deadLetters(Case t) throws Exception {
    String queue = filled(t, 3);
    ServiceBusReceiverClient receiver = t.receiver(queue);
    Case.take(receiver, 3).forEach(receiver::deadLetter);
    Seen seen = started(t, queue, b -> b.subQueue(SubQueue.DEAD_LETTER_QUEUE), c -> {});
    seen.await(3);
    Case.same(seen.bodies(), Case.texts(0, 3), "bodies");
  }

  @Test
  static void renewsLocks(Case t) throws Exception {
    String queue = t.queue(new CreateQueueOptions().setLockDuration(Duration.ofSeconds(5)));
    t.send(queue, Case.message("x"));
    Seen seen = started(t, queue, b -> {}, c -> pause(12_000));
    seen.await(1);
    ServiceBusReceiverClient other = t.receiver(queue);
    Case.eventually("it is completed", () -> Case.browse(other).isEmpty());
    Case.same(List.of(seen.messages.get(0).getDeliveryCount(), seen.errors), List.of(0L, List.of()), "delivery count and errors");
  }

  @Test
  static void missingQueue(Case t) throws Exception {
    Seen seen = started(t, t.path(), b -> {}, c -> {});
    Case.eventually("an error is reported", () -> !seen.errors.isEmpty());
    Case.same(((ServiceBusException) seen.errors.get(0).getException()).getReason(), ServiceBusFailureReason.MESSAGING_ENTITY_NOT_FOUND,
        "reason");
  }

  @Test
  static void subscriptions(Case t) throws Exception {
    String topic = t.topic("a", "b");
    Map<String, Seen> all = new ConcurrentHashMap<>();
    for (String name : List.of("a", "b")) {
      Seen seen = new Seen(c -> {});
      all.put(name, seen);
      t.closed(t.shared().processor().topicName(topic).subscriptionName(name).processMessage(seen).processError(seen.errors::add)
          .buildProcessorClient()).start();
    }
    t.send(topic, Case.numbered(10));
    for (Seen seen : all.values()) {
      seen.await(10);
      Case.same(seen.bodies(), Case.texts(0, 10), "bodies");
    }
  }

  @Test
  static void manySessions(Case t) throws Exception {
    String queue = t.sessions();
    for (int i = 0; i < 5; i++) {
      for (int s = 0; s < 6; s++) {
        t.send(queue, Case.of("s" + s, "" + i));
      }
    }
    Map<String, AtomicInteger> running = new ConcurrentHashMap<>();
    Seen seen = sessions(t, queue, b -> b.maxConcurrentSessions(3).sessionIdleTimeout(Duration.ofSeconds(1)), c -> {
      AtomicInteger of = running.computeIfAbsent(c.getMessage().getSessionId(), s -> new AtomicInteger());
      Case.same(of.incrementAndGet(), 1, "calls at once for a session");
      of.decrementAndGet();
    });
    seen.await(30);
    for (int s = 0; s < 6; s++) {
      String id = "s" + s;
      Case.same(Case.bodies(seen.messages.stream().filter(m -> m.getSessionId().equals(id)).toList()), Case.texts(0, 5), "bodies of " + id);
    }
  }

  @Test
  static void settlesInSessions(Case t) throws Exception {
    String queue = t.sessions();
    t.send(queue, Case.of("a", "0"), Case.of("a", "1"), Case.of("a", "2"));
    Seen seen = sessions(t, queue, b -> b.maxConcurrentSessions(1).disableAutoComplete(), c -> {
      switch (Case.body(c.getMessage())) {
        case "0" -> c.complete();
        case "1" -> c.deadLetter();
        default -> c.defer();
      }
    });
    seen.await(3);
    Case.same(List.of(seen.bodies(), Case.body(Case.one(t.deadLetters(queue)))), List.of(Case.texts(0, 3), "1"), "bodies and dead letter");
  }

  @Test
  static void concurrentCallsInASession(Case t) throws Exception {
    String queue = t.sessions();
    for (String text : Case.texts(0, 6)) {
      t.send(queue, Case.of("a", text));
    }
    CountDownLatch atOnce = new CountDownLatch(2);
    Seen seen = sessions(t, queue, b -> b.maxConcurrentSessions(1).maxConcurrentCalls(2), c -> {
      atOnce.countDown();
      try {
        Case.holds(atOnce.await(Case.LONGEST.toSeconds(), TimeUnit.SECONDS), "two calls never run at once");
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    });
    seen.await(6);
    Case.same(new HashSet<>(seen.bodies()), new HashSet<>(Case.texts(0, 6)), "bodies");
  }

  @Test
  static void renewsSessions(Case t) throws Exception {
    String queue = t.queue(new CreateQueueOptions().setSessionRequired(true).setLockDuration(Duration.ofSeconds(5)));
    t.send(queue, Case.of("a", "x"));
    Seen seen = sessions(t, queue, b -> b.maxConcurrentSessions(1), c -> pause(12_000));
    seen.await(1);
    Case.same(List.of(seen.messages.get(0).getDeliveryCount(), seen.errors), List.of(0L, List.of()), "delivery count and errors");
  }
}
