"""A Celery application: one task for any worker, one for every worker by a fanout
exchange, for which kombu creates a topic. Each run of a task adds a line to the file NOTES."""

import os

from celery import Celery
from kombu import Queue
from kombu.common import Broadcast

app = Celery("tasks", broker=os.environ["CELERY_BROKER"])
app.conf.update(
    broker_transport_options={
        "region": "us-east-1", "is_secure": False, "supports_fanout": True,
        "polling_interval": 0.1, "wait_time_seconds": 1, "visibility_timeout": 60,
    },
    broker_connection_retry_on_startup=True,
    task_queues=(Broadcast("everywhere"), Queue("once")),
    task_default_queue="once",
    task_routes={"tasks.everywhere": {"queue": "everywhere", "exchange": "everywhere"}},
    task_ignore_result=True,
    worker_enable_remote_control=False,
)


def note(line):
    with open(os.environ["NOTES"], "a", encoding="utf-8") as notes:
        notes.write(line + "\n")


@app.task
def everywhere(number):
    note(f"everywhere {number}")


@app.task(acks_late=True)
def once(number):
    note(f"once {number}")
