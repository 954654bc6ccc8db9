import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusFailureReason;
import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusMessageBatch;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.ServiceBusTransactionContext;
import com.azure.messaging.servicebus.administration.models.CreateQueueOptions;
import com.azure.messaging.servicebus.models.AbandonOptions;
import com.azure.messaging.servicebus.models.CompleteOptions;
import com.azure.messaging.servicebus.models.DeadLetterOptions;
import com.azure.messaging.servicebus.models.DeferOptions;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Operations that happen together or not at all. */
final class Transactions {
  private static CompleteOptions in(ServiceBusTransactionContext transaction) {
    return new CompleteOptions().setTransactionContext(transaction);
  }

  private static List<String> stored(Case t, String queue) {
    return Case.bodies(Case.browse(t.receiver(queue)));
  }

  @Test
  static void sends(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    ServiceBusTransactionContext transaction = sender.createTransaction();
    sender.sendMessage(Case.message("a"), transaction);
    sender.sendMessages(List.of(Case.message("b"), Case.message("c")), transaction);
    ServiceBusMessageBatch batch = sender.createMessageBatch();
    batch.tryAddMessage(Case.message("d"));
    sender.sendMessages(batch, transaction);
    sender.sendMessage(Case.message("outside"));
    Case.same(stored(t, queue), List.of("outside"), "before the commit");
    sender.commitTransaction(transaction);
    Case.same(Case.bodies(t.drain(queue, 5)), List.of("outside", "a", "b", "c", "d"), "bodies");
  }

  @Test
  static void rolledBackSends(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    ServiceBusTransactionContext transaction = sender.createTransaction();
    sender.sendMessage(Case.message("never"), transaction);
    sender.rollbackTransaction(transaction);
    Case.same(stored(t, queue), List.of(), "after the rollback");
  }

  @Test
  static void completeAndSend(Case t) {
    String queue = t.queue();
    t.send(queue, Case.message("job"));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    ServiceBusSenderClient sender = t.sender(queue);
    ServiceBusReceivedMessage got = Case.one(receiver);
    ServiceBusTransactionContext transaction = receiver.createTransaction();
    receiver.complete(got, in(transaction));
    sender.sendMessage(Case.message("result"), transaction);
    Case.same(stored(t, queue), List.of("job"), "before the commit");
    receiver.commitTransaction(transaction);
    Case.same(Case.bodies(t.drain(queue, 1)), List.of("result"), "bodies");
  }

  @Test
  static void rolledBackComplete(Case t) {
    String queue = t.queue(new CreateQueueOptions().setLockDuration(Duration.ofSeconds(5)));
    t.send(queue, Case.message("job"));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    ServiceBusReceivedMessage got = Case.one(receiver);
    ServiceBusTransactionContext transaction = receiver.createTransaction();
    receiver.complete(got, in(transaction));
    receiver.rollbackTransaction(transaction);
    Case.same(stored(t, queue), List.of("job"), "after the rollback");
    ServiceBusReceivedMessage again = Case.one(receiver); // its lock is over
    Case.same(List.of(Case.body(again), again.getDeliveryCount()), List.of("job", 1L), "received again");
    receiver.complete(again);
    Case.same(stored(t, queue), List.of(), "after it was completed");
  }

  @Test
  static void outcomes(Case t) {
    String queue = t.queue();
    t.send(queue, Case.numbered(4));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    List<ServiceBusReceivedMessage> got = Case.take(receiver, 4);
    ServiceBusTransactionContext transaction = receiver.createTransaction();
    receiver.complete(got.get(0), in(transaction));
    receiver.abandon(got.get(1), new AbandonOptions().setPropertiesToModify(Map.of("tried", "yes")).setTransactionContext(transaction));
    receiver.defer(got.get(2), new DeferOptions().setTransactionContext(transaction));
    receiver.deadLetter(got.get(3), new DeadLetterOptions().setDeadLetterReason("poison").setTransactionContext(transaction));
    Case.same(stored(t, queue).size(), 4, "messages before the commit");
    receiver.commitTransaction(transaction);
    ServiceBusReceivedMessage again = Case.one(receiver);
    Case.same(List.of(Case.body(again), again.getDeliveryCount(), again.getApplicationProperties().get("tried")), List.of("1", 1L, "yes"),
        "abandoned");
    ServiceBusReceivedMessage deferred = receiver.receiveDeferredMessage(got.get(2).getSequenceNumber());
    Case.same(Case.body(deferred), "2", "deferred");
    ServiceBusReceivedMessage dead = Case.one(t.deadLetters(queue));
    Case.same(List.of(Case.body(dead), dead.getDeadLetterReason()), List.of("3", "poison"), "dead-lettered");
  }

  @Test
  static void deferredMessage(Case t) {
    String queue = t.queue();
    t.send(queue, Case.message("x"));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    ServiceBusReceivedMessage got = Case.one(receiver);
    receiver.defer(got);
    ServiceBusReceivedMessage deferred = receiver.receiveDeferredMessage(got.getSequenceNumber());
    ServiceBusTransactionContext transaction = receiver.createTransaction();
    receiver.complete(deferred, in(transaction));
    Case.same(stored(t, queue), List.of("x"), "before the commit");
    receiver.commitTransaction(transaction);
    Case.same(stored(t, queue), List.of(), "after the commit");
  }

  @Test
  static void acrossEntities(Case t) {
    String from = t.queue(), to = t.queue(), topic = t.topic("s");
    ServiceBusClientBuilder shared = Case.builder(t.endpoint()).enableCrossEntityTransactions();
    t.send(from, Case.message("job"), Case.message("other"));
    ServiceBusReceiverClient receiver = t.closed(shared.receiver().queueName(from).maxAutoLockRenewDuration(Duration.ZERO).buildClient());
    ServiceBusSenderClient toQueue = t.closed(shared.sender().queueName(to).buildClient());
    ServiceBusSenderClient toTopic = t.closed(shared.sender().topicName(topic).buildClient());
    List<ServiceBusReceivedMessage> got = Case.take(receiver, 2);
    ServiceBusTransactionContext first = receiver.createTransaction();
    receiver.complete(got.get(0), in(first));
    toQueue.sendMessage(Case.message("result"), first);
    toTopic.sendMessage(Case.message("news"), first);
    Case.same(stored(t, to), List.of(), "before the commit");
    receiver.commitTransaction(first);
    ServiceBusTransactionContext second = receiver.createTransaction();
    receiver.complete(got.get(1), in(second));
    toQueue.sendMessage(Case.message("never"), second);
    receiver.rollbackTransaction(second);
    Case.same(stored(t, from), List.of("other"), "bodies of the source");
    Case.same(Case.bodies(t.drain(to, 1)), List.of("result"), "bodies of the queue");
    Case.same(Case.bodies(Case.drain(t.subscription(topic, "s"), 1)), List.of("news"), "bodies of the subscription");
  }

  @Test
  static void lostLock(Case t) throws Exception {
    String queue = t.queue(new CreateQueueOptions().setLockDuration(Duration.ofSeconds(5)));
    t.send(queue, Case.message("job"), Case.message("other"));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    ServiceBusSenderClient sender = t.sender(queue);
    List<ServiceBusReceivedMessage> got = Case.take(receiver, 2);
    ServiceBusTransactionContext transaction = receiver.createTransaction();
    for (ServiceBusReceivedMessage m : got) {
      receiver.complete(m, in(transaction));
    }
    sender.sendMessage(Case.message("never"), transaction);
    // Another receiver has one of the messages when the locks are over.
    List<ServiceBusReceivedMessage> again = Case.take(t.receiver(queue), 1);
    Case.refused(ServiceBusFailureReason.MESSAGE_LOCK_LOST, () -> receiver.commitTransaction(transaction));
    Case.same(stored(t, queue), List.of("job", "other"), "after the refused commit");
    Case.same(Case.body(again.get(0)), "job", "received again");
  }

  @Test
  static void session(Case t) throws Exception {
    String queue = t.sessions();
    t.send(queue, Case.of("s", "job"));
    ServiceBusClientBuilder shared = t.shared();
    ServiceBusReceiverClient receiver = t.session(shared.sessionReceiver().queueName(queue), "s");
    ServiceBusSenderClient sender = t.sender(queue);
    ServiceBusReceivedMessage got = Case.one(receiver);
    ServiceBusTransactionContext transaction = receiver.createTransaction();
    receiver.complete(got, in(transaction));
    sender.sendMessage(Case.of("s", "next"), transaction);
    receiver.commitTransaction(transaction);
    Case.same(Case.body(Case.one(receiver)), "next", "body");
  }

  @Test
  static void duplicates(Case t) {
    String queue = t.queue(new CreateQueueOptions().setDuplicateDetectionRequired(true));
    ServiceBusSenderClient sender = t.sender(queue);
    for (int i = 0; i < 2; i++) {
      ServiceBusTransactionContext transaction = sender.createTransaction();
      sender.sendMessage(new ServiceBusMessage("a").setMessageId("1"), transaction);
      sender.sendMessage(new ServiceBusMessage("b").setMessageId("2"), transaction);
      sender.commitTransaction(transaction);
    }
    Case.same(Case.bodies(t.drain(queue, 2)), List.of("a", "b"), "bodies");
  }

  @Test
  static void twoAtOnce(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    ServiceBusTransactionContext first = sender.createTransaction(), second = sender.createTransaction();
    sender.sendMessage(Case.message("a"), first);
    sender.sendMessage(Case.message("b"), second);
    sender.sendMessage(Case.message("c"), first);
    sender.commitTransaction(second);
    Case.same(stored(t, queue), List.of("b"), "after the second");
    sender.commitTransaction(first);
    Case.same(stored(t, queue), List.of("b", "a", "c"), "after the first");
  }

  @Test
  static void ended(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    ServiceBusReceiverClient receiver = t.receiver(queue);
    ServiceBusTransactionContext transaction = sender.createTransaction();
    sender.sendMessage(Case.message("a"), transaction);
    sender.commitTransaction(transaction);
    ServiceBusReceivedMessage got = Case.one(receiver);
    Case.failed(() -> receiver.complete(got, in(transaction)), "no transaction with this id");
    Case.failed(() -> sender.commitTransaction(transaction), "no transaction with this id");
    Case.failed(() -> sender.sendMessage(Case.message("b"), transaction), "no transaction with this id");
    Case.same(stored(t, queue), List.of("a"), "bodies");
  }

  @Test
  static void refusedPart(Case t) {
    String queue = t.queue(), sessions = t.sessions();
    ServiceBusSenderClient sender = t.sender(queue), wrong = t.sender(sessions);
    ServiceBusTransactionContext transaction = sender.createTransaction();
    sender.sendMessage(Case.message("never"), transaction);
    wrong.sendMessage(Case.message("without a session"), transaction); // the SDK does not look at the outcome
    Case.failed(() -> sender.commitTransaction(transaction), "SessionId was not set");
    Case.same(stored(t, queue), List.of(), "bodies");
  }

  @Test
  static void scheduled(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    ServiceBusTransactionContext transaction = sender.createTransaction();
    sender.sendMessage(Case.message("later").setScheduledEnqueueTime(Case.later(2)), transaction);
    sender.sendMessage(Case.message("now"), transaction);
    sender.commitTransaction(transaction);
    Case.same(Case.bodies(t.drain(queue, 2)), List.of("now", "later"), "bodies");
    // The number of a scheduled message would depend on the commit.
    ServiceBusTransactionContext other = sender.createTransaction();
    Case.failed(() -> sender.scheduleMessage(Case.message("never"), Case.later(60), other), "cannot be a part of a transaction");
  }

  @Test
  static void endOfTheConnection(Case t) throws Exception {
    String queue = t.queue();
    ServiceBusSenderClient sender = Case.builder(t.endpoint()).sender().queueName(queue).buildClient();
    ServiceBusTransactionContext transaction = sender.createTransaction();
    sender.sendMessage(Case.message("never"), transaction);
    sender.close();
    Case.same(stored(t, queue), List.of(), "bodies");
    ServiceBusSenderClient other = t.sender(queue);
    Case.failed(() -> other.sendMessage(Case.message("never"), transaction), "no transaction with this id");
  }
}
