"""`make soak`: each kind of trouble for some minutes, with new seeds each time."""

import asyncio
import random
import sys
import time
from collections.abc import Callable

from tests.soak.bridge import index_killed_at_random
from tests.soak.crash import crash_at_random
from tests.soak.files import watch_random_operations

MINUTES = float(sys.argv[1]) if len(sys.argv) > 1 else 5
"""How long each of them runs."""


def operate(seed: int) -> None:
    asyncio.run(watch_random_operations(seed, steps=200))


RUNS: dict[str, Callable[[int], object]] = {
    "random operations on a watched folder": operate,
    "a writer killed at any moment": crash_at_random,
    "a bridge killed while it indexes": index_killed_at_random,
}

for title, once in RUNS.items():
    end, runs = time.monotonic() + MINUTES * 60, 0
    while time.monotonic() < end:
        once(random.randrange(2**32))
        runs += 1
    print(f"{title}: {runs} runs in {MINUTES:g} min, no fault", flush=True)
