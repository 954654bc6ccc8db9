import static com.azure.messaging.servicebus.ServiceBusFailureReason.MESSAGE_LOCK_LOST;

import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverAsyncClient;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.administration.models.CreateQueueOptions;
import com.azure.messaging.servicebus.models.AbandonOptions;
import com.azure.messaging.servicebus.models.DeadLetterOptions;
import com.azure.messaging.servicebus.models.DeferOptions;
import com.azure.messaging.servicebus.models.ServiceBusMessageState;

import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/** What a receiver does with a message: complete, abandon, defer, dead-letter, renew. */
final class Settling {
  /** A queue with one message, which is received. */
  private record Locked(String queue, ServiceBusReceiverClient receiver, ServiceBusReceivedMessage message) {}

  private static Locked locked(Case t, CreateQueueOptions options) {
    String queue = t.queue(options);
    ServiceBusMessage m = Case.message("x");
    m.getApplicationProperties().put("kept", 1);
    t.send(queue, m);
    ServiceBusReceiverClient receiver = t.receiver(queue);
    return new Locked(queue, receiver, Case.one(receiver));
  }

  private static Locked locked(Case t) {
    return locked(t, new CreateQueueOptions());
  }

  private static DeadLetterOptions reason(String reason) {
    return new DeadLetterOptions().setDeadLetterReason(reason).setDeadLetterErrorDescription("d");
  }

  @Test
  static void complete(Case t) {
    Locked l = locked(t);
    l.receiver.complete(l.message);
    Case.same(Case.browse(l.receiver), List.of(), "peeked");
    Case.rejected(RuntimeException.class, () -> l.receiver.complete(l.message));
    Case.rejected(RuntimeException.class, () -> l.receiver.abandon(l.message));
  }

  @Test
  static void completeOutOfOrder(Case t) {
    String queue = t.queue();
    t.send(queue, Case.numbered(10));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    List<ServiceBusReceivedMessage> got = Case.take(receiver, 10);
    for (int i = 8; i >= 0; i -= 2) {
      receiver.complete(got.get(i));
    }
    Case.same(Case.bodies(Case.browse(receiver)), List.of("1", "3", "5", "7", "9"), "peeked");
  }

  @Test
  static void completeWithAnotherReceiver(Case t) {
    Locked l = locked(t);
    l.receiver.close();
    ServiceBusReceiverClient other = t.receiver(l.queue);
    other.complete(l.message); // over the management link
    Case.same(Case.browse(other), List.of(), "peeked");
  }

  @Test
  static void deadLetterWithAnotherClient(Case t) {
    Locked l = locked(t);
    l.receiver.close();
    ServiceBusReceiverClient other = t.closed(Case.builder(Case.ENDPOINTS.get(0)).receiver().queueName(l.queue).buildClient());
    other.deadLetter(l.message, reason("r").setPropertiesToModify(Map.of("more", 5)));
    ServiceBusReceivedMessage dead = Case.one(t.deadLetters(l.queue));
    Case.same(List.of(dead.getDeadLetterReason(), dead.getDeadLetterErrorDescription(), dead.getApplicationProperties().get("more")),
        List.of("r", "d", 5), "dead letter");
  }

  @Test
  static void abandon(Case t) {
    Locked l = locked(t);
    ServiceBusReceivedMessage again = l.message;
    for (long count = 1; count < 4; count++) {
      l.receiver.abandon(again);
      again = Case.one(l.receiver);
      Case.same(List.of(Case.body(again), again.getDeliveryCount()), List.of("x", count), "message");
    }
    l.receiver.complete(again);
  }

  @Test
  static void abandonedMessagesComeFirst(Case t) {
    String queue = t.queue();
    t.send(queue, Case.numbered(3));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    receiver.abandon(Case.one(receiver));
    Case.same(Case.bodies(Case.take(receiver, 3)), Case.texts(0, 3), "bodies");
  }

  @Test
  static void abandonWithProperties(Case t) {
    Locked l = locked(t);
    Map<String, Object> changed = new HashMap<>(Map.of("added", "a", "kept", 2, "flag", true, "double", 0.5, "long", 7L));
    l.receiver.abandon(l.message, new AbandonOptions().setPropertiesToModify(changed));
    Case.same(Case.one(l.receiver).getApplicationProperties(), changed, "properties");
  }

  @Test
  static void tooManyDeliveries(Case t) {
    Locked l = locked(t, new CreateQueueOptions().setMaxDeliveryCount(2));
    l.receiver.abandon(l.message);
    l.receiver.abandon(Case.one(l.receiver));
    Case.nothing(l.receiver);
    ServiceBusReceivedMessage dead = Case.one(t.deadLetters(l.queue));
    Case.same(dead.getDeadLetterReason(), "MaxDeliveryCountExceeded", "reason");
    Case.holds(!dead.getDeadLetterErrorDescription().isEmpty(), "no description");
    Case.same(List.of(Case.body(dead), dead.getMessageId(), dead.getApplicationProperties().get("kept")),
        List.of("x", l.message.getMessageId(), 1), "message");
  }

  @Test
  static void tooManyExpiredLocks(Case t) throws Exception {
    Locked l = locked(t, new CreateQueueOptions().setLockDuration(Case.BRIEF).setMaxDeliveryCount(1));
    ServiceBusReceiverClient deadLetters = t.deadLetters(l.queue);
    Case.eventually("the message is dead-lettered", () -> {
      l.receiver.receiveMessages(1, Case.BRIEF).stream().toList();
      return Case.browse(deadLetters).size() == 1;
    });
    Case.same(Case.one(deadLetters).getDeadLetterReason(), "MaxDeliveryCountExceeded", "reason");
  }

  @Test
  static void deadLetter(Case t) {
    Locked l = locked(t);
    l.receiver.deadLetter(l.message, reason("r é").setPropertiesToModify(Map.of("added", "a", "kept", 2)));
    Case.nothing(l.receiver);
    ServiceBusReceiverClient deadLetters = t.deadLetters(l.queue);
    ServiceBusReceivedMessage dead = Case.one(deadLetters);
    Case.same(List.of(dead.getDeadLetterReason(), dead.getDeadLetterErrorDescription(), Case.body(dead), dead.getMessageId()),
        List.of("r é", "d", "x", l.message.getMessageId()), "message");
    Case.same(dead.getApplicationProperties(),
        Map.of("kept", 2, "added", "a", "DeadLetterReason", "r é", "DeadLetterErrorDescription", "d"), "properties");
    deadLetters.complete(dead);
    Case.same(Case.browse(deadLetters), List.of(), "peeked");
  }

  @Test
  static void deadLetterWithoutAReason(Case t) {
    Locked l = locked(t);
    l.receiver.deadLetter(l.message);
    ServiceBusReceivedMessage dead = Case.one(t.deadLetters(l.queue));
    Case.same(List.of(Case.body(dead), Objects.toString(dead.getDeadLetterReason(), "")), List.of("x", ""), "message");
  }

  @Test
  static void deadLetterQueue(Case t) {
    String queue = t.queue();
    t.send(queue, Case.numbered(4));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    Case.take(receiver, 4).forEach(m -> receiver.deadLetter(m, reason(Case.body(m))));
    ServiceBusReceiverClient deadLetters = t.deadLetters(queue);
    Case.same(Case.browse(deadLetters).stream().map(ServiceBusReceivedMessage::getDeadLetterReason).toList(), Case.texts(0, 4), "peeked");
    List<ServiceBusReceivedMessage> got = Case.take(deadLetters, 4);
    deadLetters.abandon(got.get(0));
    deadLetters.defer(got.get(1));
    deadLetters.renewMessageLock(got.get(2));
    deadLetters.complete(got.get(2));
    ServiceBusReceivedMessage back = deadLetters.receiveDeferredMessage(got.get(1).getSequenceNumber());
    Case.same(List.of(Case.body(back), back.getDeadLetterReason()), List.of("1", "1"), "deferred message");
    deadLetters.complete(back);
    ServiceBusReceivedMessage again = Case.one(deadLetters);
    Case.same(List.of(Case.body(again), again.getDeliveryCount()), List.of("0", got.get(0).getDeliveryCount() + 1), "abandoned message");
  }

  @Test
  static void deadLettersNeverDieAgain(Case t) {
    Locked l = locked(t, new CreateQueueOptions().setMaxDeliveryCount(2));
    l.receiver.deadLetter(l.message);
    ServiceBusReceiverClient deadLetters = t.deadLetters(l.queue);
    for (int i = 0; i < 5; i++) {
      deadLetters.abandon(Case.one(deadLetters));
    }
    Case.same(Case.body(Case.one(deadLetters)), "x", "body");
  }

  @Test
  static void deadLettersAreSentAgain(Case t) {
    Locked l = locked(t);
    l.receiver.deadLetter(l.message, reason("r"));
    ServiceBusReceiverClient deadLetters = t.deadLetters(l.queue);
    ServiceBusReceivedMessage dead = Case.one(deadLetters);
    t.send(l.queue, new ServiceBusMessage(dead));
    deadLetters.complete(dead);
    ServiceBusReceivedMessage again = Case.one(l.receiver);
    Case.same(List.of(Case.body(again), again.getApplicationProperties()), List.of("x", Map.of("kept", 1)), "message");
  }

  @Test
  static void defer(Case t) {
    Locked l = locked(t);
    l.receiver.defer(l.message, new DeferOptions().setPropertiesToModify(Map.of("added", "a")));
    Case.nothing(l.receiver);
    ServiceBusReceivedMessage back = l.receiver.receiveDeferredMessage(l.message.getSequenceNumber());
    Case.same(List.of(Case.body(back), back.getSequenceNumber(), back.getState(), back.getDeliveryCount(), back.getApplicationProperties()),
        List.of("x", l.message.getSequenceNumber(), ServiceBusMessageState.DEFERRED, 1L, Map.of("kept", 1, "added", "a")), "message");
    Case.holds(back.getLockToken() != null && back.getLockedUntil().isAfter(OffsetDateTime.now()), "the message has no lock");
    l.receiver.complete(back);
    Case.same(Case.browse(l.receiver), List.of(), "peeked");
  }

  @Test
  static void deferredMessagesAreSettled(Case t) {
    String queue = t.queue();
    t.send(queue, Case.numbered(4));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    List<Long> numbers = new ArrayList<>();
    for (ServiceBusReceivedMessage m : Case.take(receiver, 4)) {
      receiver.defer(m);
      numbers.add(m.getSequenceNumber());
    }
    List<ServiceBusReceivedMessage> back = receiver.receiveDeferredMessageBatch(numbers).stream().toList();
    Case.same(Case.bodies(back), Case.texts(0, 4), "bodies");
    receiver.complete(back.get(0));
    receiver.abandon(back.get(1), new AbandonOptions().setPropertiesToModify(Map.of("added", 1)));
    receiver.defer(back.get(2), new DeferOptions().setPropertiesToModify(Map.of("added", 2)));
    receiver.deadLetter(back.get(3), reason("r"));
    ServiceBusReceivedMessage dead = Case.one(t.deadLetters(queue));
    Case.same(List.of(Case.body(dead), dead.getDeadLetterReason(), dead.getDeadLetterErrorDescription()), List.of("3", "r", "d"),
        "dead letter");
    List<Object> again = new ArrayList<>();
    receiver.receiveDeferredMessageBatch(numbers.subList(1, 3)).forEach(m -> again.addAll(List.of(Case.body(m),
        m.getApplicationProperties())));
    Case.same(again, List.of("1", Map.of("added", 1), "2", Map.of("added", 2)), "messages");
  }

  @Test
  static void deferredMessagesAreDeleted(Case t) {
    Locked l = locked(t);
    l.receiver.defer(l.message);
    Case.same(Case.body(t.deleting(l.queue).receiveDeferredMessage(l.message.getSequenceNumber())), "x", "body");
    Case.same(Case.browse(l.receiver), List.of(), "peeked");
  }

  @Test
  static void unknownDeferredMessages(Case t) {
    Locked l = locked(t);
    // The SDK takes the answer, that there are none, for an empty list.
    Case.same(l.receiver.receiveDeferredMessageBatch(List.of(4711L)).stream().toList(), List.of(), "unknown");
    List<Long> number = List.of(l.message.getSequenceNumber());
    Case.same(l.receiver.receiveDeferredMessageBatch(number).stream().toList(), List.of(), "not deferred");
    l.receiver.defer(l.message);
    Case.same(Case.bodies(l.receiver.receiveDeferredMessageBatch(number)), List.of("x"), "deferred");
    Case.same(l.receiver.receiveDeferredMessageBatch(number).stream().toList(), List.of(), "locked");
  }

  @Test
  static void renewALock(Case t) throws InterruptedException {
    Locked l = locked(t, new CreateQueueOptions().setLockDuration(Duration.ofSeconds(5)));
    OffsetDateTime until = l.message.getLockedUntil();
    for (int i = 0; i < 3; i++) {
      Thread.sleep(2500);
      OffsetDateTime renewed = l.receiver.renewMessageLock(l.message);
      Case.holds(renewed.isAfter(until), "locked until " + renewed + ", before until " + until);
      until = renewed;
    }
    l.receiver.complete(l.message);
    Case.same(Case.browse(l.receiver), List.of(), "peeked");
  }

  @Test
  static void renewALockForAWhile(Case t) {
    Locked l = locked(t, new CreateQueueOptions().setLockDuration(Duration.ofSeconds(5)));
    List<Throwable> errors = new ArrayList<>();
    l.receiver.renewMessageLock(l.message, Duration.ofSeconds(30), errors::add);
    Case.nothing(t.receiver(l.queue), Duration.ofSeconds(12));
    l.receiver.complete(l.message);
    Case.same(List.of(Case.browse(l.receiver), errors), List.of(List.of(), List.of()), "peeked and errors");
  }

  @Test
  static void lostLocks(Case t) {
    Locked l = locked(t, new CreateQueueOptions().setLockDuration(Case.SOON));
    Case.same(Case.one(t.receiver(l.queue)).getDeliveryCount(), 1L, "delivery count");
    Case.refused(MESSAGE_LOCK_LOST, () -> l.receiver.renewMessageLock(l.message));
    Case.refused(MESSAGE_LOCK_LOST, () -> l.receiver.complete(l.message));
    Case.same(Case.browse(l.receiver).get(0).getSequenceNumber(), l.message.getSequenceNumber(), "peeked");
  }

  @Test
  static void lostLocksAndOtherCalls(Case t) {
    // The SDK takes a refusal to dead-letter for a success.
    List<Consumer<Locked>> calls = List.of(l -> l.receiver.abandon(l.message), l -> l.receiver.defer(l.message));
    for (var call : calls) {
      Locked l = locked(t, new CreateQueueOptions().setLockDuration(Case.BRIEF));
      ServiceBusReceiverClient other = t.receiver(l.queue);
      ServiceBusReceivedMessage again = Case.one(other);
      Case.refused(MESSAGE_LOCK_LOST, () -> call.accept(l));
      other.abandon(again);
    }
  }

  @Test
  static void asynchronously(Case t) {
    String queue = t.queue();
    t.send(queue, Case.numbered(4));
    ServiceBusReceiverAsyncClient receiver = t.closed(t.shared().receiver().queueName(queue).disableAutoComplete().buildAsyncClient());
    List<ServiceBusReceivedMessage> got = receiver.receiveMessages().concatMap(m -> switch (Case.body(m)) {
      case "0" -> receiver.complete(m).thenReturn(m);
      case "1" -> receiver.defer(m).thenReturn(m);
      case "2" -> receiver.deadLetter(m, reason("r")).thenReturn(m);
      default -> receiver.renewMessageLock(m).thenReturn(m);
    }).take(4).collectList().block(Case.LONGEST);
    Case.same(Case.body(receiver.receiveDeferredMessage(got.get(1).getSequenceNumber()).block(Case.LONGEST)), "1", "deferred");
    Case.same(Case.one(t.deadLetters(queue)).getDeadLetterReason(), "r", "reason");
    Case.same(Case.bodies(receiver.peekMessages(5, 1).collectList().block(Case.LONGEST)), List.of("1", "3"), "peeked");
  }
}
