from datetime import datetime, timedelta, timezone

from azure.servicebus import ServiceBusMessageState
from azure.servicebus.exceptions import MessageSizeExceededError

from case import bodies, case, message, one, refused, same, take, true


@case
async def one_message(t):
    queue = t.queue()
    sent = message(
        "body", message_id="m-1", content_type="text/plain", correlation_id="c-1", subject="s-1", to="t-1",
        reply_to="r-1", reply_to_session_id="rs-1", session_id="g-1", partition_key="g-1",
        application_properties={"number": 1},
    )
    before = datetime.now(timezone.utc) - timedelta(seconds=5)
    await t.send(queue, sent)
    got = await one(await t.receiver(queue))
    for name in ("message_id", "content_type", "correlation_id", "subject", "to", "reply_to", "reply_to_session_id",
                 "session_id", "partition_key"):
        same(getattr(got, name), getattr(sent, name), name)
    same((str(got), got.application_properties), ("body", {b"number": 1}), "content")
    same((got.delivery_count, got.state), (0, ServiceBusMessageState.ACTIVE), "delivery count and state")
    same((got.dead_letter_reason, got.dead_letter_error_description, got.dead_letter_source), (None,) * 3, "dead letter")
    true(got.sequence_number > 0, f"sequence number {got.sequence_number}")
    true(before < got.enqueued_time_utc < before + timedelta(minutes=5), f"enqueued at {got.enqueued_time_utc}")
    left = got.locked_until_utc - got.enqueued_time_utc
    true(timedelta(seconds=59) < left < timedelta(minutes=5), f"locked for {left}")
    true(got.lock_token is not None, "no lock token")


@case
async def order_of_a_list(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(20)])
    got = await t.drain(queue, 20)
    same(bodies(got), [f"{i}" for i in range(20)], "bodies")
    numbers = [m.sequence_number for m in got]
    same(numbers, list(range(numbers[0], numbers[0] + 20)), "sequence numbers")


@case
async def order_of_single_messages(t):
    queue = t.queue()
    await t.send(queue, *[message(f"{i}") for i in range(10)])
    same(bodies(await t.drain(queue, 10)), [f"{i}" for i in range(10)], "bodies")


@case
async def batch(t):
    queue = t.queue()
    sender = await t.sender(queue)
    made = await sender.create_message_batch()
    empty = made.size_in_bytes
    for i in range(5):
        made.add_message(message(f"{i}", message_id=f"m-{i}", application_properties={"i": i}))
    true(made.size_in_bytes > empty, "the size does not grow")
    await sender.send_messages(made)
    got = await t.drain(queue, 5)
    same([(str(m), m.message_id, m.application_properties) for m in got],
         [(f"{i}", f"m-{i}", {b"i": i}) for i in range(5)], "messages")


@case
async def batch_that_is_full(t):
    queue = t.queue()
    sender = await t.sender(queue)
    made = await sender.create_message_batch()
    count = 0
    try:
        while True:
            made.add_message(message("x" * 50_000))
            count += 1
    except MessageSizeExceededError:
        pass
    true(4 < count < 25, f"{count} messages of 50 kB in a batch")
    await sender.send_messages(made)
    await t.drain(queue, count)


@case
async def batch_with_a_limit_of_its_own(t):
    sender = await t.sender(t.queue())
    made = await sender.create_message_batch(max_size_in_bytes=1000)
    same(made.max_size_in_bytes, 1000, "limit")
    try:
        made.add_message(message("x" * 1000))
    except MessageSizeExceededError:
        return
    raise AssertionError("the batch takes more than its limit")


@case
async def hundreds_in_a_batch(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(500)])
    same(bodies(await t.drain(queue, 500, prefetch_count=500)), [f"{i}" for i in range(500)], "bodies")


@case
async def empty_list(t):
    queue = t.queue()
    await t.send(queue, [], message("after"))
    same(bodies(await t.drain(queue, 1)), ["after"], "bodies")


@case
async def mappings(t):
    queue = t.queue()
    await t.send(queue, {"body": "one", "message_id": "m-1"}, [{"body": "two"}, {"body": "three", "subject": "s"}])
    got = await t.drain(queue, 3)
    same([(str(m), m.subject) for m in got], [("one", None), ("two", None), ("three", "s")], "messages")


@case
async def too_large(t):
    queue = t.queue()
    sender = await t.sender(queue)
    await refused(MessageSizeExceededError, sender.send_messages(message("x" * 1_100_000)))
    await sender.send_messages(message("after"))
    same(bodies(await t.drain(queue, 1)), ["after"], "bodies")


@case
async def too_large_for_the_queue(t):
    queue = t.queue(max_message_size_in_kilobytes=100)
    sender = await t.sender(queue)
    await refused(MessageSizeExceededError, sender.send_messages(message("x" * 150_000)))
    await sender.send_messages(message("x" * 90_000))
    await t.drain(queue, 1)


@case
async def large_messages(t):
    queue = t.queue()
    contents = [bytes([i]) * 900_000 for i in range(3)]
    await t.send(queue, *[message(c) for c in contents])
    got = await t.drain(queue, 3)
    true([b"".join(m.body) for m in got] == contents, "the bodies differ")


@case
async def several_senders(t):
    queue = t.queue()
    client = await t.default()
    senders = [await t.stack.enter_async_context(client.get_queue_sender(queue)) for _ in range(4)]
    for i in range(20):
        await senders[i % 4].send_messages(message(f"{i}"))
    same(bodies(await t.drain(queue, 20)), [f"{i}" for i in range(20)], "bodies")


@case
async def one_message_twice(t):
    queue = t.queue()
    again = message("same")
    await t.send(queue, again, again, [again, again])
    same(bodies(await t.drain(queue, 4)), ["same"] * 4, "bodies")


@case
async def received_messages_are_sent_on(t):
    first, second = t.queue(), t.queue()
    await t.send(first, message("x", subject="s", application_properties={"a": "b"}))
    async with (await t.default()).get_queue_receiver(first) as receiver:
        got = await one(receiver)
        await t.send(second, got)
        await receiver.complete_message(got)
    moved = (await t.drain(second, 1))[0]
    same((str(moved), moved.subject, moved.application_properties, moved.message_id),
         ("x", "s", {b"a": b"b"}, got.message_id), "message")
    await take(await t.receiver(second), 0)
