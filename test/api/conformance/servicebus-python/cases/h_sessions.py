import asyncio
from datetime import datetime, timedelta, timezone

from azure.servicebus import NEXT_AVAILABLE_SESSION, ServiceBusMessageState, ServiceBusReceiveMode
from azure.servicebus.exceptions import (
    MessageNotFoundError, OperationTimeoutError, ServiceBusError, SessionCannotBeLockedError, SessionLockLostError,
)

from case import DEAD_LETTER, bodies, browse, case, eventually, message, nothing, one, refused, same, take, true
from cases.d_schedules import later
from cases.f_settling import enter


def sessions(t, **properties):
    return t.queue(requires_session=True, **properties)


def of(session, *names):
    return [message(name, session_id=session) for name in names]


async def accept(t, queue, session=NEXT_AVAILABLE_SESSION, **options):
    """Opens a receiver of a session, which may be held for a moment by another that was closed."""
    client = await t.default()

    async def attempt():
        receiver = client.get_queue_receiver(queue, session_id=session, **options)
        try:
            return await receiver.__aenter__()
        except SessionCannotBeLockedError:
            return None

    receiver = await eventually(f"session {session} is free", attempt)
    t.stack.push_async_callback(receiver.close)
    return receiver


@case
async def by_id(t):
    queue = sessions(t)
    await t.send(queue, *of("a", "a1"), *of("b", "b1"), *of("a", "a2"))
    receiver = await t.receiver(queue, session_id="a")
    same(receiver.session.session_id, "a", "session id")
    left = receiver.session.locked_until_utc - datetime.now(timezone.utc)
    true(timedelta(seconds=30) < left < timedelta(minutes=2), f"locked for {left}")
    got = await take(receiver, 2)
    same([(str(m), m.session_id, m.delivery_count) for m in got], [("a1", "a", 0), ("a2", "a", 0)], "messages")
    for m in got:
        await receiver.complete_message(m)
    await nothing(receiver)


@case
async def next_available(t):
    queue = sessions(t)
    await t.send(queue, of("a", "a1", "a2"), of("b", "b1"))
    found = {}
    for _ in range(2):
        receiver = await t.receiver(queue, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=5)
        found[receiver.session.session_id] = bodies(await receiver.receive_messages(5))
    same(found, {"a": ["a1", "a2"], "b": ["b1"]}, "sessions")


@case
async def next_available_comes_later(t):
    queue = sessions(t)
    sender, client = await t.sender(queue), await t.default()

    async def send():
        await asyncio.sleep(2)
        await sender.send_messages(of("late", "x"))

    async def receive():
        async with client.get_queue_receiver(queue, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=60) as receiver:
            return receiver.session.session_id, str(await one(receiver))

    got, _ = await asyncio.gather(receive(), send())
    same(got, ("late", "x"), "session and body")


@case(warns=True)
async def no_session_is_available(t):
    queue = sessions(t)
    client = await t.default()
    await refused(OperationTimeoutError,
                  enter(client.get_queue_receiver(queue, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=2)))


@case
async def session_without_messages(t):
    queue = sessions(t)
    receiver = await t.receiver(queue, session_id="empty")
    await nothing(receiver)
    await t.send(queue, of("empty", "x"), of("other", "y"))
    same(bodies(await receiver.receive_messages(5, max_wait_time=30)), ["x"], "bodies")


@case(warns=True)
async def held_session(t):
    queue = sessions(t)
    await t.send(queue, of("a", "x"))
    client = await t.default()
    async with client.get_queue_receiver(queue, session_id="a"):
        await refused(SessionCannotBeLockedError, enter(client.get_queue_receiver(queue, session_id="a")))
        other = await t.client()
        await refused(SessionCannotBeLockedError, enter(other.get_queue_receiver(queue, session_id="a")))
        await refused(OperationTimeoutError,
                      enter(client.get_queue_receiver(queue, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=1)))
    receiver = await accept(t, queue, "a")
    same(str(await one(receiver)), "x", "body")


@case
async def two_sessions_at_once(t):
    queue = sessions(t)
    for i in range(5):
        await t.send(queue, of("a", f"a{i}") + of("b", f"b{i}"))
    receivers = [await t.receiver(queue, session_id=s) for s in "ab"]

    async def consume(receiver):
        got = []
        while len(got) < 5:
            m = await one(receiver)
            got.append(str(m))
            await receiver.complete_message(m)
        return got

    same(await asyncio.gather(*map(consume, receivers)), [[f"{s}{i}" for i in range(5)] for s in "ab"], "bodies")


@case(warns=True)
async def wrong_receivers(t):
    client = await t.default()
    await refused(ServiceBusError, enter(client.get_queue_receiver(sessions(t))), "non-sessionful message receiver")
    await refused(ServiceBusError, enter(client.get_queue_receiver(t.queue(), session_id="a")),
                  "sessionful message receiver cannot be created")


@case(warns=True)
async def messages_without_a_session(t):
    queue = sessions(t)
    sender = await t.sender(queue)
    await refused(ServiceBusError, sender.send_messages(message("x")), "The SessionId was not set")
    await refused(ServiceBusError, sender.send_messages(of("a", "y") + [message("x")]), "The SessionId was not set")
    await refused(ServiceBusError, sender.schedule_messages(message("x"), later()), "The SessionId was not set")
    receiver = await t.receiver(queue, session_id="a")
    same(await browse(receiver), [], "peeked")


@case
async def state(t):
    queue = sessions(t)
    async with (await t.default()).get_queue_receiver(queue, session_id="a") as receiver:
        same(await receiver.session.get_state(), None, "first state")
        await receiver.session.set_state("é")
        same(await receiver.session.get_state(), "é".encode(), "text")
        await receiver.session.set_state(bytes(range(256)))
    receiver = await accept(t, queue, "a")
    same(await receiver.session.get_state(), bytes(range(256)), "state of an empty session")
    other = await t.receiver(queue, session_id="b")
    same(await other.session.get_state(), None, "state of another session")
    await receiver.session.set_state(None)
    same(await receiver.session.get_state(), None, "cleared state")


@case
async def large_state(t):
    receiver = await t.receiver(sessions(t), session_id="a")
    await receiver.session.set_state(b"x" * 200_000)
    same(len(await receiver.session.get_state()), 200_000, "length of the state")


@case
async def renewal(t):
    queue = sessions(t, lock_duration=timedelta(seconds=5))
    await t.send(queue, of("a", "x"))
    receiver = await t.receiver(queue, session_id="a")
    got, until = await one(receiver), receiver.session.locked_until_utc
    for _ in range(3):
        await asyncio.sleep(2.5)
        renewed = await receiver.session.renew_lock()
        true(renewed == receiver.session.locked_until_utc > until, f"locked until {renewed}, before until {until}")
        until = renewed
    await receiver.complete_message(got)
    same(await browse(receiver), [], "peeked")


@case
async def automatic_renewal(t):
    queue = sessions(t, lock_duration=timedelta(seconds=5))
    await t.send(queue, of("a", "x"))
    receiver = await t.receiver(queue, session_id="a")
    renewer = await t.renewer()
    renewer.register(receiver, receiver.session, max_lock_renewal_duration=60)
    got = await one(receiver)
    await asyncio.sleep(12)
    same(receiver.session.auto_renew_error, None, "error")
    await receiver.complete_message(got)
    same(await receiver.session.get_state(), None, "state")
    await renewer.close()  # before the receiver


@case
async def automatic_renewal_of_a_receiver(t):
    queue = sessions(t, lock_duration=timedelta(seconds=5))
    await t.send(queue, of("a", "x"))
    renewer = await t.renewer()
    receiver = await t.receiver(queue, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=10, auto_lock_renewer=renewer)
    got = await one(receiver)
    await asyncio.sleep(12)
    await receiver.complete_message(got)
    await renewer.close()  # before the receiver


@case(warns=True)
async def lost_locks(t):
    queue = sessions(t, lock_duration=timedelta(seconds=2))
    await t.send(queue, of("a", "x"))
    first = await t.receiver(queue, session_id="a")
    got = await one(first)
    second = await accept(t, queue, "a")
    for call in (first.complete_message(got), first.session.renew_lock(), first.session.get_state(),
                 first.session.set_state("s")):
        await refused(SessionLockLostError, call)
    again = await one(second)
    same((str(again), again.delivery_count), ("x", 1), "message")
    await second.complete_message(again)


@case
async def closed_without_settling(t):
    queue = sessions(t)
    await t.send(queue, of("a", "x", "y"))
    async with (await t.default()).get_queue_receiver(queue, session_id="a") as receiver:
        await take(receiver, 2)
    receiver = await accept(t, queue, "a")
    same([(str(m), m.delivery_count) for m in await take(receiver, 2)], [("x", 0), ("y", 0)], "messages")


@case
async def abandon(t):
    queue = sessions(t)
    await t.send(queue, of("a", "x", "y"))
    receiver = await t.receiver(queue, session_id="a")
    await receiver.abandon_message(await one(receiver))
    got = await take(receiver, 2)
    same([(str(m), m.delivery_count) for m in got], [("x", 1), ("y", 0)], "messages")


@case
async def too_many_deliveries(t):
    queue = sessions(t, max_delivery_count=2)
    await t.send(queue, of("a", "x", "y"))
    receiver = await t.receiver(queue, session_id="a")
    for _ in range(2):
        await receiver.abandon_message(await one(receiver))
    same(str(await one(receiver)), "y", "body")
    dead = await one(await t.receiver(queue, sub_queue=DEAD_LETTER))
    same((str(dead), dead.session_id, dead.dead_letter_reason), ("x", "a", "MaxDeliveryCountExceeded"), "dead letter")


@case
async def dead_letter(t):
    queue = sessions(t)
    await t.send(queue, of("a", "x"))
    receiver = await t.receiver(queue, session_id="a")
    await receiver.dead_letter_message(await one(receiver), reason="r")
    dead_letters = await t.receiver(queue, sub_queue=DEAD_LETTER)
    dead = await one(dead_letters)
    same((str(dead), dead.session_id, dead.dead_letter_reason), ("x", "a", "r"), "dead letter")
    await dead_letters.complete_message(dead)


@case
async def defer(t):
    queue = sessions(t)
    await t.send(queue, of("a", "x", "y"))
    async with (await t.default()).get_queue_receiver(queue, session_id="a") as receiver:
        got = await one(receiver)
        await receiver.defer_message(got)
        same(str(await one(receiver)), "y", "body")
    other = await t.receiver(queue, session_id="b")
    await refused(MessageNotFoundError, other.receive_deferred_messages(got.sequence_number))
    receiver = await accept(t, queue, "a")
    back = (await receiver.receive_deferred_messages([got.sequence_number]))[0]
    same((str(back), back.session_id, back.state), ("x", "a", ServiceBusMessageState.DEFERRED), "message")
    await receiver.complete_message(back)
    same(bodies(await browse(receiver)), ["y"], "peeked")


@case
async def peek(t):
    queue = sessions(t)
    await t.send(queue, of("a", "a1") + of("b", "b1") + of("a", "a2"))
    receiver = await t.receiver(queue, session_id="a")
    same(bodies(await browse(receiver)), ["a1", "a2"], "peeked")


@case
async def receive_and_delete(t):
    queue = sessions(t)
    await t.send(queue, of("a", "x", "y"))
    receiver = await t.receiver(queue, session_id="a", receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)
    same(bodies(await take(receiver, 2)), ["x", "y"], "bodies")
    same(await browse(receiver), [], "peeked")


@case
async def iterator(t):
    queue = sessions(t)
    await t.send(queue, of("a", "x", "y", "z"))
    got = []
    async with (await t.default()).get_queue_receiver(queue, session_id="a", max_wait_time=2) as receiver:
        async for m in receiver:
            got.append(str(m))
            await receiver.complete_message(m)
    same(got, ["x", "y", "z"], "bodies")


@case
async def prefetch(t):
    queue = sessions(t)
    await t.send(queue, of("a", *[f"{i}" for i in range(30)]))
    receiver = await t.receiver(queue, session_id="a", prefetch_count=10)
    got = await take(receiver, 30)
    for m in got:
        await receiver.complete_message(m)
    same(bodies(got), [f"{i}" for i in range(30)], "bodies")


@case
async def ids(t):
    queue = sessions(t)
    names = ["世界", "é" * 128, "a b", "A", "a", "a/b"]
    await t.send(queue, *[m for n in names for m in of(n, "of " + n)])
    for name in names:
        receiver = await t.receiver(queue, session_id=name)
        got = await one(receiver)
        same((receiver.session.session_id, got.session_id, str(got)), (name, name, "of " + name), "session")
    client = await t.default()
    same(sorted([s async for s in client.list_queue_sessions(queue)]), sorted(names), "listed")


@case
async def empty_id(t):
    queue = sessions(t)
    await t.send(queue, message("x", session_id=""))
    receiver = await t.receiver(queue, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=5)
    same((receiver.session.session_id, str(await one(receiver))), ("", "x"), "session")


@case
async def partition_key(t):
    try:
        message("x", session_id="a", partition_key="b")
    except ValueError:
        pass
    else:
        raise AssertionError("a message has two partitions")
    queue = sessions(t)
    await t.send(queue, message("x", session_id="a", partition_key="a"))
    receiver = await t.receiver(queue, session_id="a")
    same((await one(receiver)).partition_key, "a", "partition key")


@case
async def duplicates(t):
    queue = sessions(t, requires_duplicate_detection=True)
    await t.send(queue, message("1", message_id="m", session_id="a"), message("2", message_id="m", session_id="a"),
                 message("3", message_id="m", session_id="b"))
    client = await t.default()
    same([s async for s in client.list_queue_sessions(queue)], ["a"], "sessions")
