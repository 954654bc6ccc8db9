from azure.servicebus import NEXT_AVAILABLE_SESSION, TransportType

from case import ENDPOINTS, bodies, case, message, one, same, take


async def client_of(t, **options):
    """Opens a client that uses WebSocket."""
    endpoint = ENDPOINTS[t.number % len(ENDPOINTS)]
    options |= {"transport_type": TransportType.AmqpOverWebsocket, "custom_endpoint_address": f"sb://{endpoint}"}
    return await t.client(endpoint=endpoint, **options)


@case
async def send_and_receive(t):
    queue, client = t.queue(), await client_of(t)
    async with client.get_queue_sender(queue) as sender:
        await sender.send_messages([message(f"{i}") for i in range(100)])
    async with client.get_queue_receiver(queue) as receiver:
        got = await take(receiver, 100)
        for m in got:
            await receiver.complete_message(m)
    same(bodies(got), [f"{i}" for i in range(100)], "bodies")


@case
async def large_messages(t):
    queue, client = t.queue(), await client_of(t)
    large = [bytes([i]) * 900_000 for i in range(3)]
    async with client.get_queue_sender(queue) as sender:
        for body in large:
            await sender.send_messages(message(body))
    async with client.get_queue_receiver(queue) as receiver:
        for body in large:
            m = await one(receiver)
            same(b"".join(m.body), body, "the body")
            await receiver.complete_message(m)


@case
async def sessions(t):
    queue, client = t.queue(requires_session=True), await client_of(t)
    async with client.get_queue_sender(queue) as sender:
        await sender.send_messages([message(f"{i}", session_id="s") for i in range(3)])
    async with client.get_queue_receiver(queue, session_id=NEXT_AVAILABLE_SESSION) as receiver:
        await receiver.session.set_state(b"state")
        same(await receiver.session.get_state(), b"state", "the state")
        same(bodies(await take(receiver, 3)), ["0", "1", "2"], "bodies")
