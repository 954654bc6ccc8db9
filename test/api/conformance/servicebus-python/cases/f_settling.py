import asyncio
from datetime import datetime, timedelta, timezone

from azure.servicebus import ServiceBusMessageState, ServiceBusReceiveMode
from azure.servicebus.exceptions import MessageAlreadySettled, MessageLockLostError, MessageNotFoundError, ServiceBusError

from case import DEAD_LETTER, bodies, browse, case, eventually, message, nothing, one, refused, same, take, true


async def with_message(t, body="x", **properties):
    """Creates a queue with a message, and returns the queue, a receiver and the received message."""
    queue = t.queue(**properties)
    await t.send(queue, message(body, application_properties={"kept": 1}))
    receiver = await t.receiver(queue)
    return queue, receiver, await one(receiver)


@case
async def complete(t):
    queue, receiver, got = await with_message(t)
    await receiver.complete_message(got)
    same(await browse(receiver), [], "peeked")
    await refused(MessageAlreadySettled, receiver.complete_message(got))
    await refused(MessageAlreadySettled, receiver.abandon_message(got))


@case
async def complete_out_of_order(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(10)])
    receiver = await t.receiver(queue)
    got = await take(receiver, 10)
    for m in reversed(got[::2]):
        await receiver.complete_message(m)
    same(bodies(await browse(receiver, 20)), ["1", "3", "5", "7", "9"], "peeked")


@case
async def abandon(t):
    queue, receiver, got = await with_message(t)
    for count in range(1, 4):
        await receiver.abandon_message(got)
        got = await one(receiver)
        same((str(got), got.delivery_count), ("x", count), "message")
    await receiver.complete_message(got)


@case
async def abandoned_messages_come_first(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(3)])
    receiver = await t.receiver(queue)
    await receiver.abandon_message(await one(receiver))
    same(bodies(await take(receiver, 3)), ["0", "1", "2"], "bodies")


@case
async def too_many_deliveries(t):
    queue, receiver, got = await with_message(t, max_delivery_count=3)
    for count in range(3):
        same(got.delivery_count, count, "delivery count")
        await receiver.abandon_message(got)
        if count < 2:
            got = await one(receiver)
    await nothing(receiver)
    dead = await one(await t.receiver(queue, sub_queue=DEAD_LETTER))
    same(dead.dead_letter_reason, "MaxDeliveryCountExceeded", "reason")
    true(dead.dead_letter_error_description, "no description")
    same((str(dead), dead.message_id, dead.application_properties[b"kept"]), ("x", got.message_id, 1), "message")


@case
async def too_many_expired_locks(t):
    queue = t.queue(lock_duration=timedelta(seconds=1), max_delivery_count=1)
    await t.send(queue, message("x"))
    receiver = await t.receiver(queue)
    await one(receiver)
    dead_letters = await t.receiver(queue, sub_queue=DEAD_LETTER)

    async def expired():
        await receiver.receive_messages(1, max_wait_time=1)
        return await dead_letters.receive_messages(1, max_wait_time=1)

    dead = (await eventually("the message is dead-lettered", expired))[0]
    same(dead.dead_letter_reason, "MaxDeliveryCountExceeded", "reason")


@case
async def dead_letter(t):
    queue, receiver, got = await with_message(t)
    await receiver.dead_letter_message(got, reason="r é", error_description="d")
    await nothing(receiver)
    dead_letters = await t.receiver(queue, sub_queue=DEAD_LETTER)
    dead = await one(dead_letters)
    same((dead.dead_letter_reason, dead.dead_letter_error_description), ("r é", "d"), "reason")
    same(dead.application_properties,
         {b"kept": 1, b"DeadLetterReason": "r é".encode(), b"DeadLetterErrorDescription": b"d"}, "properties")
    same((str(dead), dead.message_id), ("x", got.message_id), "message")
    await dead_letters.complete_message(dead)
    same(await browse(dead_letters), [], "peeked")


@case
async def dead_letter_without_a_reason(t):
    queue, receiver, got = await with_message(t)
    await receiver.dead_letter_message(got)
    dead = await one(await t.receiver(queue, sub_queue=DEAD_LETTER))
    true(not dead.dead_letter_reason and not dead.dead_letter_error_description, "there is a reason")
    same(str(dead), "x", "body")


@case
async def dead_letter_queue(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(5)])
    receiver = await t.receiver(queue)
    for m in await take(receiver, 5):
        await receiver.dead_letter_message(m, reason=str(m))
    dead_letters = await t.receiver(queue, sub_queue=DEAD_LETTER)
    same([(str(m), m.dead_letter_reason) for m in await browse(dead_letters)],
         [(f"{i}", f"{i}") for i in range(5)], "peeked")
    got = await take(dead_letters, 5)
    await dead_letters.abandon_message(got[0])
    await dead_letters.defer_message(got[1])
    await dead_letters.renew_message_lock(got[2])
    await dead_letters.complete_message(got[2])
    back = (await dead_letters.receive_deferred_messages([got[1].sequence_number]))[0]
    same((str(back), back.dead_letter_reason), ("1", "1"), "deferred message")
    await dead_letters.complete_message(back)
    again = await one(dead_letters)
    same((str(again), again.delivery_count), ("0", got[0].delivery_count + 1), "abandoned message")


@case
async def dead_letters_never_die_again(t):
    queue, receiver, got = await with_message(t, max_delivery_count=2)
    await receiver.dead_letter_message(got)
    dead_letters = await t.receiver(queue, sub_queue=DEAD_LETTER)
    for _ in range(5):
        await dead_letters.abandon_message(await one(dead_letters))
    same(bodies([await one(dead_letters)]), ["x"], "bodies")


@case
async def receive_and_delete_dead_letters(t):
    queue, receiver, got = await with_message(t)
    await receiver.dead_letter_message(got)
    dead_letters = await t.receiver(queue, sub_queue=DEAD_LETTER, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)
    same(str(await one(dead_letters)), "x", "body")
    same(await browse(dead_letters), [], "peeked")


@case
async def dead_letters_are_sent_again(t):
    queue, receiver, got = await with_message(t)
    await receiver.dead_letter_message(got, reason="r")
    dead_letters = await t.receiver(queue, sub_queue=DEAD_LETTER)
    dead = await one(dead_letters)
    await t.send(queue, dead)
    await dead_letters.complete_message(dead)
    same(str(await one(receiver)), "x", "body")


@case
async def defer(t):
    queue, receiver, got = await with_message(t)
    await receiver.defer_message(got)
    await nothing(receiver)
    back = (await receiver.receive_deferred_messages(got.sequence_number))[0]
    same((str(back), back.sequence_number, back.state, back.delivery_count),
         ("x", got.sequence_number, ServiceBusMessageState.DEFERRED, 1), "message")
    true(back.lock_token and back.locked_until_utc > datetime.now(timezone.utc), "the message has no lock")
    await receiver.complete_message(back)
    same(await browse(receiver), [], "peeked")


@case
async def deferred_messages_are_settled(t):
    queue = t.queue()
    await t.send(queue, [message(f"{i}") for i in range(4)])
    receiver = await t.receiver(queue)
    got = await take(receiver, 4)
    for m in got:
        await receiver.defer_message(m)
    numbers = [m.sequence_number for m in got]
    back = await receiver.receive_deferred_messages(numbers)
    same(bodies(back), ["0", "1", "2", "3"], "bodies")
    await receiver.complete_message(back[0])
    await receiver.abandon_message(back[1])
    await receiver.defer_message(back[2])
    await receiver.dead_letter_message(back[3], reason="r", error_description="d")
    dead = await one(await t.receiver(queue, sub_queue=DEAD_LETTER))
    same((str(dead), dead.dead_letter_reason, dead.dead_letter_error_description), ("3", "r", "d"), "dead letter")
    again = await receiver.receive_deferred_messages(numbers[1:3])
    same(bodies(again), ["1", "2"], "bodies")
    await nothing(receiver)


@case
async def deferred_messages_are_deleted(t):
    queue, receiver, got = await with_message(t)
    await receiver.defer_message(got)
    deletes = await t.receiver(queue, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)
    same(bodies(await deletes.receive_deferred_messages([got.sequence_number])), ["x"], "bodies")
    same(await browse(receiver), [], "peeked")


@case
async def unknown_deferred_messages(t):
    queue, receiver, got = await with_message(t)
    await refused(MessageNotFoundError, receiver.receive_deferred_messages(4711))
    await refused(MessageNotFoundError, receiver.receive_deferred_messages(got.sequence_number))
    same(await receiver.receive_deferred_messages([]), [], "messages of no number")
    await receiver.defer_message(got)
    await receiver.receive_deferred_messages(got.sequence_number)
    await refused(MessageNotFoundError, receiver.receive_deferred_messages(got.sequence_number))


@case
async def deferred_locks_end(t):
    queue, receiver, got = await with_message(t, lock_duration=timedelta(seconds=1))
    await receiver.defer_message(got)
    await receiver.receive_deferred_messages(got.sequence_number)

    async def free():
        try:
            return await receiver.receive_deferred_messages(got.sequence_number)
        except MessageNotFoundError:
            return None

    back = (await eventually("the deferred message is free", free))[0]
    await receiver.complete_message(back)


@case
async def renew_a_lock(t):
    queue, receiver, got = await with_message(t, lock_duration=timedelta(seconds=5))
    until = got.locked_until_utc
    for _ in range(3):
        await asyncio.sleep(2.5)
        renewed = await receiver.renew_message_lock(got)
        true(renewed == got.locked_until_utc > until, f"locked until {renewed}, before until {until}")
        until = renewed
    await receiver.complete_message(got)
    same(await browse(receiver), [], "peeked")


@case
async def renew_the_lock_of_a_deferred_message(t):
    queue, receiver, got = await with_message(t)
    await receiver.defer_message(got)
    back = (await receiver.receive_deferred_messages(got.sequence_number))[0]
    until = back.locked_until_utc
    true(await receiver.renew_message_lock(back) >= until, "the lock is shorter")
    await receiver.complete_message(back)


@case(warns=True)
async def lost_locks(t):
    queue, receiver, got = await with_message(t, lock_duration=timedelta(seconds=1))
    again = await one(await t.receiver(queue))
    same(again.delivery_count, 1, "delivery count")
    await refused(MessageLockLostError, receiver.renew_message_lock(got))
    got._expiry = datetime.now(timezone.utc) + timedelta(hours=1)  # else the SDK does not ask the server
    await refused(MessageLockLostError, receiver.complete_message(got))
    same((await browse(receiver))[0].sequence_number, got.sequence_number, "peeked")


@case(warns=True)
async def lost_locks_of_deferred_messages(t):
    queue, receiver, got = await with_message(t)
    await receiver.defer_message(got)
    back = (await receiver.receive_deferred_messages(got.sequence_number))[0]
    deletes = await t.receiver(queue)
    await receiver.abandon_message(back)
    await deletes.complete_message((await deletes.receive_deferred_messages(got.sequence_number))[0])
    back._settled = False  # else the SDK does not ask the server
    await refused(MessageLockLostError, receiver.complete_message(back))


@case
async def automatic_renewal(t):
    queue = t.queue(lock_duration=timedelta(seconds=5))  # the SDK looks at a lock each second
    await t.send(queue, message("x"), message("y"))
    renewer = await t.renewer()
    registers = await t.receiver(queue, auto_lock_renewer=renewer)
    receiver = await t.receiver(queue)
    first = await one(registers)
    second = await one(receiver)
    renewer.register(receiver, second, max_lock_renewal_duration=60)
    await nothing(await t.receiver(queue), 12)
    same((first.auto_renew_error, second.auto_renew_error), (None, None), "errors")
    await registers.complete_message(first)
    await receiver.complete_message(second)


@case(warns=True)
async def automatic_renewal_ends(t):
    queue, receiver, got = await with_message(t, lock_duration=timedelta(seconds=2))
    failures = []
    if t.api == "sync":
        def failed(renewable, error):
            failures.append(error)
    else:
        async def failed(renewable, error):
            failures.append(error)
    renewer = await t.renewer()
    renewer.register(receiver, got, max_lock_renewal_duration=1, on_lock_renew_failure=failed)
    again = await one(await t.receiver(queue))
    same(again.delivery_count, 1, "delivery count")

    async def reported():
        return got.auto_renew_error

    await eventually("the renewer reports its end", reported)
    await refused(MessageLockLostError, receiver.complete_message(got))


@case
async def nothing_is_sent_to_dead_letters(t):
    queue = t.queue()
    client = await t.default()
    await refused(ServiceBusError, enter(client.get_queue_sender(queue + "/$DeadLetterQueue")), "amqp:not-allowed")


async def enter(handler):
    async with handler:
        return handler
