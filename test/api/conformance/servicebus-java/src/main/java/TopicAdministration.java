import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.administration.ServiceBusAdministrationAsyncClient;
import com.azure.messaging.servicebus.administration.ServiceBusAdministrationClient;
import com.azure.messaging.servicebus.administration.models.CreateSubscriptionOptions;
import com.azure.messaging.servicebus.administration.models.CreateTopicOptions;
import com.azure.messaging.servicebus.administration.models.EntityStatus;
import com.azure.messaging.servicebus.administration.models.SubscriptionProperties;
import com.azure.messaging.servicebus.administration.models.SubscriptionRuntimeProperties;
import com.azure.messaging.servicebus.administration.models.TopicProperties;
import com.azure.messaging.servicebus.administration.models.TopicRuntimeProperties;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/** Administration of topics and subscriptions. */
final class TopicAdministration {
  private static final Duration FOREVER = Duration.parse("P10675199DT2H48M5.4775807S");

  @Test
  static void defaults(Case t) {
    String path = t.topic("s");
    TopicProperties topic = t.administration().getTopic(path);
    Case.same(List.of(topic.getName(), topic.isDuplicateDetectionRequired(), topic.isPartitioningEnabled(), topic.getStatus(),
        topic.getDefaultMessageTimeToLive(), topic.getDuplicateDetectionHistoryTimeWindow()),
        List.of(path, false, false, EntityStatus.ACTIVE, FOREVER, Duration.ofMinutes(1)), "topic");
    SubscriptionProperties s = t.administration().getSubscription(path, "s");
    Case.same(Arrays.asList(s.getTopicName(), s.getSubscriptionName(), s.getLockDuration(), s.getMaxDeliveryCount(), s.isSessionRequired(),
        s.isDeadLetteringOnMessageExpiration(), s.getStatus(), s.getForwardTo()),
        Arrays.asList(path, "s", Duration.ofMinutes(1), 10, false, false, EntityStatus.ACTIVE, null), "subscription");
  }

  @Test
  static void changeOfATopic(Case t) {
    ServiceBusAdministrationClient client = t.administration();
    String path = t.path();
    client.createTopic(path, new CreateTopicOptions().setDuplicateDetectionRequired(true));
    client.updateTopic(client.getTopic(path).setDefaultMessageTimeToLive(Duration.ofHours(1))
        .setDuplicateDetectionHistoryTimeWindow(Duration.ofSeconds(30)));
    TopicProperties topic = client.getTopic(path);
    Case.same(List.of(topic.getDefaultMessageTimeToLive(), topic.getDuplicateDetectionHistoryTimeWindow(),
        topic.isDuplicateDetectionRequired()),
        List.of(Duration.ofHours(1), Duration.ofSeconds(30), true), "properties");
    Case.answered(400, () -> client.updateTopic(topic.setDuplicateDetectionRequired(false)), "");
  }

  @Test
  static void changeOfASubscription(Case t) {
    ServiceBusAdministrationClient client = t.administration();
    String path = t.topic();
    t.subscribe(path, "s", new CreateSubscriptionOptions().setSessionRequired(true));
    client.updateSubscription(client.getSubscription(path, "s").setLockDuration(Case.LONG).setMaxDeliveryCount(2)
        .setDeadLetteringOnMessageExpiration(true));
    SubscriptionProperties s = client.getSubscription(path, "s");
    Case.same(List.of(s.getLockDuration(), s.getMaxDeliveryCount(), s.isDeadLetteringOnMessageExpiration(),
        s.isSessionRequired()), List.of(Case.LONG, 2, true, true), "properties");
  }

  @Test
  static void existingAndMissing(Case t) {
    ServiceBusAdministrationClient client = t.administration();
    String path = t.topic("s"), missing = t.path();
    Case.same(List.of(client.getTopicExists(path), client.getTopicExists(missing), client.getSubscriptionExists(path, "s"),
        client.getSubscriptionExists(path, "none")), List.of(true, false, true, false), "existence");
    Case.answered(409, () -> client.createTopic(path), "");
    Case.answered(409, () -> client.createQueue(path), "");
    Case.answered(409, () -> client.createSubscription(path, "s"), "");
    Case.answered(404, () -> client.getTopic(missing), "");
    Case.answered(404, () -> client.deleteTopic(missing), "");
    Case.answered(404, () -> client.createSubscription(missing, "s"), "");
    Case.answered(404, () -> client.getSubscription(path, "none"), "");
    Case.answered(404, () -> client.deleteSubscription(path, "none"), "");
    client.deleteSubscription(path, "s");
    Case.same(client.getSubscriptionExists(path, "s"), false, "existence after the deletion");
    client.createSubscription(path, "s");
    client.deleteTopic(path);
    Case.same(client.getTopicExists(path), false, "existence of the topic after its deletion");
  }

  @Test
  static void lists(Case t) {
    String path = t.topic("s0", "s1", "s2");
    Case.holds(t.administration().listTopics().stream().anyMatch(topic -> topic.getName().equals(path)), "the topic is missing");
    Case.same(t.administration().listSubscriptions(path).stream().map(SubscriptionProperties::getSubscriptionName).sorted().toList(),
        List.of("s0", "s1", "s2"), "subscriptions");
  }

  @Test
  static void counts(Case t) throws Exception {
    ServiceBusAdministrationClient client = t.administration();
    String path = t.topic("a", "b");
    t.send(path, Case.numbered(3));
    t.sender(path).scheduleMessage(Case.message(""), Case.later(3600));
    ServiceBusReceiverClient receiver = t.subscription(path, "a");
    receiver.deadLetter(Case.one(receiver));
    Case.eventually("the counts are right", () -> {
      SubscriptionRuntimeProperties a = client.getSubscriptionRuntimeProperties(path, "a"),
          b = client.getSubscriptionRuntimeProperties(path, "b");
      return List.of(a.getActiveMessageCount(), a.getDeadLetterMessageCount(), a.getTotalMessageCount(), b.getActiveMessageCount(),
          b.getDeadLetterMessageCount(), b.getTotalMessageCount()).equals(List.of(2, 1, 3L, 3, 0, 3L));
    });
    TopicRuntimeProperties topic = client.getTopicRuntimeProperties(path);
    Case.same(List.of(topic.getSubscriptionCount(), topic.getScheduledMessageCount()), List.of(2, 1), "counts of the topic");
  }

  @Test
  static void asynchronously(Case t) {
    ServiceBusAdministrationAsyncClient client = t.administrationBuilder(Case.SECRET).buildAsyncClient();
    String path = t.path();
    client.createTopic(path).then(client.createSubscription(path, "s")).block(Case.LONGEST);
    client.getSubscription(path, "s").flatMap(s -> client.updateSubscription(s.setMaxDeliveryCount(3))).block(Case.LONGEST);
    Case.same(client.listSubscriptions(path).map(SubscriptionProperties::getMaxDeliveryCount).collectList().block(Case.LONGEST),
        List.of(3), "counts");
    client.deleteSubscription(path, "s").then(client.deleteTopic(path)).block(Case.LONGEST);
    Case.same(client.getTopicExists(path).block(Case.LONGEST), false, "existence after the deletion");
  }
}
