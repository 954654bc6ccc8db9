import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.administration.models.CreateQueueOptions;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Detection of duplicates. */
final class Duplicates {
  private static final int WINDOW = 20;

  private static String detecting(Case t) {
    return t.queue(new CreateQueueOptions().setDuplicateDetectionRequired(true));
  }

  private static ServiceBusMessage named(String body, String id) {
    return new ServiceBusMessage(body).setMessageId(id);
  }

  @Test
  static void isDropped(Case t) {
    String queue = detecting(t);
    t.send(queue, named("first", "a"), named("other", "b"), named("second", "a"));
    Case.same(Case.bodies(t.drain(queue, 2)), List.of("first", "other"), "bodies");
  }

  @Test
  static void idsOutliveTheirMessages(Case t) {
    String queue = detecting(t);
    t.send(queue, named("1", "a"));
    t.drain(queue, 1);
    t.send(queue, named("2", "a"));
    t.drain(queue, 0);
  }

  @Test
  static void inOneBatch(Case t) {
    String queue = detecting(t);
    ServiceBusSenderClient sender = t.sender(queue);
    sender.sendMessages(List.of(named("1", "a"), named("2", "b"), named("3", "a")));
    sender.sendMessages(List.of(named("4", "b"), named("5", "c")));
    Case.same(Case.bodies(t.drain(queue, 3)), List.of("1", "2", "5"), "bodies");
  }

  @Test
  static void withoutDetection(Case t) {
    String queue = t.queue();
    t.send(queue, named("1", "a"), named("2", "a"));
    Case.same(Case.bodies(t.drain(queue, 2)), List.of("1", "2"), "bodies");
  }

  @Test
  static void idsAreComparedExactly(Case t) {
    String queue = detecting(t);
    List<String> ids = List.of("a", "A", " a", "a ", "ä", "é".repeat(128), "a/b.c_d", "世界");
    for (int twice = 0; twice < 2; twice++) {
      ids.forEach(id -> t.send(queue, named("", id)));
    }
    Case.same(t.drain(queue, ids.size()).stream().map(ServiceBusReceivedMessage::getMessageId).toList(), ids, "ids");
  }

  @Test
  static void scheduledFirst(Case t) {
    String queue = detecting(t);
    ServiceBusSenderClient sender = t.sender(queue);
    sender.scheduleMessage(named("scheduled", "a"), Case.later(3));
    sender.sendMessage(named("plain", "a"));
    Case.same(Case.bodies(t.drain(queue, 1)), List.of("scheduled"), "bodies");
  }

  @Test
  static void scheduledSecond(Case t) {
    String queue = detecting(t);
    ServiceBusSenderClient sender = t.sender(queue);
    sender.sendMessage(named("plain", "a"));
    sender.scheduleMessage(named("scheduled", "a"), Case.later(2));
    Case.same(Case.bodies(t.drain(queue, 1)), List.of("plain"), "bodies");
  }

  @Test
  static void theWindowEnds(Case t) throws InterruptedException {
    String queue = t.queue(new CreateQueueOptions().setDuplicateDetectionRequired(true)
        .setDuplicateDetectionHistoryTimeWindow(Duration.ofSeconds(WINDOW)));
    t.send(queue, named("1", "a"));
    Thread.sleep(12_000);
    t.send(queue, named("2", "a")); // does not renew the window
    Thread.sleep((WINDOW - 12 + 2) * 1000);
    t.send(queue, named("3", "a"));
    Case.same(Case.bodies(t.drain(queue, 2)), List.of("1", "3"), "bodies");
  }

  @Test
  static void partitions(Case t) {
    String queue = t.queue(new CreateQueueOptions().setDuplicateDetectionRequired(true).setPartitioningEnabled(true));
    t.send(queue, named("1", "a").setPartitionKey("p"), named("2", "a").setPartitionKey("q"), named("3", "a").setPartitionKey("p"),
        named("4", "b"), named("5", "b"));
    Case.same(new HashSet<>(Case.bodies(t.drain(queue, 3))), Set.of("1", "2", "4"), "bodies");
  }

  @Test
  static void deferredAndDeadIdsStay(Case t) {
    String queue = detecting(t);
    t.send(queue, named("1", "a"), named("2", "b"));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    List<ServiceBusReceivedMessage> got = Case.take(receiver, 2);
    receiver.defer(got.get(0));
    receiver.deadLetter(got.get(1));
    t.send(queue, named("3", "a"), named("4", "b"));
    t.drain(queue, 0);
  }
}
