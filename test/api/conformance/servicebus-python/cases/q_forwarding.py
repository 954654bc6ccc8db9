"""Forwarding of messages and of dead letters."""

from azure.core.exceptions import HttpResponseError
from azure.servicebus import ServiceBusSubQueue
from azure.servicebus.exceptions import ServiceBusError
from azure.servicebus.management import EntityStatus

from cases.j_administration import once, rejected
from case import DEAD_LETTER, ENDPOINTS, administration, browse, case, eventually, message, one, refused, same, true

TRANSFER = ServiceBusSubQueue.TRANSFER_DEAD_LETTER


@case
async def messages(t):
    target = t.queue()
    source = t.queue(forward_to=target)
    await t.send(source, message("x", message_id="1", application_properties={"kept": 1}))
    got = (await t.drain(target, 1))[0]
    same((str(got), got.message_id, got.application_properties), ("x", "1", {b"kept": 1}), "message")
    await refused(ServiceBusError, t.receiver(source), text="auto-forwarding")


@case
async def four_hops(t):
    path = last = t.queue()
    for _ in range(5):
        path = t.queue(forward_to=path)
    await t.send(path, message("x"))
    with administration(t.number) as client:
        stopped = client.get_queue(path)
        for _ in range(4):
            stopped = client.get_queue(stopped.forward_to.split("/", 3)[3])
    receiver = await t.receiver(stopped.name, sub_queue=DEAD_LETTER)
    same((await one(receiver)).dead_letter_reason, "MaxTransferHopCountExceeded", "reason")
    same(await browse(await t.receiver(last)), [], "peeked")


@case(warns=True)  # about times that the client sends back
async def transfer_dead_letters(t):
    target = t.queue()
    source = t.queue(forward_to=target)
    with administration(t.number) as client:
        queue = client.get_queue(target)
        queue.status = EntityStatus.SEND_DISABLED
        client.update_queue(queue)
        await t.send(source, message("x"), message("y"))
        counts = client.get_queue_runtime_properties(source)
        same((counts.transfer_dead_letter_message_count, counts.total_message_count, counts.active_message_count), (2, 2, 0), "counts")
    receiver = await t.receiver(source, sub_queue=TRANSFER)
    same([str(m) for m in await browse(receiver)], ["x", "y"], "peeked")
    got = await one(receiver)
    same((str(got), got.dead_letter_reason, got.dead_letter_source), ("x", "MessagingEntityDisabledException", source), "message")
    await receiver.complete_message(got)
    with administration(t.number) as client:
        client.delete_queue(source)
        client.create_queue(source, forward_to=target)
        same(client.get_queue_runtime_properties(source).transfer_dead_letter_message_count, 0, "transfer dead letters")


@case
async def dead_letters(t):
    target = t.queue()
    source = t.queue(forward_dead_lettered_messages_to=target)
    await t.send(source, message("x"))
    receiver = await t.receiver(source)
    await receiver.dead_letter_message(await one(receiver), reason="bad", error_description="very bad")
    got = (await t.drain(target, 1))[0]
    same((str(got), got.dead_letter_reason, got.dead_letter_error_description), ("x", "bad", "very bad"), "message")


@case
async def subscription_to_queue(t):
    target, topic = t.queue(), t.path()
    with administration(t.number) as client:
        client.create_topic(topic)
        client.create_subscription(topic, "all", forward_to=target, forward_dead_lettered_messages_to=target)
        got = client.get_subscription(topic, "all")
        same({got.forward_to.rpartition("/")[2], got.forward_dead_lettered_messages_to.rpartition("/")[2]},
             {target.rpartition("/")[2]}, "targets")
        await t.send(topic, message("x"))
        await t.drain(target, 1)
        client.delete_topic(topic)


@case
async def queue_to_topic(t):
    topic = t.path()
    with administration(t.number) as client:
        client.create_topic(topic)
        client.create_subscription(topic, "all")
        source = t.queue(forward_to=f"sb://{ENDPOINTS[0]}/{topic}")
        await t.send(source, message("x"))

        async def counted():
            return client.get_subscription_runtime_properties(topic, "all").active_message_count == 1

        await eventually("the message is in the subscription", counted)
        client.delete_topic(topic)


@case(apis=once, warns=True)  # about times that the client sends back
async def targets(t):
    target = t.queue()
    with administration(t.number) as client:
        path = t.queue(forward_to=target)
        queue = client.get_queue(path)
        true(queue.forward_to.startswith("sb://") and queue.forward_to.endswith("/" + target), f"the target is {queue.forward_to}")
        client.update_queue(queue)
        same(client.get_queue(path).forward_to, queue.forward_to, "target")
        rejected(HttpResponseError, client.update_queue, client.get_queue(target), text="would come back", forward_to=path)
        queue.forward_to = None
        client.update_queue(queue)
        same(client.get_queue(path).forward_to, None, "target")
        missing = t.path()
        for name in ("forward_to", "forward_dead_lettered_messages_to"):
            rejected(HttpResponseError, client.create_queue, t.path(), text="SubCode=40400", **{name: missing})
    await t.send(path, message("x"))
    await t.drain(path, 1)
