from datetime import datetime, timedelta, timezone

from case import case, message, one, same
from cases.h_sessions import of, sessions


@case
async def listed(t):
    queue = sessions(t)
    client = await t.default()
    same([s async for s in client.list_queue_sessions(queue)], [], "sessions")
    await t.send(queue, of("with messages", "x"))
    before = datetime.now(timezone.utc) - timedelta(minutes=1)
    receiver = await t.receiver(queue, session_id="with state")
    await receiver.session.set_state("s")
    await t.receiver(queue, session_id="with nothing")
    same(sorted([s async for s in client.list_queue_sessions(queue)]), ["with messages", "with state"], "sessions")
    updated = client.list_queue_sessions(queue, state_updated_after=before)
    same([s async for s in updated], ["with state"], "sessions with state")
    updated = client.list_queue_sessions(queue, state_updated_after=datetime.now(timezone.utc) + timedelta(hours=1))
    same([s async for s in updated], [], "sessions with later state")


@case
async def many_are_listed(t):
    queue = sessions(t)
    names = [f"s{i:03}" for i in range(250)]
    for i in range(0, 250, 50):
        await t.send(queue, [message("", session_id=s) for s in names[i:i + 50]])
    client = await t.default()
    same(sorted([s async for s in client.list_queue_sessions(queue)]), names, "sessions")


@case
async def locked_sessions_are_listed(t):
    queue = sessions(t)
    await t.send(queue, of("a", "x"))
    receiver = await t.receiver(queue, session_id="a")
    await one(receiver)
    client = await t.default()
    same([s async for s in client.list_queue_sessions(queue)], ["a"], "sessions")


@case
async def sessions_of_a_subscription_are_listed(t):
    topic = t.topic("s", options={"requires_session": True})
    await t.publish(topic, of("a", "x"), of("b", "y"))
    client = await t.default()
    same([s async for s in client.list_subscription_sessions(topic, "s")], ["a", "b"], "sessions")
