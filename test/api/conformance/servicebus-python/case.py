"""Cases and what they use: queues of their own, clients, and comparisons."""

import asyncio
import contextlib
import contextvars
import itertools
import logging
import os
import time
import uuid
from urllib.parse import urlsplit

from azure.core.pipeline.transport import RequestsTransport
from azure.servicebus import ServiceBusMessage, ServiceBusSubQueue, TransportType, aio
from azure.servicebus.management import ServiceBusAdministrationClient

import blocking

RUN = uuid.uuid4().hex[:8]
ENDPOINTS = [urlsplit(e).netloc for e in os.environ["SERIATIM_ENDPOINTS"].split()]
KEY, SECRET = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
# The certificate of the nodes. With it, clients use TLS, and the nodes demand tokens.
CERTIFICATE = os.environ.get("CONFORMANCE_TLS")
DEAD_LETTER = ServiceBusSubQueue.DEAD_LETTER
# The longest wait for an event that must come.
PATIENCE = 60

CASES = []
current = contextvars.ContextVar("current", default=None)


def case(function=None, *, warns=False, secure=False, apis=("sync", "aio")):
    """Registers a case. Without warns, a warning of the SDK fails it. A secure case needs tokens."""
    if function is None:
        return lambda f: case(f, warns=warns, secure=secure, apis=apis)
    function.warns, function.secure, function.apis = warns, secure, apis
    CASES.append(function)
    return function


class Warnings(logging.Handler):
    """Keeps the warnings of the SDK with the case that they belong to."""

    def emit(self, record):
        if (running := current.get()) is not None:
            running.warnings.append(f"{record.name}: {record.getMessage()}")


def same(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def true(condition, what):
    if not condition:
        raise AssertionError(what)


async def refused(error, awaitable, text=""):
    """Checks that a call fails with a class of error, and returns the error."""
    try:
        result = await awaitable
    except error as e:
        if type(e) is not error or text not in str(e):
            raise AssertionError(f"got {e!r}, want {error.__name__} with {text!r}") from e
        return e
    raise AssertionError(f"returned {result!r}, want {error.__name__}")


async def eventually(what, check):
    """Waits until check returns something true, and returns it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if result := await check():
            return result
        await asyncio.sleep(0.1)
    raise AssertionError(f"never: {what}")


class PlainTransport(RequestsTransport):
    """Sends requests without TLS: the administration client always asks for HTTPS."""

    def send(self, request, **options):
        request.url = request.url.replace("https://", "http://", 1)
        return super().send(request, **options)


def connection(node=0, key=KEY, secret=SECRET, more="", endpoint=""):
    """Returns a connection string."""
    text = f"Endpoint=sb://{endpoint or ENDPOINTS[node % len(ENDPOINTS)]};SharedAccessKeyName={key};SharedAccessKey={secret};{more}"
    return text if CERTIFICATE else text + "UseDevelopmentEmulator=true;"


def transport(endpoint):
    """Returns the options of a client for a port other than 5671."""
    if not CERTIFICATE:
        return {}
    return {
        "custom_endpoint_address": f"sb://{endpoint}",
        "transport_type": TransportType.Amqp,
        "connection_verify": CERTIFICATE,
    }


def administration(node=0, key=KEY, secret=SECRET):
    options = {"connection_verify": CERTIFICATE} if CERTIFICATE else {"transport": PlainTransport()}
    return ServiceBusAdministrationClient.from_connection_string(connection(node, key, secret), **options)


ids = itertools.count()


def message(body="", **properties):
    """Returns a message with an id of its own."""
    properties.setdefault("message_id", f"id-{next(ids)}")
    return ServiceBusMessage(body, **properties)


class Case:
    """The surroundings of one case. All that it opens is closed at the end."""

    def __init__(self, number, function, api):
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self.api, self.number = api, number
        self.warnings = []
        self.stack = contextlib.AsyncExitStack()
        self.shared = None

    def path(self):
        return f"{self.api}/{self.name}.{RUN}.{next(ids)}"

    def queue(self, path=None, **properties):
        """Creates a queue."""
        path = path or self.path()
        with administration(self.number) as client:
            client.create_queue(path, **properties)
        return path

    def topic(self, *subscriptions, options=None, **properties):
        """Creates a topic with subscriptions, which have the same options."""
        path = self.path()
        with administration(self.number) as client:
            client.create_topic(path, **properties)
            for name in subscriptions:
                client.create_subscription(path, name, **(options or {}))
        return path

    async def client(self, text=None, endpoint=None, **options):
        """Opens a client of the next node. It does not repeat calls, so that no failure is hidden."""
        endpoint = endpoint or ENDPOINTS[self.number % len(ENDPOINTS)]
        options = {"retry_total": 0, "logging_enable": False, **transport(endpoint), **options}
        make = blocking.client if self.api == "sync" else aio.ServiceBusClient.from_connection_string
        return await self.stack.enter_async_context(make(text or connection(endpoint=endpoint), **options))

    async def default(self):
        if self.shared is None:
            self.shared = await self.client()
        return self.shared

    async def sender(self, queue, **options):
        client = await self.default()
        return await self.stack.enter_async_context(client.get_queue_sender(queue, **options))

    async def receiver(self, queue, **options):
        client = await self.default()
        return await self.stack.enter_async_context(client.get_queue_receiver(queue, **options))

    async def publisher(self, topic, **options):
        client = await self.default()
        return await self.stack.enter_async_context(client.get_topic_sender(topic, **options))

    async def subscriber(self, topic, name, **options):
        client = await self.default()
        return await self.stack.enter_async_context(client.get_subscription_receiver(topic, name, **options))

    async def renewer(self, **options):
        make = blocking.renewer if self.api == "sync" else aio.AutoLockRenewer
        return await self.stack.enter_async_context(make(**options))

    async def send(self, queue, *messages):
        """Sends messages one by one."""
        client = await self.default()
        async with client.get_queue_sender(queue) as sender:
            for one in messages:
                await sender.send_messages(one)

    async def publish(self, topic, *messages):
        """Publishes messages one by one."""
        client = await self.default()
        async with client.get_topic_sender(topic) as sender:
            for one in messages:
                await sender.send_messages(one)

    async def collect(self, topic, name, count, wait=1, **options):
        """Receives and completes messages of a subscription, checks that no other comes, and returns them."""
        receiver = await self.subscriber(topic, name, **options)
        got = await take(receiver, count)
        for one in got:
            await receiver.complete_message(one)
        await nothing(receiver, wait)
        return got

    async def drain(self, queue, count, wait=1, **options):
        """Receives and completes messages, checks that no other comes, and returns them."""
        client = await self.default()
        async with client.get_queue_receiver(queue, **options) as receiver:
            got = await take(receiver, count)
            for one in got:
                await receiver.complete_message(one)
            await nothing(receiver, wait)
        return got


async def take(receiver, count=1):
    """Receives a number of messages."""
    got, end = [], time.monotonic() + PATIENCE
    while len(got) < count and time.monotonic() < end:
        got += await receiver.receive_messages(max_message_count=count - len(got), max_wait_time=5)
    same(len(got), count, "messages received")
    return got


async def one(receiver):
    return (await take(receiver))[0]


async def nothing(receiver, wait=1):
    same(bodies(await receiver.receive_messages(max_message_count=10, max_wait_time=wait)), [], "messages received")


async def browse(receiver, count=10):
    """Peeks from the first message on. Without a number the SDK begins behind the last one that it received."""
    return await receiver.peek_messages(count, sequence_number=1)


def bodies(messages):
    return [str(m) for m in messages]
