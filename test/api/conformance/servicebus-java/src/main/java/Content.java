import com.azure.core.amqp.models.AmqpAnnotatedMessage;
import com.azure.core.amqp.models.AmqpMessageBody;
import com.azure.core.amqp.models.AmqpMessageBodyType;
import com.azure.core.amqp.models.AmqpMessageHeader;
import com.azure.core.amqp.models.AmqpMessageProperties;
import com.azure.core.util.BinaryData;
import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;

import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Bodies and properties come back as they were sent. */
final class Content {
  private static ServiceBusReceivedMessage returned(Case t, ServiceBusMessage sent) {
    String queue = t.queue();
    t.send(queue, sent);
    return Case.one(t.receiver(queue));
  }

  private static Map<String, Object> returned(Case t, Map<String, Object> properties) {
    ServiceBusMessage sent = Case.message("");
    sent.getApplicationProperties().putAll(properties);
    return returned(t, sent).getApplicationProperties();
  }

  @Test
  static void text(Case t) {
    String text = "Grüße, 世界 🎉\u0000\u001f";
    Case.same(Case.body(returned(t, Case.message(text))), text, "body");
  }

  @Test
  static void bytes(Case t) {
    byte[] every = new byte[768];
    for (int i = 0; i < every.length; i++) {
      every[i] = (byte) i;
    }
    ServiceBusReceivedMessage got = returned(t, new ServiceBusMessage(every));
    Case.holds(Arrays.equals(got.getBody().toBytes(), every), "the body differs");
    Case.same(got.getRawAmqpMessage().getBody().getBodyType(), AmqpMessageBodyType.DATA, "type of the body");
  }

  @Test
  static void emptyBody(Case t) {
    Case.same(returned(t, new ServiceBusMessage(new byte[0])).getBody().toBytes().length, 0, "length");
  }

  @Test
  static void object(Case t) {
    Map<String, Object> object = Map.of("a", Map.of("b", List.of(1, 2)), "é", "");
    Case.same(returned(t, new ServiceBusMessage(BinaryData.fromObject(object))).getBody().toObject(Map.class), object, "object");
  }

  @Test
  static void values(Case t) {
    String queue = t.queue();
    Object[] values = {
      "a", -7L, 7, true, 1.5, 0.5f, (short) 3, (byte) -1, 'é', UUID.fromString("00112233-4455-6677-8899-aabbccddeeff"),
      List.of(1L, "a"), Map.of("k", Map.of("x", 1L)),
    };
    for (Object value : values) {
      t.send(queue, new ServiceBusMessage(AmqpMessageBody.fromValue(value)));
    }
    List<ServiceBusReceivedMessage> got = t.drain(queue, values.length);
    for (int i = 0; i < values.length; i++) {
      AmqpMessageBody body = got.get(i).getRawAmqpMessage().getBody();
      Case.same(List.of(body.getBodyType(), body.getValue()), List.of(AmqpMessageBodyType.VALUE, values[i]), "body");
    }
  }

  @Test
  static void sequence(Case t) {
    List<Object> sequence = Arrays.asList(1L, "a", true);
    AmqpMessageBody body = returned(t, new ServiceBusMessage(AmqpMessageBody.fromSequence(sequence))).getRawAmqpMessage().getBody();
    Case.same(List.of(body.getBodyType(), body.getSequence()), List.of(AmqpMessageBodyType.SEQUENCE, sequence), "body");
  }

  @Test
  static void applicationProperties(Case t) {
    Map<String, Object> sent = new HashMap<>();
    sent.put("text", "é");
    sent.put("empty", "");
    sent.put("true", true);
    sent.put("false", false);
    sent.put("null", null);
    sent.put("byte", (byte) -128);
    sent.put("short", Short.MIN_VALUE);
    sent.put("int", Integer.MAX_VALUE);
    sent.put("long", Long.MIN_VALUE);
    sent.put("float", 0.5f);
    sent.put("double", 0.1);
    sent.put("char", 'é');
    sent.put("uuid", UUID.fromString("00112233-4455-6677-8899-aabbccddeeff"));
    sent.put("name with blanks.é", 1);
    Case.same(returned(t, sent), sent, "properties");
  }

  @Test
  static void times(Case t) {
    Map<String, Object> sent = Map.of("date", new java.util.Date(1767312000123L), "offset", OffsetDateTime.parse("2026-01-02T03:04:05Z"),
        "duration", Duration.ofMillis(1500), "uri", java.net.URI.create("http://a/b"));
    for (Map.Entry<String, Object> one : sent.entrySet()) {
      Case.same(returned(t, Map.of("v", one.getValue())).get("v"), one.getValue(), one.getKey());
    }
  }

  @Test
  static void manyApplicationProperties(Case t) {
    Map<String, Object> sent =
        IntStream.range(0, 300).boxed().collect(Collectors.toMap(i -> "name." + i + " é", i -> "x".repeat(50)));
    Case.same(returned(t, sent), sent, "properties");
  }

  @Test
  static void annotationsAndHeader(Case t) {
    ServiceBusMessage sent = Case.message("x").setPartitionKey("p");
    AmqpAnnotatedMessage raw = sent.getRawAmqpMessage();
    raw.getHeader().setDurable(true).setPriority((short) 7).setTimeToLive(Duration.ofMinutes(10));
    raw.getProperties().setContentEncoding("ce").setGroupSequence(3L);
    AmqpAnnotatedMessage got = returned(t, sent).getRawAmqpMessage();
    AmqpMessageHeader header = got.getHeader();
    AmqpMessageProperties properties = got.getProperties();
    Case.same(got.getMessageAnnotations().get("x-opt-partition-key"), "p", "annotation");
    Case.same(Arrays.asList(header.isDurable(), header.getPriority(), header.getTimeToLive()),
        Arrays.asList(true, (short) 7, Duration.ofMinutes(10)), "header");
    Case.same(Arrays.asList(properties.getContentEncoding(), properties.getGroupSequence()), Arrays.asList("ce", 3L), "properties");
  }

  @Test
  static void partitionKey(Case t) {
    ServiceBusReceivedMessage got = returned(t, Case.message("").setPartitionKey("é/1"));
    Case.same(Arrays.asList(got.getPartitionKey(), got.getSessionId()), Arrays.asList("é/1", null), "partition key and session");
  }
}
