import asyncio
from datetime import timedelta

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.servicebus import NEXT_AVAILABLE_SESSION, ServiceBusMessageState, ServiceBusReceiveMode
from azure.servicebus.exceptions import (
    MessageNotFoundError, MessageSizeExceededError, MessagingEntityNotFoundError, OperationTimeoutError, ServiceBusError,
    SessionCannotBeLockedError,
)

from case import DEAD_LETTER, administration, bodies, browse, case, eventually, message, nothing, one, refused, same, take, true
from cases.d_schedules import later
from cases.j_administration import once, rejected


@case
async def send_one(t):
    topic = t.topic("a", "b")
    sent = message("x", message_id="m", session_id="s", subject="subject", correlation_id="c", to="to", reply_to="back",
                   reply_to_session_id="rs", content_type="text/plain",
                   application_properties={"n": 5, "f": 1.5, "b": True, "t": "text", "raw": b"\x00"})
    await t.publish(topic, sent)
    for name in ("a", "b"):
        got = (await t.collect(topic, name, 1))[0]
        same((str(got), got.message_id, got.session_id, got.subject, got.correlation_id, got.to, got.reply_to,
              got.reply_to_session_id, got.content_type, got.delivery_count),
             ("x", "m", "s", "subject", "c", "to", "back", "rs", "text/plain", 0), name)
        same(got.application_properties, {b"n": 5, b"f": 1.5, b"b": True, b"t": b"text", b"raw": b"\x00"}, "properties")
        true(got.sequence_number > 0, "the message has no number")


@case
async def send_many(t):
    topic = t.topic("s")
    sender = await t.publisher(topic)
    await sender.send_messages([message(f"{i}") for i in range(200)])
    same(bodies(await t.collect(topic, "s", 200)), [f"{i}" for i in range(200)], "bodies")


@case
async def send_batch(t):
    topic = t.topic("a", "b")
    sender = await t.publisher(topic)
    batch = await sender.create_message_batch()
    for i in range(20):
        batch.add_message(message(f"{i}"))
    await sender.send_messages(batch)
    for name in ("a", "b"):
        same(bodies(await t.collect(topic, name, 20)), [f"{i}" for i in range(20)], name)


@case
async def large(t):
    topic = t.topic("s")
    await t.publish(topic, message("x" * 900_000))
    same(len(str((await t.collect(topic, "s", 1))[0])), 900_000, "characters")


@case
async def too_large(t):
    topic = t.topic("s")
    sender = await t.publisher(topic)
    await refused(MessageSizeExceededError, sender.send_messages(message("x" * 1_100_000)))
    await nothing(await t.subscriber(topic, "s"))


@case
async def without_subscriptions(t):
    topic = t.topic()
    await t.publish(topic, message("lost"))
    with administration(t.number) as client:
        client.create_subscription(topic, "late")
    await t.publish(topic, message("kept"))
    same(bodies(await t.collect(topic, "late", 1)), ["kept"], "bodies")


@case
async def letter_case(t):
    topic = t.topic("Sub.1")
    await t.publish(topic.upper(), message("x"))
    same(bodies(await t.collect(topic.lower(), "sUB.1", 1)), ["x"], "bodies")


@case
async def missing_entities(t):
    topic = t.topic("s")
    client = await t.default()
    for link in (client.get_topic_sender(t.path()), client.get_subscription_receiver(topic, "none"),
                 client.get_subscription_receiver(t.path(), "s")):
        await refused(MessagingEntityNotFoundError, link.__aenter__())


@case
async def wrong_direction(t):
    topic = t.topic("s")
    client = await t.default()
    await refused(ServiceBusError, client.get_queue_receiver(topic).__aenter__())
    await refused(ServiceBusError, client.get_queue_sender(f"{topic}/Subscriptions/s").__aenter__())


@case
async def duplicates(t):
    topic = t.topic("a", "b", requires_duplicate_detection=True)
    sender = await t.publisher(topic)
    for body in ("first", "second"):
        await sender.send_messages(message(body, message_id="m"))
    await sender.send_messages([message("third", message_id="m"), message("other", message_id="n")])
    for name in ("a", "b"):
        same(bodies(await t.collect(topic, name, 2)), ["first", "other"], name)


@case
async def schedule(t):
    topic = t.topic("a", "b")
    sender, due = await t.publisher(topic), later(3)
    numbers = await sender.schedule_messages([message("x"), message("y")], due)
    same((len(numbers), sorted(set(numbers))), (2, numbers), "numbers")
    await nothing(await t.subscriber(topic, "a"))
    for name in ("a", "b"):
        got = await t.collect(topic, name, 2)
        same([(str(m), m.scheduled_enqueue_time_utc, m.state) for m in got],
             [(body, due, ServiceBusMessageState.ACTIVE) for body in ("x", "y")], name)


@case
async def cancel(t):
    topic = t.topic("s")
    sender = await t.publisher(topic)
    kept, gone = await sender.schedule_messages([message("kept"), message("gone")], later(4))
    await sender.cancel_scheduled_messages(gone)
    await refused(MessageNotFoundError, sender.cancel_scheduled_messages(gone))
    same(bodies(await t.collect(topic, "s", 1)), ["kept"], "bodies")
    await refused(MessageNotFoundError, sender.cancel_scheduled_messages(kept))


@case
async def schedule_duplicates(t):
    topic = t.topic("s", requires_duplicate_detection=True)
    sender = await t.publisher(topic)
    first = await sender.schedule_messages(message("first", message_id="m"), later(3))
    again = await sender.schedule_messages(message("second", message_id="m"), later(3))
    same(again, first, "numbers")
    await sender.send_messages(message("third", message_id="m"))
    same(bodies(await t.collect(topic, "s", 1)), ["first"], "bodies")


@case
async def property_of_a_message(t):
    topic = t.topic("s")
    await t.publish(topic, message("scheduled", scheduled_enqueue_time_utc=later(3)), message("plain"))
    same(bodies(await t.collect(topic, "s", 2)), ["plain", "scheduled"], "bodies")


@case
async def independent_subscriptions(t):
    topic = t.topic("a", "b")
    await t.publish(topic, message("x"))
    a = await t.subscriber(topic, "a")
    await a.complete_message(await one(a))
    await nothing(a)
    same(bodies(await t.collect(topic, "b", 1)), ["x"], "bodies")


@case
async def settling(t):
    topic = t.topic("s")
    await t.publish(topic, message("x"))
    receiver = await t.subscriber(topic, "s")
    got = await one(receiver)
    await receiver.abandon_message(got)
    got = await one(receiver)
    same(got.delivery_count, 1, "delivery count")
    true(await receiver.renew_message_lock(got) > got.enqueued_time_utc, "the lock is not renewed")
    await receiver.defer_message(got)
    back = (await receiver.receive_deferred_messages(got.sequence_number))[0]
    same(str(back), "x", "body")
    await receiver.complete_message(back)
    await nothing(receiver)


@case
async def receive_and_delete(t):
    topic = t.topic("s")
    await t.publish(topic, message("x"), message("y"))
    receiver = await t.subscriber(topic, "s", receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)
    same(bodies(await take(receiver, 2)), ["x", "y"], "bodies")
    same(await browse(await t.subscriber(topic, "s")), [], "peeked")


@case
async def peek(t):
    topic = t.topic("s")
    await t.publish(topic, message("x"), message("y"))
    receiver = await t.subscriber(topic, "s")
    got = await browse(receiver)
    same(bodies(got), ["x", "y"], "peeked")
    same(got[1].sequence_number, got[0].sequence_number + 1, "number")


@case
async def dead_letter(t):
    topic = t.topic("a", "b")
    await t.publish(topic, message("x"))
    receiver = await t.subscriber(topic, "a")
    await receiver.dead_letter_message(await one(receiver), reason="why", error_description="because")
    got = await one(await t.subscriber(topic, "a", sub_queue=DEAD_LETTER))
    same((str(got), got.dead_letter_reason, got.dead_letter_error_description), ("x", "why", "because"), "dead letter")
    await nothing(await t.subscriber(topic, "b", sub_queue=DEAD_LETTER))


@case
async def dead_letter_by_count(t):
    topic = t.topic("s", options={"max_delivery_count": 2})
    await t.publish(topic, message("x"))
    receiver = await t.subscriber(topic, "s")
    for _ in range(2):
        await receiver.abandon_message(await one(receiver))
    await nothing(receiver)  # moves it
    got = await one(await t.subscriber(topic, "s", sub_queue=DEAD_LETTER))
    same((str(got), got.dead_letter_reason), ("x", "MaxDeliveryCountExceeded"), "dead letter")


@case
async def expiry(t):
    topic = t.topic("s", options={"dead_lettering_on_message_expiration": True})
    await t.publish(topic, message("x", time_to_live=timedelta(seconds=1)))
    got = await one(await t.subscriber(topic, "s", sub_queue=DEAD_LETTER))
    same((str(got), got.dead_letter_reason), ("x", "TTLExpiredException"), "dead letter")


@case
async def sessions(t):
    topic = t.topic("s", options={"requires_session": True})
    await t.publish(topic, message("a1", session_id="a"), message("b1", session_id="b"), message("a2", session_id="a"))
    receiver = await t.subscriber(topic, "s", session_id="a")
    await receiver.session.set_state(b"state")
    same(await receiver.session.get_state(), b"state", "state")
    got = await take(receiver, 2)
    same([(str(m), m.session_id) for m in got], [("a1", "a"), ("a2", "a")], "messages")
    for m in got:
        await receiver.complete_message(m)
    other = await t.client(endpoint=None)
    await refused(SessionCannotBeLockedError, other.get_subscription_receiver(topic, "s", session_id="a").__aenter__())
    following = await t.subscriber(topic, "s", session_id=NEXT_AVAILABLE_SESSION, max_wait_time=5)
    same(following.session.session_id, "b", "session")
    await following.complete_message(await one(following))


@case
async def no_session_left(t):
    topic = t.topic("s", options={"requires_session": True})
    client = await t.default()
    link = client.get_subscription_receiver(topic, "s", session_id=NEXT_AVAILABLE_SESSION, max_wait_time=2)
    await refused(OperationTimeoutError, link.__aenter__())


@case
async def message_without_session(t):
    topic = t.topic("s", options={"requires_session": True})
    await t.publish(topic, message("lost"), message("kept", session_id="a"))
    same(bodies(await t.collect(topic, "s", 1, session_id="a")), ["kept"], "bodies")
    got = await one(await t.subscriber(topic, "s", sub_queue=DEAD_LETTER))
    same(str(got), "lost", "dead letter")


@case(apis=once)
async def administer_topics(t):
    wanted = {"requires_duplicate_detection": True, "duplicate_detection_history_time_window": timedelta(minutes=5),
              "default_message_time_to_live": timedelta(hours=5)}
    topic = t.topic("s", **wanted)
    with administration(t.number) as client:
        got = client.get_topic(topic)
        same({name: getattr(got, name) for name in wanted}, wanted, "properties")
        rejected(ResourceExistsError, client.create_topic, topic)
        rejected(ResourceNotFoundError, client.get_topic, t.path())
        true(topic in [one.name for one in client.list_topics()], "the topic is not listed")
        running = client.get_topic_runtime_properties(topic)
        same((running.subscription_count, running.scheduled_message_count), (1, 0), "counts")
        true(topic in [one.name for one in client.list_topics_runtime_properties()], "the topic is not listed")
        client.delete_topic(topic)
        rejected(ResourceNotFoundError, client.get_topic, topic)
        rejected(ResourceNotFoundError, client.delete_topic, topic)


@case(apis=once, warns=True)  # about times that the client sends back
async def change_topic(t):
    topic = t.topic()
    with administration(t.number) as client:
        got = client.get_topic(topic)
        got.default_message_time_to_live = timedelta(hours=1)
        client.update_topic(got)
        same(client.get_topic(topic).default_message_time_to_live, timedelta(hours=1), "time to live")
        got.requires_duplicate_detection = True
        rejected(HttpResponseError, client.update_topic, got)


@case(apis=once)
async def administer_subscriptions(t):
    topic = t.topic()
    wanted = {"requires_session": True, "lock_duration": timedelta(seconds=30), "max_delivery_count": 3,
              "dead_lettering_on_message_expiration": True, "dead_lettering_on_filter_evaluation_exceptions": False}
    with administration(t.number) as client:
        client.create_subscription(topic, "s", **wanted)
        got = client.get_subscription(topic, "s")
        same({name: getattr(got, name) for name in wanted}, wanted, "properties")
        rejected(ResourceExistsError, client.create_subscription, topic, "s")
        rejected(ResourceNotFoundError, client.create_subscription, t.path(), "s")
        rejected(ResourceNotFoundError, client.get_subscription, topic, "none")
        for i in range(3):
            client.create_subscription(topic, f"more{i}")
        same([one.name for one in client.list_subscriptions(topic, max_page_size=2)], ["s", "more0", "more1", "more2"], "list")
        client.delete_subscription(topic, "s")
        rejected(ResourceNotFoundError, client.delete_subscription, topic, "s")
        same(client.get_topic_runtime_properties(topic).subscription_count, 3, "subscriptions")


@case(apis=once, warns=True)  # about times that the client sends back
async def change_subscription(t):
    topic = t.topic("s")
    with administration(t.number) as client:
        got = client.get_subscription(topic, "s")
        got.max_delivery_count, got.dead_lettering_on_filter_evaluation_exceptions = 1, False
        client.update_subscription(topic, got)
        got = client.get_subscription(topic, "s")
        same((got.max_delivery_count, got.dead_lettering_on_filter_evaluation_exceptions), (1, False), "properties")
        got.requires_session = True
        rejected(HttpResponseError, client.update_subscription, topic, got)


@case(apis=once)
async def counts(t):
    topic = t.topic("s")
    await t.publish(topic, *[message("x") for _ in range(3)])
    receiver = await t.subscriber(topic, "s")
    await receiver.dead_letter_message(await one(receiver))
    with administration(t.number) as client:
        async def counted():
            r = await asyncio.to_thread(client.get_subscription_runtime_properties, topic, "s")
            return (r.active_message_count, r.dead_letter_message_count, r.total_message_count) == (2, 1, 3)

        await eventually("the counts are right", counted)
        same([r.name for r in client.list_subscriptions_runtime_properties(topic)], ["s"], "list")


@case
async def deletion(t):
    topic = t.topic("s")
    sender = await t.publisher(topic)
    await sender.send_messages(message("x"))
    with administration(t.number) as client:
        client.delete_topic(topic)
        client.create_topic(topic)
        client.create_subscription(topic, "s")
    await t.publish(topic, message("y"))
    same(bodies(await t.collect(topic, "s", 1)), ["y"], "bodies")
