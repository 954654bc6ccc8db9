import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderAsyncClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.models.ServiceBusMessageState;

import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;

/** Messages that are scheduled and cancelled. */
final class Schedules {
  private static List<Long> schedule(ServiceBusSenderClient sender, int count, OffsetDateTime due) {
    List<Long> all = new ArrayList<>();
    sender.scheduleMessages(List.of(Case.numbered(count)), due).forEach(all::add);
    return all;
  }

  @Test
  static void oneMessage(Case t) {
    String queue = t.queue();
    ServiceBusReceiverClient receiver = t.receiver(queue);
    OffsetDateTime due = Case.later(3);
    long number = t.sender(queue).scheduleMessage(Case.message("x"), due);
    ServiceBusReceivedMessage peeked = receiver.peekMessage();
    Case.same(List.of(peeked.getState(), peeked.getSequenceNumber(), peeked.getScheduledEnqueueTime()),
        List.of(ServiceBusMessageState.SCHEDULED, number, due), "peeked");
    ServiceBusReceivedMessage got = Case.one(receiver);
    Case.holds(!OffsetDateTime.now().isBefore(due), "the message came early");
    Case.same(List.of(got.getState(), got.getScheduledEnqueueTime()), List.of(ServiceBusMessageState.ACTIVE, due), "received");
    Case.holds(!got.getEnqueuedTime().isBefore(due), "enqueued at " + got.getEnqueuedTime());
    receiver.complete(got);
  }

  @Test
  static void many(Case t) {
    String queue = t.queue();
    List<Long> numbers = schedule(t.sender(queue), 30, Case.later(2));
    for (int i = 0; i < 30; i++) {
      Case.same(numbers.get(i), numbers.get(0) + i, "number");
    }
    Case.same(Case.bodies(t.drain(queue, 30)), Case.texts(0, 30), "bodies");
  }

  @Test
  static void orderOfTime(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    OffsetDateTime start = Case.later(5);
    sender.scheduleMessage(Case.message("third"), start.plusSeconds(2));
    sender.scheduleMessage(Case.message("first"), start);
    sender.scheduleMessage(Case.message("second"), start.plusSeconds(1));
    sender.sendMessage(Case.message("now"));
    Case.same(Case.bodies(t.drain(queue, 4)), List.of("now", "first", "second", "third"), "bodies");
  }

  @Test
  static void activationGivesANewNumber(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    long number = sender.scheduleMessage(Case.message("scheduled"), Case.later(2));
    sender.sendMessage(Case.message("plain"));
    List<ServiceBusReceivedMessage> got = t.drain(queue, 2);
    Case.same(Case.bodies(got), List.of("plain", "scheduled"), "bodies");
    Case.holds(got.get(1).getSequenceNumber() > got.get(0).getSequenceNumber() && got.get(0).getSequenceNumber() > number,
        "the number is that of the schedule");
  }

  @Test
  static void cancelOne(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    List<Long> numbers = schedule(sender, 3, Case.later(4));
    sender.cancelScheduledMessage(numbers.get(1));
    Case.same(Case.bodies(t.drain(queue, 2)), List.of("0", "2"), "bodies");
  }

  @Test
  static void cancelMany(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    List<Long> numbers = schedule(sender, 40, Case.later(3600));
    sender.cancelScheduledMessages(numbers.subList(0, 39));
    Case.same(Case.bodies(Case.browse(t.receiver(queue))), List.of("39"), "peeked");
  }

  @Test
  static void cancelUnknown(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    ServiceBusReceiverClient receiver = t.receiver(queue);
    long number = sender.scheduleMessage(Case.message("x"), Case.later(1));
    ServiceBusReceivedMessage got = Case.one(receiver);
    // The SDK reports no error if there is no such message.
    sender.cancelScheduledMessage(number);
    sender.cancelScheduledMessage(4711);
    receiver.abandon(got);
    Case.same(Case.bodies(t.drain(queue, 1)), List.of("x"), "bodies");
  }

  @Test
  static void propertyOfAMessage(Case t) {
    String queue = t.queue();
    OffsetDateTime due = Case.later(3);
    t.sender(queue).sendMessages(List.of(Case.message("scheduled").setScheduledEnqueueTime(due), Case.message("plain")));
    List<ServiceBusReceivedMessage> got = t.drain(queue, 2);
    Case.same(Case.bodies(got), List.of("plain", "scheduled"), "bodies");
    Case.same(got.get(1).getScheduledEnqueueTime(), due, "time");
  }

  @Test
  static void timeInThePast(Case t) {
    String queue = t.queue();
    t.sender(queue).scheduleMessage(Case.message("x"), Case.later(-60));
    Case.same(Case.bodies(t.drain(queue, 1)), List.of("x"), "bodies");
  }

  @Test
  static void farFuture(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    OffsetDateTime due = Case.later(400L * 86_400);
    long number = sender.scheduleMessage(Case.message("x"), due);
    Case.same(Case.browse(t.receiver(queue)).get(0).getScheduledEnqueueTime(), due, "time");
    sender.cancelScheduledMessage(number);
    Case.same(Case.browse(t.receiver(queue)), List.of(), "peeked");
  }

  @Test
  static void inSessions(Case t) throws Exception {
    String queue = t.sessions();
    ServiceBusSenderClient sender = t.sender(queue);
    List<Long> numbers = new ArrayList<>();
    sender.scheduleMessages(List.of(Case.of("s", "a"), Case.of("s", "b")), Case.later(2)).forEach(numbers::add);
    sender.cancelScheduledMessage(numbers.get(1));
    ServiceBusReceiverClient receiver = t.session(queue, "s");
    Case.same(Case.bodies(Case.drain(receiver, 1)), List.of("a"), "bodies");
  }

  @Test
  static void asynchronously(Case t) {
    String queue = t.queue();
    ServiceBusSenderAsyncClient sender = t.closed(t.shared().sender().queueName(queue).buildAsyncClient());
    long one = sender.scheduleMessage(Case.message("one"), Case.later(3600)).block(Case.LONGEST);
    List<Long> others = sender.scheduleMessages(List.of(Case.numbered(3)), Case.later(3600)).collectList().block(Case.LONGEST);
    sender.cancelScheduledMessage(one).block(Case.LONGEST);
    sender.cancelScheduledMessages(others.subList(0, 2)).block(Case.LONGEST);
    Case.same(Case.bodies(Case.browse(t.receiver(queue))), List.of("2"), "peeked");
  }
}
