import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.administration.ServiceBusAdministrationAsyncClient;
import com.azure.messaging.servicebus.administration.ServiceBusAdministrationClient;
import com.azure.messaging.servicebus.administration.models.CorrelationRuleFilter;
import com.azure.messaging.servicebus.administration.models.CreateRuleOptions;
import com.azure.messaging.servicebus.administration.models.CreateSubscriptionOptions;
import com.azure.messaging.servicebus.administration.models.FalseRuleFilter;
import com.azure.messaging.servicebus.administration.models.RuleProperties;
import com.azure.messaging.servicebus.administration.models.SqlRuleAction;
import com.azure.messaging.servicebus.administration.models.SqlRuleFilter;
import com.azure.messaging.servicebus.administration.models.TrueRuleFilter;

import java.util.List;
import java.util.Map;

/** Rules of subscriptions, with the administration client, which sends values of properties and parameters as text. */
final class RuleAdministration {
  private static List<String> names(Case t, String topic) {
    return t.administration().listRules(topic, "s").stream().map(RuleProperties::getName).toList();
  }

  /** Creates a topic with a subscription s that has only one rule. */
  private static String ruled(Case t, CreateRuleOptions rule) {
    String topic = t.topic("s");
    t.administration().deleteRule(topic, "s", "$Default");
    t.administration().createRule(topic, "r", "s", rule);
    return topic;
  }

  private static ServiceBusMessage numbered(String body, Object n) {
    ServiceBusMessage m = Case.message(body);
    m.getApplicationProperties().put("n", n);
    return m;
  }

  @Test
  static void defaultRule(Case t) {
    String topic = t.topic("s");
    RuleProperties rule = t.administration().getRule(topic, "s", "$Default");
    Case.same(rule.getFilter().getClass(), TrueRuleFilter.class, "filter");
    t.administration().deleteRule(topic, "s", "$Default");
    t.send(topic, Case.message("x"));
    Case.nothing(t.subscription(topic, "s"));
  }

  @Test
  static void createReadAndDelete(Case t) {
    ServiceBusAdministrationClient client = t.administration();
    String topic = t.topic("s");
    SqlRuleFilter filter = new SqlRuleFilter("a = @p");
    filter.getParameters().put("@p", "x");
    client.createRule(topic, "sql", "s", new CreateRuleOptions(filter).setAction(new SqlRuleAction("SET b = 1")));
    RuleProperties rule = client.getRule(topic, "s", "sql");
    Case.same(List.of(((SqlRuleFilter) rule.getFilter()).getSqlExpression(), ((SqlRuleFilter) rule.getFilter()).getParameters(),
        ((SqlRuleAction) rule.getAction()).getSqlExpression()), List.of("a = @p", Map.of("@p", "x"), "SET b = 1"), "rule");
    Case.answered(409, () -> client.createRule(topic, "s", "sql"), "");
    Case.answered(404, () -> client.getRule(topic, "s", "none"), "");
    Case.answered(404, () -> client.deleteRule(topic, "s", "none"), "");
    Case.answered(404, () -> client.createRule(topic, "none", "r"), "");
    client.deleteRule(topic, "s", "sql");
    Case.same(names(t, topic), List.of("$Default"), "names");
  }

  @Test
  static void correlation(Case t) {
    CorrelationRuleFilter filter = new CorrelationRuleFilter("1").setMessageId("2").setTo("3").setReplyTo("4").setLabel("5")
        .setSessionId("6").setReplyToSessionId("7").setContentType("8");
    filter.getProperties().putAll(Map.of("text", "é", "number", 5, "flag", true));
    String topic = ruled(t, new CreateRuleOptions(filter));
    CorrelationRuleFilter got = (CorrelationRuleFilter) t.administration().getRule(topic, "s", "r").getFilter();
    Case.same(List.of(got.getCorrelationId(), got.getMessageId(), got.getTo(), got.getReplyTo(), got.getLabel(), got.getSessionId(),
        got.getReplyToSessionId(), got.getContentType(), got.getProperties()),
        List.of("1", "2", "3", "4", "5", "6", "7", "8", Map.of("text", "é", "number", "5", "flag", "true")), "filter");
  }

  @Test
  static void change(Case t) {
    ServiceBusAdministrationClient client = t.administration();
    String topic = ruled(t, new CreateRuleOptions(new FalseRuleFilter()));
    t.send(topic, Case.message("dropped"));
    SqlRuleFilter filter = new SqlRuleFilter("n = @n");
    filter.getParameters().put("@n", "2");
    client.updateRule(topic, "s", client.getRule(topic, "s", "r").setFilter(filter));
    t.send(topic, numbered("1", "1"), numbered("2", "2"), numbered("3", 2));
    Case.same(Case.bodies(Case.drain(t.subscription(topic, "s"), 1)), List.of("2"), "bodies");
  }

  @Test
  static void action(Case t) {
    String topic = ruled(t, new CreateRuleOptions(new TrueRuleFilter()).setAction(new SqlRuleAction("SET n = n * 2")));
    t.send(topic, numbered("x", 3L));
    ServiceBusReceiverClient receiver = t.subscription(topic, "s");
    Case.same(Case.one(receiver).getApplicationProperties(), Map.of("n", 6L, "RuleName", "r"), "properties");
  }

  @Test
  static void wrongRules(Case t) {
    ServiceBusAdministrationClient client = t.administration();
    String topic = t.topic("s");
    for (String expression : List.of("a =", "a = @missing", "a = '" + "x".repeat(1100) + "'")) {
      CreateRuleOptions wrong = new CreateRuleOptions(new SqlRuleFilter(expression));
      Case.answered(400, () -> client.createRule(topic, "r", "s", wrong), "SubCode=40000");
    }
    Case.answered(400, () -> client.createRule(topic, "s", "r".repeat(51)), "SubCode=40000");
    Case.same(names(t, topic), List.of("$Default"), "names");
  }

  @Test
  static void list(Case t) {
    String topic = t.topic("s");
    List<String> want = Case.texts(100, 220);
    want.forEach(name -> t.administration().createRule(topic, "s", name));
    t.administration().deleteRule(topic, "s", "$Default");
    Case.same(names(t, topic), want, "names");
  }

  @Test
  static void ofANewSubscription(Case t) {
    String topic = t.topic();
    t.administration().createSubscription(topic, "s", "mine", new CreateSubscriptionOptions(),
        new CreateRuleOptions(new SqlRuleFilter("n = 1")));
    Case.same(names(t, topic), List.of("mine"), "names");
    t.send(topic, numbered("1", 1), Case.message("2"));
    Case.same(Case.bodies(Case.drain(t.subscription(topic, "s"), 1)), List.of("1"), "bodies");
  }

  @Test
  static void asynchronously(Case t) {
    ServiceBusAdministrationAsyncClient client = t.administrationBuilder(Case.SECRET).buildAsyncClient();
    String topic = t.topic("s");
    client.createRule(topic, "s", "r", new CreateRuleOptions(new SqlRuleFilter("n = 1"))).block(Case.LONGEST);
    client.getRule(topic, "s", "r").flatMap(r -> client.updateRule(topic, "s", r.setFilter(new SqlRuleFilter("n = 2"))))
        .block(Case.LONGEST);
    Case.same(((SqlRuleFilter) client.getRule(topic, "s", "r").block(Case.LONGEST).getFilter()).getSqlExpression(), "n = 2", "expression");
    client.deleteRule(topic, "s", "r").block(Case.LONGEST);
    Case.same(client.listRules(topic, "s").map(RuleProperties::getName).collectList().block(Case.LONGEST), List.of("$Default"), "names");
  }
}
