import static com.azure.messaging.servicebus.ServiceBusFailureReason.MESSAGE_SIZE_EXCEEDED;
import static com.azure.messaging.servicebus.ServiceBusFailureReason.MESSAGING_ENTITY_NOT_FOUND;

import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusMessageBatch;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.administration.models.CreateSubscriptionOptions;
import com.azure.messaging.servicebus.administration.models.CreateTopicOptions;
import com.azure.messaging.servicebus.models.AbandonOptions;
import com.azure.messaging.servicebus.models.DeadLetterOptions;
import com.azure.messaging.servicebus.models.ServiceBusReceiveMode;
import com.azure.messaging.servicebus.models.SubQueue;

import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Topics and what their subscriptions receive. */
final class Topics {
  private static ServiceBusReceiverClient dead(Case t, String topic, String name) {
    return t.subscription(topic, name, b -> b.subQueue(SubQueue.DEAD_LETTER_QUEUE));
  }

  private static List<String> drained(Case t, String topic, String name, int count) {
    return Case.bodies(Case.drain(t.subscription(topic, name), count));
  }

  @Test
  static void eachSubscriptionHasItsCopy(Case t) {
    String topic = t.topic("a", "b");
    ServiceBusMessage sent = new ServiceBusMessage("é").setMessageId("m-1").setSubject("s-1").setCorrelationId("c-1").setSessionId("g-1");
    sent.getApplicationProperties().put("number", 1);
    ServiceBusSenderClient sender = t.closed(t.shared().sender().topicName(topic).buildClient());
    sender.sendMessage(sent);
    for (String name : List.of("a", "b")) {
      ServiceBusReceivedMessage got = Case.drain(t.subscription(topic, name), 1).get(0);
      Case.same(List.of(Case.body(got), got.getMessageId(), got.getSubject(), got.getCorrelationId(), got.getSessionId(),
          got.getApplicationProperties(), got.getDeliveryCount()), List.of("é", "m-1", "s-1", "c-1", "g-1", Map.of("number", 1), 0L),
          "message");
    }
  }

  @Test
  static void listsAndBatches(Case t) {
    String topic = t.topic("a", "b");
    ServiceBusSenderClient sender = t.sender(topic);
    sender.sendMessages(List.of(Case.numbered(20)));
    ServiceBusMessageBatch batch = sender.createMessageBatch();
    for (ServiceBusMessage m : Case.numbered(300)) {
      Case.holds(batch.tryAddMessage(m), "a message does not fit");
    }
    sender.sendMessages(batch);
    List<String> want = new ArrayList<>(Case.texts(0, 20));
    want.addAll(Case.texts(0, 300));
    for (String name : List.of("a", "b")) {
      Case.same(drained(t, topic, name, 320), want, "bodies");
    }
  }

  @Test
  static void largeMessages(Case t) {
    String topic = t.topic("a");
    ServiceBusSenderClient sender = t.sender(topic);
    sender.sendMessage(new ServiceBusMessage(new byte[900_000]));
    Case.same(Case.one(t.subscription(topic, "a")).getBody().toBytes().length, 900_000, "length");
    Case.refused(MESSAGE_SIZE_EXCEEDED, () -> sender.sendMessage(new ServiceBusMessage(new byte[1_100_000])));
  }

  @Test
  static void withoutSubscriptions(Case t) {
    String topic = t.topic();
    t.send(topic, Case.message("lost"));
    t.subscribe(topic, "s", new CreateSubscriptionOptions());
    t.send(topic, Case.message("kept"));
    Case.same(drained(t, topic, "s", 1), List.of("kept"), "bodies");
  }

  @Test
  static void subscriptionsAreSettledApart(Case t) {
    String topic = t.topic("a", "b", "c", "d");
    t.send(topic, Case.message("x"));
    ServiceBusReceiverClient a = t.subscription(topic, "a"), b = t.subscription(topic, "b"), c = t.subscription(topic, "c"),
        d = t.subscription(topic, "d");
    a.complete(Case.one(a));
    b.abandon(Case.one(b), new AbandonOptions().setPropertiesToModify(Map.of("added", 1)));
    ServiceBusReceivedMessage deferred = Case.one(c);
    c.defer(deferred);
    d.deadLetter(Case.one(d), new DeadLetterOptions().setDeadLetterReason("r"));
    Case.same(Case.browse(a), List.of(), "peeked in a");
    ServiceBusReceivedMessage again = Case.one(b);
    Case.same(List.of(again.getDeliveryCount(), again.getApplicationProperties()), List.of(1L, Map.of("added", 1)), "message of b");
    Case.same(Case.body(c.receiveDeferredMessage(deferred.getSequenceNumber())), "x", "body of c");
    Case.same(Case.one(dead(t, topic, "d")).getDeadLetterReason(), "r", "reason of d");
  }

  @Test
  static void receiveAndDelete(Case t) {
    String topic = t.topic("a", "b");
    t.send(topic, Case.numbered(5));
    ServiceBusReceiverClient deleting = t.subscription(topic, "a", b -> b.receiveMode(ServiceBusReceiveMode.RECEIVE_AND_DELETE));
    Case.same(Case.bodies(Case.take(deleting, 5)), Case.texts(0, 5), "bodies");
    Case.same(List.of(Case.browse(deleting).size(), Case.browse(t.subscription(topic, "b")).size()), List.of(0, 5), "peeked");
  }

  @Test
  static void renew(Case t) throws InterruptedException {
    String topic = t.topic();
    t.subscribe(topic, "a", new CreateSubscriptionOptions().setLockDuration(Duration.ofSeconds(5)));
    t.send(topic, Case.message("x"));
    ServiceBusReceiverClient receiver = t.subscription(topic, "a");
    ServiceBusReceivedMessage got = Case.one(receiver);
    Thread.sleep(1500);
    Case.holds(receiver.renewMessageLock(got).isAfter(got.getEnqueuedTime().plusSeconds(6)), "the lock is not longer");
  }

  @Test
  static void duplicates(Case t) {
    String topic = t.path();
    t.administration().createTopic(topic, new CreateTopicOptions().setDuplicateDetectionRequired(true));
    t.subscribe(topic, "a", new CreateSubscriptionOptions());
    t.send(topic, Case.message("1").setMessageId("m"), Case.message("2").setMessageId("m"));
    t.sender(topic).sendMessages(List.of(Case.message("3").setMessageId("n"), Case.message("4").setMessageId("n")));
    Case.same(drained(t, topic, "a", 2), List.of("1", "3"), "bodies");
  }

  @Test
  static void schedule(Case t) {
    String topic = t.topic("a", "b");
    ServiceBusSenderClient sender = t.sender(topic);
    OffsetDateTime due = Case.later(4);
    List<Long> numbers = new ArrayList<>();
    sender.scheduleMessages(List.of(Case.numbered(3)), due).forEach(numbers::add);
    sender.cancelScheduledMessage(numbers.get(1));
    sender.sendMessages(List.of(Case.message("property").setScheduledEnqueueTime(due), Case.message("plain")));
    for (String name : List.of("a", "b")) {
      Case.same(drained(t, topic, name, 4), List.of("plain", "0", "2", "property"), "bodies");
    }
    Case.holds(!OffsetDateTime.now().isBefore(due), "the messages came early");
  }

  @Test
  static void sessions(Case t) throws Exception {
    String topic = t.topic("without");
    t.subscribe(topic, "with", new CreateSubscriptionOptions().setSessionRequired(true));
    t.send(topic, Case.of("a", "1"), Case.of("b", "2"), Case.of("a", "3"));
    ServiceBusReceiverClient receiver = t.session(t.shared().sessionReceiver().topicName(topic).subscriptionName("with"), "a");
    Case.same(Case.bodies(Case.take(receiver, 2)), List.of("1", "3"), "bodies of the session");
    receiver.setSessionState(new byte[] {1});
    Case.same(receiver.getSessionState(), new byte[] {1}, "state");
    Case.same(drained(t, topic, "without", 3).stream().sorted().toList(), List.of("1", "2", "3"), "bodies without sessions");
  }

  @Test
  static void messageWithoutASession(Case t) {
    String topic = t.topic("without");
    t.subscribe(topic, "with", new CreateSubscriptionOptions().setSessionRequired(true));
    t.send(topic, Case.message("x"));
    Case.same(drained(t, topic, "without", 1), List.of("x"), "bodies");
    Case.same(Case.one(dead(t, topic, "with")).getDeadLetterReason(), "Session id is null.", "reason");
  }

  @Test
  static void timeToLive(Case t) throws Exception {
    String topic = t.path();
    t.administration().createTopic(topic, new CreateTopicOptions().setDefaultMessageTimeToLive(Case.SOON));
    t.subscribe(topic, "a", new CreateSubscriptionOptions().setDeadLetteringOnMessageExpiration(true));
    t.subscribe(topic, "b", new CreateSubscriptionOptions());
    t.send(topic, Case.message("x"));
    Case.same(Case.one(dead(t, topic, "a")).getDeadLetterReason(), "TTLExpiredException", "reason");
    ServiceBusReceiverClient b = t.subscription(topic, "b");
    Case.eventually("the message expires", () -> Case.browse(b).isEmpty());
  }

  @Test
  static void tooManyDeliveries(Case t) {
    String topic = t.topic();
    t.subscribe(topic, "a", new CreateSubscriptionOptions().setMaxDeliveryCount(1));
    t.send(topic, Case.message("x"));
    ServiceBusReceiverClient receiver = t.subscription(topic, "a");
    receiver.abandon(Case.one(receiver));
    Case.nothing(receiver);
    Case.same(Case.one(dead(t, topic, "a")).getDeadLetterReason(), "MaxDeliveryCountExceeded", "reason");
  }

  @Test
  static void wrongLinks(Case t) {
    String topic = t.topic("a");
    Case.failed(() -> t.receiver(topic).receiveMessages(1, Case.LONG).stream().toList(), "Nothing can be received from a topic");
    Case.failed(() -> t.sender(topic + "/Subscriptions/a").sendMessage(Case.message("")), "Nothing can be sent to a subscription");
    Case.refused(MESSAGING_ENTITY_NOT_FOUND, () -> t.subscription(topic, "none").receiveMessages(1, Case.LONG).stream().toList());
  }

  @Test
  static void deletedSubscription(Case t) {
    String topic = t.topic("a");
    Case.nothing(t.subscription(topic, "a"));
    t.administration().deleteSubscription(topic, "a");
    Case.refused(MESSAGING_ENTITY_NOT_FOUND, () -> t.subscription(topic, "a").receiveMessages(1, Case.LONG).stream().toList());
  }
}
