import asyncio
from datetime import timedelta

from case import DEAD_LETTER, bodies, browse, case, eventually, message, nothing, one, same, take
from cases.d_schedules import later

SOON = timedelta(seconds=2)


async def count_is(receiver, count):
    return len(await browse(receiver)) == count


@case
async def properties_of_a_time_to_live(t):
    queue = t.queue()
    await t.send(queue, message("x", time_to_live=timedelta(minutes=5)), message("y"))
    limited, unlimited = await t.drain(queue, 2)
    same((limited.time_to_live, limited.expires_at_utc - limited.enqueued_time_utc), (timedelta(minutes=5),) * 2, "time to live")
    same((unlimited.time_to_live, unlimited.expires_at_utc), (None, None), "time to live of the other")
    raw = limited.raw_amqp_message.properties
    same(raw.absolute_expiry_time - raw.creation_time, 300_000, "expiry in the properties")


@case
async def expired(t):
    queue = t.queue()
    await t.send(queue, message("expires", time_to_live=SOON), message("stays"))
    receiver = await t.receiver(queue)
    await eventually("the message expires", lambda: count_is(receiver, 1))
    same(bodies(await t.drain(queue, 1)), ["stays"], "bodies")
    same(await browse(await t.receiver(queue, sub_queue=DEAD_LETTER)), [], "dead letters")


@case
async def expired_and_dead_lettered(t):
    queue = t.queue(dead_lettering_on_message_expiration=True)
    await t.send(queue, message("x", time_to_live=SOON))
    dead = await one(await t.receiver(queue, sub_queue=DEAD_LETTER))
    same((str(dead), dead.dead_letter_reason), ("x", "TTLExpiredException"), "dead letter")
    await nothing(await t.receiver(queue))


@case
async def time_to_live_of_the_queue(t):
    queue = t.queue(default_message_time_to_live=SOON, dead_lettering_on_message_expiration=True)
    await t.send(queue, message("1"), message("2", time_to_live=timedelta(hours=1)))
    dead = await take(await t.receiver(queue, sub_queue=DEAD_LETTER), 2)
    same(bodies(dead), ["1", "2"], "bodies")  # the shorter one counts


@case
async def the_shorter_time_counts(t):
    queue = t.queue(default_message_time_to_live=timedelta(hours=1))
    await t.send(queue, message("x", time_to_live=SOON))
    receiver = await t.receiver(queue)
    await eventually("the message expires", lambda: count_is(receiver, 0))


@case
async def dead_letters_do_not_expire(t):
    queue = t.queue()
    await t.send(queue, message("x", time_to_live=timedelta(seconds=4)))
    receiver = await t.receiver(queue)
    await receiver.dead_letter_message(await one(receiver))
    await asyncio.sleep(6)
    same(str(await one(await t.receiver(queue, sub_queue=DEAD_LETTER))), "x", "body")


@case
async def deferred_messages_do_not_expire(t):
    queue = t.queue(dead_lettering_on_message_expiration=True)
    await t.send(queue, message("x", time_to_live=timedelta(seconds=4)))
    receiver = await t.receiver(queue)
    got = await one(receiver)
    await receiver.defer_message(got)
    await asyncio.sleep(6)
    back = (await receiver.receive_deferred_messages(got.sequence_number))[0]
    await receiver.complete_message(back)
    same(str(back), "x", "body")


@case
async def locked_messages_are_completed_after_their_time(t):
    queue = t.queue(dead_lettering_on_message_expiration=True)
    await t.send(queue, message("x", time_to_live=SOON))
    receiver = await t.receiver(queue)
    got = await one(receiver)
    await asyncio.sleep(4)
    await receiver.complete_message(got)
    await nothing(await t.receiver(queue, sub_queue=DEAD_LETTER))


@case
async def time_of_a_scheduled_message(t):
    queue = t.queue()
    sender = await t.sender(queue)
    await sender.schedule_messages(message("x", time_to_live=timedelta(seconds=30)), later(3))
    same(bodies(await t.drain(queue, 1)), ["x"], "bodies")


@case
async def expired_in_a_session(t):
    queue = t.queue(requires_session=True, dead_lettering_on_message_expiration=True)
    await t.send(queue, message("x", session_id="s", time_to_live=SOON), message("y", session_id="s"))
    dead = await one(await t.receiver(queue, sub_queue=DEAD_LETTER))
    same((str(dead), dead.session_id, dead.dead_letter_reason), ("x", "s", "TTLExpiredException"), "dead letter")
    receiver = await t.receiver(queue, session_id="s")
    same(str(await one(receiver)), "y", "body")
