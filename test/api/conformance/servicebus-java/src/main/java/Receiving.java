import static com.azure.messaging.servicebus.ServiceBusFailureReason.MESSAGING_ENTITY_NOT_FOUND;

import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverAsyncClient;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.administration.models.CreateQueueOptions;
import com.azure.messaging.servicebus.models.ServiceBusMessageState;
import com.azure.messaging.servicebus.models.ServiceBusReceiveMode;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Receivers in both modes, and peeks. */
final class Receiving {
  private static String filled(Case t, int count) {
    String queue = t.queue();
    t.send(queue, Case.numbered(count));
    return queue;
  }

  @Test
  static void nothing(Case t) {
    ServiceBusReceiverClient receiver = t.receiver(t.queue());
    Case.nothing(receiver);
    Case.nothing(receiver, Duration.ofMillis(50));
  }

  @Test
  static void atMostTheCount(Case t) {
    ServiceBusReceiverClient receiver = t.receiver(filled(t, 10));
    Case.same(Case.bodies(Case.take(receiver, 3)), Case.texts(0, 3), "bodies");
    Case.same(Case.bodies(Case.take(receiver, 7)), Case.texts(3, 10), "bodies");
    Case.nothing(receiver);
  }

  @Test
  static void moreThanThereAre(Case t) {
    String queue = filled(t, 3);
    ServiceBusReceiverClient receiver = t.receiver(queue);
    Case.same(Case.bodies(receiver.receiveMessages(50, Case.LONG)), Case.texts(0, 3), "bodies");
    t.send(queue, Case.message("later"));
    Case.same(Case.bodies(receiver.receiveMessages(50, Case.LONG)), List.of("later"), "bodies");
  }

  @Test
  static void messageThatComesLater(Case t) throws Exception {
    String queue = t.queue();
    ServiceBusReceiverClient receiver = t.receiver(queue);
    var coming = CompletableFuture.supplyAsync(() -> Case.bodies(receiver.receiveMessages(5)));
    Thread.sleep(2000);
    t.send(queue, Case.message("x"));
    Case.same(coming.get(), List.of("x"), "bodies");
  }

  @Test
  static void receiveAndDelete(Case t) {
    String queue = filled(t, 5);
    ServiceBusReceiverClient receiver = t.deleting(queue);
    List<ServiceBusReceivedMessage> got = Case.take(receiver, 5);
    Case.same(Case.bodies(got), Case.texts(0, 5), "bodies");
    Case.rejected(UnsupportedOperationException.class, () -> receiver.complete(got.get(0)));
    Case.same(Case.browse(receiver), List.of(), "peeked");
    t.send(queue, Case.message("x"));
    Case.same(Case.body(Case.one(receiver)), "x", "body");
  }

  @Test
  static void deleteNoMoreThanAsked(Case t) {
    ServiceBusReceiverClient receiver = t.deleting(filled(t, 10));
    Case.same(Case.bodies(Case.take(receiver, 4)), Case.texts(0, 4), "bodies");
    Case.same(Case.bodies(Case.browse(receiver)), Case.texts(4, 10), "peeked");
  }

  @Test
  static void lockedForOthers(Case t) {
    String queue = t.queue(new CreateQueueOptions().setLockDuration(Case.SOON));
    t.send(queue, Case.message("x"));
    Case.same(Case.one(t.receiver(queue)).getDeliveryCount(), 0L, "delivery count");
    ServiceBusReceiverClient second = t.receiver(queue);
    ServiceBusReceivedMessage again = Case.one(second);
    Case.same(again.getDeliveryCount(), 1L, "delivery count");
    second.complete(again);
  }

  @Test
  static void locksOutliveTheirReceiver(Case t) {
    String queue = t.queue(new CreateQueueOptions().setLockDuration(Case.LONG));
    t.send(queue, Case.message("x"));
    ServiceBusReceiverClient first = t.receiver(queue), second = t.receiver(queue);
    Case.one(first);
    first.close();
    Case.nothing(second, Duration.ofSeconds(3));
    Case.same(Case.one(second).getDeliveryCount(), 1L, "delivery count");
  }

  @Test
  static void competing(Case t) {
    String queue = filled(t, 60);
    List<String> got = Collections.synchronizedList(new ArrayList<>());
    List<CompletableFuture<Void>> running = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      ServiceBusReceiverClient receiver = t.receiver(queue);
      running.add(CompletableFuture.runAsync(() -> {
        while (true) {
          List<ServiceBusReceivedMessage> some = receiver.receiveMessages(5, Case.SOON).stream().toList();
          if (some.isEmpty()) {
            return;
          }
          some.forEach(receiver::complete);
          got.addAll(Case.bodies(some));
        }
      }));
    }
    running.forEach(CompletableFuture::join);
    Case.same(got.size(), 60, "messages");
    Case.same(new HashSet<>(got), new HashSet<>(Case.texts(0, 60)), "bodies");
  }

  @Test
  static void manyInOneReceive(Case t) {
    String queue = t.queue();
    t.sender(queue).sendMessages(List.of(Case.numbered(300)));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    List<ServiceBusReceivedMessage> got = Case.take(receiver, 300);
    Case.same(got.stream().map(ServiceBusReceivedMessage::getLockToken).distinct().count(), 300L, "lock tokens");
    receiver.complete(got.get(0));
    Case.same(Case.bodies(receiver.peekMessages(2, 1)), List.of("1", "2"), "peeked");
  }

  @Test
  static void prefetch(Case t) {
    String queue = filled(t, 20);
    ServiceBusReceiverClient receiver = t.receiver(queue, b -> b.prefetchCount(10));
    for (int i = 0; i < 20; i++) {
      ServiceBusReceivedMessage got = Case.one(receiver);
      Case.same(Case.body(got), "" + i, "body");
      receiver.complete(got);
    }
    Case.same(Case.browse(receiver), List.of(), "peeked");
  }

  @Test
  static void flux(Case t) {
    String queue = filled(t, 20);
    ServiceBusReceiverAsyncClient receiver = t.closed(t.shared().receiver().queueName(queue).disableAutoComplete().buildAsyncClient());
    List<String> got = receiver.receiveMessages().concatMap(m -> receiver.complete(m).thenReturn(Case.body(m))).take(20)
        .collectList().block(Case.LONGEST);
    Case.same(got, Case.texts(0, 20), "bodies");
    Case.same(receiver.peekMessages(5, 1).collectList().block(Case.LONGEST), List.of(), "peeked");
  }

  @Test
  static void fluxThatCompletes(Case t) throws Exception {
    String queue = filled(t, 5);
    ServiceBusReceiverAsyncClient receiver = t.closed(t.shared().receiver().queueName(queue).buildAsyncClient());
    List<String> got = Collections.synchronizedList(new ArrayList<>());
    var running = receiver.receiveMessages().subscribe(m -> got.add(Case.body(m)));
    ServiceBusReceiverClient other = t.receiver(queue);
    Case.eventually("all are completed", () -> Case.browse(other).isEmpty());
    running.dispose();
    Case.same(got, Case.texts(0, 5), "bodies");
  }

  @Test
  static void fluxOfDeletedMessages(Case t) {
    String queue = filled(t, 5);
    ServiceBusReceiverAsyncClient receiver = t.closed(
        t.shared().receiver().queueName(queue).receiveMode(ServiceBusReceiveMode.RECEIVE_AND_DELETE).buildAsyncClient());
    Case.same(receiver.receiveMessages().take(5).map(Case::body).collectList().block(Case.LONGEST), Case.texts(0, 5), "bodies");
    Case.same(Case.browse(t.receiver(queue)), List.of(), "peeked");
  }

  @Test
  static void peek(Case t) {
    String queue = filled(t, 10);
    ServiceBusReceiverClient receiver = t.receiver(queue);
    ServiceBusReceivedMessage first = receiver.peekMessage();
    Case.same(List.of(Case.body(first), first.getState(), first.getDeliveryCount()),
        List.of("0", ServiceBusMessageState.ACTIVE, 0L), "first");
    Case.same(Case.bodies(receiver.peekMessages(3)), Case.texts(1, 4), "next");
    Case.same(Case.bodies(receiver.peekMessages(100)), Case.texts(4, 10), "others");
    Case.same(receiver.peekMessage(), null, "behind the last");
    Case.same(Case.bodies(receiver.peekMessages(2, first.getSequenceNumber() + 2)), List.of("2", "3"), "from the third");
    Case.same(Case.body(receiver.peekMessage(first.getSequenceNumber() + 5)), "5", "the sixth");
    Case.same(Case.bodies(receiver.peekMessages(2, Long.MAX_VALUE / 2)), List.of(), "from a number far behind");
  }

  @Test
  static void peekShowsLockedAndDeferredMessages(Case t) {
    ServiceBusReceiverClient receiver = t.receiver(filled(t, 2));
    List<ServiceBusReceivedMessage> got = Case.take(receiver, 2);
    receiver.defer(got.get(1));
    List<Object> seen = new ArrayList<>();
    Case.browse(receiver).forEach(m -> seen.addAll(List.of(Case.body(m), m.getState())));
    Case.same(seen, List.of("0", ServiceBusMessageState.ACTIVE, "1", ServiceBusMessageState.DEFERRED), "peeked");
  }

  @Test
  static void peekOfLargeMessages(Case t) {
    String queue = t.queue();
    for (int i = 0; i < 6; i++) {
      t.send(queue, new ServiceBusMessage(new byte[400_000]));
    }
    ServiceBusReceiverClient receiver = t.receiver(queue);
    int found = 0;
    for (List<ServiceBusReceivedMessage> got; !(got = receiver.peekMessages(10).stream().toList()).isEmpty();) {
      found += got.size();
    }
    Case.same(found, 6, "messages");
  }

  @Test
  static void missingQueue(Case t) {
    ServiceBusReceiverClient receiver = t.receiver(t.path());
    Case.refused(MESSAGING_ENTITY_NOT_FOUND, () -> receiver.receiveMessages(1, Case.LONG).stream().toList());
    Case.refused(MESSAGING_ENTITY_NOT_FOUND, receiver::peekMessage);
  }

  @Test
  static void closedReceiver(Case t) {
    String queue = filled(t, 1);
    ServiceBusReceiverClient receiver = t.receiver(queue);
    Case.same(receiver.getEntityPath(), queue, "path");
    receiver.close();
    Case.rejected(RuntimeException.class, () -> receiver.receiveMessages(1, Case.BRIEF).stream().toList());
    Case.rejected(IllegalStateException.class, receiver::peekMessage);
    Case.same(Case.one(t.receiver(queue)).getDeliveryCount(), 0L, "delivery count");
  }
}
