"""Rules of subscriptions. The administration client is the same for both SDKs."""

from datetime import datetime, timedelta

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.servicebus.management import (
    CorrelationRuleFilter, FalseRuleFilter, SqlRuleAction, SqlRuleFilter, TrueRuleFilter,
)

from case import DEAD_LETTER, administration, bodies, case, message, nothing, one, same, take, true
from cases.d_schedules import later
from cases.j_administration import once, rejected


def ruled(t, *rules, options=None, **properties):
    """Creates a topic with a subscription s that has other rules than the default. A rule is a name, a filter, and
    perhaps an action."""
    topic = t.topic("s", options=options, **properties)
    with administration(t.number) as client:
        client.delete_rule(topic, "s", "$Default")
        for name, chosen, *action in rules:
            client.create_rule(topic, "s", name, filter=chosen, action=SqlRuleAction(*action) if action else None)
    return topic


def having(body, properties=None, **more):
    return message(body, application_properties=properties, **more)


async def selects(t, chosen, messages, want):
    """Checks which of some messages a filter selects."""
    topic = ruled(t, ("r", chosen))
    await t.publish(topic, *messages)
    same(bodies(await t.collect(topic, "s", len(want))), want, "bodies")
    await nothing(await t.subscriber(topic, "s", sub_queue=DEAD_LETTER))


@case
async def default_rule(t):
    topic = t.topic("s")
    with administration(t.number) as client:
        rules = list(client.list_rules(topic, "s"))
        same([(r.name, type(r.filter), r.action) for r in rules], [("$Default", TrueRuleFilter, None)], "rules")
    await t.publish(topic, message("x"))
    same(bodies(await t.collect(topic, "s", 1)), ["x"], "bodies")


@case
async def no_rule(t):
    topic = ruled(t)
    await t.publish(topic, message("x"))
    await nothing(await t.subscriber(topic, "s"))


@case
async def true_and_false(t):
    await selects(t, TrueRuleFilter(), [message("x")], ["x"])
    await selects(t, FalseRuleFilter(), [message("x")], [])


@case
async def sql_of_numbers(t):
    await selects(t, SqlRuleFilter("size > 10 AND size <= 20"), [
        having("5", {"size": 5}), having("11", {"size": 11}), having("19.5", {"size": 19.5}), having("20", {"size": 20}),
        having("21", {"size": 21}), having("text", {"size": "15"}), having("none"),
    ], ["11", "19.5", "20"])


@case
async def sql_of_texts(t):
    await selects(t, SqlRuleFilter("color IN ('red', 'blue') OR name LIKE 'a%z' AND name <> 'abz'"), [
        having("red", {"color": "red"}), having("green", {"color": "green"}), having("RED", {"color": "RED"}),
        having("az", {"name": "az"}), having("abz", {"name": "abz"}), having("acz", {"name": "acz"}),
    ], ["red", "az", "acz"])


@case
async def sql_of_null(t):
    await selects(t, SqlRuleFilter("a IS NULL AND EXISTS(b) AND NOT c IS NOT NULL"), [
        having("b", {"b": 1}), having("ab", {"a": 1, "b": 1}), having("bc", {"b": 1, "c": 1}), having("none"),
    ], ["b"])


@case
async def sql_of_system_properties(t):
    await selects(t, SqlRuleFilter("sys.Label = 'l' AND sys.MessageId LIKE 'm%' AND sys.To IS NOT NULL"), [
        message("yes", subject="l", message_id="m1", to="x"), message("label", subject="k", message_id="m2", to="x"),
        message("id", subject="l", message_id="n1", to="x"), message("to", subject="l", message_id="m3"),
    ], ["yes"])


@case
async def sql_parameters(t):
    chosen = SqlRuleFilter("n = @n AND s = @s AND b = @b", {"@n": 5, "@s": "x", "@b": True})
    await selects(t, chosen, [
        having("yes", {"n": 5, "s": "x", "b": True}), having("n", {"n": 6, "s": "x", "b": True}),
        having("b", {"n": 5, "s": "x", "b": False}),
    ], ["yes"])


@case
async def sql_of_letter_case(t):
    await selects(t, SqlRuleFilter("Color = 'red'"), [having("red", {"cOLOR": "red"})], ["red"])


@case
async def correlation_of_system_properties(t):
    await selects(t, CorrelationRuleFilter(correlation_id="c", label="l"), [
        message("yes", correlation_id="c", subject="l"), message("one", correlation_id="c"), message("none"),
        message("other", correlation_id="c", subject="L"),
    ], ["yes"])


@case
async def correlation_of_properties(t):
    await selects(t, CorrelationRuleFilter(properties={"a": "x", "n": 5, "b": True}), [
        having("yes", {"a": "x", "n": 5, "b": True}), having("text", {"a": "x", "n": "5", "b": True}),
        having("part", {"a": "x"}),
    ], ["yes"])


@case
async def correlation_of_all(t):
    chosen = CorrelationRuleFilter(correlation_id="1", message_id="2", to="3", reply_to="4", label="5", session_id="6",
                                   reply_to_session_id="7", content_type="8", properties={"p": "9"})
    await selects(t, chosen, [
        message("yes", correlation_id="1", message_id="2", to="3", reply_to="4", subject="5", session_id="6",
                reply_to_session_id="7", content_type="8", application_properties={"p": "9"}),
        message("no", correlation_id="1", message_id="2", to="3", reply_to="4", subject="5", session_id="6",
                reply_to_session_id="7", content_type="other", application_properties={"p": "9"}),
    ], ["yes"])


@case
async def rules_without_actions_give_one_copy(t):
    topic = ruled(t, ("a", SqlRuleFilter("n > 0")), ("b", SqlRuleFilter("n > 1")), ("c", TrueRuleFilter()))
    await t.publish(topic, having("x", {"n": 5}))
    got = (await t.collect(topic, "s", 1))[0]
    same(got.application_properties, {b"n": 5}, "properties")


@case
async def action(t):
    topic = ruled(t, ("r", TrueRuleFilter(), "SET big = TRUE; SET sys.Label = 'changed'; SET n = n * 2; REMOVE gone"))
    await t.publish(topic, having("x", {"n": 5, "gone": "g"}, subject="old", message_id="m"))
    got = (await t.collect(topic, "s", 1))[0]
    same((str(got), got.message_id, got.subject), ("x", "m", "changed"), "message")
    properties = got.application_properties
    same((properties[b"n"], properties[b"big"], properties[b"RuleName"], b"gone" in properties),
         (10, True, b"r", False), "properties")


@case
async def each_action_gives_a_copy(t):
    topic = ruled(t, ("a", TrueRuleFilter(), "SET r = 'a'"), ("b", TrueRuleFilter(), "SET r = 'b'"), ("c", TrueRuleFilter()))
    await t.publish(topic, message("x"))
    got = await t.collect(topic, "s", 3)
    names = [(m.application_properties or {}).get(b"r") for m in got]
    same(sorted(n or b"" for n in names), [b"", b"a", b"b"], "copies")


@case
async def action_parameters(t):
    topic = t.topic("s")
    with administration(t.number) as client:
        client.delete_rule(topic, "s", "$Default")
        client.create_rule(topic, "s", "r", action=SqlRuleAction("SET x = @x", {"@x": "value"}))
    await t.publish(topic, message("x"))
    same((await t.collect(topic, "s", 1))[0].application_properties[b"x"], b"value", "property")


@case
async def action_sets_the_session(t):
    topic = ruled(t, ("r", TrueRuleFilter(), "SET sys.SessionId = kind"), options={"requires_session": True})
    await t.publish(topic, having("x", {"kind": "a"}))
    same(bodies(await t.collect(topic, "s", 1, session_id="a")), ["x"], "bodies")


@case
async def failing_rule(t):
    topic = ruled(t, ("r", SqlRuleFilter("10 / n > 1")))
    await t.publish(topic, having("bad", {"n": 0}), having("good", {"n": 2}))
    same(bodies(await t.collect(topic, "s", 1)), ["good"], "bodies")
    got = await one(await t.subscriber(topic, "s", sub_queue=DEAD_LETTER))
    same(str(got), "bad", "dead letter")
    true(got.dead_letter_reason and "r" in got.dead_letter_error_description, "the dead letter has no reason")


@case
async def failing_rule_without_dead_letters(t):
    topic = ruled(t, ("r", SqlRuleFilter("10 / n > 1")),
                  options={"dead_lettering_on_filter_evaluation_exceptions": False})
    await t.publish(topic, having("bad", {"n": 0}), having("good", {"n": 2}))
    same(bodies(await t.collect(topic, "s", 1)), ["good"], "bodies")
    await nothing(await t.subscriber(topic, "s", sub_queue=DEAD_LETTER))


@case
async def scheduled_messages(t):
    topic = ruled(t, ("r", SqlRuleFilter("n = 1")))
    sender = await t.publisher(topic)
    await sender.schedule_messages([having("1", {"n": 1}), having("2", {"n": 2})], later(3))
    same(bodies(await t.collect(topic, "s", 1)), ["1"], "bodies")


@case
async def changes_apply_to_later_messages(t):
    topic = ruled(t, ("r", SqlRuleFilter("n = 1")))
    await t.publish(topic, having("first", {"n": 1}))
    with administration(t.number) as client:
        rule = client.get_rule(topic, "s", "r")
        rule.filter = SqlRuleFilter("n = 2")
        client.update_rule(topic, "s", rule)
    await t.publish(topic, having("1", {"n": 1}), having("2", {"n": 2}))
    same(bodies(await t.collect(topic, "s", 2)), ["first", "2"], "bodies")


@case(apis=once)
async def administer(t):
    topic = t.topic("s")
    with administration(t.number) as client:
        made = client.create_rule(topic, "s", "R 1", filter=SqlRuleFilter("a = @p", {"@p": "x"}), action=SqlRuleAction("SET b = 1"))
        read = client.get_rule(topic, "s", "r 1")
        for rule in (made, read):
            same((rule.filter.sql_expression, rule.filter.parameters, rule.action.sql_expression),
                 ("a = @p", {"@p": "x"}, "SET b = 1"), "rule")
        same(read.name, "r 1", "name")  # as the caller wrote it
        rejected(ResourceExistsError, client.create_rule, topic, "s", "r 1")
        rejected(ResourceNotFoundError, client.get_rule, topic, "s", "none")
        rejected(ResourceNotFoundError, client.delete_rule, topic, "s", "none")
        rejected(ResourceNotFoundError, client.create_rule, topic, "none", "r")
        client.delete_rule(topic, "s", "R 1")
        same([r.name for r in client.list_rules(topic, "s")], ["$Default"], "rules")


@case(apis=once, warns=True)  # about a time without a zone, as the client returns it
async def values(t):
    wanted = {"text": "str1", "int": 2, "long": 2**31 + 2, "bool": False, "float": 1.5,
              "time": datetime(2020, 7, 5, 11, 12, 13), "duration": timedelta(days=1, hours=2, minutes=3)}
    system = {"correlation_id": "1", "message_id": "2", "to": "3", "reply_to": "4", "label": "5", "session_id": "6",
              "reply_to_session_id": "7", "content_type": "8"}
    topic = t.topic("s")
    with administration(t.number) as client:
        client.create_rule(topic, "s", "r", filter=CorrelationRuleFilter(properties=wanted, **system))
        got = client.get_rule(topic, "s", "r").filter
        same({name: getattr(got, name) for name in system}, system, "system properties")
        same(dict(got.properties), wanted, "properties")


@case(apis=once)
async def wrong_rules(t):
    topic = t.topic("s")
    with administration(t.number) as client:
        for name, chosen in (("r", SqlRuleFilter("a =")), ("r", SqlRuleFilter("a = @missing")), ("a" * 51, TrueRuleFilter()),
                             ("r", SqlRuleFilter("a = '" + "x" * 1100 + "'"))):
            rejected(HttpResponseError, client.create_rule, topic, "s", name, filter=chosen, text="SubCode=40000")
        rejected(HttpResponseError, client.create_rule, topic, "s", "r", action=SqlRuleAction("SET"), text="SubCode=40000")
        same([r.name for r in client.list_rules(topic, "s")], ["$Default"], "rules")


@case(apis=once)
async def pages(t):
    topic = ruled(t, *((f"r{i:03}", SqlRuleFilter(f"n = {i}")) for i in range(120)))
    with administration(t.number) as client:
        for size in (7, 100):
            names = [r.name for r in client.list_rules(topic, "s", max_page_size=size)]
            same(names, [f"r{i:03}" for i in range(120)], f"pages of {size}")


@case(apis=once)
async def filter_counts(t):
    topic = t.topic("a", "b")
    with administration(t.number) as client:
        client.create_rule(topic, "a", "sql", filter=SqlRuleFilter("n = 1"))
        client.create_rule(topic, "b", "correlation", filter=CorrelationRuleFilter(correlation_id="c"))
        got = client.get_topic_runtime_properties(topic)
        same((got.sql_filter_count, got.correlation_filter_count), (3, 1), "filters")


@case
async def each_subscription_has_a_filter(t):
    topic = t.topic("all", "sql", "action", "correlation")
    rules = {
        "sql": (SqlRuleFilter("color = 'red'"), None),
        "action": (SqlRuleFilter("color = 'blue'"), SqlRuleAction("SET color = 'done'")),
        "correlation": (CorrelationRuleFilter(correlation_id="high", label="red"), None),
    }
    with administration(t.number) as client:
        for name, (chosen, action) in rules.items():
            client.delete_rule(topic, name, "$Default")
            client.create_rule(topic, name, "r", filter=chosen, action=action)
    sent = [(color, priority) for color in ("red", "blue", "green") for priority in ("high", "low")]
    sender = await t.publisher(topic)
    await sender.send_messages([
        having(f"{c} {p}", {"color": c}, subject=c, correlation_id=p) for c, p in sent
    ])
    want = {"all": [f"{c} {p}" for c, p in sent], "sql": ["red high", "red low"], "action": ["blue high", "blue low"],
            "correlation": ["red high"]}
    for name, texts in want.items():
        got = await t.collect(topic, name, len(texts))
        same(bodies(got), texts, name)
        if name == "action":
            same([m.application_properties[b"color"] for m in got], [b"done", b"done"], "colors")


@case
async def many_subscriptions(t):
    topic = t.topic()
    with administration(t.number) as client:
        for i in range(30):
            client.create_subscription(topic, f"s{i}")
            client.delete_rule(topic, f"s{i}", "$Default")
            client.create_rule(topic, f"s{i}", "r", filter=SqlRuleFilter(f"n % 30 = {i}"))
    await t.publish(topic, *[having(f"{n}", {"n": n}) for n in range(60)])
    for i in (0, 17, 29):
        same(bodies(await t.collect(topic, f"s{i}", 2)), [f"{i}", f"{i + 30}"], f"s{i}")
    await take(await t.subscriber(topic, "s1"), 2)
