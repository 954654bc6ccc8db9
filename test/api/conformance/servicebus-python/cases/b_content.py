"""What a message holds comes back as it was sent."""

import uuid
from datetime import datetime, timezone

from azure.servicebus.amqp import (
    AmqpAnnotatedMessage, AmqpMessageBodyType, AmqpMessageHeader, AmqpMessageProperties,
)

from case import case, message, one, same


async def returned(t, sent):
    queue = t.queue()
    await t.send(queue, sent)
    return (await t.drain(queue, 1, wait=0.2))[0]


@case
async def text(t):
    same(str(await returned(t, message("Grüße, 世界 🎉\x00\x1f"))), "Grüße, 世界 🎉\x00\x1f", "body")


@case
async def every_byte(t):
    data = bytes(range(256)) * 3
    same(b"".join((await returned(t, message(data))).body), data, "body")


@case
async def empty_body(t):
    same(b"".join((await returned(t, message(b""))).body), b"", "body")


@case
async def several_data_sections(t):
    got = await returned(t, AmqpAnnotatedMessage(data_body=[b"one", b"", b"two"]))
    same(list(got.body), [b"one", b"", b"two"], "body")
    same(got.body_type, AmqpMessageBodyType.DATA, "type of the body")


@case
async def sequences(t):
    got = await returned(t, AmqpAnnotatedMessage(sequence_body=[[1, "a", None], [b"b", True]]))
    same((got.body_type, list(got.body)), (AmqpMessageBodyType.SEQUENCE, [[1, b"a", None], [b"b", True]]), "body")


def add_values():
    values = {
        "text": ("a", b"a"), "bytes": (b"\xff\x00", b"\xff\x00"), "integer": (-7, -7), "true": (True, True),
        "double": (1.5, 1.5), "list": ([1, ["a"]], [1, [b"a"]]), "map": ({"k": {"x": 1}}, {b"k": {b"x": 1}}),
        "uuid": (uuid.UUID(int=5), uuid.UUID(int=5)),
    }
    for name, (value, want) in values.items():
        async def check(t, value=value, want=want):
            got = await returned(t, AmqpAnnotatedMessage(value_body=value))
            same((got.body_type, got.body), (AmqpMessageBodyType.VALUE, want), "body")

        check.__name__ = f"value_of_type_{name}"
        case(check)


add_values()


# An application property of each type that the SDK sends, and how the SDK returns it. It sends decimals, but
# cannot read its own.
PROPERTIES = {
    "text": ("é", "é".encode()), "empty": ("", b""), "true": (True, True),
    "false": (False, False), "null": (None, None), "int": (2**31 - 1, 2**31 - 1), "negative": (-2**31, -2**31),
    "double": (0.1, 0.1), "uuid": (uuid.UUID(int=2**127), uuid.UUID(int=2**127)),
    "time": (datetime(2026, 1, 2, tzinfo=timezone.utc), 1767312000000),
}
# Types that the SDK sends only if they are named.
TYPED = {
    "ubyte": ("UBYTE", 255), "byte": ("BYTE", -128), "ushort": ("USHORT", 65535), "short": ("SHORT", -32768),
    "uint": ("UINT", 2**32 - 1), "ulong": ("ULONG", 2**64 - 1), "long": ("LONG", -(2**63)),
    "float": ("FLOAT", 0.5), "symbol": ("SYMBOL", b"s"), "binary": ("BINARY", b"\x00\xff"),
}


@case
async def application_properties(t):
    sent = {name: value for name, (value, _) in PROPERTIES.items()}
    got = await returned(t, message("", application_properties=sent))
    same(got.application_properties, {n.encode(): want for n, (_, want) in PROPERTIES.items()}, "properties")


@case
async def typed_application_properties(t):
    sent = {name: {"TYPE": kind, "VALUE": value} for name, (kind, value) in TYPED.items()}
    got = await returned(t, AmqpAnnotatedMessage(data_body=b"", application_properties=sent))
    same(got.application_properties, {n.encode(): value for n, (_, value) in TYPED.items()}, "properties")


@case
async def many_application_properties(t):
    sent = {f"name.{i} é": "x" * 50 for i in range(300)}
    got = await returned(t, message("", application_properties=sent))
    same(len(got.application_properties), 300, "properties")
    same(got.application_properties["name.7 é".encode()], b"x" * 50, "property")


@case
async def annotations_header_and_footer(t):
    sent = AmqpAnnotatedMessage(
        data_body=b"x", annotations={"x-mine": 1, "x-opt-partition-key": "g"}, delivery_annotations={"x-way": "w"},
        header=AmqpMessageHeader(durable=True, priority=7, time_to_live=600_000), footer={"x-end": "f"},
        properties=AmqpMessageProperties(
            message_id="m", user_id=b"user", to=b"to", subject=b"s", reply_to=b"r", correlation_id=b"c",
            content_type=b"ct", content_encoding=b"ce", group_id=b"g", group_sequence=3, reply_to_group_id=b"rg",
        ),
    )
    queue = t.queue()
    await t.send(queue, sent)
    got = (await one(await t.receiver(queue))).raw_amqp_message
    same(got.annotations[b"x-mine"], 1, "annotation")
    same(got.annotations[b"x-opt-partition-key"], b"g", "partition key")
    same((got.header.durable, got.header.priority, got.header.time_to_live), (True, 7, 600_000), "header")
    same(got.footer, {b"x-end": b"f"}, "footer")
    for name in ("user_id", "to", "subject", "reply_to", "correlation_id", "content_type", "content_encoding",
                 "group_id", "group_sequence", "reply_to_group_id"):
        same(getattr(got.properties, name), getattr(sent.properties, name), name)


@case
async def ids_of_every_type(t):
    queue = t.queue(requires_duplicate_detection=True)
    ids = [7, uuid.UUID(int=7), b"\x00\x07", "seven"]
    twice = [i for i in ids for _ in range(2)]
    await t.send(queue, *[
        AmqpAnnotatedMessage(data_body=b"", properties=AmqpMessageProperties(message_id=i, correlation_id=i))
        for i in twice
    ])
    got = [m.raw_amqp_message.properties for m in await t.drain(queue, 4)]
    want = [7, uuid.UUID(int=7), b"\x00\x07", b"seven"]
    same([p.message_id for p in got], want, "message ids")
    same([p.correlation_id for p in got], want, "correlation ids")
