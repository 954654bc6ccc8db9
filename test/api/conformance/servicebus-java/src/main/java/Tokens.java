import static com.azure.messaging.servicebus.ServiceBusFailureReason.UNAUTHORIZED;

import com.azure.core.credential.AccessToken;
import com.azure.core.credential.AzureNamedKeyCredential;
import com.azure.core.credential.AzureSasCredential;
import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import reactor.core.publisher.Mono;

/** Shared access signatures: scope, expiry, wrong keys. */
final class Tokens {
  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  /** Returns a shared access signature for an entity, or for everything. */
  private static String token(String audience, String key, String secret, long seconds) throws Exception {
    String resource = encoded("sb://host/" + audience);
    long end = System.currentTimeMillis() / 1000 + seconds;
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
    String signature = Base64.getEncoder().encodeToString(mac.doFinal((resource + "\n" + end).getBytes(StandardCharsets.UTF_8)));
    return "SharedAccessSignature sr=" + resource + "&sig=" + encoded(signature) + "&se=" + end + "&skn=" + key;
  }

  private static String token(String audience) throws Exception {
    return token(audience, Case.KEY, Case.SECRET, 600);
  }

  private static ServiceBusClientBuilder builder(ServiceBusClientBuilder b) {
    return Case.withPort(b, Case.ENDPOINTS.get(0)).retryOptions(Case.retries(0, Case.LONGEST));
  }

  private static ServiceBusClientBuilder withToken(String token) {
    return builder(new ServiceBusClientBuilder().credential("127.0.0.1", new AzureSasCredential(token)));
  }

  private static ServiceBusClientBuilder withKey(String key, String secret) {
    return builder(new ServiceBusClientBuilder().credential("127.0.0.1", new AzureNamedKeyCredential(key, secret)));
  }

  private static void exchange(Case t, ServiceBusClientBuilder b, String queue) {
    t.closed(b.sender().queueName(queue).buildClient()).sendMessage(Case.message("x"));
    ServiceBusReceiverClient receiver = t.closed(b.receiver().queueName(queue).buildClient());
    ServiceBusReceivedMessage got = Case.one(receiver);
    receiver.renewMessageLock(got);
    receiver.complete(got);
    Case.same(Case.body(got), "x", "body");
  }

  private static void refused(Case t, ServiceBusClientBuilder b, String queue) {
    ServiceBusSenderClient sender = t.closed(b.sender().queueName(queue).buildClient());
    ServiceBusReceiverClient receiver = t.closed(b.receiver().queueName(queue).buildClient());
    Case.refused(UNAUTHORIZED, () -> sender.sendMessage(Case.message("")));
    Case.refused(UNAUTHORIZED, () -> receiver.receiveMessages(1, Case.LONG).stream().toList());
    Case.refused(UNAUTHORIZED, receiver::peekMessage);
  }

  @Test(secure = true)
  static void ofEverything(Case t) throws Exception {
    exchange(t, withToken(token("")), t.queue());
  }

  @Test(secure = true)
  static void ofOneEntity(Case t) throws Exception {
    String queue = t.queue();
    exchange(t, withToken(token(queue)), queue);
  }

  @Test(secure = true)
  static void ofAnotherEntity(Case t) throws Exception {
    refused(t, withToken(token(t.queue())), t.queue());
  }

  @Test(secure = true)
  static void namedKey(Case t) {
    exchange(t, withKey(Case.KEY, Case.SECRET), t.queue());
  }

  @Test(secure = true)
  static void signatureInAConnectionString(Case t) throws Exception {
    exchange(t, builder(new ServiceBusClientBuilder()
        .connectionString("Endpoint=sb://127.0.0.1/;SharedAccessSignature=" + token(""))), t.queue());
  }

  @Test(secure = true)
  static void expired(Case t) throws Exception {
    refused(t, withToken(token("", Case.KEY, Case.SECRET, -10)), t.queue());
  }

  @Test(secure = true)
  static void wrongKeys(Case t) {
    refused(t, withKey(Case.KEY, "another"), t.queue());
    refused(t, withKey("AKIAUNKNOWN000000000", Case.SECRET), t.queue());
  }

  @Test(secure = true)
  static void tokenOfADirectory(Case t) {
    refused(t, builder(new ServiceBusClientBuilder().credential("127.0.0.1",
        request -> Mono.just(new AccessToken("e30.e30.x", java.time.OffsetDateTime.now().plusHours(1))))), t.queue());
  }

  @Test(secure = true)
  static void thatEndsWhileItIsUsed(Case t) throws Exception {
    String queue = t.queue();
    ServiceBusSenderClient sender = t.closed(withToken(token("", Case.KEY, Case.SECRET, 5)).sender().queueName(queue).buildClient());
    int[] sent = {0};
    Case.eventually("a sender is refused without a token", () -> {
      if (Case.failure(() -> sender.sendMessage(Case.message("x"))) != null) {
        return true;
      }
      sent[0]++;
      return false;
    });
    ServiceBusReceiverClient receiver = t.deleting(queue);
    Case.take(receiver, sent[0]);
    Case.holds(Case.browse(receiver).size() <= 1, "more are stored than the last, whose outcome is unknown");
  }

  @Test(secure = true)
  static void administrationWithAWrongKey(Case t) {
    Case.answered(401, () -> t.administrationBuilder("another").buildClient().createQueue(t.path()), "");
  }
}
