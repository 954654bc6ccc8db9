import asyncio
from datetime import timedelta

from azure.servicebus import ServiceBusMessageState, ServiceBusReceiveMode

from case import bodies, browse, case, eventually, message, nothing, one, same, take, true

DELETES = ServiceBusReceiveMode.RECEIVE_AND_DELETE


def short(t, **properties):
    """Creates a queue whose locks end soon."""
    return t.queue(lock_duration=timedelta(seconds=2), **properties)


@case
async def nothing_to_receive(t):
    receiver = await t.receiver(t.queue(), max_wait_time=1)
    await nothing(receiver)
    same([str(m) async for m in receiver], [], "messages of the iterator")
    same(await receiver.receive_messages(), [], "messages")


@case
async def at_most_the_count(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(10)])
    receiver = await t.receiver(queue)
    same(bodies(await receiver.receive_messages(3, max_wait_time=10)), ["0", "1", "2"], "bodies")
    same(bodies(await take(receiver, 7)), [f"{i}" for i in range(3, 10)], "bodies")
    await nothing(receiver)


@case
async def iterator(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(10)])
    got = []
    async with (await t.default()).get_queue_receiver(queue, max_wait_time=2) as receiver:
        async for m in receiver:
            got.append(str(m))
            await receiver.complete_message(m)
    same(got, [f"{i}" for i in range(10)], "bodies")
    await t.drain(queue, 0)


@case
async def message_that_comes_later(t):
    queue = t.queue()
    receiver, sender = await t.receiver(queue), await t.sender(queue)

    async def send():
        await asyncio.sleep(2)
        await sender.send_messages(message("x"))

    got, _ = await asyncio.gather(receiver.receive_messages(5, max_wait_time=60), send())
    same(bodies(got), ["x"], "bodies")


@case
async def prefetch(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(50)])
    same(bodies(await t.drain(queue, 50, prefetch_count=20)), [f"{i}" for i in range(50)], "bodies")


@case
async def prefetched_messages_are_given_back(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(10)])
    async with (await t.default()).get_queue_receiver(queue, prefetch_count=10) as receiver:
        await receiver.complete_message(await one(receiver))
    got = await t.drain(queue, 9)
    same([(str(m), m.delivery_count) for m in got], [(f"{i}", 0) for i in range(1, 10)], "messages")


@case
async def receive_and_delete(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(5)])
    async with (await t.default()).get_queue_receiver(queue, receive_mode=DELETES, max_wait_time=2) as receiver:
        first = await one(receiver)
        same((first.lock_token, first.locked_until_utc), (None, None), "lock")
        same(bodies([first]) + [str(m) async for m in receiver], [f"{i}" for i in range(5)], "bodies")
        try:
            await receiver.complete_message(first)
        except ValueError:
            pass
        else:
            raise AssertionError("a deleted message was completed")
    same(await browse(await t.receiver(queue)), [], "peeked")


@case
async def receive_and_delete_with_prefetch(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(40)])
    receiver = await t.receiver(queue, receive_mode=DELETES, prefetch_count=10)
    same(bodies(await take(receiver, 40)), [f"{i}" for i in range(40)], "bodies")


@case
async def locked_for_others(t):
    queue = short(t)
    await t.send(queue, message("x"))
    first, second = await t.receiver(queue), await t.receiver(queue)
    same((await one(first)).delivery_count, 0, "delivery count")
    again = await one(second)
    same((str(again), again.delivery_count), ("x", 1), "message after the end of the lock")
    await second.complete_message(again)


@case
async def locks_outlive_their_receiver(t):
    queue = t.queue(lock_duration=timedelta(seconds=10))
    await t.send(queue, message("x"))
    async with (await t.default()).get_queue_receiver(queue) as receiver:
        await one(receiver)
    receiver = await t.receiver(queue)
    await nothing(receiver, 3)
    same((await one(receiver)).delivery_count, 1, "delivery count")


@case
async def competing_receivers(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(60)])
    receivers = [await t.receiver(queue) for _ in range(3)]
    got = []

    async def consume(receiver):
        while some := await receiver.receive_messages(5, max_wait_time=2):
            for m in some:
                await receiver.complete_message(m)
            got.extend(bodies(some))

    await asyncio.gather(*map(consume, receivers))
    same(sorted(got, key=int), [f"{i}" for i in range(60)], "bodies")


@case
async def peek(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}", application_properties={"i": i}) for i in range(10)])
    receiver = await t.receiver(queue)
    first = await receiver.peek_messages(4)
    same([(str(m), m.application_properties) for m in first], [(f"{i}", {b"i": i}) for i in range(4)], "first")
    same({m.state for m in first}, {ServiceBusMessageState.ACTIVE}, "states")
    true(first[0].locked_until_utc is None, "a peeked message has a lock")
    same(bodies(await receiver.peek_messages(100)), [f"{i}" for i in range(4, 10)], "the others")
    same(await receiver.peek_messages(100), [], "behind the last")
    from_third = await receiver.peek_messages(2, sequence_number=first[2].sequence_number)
    same(bodies(from_third), ["2", "3"], "from the third")
    same({m.delivery_count for m in await take(receiver, 10)}, {0}, "delivery counts")


@case
async def peek_shows_locked_and_deferred_messages(t):
    queue = t.queue()
    await t.send(queue, message("locked"), message("deferred"))
    receiver = await t.receiver(queue)
    locked, deferred = await take(receiver, 2)
    await receiver.defer_message(deferred)
    got = await browse(receiver)
    same([(str(m), m.state) for m in got],
         [("locked", ServiceBusMessageState.ACTIVE), ("deferred", ServiceBusMessageState.DEFERRED)], "peeked")
    same([m.sequence_number for m in got], [locked.sequence_number, deferred.sequence_number], "numbers")


@case
async def peek_of_large_messages(t):
    queue = t.queue()
    await t.send(queue, *[message("x" * 400_000) for _ in range(6)])
    receiver, found = await t.receiver(queue), 0
    while got := await receiver.peek_messages(10):
        found += len(got)
    same(found, 6, "messages")


@case
async def peeked_messages_cannot_be_settled(t):
    queue = t.queue()
    await t.send(queue, message("x"))
    receiver = await t.receiver(queue)
    peeked = (await receiver.peek_messages())[0]
    for settle in (receiver.complete_message, receiver.abandon_message, receiver.defer_message, receiver.dead_letter_message):
        try:
            await settle(peeked)
        except ValueError:
            continue
        raise AssertionError("a peeked message was settled")


@case
async def messages_of_sqs_size_in_one_receive(t):
    queue = t.queue()
    for _ in range(3):
        await t.send(queue, [message(f"{i}") for i in range(100)])
    receiver = await t.receiver(queue)
    got = await take(receiver, 300)
    same(len({m.lock_token for m in got}), 300, "lock tokens")
    await receiver.complete_message(got[0])
    await eventually("only the completed one is gone", lambda: gone(receiver, 299))


async def gone(receiver, left):
    return len(await browse(receiver, 500)) == left
