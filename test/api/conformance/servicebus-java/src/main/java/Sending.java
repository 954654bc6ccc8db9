import static com.azure.messaging.servicebus.ServiceBusFailureReason.MESSAGE_SIZE_EXCEEDED;

import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusMessageBatch;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusSenderAsyncClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.administration.models.CreateQueueOptions;
import com.azure.messaging.servicebus.models.CreateMessageBatchOptions;
import com.azure.messaging.servicebus.models.ServiceBusMessageState;

import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import reactor.core.publisher.Flux;

/** Senders, lists, batches and limits of sizes. */
final class Sending {
  @Test
  static void oneMessage(Case t) {
    String queue = t.queue();
    ServiceBusMessage sent = new ServiceBusMessage("body").setMessageId("m-1").setContentType("text/plain").setCorrelationId("c-1")
        .setSubject("s-1").setTo("t-1").setReplyTo("r-1").setReplyToSessionId("rs-1").setSessionId("g-1").setPartitionKey("g-1");
    sent.getApplicationProperties().put("number", 1);
    OffsetDateTime before = OffsetDateTime.now().minusSeconds(5);
    t.send(queue, sent);
    ServiceBusReceivedMessage got = Case.one(t.receiver(queue));
    Case.same(List.of(Case.body(got), got.getMessageId(), got.getContentType(), got.getCorrelationId(), got.getSubject(), got.getTo(),
        got.getReplyTo(), got.getReplyToSessionId(), got.getSessionId(), got.getPartitionKey(), got.getApplicationProperties()),
        List.of("body", "m-1", "text/plain", "c-1", "s-1", "t-1", "r-1", "rs-1", "g-1", "g-1", Map.of("number", 1)), "properties");
    Case.same(List.of(got.getDeliveryCount(), got.getState()), List.of(0L, ServiceBusMessageState.ACTIVE), "delivery");
    Case.same(Arrays.asList(got.getDeadLetterReason(), got.getDeadLetterErrorDescription(), got.getDeadLetterSource()),
        Collections.nCopies(3, null), "dead letter");
    Case.holds(got.getSequenceNumber() > 0, "sequence number " + got.getSequenceNumber());
    Case.holds(got.getEnqueuedTime().isAfter(before), "enqueued at " + got.getEnqueuedTime());
    Duration left = Duration.between(got.getEnqueuedTime(), got.getLockedUntil());
    Case.holds(left.toSeconds() > 58 && left.toSeconds() < 300, "locked for " + left);
    Case.holds(got.getLockToken().matches("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "lock token " + got.getLockToken());
  }

  @Test
  static void orderOfAList(Case t) {
    String queue = t.queue();
    t.sender(queue).sendMessages(List.of(Case.numbered(20)));
    List<ServiceBusReceivedMessage> got = t.drain(queue, 20);
    Case.same(Case.bodies(got), Case.texts(0, 20), "bodies");
    long first = got.get(0).getSequenceNumber();
    for (int i = 0; i < 20; i++) {
      Case.same(got.get(i).getSequenceNumber(), first + i, "sequence number");
    }
  }

  @Test
  static void orderOfSingleMessages(Case t) {
    String queue = t.queue();
    t.send(queue, Case.numbered(10));
    Case.same(Case.bodies(t.drain(queue, 10)), Case.texts(0, 10), "bodies");
  }

  @Test
  static void messagesAtOnce(Case t) {
    String queue = t.queue();
    ServiceBusSenderAsyncClient sender = t.closed(t.shared().sender().queueName(queue).buildAsyncClient());
    Flux.fromArray(Case.numbered(40)).flatMap(sender::sendMessage, 40).blockLast(Case.LONGEST);
    Case.same(new HashSet<>(Case.bodies(t.drain(queue, 40))), new HashSet<>(Case.texts(0, 40)), "bodies");
  }

  @Test
  static void asynchronousSender(Case t) {
    String queue = t.queue();
    ServiceBusSenderAsyncClient sender = t.closed(t.shared().sender().queueName(queue).buildAsyncClient());
    sender.sendMessages(List.of(Case.numbered(3))).block(Case.LONGEST);
    ServiceBusMessageBatch batch = sender.createMessageBatch().block(Case.LONGEST);
    batch.tryAddMessage(Case.message("3"));
    sender.sendMessages(batch).block(Case.LONGEST);
    Case.same(Case.bodies(t.drain(queue, 4)), Case.texts(0, 4), "bodies");
    Case.same(sender.getEntityPath(), queue, "path");
  }

  @Test
  static void batch(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    ServiceBusMessageBatch batch = sender.createMessageBatch();
    Case.holds(batch.getMaxSizeInBytes() >= 256 * 1024, batch.getMaxSizeInBytes() + " bytes");
    int before = batch.getSizeInBytes();
    for (int i = 0; i < 5; i++) {
      ServiceBusMessage m = new ServiceBusMessage("" + i).setMessageId("m-" + i);
      m.getApplicationProperties().put("i", i);
      Case.holds(batch.tryAddMessage(m), "a message does not fit");
    }
    Case.same(batch.getCount(), 5, "count");
    Case.holds(batch.getSizeInBytes() > before, "the size does not grow");
    sender.sendMessages(batch);
    List<ServiceBusReceivedMessage> got = t.drain(queue, 5);
    for (int i = 0; i < 5; i++) {
      Case.same(List.of(Case.body(got.get(i)), got.get(i).getMessageId(), got.get(i).getApplicationProperties()),
          List.of("" + i, "m-" + i, Map.of("i", i)), "message");
    }
  }

  @Test
  static void batchThatIsFull(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    ServiceBusMessageBatch batch = sender.createMessageBatch();
    int count = 0;
    while (batch.tryAddMessage(Case.message("x".repeat(50_000)))) {
      count++;
    }
    Case.holds(count > 4 && count < 25, count + " messages of 50 kB in a batch");
    sender.sendMessages(batch);
    t.drain(queue, count);
  }

  @Test
  static void batchWithALimitOfItsOwn(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    ServiceBusMessageBatch batch = sender.createMessageBatch(new CreateMessageBatchOptions().setMaximumSizeInBytes(1000));
    Case.same(List.of(batch.tryAddMessage(Case.message("x".repeat(500))), batch.tryAddMessage(Case.message("x".repeat(500)))),
        List.of(true, false), "added");
    sender.sendMessages(batch);
    t.drain(queue, 1);
    Case.refused(com.azure.messaging.servicebus.ServiceBusFailureReason.GENERAL_ERROR,
        () -> sender.createMessageBatch(new CreateMessageBatchOptions().setMaximumSizeInBytes(10_000_000)), "larger than the link size");
  }

  @Test
  static void emptyBatch(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    sender.sendMessages(sender.createMessageBatch()); // the SDK sends nothing
    sender.sendMessages(List.of());
    t.drain(queue, 0);
  }

  @Test
  static void batchOfHundreds(Case t) {
    String queue = t.queue();
    t.sender(queue).sendMessages(List.of(Case.numbered(500)));
    Case.same(Case.bodies(t.drain(queue, 500)), Case.texts(0, 500), "bodies");
  }

  @Test
  static void messageOfSeveralFrames(Case t) {
    String queue = t.queue();
    byte[] body = new byte[900_000];
    for (int i = 0; i < body.length; i++) {
      body[i] = (byte) (i * 7);
    }
    t.send(queue, new ServiceBusMessage(body));
    Case.holds(Arrays.equals(t.drain(queue, 1).get(0).getBody().toBytes(), body), "the body differs");
  }

  @Test
  static void tooLarge(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    Case.refused(MESSAGE_SIZE_EXCEEDED, () -> sender.sendMessage(new ServiceBusMessage(new byte[1_100_000])));
    Case.same(Case.browse(t.receiver(queue)), List.of(), "peeked");
    sender.sendMessage(Case.message("x"));
    Case.same(Case.bodies(t.drain(queue, 1)), List.of("x"), "bodies");
  }

  @Test
  static void overTheLimitOfTheQueue(Case t) {
    String queue = t.queue(new CreateQueueOptions().setMaxMessageSizeInKilobytes(256));
    ServiceBusSenderClient sender = t.sender(queue);
    Case.refused(MESSAGE_SIZE_EXCEEDED, () -> sender.sendMessage(new ServiceBusMessage(new byte[270_000])));
    Case.same(sender.createMessageBatch().getMaxSizeInBytes(), 256 * 1024, "limit of a batch");
  }

  @Test
  static void wrongArguments(Case t) {
    ServiceBusSenderClient sender = t.sender(t.queue());
    Case.rejected(IllegalArgumentException.class, () -> Case.message("").setMessageId("x".repeat(129)));
    Case.rejected(IllegalArgumentException.class, () -> Case.message("").setSessionId("x".repeat(129)));
    Case.rejected(IllegalArgumentException.class, () -> Case.of("a", "").setPartitionKey("b"));
    Case.rejected(NullPointerException.class, () -> sender.sendMessage(null));
  }

  @Test
  static void closedSender(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.shared().sender().queueName(queue).buildClient();
    sender.sendMessage(Case.message("x"));
    sender.close();
    Case.rejected(IllegalStateException.class, () -> sender.sendMessage(Case.message("y")));
    Case.same(Case.bodies(t.drain(queue, 1)), List.of("x"), "bodies");
  }

  @Test
  static void receivedMessageIsSentAgain(Case t) {
    String first = t.queue(), second = t.queue();
    ServiceBusMessage sent = Case.message("x").setCorrelationId("c").setTimeToLive(Duration.ofMinutes(10));
    sent.getApplicationProperties().put("a", 1);
    t.send(first, sent);
    t.send(second, new ServiceBusMessage(Case.one(t.receiver(first))));
    ServiceBusReceivedMessage got = Case.one(t.receiver(second));
    Case.same(List.of(Case.body(got), got.getMessageId(), got.getCorrelationId(), got.getTimeToLive(), got.getApplicationProperties()),
        List.of("x", sent.getMessageId(), "c", Duration.ofMinutes(10), Map.of("a", 1)), "properties");
  }

  @Test
  static void messagesWithoutId(Case t) {
    String queue = t.queue();
    t.send(queue, new ServiceBusMessage("1"), new ServiceBusMessage("2"));
    Case.same(Case.bodies(t.drain(queue, 2)), List.of("1", "2"), "bodies");
    String detecting = t.queue(new CreateQueueOptions().setDuplicateDetectionRequired(true));
    Case.refused(com.azure.messaging.servicebus.ServiceBusFailureReason.GENERAL_ERROR,
        () -> t.sender(detecting).sendMessage(new ServiceBusMessage("x")));
  }

  @Test
  static void identifier(Case t) {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.sender(queue);
    sender.sendMessage(Case.message("x"));
    Case.same(sender.getEntityPath(), queue, "path");
    Case.holds(!sender.getIdentifier().isEmpty(), "no identifier");
  }
}
