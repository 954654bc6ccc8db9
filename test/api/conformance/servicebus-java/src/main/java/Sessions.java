import static com.azure.messaging.servicebus.ServiceBusFailureReason.GENERAL_ERROR;
import static com.azure.messaging.servicebus.ServiceBusFailureReason.SESSION_CANNOT_BE_LOCKED;
import static com.azure.messaging.servicebus.ServiceBusFailureReason.SESSION_LOCK_LOST;

import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverAsyncClient;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.ServiceBusSessionReceiverAsyncClient;
import com.azure.messaging.servicebus.ServiceBusSessionReceiverClient;
import com.azure.messaging.servicebus.administration.models.CreateQueueOptions;
import com.azure.messaging.servicebus.models.AbandonOptions;
import com.azure.messaging.servicebus.models.DeadLetterOptions;
import com.azure.messaging.servicebus.models.ServiceBusMessageState;
import com.azure.messaging.servicebus.models.ServiceBusReceiveMode;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/** Sessions: accept, state, locks. */
final class Sessions {
  private static String brief(Case t, int seconds) {
    return t.queue(new CreateQueueOptions().setSessionRequired(true).setLockDuration(Duration.ofSeconds(seconds)));
  }

  private static ServiceBusClientBuilder.ServiceBusSessionReceiverClientBuilder unrenewed(ServiceBusClientBuilder b, String queue) {
    return b.sessionReceiver().queueName(queue).maxAutoLockRenewDuration(Duration.ZERO);
  }

  private static ServiceBusSessionReceiverClient accepting(Case t, String queue) {
    return t.closed(unrenewed(t.shared(), queue).buildClient());
  }

  @Test
  static void byId(Case t) throws Exception {
    String queue = t.sessions();
    t.send(queue, Case.of("a", "a1"), Case.of("b", "b1"), Case.of("a", "a2"));
    ServiceBusReceiverClient receiver = t.session(queue, "a");
    Case.same(receiver.getSessionId(), "a", "session");
    List<ServiceBusReceivedMessage> got = Case.drain(receiver, 2);
    Case.same(Case.bodies(got), List.of("a1", "a2"), "bodies");
    Case.same(List.of(got.get(0).getSessionId(), got.get(0).getDeliveryCount()), List.of("a", 0L), "message");
  }

  @Test
  static void nextAvailable(Case t) {
    String queue = t.sessions();
    t.send(queue, Case.of("a", "a1"), Case.of("a", "a2"), Case.of("b", "b1"));
    Map<String, List<String>> found = new TreeMap<>();
    for (int i = 0; i < 2; i++) {
      ServiceBusReceiverClient receiver = t.next(queue);
      found.put(receiver.getSessionId(), Case.bodies(receiver.receiveMessages(5, Duration.ofSeconds(5))));
    }
    Case.same(found, Map.of("a", List.of("a1", "a2"), "b", List.of("b1")), "sessions");
  }

  @Test
  static void nextComesLater(Case t) throws Exception {
    String queue = t.sessions();
    var coming = CompletableFuture.supplyAsync(() -> t.next(queue));
    Thread.sleep(2000);
    t.send(queue, Case.of("late", "x"));
    Case.same(List.of(coming.get().getSessionId(), Case.body(Case.one(coming.get()))), List.of("late", "x"), "session and body");
  }

  @Test
  static void sessionWithoutMessages(Case t) throws Exception {
    String queue = t.sessions();
    ServiceBusReceiverClient receiver = t.session(queue, "empty");
    Case.nothing(receiver);
    t.send(queue, Case.of("other", "y"), Case.of("empty", "x"));
    Case.same(Case.bodies(receiver.receiveMessages(5, Case.LONG)), List.of("x"), "bodies");
  }

  @Test
  static void heldSession(Case t) throws Exception {
    String queue = t.sessions();
    t.send(queue, Case.of("a", "x"));
    ServiceBusReceiverClient holder = accepting(t, queue).acceptSession("a");
    // The SDK has one link for a session of a connection, so the other has another connection.
    ServiceBusSessionReceiverClient other = t.closed(unrenewed(Case.builder(Case.ENDPOINTS.get(0)), queue).buildClient());
    Case.refused(SESSION_CANNOT_BE_LOCKED, () -> other.acceptSession("a"));
    holder.close();
    Case.same(Case.body(Case.one(t.session(queue, "a"))), "x", "body");
  }

  @Test
  static void noSessionIsAvailable(Case t) {
    String queue = t.sessions();
    ServiceBusClientBuilder hasty = Case.builder(t.endpoint()).retryOptions(Case.retries(0, Case.SOON));
    ServiceBusSessionReceiverClient accepting = t.closed(unrenewed(hasty, queue).buildClient());
    Case.rejected(RuntimeException.class, accepting::acceptNextSession);
    t.send(queue, Case.of("a", "x"));
    Case.same(t.closed(accepting.acceptNextSession()).getSessionId(), "a", "session");
  }

  @Test
  static void wrongReceivers(Case t) {
    String with = t.sessions(), without = t.queue();
    Case.failed(() -> t.receiver(with).receiveMessages(1, Case.LONG).stream().toList(), "non-sessionful message receiver");
    Case.failed(() -> accepting(t, without).acceptNextSession(), "sessionful message receiver cannot be created");
  }

  @Test
  static void messagesWithoutASession(Case t) throws Exception {
    String queue = t.sessions(), text = "The SessionId was not set";
    ServiceBusSenderClient sender = t.sender(queue);
    Case.refused(GENERAL_ERROR, () -> sender.sendMessage(Case.message("x")), text);
    Case.refused(GENERAL_ERROR, () -> sender.sendMessages(List.of(Case.of("a", "y"), Case.message("x"))), text);
    Case.refused(GENERAL_ERROR, () -> sender.scheduleMessage(Case.message("x"), Case.later(3600)), text);
    Case.same(Case.browse(t.session(queue, "a")), List.of(), "peeked");
  }

  @Test
  static void state(Case t) throws Exception {
    String queue = t.sessions();
    ServiceBusReceiverClient receiver = accepting(t, queue).acceptSession("a");
    Case.same(receiver.getSessionState(), null, "first state");
    byte[] bytes = new byte[200_000];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) i;
    }
    receiver.setSessionState("é".getBytes(StandardCharsets.UTF_8));
    receiver.setSessionState(bytes);
    receiver.close();
    ServiceBusReceiverClient again = t.session(queue, "a");
    Case.holds(Arrays.equals(again.getSessionState(), bytes), "the state of an empty session is lost");
    Case.same(t.session(queue, "b").getSessionState(), null, "state of another session");
    again.setSessionState(null);
    Case.same(again.getSessionState(), null, "cleared state");
  }

  @Test
  static void renewal(Case t) throws Exception {
    String queue = brief(t, 5);
    t.send(queue, Case.of("a", "x"));
    ServiceBusReceiverClient receiver = t.session(queue, "a");
    ServiceBusReceivedMessage got = Case.one(receiver);
    OffsetDateTime until = OffsetDateTime.now();
    for (int i = 0; i < 3; i++) {
      Thread.sleep(2500);
      OffsetDateTime renewed = receiver.renewSessionLock();
      Case.holds(renewed.isAfter(until), "locked until " + renewed + ", before until " + until);
      until = renewed;
    }
    receiver.complete(got);
    Case.same(Case.browse(receiver), List.of(), "peeked");
  }

  @Test
  static void renewalForAWhile(Case t) throws Exception {
    String queue = brief(t, 5);
    t.send(queue, Case.of("a", "x"));
    ServiceBusReceiverClient receiver = t.session(queue, "a");
    List<Throwable> errors = new ArrayList<>();
    receiver.renewSessionLock(Duration.ofSeconds(30), errors::add);
    ServiceBusReceivedMessage got = Case.one(receiver);
    Thread.sleep(12_000);
    receiver.complete(got);
    Case.same(errors, List.of(), "errors");
  }

  @Test
  static void automaticRenewal(Case t) throws Exception {
    String queue = brief(t, 5);
    t.send(queue, Case.of("a", "x"));
    ServiceBusReceiverClient receiver = t.closed(
        t.closed(t.shared().sessionReceiver().queueName(queue).buildClient()).acceptSession("a"));
    ServiceBusReceivedMessage got = Case.one(receiver);
    Thread.sleep(12_000);
    receiver.complete(got);
    Case.same(receiver.getSessionState(), null, "state");
  }

  @Test
  static void lostLocks(Case t) throws Exception {
    String queue = brief(t, 5);
    t.send(queue, Case.of("a", "x"));
    ServiceBusReceiverClient loser = t.session(queue, "a");
    ServiceBusReceivedMessage got = Case.one(loser);
    // Another connection, as the names of the links are the same.
    ServiceBusReceiverClient holder = t.session(unrenewed(Case.builder(t.endpoint()), queue), "a");
    Case.refused(SESSION_LOCK_LOST, loser::renewSessionLock);
    Case.refused(SESSION_LOCK_LOST, loser::getSessionState);
    Case.refused(SESSION_LOCK_LOST, () -> loser.setSessionState(new byte[1]));
    Case.rejected(RuntimeException.class, () -> loser.complete(got));
    ServiceBusReceivedMessage again = Case.one(holder);
    Case.same(List.of(Case.body(again), again.getDeliveryCount()), List.of("x", 1L), "message");
    holder.complete(again);
  }

  @Test
  static void closedWithoutSettling(Case t) throws Exception {
    String queue = t.sessions();
    t.send(queue, Case.of("a", "x"), Case.of("a", "y"));
    ServiceBusReceiverClient first = accepting(t, queue).acceptSession("a");
    Case.take(first, 2);
    first.close();
    for (ServiceBusReceivedMessage m : Case.take(t.session(queue, "a"), 2)) {
      Case.same(m.getDeliveryCount(), 0L, "delivery count");
    }
  }

  @Test
  static void abandon(Case t) throws Exception {
    String queue = t.sessions();
    t.send(queue, Case.of("a", "x"), Case.of("a", "y"));
    ServiceBusReceiverClient receiver = t.session(queue, "a");
    receiver.abandon(Case.one(receiver), new AbandonOptions().setPropertiesToModify(Map.of("added", 1)));
    List<ServiceBusReceivedMessage> got = Case.take(receiver, 2);
    Case.same(List.of(Case.bodies(got), got.get(0).getDeliveryCount(), got.get(0).getApplicationProperties()),
        List.of(List.of("x", "y"), 1L, Map.of("added", 1)), "messages");
  }

  @Test
  static void deadLetter(Case t) throws Exception {
    String queue = t.queue(new CreateQueueOptions().setSessionRequired(true).setMaxDeliveryCount(1));
    t.send(queue, Case.of("a", "x"), Case.of("a", "y"), Case.of("a", "z"));
    ServiceBusReceiverClient receiver = t.session(queue, "a");
    receiver.deadLetter(Case.one(receiver), new DeadLetterOptions().setDeadLetterReason("r"));
    receiver.abandon(Case.one(receiver));
    Case.same(Case.body(Case.one(receiver)), "z", "body");
    List<Object> dead = new ArrayList<>();
    Case.take(t.deadLetters(queue), 2).forEach(m -> dead.addAll(List.of(Case.body(m), m.getSessionId(), m.getDeadLetterReason())));
    Case.same(dead, List.of("x", "a", "r", "y", "a", "MaxDeliveryCountExceeded"), "dead letters");
  }

  @Test
  static void defer(Case t) throws Exception {
    String queue = t.sessions();
    t.send(queue, Case.of("a", "x"), Case.of("a", "y"));
    ServiceBusReceiverClient first = accepting(t, queue).acceptSession("a");
    ServiceBusReceivedMessage got = Case.one(first);
    first.defer(got);
    Case.same(Case.body(Case.one(first)), "y", "body");
    first.close();
    ServiceBusReceiverClient other = t.session(queue, "b");
    Case.same(other.receiveDeferredMessageBatch(List.of(got.getSequenceNumber())).stream().toList(), List.of(),
        "messages of another session");
    ServiceBusReceiverClient receiver = t.session(queue, "a");
    ServiceBusReceivedMessage back = receiver.receiveDeferredMessage(got.getSequenceNumber());
    Case.same(List.of(Case.body(back), back.getSessionId(), back.getState()), List.of("x", "a", ServiceBusMessageState.DEFERRED),
        "message");
    receiver.complete(back);
    Case.same(Case.bodies(Case.browse(receiver)), List.of("y"), "peeked");
  }

  @Test
  static void peek(Case t) throws Exception {
    String queue = t.sessions();
    t.send(queue, Case.of("a", "a1"), Case.of("b", "b1"), Case.of("a", "a2"));
    ServiceBusReceiverClient receiver = t.session(queue, "a");
    Case.same(Case.body(receiver.peekMessage()), "a1", "first");
    Case.same(Case.bodies(receiver.peekMessages(5)), List.of("a2"), "next");
    Case.same(Case.bodies(Case.browse(receiver)), List.of("a1", "a2"), "peeked");
  }

  @Test
  static void receiveAndDelete(Case t) throws Exception {
    String queue = t.sessions();
    t.send(queue, Case.of("a", "x"), Case.of("a", "y"));
    ServiceBusReceiverClient receiver =
        t.session(t.shared().sessionReceiver().queueName(queue).receiveMode(ServiceBusReceiveMode.RECEIVE_AND_DELETE), "a");
    Case.same(Case.bodies(Case.take(receiver, 2)), List.of("x", "y"), "bodies");
    Case.same(Case.browse(receiver), List.of(), "peeked");
  }

  @Test
  static void ids(Case t) throws Exception {
    String queue = t.sessions();
    for (String id : List.of("世界", "é".repeat(128), "a b", "A", "a", "a/b")) {
      t.send(queue, Case.of(id, "of " + id));
      ServiceBusReceiverClient receiver = t.session(queue, id);
      Case.same(List.of(receiver.getSessionId(), Case.body(Case.one(receiver))), List.of(id, "of " + id), "session");
    }
  }

  @Test
  static void asynchronously(Case t) {
    String queue = t.sessions();
    t.send(queue, Case.of("a", "x"), Case.of("b", "y"));
    ServiceBusSessionReceiverAsyncClient accepting =
        t.closed(t.shared().sessionReceiver().queueName(queue).disableAutoComplete().buildAsyncClient());
    ServiceBusReceiverAsyncClient a = t.closed(accepting.acceptSession("a").block(Case.LONGEST));
    ServiceBusReceiverAsyncClient b = t.closed(accepting.acceptNextSession().block(Case.LONGEST));
    Case.same(List.of(a.getSessionId(), b.getSessionId()), List.of("a", "b"), "sessions");
    a.setSessionState(new byte[] {1}).block(Case.LONGEST);
    Case.same(a.getSessionState().block(Case.LONGEST), new byte[] {1}, "state");
    Case.holds(a.renewSessionLock().block(Case.LONGEST).isAfter(OffsetDateTime.now()), "the lock ends");
    // The end of the subscription closes the link.
    Case.same(a.receiveMessages().concatMap(m -> a.complete(m).thenReturn(Case.body(m))).blockFirst(Case.LONGEST), "x", "body");
  }
}
