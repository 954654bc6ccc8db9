import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.administration.ServiceBusAdministrationClient;
import com.azure.messaging.servicebus.administration.models.CreateQueueOptions;
import com.azure.messaging.servicebus.administration.models.CreateSubscriptionOptions;
import com.azure.messaging.servicebus.administration.models.EntityStatus;
import com.azure.messaging.servicebus.models.DeadLetterOptions;
import com.azure.messaging.servicebus.models.SubQueue;

import java.util.List;
import java.util.Map;

/** Forwarding of messages and of dead letters. */
final class Forwarding {
  private static String forwards(Case t, String target) {
    return t.queue(new CreateQueueOptions().setForwardTo(target));
  }

  @Test
  static void messages(Case t) {
    String target = t.queue(), source = forwards(t, target);
    ServiceBusMessage m = Case.message("x").setMessageId("m");
    m.getApplicationProperties().put("kept", 1);
    t.send(source, m);
    ServiceBusReceivedMessage got = t.drain(target, 1).get(0);
    Case.same(List.of(Case.body(got), got.getMessageId(), got.getApplicationProperties()), List.of("x", "m", Map.of("kept", 1)), "message");
    Case.failed(() -> t.receiver(source).receiveMessages(1, Case.LONG).stream().toList(), "auto-forwarding");
  }

  @Test
  static void deadLetters(Case t) {
    String target = t.queue(), source = t.queue(new CreateQueueOptions().setForwardDeadLetteredMessagesTo(target));
    t.send(source, Case.message("x"));
    ServiceBusReceiverClient receiver = t.receiver(source);
    receiver.deadLetter(Case.one(receiver), new DeadLetterOptions().setDeadLetterReason("r").setDeadLetterErrorDescription("d"));
    ServiceBusReceivedMessage got = t.drain(target, 1).get(0);
    Case.same(List.of(Case.body(got), got.getDeadLetterReason(), got.getDeadLetterErrorDescription()), List.of("x", "r", "d"), "message");
  }

  @Test
  static void transferDeadLetters(Case t) {
    ServiceBusAdministrationClient client = t.administration();
    String target = t.queue(), source = forwards(t, target);
    client.updateQueue(client.getQueue(target).setStatus(EntityStatus.SEND_DISABLED));
    t.send(source, Case.message("x"), Case.message("y"));
    Case.same(client.getQueueRuntimeProperties(source).getTransferDeadLetterMessageCount(), 2, "count");
    ServiceBusReceiverClient receiver = t.receiver(source, b -> b.subQueue(SubQueue.TRANSFER_DEAD_LETTER_QUEUE));
    Case.same(Case.bodies(Case.browse(receiver)), List.of("x", "y"), "peeked");
    ServiceBusReceivedMessage got = Case.one(receiver);
    Case.same(List.of(got.getDeadLetterReason(), got.getDeadLetterSource()),
        List.of("MessagingEntityDisabledException", source), "message");
    receiver.complete(got);
  }

  @Test
  static void ofASubscription(Case t) {
    String target = t.queue(), topic = t.topic();
    t.subscribe(topic, "s", new CreateSubscriptionOptions().setForwardTo(target));
    String got = t.administration().getSubscription(topic, "s").getForwardTo();
    Case.holds(got.endsWith("/" + target), "the target is " + got);
    t.send(topic, Case.message("x"));
    t.drain(target, 1);
  }

  @Test
  static void toATopic(Case t) {
    String topic = t.topic("s");
    t.send(forwards(t, topic), Case.message("x"));
    Case.same(Case.body(Case.one(t.subscription(topic, "s"))), "x", "body");
  }

  @Test
  static void targets(Case t) {
    ServiceBusAdministrationClient client = t.administration();
    String target = t.queue(), source = forwards(t, target);
    Case.answered(400, () -> client.updateQueue(client.getQueue(target).setForwardTo(source)), "would come back");
    Case.answered(400, () -> forwards(t, t.path()), "SubCode=40400");
    client.updateQueue(client.getQueue(source).setForwardTo(null));
    Case.same(client.getQueue(source).getForwardTo(), null, "target");
    t.send(source, Case.message("x"));
    t.drain(source, 1);
  }
}
