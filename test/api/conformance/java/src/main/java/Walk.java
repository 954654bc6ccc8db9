import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.util.VersionInfo;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.*;

/**
 * Calls the SQS API with the AWS SDK for Java 2, which checks the digests of bodies and attributes
 * itself. A warning in its log is an error.
 */
public final class Walk {
  private static final String RUN = UUID.randomUUID().toString().substring(0, 8);
  private final List<SqsClient> clients = new ArrayList<>();
  private int turn;

  private Walk(String[] endpoints) {
    for (String endpoint : endpoints) {
      clients.add(SqsClient.builder().endpointOverride(URI.create(endpoint)).region(Region.US_EAST_1).build());
    }
  }

  /** Returns the client of the next node. */
  private SqsClient sqs() {
    return clients.get(turn++ % clients.size());
  }

  private static void same(Object got, Object want, String what) {
    if (!got.equals(want)) {
      throw new AssertionError(what + ": got " + got + ", want " + want);
    }
  }

  private static void refused(String code, int status, Runnable call) {
    try {
      call.run();
    } catch (SqsException e) {
      same(e.awsErrorDetails().errorCode(), code, "error code");
      same(e.statusCode(), status, "status of " + code);
      return;
    }
    throw new AssertionError("accepted, want " + code);
  }

  private static String nameOf(String url) {
    return url.substring(url.lastIndexOf('/') + 1);
  }

  private static String arn(String url) {
    return "arn:aws:sqs:us-east-1:000000000000:" + nameOf(url);
  }

  private String create(String name, Map<QueueAttributeName, String> attributes) {
    Map<QueueAttributeName, String> all = new HashMap<>(attributes);
    all.put(QueueAttributeName.FIFO_QUEUE, "true");
    return sqs().createQueue(r -> r.queueName(name + "-" + RUN + ".fifo").attributes(all)).queueUrl();
  }

  private List<Integer> counts(String url) {
    List<QueueAttributeName> names =
        List.of(QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES, QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES_NOT_VISIBLE);
    Map<QueueAttributeName, String> got = sqs().getQueueAttributes(r -> r.queueUrl(url).attributeNames(names)).attributes();
    return names.stream().map(n -> Integer.parseInt(got.get(n))).toList();
  }

  private List<Message> receive(String url, int max) {
    return sqs().receiveMessage(r -> r.queueUrl(url).maxNumberOfMessages(max).waitTimeSeconds(10)).messages();
  }

  private String messages() {
    String url = create("java", Map.of());
    same(nameOf(sqs().getQueueUrl(r -> r.queueName(nameOf(url))).queueUrl()), nameOf(url), "queue URL");
    Map<String, MessageAttributeValue> attributes = Map.of(
        "text", MessageAttributeValue.builder().dataType("String").stringValue("é <&>").build(),
        "number", MessageAttributeValue.builder().dataType("Number").stringValue("42").build(),
        "bytes", MessageAttributeValue.builder().dataType("Binary").binaryValue(SdkBytes.fromByteArray(new byte[] {0, 1, 2, -1})).build());
    String body = "first \"body\" é \r\n\t \uD83D\uDE00";
    SendMessageRequest send = SendMessageRequest.builder().queueUrl(url).messageBody(body).messageGroupId("g")
        .messageDeduplicationId("1").messageAttributes(attributes).build();
    SendMessageResponse sent = sqs().sendMessage(send);
    SendMessageResponse again = sqs().sendMessage(send);
    same(List.of(again.messageId(), again.sequenceNumber()), List.of(sent.messageId(), sent.sequenceNumber()), "answer to the duplicate");

    ReceiveMessageRequest receive = ReceiveMessageRequest.builder().queueUrl(url).waitTimeSeconds(10).receiveRequestAttemptId("A")
        .messageSystemAttributeNamesWithStrings("All").messageAttributeNames("All").build();
    List<Message> first = sqs().receiveMessage(receive).messages();
    same(sqs().receiveMessage(receive).messages(), first, "receive with the same attempt id");
    Message message = first.get(0);
    same(message.body(), body, "body");
    same(message.messageAttributes(), attributes, "attributes");
    same(message.md5OfMessageAttributes(), sent.md5OfMessageAttributes(), "digest of the attributes");
    same(message.attributes().get(MessageSystemAttributeName.SEQUENCE_NUMBER), sent.sequenceNumber(), "sequence number");
    same(sqs().receiveMessage(r -> r.queueUrl(url)).hasMessages(), false, "messages while the group is blocked");

    sqs().changeMessageVisibility(r -> r.queueUrl(url).receiptHandle(message.receiptHandle()).visibilityTimeout(0));
    Message second = receive(url, 1).get(0);
    sqs().deleteMessage(r -> r.queueUrl(url).receiptHandle(second.receiptHandle()));
    same(counts(url), List.of(0, 0), "messages after the delete");
    same(sqs().sendMessage(send).messageId(), sent.messageId(), "answer to the duplicate after the delete");
    return url;
  }

  private void batches(String url) {
    List<SendMessageBatchRequestEntry> entries = IntStream.range(0, 10).mapToObj(i -> SendMessageBatchRequestEntry.builder()
        .id("e" + i).messageBody("m" + i).messageGroupId("g" + i % 2).messageDeduplicationId("b" + i).build()).toList();
    SendMessageBatchResponse sent = sqs().sendMessageBatch(r -> r.queueUrl(url).entries(entries));
    same(List.of(sent.successful().size(), sent.failed().size()), List.of(10, 0), "batch send");
    List<Message> got = receive(url, 10);
    same(got.stream().map(Message::body).toList(), List.of("m0", "m2", "m4", "m6", "m8", "m1", "m3", "m5", "m7", "m9"), "order by group");
    List<ChangeMessageVisibilityBatchRequestEntry> hides = IntStream.range(0, 10).mapToObj(i -> ChangeMessageVisibilityBatchRequestEntry
        .builder().id("" + i).receiptHandle(got.get(i).receiptHandle()).visibilityTimeout(60).build()).toList();
    same(sqs().changeMessageVisibilityBatch(r -> r.queueUrl(url).entries(hides)).successful().size(), 10, "batch change of visibility");
    List<DeleteMessageBatchRequestEntry> deletes = IntStream.range(0, 10).mapToObj(i -> DeleteMessageBatchRequestEntry.builder()
        .id("" + i).receiptHandle(i == 9 ? "garbage" : got.get(i).receiptHandle()).build()).toList();
    DeleteMessageBatchResponse removed = sqs().deleteMessageBatch(r -> r.queueUrl(url).entries(deletes));
    same(removed.failed().stream().map(BatchResultErrorEntry::code).toList(), List.of("ReceiptHandleIsInvalid"), "batch delete");
    sqs().purgeQueue(r -> r.queueUrl(url));
    same(counts(url), List.of(0, 0), "messages after the purge");
  }

  private void settings(String url) {
    sqs().tagQueue(r -> r.queueUrl(url).tags(Map.of("team", "payments", "stage", "test")));
    sqs().untagQueue(r -> r.queueUrl(url).tagKeys("stage"));
    same(sqs().listQueueTags(r -> r.queueUrl(url)).tags(), Map.of("team", "payments"), "tags");
    sqs().setQueueAttributes(r -> r.queueUrl(url).attributes(Map.of(QueueAttributeName.VISIBILITY_TIMEOUT, "41")));
    Map<QueueAttributeName, String> got =
        sqs().getQueueAttributes(r -> r.queueUrl(url).attributeNames(QueueAttributeName.ALL)).attributes();
    same(got.get(QueueAttributeName.VISIBILITY_TIMEOUT), "41", "VisibilityTimeout");
    same(got.get(QueueAttributeName.QUEUE_ARN), arn(url), "QueueArn");
    sqs().addPermission(r -> r.queueUrl(url).label("L").awsAccountIds("111122223333").actions("SendMessage"));
    sqs().removePermission(r -> r.queueUrl(url).label("L"));
    same(sqs().listQueues(r -> r.queueNamePrefix("java-" + RUN)).queueUrls().stream().map(Walk::nameOf).toList(), List.of(nameOf(url)), "list");
    same(sqs().listQueuesPaginator(r -> r.queueNamePrefix("java-" + RUN).maxResults(1)).queueUrls().stream().count(), 1L, "pages");
  }

  private List<String> redrive() throws InterruptedException {
    String dead = create("java-dead", Map.of());
    String policy = "{\"deadLetterTargetArn\":\"" + arn(dead) + "\",\"maxReceiveCount\":1}";
    String source = create("java-source", Map.of(QueueAttributeName.REDRIVE_POLICY, policy, QueueAttributeName.VISIBILITY_TIMEOUT, "0",
        QueueAttributeName.CONTENT_BASED_DEDUPLICATION, "true"));
    same(sqs().listDeadLetterSourceQueues(r -> r.queueUrl(dead)).queueUrls().stream().map(Walk::nameOf).toList(), List.of(nameOf(source)), "sources");
    String id = sqs().sendMessage(r -> r.queueUrl(source).messageBody("poison").messageGroupId("g")).messageId();
    receive(source, 1);
    same(sqs().receiveMessage(r -> r.queueUrl(source)).hasMessages(), false, "messages after the last receive");
    Message moved = sqs().receiveMessage(r -> r.queueUrl(dead).visibilityTimeout(0).waitTimeSeconds(10)).messages().get(0);
    same(moved.messageId(), id, "message in the dead-letter queue");
    sqs().startMessageMoveTask(r -> r.sourceArn(arn(dead)));
    ListMessageMoveTasksResultEntry task = null;
    for (int i = 0; i < 300 && (task == null || !"COMPLETED".equals(task.status())); i++) {
      task = sqs().listMessageMoveTasks(r -> r.sourceArn(arn(dead))).results().get(0);
      Thread.sleep(50);
    }
    same(task.status(), "COMPLETED", "move task");
    same(counts(source), List.of(1, 0), "messages back in the source");
    String json = "{\"taskId\":\"" + UUID.randomUUID() + "\",\"sourceArn\":\"" + arn(dead) + "\"}";
    String handle = Base64.getEncoder().encodeToString(json.getBytes(StandardCharsets.UTF_8));
    refused("ResourceNotFoundException", 404, () -> sqs().cancelMessageMoveTask(r -> r.taskHandle(handle)));
    return List.of(dead, source);
  }

  private void refusals(String url) {
    String gone = create("java-gone", Map.of());
    sqs().deleteQueue(r -> r.queueUrl(gone));
    refused("AWS.SimpleQueueService.NonExistentQueue", 400,
        () -> sqs().sendMessage(r -> r.queueUrl(gone).messageBody("m").messageGroupId("g")));
    refused("InvalidParameterValue", 400, () -> sqs().sendMessage(r -> r.queueUrl(url).messageBody("m").messageGroupId("g")));
    refused("ReceiptHandleIsInvalid", 404, () -> sqs().deleteMessage(r -> r.queueUrl(url).receiptHandle("garbage")));
    try {
      sqs().getQueueUrl(r -> r.queueName("never-created"));
    } catch (QueueDoesNotExistException expected) {
      return;
    }
    throw new AssertionError("the typed exception was not thrown");
  }

  /** Makes all calls. */
  public static void main(String[] arguments) throws InterruptedException {
    System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "warn");
    PrintStream terminal = System.err;
    ByteArrayOutputStream complaints = new ByteArrayOutputStream();
    System.setErr(new PrintStream(complaints, true, StandardCharsets.UTF_8));
    String endpoints = System.getenv().getOrDefault("SERIATIM_ENDPOINTS", System.getenv("AWS_ENDPOINT_URL"));
    Walk walk = new Walk(endpoints.split(" "));
    String url = walk.messages();
    walk.batches(url);
    walk.settings(url);
    List<String> others = walk.redrive();
    walk.refusals(url);
    walk.sqs().deleteQueue(r -> r.queueUrl(url));
    others.forEach(queue -> walk.sqs().deleteQueue(r -> r.queueUrl(queue)));
    walk.clients.forEach(SqsClient::close);
    System.setErr(terminal);
    same(complaints.toString(StandardCharsets.UTF_8), "", "warnings of the client");
    System.out.println("AWS SDK for Java " + VersionInfo.SDK_VERSION + ", Java " + System.getProperty("java.version") + ": all steps passed");
  }
}
