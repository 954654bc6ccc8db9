import com.azure.core.amqp.AmqpTransportType;
import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;

import java.util.List;

/** AMQP over WebSocket. The SDK uses it only with TLS. */
final class Websocket {
  private static ServiceBusClientBuilder builder(Case t) {
    return Case.builder(t.endpoint()).transportType(AmqpTransportType.AMQP_WEB_SOCKETS);
  }

  @Test(secure = true)
  static void sendAndReceive(Case t) {
    String queue = t.queue();
    ServiceBusClientBuilder b = builder(t);
    t.closed(b.sender().queueName(queue).buildClient()).sendMessages(List.of(Case.numbered(100)));
    Case.same(Case.bodies(Case.drain(t.closed(b.receiver().queueName(queue).buildClient()), 100)), Case.texts(0, 100), "bodies");
  }

  @Test(secure = true)
  static void largeMessages(Case t) {
    String queue = t.queue();
    ServiceBusClientBuilder b = builder(t);
    t.closed(b.sender().queueName(queue).buildClient()).sendMessage(new ServiceBusMessage(new byte[900_000]));
    ServiceBusReceiverClient receiver = t.closed(b.receiver().queueName(queue).buildClient());
    Case.same(Case.drain(receiver, 1).get(0).getBody().toBytes().length, 900_000, "length");
  }

  @Test(secure = true)
  static void sessions(Case t) throws Exception {
    String queue = t.sessions();
    t.send(queue, Case.of("s", "x"));
    ServiceBusReceiverClient receiver = t.session(builder(t).sessionReceiver().queueName(queue), "s");
    receiver.setSessionState(new byte[] {1});
    Case.same(List.of(receiver.getSessionState().length, Case.bodies(Case.drain(receiver, 1))),
        List.of(1, List.of("x")), "state and bodies");
  }
}
