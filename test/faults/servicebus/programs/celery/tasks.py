"""Tasks of Celery with Azure Service Bus as the broker. Each prints its number."""

import os

from celery import Celery

app = Celery("tasks", broker=os.environ["BROKER"])
app.conf.update(
    task_default_queue="celery",
    task_acks_late=True,
    task_ignore_result=True,
    worker_enable_remote_control=False,  # the broker has no broadcast
    broker_connection_retry_on_startup=True,
    broker_transport_options={"wait_time_seconds": 1, "retry_total": 2, "retry_backoff_factor": 0.1},
)


@app.task
def handle(number):
    os.write(1, f"handled {number}\n".encode())  # the worker sends what print writes to its log
