import asyncio
from datetime import datetime, timedelta, timezone

from azure.servicebus.exceptions import MessageNotFoundError

from case import bodies, case, message, refused, same

WINDOW = timedelta(seconds=20)


def detecting(t, **properties):
    return t.queue(requires_duplicate_detection=True, **properties)


def later(seconds=3600):
    return datetime.now(timezone.utc) + timedelta(seconds=seconds)


@case
async def a_duplicate_is_dropped(t):
    queue = detecting(t)
    await t.send(queue, message("first", message_id="a"), message("other", message_id="b"), message("second", message_id="a"))
    same(bodies(await t.drain(queue, 2)), ["first", "other"], "bodies")


@case
async def ids_outlive_their_messages(t):
    queue = detecting(t)
    await t.send(queue, message("1", message_id="a"))
    same(bodies(await t.drain(queue, 1)), ["1"], "bodies")
    await t.send(queue, message("2", message_id="a"))
    await t.drain(queue, 0)


@case
async def duplicates_in_one_batch(t):
    queue = detecting(t)
    await t.send(queue, [message("1", message_id="a"), message("2", message_id="b"), message("3", message_id="a")],
                 [message("4", message_id="b"), message("5", message_id="c")])
    same(bodies(await t.drain(queue, 3)), ["1", "2", "5"], "bodies")


@case
async def without_detection(t):
    queue = t.queue()
    await t.send(queue, message("1", message_id="a"), message("2", message_id="a"))
    same(bodies(await t.drain(queue, 2)), ["1", "2"], "bodies")


@case
async def ids_are_compared_exactly(t):
    queue = detecting(t)
    names = ["a", "A", " a", "a ", "ä", "é" * 128, "a/b.c_d", "世界"]
    await t.send(queue, *[message(n, message_id=n) for n in names + names])
    got = await t.drain(queue, len(names))
    same([m.message_id for m in got], names, "message ids")


@case
async def nothing_but_the_id_counts(t):
    queue = detecting(t)
    await t.send(queue, message("1", message_id="a", session_id="s", subject="x"),
                 message("2", message_id="a", session_id="t", application_properties={"a": 1}))
    same(bodies(await t.drain(queue, 1)), ["1"], "bodies")


@case
async def scheduled_first(t):
    queue = detecting(t)
    sender = await t.sender(queue)
    await sender.schedule_messages(message("scheduled", message_id="a"), later(4))
    await sender.send_messages(message("plain", message_id="a"))
    same(bodies(await t.drain(queue, 1)), ["scheduled"], "bodies")


@case
async def scheduled_second(t):
    queue = detecting(t)
    sender = await t.sender(queue)
    await sender.send_messages(message("plain", message_id="a"))
    numbers = await sender.schedule_messages(message("scheduled", message_id="a"), later())
    same(len(numbers), 1, "numbers")
    await refused(MessageNotFoundError, sender.cancel_scheduled_messages(numbers))
    same(bodies(await t.drain(queue, 1)), ["plain"], "bodies")


@case
async def scheduled_twice(t):
    queue = detecting(t)
    sender = await t.sender(queue)
    first = await sender.schedule_messages(message("1", message_id="a"), later(4))
    second = await sender.schedule_messages(message("2", message_id="a"), later(4))
    same(len(first + second), 2, "numbers")
    same(bodies(await t.drain(queue, 1)), ["1"], "bodies")


@case
async def cancelled_ids_stay(t):
    queue = detecting(t)
    sender = await t.sender(queue)
    await sender.cancel_scheduled_messages(await sender.schedule_messages(message("1", message_id="a"), later()))
    await sender.send_messages(message("2", message_id="a"))
    await t.drain(queue, 0)


@case
async def the_window_ends(t):
    queue = detecting(t, duplicate_detection_history_time_window=WINDOW)
    await t.send(queue, message("1", message_id="a"))
    await asyncio.sleep(12)
    await t.send(queue, message("2", message_id="a"))  # does not renew the window
    await asyncio.sleep(WINDOW.total_seconds() - 12 + 2)
    await t.send(queue, message("3", message_id="a"))
    same(bodies(await t.drain(queue, 2)), ["1", "3"], "bodies")


@case
async def partitions(t):
    queue = detecting(t, enable_partitioning=True)
    await t.send(
        queue, message("1", message_id="a", partition_key="p"), message("2", message_id="a", partition_key="q"),
        message("3", message_id="a", partition_key="p"), message("4", message_id="b"), message("5", message_id="b"),
    )
    same(bodies(await t.drain(queue, 3)), ["1", "2", "4"], "bodies")


@case
async def deferred_and_dead_ids_stay(t):
    queue = detecting(t)
    await t.send(queue, message("1", message_id="a"), message("2", message_id="b"))
    async with (await t.default()).get_queue_receiver(queue) as receiver:
        got = await receiver.receive_messages(2, max_wait_time=10)
        await receiver.defer_message(got[0])
        await receiver.dead_letter_message(got[1])
    await t.send(queue, message("3", message_id="a"), message("4", message_id="b"))
    await t.drain(queue, 0)
