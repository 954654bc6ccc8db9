import base64
import hashlib
import hmac
import time
from urllib.parse import quote

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import ClientAuthenticationError
from azure.servicebus import ServiceBusClient
from azure.servicebus.aio import ServiceBusClient as AsyncClient
from azure.servicebus.exceptions import ServiceBusConnectionError, ServiceBusError

import blocking
from case import ENDPOINTS, KEY, SECRET, administration, bodies, case, connection, message, one, refused, same, transport
from cases.f_settling import enter


def token(audience="", key=KEY, secret=SECRET, seconds=600):
    """Returns a shared access signature for an entity, or for everything."""
    resource, end = quote(f"sb://host/{audience}", safe=""), int(time.time() + seconds)
    digest = hmac.new(secret.encode(), f"{resource}\n{end}".encode(), hashlib.sha256).digest()
    return f"SharedAccessSignature sr={resource}&sig={quote(base64.b64encode(digest), safe='')}&se={end}&skn={key}"


def with_token(text):
    return f"Endpoint=sb://{ENDPOINTS[0]};SharedAccessSignature={text};"


async def exchange(t, client, queue):
    async with client.get_queue_sender(queue) as sender:
        await sender.send_messages(message("x"))
    async with client.get_queue_receiver(queue) as receiver:
        m = await one(receiver)
        await receiver.complete_message(m)
    same(str(m), "x", "body")


async def with_credential(t, credential):
    """Opens a client with a credential object."""
    options = {"retry_total": 0, **transport(ENDPOINTS[0])}
    if t.api == "sync":
        made = blocking.Blocking(ServiceBusClient(ENDPOINTS[0], credential, **options), AsyncClient)
    else:
        made = AsyncClient(ENDPOINTS[0], credential, **options)
    return await t.stack.enter_async_context(made)


async def unauthorized(opening):
    # The SDK has ServiceBusAuthenticationError for it, but not at a port of its own.
    error = await refused(ServiceBusConnectionError, opening)
    same(type(error.inner_exception).__name__, "TokenAuthFailure", "cause")


@case(secure=True)
async def of_everything(t):
    await exchange(t, await t.client(with_token(token())), t.queue())


@case(secure=True)
async def of_one_entity(t):
    queue = t.queue()
    client = await t.client(with_token(token(queue)))
    await exchange(t, client, queue)


@case(secure=True, warns=True)
async def of_another_entity(t):
    queue, other = t.queue(), t.queue()
    client = await t.client(with_token(token(other)))
    await unauthorized(enter(client.get_queue_sender(queue)))


@case(secure=True)
async def named_key(t):
    await exchange(t, await with_credential(t, AzureNamedKeyCredential(KEY, SECRET)), t.queue())


@case(secure=True)
async def signature(t):
    await exchange(t, await with_credential(t, AzureSasCredential(token())), t.queue())


@case(secure=True, warns=True)
async def expired(t):
    client = await t.client(with_token(token(seconds=-10)))
    await unauthorized(enter(client.get_queue_sender(t.queue())))


@case(secure=True, warns=True)
async def wrong_keys(t):
    queue = t.queue()
    for key, secret in ((KEY, "another"), ("AKIAUNKNOWN000000000", SECRET)):
        client = await t.client(connection(0, key, secret), endpoint=ENDPOINTS[0])
        await unauthorized(enter(client.get_queue_sender(queue)))
        await unauthorized(enter(client.get_queue_receiver(queue)))


@case(secure=True, warns=True)
async def malformed(t):
    client = await t.client(with_token("SharedAccessSignature sr=x&sig=y&se=z&skn=k"))
    await unauthorized(enter(client.get_queue_sender(t.queue())))


@case(secure=True, warns=True)
async def that_ends_while_it_is_used(t):
    queue = t.queue()
    client = await t.client(with_token(token(seconds=5)))
    async with client.get_queue_sender(queue) as sender:
        await sender.send_messages(message("x"))
        end, sent = time.monotonic() + 60, 1
        try:
            while time.monotonic() < end:
                await sender.send_messages(message("x"))
                sent += 1
        except ServiceBusError:
            pass
        else:
            raise AssertionError("a sender works without a token")
    same(len(bodies(await t.drain(queue, sent, prefetch_count=500))), sent, "messages")


@case(secure=True, apis=("sync",))
async def administration_without_a_key(t):
    with administration(0, secret="another") as client:
        try:
            client.create_queue(t.path())
        except ClientAuthenticationError:
            return
    raise AssertionError("a queue was created")
