from datetime import datetime, timedelta, timezone

from azure.servicebus import ServiceBusMessageState
from azure.servicebus.exceptions import MessageNotFoundError

from case import bodies, browse, case, eventually, message, nothing, one, refused, same, take, true


def later(seconds=3600):
    return (datetime.now(timezone.utc) + timedelta(seconds=seconds)).replace(microsecond=0)


@case
async def one_message(t):
    queue = t.queue()
    sender, receiver, due = await t.sender(queue), await t.receiver(queue), later(4)
    numbers = await sender.schedule_messages(message("x", message_id="m"), due)
    peeked = (await browse(receiver))[0]
    same((peeked.state, peeked.sequence_number, peeked.scheduled_enqueue_time_utc),
         (ServiceBusMessageState.SCHEDULED, numbers[0], due), "peeked")
    got = await one(receiver)
    true(datetime.now(timezone.utc) >= due, "the message came early")
    same((got.message_id, got.scheduled_enqueue_time_utc, got.state), ("m", due, ServiceBusMessageState.ACTIVE), "received")
    true(got.enqueued_time_utc >= due, f"enqueued at {got.enqueued_time_utc}, due at {due}")
    await receiver.complete_message(got)


@case
async def many(t):
    queue = t.queue()
    sender, due = await t.sender(queue), later(3)
    numbers = await sender.schedule_messages([message(f"{i}") for i in range(30)], due)
    same((len(numbers), sorted(set(numbers))), (30, numbers), "numbers")
    same(bodies(await t.drain(queue, 30)), [f"{i}" for i in range(30)], "bodies")


@case
async def order_of_time(t):
    queue = t.queue()
    sender, start = await t.sender(queue), later(5)
    for name, seconds in (("third", 2), ("first", 0), ("second", 1)):
        await sender.schedule_messages(message(name), start + timedelta(seconds=seconds))
    await sender.send_messages(message("now"))
    same(bodies(await t.drain(queue, 4)), ["now", "first", "second", "third"], "bodies")


@case
async def activation_gives_a_new_number(t):
    queue = t.queue()
    sender = await t.sender(queue)
    number = (await sender.schedule_messages(message("scheduled"), later(3)))[0]
    await sender.send_messages(message("plain"))
    plain, scheduled = await t.drain(queue, 2)
    same(bodies([plain, scheduled]), ["plain", "scheduled"], "bodies")
    true(scheduled.sequence_number > plain.sequence_number > number, "the number is that of the schedule")


@case
async def cancel_one(t):
    queue = t.queue()
    sender = await t.sender(queue)
    numbers = await sender.schedule_messages([message(f"{i}") for i in range(3)], later(4))
    await sender.cancel_scheduled_messages(numbers[1])
    same(bodies(await t.drain(queue, 2)), ["0", "2"], "bodies")


@case
async def cancel_many(t):
    queue = t.queue()
    sender, receiver = await t.sender(queue), await t.receiver(queue)
    numbers = await sender.schedule_messages([message(f"{i}") for i in range(40)], later())
    await sender.cancel_scheduled_messages(numbers[:39])
    same(bodies(await browse(receiver, 50)), ["39"], "peeked")
    await sender.cancel_scheduled_messages([])


@case
async def cancel_unknown(t):
    queue = t.queue()
    sender = await t.sender(queue)
    await refused(MessageNotFoundError, sender.cancel_scheduled_messages(4711))
    number = await sender.schedule_messages(message(), later())
    await sender.cancel_scheduled_messages(number)
    await refused(MessageNotFoundError, sender.cancel_scheduled_messages(number))


@case
async def cancel_after_activation(t):
    queue = t.queue()
    sender = await t.sender(queue)
    number = await sender.schedule_messages(message("x"), later(2))
    got = await one(await t.receiver(queue))
    same(str(got), "x", "body")
    await refused(MessageNotFoundError, sender.cancel_scheduled_messages(number))


@case
async def property_of_a_message(t):
    queue = t.queue()
    due = later(3)
    await t.send(queue, message("scheduled", scheduled_enqueue_time_utc=due), message("plain"))
    got = await t.drain(queue, 2)
    same([(str(m), m.scheduled_enqueue_time_utc) for m in got], [("plain", None), ("scheduled", due)], "messages")


@case
async def property_in_a_batch(t):
    queue = t.queue()
    await t.send(queue, [message("scheduled", scheduled_enqueue_time_utc=later(3)), message("plain")])
    same(bodies(await t.drain(queue, 2)), ["plain", "scheduled"], "bodies")


@case
async def time_in_the_past(t):
    queue = t.queue()
    sender = await t.sender(queue)
    await sender.schedule_messages(message("x"), later(-60))
    same(bodies(await t.drain(queue, 1)), ["x"], "bodies")


@case
async def far_future(t):
    queue = t.queue()
    sender, receiver = await t.sender(queue), await t.receiver(queue)
    due = later(400 * 86400)
    number = await sender.schedule_messages(message("x"), due)
    same((await browse(receiver))[0].scheduled_enqueue_time_utc, due, "time")
    await sender.cancel_scheduled_messages(number)


@case
async def in_sessions(t):
    queue = t.queue(requires_session=True)
    sender = await t.sender(queue)
    kept, gone = await sender.schedule_messages(
        [message("a", session_id="s"), message("b", session_id="s")], later(3))
    await sender.cancel_scheduled_messages(gone)
    receiver = await t.receiver(queue, session_id="s")
    got = await one(receiver)
    same((str(got), got.session_id), ("a", "s"), "message")
    await receiver.complete_message(got)
    await nothing(receiver)


@case
async def deferred_after_activation(t):
    queue = t.queue()
    sender, receiver = await t.sender(queue), await t.receiver(queue)
    await sender.schedule_messages(message("x"), later(2))
    got = await one(receiver)
    await receiver.defer_message(got)
    back = (await receiver.receive_deferred_messages(got.sequence_number))[0]
    await receiver.complete_message(back)

    async def empty():
        return not await browse(receiver)

    await eventually("the queue is empty", empty)
    await take(receiver, 0)
