"""A client of a queue, which reports what it did as lines of JSON, until its input ends:

    client.py producer|consumer|sessions CONNECTION_STRING QUEUE NAME

Times are nanoseconds of the monotonic clock of the machine. Only what is certain is reported: a call
that failed may have had its effect.
"""

import json
import logging
import random
import sys
import threading
import time
import uuid

from azure.core.exceptions import AzureError
from azure.servicebus import NEXT_AVAILABLE_SESSION, ServiceBusClient, ServiceBusMessage
from azure.servicebus.exceptions import OperationTimeoutError, SessionCannotBeLockedError

SESSIONS = 5
# The locks of the queues end after 10 s.
LOST = 11
ended = threading.Event()


def report(event, **fields):
    sys.stdout.write(json.dumps({"event": event, "at": time.monotonic_ns(), **fields}) + "\n")
    sys.stdout.flush()


def produce(client, queue, name):
    """Sends numbered messages to each session in turn, the next one when the last is accepted. Some are sent again."""
    numbers, old, sender = dict.fromkeys(range(SESSIONS), 0), [], None
    while not ended.is_set():
        session = random.randrange(SESSIONS)
        numbers[session] += 1
        fields = {"id": f"{name}-{session}-{numbers[session]}", "session": f"{name}-{session}", "number": numbers[session]}
        sender = send(client, queue, sender, fields)
        old.append(fields)
        if random.random() < 0.2:
            sender = send(client, queue, sender, random.choice(old[-500:]))
        ended.wait(0.03)  # the consumers keep up


def send(client, queue, sender, fields):
    """Sends a message until it is accepted."""
    while True:
        try:
            if sender is None:
                sender = client.get_queue_sender(queue)
            sender.send_messages(
                ServiceBusMessage(str(fields["number"]), message_id=fields["id"], session_id=fields["session"])
            )
            report("accepted", **fields)
            return sender
        except AzureError as e:
            report("failed", text=f"send: {e!r}")
            if sender is not None:
                sender.close()
            sender = None
            time.sleep(0.2)


def settle(receiver, message, opened, holder=""):
    """Reports a message, and completes or abandons it. With prefetch, it may have come since the receiver was opened."""
    fields = {"id": message.message_id, "session": message.session_id, "number": int(str(message)),
              "sequence": message.sequence_number, "holder": holder}
    report("received", since=opened, **fields)
    if holder and random.random() < 0.005:
        time.sleep(LOST)
    report("settling", **fields)
    since = time.monotonic_ns()
    if random.random() < 0.05:
        receiver.abandon_message(message)
        report("abandoned", since=since, **fields)
    else:
        receiver.complete_message(message)
        report("completed", since=since, **fields)


def consume(client, queue, _):
    while not ended.is_set():
        opened = time.monotonic_ns()
        try:
            with client.get_queue_receiver(queue, prefetch_count=random.choice((0, 10))) as receiver:
                for _ in range(20):
                    for m in receiver.receive_messages(max_message_count=10, max_wait_time=1):
                        settle(receiver, m, opened)
                    if ended.is_set():
                        break
        except AzureError as e:
            report("failed", text=f"consume: {e!r}")
            time.sleep(0.2)


def until(session):
    """Returns the end of a lock, by the monotonic clock."""
    return time.monotonic_ns() + int((session.locked_until_utc.timestamp() - time.time()) * 1e9)


def hold(client, queue, name):
    """Accepts sessions, the next one or one by its id, and holds each for a while, sometimes too long."""
    producer = name.replace("sessions", "producer")
    while not ended.is_set():
        opened, holder = time.monotonic_ns(), ""
        session = random.choice((NEXT_AVAILABLE_SESSION, f"{producer}-{random.randrange(SESSIONS)}"))
        try:
            with client.get_queue_receiver(queue, session_id=session, max_wait_time=2) as receiver:
                holder, session = uuid.uuid4().hex, receiver.session.session_id
                report("held", holder=holder, session=session, until=until(receiver.session))
                end = time.monotonic() + random.uniform(0.5, 3)
                while time.monotonic() < end and not ended.is_set():
                    for m in receiver.receive_messages(max_message_count=1, max_wait_time=0.5):
                        settle(receiver, m, opened, holder)
                    if random.random() < 0.1:
                        since = time.monotonic_ns()
                        receiver.session.renew_lock()
                        report("renewed", since=since, holder=holder, session=session, until=until(receiver.session))
                report("closing", since=time.monotonic_ns(), holder=holder, session=session)
        except (OperationTimeoutError, SessionCannotBeLockedError):
            pass  # there is none, or another client has it
        except AzureError as e:
            report("failed", text=f"hold: {e!r}")
            if holder:
                report("lost", holder=holder, session=session, text=repr(e))
            time.sleep(0.2)


def main():
    logging.disable(logging.CRITICAL)
    role, connection, queue, name = sys.argv[1:]
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    with ServiceBusClient.from_connection_string(connection, retry_total=3, retry_backoff_factor=0.1) as client:
        {"producer": produce, "consumer": consume, "sessions": hold}[role](client, queue, name)


if __name__ == "__main__":
    main()
