"""Gives the synchronous SDK the shape of azure.servicebus.aio, so that each case is written once
and runs with both."""

import asyncio
import inspect

from azure import servicebus
from azure.servicebus import aio

# Attributes and methods that return another object of the SDK.
PRODUCTS = {
    "get_queue_sender": aio.ServiceBusSender,
    "get_queue_receiver": aio.ServiceBusReceiver,
    "get_topic_sender": aio.ServiceBusSender,
    "get_subscription_receiver": aio.ServiceBusReceiver,
    "session": aio.ServiceBusSession,
}
END = object()


def bare(value):
    """Returns the object of the SDK."""
    return value.inner if isinstance(value, Blocking) else value


class Blocking:
    """An object of the synchronous SDK, whose methods can be awaited. They run in threads."""

    def __init__(self, inner, counterpart):
        self.inner = inner
        self.counterpart = counterpart

    def __getattr__(self, name):
        value = getattr(self.inner, name)
        if name in PRODUCTS:
            if not callable(value):
                return value and Blocking(value, PRODUCTS[name])
            return lambda *a, **k: Blocking(value(*map(bare, a), **k), PRODUCTS[name])
        if name in ("list_queue_sessions", "list_subscription_sessions"):
            return lambda *a, **k: items(value(*a, **k))
        if inspect.iscoroutinefunction(getattr(self.counterpart, name, None)):
            return lambda *a, **k: asyncio.to_thread(value, *map(bare, a), **k)
        if callable(value):
            return lambda *a, **k: value(*map(bare, a), **k)
        return value

    async def __aenter__(self):
        await asyncio.to_thread(self.inner.__enter__)
        return self

    async def __aexit__(self, *error):
        await asyncio.to_thread(self.inner.__exit__, *error)

    def __aiter__(self):
        return items(self.inner)


async def items(iterable):
    """Iterates in a thread."""
    iterator = iter(iterable)
    while (item := await asyncio.to_thread(next, iterator, END)) is not END:
        yield item


def client(connection, **options):
    return Blocking(
        servicebus.ServiceBusClient.from_connection_string(connection, **options), aio.ServiceBusClient
    )


def renewer(**options):
    return Blocking(servicebus.AutoLockRenewer(**options), aio.AutoLockRenewer)
