"""Schedules, repeats and cancels messages of a queue or a topic:

    schedules.py CONNECTION_STRING QUEUE [SUBSCRIPTION]

It prints "kill" when the leader shall be killed, and goes on after a line of input. It ends with an
error if a step has another result than a step without a kill.
"""

import logging
import sys
import time
from datetime import datetime, timedelta, timezone

from azure.core.exceptions import AzureError
from azure.servicebus import ServiceBusClient, ServiceBusMessage
from azure.servicebus.exceptions import MessageNotFoundError


def kill():
    print("kill", flush=True)
    if not sys.stdin.readline():
        sys.exit("no further input")


def again(step):
    """Repeats a step until it has a result: after a kill, calls may fail."""
    end = time.monotonic() + 60
    while True:
        try:
            return step()
        except MessageNotFoundError:
            raise
        except AzureError as e:
            if time.monotonic() > end:
                raise
            print(f"again: {e!r}", file=sys.stderr)
            time.sleep(0.2)


def message(id, body):
    return ServiceBusMessage(body, message_id=id)


def main():
    logging.disable(logging.CRITICAL)
    connection, entity, subscription = sys.argv[1], sys.argv[2], (sys.argv[3:] or [None])[0]
    with ServiceBusClient.from_connection_string(connection) as client:
        sender = client.get_topic_sender(entity) if subscription else client.get_queue_sender(entity)
        due = datetime.now(timezone.utc) + timedelta(seconds=60)
        far = due + timedelta(hours=1)
        soon = again(lambda: sender.schedule_messages(message("soon", "soon"), due))
        cancelled = again(lambda: sender.schedule_messages(message("cancelled", "cancelled"), far))
        kill()
        again(lambda: sender.send_messages(message("soon", "duplicate of soon")))
        again(lambda: sender.send_messages(message("now", "now")))
        kill()
        again(lambda: sender.schedule_messages(message("now", "duplicate of now"), due))
        again(lambda: sender.cancel_scheduled_messages(cancelled))
        kill()
        for number in cancelled:
            try:
                again(lambda: sender.cancel_scheduled_messages(number))
                sys.exit(f"{number} was cancelled twice")
            except MessageNotFoundError:
                pass
        again(lambda: sender.send_messages(message("cancelled", "duplicate of cancelled")))
        sender.close()
        kill()
        got, end = [], time.monotonic() + 180
        while len(got) < 2 and time.monotonic() < end:
            def receive():
                receiver = (client.get_subscription_receiver(entity, subscription) if subscription
                            else client.get_queue_receiver(entity))
                with receiver:
                    for m in receiver.receive_messages(max_message_count=10, max_wait_time=5):
                        receiver.complete_message(m)
                        got.append((str(m), datetime.now(timezone.utc) >= due))
            again(receive)
        time.sleep(max(0, due.timestamp() - time.time()))
        again(receive)
        if got != [("now", False), ("soon", True)] and got != [("now", True), ("soon", True)]:
            sys.exit(f"received {got}")


if __name__ == "__main__":
    main()
