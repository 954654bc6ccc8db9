"""The administration client is the same for both SDKs."""

import asyncio
from datetime import timedelta

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.servicebus.management import EntityStatus, MessagingSku

from cases.d_schedules import later
from case import DEAD_LETTER, administration, case, eventually, message, nothing, same, take, true

once = ("sync",)


def rejected(error, call, *arguments, text="", **properties):
    try:
        call(*arguments, **properties)
    except error as e:
        if type(e) is not error or text not in str(e):
            raise AssertionError(f"got {e!r}, want {error.__name__} with {text!r}") from e
        return
    raise AssertionError(f"accepted, want {error.__name__}")


@case(apis=once)
async def defaults(t):
    with administration(t.number) as client:
        got = client.create_queue(t.path())
        read = client.get_queue(got.name)
    for queue in (got, read):
        same((queue.lock_duration, queue.max_delivery_count, queue.requires_session, queue.requires_duplicate_detection,
              queue.dead_lettering_on_message_expiration, queue.enable_partitioning, queue.status),
             (timedelta(minutes=1), 10, False, False, False, False, EntityStatus.ACTIVE), "properties")
        same(queue.duplicate_detection_history_time_window, timedelta(minutes=10), "window")
        true(queue.default_message_time_to_live > timedelta(days=365 * 1000), "messages have a time to live")


@case(apis=once)
async def properties(t):
    wanted = {
        "lock_duration": timedelta(seconds=45), "max_delivery_count": 3, "requires_session": True,
        "requires_duplicate_detection": True, "duplicate_detection_history_time_window": timedelta(days=1),
        "default_message_time_to_live": timedelta(hours=5), "dead_lettering_on_message_expiration": True,
        "max_message_size_in_kilobytes": 256,
    }
    path = t.queue(**wanted)
    with administration(t.number) as client:
        got = client.get_queue(path)
    same({name: getattr(got, name) for name in wanted}, wanted, "properties")


@case(apis=once, warns=True)  # about times that the client sends back
async def auto_delete_on_idle(t):
    five, hour, topic = timedelta(minutes=5), timedelta(hours=1), t.path()
    path = t.queue(auto_delete_on_idle=five)
    with administration(t.number) as client:
        client.create_topic(topic, auto_delete_on_idle=five)
        client.create_subscription(topic, "s", auto_delete_on_idle=five)
        queue, about, subscription = client.get_queue(path), client.get_topic(topic), client.get_subscription(topic, "s")
        same([e.auto_delete_on_idle for e in (queue, about, subscription)], [five] * 3, "times")
        for e in (queue, about, subscription):
            e.auto_delete_on_idle = hour
        client.update_queue(queue)
        client.update_topic(about)
        client.update_subscription(topic, subscription)
        got = client.get_queue(path), client.get_topic(topic), client.get_subscription(topic, "s")
        same([e.auto_delete_on_idle for e in got], [hour] * 3, "times after the change")
        queue.auto_delete_on_idle = timedelta(days=10675199)
        client.update_queue(queue)
        true(client.get_queue(path).auto_delete_on_idle > timedelta(days=365 * 1000), "the queue is never deleted")
        rejected(HttpResponseError, client.create_queue, t.path(), text="between 00:05:00 and", auto_delete_on_idle=timedelta(minutes=4))
        client.delete_topic(topic)


@case(apis=once)
async def durations_as_text(t):
    path = t.queue(lock_duration="PT30S", default_message_time_to_live="P1DT2H")
    with administration(t.number) as client:
        got = client.get_queue(path)
    same((got.lock_duration, got.default_message_time_to_live), (timedelta(seconds=30), timedelta(hours=26)), "durations")


@case(apis=once, warns=True)  # about times that the client sends back
async def change(t):
    path = t.queue()
    with administration(t.number) as client:
        queue = client.get_queue(path)
        queue.max_delivery_count, queue.lock_duration = 2, timedelta(seconds=1)
        queue.default_message_time_to_live = timedelta(hours=1)
        client.update_queue(queue)
        client.update_queue(client.get_queue(path), max_delivery_count=1)
        got = client.get_queue(path)
    same((got.max_delivery_count, got.lock_duration, got.default_message_time_to_live),
         (1, timedelta(seconds=1), timedelta(hours=1)), "properties")
    await t.send(path, message("x"))
    receiver = await t.receiver(path)
    await receiver.abandon_message((await take(receiver))[0])
    await nothing(receiver)
    dead = (await take(await t.receiver(path, sub_queue=DEAD_LETTER)))[0]
    same(dead.dead_letter_reason, "MaxDeliveryCountExceeded", "reason")


@case(apis=once, warns=True)  # about times that the client sends back
async def fixed_properties(t):
    path = t.queue()
    with administration(t.number) as client:
        for name in ("requires_session", "requires_duplicate_detection", "enable_partitioning"):
            queue = client.get_queue(path)
            setattr(queue, name, True)
            rejected(HttpResponseError, client.update_queue, queue)


@case(apis=once)
async def wrong_values(t):
    with administration(t.number) as client:
        for name, value in (("max_delivery_count", 0), ("lock_duration", timedelta(0)),
                            ("duplicate_detection_history_time_window", timedelta(seconds=1)),
                            ("duplicate_detection_history_time_window", timedelta(days=8))):
            rejected(HttpResponseError, client.create_queue, t.path(), text="SubCode=40000", **{name: value})


@case(apis=once)
async def existing_and_missing(t):
    path = t.queue()
    with administration(t.number) as client:
        rejected(ResourceExistsError, client.create_queue, path)
        missing = t.path()
        rejected(ResourceNotFoundError, client.get_queue, missing)
        rejected(ResourceNotFoundError, client.get_queue_runtime_properties, missing)
        rejected(ResourceNotFoundError, client.delete_queue, missing)
        client.delete_queue(path)
        rejected(ResourceNotFoundError, client.get_queue, path)
        true(path not in [q.name for q in client.list_queues()], "a deleted queue is listed")


@case(apis=once)
async def pages(t):
    paths = {t.queue() for _ in range(120)}
    with administration(t.number) as client:
        listed = [q.name for q in client.list_queues()]
        running = [q.name for q in client.list_queues_runtime_properties()]
    for names in (listed, running):
        true(paths <= set(names), "a queue is not listed")


@case(apis=once)
async def counts(t):
    path = t.queue()
    await t.send(path, *[message("x" * 1000) for _ in range(5)])
    receiver, sender = await t.receiver(path), await t.sender(path)
    await sender.schedule_messages([message("later"), message("later")], later())
    got = await take(receiver, 2)
    await receiver.dead_letter_message(got[0])
    await receiver.complete_message(got[1])
    with administration(t.number) as client:
        async def counted():
            r = await asyncio.to_thread(client.get_queue_runtime_properties, path)
            seen = (r.active_message_count, r.dead_letter_message_count, r.scheduled_message_count, r.total_message_count)
            return seen == (3, 1, 2, 6) and r

        running = await eventually("the counts are right", counted)
        true(running.size_in_bytes > 3000, f"{running.size_in_bytes} bytes")
        same(running.transfer_message_count, 0, "transfers")
        true(running.created_at_utc <= running.updated_at_utc, "the times are wrong")


@case(apis=once, warns=True)
async def status(t):
    path = t.queue()
    await t.send(path, message("x"))
    with administration(t.number) as client:
        queue = client.get_queue(path)
        queue.status = EntityStatus.RECEIVE_DISABLED
        client.update_queue(queue)
        same(client.get_queue(path).status, EntityStatus.RECEIVE_DISABLED, "status")
        await t.send(path, message("y"))
        queue.status = EntityStatus.ACTIVE
        client.update_queue(queue)
    await t.drain(path, 2)


@case(apis=once)
async def namespace(t):
    with administration(t.number) as client:
        got = client.get_namespace_properties()
    true(got.name, "the namespace has no name")
    true(isinstance(got.messaging_sku, MessagingSku) or got.messaging_sku, "no tier")


@case(apis=once)
async def names(t):
    with administration(t.number) as client:
        for path in (f"{t.path()}/x.y-z_0", "n" * 200 + t.path()[-20:]):
            client.create_queue(path)
            same(client.get_queue(path).name, path, "name")
            await t.send(path, message("x"))
            await t.drain(path, 1)
        for path in ("a b", "a?b"):
            rejected(HttpResponseError, client.create_queue, path)
