"""Runs a Celery application with two workers at a follower, and kills the leader. Each
broadcast must reach both workers, and each other task one of them, also after the kill. Run
it when the other clients of the cluster have finished."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from urllib.parse import quote

HALF = 10  # tasks of each kind before the leader is killed, and after
LIMIT = 120


def leader(binary, endpoints):
    """Returns the name of the leader."""
    admin = endpoints[0].rsplit(":", 1)
    status = subprocess.run(
        [binary, "cluster", "status", "-o", "json", "--admin", f"127.0.0.1:{int(admin[1]) + 1}"],
        check=True, capture_output=True, text=True,
    )
    return next(m["name"] for m in json.loads(status.stdout)["members"] if m["role"] == "leader")


def nodes(log):
    """Returns process id and endpoint of each node, from the output of `seriatim dev`."""
    found = {}
    for line in log.splitlines():
        words = line.split()
        if words[:1] == ["node"] and words[2:3] == ["pid"]:
            found[f"node-{words[1]}"] = (int(words[3]), words[5])
    return found


def await_notes(what, check):
    end = time.monotonic() + LIMIT
    while not check():
        if time.monotonic() > end:
            raise AssertionError(f"never: {what}")
        time.sleep(0.1)


def main():
    binary, endpoints = os.environ["CELERY_SERIATIM"], os.environ["SERIATIM_ENDPOINTS"].split()
    with open(os.environ["CELERY_CLUSTER_LOG"], encoding="utf-8") as log:
        cluster = nodes(log.read())
    first = leader(binary, endpoints)
    asked = next(address for name, (_, address) in cluster.items() if name != first)
    here = os.path.dirname(os.path.abspath(__file__))
    key = ":".join(quote(os.environ[name], safe="") for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    base = {**os.environ, "CELERY_BROKER": f"sqs://{key}@{asked}", "PYTHONPATH": here}
    os.environ.update(CELERY_BROKER=base["CELERY_BROKER"], NOTES=os.devnull)
    sys.path.insert(0, here)
    import tasks
    from kombu import Exchange

    workers = []
    with tempfile.TemporaryDirectory() as work:
        notes = [os.path.join(work, f"notes-{i}") for i in range(2)]

        def lines(kind):
            read = []
            for name in notes:
                if os.path.exists(name):
                    with open(name, encoding="utf-8") as file:
                        read.append(sorted(int(line.split()[1]) for line in file if line.startswith(kind + " ")))
                else:
                    read.append([])
            return read

        def send(start):
            for n in range(start, start + HALF):
                # A producer must declare the exchange itself: it has no consumer that does.
                tasks.everywhere.apply_async((n,), declare=[Exchange("everywhere", type="fanout")], retry=True)
                tasks.once.delay(n)

        def done(count):
            return lambda: lines("everywhere") == [list(range(count))] * 2 and sorted(sum(lines("once"), [])) == list(range(count))

        try:
            for i, name in enumerate(notes):
                log = open(os.path.join(work, f"worker-{i}"), "w", encoding="utf-8")
                command = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "-P", "solo", "-n", f"w{i}",
                           "--without-mingle", "--without-gossip", "--without-heartbeat", "-l", "INFO"]
                workers.append((subprocess.Popen(command, env={**base, "NOTES": name}, cwd=work, stdout=log, stderr=log), log.name))

            def subscribed():
                return all(" ready." in open(name, encoding="utf-8").read() for _, name in workers)

            await_notes("the workers are ready", subscribed)
            send(0)
            await_notes("all tasks are done", done(HALF))
            os.kill(cluster[first][0], signal.SIGKILL)
            send(HALF)
            await_notes("all tasks are done after the leader was killed", done(2 * HALF))
        except AssertionError:
            for _, name in workers:
                print(open(name, encoding="utf-8").read(), file=sys.stderr)
            print("done:", lines("everywhere"), lines("once"), file=sys.stderr)
            raise
        finally:
            for process, _ in workers:
                process.kill()
                process.wait()
    import celery
    import kombu

    print(f"celery {celery.__version__}, kombu {kombu.__version__}: all steps passed, with {first} killed")


if __name__ == "__main__":
    sys.exit(main())
