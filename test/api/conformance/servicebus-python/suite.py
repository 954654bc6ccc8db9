"""Runs the cases with the Azure Service Bus SDK for Python against a running cluster:

    SERIATIM_ENDPOINTS="http://127.0.0.1:9324" suite.py sync|aio [BEGINNING_OF_A_NAME...]
"""

import asyncio
import faulthandler
import importlib
import logging
import pathlib
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import case

# Cases mostly wait. Each has an event loop and queues of its own.
AT_ONCE = 8
# The time for one case.
TIMEOUT = 180


def run(number, function, api):
    """Runs a case, and returns a description of its failure."""
    running = case.Case(number, function, api)
    started = time.monotonic()

    async def steps():
        case.current.set(running)
        async with running.stack:
            await function(running)

    failure = ""
    try:
        asyncio.run(asyncio.wait_for(steps(), TIMEOUT))
        if running.warnings and not function.warns:
            failure = "warnings of the SDK:\n" + "\n".join(running.warnings)
    except BaseException:
        failure = traceback.format_exc() + "\n".join(running.warnings)
    print(f"{'FAILED' if failure else 'ok':6} {time.monotonic() - started:5.1f}s {running.name}", flush=True)
    return failure and f"{running.name}\n{failure}"


def main():
    api, parts = sys.argv[1], sys.argv[2:]
    faulthandler.dump_traceback_later(1200, exit=True)
    logging.getLogger("azure").addHandler(case.Warnings(logging.WARNING))
    logging.getLogger("azure").propagate = False
    logging.getLogger("asyncio").addHandler(case.Warnings(logging.WARNING))
    here = pathlib.Path(__file__).parent
    for file in sorted((here / "cases").glob("*.py")):
        importlib.import_module(f"cases.{file.stem}")
    chosen = [
        f for f in case.CASES
        if api in f.apis and (case.CERTIFICATE or not f.secure)
        and (not parts or any(f"{f.__module__}.{f.__name__}".startswith(f"cases.{p}") for p in parts))
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        failures = [f for f in pool.map(lambda p: run(*p, api), enumerate(chosen)) if f]
    for failure in failures:
        print(f"\nFAILED {failure}")
    print(f"{len(chosen)} cases, {len(failures)} failed")
    sys.stdout.flush()
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
