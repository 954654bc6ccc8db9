import static com.azure.messaging.servicebus.ServiceBusFailureReason.MESSAGING_ENTITY_NOT_FOUND;

import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusProcessorClient;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverAsyncClient;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.administration.models.CreateQueueOptions;

import reactor.core.publisher.Flux;
import reactor.util.retry.Retry;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Connections that are lost, and several nodes. */
final class Connections {
  private static ServiceBusClientBuilder behind(Proxy way) {
    return Case.builder(way.endpoint()).retryOptions(Case.retries(5, Duration.ofSeconds(10)));
  }

  private static Proxy proxy(Case t) throws Exception {
    return t.closed(new Proxy(Case.ENDPOINTS.get(0)));
  }

  @Test
  static void missingQueues(Case t) {
    ServiceBusSenderClient sender = t.sender(t.path());
    Case.refused(MESSAGING_ENTITY_NOT_FOUND, () -> sender.sendMessage(Case.message("")));
    Case.refused(MESSAGING_ENTITY_NOT_FOUND, sender::createMessageBatch);
    Case.refused(MESSAGING_ENTITY_NOT_FOUND, () -> t.next(t.path()));
  }

  @Test
  static void receiverIsMadeAgain(Case t) throws Exception {
    String queue = t.queue(), body = "x";
    CountDownLatch failed = new CountDownLatch(1);
    CompletableFuture<String> got = Flux.using(
        () -> t.shared().receiver().queueName(queue).disableAutoComplete().buildAsyncClient(),
        receiver -> receiver.receiveMessages().concatMap(m -> receiver.complete(m).thenReturn(Case.body(m))),
        ServiceBusReceiverAsyncClient::close)
        .doOnError(e -> failed.countDown())
        .retryWhen(Retry.fixedDelay(Long.MAX_VALUE, Case.BRIEF)).next().toFuture();
    t.administration().deleteQueue(queue);
    Case.holds(failed.await(Case.LONGEST.toSeconds(), TimeUnit.SECONDS), "the receiver does not fail");
    t.administration().createQueue(queue);
    t.send(queue, Case.message(body));
    Case.same(got.get(Case.LONGEST.toSeconds(), TimeUnit.SECONDS), body, "body");
  }

  @Test
  static void namesInAnyCase(Case t) {
    String queue = t.queue();
    t.send(queue.toUpperCase(Locale.ROOT), Case.message("x"));
    Case.same(Case.body(Case.one(t.receiver(queue))), "x", "body");
  }

  @Test
  static void everyNodeServesEveryQueue(Case t) {
    String queue = t.queue();
    for (String endpoint : Case.ENDPOINTS) {
      t.closed(Case.builder(endpoint).sender().queueName(queue).buildClient()).sendMessage(Case.message(endpoint));
    }
    for (String endpoint : Case.ENDPOINTS) {
      ServiceBusReceiverClient receiver = t.closed(Case.builder(endpoint).receiver().queueName(queue).buildClient());
      ServiceBusReceivedMessage got = Case.one(receiver);
      Case.same(Case.body(got), endpoint, "body");
      receiver.complete(got);
    }
    Case.same(Case.browse(t.receiver(queue)), List.of(), "peeked");
  }

  @Test
  static void completedAtAnotherNode(Case t) {
    String queue = t.queue();
    t.send(queue, Case.message("x"));
    ServiceBusReceiverClient first = t.closed(Case.builder(Case.ENDPOINTS.get(0)).receiver().queueName(queue).buildClient());
    ServiceBusReceivedMessage got = Case.one(first);
    first.close();
    String last = Case.ENDPOINTS.get(Case.ENDPOINTS.size() - 1);
    ServiceBusReceiverClient other = t.closed(Case.builder(last).receiver().queueName(queue).buildClient());
    other.renewMessageLock(got);
    other.complete(got);
    Case.same(Case.browse(other), List.of(), "peeked");
  }

  @Test
  static void manyLinksOfOneConnection(Case t) {
    List<CompletableFuture<Void>> running = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      running.add(CompletableFuture.runAsync(() -> {
        String queue = t.queue();
        t.sender(queue).sendMessage(Case.message(queue));
        Case.same(Case.bodies(t.drain(queue, 1)), List.of(queue), "bodies");
      }));
    }
    running.forEach(CompletableFuture::join);
  }

  @Test
  static void senderOpensAConnectionAgain(Case t) throws Exception {
    String queue = t.queue();
    Proxy way = proxy(t);
    ServiceBusSenderClient sender = t.closed(behind(way).sender().queueName(queue).buildClient());
    for (ServiceBusMessage m : Case.numbered(6)) {
      sender.sendMessage(m);
      way.cut();
    }
    Case.same(Case.bodies(t.drain(queue, 6)), Case.texts(0, 6), "bodies");
  }

  @Test
  static void senderResendsUnderItsMessageId(Case t) throws Exception {
    String queue = t.queue(new CreateQueueOptions().setDuplicateDetectionRequired(true));
    Proxy way = proxy(t);
    ServiceBusSenderClient sender = t.closed(behind(way).sender().queueName(queue).buildClient());
    ServiceBusMessage[] messages = Case.numbered(100);
    for (int i = 0; i < messages.length; i++) {
      if (i % 40 == 10) {
        CompletableFuture.runAsync(way::cut); // during the send
      }
      sender.sendMessage(messages[i]);
    }
    Case.same(Case.bodies(t.drain(queue, 100)), Case.texts(0, 100), "bodies");
  }

  @Test
  static void receiverOpensAConnectionAgain(Case t) throws Exception {
    String queue = t.queue();
    Proxy way = proxy(t);
    ServiceBusReceiverClient receiver = t.closed(behind(way).receiver().queueName(queue).buildClient());
    for (String text : Case.texts(0, 3)) {
      t.send(queue, Case.message(text));
      ServiceBusReceivedMessage got = Case.one(receiver);
      Case.same(Case.body(got), text, "body");
      receiver.complete(got);
      way.cut();
    }
  }

  @Test
  static void processorOpensAConnectionAgain(Case t) throws Exception {
    String queue = t.queue();
    Proxy way = proxy(t);
    Set<String> got = ConcurrentHashMap.newKeySet();
    ServiceBusProcessorClient processor = t.closed(behind(way).processor().queueName(queue)
        .processMessage(c -> got.add(Case.body(c.getMessage()))).processError(e -> {}).buildProcessorClient());
    processor.start();
    for (String text : Case.texts(0, 3)) {
      t.send(queue, Case.message(text));
      Case.eventually("message " + text + " comes", () -> got.contains(text));
      way.cut();
    }
  }

  @Test
  static void managementLinkOpensAConnectionAgain(Case t) throws Exception {
    String queue = t.queue();
    t.send(queue, Case.numbered(3));
    Proxy way = proxy(t);
    ServiceBusReceiverClient receiver = t.closed(behind(way).receiver().queueName(queue).buildClient());
    for (String text : Case.texts(0, 3)) {
      // The SDK repeats no call that fails with the link.
      Case.eventually("a message is peeked", () -> {
        String[] peeked = {""};
        return Case.failure(() -> peeked[0] = Case.body(receiver.peekMessage())) == null && peeked[0].equals(text);
      });
      way.cut();
    }
  }

  @Test
  static void sessionEndsWithItsConnection(Case t) throws Exception {
    String queue = t.sessions();
    t.send(queue, Case.of("s", "x"));
    Proxy way = proxy(t);
    ServiceBusReceiverClient lost =
        t.closed(t.closed(Case.builder(way.endpoint()).sessionReceiver().queueName(queue).buildClient()).acceptSession("s"));
    ServiceBusReceivedMessage got = Case.one(lost);
    way.cut();
    ServiceBusReceivedMessage again = Case.one(t.session(queue, "s"));
    Case.same(List.of(Case.body(again), again.getDeliveryCount()), List.of("x", 0L), "message");
    Case.rejected(RuntimeException.class, () -> lost.complete(got));
  }

  @Test
  static void noNodeListens(Case t) throws Exception {
    Proxy way = new Proxy(Case.ENDPOINTS.get(0));
    way.close();
    ServiceBusSenderClient sender =
        t.closed(Case.builder(way.endpoint()).retryOptions(Case.retries(0, Duration.ofSeconds(5))).sender().queueName("q").buildClient());
    Case.rejected(RuntimeException.class, () -> sender.sendMessage(Case.message("")));
  }
}
