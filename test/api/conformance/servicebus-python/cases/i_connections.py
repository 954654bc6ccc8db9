import asyncio

from azure.servicebus import NEXT_AVAILABLE_SESSION
from azure.servicebus.exceptions import (
    MessagingEntityNotFoundError, OperationTimeoutError, ServiceBusConnectionError, ServiceBusError,
)

from case import ENDPOINTS, bodies, browse, case, connection, message, one, refused, same, take, true
from cases.f_settling import enter
from cases.h_sessions import accept, of, sessions
from proxy import Proxy


@case(warns=True)
async def missing_queues(t):
    client, path = await t.default(), t.path()
    await refused(MessagingEntityNotFoundError, enter(client.get_queue_sender(path)))
    await refused(MessagingEntityNotFoundError, enter(client.get_queue_receiver(path)))
    await refused(MessagingEntityNotFoundError, enter(client.get_queue_receiver(path, session_id="s")))


@case
async def names(t):
    queue = t.queue()
    await t.send(queue.upper(), message("x"))
    same(bodies(await t.drain(queue, 1)), ["x"], "bodies")


@case
async def entity_in_the_connection_string(t):
    queue = t.queue()
    client = await t.client(connection(t.number, more=f"EntityPath={queue};"))
    async with client.get_queue_sender(queue) as sender:
        await sender.send_messages(message("x"))
    try:
        client.get_queue_sender("other")
    except ValueError:
        pass
    else:
        raise AssertionError("another queue was accepted")
    await t.drain(queue, 1)


@case
async def other_nodes(t):
    queue = t.queue()
    for i, endpoint in enumerate(ENDPOINTS):
        client = await t.client(endpoint=endpoint)
        async with client.get_queue_sender(queue) as sender:
            await sender.send_messages(message(f"{i}"))
    got = []
    for endpoint in reversed(ENDPOINTS):
        client = await t.client(endpoint=endpoint)
        async with client.get_queue_receiver(queue) as receiver:
            m = await one(receiver)
            got.append(str(m))
            await receiver.complete_message(m)
    same(got, [f"{i}" for i in range(len(ENDPOINTS))], "bodies")


@case
async def closed_and_opened(t):
    queue = t.queue()
    for i in range(3):
        async with await t.client() as client:
            async with client.get_queue_sender(queue) as sender:
                await sender.send_messages(message(f"{i}"))
    try:
        await sender.send_messages(message("late"))
    except ValueError:
        pass
    else:
        raise AssertionError("a closed sender sends")
    same(bodies(await t.drain(queue, 3)), ["0", "1", "2"], "bodies")


@case
async def many_links(t):
    queues = [t.queue() for _ in range(5)]
    client = await t.default()
    senders = [await t.stack.enter_async_context(client.get_queue_sender(q)) for q in queues]
    receivers = [await t.stack.enter_async_context(client.get_queue_receiver(q)) for q in queues]
    for i, sender in enumerate(senders):
        await sender.send_messages(message(f"{i}"))
    for i, receiver in enumerate(receivers):
        m = await one(receiver)
        same(str(m), f"{i}", "body")
        await receiver.complete_message(m)


@case(warns=True)
async def nothing_listens(t):
    client = await t.client(endpoint="127.0.0.1:1")
    await refused(ServiceBusConnectionError, enter(client.get_queue_sender("q")))


@case(warns=True)
async def lost_connection_of_a_sender(t):
    queue = t.queue(requires_duplicate_detection=True)
    async with Proxy(ENDPOINTS[t.number % len(ENDPOINTS)]) as proxy:
        client = await t.client(endpoint=proxy.endpoint, retry_total=5, retry_backoff_factor=0.1)
        async with client.get_queue_sender(queue) as sender:
            for i in range(10):
                await sender.send_messages(message(f"{i}"))
                if i % 3 == 0:
                    proxy.cut()
    same(bodies(await t.drain(queue, 10)), [f"{i}" for i in range(10)], "bodies")


@case(warns=True)
async def lost_connection_of_a_receiver(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(6)])
    async with Proxy(ENDPOINTS[t.number % len(ENDPOINTS)]) as proxy:
        client = await t.client(endpoint=proxy.endpoint, retry_total=5, retry_backoff_factor=0.1)
        async with client.get_queue_receiver(queue) as receiver:
            got = []
            for i in range(6):
                m = await one(receiver)
                got.append(str(m))
                await receiver.complete_message(m)
                if i % 2 == 0:
                    proxy.cut()
    same(got, [f"{i}" for i in range(6)], "bodies")


@case(warns=True)
async def lock_outlives_its_connection(t):
    queue = t.queue()
    await t.send(queue, message("x"))
    async with Proxy(ENDPOINTS[t.number % len(ENDPOINTS)]) as proxy:
        client = await t.client(endpoint=proxy.endpoint, retry_total=5, retry_backoff_factor=0.1)
        async with client.get_queue_receiver(queue) as receiver:
            m = await one(receiver)
            proxy.cut()
            await receiver.complete_message(m)
    same(await browse(await t.receiver(queue)), [], "peeked")


@case(warns=True)
async def lost_connection_of_a_session(t):
    queue = t.queue(requires_session=True)
    await t.send(queue, message("x", session_id="s"))
    async with Proxy(ENDPOINTS[t.number % len(ENDPOINTS)]) as proxy:
        client = await t.client(endpoint=proxy.endpoint)
        async with client.get_queue_receiver(queue, session_id="s") as receiver:
            m = await one(receiver)
            proxy.cut()
            try:
                await receiver.complete_message(m)
            except ServiceBusError:
                pass
            else:
                raise AssertionError("a session without a connection completes")
    receiver = await accept(t, queue, "s")
    again = await take(receiver, 1)
    true(again[0].delivery_count == 0, f"delivery count {again[0].delivery_count}")


@case
async def parallel_senders_of_one_client(t):
    queue = t.queue()
    client = await t.client()

    async def send(name):
        async with client.get_queue_sender(queue) as sender:
            for i in range(10):
                await sender.send_messages(message(f"{name}{i}"))

    if t.api == "sync":  # a connection of the synchronous SDK serves one thread
        await send("a")
        await send("b")
    else:
        await asyncio.gather(send("a"), send("b"))
    got = bodies(await t.drain(queue, 20))
    for name in "ab":
        same([b for b in got if b[0] == name], [f"{name}{i}" for i in range(10)], "order of " + name)


@case(warns=True)  # about the sessions that do not come
async def parallel_receivers_take_all_sessions(t):
    queue, seen = sessions(t), {}
    names = [f"s{i}" for i in range(8)]
    await t.send(queue, *[of(name, *[f"{name}-{i}" for i in range(5)]) for name in names])

    async def receive():
        client = await t.client()
        while True:
            try:
                async with client.get_queue_receiver(queue, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=3) as receiver:
                    await receiver.session.set_state("open")
                    got = seen.setdefault(receiver.session.session_id, [])
                    for m in await take(receiver, 5):
                        got.append(str(m))
                        await receiver.complete_message(m)
                    await receiver.session.set_state(None)
            except OperationTimeoutError:
                return

    await asyncio.gather(*[receive() for _ in range(3)])
    same(seen, {name: [f"{name}-{i}" for i in range(5)] for name in names}, "sessions")
