import static com.azure.messaging.servicebus.ServiceBusFailureReason.MESSAGING_ENTITY_ALREADY_EXISTS;
import static com.azure.messaging.servicebus.ServiceBusFailureReason.MESSAGING_ENTITY_NOT_FOUND;

import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusRuleManagerAsyncClient;
import com.azure.messaging.servicebus.ServiceBusRuleManagerClient;
import com.azure.messaging.servicebus.administration.models.CorrelationRuleFilter;
import com.azure.messaging.servicebus.administration.models.CreateRuleOptions;
import com.azure.messaging.servicebus.administration.models.FalseRuleFilter;
import com.azure.messaging.servicebus.administration.models.RuleProperties;
import com.azure.messaging.servicebus.administration.models.SqlRuleAction;
import com.azure.messaging.servicebus.administration.models.SqlRuleFilter;
import com.azure.messaging.servicebus.administration.models.TrueRuleFilter;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Rules of subscriptions, with a rule manager. */
final class Rules {
  /** A topic with the subscription s. */
  private record Filtered(String topic, ServiceBusRuleManagerClient rules, ServiceBusReceiverClient receiver) {}

  private static Filtered filtered(Case t) {
    String topic = t.topic("s");
    return new Filtered(topic, t.closed(t.shared().ruleManager().topicName(topic).subscriptionName("s").buildClient()),
        t.subscription(topic, "s"));
  }

  /** A subscription without the rule that takes all messages. */
  private static Filtered bare(Case t) {
    Filtered f = filtered(t);
    f.rules.deleteRule("$Default");
    return f;
  }

  private static Map<String, RuleProperties> listed(ServiceBusRuleManagerClient rules) {
    Map<String, RuleProperties> all = new TreeMap<>();
    rules.listRules().forEach(r -> all.put(r.getName(), r));
    return all;
  }

  private static CreateRuleOptions sql(String filter) {
    return new CreateRuleOptions(new SqlRuleFilter(filter));
  }

  private static String expression(RuleProperties rule) {
    return ((SqlRuleFilter) rule.getFilter()).getSqlExpression();
  }

  private static ServiceBusMessage with(String body, Map<String, Object> properties) {
    ServiceBusMessage m = Case.message(body);
    m.getApplicationProperties().putAll(properties);
    return m;
  }

  @Test
  static void defaultRule(Case t) {
    Filtered f = filtered(t);
    Case.same(listed(f.rules).keySet().toString(), "[$Default]", "rules");
    f.rules.deleteRule("$Default");
    Case.same(listed(f.rules), Map.of(), "rules");
    t.send(f.topic, Case.message("x"));
    Case.nothing(f.receiver);
  }

  @Test
  static void createListAndDelete(Case t) {
    Filtered f = filtered(t);
    f.rules.createRule("sql", sql("color = 'red' AND size > 5").setAction(new SqlRuleAction("SET chosen = 'yes'")));
    CorrelationRuleFilter correlation = new CorrelationRuleFilter("c").setLabel("x").setMessageId("m").setTo("t")
        .setReplyTo("r").setSessionId("s")
        .setReplyToSessionId("rs").setContentType("ct");
    correlation.getProperties().putAll(Map.of("n", 1, "flag", true, "text", "é"));
    f.rules.createRule("correlation", new CreateRuleOptions(correlation));
    f.rules.createRule("true", new CreateRuleOptions(new TrueRuleFilter()));
    f.rules.createRule("false", new CreateRuleOptions(new FalseRuleFilter()));
    Map<String, RuleProperties> all = listed(f.rules);
    Case.same(List.copyOf(all.keySet()), List.of("$Default", "correlation", "false", "sql", "true"), "names");
    Case.same(List.of(expression(all.get("sql")), ((SqlRuleAction) all.get("sql").getAction()).getSqlExpression()),
        List.of("color = 'red' AND size > 5", "SET chosen = 'yes'"), "SQL rule");
    CorrelationRuleFilter got = (CorrelationRuleFilter) all.get("correlation").getFilter();
    // The SDK makes texts of the values.
    Case.same(List.of(got.getCorrelationId(), got.getLabel(), got.getMessageId(), got.getTo(), got.getReplyTo(), got.getSessionId(),
        got.getReplyToSessionId(), got.getContentType(), got.getProperties()),
        List.of("c", "x", "m", "t", "r", "s", "rs", "ct", Map.of("n", "1", "flag", "true", "text", "é")), "correlation rule");
    Case.same(List.of(expression(all.get("true")), expression(all.get("false"))), List.of("1=1", "1=0"), "constant filters");
    Case.refused(MESSAGING_ENTITY_ALREADY_EXISTS, () -> f.rules.createRule("sql", sql("1=1")));
    f.rules.deleteRule("sql");
    Case.refused(MESSAGING_ENTITY_NOT_FOUND, () -> f.rules.deleteRule("sql"));
    Case.same(List.copyOf(listed(f.rules).keySet()), List.of("$Default", "correlation", "false", "true"), "names after the deletion");
  }

  @Test
  static void wrongExpressions(Case t) {
    Filtered f = filtered(t);
    Case.rejected(RuntimeException.class, () -> f.rules.createRule("wrong", sql("size >")));
    Case.rejected(RuntimeException.class, () -> f.rules.createRule("wrong", sql("1=1").setAction(new SqlRuleAction("SET"))));
    Case.same(listed(f.rules).keySet().toString(), "[$Default]", "rules");
  }

  @Test
  static void sqlFilter(Case t) {
    Filtered f = bare(t);
    f.rules.createRule("r", sql("color IN ('red', 'blue') AND size >= 2 AND size <= 5 AND sys.Label LIKE 'a%'"));
    t.send(f.topic, with("1", Map.of("color", "red", "size", 2)).setSubject("abc"),
        with("2", Map.of("color", "green", "size", 2)).setSubject("abc"),
        with("3", Map.of("color", "blue", "size", 5.0)).setSubject("a"), with("4", Map.of("color", "red", "size", 6)).setSubject("a"),
        with("5", Map.of("color", "red", "size", 3)).setSubject("ba"), Case.message("6"));
    Case.same(Case.bodies(Case.drain(f.receiver, 2)), List.of("1", "3"), "bodies");
  }

  @Test
  static void correlationFilter(Case t) {
    Filtered f = bare(t);
    CorrelationRuleFilter filter = new CorrelationRuleFilter("c").setLabel("s");
    filter.getProperties().put("n", 1);
    f.rules.createRule("r", new CreateRuleOptions(filter));
    t.send(f.topic, with("1", Map.of("n", 1, "more", 2)).setCorrelationId("c").setSubject("s"),
        with("2", Map.of("n", 2)).setCorrelationId("c").setSubject("s"), Case.message("3").setCorrelationId("c").setSubject("s"));
    Case.same(Case.bodies(Case.drain(f.receiver, 1)), List.of("1"), "bodies");
  }

  @Test
  static void action(Case t) {
    Filtered f = bare(t);
    f.rules.createRule("r", sql("size > 1").setAction(new SqlRuleAction("SET double = size * 2; SET sys.Label = 'big'; REMOVE gone")));
    t.send(f.topic, with("x", Map.of("size", 3, "gone", 1)).setSubject("x"));
    ServiceBusReceivedMessage got = Case.one(f.receiver);
    Case.same(List.of(got.getSubject(), ((Number) got.getApplicationProperties().get("double")).intValue(),
        got.getApplicationProperties().get("RuleName"),
        got.getApplicationProperties().containsKey("gone")), List.of("big", 6, "r", false), "message");
  }

  @Test
  static void severalRules(Case t) {
    Filtered f = bare(t);
    f.rules.createRule("a", sql("n > 0").setAction(new SqlRuleAction("SET by = 'a'")));
    f.rules.createRule("b", sql("n > 1").setAction(new SqlRuleAction("SET by = 'b'")));
    f.rules.createRule("c", sql("n > 1"));
    f.rules.createRule("d", sql("n > 1"));
    t.send(f.topic, with("x", Map.of("n", 2)));
    // A copy for each rule with an action, and one for all others.
    List<ServiceBusReceivedMessage> got = Case.drain(f.receiver, 3);
    Case.same(got.stream().map(m -> m.getApplicationProperties().getOrDefault("by", "")).sorted().toList(),
        List.of("", "a", "b"), "copies");
  }

  @Test
  static void eachSubscriptionHasAFilter(Case t) {
    String topic = t.topic("all", "sql", "action", "correlation");
    Map<String, CreateRuleOptions> rules = Map.of("sql", sql("color = 'red'"),
        "action", sql("color = 'blue'").setAction(new SqlRuleAction("SET color = 'done'")),
        "correlation", new CreateRuleOptions(new CorrelationRuleFilter("high").setLabel("red")));
    rules.forEach((name, rule) -> {
      var manager = t.closed(t.shared().ruleManager().topicName(topic).subscriptionName(name).buildClient());
      manager.deleteRule("$Default");
      manager.createRule("r", rule);
    });
    List<ServiceBusMessage> sent = new ArrayList<>();
    for (String color : List.of("red", "blue", "green")) {
      for (String priority : List.of("high", "low")) {
        sent.add(with(color + " " + priority, Map.of("color", color)).setSubject(color).setCorrelationId(priority));
      }
    }
    t.sender(topic).sendMessages(sent);
    Map<String, List<String>> want = Map.of("all", sent.stream().map(m -> m.getBody().toString()).toList(),
        "sql", List.of("red high", "red low"), "action", List.of("blue high", "blue low"), "correlation", List.of("red high"));
    want.forEach((name, texts) -> {
      List<ServiceBusReceivedMessage> got = Case.drain(t.subscription(topic, name), texts.size());
      Case.same(Case.bodies(got), texts, name);
      if (name.equals("action")) {
        Case.same(got.stream().map(m -> m.getApplicationProperties().get("color")).toList(), List.of("done", "done"), "colors");
      }
    });
  }

  @Test
  static void asynchronously(Case t) {
    String topic = t.topic("s");
    ServiceBusRuleManagerAsyncClient rules = t.closed(t.shared().ruleManager().topicName(topic).subscriptionName("s").buildAsyncClient());
    rules.createRule("r", sql("n = 1")).then(rules.deleteRule("$Default")).block(Case.LONGEST);
    Case.same(rules.listRules().map(RuleProperties::getName).collectList().block(Case.LONGEST), List.of("r"), "rules");
    t.send(topic, Case.message("1"), with("2", Map.of("n", 1)));
    Case.same(Case.bodies(Case.drain(t.subscription(topic, "s"), 1)), List.of("2"), "bodies");
  }
}
