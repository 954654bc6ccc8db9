import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusServiceVersion;
import com.azure.messaging.servicebus.administration.ServiceBusAdministrationAsyncClient;
import com.azure.messaging.servicebus.administration.ServiceBusAdministrationClient;
import com.azure.messaging.servicebus.administration.models.CreateQueueOptions;
import com.azure.messaging.servicebus.administration.models.EntityStatus;
import com.azure.messaging.servicebus.administration.models.MessagingSku;
import com.azure.messaging.servicebus.administration.models.NamespaceProperties;
import com.azure.messaging.servicebus.administration.models.QueueProperties;
import com.azure.messaging.servicebus.administration.models.QueueRuntimeProperties;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** Administration of queues. */
final class Administration {
  private static final Duration FOREVER = Duration.parse("P10675199DT2H48M5.4775807S");

  @Test
  static void defaults(Case t) {
    String path = t.path();
    QueueProperties created = t.administration().createQueue(path);
    for (QueueProperties q : List.of(created, t.administration().getQueue(path))) {
      Case.same(Arrays.asList(q.getName(), q.getLockDuration(), q.getMaxDeliveryCount(), q.isSessionRequired(),
          q.isDuplicateDetectionRequired(),
          q.isDeadLetteringOnMessageExpiration(), q.isPartitioningEnabled(), q.getStatus(), q.isBatchedOperationsEnabled(),
          q.getDefaultMessageTimeToLive(), q.getAutoDeleteOnIdle(), q.getDuplicateDetectionHistoryTimeWindow(), q.getForwardTo()),
          Arrays.asList(path, Duration.ofMinutes(1), 10, false, false, false, false, EntityStatus.ACTIVE, true, FOREVER, FOREVER,
              Duration.ofMinutes(1), null), "properties");
    }
  }

  @Test
  static void properties(Case t) {
    QueueProperties q = t.administration().getQueue(t.queue(new CreateQueueOptions().setLockDuration(Duration.ofSeconds(45))
        .setMaxDeliveryCount(3)
        .setSessionRequired(true).setDuplicateDetectionRequired(true).setDuplicateDetectionHistoryTimeWindow(Duration.ofDays(1))
        .setDefaultMessageTimeToLive(Duration.ofHours(5)).setDeadLetteringOnMessageExpiration(true).setMaxMessageSizeInKilobytes(256)));
    Case.same(List.of(q.getLockDuration(), q.getMaxDeliveryCount(), q.isSessionRequired(), q.isDuplicateDetectionRequired(),
        q.getDuplicateDetectionHistoryTimeWindow(), q.getDefaultMessageTimeToLive(), q.isDeadLetteringOnMessageExpiration(),
        q.getMaxMessageSizeInKilobytes()),
        List.of(Duration.ofSeconds(45), 3, true, true, Duration.ofDays(1), Duration.ofHours(5), true, 256L), "properties");
  }

  @Test
  static void change(Case t) {
    ServiceBusAdministrationClient client = t.administration();
    String path = t.queue();
    client.updateQueue(client.getQueue(path).setMaxDeliveryCount(1).setLockDuration(Case.LONG)
        .setDefaultMessageTimeToLive(Duration.ofHours(1)));
    QueueProperties q = client.getQueue(path);
    Case.same(List.of(q.getMaxDeliveryCount(), q.getLockDuration(), q.getDefaultMessageTimeToLive()),
        List.of(1, Case.LONG, Duration.ofHours(1)), "properties");
    t.send(path, Case.message("x"));
    ServiceBusReceiverClient receiver = t.receiver(path);
    receiver.abandon(Case.one(receiver));
    Case.nothing(receiver);
    Case.same(Case.one(t.deadLetters(path)).getDeadLetterReason(), "MaxDeliveryCountExceeded", "reason");
  }

  @Test
  static void wrongValues(Case t) {
    ServiceBusAdministrationClient client = t.administration();
    for (CreateQueueOptions wrong : List.of(new CreateQueueOptions().setMaxDeliveryCount(0),
        new CreateQueueOptions().setLockDuration(Duration.ZERO),
        new CreateQueueOptions().setDuplicateDetectionHistoryTimeWindow(Case.BRIEF),
        new CreateQueueOptions().setDuplicateDetectionHistoryTimeWindow(Duration.ofDays(8)))) {
      Case.answered(400, () -> client.createQueue(t.path(), wrong), "SubCode=40000");
    }
    Case.answered(400, () -> client.createQueue("a!b"), "not a valid entity name");
  }

  @Test
  static void existingAndMissing(Case t) {
    ServiceBusAdministrationClient client = t.administration();
    String path = t.queue(), missing = t.path();
    Case.same(List.of(client.getQueueExists(path), client.getQueueExists(missing)), List.of(true, false), "existence");
    Case.answered(409, () -> client.createQueue(path), "");
    Case.answered(404, () -> client.getQueue(missing), "");
    Case.answered(404, () -> client.getQueueRuntimeProperties(missing), "");
    Case.answered(404, () -> client.deleteQueue(missing), "");
    client.deleteQueue(path);
    Case.same(client.getQueueExists(path), false, "existence after the deletion");
    client.createQueue(path);
    Case.same(client.getQueueExists(path), true, "existence after the second creation");
  }

  @Test
  static void list(Case t) {
    Set<String> paths = new HashSet<>();
    for (int i = 0; i < 110; i++) {
      paths.add(t.queue());
    }
    paths.removeAll(t.administration().listQueues().stream().map(QueueProperties::getName).collect(Collectors.toSet()));
    Case.same(paths, Set.of(), "queues that are missing");
  }

  @Test
  static void counts(Case t) throws Exception {
    String path = t.queue();
    for (int i = 0; i < 5; i++) {
      t.send(path, Case.message("x".repeat(1000)));
    }
    t.sender(path).scheduleMessages(List.of(Case.numbered(2)), Case.later(3600)).forEach(n -> {});
    ServiceBusReceiverClient receiver = t.receiver(path);
    List<ServiceBusReceivedMessage> got = Case.take(receiver, 2);
    receiver.deadLetter(got.get(0));
    receiver.complete(got.get(1));
    Case.eventually("the counts are right", () -> {
      QueueRuntimeProperties q = t.administration().getQueueRuntimeProperties(path);
      Case.holds(q.getSizeInBytes() > 3000 && !q.getCreatedAt().isAfter(q.getUpdatedAt()), "the size or the times are wrong");
      return List.of(q.getActiveMessageCount(), q.getDeadLetterMessageCount(), q.getScheduledMessageCount(), q.getTotalMessageCount(),
          q.getTransferMessageCount(), q.getTransferDeadLetterMessageCount()).equals(List.of(3, 1, 2, 6L, 0, 0));
    });
  }

  @Test
  static void status(Case t) {
    ServiceBusAdministrationClient client = t.administration();
    String path = t.queue();
    for (EntityStatus status : List.of(EntityStatus.RECEIVE_DISABLED, EntityStatus.ACTIVE)) {
      client.updateQueue(client.getQueue(path).setStatus(status));
      Case.same(client.getQueue(path).getStatus(), status, "status");
      t.send(path, Case.message("x"));
    }
    t.drain(path, 2);
  }

  @Test
  static void namespace(Case t) {
    NamespaceProperties got = t.administration().getNamespaceProperties();
    Case.holds(!got.getName().isEmpty() && got.getCreatedTime() != null, "no name or time");
    Case.holds(Set.of(MessagingSku.BASIC, MessagingSku.STANDARD, MessagingSku.PREMIUM).contains(got.getMessagingSku()),
        "tier " + got.getMessagingSku());
  }

  @Test
  static void names(Case t) {
    for (String path : List.of(t.path() + "/x.y-z_0", "n".repeat(200) + t.path())) {
      t.administration().createQueue(path);
      Case.same(t.administration().getQueue(path).getName(), path, "name");
      t.send(path, Case.message("x"));
      t.drain(path, 1);
    }
  }

  @Test
  static void olderVersion(Case t) {
    ServiceBusAdministrationClient client =
        t.administrationBuilder(Case.SECRET).serviceVersion(ServiceBusServiceVersion.V2017_04).buildClient();
    String path = t.path();
    client.createQueue(path, new CreateQueueOptions().setMaxDeliveryCount(4));
    Case.same(client.getQueue(path).getMaxDeliveryCount(), 4, "count");
  }

  @Test
  static void asynchronously(Case t) {
    ServiceBusAdministrationAsyncClient client = t.administrationBuilder(Case.SECRET).buildAsyncClient();
    String path = t.path();
    client.createQueue(path).block(Case.LONGEST);
    List<Object> seen = new ArrayList<>();
    seen.add(client.getQueueExists(path).block(Case.LONGEST));
    seen.add(client.getQueue(path).flatMap(q -> client.updateQueue(q.setMaxDeliveryCount(3))).block(Case.LONGEST).getMaxDeliveryCount());
    seen.add(client.listQueues().any(q -> q.getName().equals(path)).block(Case.LONGEST));
    client.deleteQueue(path).block(Case.LONGEST);
    seen.add(client.getQueueExists(path).block(Case.LONGEST));
    Case.same(seen, List.of(true, 3, true, false), "answers");
  }
}
