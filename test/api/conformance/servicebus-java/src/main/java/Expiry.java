import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.administration.models.CreateQueueOptions;

import java.time.Duration;
import java.util.List;

/** Times to live. */
final class Expiry {
  private static CreateQueueOptions dies() {
    return new CreateQueueOptions().setDeadLetteringOnMessageExpiration(true);
  }

  @Test
  static void properties(Case t) {
    String queue = t.queue();
    t.send(queue, Case.message("x").setTimeToLive(Duration.ofMinutes(5)), Case.message("y"));
    List<ServiceBusReceivedMessage> got = t.drain(queue, 2);
    Case.same(List.of(got.get(0).getTimeToLive(), Duration.between(got.get(0).getEnqueuedTime(), got.get(0).getExpiresAt())),
        List.of(Duration.ofMinutes(5), Duration.ofMinutes(5)), "time to live");
    Case.same(got.get(1).getTimeToLive(), Duration.ZERO, "time to live of the other");
  }

  @Test
  static void expired(Case t) throws Exception {
    String queue = t.queue();
    t.send(queue, Case.message("expires").setTimeToLive(Case.SOON), Case.message("stays"));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    Case.eventually("the message expires", () -> Case.browse(receiver).size() == 1);
    Case.same(Case.bodies(t.drain(queue, 1)), List.of("stays"), "bodies");
    Case.same(Case.browse(t.deadLetters(queue)), List.of(), "dead letters");
  }

  @Test
  static void expiredAndDeadLettered(Case t) {
    String queue = t.queue(dies());
    t.send(queue, Case.message("x").setTimeToLive(Case.SOON));
    ServiceBusReceivedMessage dead = Case.one(t.deadLetters(queue));
    Case.same(List.of(Case.body(dead), dead.getDeadLetterReason()), List.of("x", "TTLExpiredException"), "dead letter");
    Case.nothing(t.receiver(queue));
  }

  @Test
  static void theShorterTimeCounts(Case t) {
    String brief = t.queue(dies().setDefaultMessageTimeToLive(Case.SOON)),
        lasting = t.queue(dies().setDefaultMessageTimeToLive(Duration.ofHours(1)));
    t.send(brief, Case.message("1"), Case.message("2").setTimeToLive(Duration.ofHours(1)));
    t.send(lasting, Case.message("3"), Case.message("4").setTimeToLive(Case.SOON));
    Case.same(Case.bodies(Case.take(t.deadLetters(brief), 2)), List.of("1", "2"), "bodies");
    Case.same(Case.bodies(Case.take(t.deadLetters(lasting), 1)), List.of("4"), "bodies");
  }

  @Test
  static void deadAndDeferredMessagesDoNotExpire(Case t) throws InterruptedException {
    String queue = t.queue(dies());
    t.send(queue, Case.message("dead").setTimeToLive(Duration.ofSeconds(4)), Case.message("deferred").setTimeToLive(Duration.ofSeconds(4)));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    List<ServiceBusReceivedMessage> got = Case.take(receiver, 2);
    receiver.deadLetter(got.get(0));
    receiver.defer(got.get(1));
    Thread.sleep(6000);
    ServiceBusReceivedMessage back = receiver.receiveDeferredMessage(got.get(1).getSequenceNumber());
    Case.same(Case.body(back), "deferred", "body");
    receiver.complete(back);
    Case.same(Case.bodies(Case.browse(t.deadLetters(queue))), List.of("dead"), "dead letters");
  }

  @Test
  static void lockedMessagesAreCompletedAfterTheirTime(Case t) throws InterruptedException {
    String queue = t.queue(dies());
    t.send(queue, Case.message("x").setTimeToLive(Case.SOON));
    ServiceBusReceiverClient receiver = t.receiver(queue);
    ServiceBusReceivedMessage got = Case.one(receiver);
    Thread.sleep(4000);
    receiver.complete(got);
    Case.nothing(t.deadLetters(queue));
  }

  @Test
  static void inASession(Case t) throws Exception {
    String queue = t.queue(dies().setSessionRequired(true));
    t.send(queue, Case.of("s", "x").setTimeToLive(Case.SOON), Case.of("s", "y"));
    ServiceBusReceivedMessage dead = Case.one(t.deadLetters(queue));
    Case.same(List.of(Case.body(dead), dead.getSessionId()), List.of("x", "s"), "dead letter");
    Case.same(Case.body(Case.one(t.session(queue, "s"))), "y", "body");
  }
}
