"""Sends tasks, numbered from 1 to the first argument, and runs a worker, until the input ends."""

import subprocess
import sys
import time

from kombu.exceptions import OperationalError

from tasks import handle

worker = subprocess.Popen([sys.executable, "-m", "celery", "-A", "tasks", "worker", "--pool", "solo", "--loglevel", "WARNING"])
for number in range(1, int(sys.argv[1]) + 1):
    while True:
        try:
            handle.delay(number)
            break
        except OperationalError as e:
            print(f"again: {e!r}", file=sys.stderr)
            time.sleep(0.2)
    time.sleep(0.1)
sys.stdin.read()
worker.terminate()
sys.exit(worker.wait())
